//! Parameters of unknown type, RFC 9260 section 3.2.1.

use super::ParameterType;
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
