//! Unrecognized Parameter (8), RFC 9260 section 3.3.3.1.2.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Type = 8            |            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                    Unrecognized Parameter                     /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::test_support::{assert_parameter, hex};
    use crate::{Parameter, ParameterType, Parameters, UnknownParameter};

    #[test]
    fn linux_returns_a_parameter_whole() {
        let returned = hex("c0ff0007 616263");
        let parameter = Parameter::UnrecognizedParameter(&returned);
        assert_parameter(&hex("0008000b c0ff0007 616263 00"), parameter);

        let inner: Vec<_> = Parameters::from_bytes(&returned).iter().collect();
        let (ty, value, raw) = (ParameterType(0xc0ff), &b"abc"[..], &returned[..]);
        assert_eq!(inner, [Ok(Parameter::Unknown(UnknownParameter { ty, value, raw }))]);
    }
}
