//! What a user may choose.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_sctp::AssociationConfig;

use crate::channels::CHANNELS_MAX;
use crate::dtls::RECORD_OVERHEAD;

/// RFC 8831 section 5: "The initial Path MTU at the IP layer SHOULD NOT exceed 1200 bytes for IPv4
/// and 1280 bytes for IPv6." Nothing finds out whether more passes, so it stays so.
const PATH_MTU: usize = 1_200;

/// IPv6 and UDP, as IPv4 has less.
const IP_AND_UDP: usize = 40 + 8;

/// How a [`Server`](crate::Server) behaves.
#[derive(Debug, Clone)]
pub struct RtcConfig {
    /// Where browsers find the UDP port, the best first. Default: nowhere.
    pub candidates: Vec<SocketAddr>,
    /// How the associations behave. Default: [`association`].
    pub association: AssociationConfig,
    /// The channels with the numbers 0 up to this are there from the beginning: pages have them
    /// with `negotiated: true`. One that a page closes is open again at once. Default: 0.
    pub negotiated_channels: u16,
    /// Connections that may exist at once. Default: 1024.
    pub connections_max: usize,
    /// Connections of one address that are not set up yet. Default: 16.
    pub handshakes_per_address_max: usize,
    /// How long a browser may send no connectivity check before it counts as gone; at most 30 s
    /// (RFC 7675). Browsers send one every few seconds. Default: 10 s.
    pub consent_timeout: Duration,
    /// How long a browser may take from its offer to the association; a check alone sets up
    /// nothing, and must not hold its place for ever. Default: 10 s.
    pub setup_timeout: Duration,
    /// Datagrams of one size that a single transmission may hold (UDP segmentation offload).
    /// Default: 1.
    pub segments_max: usize,
}

impl Default for RtcConfig {
    fn default() -> Self {
        Self {
            candidates: Vec::new(),
            association: association(),
            negotiated_channels: 0,
            connections_max: 1_024,
            handshakes_per_address_max: 16,
            consent_timeout: Duration::from_secs(10),
            setup_timeout: Duration::from_secs(10),
            segments_max: 1,
        }
    }
}

/// [`AssociationConfig::media`] under DTLS: one path, whose life ICE watches, and packets that fit
/// behind its headers. Messages of different channels interleave and packets have no checksum of
/// their own, where the browser agrees.
#[must_use]
pub fn association() -> AssociationConfig {
    AssociationConfig::media().with(|config| {
        config.paths.path_mtu = PATH_MTU;
        config.paths.header_overhead = IP_AND_UDP + RECORD_OVERHEAD;
        config.streams.outbound_streams = CHANNELS_MAX;
        config.streams.inbound_streams_max = CHANNELS_MAX;
        config.buffers.receive_buffer = 1 << 20;
        config.buffers.send_buffer = 1 << 20;
        config.buffers.message_size_max = 256 << 10;
        config.paths.paths_max = 1;
        config.timers.heartbeat_interval = Duration::from_secs(15);
        config.timers.probes_silence = false;
        config.extensions.message_interleaving = true;
        config.extensions.zero_checksum_over_dtls = true;
    })
}

impl RtcConfig {
    /// Bytes of the largest datagram.
    pub(crate) const fn datagram_max(&self) -> usize {
        self.association.paths.path_mtu - IP_AND_UDP
    }
}
