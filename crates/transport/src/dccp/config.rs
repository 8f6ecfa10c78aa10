//! [`DccpConfig`]: how sessions behave over DCCP.

use std::time::Duration;

use anabranch_dccp::{CONNECTIONS_MAX, Ccid, Config, Connections};
use anabranch_sansio::FourTuple;

use super::PATHS_MAX;
use super::frame::OVERHEAD;

/// IP, UDP, and what a DCCP packet with data needs beside them.
const IPV4_LEN: usize = 20;
const IPV6_LEN: usize = 40;
const UDP_LEN: usize = 8;
const DCCP_LEN: usize = 24 + 24;

/// How long a packet may be under way: what a DCCP connection that has ended is remembered for is
/// twice as long.
const SEGMENT_LIFETIME: Duration = Duration::from_secs(5);

/// How sessions behave over DCCP.
#[derive(Debug, Clone, PartialEq)]
pub struct DccpConfig {
    /// Whether callers are taken. Default: no.
    pub listen: bool,
    /// DCCP connections over each path. Default: 4, as Almajeed 2011 has at most.
    ///
    /// The caller's counts, for both directions.
    pub connections: Connections,
    /// Whether data takes one path while the others stand by. Default: no.
    pub one_path: bool,
    /// Bytes of the largest IP packet. Default: 1,400.
    pub mtu: usize,
    /// Bytes of messages that may wait to be sent. Default: 64 KiB.
    pub send_buffer: usize,
    /// Bytes of messages that may wait to be read. Default: 1 MiB.
    pub receive_buffer: u64,
    /// How long the other end may take to answer a call. Default: 5 s.
    pub connect_timeout: Duration,
    /// Peers that there may be at a time. Default: 33.
    pub trunks_max: usize,
}

impl Default for DccpConfig {
    fn default() -> Self {
        Self {
            listen: false,
            connections: Connections::Fixed(4),
            one_path: false,
            mtu: 1_400,
            send_buffer: 64 << 10,
            receive_buffer: 1 << 20,
            connect_timeout: Duration::from_secs(5),
            trunks_max: 33,
        }
    }
}

impl DccpConfig {
    /// How each DCCP connection behaves.
    pub(super) fn connection(&self) -> Config {
        Config {
            mtu: self.mtu,
            connect_timeout: self.connect_timeout,
            segment_lifetime: SEGMENT_LIFETIME,
            ..Config::with_ccid(Ccid::Tfrc)
        }
    }

    /// What a peer may have over a path, while it opens that anew.
    pub(super) const fn connections_max(&self) -> usize {
        CONNECTIONS_MAX
    }

    /// Those that have ended are remembered for a while.
    pub(super) const fn endpoint_connections_max(&self) -> usize {
        4 * PATHS_MAX * CONNECTIONS_MAX
    }

    /// Bytes of the longest message that fits into a packet on each of these paths.
    pub(super) fn whole_message_max(&self, paths: impl Iterator<Item = FourTuple>) -> usize {
        let mut paths = paths;
        let ip = if paths.all(|path| path.remote.is_ipv4()) { IPV4_LEN } else { IPV6_LEN };
        self.mtu.saturating_sub(ip + UDP_LEN + DCCP_LEN + OVERHEAD)
    }
}
