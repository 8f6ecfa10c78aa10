//! Key Salt (0xBDAE), our own: what a listener that makes its keys of a passphrase made them with,
//! for its callers to do the same. It stands in INIT ACK only.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Parameter Type = 48558     |  Parameter Length = 20        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                                                               |
//! |                             Salt                              |
//! |                                                               |
//! |                                                               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

/// Bytes of a salt.
pub const SALT_LEN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_parameter, hex};
    use crate::{DecodeError, Parameter, ParameterType, Parameters};

    #[test]
    fn a_salt_has_sixteen_bytes() {
        let bytes = hex("bdae0014 01010101 01010101 01010101 01010101");
        assert_parameter(&bytes, Parameter::KeySalt([1; SALT_LEN]));
        let short = hex("bdae0008 01010101");
        let (ty, len) = (ParameterType::KEY_SALT, 8);
        let parameters: Vec<_> = Parameters::from_bytes(&short).iter().collect();
        assert_eq!(parameters, [Err(DecodeError::ParameterLengthWrong { ty, len, expected: 20 })]);
    }
}
