//! The causes that return what was not recognized, RFC 9260 sections 3.3.10.6 and 3.3.10.8.
//!
//! Unrecognized Chunk Type (6):
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 6         |         Cause Length          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                      Unrecognized Chunk                       /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Unrecognized Parameters (8):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 8         |         Cause Length          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                    Unrecognized Parameters                    /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::ErrorCause;
    use crate::test_support::{assert_cause, hex};

    #[test]
    fn linux_returns_a_chunk() {
        // Linux counts the padding of the chunk that it returns.
        let chunk = hex("fe00000b 756e6b6e6f776e 00");
        let bytes = hex("00060010 fe00000b 756e6b6e6f776e 00");
        assert_cause(&bytes, ErrorCause::UnrecognizedChunkType(&chunk));
    }

    #[test]
    fn linux_returns_parameters() {
        let parameters = hex("c0fe0010 776861742069732074686973");
        let bytes = hex("00080014 c0fe0010 776861742069732074686973");
        assert_cause(&bytes, ErrorCause::UnrecognizedParameters(&parameters));
    }
}
