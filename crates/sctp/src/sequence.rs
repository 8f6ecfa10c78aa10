//! Extended sequence numbers: TSNs and SSNs that do not wrap.

use anabranch_wire::{Ssn, Tsn};

/// A TSN extended to 64 bits, so that numbers of one association compare by `<`: its low 32 bits
/// are the TSN on the wire.
///
/// Starts in the second span of 2^32 so that "one before the first" needs no care.
pub(crate) fn first_sequence(initial: Tsn) -> u64 {
    (1 << 32) | u64::from(initial.0)
}

/// The TSN on the wire of an extended one.
pub(crate) fn tsn(sequence: u64) -> Tsn {
    Tsn(sequence as u32)
}

/// The extended number nearest to `reference` that has this TSN.
///
/// RFC 9260 section 1.6: TSNs compare by serial number arithmetic, so what is up to 2^31 ahead of
/// the reference is ahead and all else is behind.
pub(crate) fn extend(reference: u64, tsn: Tsn) -> u64 {
    let distance = tsn.0.wrapping_sub(reference as u32).cast_signed();
    reference.wrapping_add_signed(i64::from(distance))
}

/// The extended number nearest to `reference` that has this SSN.
pub(crate) fn extend_ssn(reference: u64, ssn: Ssn) -> u64 {
    let distance = ssn.0.wrapping_sub(reference as u16).cast_signed();
    reference.wrapping_add_signed(i64::from(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_follows_the_number_across_the_wrap() {
        let reference = first_sequence(Tsn(u32::MAX));
        assert_eq!(extend(reference, Tsn(0)), reference + 1);
        assert_eq!(extend(reference, Tsn(u32::MAX - 3)), reference - 3);
        assert_eq!(tsn(reference + 1), Tsn(0));
        assert_eq!(extend_ssn((1 << 16) | 0xffff, Ssn(1)), (1 << 16) + 0x1_0001);
    }
}
