//! [`NumberSpace`]: sequence numbers of one direction.

/// The sequence numbers of one direction. Inside, they are positions of 64 bits that compare by `<`
/// and do not wrap: 0 is the SYN, 1 the first byte of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberSpace {
    /// ISS or IRS: the sequence number of the SYN.
    initial: u32,
}

impl NumberSpace {
    pub(crate) const fn new(initial: u32) -> Self {
        Self { initial }
    }

    /// RFC 9293 section 3.4: "This space ranges from 0 to 2**32 - 1."
    pub(crate) const fn number(self, position: u64) -> u32 {
        self.initial.wrapping_add(position as u32)
    }

    /// The position of a number, the one that is nearest to `near`. `None`: before the SYN.
    pub(crate) fn position(self, number: u32, near: u64) -> Option<u64> {
        let ahead = number.wrapping_sub(self.number(near)) as i32;
        near.checked_add_signed(ahead.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_go_on_where_numbers_wrap() {
        let space = NumberSpace::new(u32::MAX - 1);
        assert_eq!(space.number(3), 1);
        assert_eq!(space.position(1, 0), Some(3));
        let far = (7 << 32) + 5;
        assert_eq!(space.position(space.number(far - 9), far), Some(far - 9));
        assert_eq!(space.position(space.number(far + 9), far), Some(far + 9));
    }

    #[test]
    fn what_precedes_the_syn_has_no_position() {
        assert_eq!(NumberSpace::new(100).position(99, 0), None);
    }
}
