//! [`Carrier`]: what carries the channels, and with which parameters.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anabranch_sctp::{AssociationConfig, CongestionControl, SchedulerKind};
use anabranch_tcp::Config as TcpConfig;

use super::values::Values;

/// What carries the channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carrier {
    /// TCP as Linux 2.6.16 has it.
    Tcp,
    /// Nothing but datagrams.
    Udp,
    /// SCTP as Linux 2.6.16 has it: reliable, in order in each stream.
    Sctp,
    /// The same with a lifetime for each message (RFC 3758), by the paper's equation 1.
    PrSctp,
    /// Our transport with its defaults for media, reliable, in order in each stream.
    Anabranch,
    /// Our transport as our sessions use it: the same lifetime, and each message delivered as it
    /// comes.
    AnabranchPr,
}

impl Carrier {
    /// All of them, the paper's first.
    pub const ALL: [Self; 6] =
        [Self::Tcp, Self::Udp, Self::Sctp, Self::PrSctp, Self::Anabranch, Self::AnabranchPr];

    /// Whether it is not the paper's.
    #[must_use]
    pub const fn is_ours(self) -> bool {
        matches!(self, Self::Anabranch | Self::AnabranchPr)
    }

    /// Whether it delivers all that it takes.
    pub(super) const fn is_reliable(self) -> bool {
        matches!(self, Self::Tcp | Self::Sctp | Self::Anabranch)
    }

    /// Whether it gives a message up after its lifetime.
    pub(super) const fn is_timed(self) -> bool {
        matches!(self, Self::PrSctp | Self::AnabranchPr)
    }

    /// Bytes that the carrier takes before they are acknowledged.
    pub(super) const fn send_buffer(self, values: &Values) -> usize {
        match self {
            Self::Tcp => values.tcp_send_buffer,
            Self::Udp | Self::Sctp | Self::PrSctp => values.sctp_send_buffer,
            Self::Anabranch | Self::AnabranchPr => values.our_send_buffer,
        }
    }

    pub(super) fn association(self, values: &Values) -> AssociationConfig {
        match self.is_ours() {
            true => on_this_link(AssociationConfig::media(), values).with(|config| {
                config.buffers.receive_buffer = values.our_buffer;
                let timers = &mut config.timers;
                timers.rto_min = values.our_rto_min;
                timers.rto_initial = timers.rto_initial.max(timers.rto_min);
                timers.rto_max = timers.rto_max.max(timers.rto_min);
            }),
            false => lksctp(values),
        }
    }
}

/// The paper's equation 1: "R + 8 * length / bit rate".
pub(super) fn lifetime(rate_control: Duration, own_time: Duration) -> Duration {
    rate_control + own_time
}

/// What RFC 2960 recommends in section 14, as Linux 2.6.16 did: an RTO of 3 s at first and of 1 to
/// 60 s later, an initial window of two packets, SACKs delayed by 200 ms, bursts of at most four
/// packets, heartbeats every 30 s; half of its socket buffer as receive window. There is one path.
fn lksctp(values: &Values) -> AssociationConfig {
    on_this_link(AssociationConfig::default(), values).with(|config| {
        config.timers.rto_initial = Duration::from_secs(3).max(values.sctp_rto_min);
        config.timers.t1_initial = Duration::from_secs(3);
        config.timers.rto_min = values.sctp_rto_min;
        config.timers.rto_max = Duration::from_secs(60);
        config.recovery.association_max_retrans = 10;
        config.paths.path_max_retrans = 5;
        config.timers.heartbeat_interval = Duration::from_secs(30);
        config.timers.sack_delay = Duration::from_millis(200);
        config.window.max_burst = Some(4);
        config.buffers.receive_buffer = values.sctp_buffer;
        config.buffers.message_size_max = values.message as usize;
        config.window.congestion_control = CongestionControl::SmallInitialWindow;
        config.streams.scheduler = SchedulerKind::RoundRobin;
    })
}

/// Straight on IP, and a source that does not wait for the network.
fn on_this_link(config: AssociationConfig, values: &Values) -> AssociationConfig {
    config.with(|config| {
        config.paths.path_mtu = values.mtu as usize;
        config.paths.header_overhead = 20;
        config.buffers.send_buffer = usize::MAX >> 1;
    })
}

/// Linux 2.6.16: selective acknowledgments, an initial window of three segments (RFC 3390),
/// acknowledgments delayed by 40 ms, Nagle's algorithm, an RTO of 3 s at first and of 0.2 to 120 s
/// later, a receive window of 87,380 bytes. Its BIC is Reno below a window of 14 segments, which is
/// more than its send buffer holds.
pub(super) fn linux_tcp(values: &Values) -> TcpConfig {
    TcpConfig {
        mtu: values.mtu as usize,
        send_buffer: usize::MAX >> 1,
        receive_buffer: values.tcp_buffer,
        sack: true,
        congestion_control: anabranch_tcp::CongestionControl::Reno,
        initial_window: 3,
        nagle: values.nagle,
        segments_per_ack: 2,
        ack_delay: Duration::from_millis(40),
        rto_initial: Duration::from_secs(3).max(values.tcp_rto_min),
        rto_min: values.tcp_rto_min,
        rto_max: Duration::from_secs(120),
        retries: 15,
        ..TcpConfig::default()
    }
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
            Self::PrSctp => "PR-SCTP",
            Self::Anabranch => "Anabranch",
            Self::AnabranchPr => "Anabranch-PR",
        })
    }
}

impl FromStr for Carrier {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|carrier| carrier.to_string() == name);
        found.ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(Self::to_string).collect();
            format!("there is no carrier '{name}': give one of {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::INTERVAL;
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for carrier in Carrier::ALL {
            assert_eq!(carrier.to_string().parse(), Ok(carrier));
        }
        let error = "DCCP".parse::<Carrier>().unwrap_err();
        assert!(error.contains("'DCCP'") && error.contains("PR-SCTP"), "{error}");
    }

    #[test]
    fn equation_1_gives_a_message_its_own_time_and_that_of_rate_control() {
        assert_eq!(lifetime(Duration::ZERO, INTERVAL), Duration::from_millis(8));
        assert_eq!(lifetime(Duration::from_millis(500), INTERVAL), Duration::from_millis(508));
    }
}
