//! Padding (0x8005), RFC 4820 section 4.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Parameter Type = 0x8005   |       Parameter Length        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                                                               /
//! \\                          Padding Data                         \\
//! /                                                               /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::Parameter;
    use crate::test_support::{assert_parameter, hex};

    #[test]
    fn padding_is_as_long_as_it_likes() {
        assert_parameter(&hex("80050004"), Parameter::Padding(&[]));
        assert_parameter(&hex("8005000c 00000000 00000000"), Parameter::Padding(&[0; 8]));
    }
}
