//! [`Config`]: how a connection behaves.

use std::time::Duration;

use crate::encapsulation::Encapsulation;
use crate::tfrc::{FirstRate, PacketSize};

const IPV4_LEN: usize = 20;
const IPV6_LEN: usize = 40;
const UDP_LEN: usize = 8;

/// Room for the header of a DataAck and the options that any data may need: NDP Count, Timestamp
/// Echo and Data Checksum.
const HEADER_ROOM: usize = 24 + 24;

/// How a connection behaves. The default is what the RFCs recommend.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Bytes of the largest IP packet. Default: 1,500.
    pub mtu: usize,
    /// The congestion controls that we send under, the best first. Default: CCID 2, or 3 if the
    /// peer prefers it.
    pub send_ccids: Vec<Ccid>,
    /// Those that the peer may send under, the best first. Default: CCID 2, or 3 if the peer
    /// prefers it.
    pub receive_ccids: Vec<Ccid>,
    /// Whether sequence numbers may be short, in both directions, where the peer agrees. Default:
    /// no (RFC 4340 section 7.6.2 says when not to).
    pub short_sequence_numbers: bool,
    /// Whether to ask the peer for NDP Counts. With CCID 3 it is asked anyway. Default: no.
    pub ndp_count: bool,
    /// CsCov of what we send: 0 covers all data, n the first (n - 1) * 4 bytes, if the peer agrees.
    /// Default: 0.
    pub checksum_coverage: u8,
    /// The least CsCov besides 0 that is accepted; 0: none (RFC 4340 section 9.2.1). Default: 0.
    pub minimum_checksum_coverage: u8,
    /// Whether data carry a Data Checksum, which the peer is asked to check. Default: no.
    pub data_checksum: bool,
    /// Bytes of data that may wait to be sent. Default: 256 KiB.
    pub send_buffer: usize,
    /// Bytes of data that may wait to be read. Default: 1 MiB.
    pub receive_buffer: usize,
    /// CCID 3: which packet size the equation is fed with. Default: the mean.
    pub packet_size: PacketSize,
    /// CCID 3: whether the rate gives way when the round-trip time grows. Default: yes.
    pub oscillation_reduction: bool,
    /// CCID 3: how fast it begins. Default: with an initial window in a round trip.
    pub first_rate: FirstRate,
    /// CCID 3: whether a sender that was idle may come back to its old rate faster, and how long
    /// until that rate counts half: see
    /// [`faster_restart`](crate::tfrc::RateControlConfig::faster_restart). Default: no.
    pub faster_restart: Option<Duration>,
    /// Whether it may be one of the paths of a [`Multipath`](crate::Multipath) connection, which
    /// says so itself. Default: no.
    pub multipath: bool,
    /// How long a client asks for a connection. Default: 3 minutes (RFC 4340 section 8.1.1).
    pub connect_timeout: Duration,
    /// MSL, the longest that a packet is under way. Default: 2 minutes (RFC 4340 section 3.4).
    pub segment_lifetime: Duration,
}

/// A congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Ccid {
    /// TCP-like, by a window: RFC 4341.
    TcpLike = 2,
    /// TFRC, by a rate: RFC 4342.
    Tfrc = 3,
}

impl Ccid {
    pub(crate) fn of(number: u64) -> Option<Self> {
        [Self::TcpLike, Self::Tfrc].into_iter().find(|ccid| u64::from(*ccid as u8) == number)
    }

    pub(crate) fn numbers(ccids: &[Self]) -> Vec<u8> {
        ccids.iter().map(|ccid| *ccid as u8).collect()
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mtu: 1_500,
            send_ccids: vec![Ccid::TcpLike, Ccid::Tfrc],
            receive_ccids: vec![Ccid::TcpLike, Ccid::Tfrc],
            short_sequence_numbers: false,
            ndp_count: false,
            checksum_coverage: 0,
            minimum_checksum_coverage: 0,
            data_checksum: false,
            send_buffer: 256 << 10,
            receive_buffer: 1 << 20,
            packet_size: PacketSize::default(),
            oscillation_reduction: true,
            first_rate: FirstRate::Window,
            faster_restart: None,
            multipath: false,
            connect_timeout: Duration::from_secs(180),
            segment_lifetime: Duration::from_secs(120),
        }
    }
}

impl Config {
    /// The most bytes of data that fit into a packet over IPv4, or over IPv6.
    #[must_use]
    pub const fn packet_payload(&self, encapsulation: Encapsulation, is_ipv4: bool) -> usize {
        let ip = if is_ipv4 { IPV4_LEN } else { IPV6_LEN };
        let udp = if matches!(encapsulation, Encapsulation::Udp) { UDP_LEN } else { 0 };
        self.mtu.saturating_sub(ip + udp + HEADER_ROOM)
    }

    /// The least MTU that leaves room for data.
    pub(crate) const fn mtu_min() -> usize {
        IPV6_LEN + UDP_LEN + HEADER_ROOM + 1
    }

    /// As the default, under this congestion control in both directions.
    #[must_use]
    pub fn with_ccid(ccid: Ccid) -> Self {
        Self { send_ccids: vec![ccid], receive_ccids: vec![ccid], ..Self::default() }
    }
}
