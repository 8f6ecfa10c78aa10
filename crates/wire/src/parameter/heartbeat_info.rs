//! Heartbeat Info (1), RFC 9260 section 3.3.5.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Heartbeat Info Type = 1    |        HB Info Length         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                Sender-Specific Heartbeat Info                 /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::Parameter;
    use crate::test_support::{assert_parameter, hex};

    #[test]
    fn linux_returns_the_info_as_it_came() {
        let bytes = hex("00010013 68656172746265617420696e666f21 00");
        assert_parameter(&bytes, Parameter::HeartbeatInfo(b"heartbeat info!"));
    }
}
