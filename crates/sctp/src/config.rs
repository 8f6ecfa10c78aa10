//! What a user may choose. Every field names its RFC parameter, unit and default.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::authentication::Authentication;
use crate::error::ConfigError;
use crate::handshake::A_RWND_MIN;
use crate::path::{PathSchedulerKind, RetransmissionPolicy};
use crate::receive::Buffer;
use crate::send::{LossDetection, SchedulerKind};
use anabranch_congestion::{CongestionControl, CongestionController, QueueBound};
use anabranch_sansio::{FourTuple, Rate, Rng};

/// More than any stack of headers takes; leaves room for data at the smallest path MTU.
const HEADER_OVERHEAD_MAX: usize = 256;

/// A path MTU that every IPv4 host takes: less is counted as that.
const PATH_MTU_MIN: usize = 576;

/// Paths are told apart by a number of 8 bits.
const PATHS_LIMIT: usize = u8::MAX as usize;

/// RFC 9260 section 6.2: the bound on 'SACK.Delay'.
const SACK_DELAY_MAX: Duration = Duration::from_millis(500);

/// How an [`Endpoint`](crate::Endpoint) treats peers that it did not call.
#[derive(Debug, Clone)]
pub struct EndpointConfig {
    /// What incoming associations get.
    pub association: AssociationConfig,
    /// Whether INITs are answered at all. Default: false; a caller needs no listener.
    pub accept: bool,
    /// Which calls are answered of those that `accept` allows. Default: `None`, all.
    pub call_filter: Option<CallFilter>,
    /// 'Valid.Cookie.Life' (RFC 9260 section 16). Default: 60 s.
    pub cookie_life: Duration,
    /// Associations that may exist at once; an INIT beyond is refused. Default: 1024.
    pub associations_max: usize,
    /// Answers to packets that belong to no association (INIT ACK, ABORT, SHUTDOWN COMPLETE) that
    /// may be sent in a second, so that a flood of forged packets is not reflected. Default: 1000.
    pub stateless_replies_per_second: u32,
    /// INITs that are answered in a second of those from one IPv4 address, or one /64 of IPv6, that
    /// are shorter than their answer: who sends them may not be where they say they come from.
    /// INITs of ours are padded. Default: 10.
    pub short_inits_per_second: u32,
    /// Datagrams of one size that a single transmission may hold (UDP segmentation offload; the
    /// kernel's limit is 64). Default: 1.
    pub segments_max: usize,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            association: AssociationConfig::default(),
            accept: false,
            call_filter: None,
            cookie_life: Duration::from_secs(60),
            associations_max: 1_024,
            stateless_replies_per_second: 1_000,
            short_inits_per_second: 10,
            segments_max: 1,
        }
    }
}

impl EndpointConfig {
    /// Whether a call is answered at all.
    pub(crate) fn accepts(&self, call: &IncomingCall) -> bool {
        self.accept && self.call_filter.as_ref().is_none_or(|filter| (filter.0)(call))
    }
}

/// Somebody calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct IncomingCall {
    /// Where the call came from, and to which of our addresses.
    pub path: FourTuple,
    /// The SCTP port that was called.
    pub local_port: u16,
    /// The caller's SCTP port.
    pub peer_port: u16,
}

impl IncomingCall {
    pub(crate) const fn new(path: FourTuple, (local_port, peer_port): (u16, u16)) -> Self {
        Self { path, local_port, peer_port }
    }
}

/// Decides which calls an endpoint answers, by port or by caller; others get an ABORT.
///
/// It is asked when an INIT arrives, and again when its cookie comes back, since nothing is kept of
/// a call in between. A caller's address is proven only then.
#[derive(Clone)]
pub struct CallFilter(Arc<dyn Fn(&IncomingCall) -> bool + Send + Sync>);

impl CallFilter {
    /// Answers the calls for which `accepts` returns true.
    #[must_use]
    pub fn new(accepts: impl Fn(&IncomingCall) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(accepts))
    }

    /// Answers calls to these SCTP ports.
    #[must_use]
    pub fn ports(ports: impl IntoIterator<Item = u16>) -> Self {
        let ports: BTreeSet<u16> = ports.into_iter().collect();
        Self::new(move |call| ports.contains(&call.local_port))
    }
}

impl fmt::Debug for CallFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallFilter").finish_non_exhaustive()
    }
}

/// How one association behaves. The default is what RFC 9260 section 16 recommends;
/// [`media`](Self::media) is for deadlines. What cannot work is refused by
/// [`validate`](Self::validate).
#[derive(Debug, Clone)]
pub struct AssociationConfig {
    /// 'RTO.Initial'. Default: 1 s.
    pub rto_initial: Duration,
    /// 'RTO.Min'. Default: 1 s. Must be above the peer's
    /// [`sack_delay`](field@Self::sack_delay), or a delayed SACK looks like a loss.
    pub rto_min: Duration,
    /// 'RTO.Max'. Default: 60 s.
    pub rto_max: Duration,
    /// What 4 * RTTVAR counts at least in the RTO. On a steady path it goes towards nothing, and
    /// with an [`rto_min`](field@Self::rto_min) below the round trip the first SACK that the peer
    /// delays looks like a loss: the peer's [`sack_delay`](field@Self::sack_delay) prevents that.
    /// Default: 0, as RFC 9260 section 6.3.1 has it.
    pub rto_variation_min: Duration,
    /// 'Association.Max.Retrans': consecutive unanswered retransmissions after which the peer
    /// counts as lost. Default: 10.
    pub association_max_retrans: u32,
    /// 'Path.Max.Retrans': the same for one path. Default: 5.
    pub path_max_retrans: u32,
    /// 'PotentiallyFailed.Max.Retrans' (RFC 7829): errors above which a path carries no data while
    /// another can. Default: 0, which is the RFC's recommendation: one timeout.
    pub potentially_failed_max_retrans: u32,
    /// 'Max.Init.Retransmits'. Default: 8.
    pub max_init_retransmits: u32,
    /// What T1-init begins with, and T1-cookie if no round trip was measured. Default: 1 s, which
    /// is 'RTO.Initial'.
    pub t1_initial: Duration,
    /// Resends of an INIT or COOKIE ECHO before T1 backs off: on a path that loses much, a lost
    /// handshake says little about congestion. Default: 0.
    pub t1_steady: u32,
    /// 'HB.interval'. Default: 30 s. [`Duration::MAX`] leaves idle paths alone; a single one is by
    /// [`Association::set_heartbeats`](crate::Association::set_heartbeats).
    pub heartbeat_interval: Duration,
    /// How often a heartbeat is asked again, each after the RTO, before an active path on which
    /// nothing is in flight counts an error: one of them, or its answer, may be lost like any
    /// packet, and nothing else tells. Default: 0, RFC 9260's.
    pub heartbeat_repeats: u32,
    /// Whether a receiver that hears nothing for longer than usual sends a heartbeat, which tells a
    /// sender the new port if a NAT in between forgot the old one; without it, the next one after
    /// `heartbeat_interval` does. Default: false.
    pub probes_silence: bool,
    /// 'SACK.Delay'. Default: 200 ms; more than 500 ms counts as that (RFC 9260 section 6.2).
    pub sack_delay: Duration,
    /// 'Max.Burst': packets that one arrival may release; `None` leaves it to the congestion
    /// window. Default: 4.
    ///
    /// Nor does a transmission hold more than these packets, a shorter one aside, however many
    /// [`segments_max`](EndpointConfig::segments_max) allows: for bulk data with segmentation
    /// offload take `None`, and [`pacing`](field@Self::pacing) or a controller that paces, which
    /// keep short queues from overflowing.
    pub max_burst: Option<u32>,
    /// IP bytes that a packet may have on every path, at least 576. Default: 1400, which passes
    /// through the usual tunnels (VPNs, PPPoE, mobile networks) unfragmented.
    pub path_mtu: usize,
    /// Bytes that headers in front of an SCTP packet take of the path MTU. Default: 48, for IPv6
    /// and UDP, so that a packet fits every path of a mixed association. At most 256.
    pub header_overhead: usize,
    /// Streams that we want to send on. Default: 16.
    pub outbound_streams: u16,
    /// Streams that we let the peer send on. Default: 64.
    pub inbound_streams_max: u16,
    /// Bytes of messages that may wait in the send queue. Default: 1 MiB.
    pub send_buffer: usize,
    /// Bytes of received data that may wait for gaps to close or for the user: the a_rwnd of an
    /// empty association. At least 1500 (RFC 9260 section 3.3.2). With what each message costs
    /// beside its bytes, four times as much at most are held. Default: 1 MiB.
    pub receive_buffer: usize,
    /// The longest message that can be sent or received, in bytes; at most half the receive
    /// buffer. Default: 256 KiB.
    pub message_size_max: usize,
    /// Paths that an association may have, those included that a peer announces: 1 to 255.
    /// Default: 8.
    pub paths_max: usize,
    /// Whether partial reliability (RFC 3758) is offered. Default: true.
    pub partial_reliability: bool,
    /// Whether user message interleaving (RFC 8260) is offered: between peers that both offer it,
    /// an urgent message does not wait for the end of a long one of another stream. Messages of one
    /// stream stay one behind the other. Default: false.
    pub message_interleaving: bool,
    /// Whether packets without a checksum are offered (RFC 9653): only where this association runs
    /// in DTLS (RFC 8261), which refuses what was changed on its way. Default: false.
    pub zero_checksum_over_dtls: bool,
    /// The congestion controller of each path. Default: RFC 9260's.
    pub congestion_control: CongestionControl,
    /// How fast a path may begin of which nothing is known yet, for what is sent at a rate of its
    /// own, as live media is: [`Media`](crate::Media) then takes up to this rate from the first
    /// packet on, until losses and delay tell what the path carries. `None`: the controller's
    /// initial window, doubled each round trip. Default: `None`.
    pub start_rate: Option<Rate>,
    /// Whether data of a controller that has only a window is spread over the round trip (RFC 9002
    /// section 7.7): a burst of a whole window overflows short queues. Controllers that follow a
    /// model of the path are always paced. Default: false.
    pub pacing: bool,
    /// How long packets may wait in the network before the congestion window shrinks: see
    /// [`QueueBound`]. `None`: only losses tell that it is too large. Default:
    /// `None`.
    pub queuing_delay_max: Option<Duration>,
    /// How losses are found. Default: as RFC 9260 has it.
    pub loss_detection: LossDetection,
    /// Which stream sends next. Default: by priority, equal ones in turn.
    pub scheduler: SchedulerKind,
    /// Which paths new data takes. Default: the primary one, another while it fails.
    pub path_scheduler: PathSchedulerKind,
    /// Whether delayed acknowledgements for concurrent multipath transfer are offered: between
    /// peers that both offer them, a receiver delays SACKs in the midst of gaps too and counts
    /// packets in them (DAC of Iyengar 2006, section V). Halves the SACKs where losses are found by
    /// [miss indications](LossDetection::Rfc9260); those [in time](LossDetection::InTime) would
    /// come late. A peer that does not know it does not notice. Default: false.
    pub cmt_delayed_ack: bool,
    /// Whether SACKs that are spaced in time are offered. Between peers that both offer them, while
    /// one path brings data, a receiver sends a SACK once in a quarter of a round trip, from 5 to
    /// 10 ms, and three times as often while something is missing, from 2.5 to 6 ms, instead of
    /// after every second packet and after each one behind a gap. For losses that are found
    /// [in time](LossDetection::InTime) and controllers that follow a model; a window of few
    /// packets would grow slowly. A peer that does not know it does not notice. Default: false.
    pub spaced_sacks: bool,
    /// Which path lost data takes. Default: as RFC 9260 has it.
    pub retransmission_policy: RetransmissionPolicy,
    /// Whether a lost chunk is sent again twice when a further retransmission would come after its
    /// lifetime: on two paths, or one after the other on one. Only where losses are found
    /// [in time](LossDetection::InTime). Default: false.
    pub last_chance_twice: bool,
    /// Whether each path that carries data at the same time as others may fill only its share of
    /// the peer's receive buffer, so that a slow one never leaves nothing for a fast one (Adhari
    /// 2011, "Evaluation of Concurrent Multipath Transfer over Dissimilar Paths"). Our own send
    /// buffer holds only what was not sent yet, and needs no splitting. Default: true.
    pub buffer_splitting: bool,
    /// The keys that chunks are authenticated by (RFC 4895); with them, addresses can be changed by
    /// request (RFC 5061). Default: `None`, neither is offered.
    pub authentication: Option<Authentication>,
    /// Trace events that are kept for [`Association::poll_trace`](crate::Association::poll_trace);
    /// 0 switches the trace off. Default: 0.
    pub trace_events_max: usize,
}

impl Default for AssociationConfig {
    fn default() -> Self {
        Self {
            rto_initial: Duration::from_secs(1),
            rto_min: Duration::from_secs(1),
            rto_max: Duration::from_secs(60),
            rto_variation_min: Duration::ZERO,
            association_max_retrans: 10,
            path_max_retrans: 5,
            potentially_failed_max_retrans: 0,
            max_init_retransmits: 8,
            t1_initial: Duration::from_secs(1),
            t1_steady: 0,
            heartbeat_interval: Duration::from_secs(30),
            heartbeat_repeats: 0,
            probes_silence: false,
            sack_delay: Duration::from_millis(200),
            max_burst: Some(4),
            path_mtu: 1_400,
            header_overhead: 40 + 8,
            outbound_streams: 16,
            inbound_streams_max: 64,
            send_buffer: 1 << 20,
            receive_buffer: 1 << 20,
            message_size_max: 256 << 10,
            paths_max: 8,
            partial_reliability: true,
            message_interleaving: false,
            zero_checksum_over_dtls: false,
            congestion_control: CongestionControl::default(),
            start_rate: None,
            pacing: false,
            queuing_delay_max: None,
            loss_detection: LossDetection::default(),
            scheduler: SchedulerKind::default(),
            path_scheduler: PathSchedulerKind::default(),
            cmt_delayed_ack: false,
            spaced_sacks: false,
            retransmission_policy: RetransmissionPolicy::default(),
            last_chance_twice: false,
            buffer_splitting: true,
            authentication: None,
            trace_events_max: 0,
        }
    }
}

impl AssociationConfig {
    /// For media with deadlines, between peers that both use it: losses of a whole window are
    /// found within 0.1 s instead of 1 s, a dead path within one timeout, a path that came back
    /// within two seconds; a peer that is silent on two paths counts as lost after about 10 s.
    ///
    /// A handshake of two exchanges, each of which a path that loses 10 % of its packets spoils one
    /// time in five, takes at most two resends of 125 ms nearly always, and is given up after 9 s.
    ///
    /// Heartbeats every 0.4 s keep what NATs know of idle paths: the shortest timeouts are about
    /// 15 s.
    ///
    /// The SACK delay of 20 ms is a fifth of the smallest RTO, and always has room in the RTO
    /// beside the round trip, so that a delayed SACK never causes a timeout. Bursts are left to the
    /// pacing of [`Media`](crate::Media), which paths that lose packets without being full do not
    /// slow down. The initial window is QUIC's, so that a path that takes over repeats a key frame
    /// in time.
    #[must_use]
    pub fn media() -> Self {
        Self {
            rto_initial: Duration::from_millis(250),
            rto_min: Duration::from_millis(100),
            rto_max: Duration::from_secs(1),
            rto_variation_min: Duration::from_millis(20),
            association_max_retrans: 20,
            path_max_retrans: 3,
            max_init_retransmits: 12,
            t1_initial: Duration::from_millis(125),
            t1_steady: 2,
            heartbeat_interval: Duration::from_millis(400),
            heartbeat_repeats: 2,
            probes_silence: true,
            sack_delay: Duration::from_millis(20),
            max_burst: None,
            congestion_control: CongestionControl::Media,
            loss_detection: LossDetection::InTime,
            spaced_sacks: true,
            last_chance_twice: true,
            send_buffer: 4 << 20,
            receive_buffer: 4 << 20,
            ..Self::default()
        }
    }

    /// Whether an association can work like this. [`Endpoint::connect`](crate::Endpoint::connect)
    /// asks by itself; who listens asks before [`Endpoint::new`](crate::Endpoint::new), which takes
    /// the nearest value that works instead.
    ///
    /// # Errors
    ///
    /// Names the first rule that is broken, and its numbers.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let (min, max) = (self.rto_min, self.rto_max);
        let (outbound, inbound) = (self.outbound_streams, self.inbound_streams_max);
        let (paths, header) = (self.paths_max, self.header_overhead);
        let is_zero = |(_, timeout): &&(&str, Duration)| timeout.is_zero();
        let timeouts = [
            ("rto_initial", self.rto_initial),
            ("rto_max", self.rto_max),
            ("t1_initial", self.t1_initial),
        ];
        let sends_nothing =
            matches!(self.congestion_control, CongestionControl::Fixed { window: 0 });
        if let Some(&(name, _)) = timeouts.iter().find(is_zero) {
            Err(ConfigError::ZeroTimeout { name })
        } else if min > max {
            Err(ConfigError::RtoBounds { min, max })
        } else if self.path_mtu < PATH_MTU_MIN {
            Err(ConfigError::PathMtu { path_mtu: self.path_mtu, min: PATH_MTU_MIN })
        } else if header > HEADER_OVERHEAD_MAX {
            Err(ConfigError::HeaderOverhead { header_overhead: header, limit: HEADER_OVERHEAD_MAX })
        } else if outbound == 0 || inbound == 0 {
            Err(ConfigError::NoStreams { outbound, inbound })
        } else if self.receive_buffer < A_RWND_MIN as usize {
            let (receive_buffer, min) = (self.receive_buffer, A_RWND_MIN);
            Err(ConfigError::ReceiveBuffer { receive_buffer, min })
        } else if self.message_size_max == 0 {
            Err(ConfigError::NoMessages)
        } else if paths == 0 || paths > PATHS_LIMIT {
            Err(ConfigError::Paths { paths_max: paths, limit: PATHS_LIMIT })
        } else if self.max_burst == Some(0) {
            Err(ConfigError::NoBurst)
        } else if sends_nothing {
            Err(ConfigError::NoWindow)
        } else {
            Ok(())
        }
    }

    /// The delay of a delayed SACK.
    ///
    /// RFC 9260 section 6.2: "An implementation MUST NOT allow the maximum delay (protocol
    /// parameter 'SACK.Delay') to be configured to be more than 500 ms."
    pub(crate) fn sack_delay(&self) -> Duration {
        self.sack_delay.min(SACK_DELAY_MAX)
    }

    /// The a_rwnd of an empty association.
    pub(crate) fn a_rwnd(&self) -> u32 {
        u32::try_from(self.receive_buffer).unwrap_or(u32::MAX).max(A_RWND_MIN)
    }

    /// The receive buffer.
    pub(crate) fn buffer(&self) -> Buffer {
        let (capacity, packet) = (self.a_rwnd() as usize, self.packet_size_max());
        Buffer { capacity, message_size_max: self.message_size_max, packet }
    }

    /// Bytes of SCTP packet that fit into the path MTU behind all headers.
    pub(crate) fn packet_size_max(&self) -> usize {
        self.path_mtu
            .max(PATH_MTU_MIN)
            .saturating_sub(self.header_overhead.min(HEADER_OVERHEAD_MAX))
            & !3
    }

    /// A congestion controller for a fresh path.
    pub(crate) fn controller(&self, rng: &mut Rng) -> Box<dyn CongestionController> {
        let controller = self.congestion_control.build(self.pmdcs(), self.start_rate, rng);
        match self.queuing_delay_max {
            Some(bound) => Box::new(QueueBound::new(controller, bound, self.pmdcs())),
            None => controller,
        }
    }

    /// PMDCS: bytes of the longest DATA chunk that fits into a packet, chunk header included.
    pub(crate) fn pmdcs(&self) -> usize {
        self.packet_size_max() - anabranch_wire::CommonHeader::LEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(config: AssociationConfig) -> ConfigError {
        config.validate().unwrap_err()
    }

    #[test]
    fn presets_can_work() {
        assert_eq!(AssociationConfig::default().validate(), Ok(()));
        assert_eq!(AssociationConfig::media().validate(), Ok(()));
    }

    #[test]
    fn each_rule_has_an_error_of_its_own_with_its_numbers() {
        let sound = AssociationConfig::default;
        let zero = Duration::ZERO;
        for (config, name) in [
            (AssociationConfig { rto_initial: zero, ..sound() }, "rto_initial"),
            (AssociationConfig { rto_max: zero, rto_min: zero, ..sound() }, "rto_max"),
            (AssociationConfig { t1_initial: zero, ..sound() }, "t1_initial"),
        ] {
            assert_eq!(refusal(config), ConfigError::ZeroTimeout { name });
        }
        let (min, max) = (Duration::from_secs(2), Duration::from_secs(1));
        let config = AssociationConfig { rto_min: min, rto_max: max, ..sound() };
        assert_eq!(refusal(config), ConfigError::RtoBounds { min, max });
        let config = AssociationConfig { path_mtu: 575, ..sound() };
        assert_eq!(refusal(config), ConfigError::PathMtu { path_mtu: 575, min: 576 });
        let config = AssociationConfig { header_overhead: 257, ..sound() };
        let error = ConfigError::HeaderOverhead { header_overhead: 257, limit: 256 };
        assert_eq!(refusal(config), error);
        let config = AssociationConfig { outbound_streams: 0, ..sound() };
        assert_eq!(refusal(config), ConfigError::NoStreams { outbound: 0, inbound: 64 });
        let config = AssociationConfig { inbound_streams_max: 0, ..sound() };
        assert_eq!(refusal(config), ConfigError::NoStreams { outbound: 16, inbound: 0 });
        let config = AssociationConfig { receive_buffer: 1_499, ..sound() };
        let error = ConfigError::ReceiveBuffer { receive_buffer: 1_499, min: 1_500 };
        assert_eq!(refusal(config), error);
        let config = AssociationConfig { message_size_max: 0, ..sound() };
        assert_eq!(refusal(config), ConfigError::NoMessages);
        for paths_max in [0, 256] {
            let config = AssociationConfig { paths_max, ..sound() };
            assert_eq!(refusal(config), ConfigError::Paths { paths_max, limit: 255 });
        }
        let config = AssociationConfig { max_burst: Some(0), ..sound() };
        assert_eq!(refusal(config), ConfigError::NoBurst);
        let congestion_control = CongestionControl::Fixed { window: 0 };
        let config = AssociationConfig { congestion_control, ..sound() };
        assert_eq!(refusal(config), ConfigError::NoWindow);
    }

    #[test]
    fn a_refusal_says_what_is_wrong_and_what_would_be_right() {
        let told = refusal(AssociationConfig { receive_buffer: 9, ..AssociationConfig::default() });
        let expected = "the receive buffer has 9 bytes, but RFC 9260 asks for at least 1500";
        assert_eq!(told.to_string(), expected);
    }
}
