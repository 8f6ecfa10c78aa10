//! The parameters whose presence says it all.
//!
//! Reserved for ECN Capable (0x8000), RFC 9260 section 3.3.2; its form is that of RFC 4960
//! appendix A:
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Parameter Type = 32768      |     Parameter Length = 4      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Forward-TSN-Supported (0xC000), RFC 3758 section 3.1:
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Parameter Type = 49152     |  Parameter Length = 4         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::DecodeError;
use crate::tlv::Tlv;

pub(super) fn decode_flag(tlv: Tlv<'_>) -> Result<(), DecodeError> {
    super::fixed_value(tlv).map(|[]| ())
}
