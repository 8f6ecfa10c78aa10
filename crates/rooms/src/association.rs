//! How associations between a room and its members are set up.

use std::time::Duration;

pub(crate) use anabranch_rtc::NATIVE_SCTP_PORT as SCTP_PORT;
use anabranch_sansio::Rate;
use anabranch_session::{Bond, PATH_MTU_BASE};
use anabranch_transport::{Encryption, SctpConfig};

use crate::protocol::STREAMS;

/// The same between two agents of a room, whose packets the server tells by it.
pub(crate) const DIRECT_PORT: u16 = 5_005;

/// Whether a datagram holds a packet between two agents.
pub(crate) fn is_direct(datagram: &[u8]) -> bool {
    let [high, low] = DIRECT_PORT.to_be_bytes();
    datagram.starts_with(&[high, low, high, low])
}

/// Bytes that wait for the other end in the association.
const SEND_BUFFER: usize = 256 << 10;

/// Bytes of the other end that wait to be read: pictures, whole.
const RECEIVE_BUFFER: usize = 1 << 20;

/// With the timers of media, the other end is given up about ten seconds after it vanished.
const RETRANSMISSIONS_MAX: u32 = 10;

/// Unanswered handshake packets after which an agent says that nobody answers, one each 60 ms.
const CALL_ATTEMPTS_MAX: u32 = 80;

/// What may wait in a member's network: voice waits behind it.
const QUEUING_DELAY_MAX: Duration = Duration::from_millis(60);

/// A member's network is tried with so much at first: a narrower one shows within a round trip.
const START_RATE: Rate = Rate::mbps(3);

/// What both ends want, on top of what the carrier needs.
pub(crate) const fn between_room_and_member(base: SctpConfig) -> SctpConfig {
    base.with_streams(STREAMS)
        .with_send_buffer(SEND_BUFFER)
        .with_receive_buffer(RECEIVE_BUFFER)
        .with_retransmissions_max(RETRANSMISSIONS_MAX)
        .with_start_rate(START_RATE)
        .with_queuing_delay_max(QUEUING_DELAY_MAX)
        .with_urgent_ahead()
}

/// Between two agents of a room: what one is called by depends on where the other one is.
pub(crate) fn of_pair(encryption: Option<Encryption>) -> SctpConfig {
    of_agent(encryption).with_unannounced_addresses()
}

/// Between a room and an agent: over all paths, as in a call.
pub(crate) fn of_agent(encryption: Option<Encryption>) -> SctpConfig {
    let base = SctpConfig::media().with_bond(Bond::Balance).with_path_mtu(PATH_MTU_BASE, None);
    between_room_and_member(base).with_call_attempts(CALL_ATTEMPTS_MAX).with_encryption(encryption)
}
