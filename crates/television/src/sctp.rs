//! How SCTP is set up between a server and its viewers.

/// SCTP's own port at both ends, inside UDP.
pub use anabranch_rtc::NATIVE_SCTP_PORT as SCTP_PORT;
use anabranch_session::PATH_MTU_BASE;
use anabranch_transport::SctpConfig;

use crate::protocol::STREAMS;

/// IP bytes up to which packets are tried that are longer than every link carries. Where three
/// fifths of a channel fit, a key frame is missing in 12 of 40 half minutes with 1,500, in 4 of 40
/// with 1,400.
const PATH_MTU_MAX: usize = 1_400;

/// Bytes that wait for one viewer in its association: the rest waits in the channel, for all.
const SEND_BUFFER: usize = 64 << 10;

/// Bytes from one viewer that wait to be read: it has little to say.
const RECEIVE_BUFFER: usize = 64 << 10;

/// With the timers of media, the other end is given up about ten seconds after it vanished.
const RETRANSMISSIONS_MAX: u32 = 10;

/// What both ends of an association want, on top of what its carrier needs.
#[must_use]
pub const fn between_server_and_viewer(base: SctpConfig) -> SctpConfig {
    base.with_streams(STREAMS)
        .with_send_buffer(SEND_BUFFER)
        .with_retransmissions_max(RETRANSMISSIONS_MAX)
}

/// What a server wants of the association with a viewer.
pub(crate) const fn at_server(base: SctpConfig) -> SctpConfig {
    between_server_and_viewer(base).with_receive_buffer(RECEIVE_BUFFER)
}

/// Associations over UDP.
pub(crate) fn native() -> SctpConfig {
    SctpConfig::media().with_path_mtu(PATH_MTU_BASE, Some(PATH_MTU_MAX))
}
