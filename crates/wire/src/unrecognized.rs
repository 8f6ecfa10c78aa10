//! What to do with what one does not know.

/// What the two highest bits of an unknown chunk's or parameter's type demand of who receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnrecognizedAction {
    /// Process nothing that follows: no further chunk of the packet, no further parameter of the
    /// chunk.
    pub stop: bool,
    /// Tell the sender what was not recognized.
    pub report: bool,
}

impl UnrecognizedAction {
    /// Reads the bits `stop` and `report` off the two highest bits of a type.
    pub(crate) const fn from_upper_bits(first_byte: u8) -> Self {
        // RFC 9260 section 3.2: "Chunk Types are encoded such that the highest-order 2 bits
        // specify the action that is taken if the processing endpoint does not recognize the
        // Chunk Type." 00 and 01 stop, 10 and 11 skip; 01 and 11 report. Section 3.2.1 says the
        // same of parameters.
        Self { stop: first_byte & 0b1000_0000 == 0, report: first_byte & 0b0100_0000 != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_bits_follow_table_2() {
        let action = UnrecognizedAction::from_upper_bits;
        assert_eq!(action(0b0011_1111), UnrecognizedAction { stop: true, report: false });
        assert_eq!(action(0b0111_1111), UnrecognizedAction { stop: true, report: true });
        assert_eq!(action(0b1000_0000), UnrecognizedAction { stop: false, report: false });
        assert_eq!(action(0b1100_0000), UnrecognizedAction { stop: false, report: true });
    }
}
