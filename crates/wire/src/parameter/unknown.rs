//! Parameters of unknown type, RFC 9260 section 3.2.1.

use crate::ParameterType;
use crate::UnrecognizedAction;
use crate::tlv::Tlv;

/// A parameter of a type that this crate does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownParameter<'a> {
    /// The parameter's type.
    pub ty: ParameterType,
    /// Its value.
    pub value: &'a [u8],
    /// The whole parameter as it arrived, without padding, as Unrecognized Parameter returns it.
    pub raw: &'a [u8],
}

impl<'a> UnknownParameter<'a> {
    pub(super) const fn decode(tlv: Tlv<'a>) -> Self {
        Self { ty: ParameterType(tlv.ty), value: tlv.value, raw: tlv.bytes }
    }

    /// What the type demands of an endpoint that does not know it.
    #[must_use]
    pub const fn action(&self) -> UnrecognizedAction {
        let [first_byte, _] = self.ty.0.to_be_bytes();
        UnrecognizedAction::from_upper_bits(first_byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameter;
    use crate::test_support::{assert_parameter, hex};

    #[test]
    fn an_unknown_parameter_is_kept_whole() {
        // Of a type next to that of RFC 5061's Supported Extensions.
        let bytes = hex("80090007 82c00f 00");
        let (raw, _padding) = bytes.split_at(7);
        let parameter = UnknownParameter { ty: ParameterType(0x8009), value: &raw[4..], raw };
        assert_parameter(&bytes, Parameter::Unknown(parameter));
        assert_eq!(parameter.action(), UnrecognizedAction { stop: false, report: false });
    }

    #[test]
    fn the_type_says_what_to_do() {
        for (ty, stop, report) in [
            (0x0002, true, false),
            (0x4000, true, true),
            (0x8008, false, false),
            (0xc001, false, true),
        ] {
            let parameter = UnknownParameter { ty: ParameterType(ty), value: &[], raw: &[] };
            assert_eq!(parameter.action(), UnrecognizedAction { stop, report });
        }
    }
}
