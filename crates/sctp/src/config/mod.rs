//! What a user may choose.

mod groups;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use groups::{
    BufferConfig, ExtensionConfig, PathConfig, RecoveryConfig, StreamConfig, TimerConfig,
    WindowConfig,
};

use crate::error::ConfigError;
use crate::receive::Buffer;
use crate::send::LossDetection;
use anabranch_congestion::{CongestionControl, CongestionController, FreshPath};
use anabranch_sansio::{FourTuple, Rng};

/// RFC 9260 section 3.3.2: "The Advertised Receiver Window Credit MUST NOT be smaller than 1500."
pub(crate) const A_RWND_MIN: u32 = 1_500;

/// More than any stack of headers takes; leaves room for data at the smallest path MTU.
const HEADER_OVERHEAD_MAX: usize = 256;

/// A path MTU that every IPv4 host takes: less is counted as that.
const PATH_MTU_MIN: usize = 576;

/// The longest IP packet that there can be.
const IP_LEN_MAX: usize = u16::MAX as usize;

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
    /// Calls in a second for which keys are agreed on, which costs time; others are answered when
    /// they are repeated. There are limits for each address, too. Default: 500.
    pub key_agreements_per_second: u32,
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
            key_agreements_per_second: 500,
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
#[derive(Debug, Clone, Default)]
pub struct AssociationConfig {
    /// Timeouts, heartbeats, delayed acknowledgements.
    pub timers: TimerConfig,
    /// Congestion control and pacing.
    pub window: WindowConfig,
    /// Paths: how many, how large their packets, which carry data.
    pub paths: PathConfig,
    /// Finding and repairing losses; when the peer counts as lost.
    pub recovery: RecoveryConfig,
    /// Bytes that wait, and bytes of a message.
    pub buffers: BufferConfig,
    /// How many streams, and which sends next.
    pub streams: StreamConfig,
    /// What is offered beyond RFC 9260.
    pub extensions: ExtensionConfig,
    /// Trace events that are kept for [`Association::poll_trace`](crate::Association::poll_trace);
    /// 0 switches the trace off. Default: 0.
    pub trace_events_max: usize,
}

impl AssociationConfig {
    /// For media with deadlines, between peers that both use it: losses of a whole window are
    /// found within 0.1 s instead of 1 s, a dead path within one timeout, a path that came back
    /// within two seconds; a peer that is silent on two paths counts as lost after about 10 s.
    ///
    /// A handshake is repeated every 60 ms for the first second, that of keys included, and given
    /// up after 9 s: where losses come in bursts, what matters is how often it is tried. ICE sends
    /// its connectivity checks as close together (RFC 8445 section 14.2: every 50 ms).
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
        Self::default().with(|config| {
            config.timers.rto_initial = Duration::from_millis(250);
            config.timers.rto_min = Duration::from_millis(100);
            config.timers.rto_max = Duration::from_secs(1);
            config.timers.rto_variation_min = Duration::from_millis(20);
            config.recovery.association_max_retrans = 20;
            config.paths.path_max_retrans = 3;
            config.recovery.max_init_retransmits = 26;
            config.timers.t1_initial = Duration::from_millis(60);
            config.timers.t1_steady = 16;
            config.timers.heartbeat_interval = Duration::from_millis(400);
            config.timers.heartbeat_repeats = 2;
            config.timers.probes_silence = true;
            config.timers.sack_delay = Duration::from_millis(20);
            config.window.max_burst = None;
            config.window.congestion_control = CongestionControl::Media;
            config.recovery.loss_detection = LossDetection::InTime;
            config.extensions.spaced_sacks = true;
            config.extensions.level_marks = true;
            config.recovery.last_chance_twice = true;
            config.buffers.send_buffer = 4 << 20;
            config.buffers.receive_buffer = 4 << 20;
        })
    }

    /// The same with some values changed.
    ///
    /// ```
    /// use anabranch_sctp::AssociationConfig;
    ///
    /// let config = AssociationConfig::media().with(|config| {
    ///     config.paths.path_mtu = 1_280;
    ///     config.streams.outbound_streams = 4;
    /// });
    /// assert_eq!(config.validate(), Ok(()));
    /// ```
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Whether an association can work like this. [`Endpoint::connect`](crate::Endpoint::connect)
    /// asks by itself; who listens asks before [`Endpoint::new`](crate::Endpoint::new), which takes
    /// the nearest value that works instead.
    ///
    /// # Errors
    ///
    /// Names the first rule that is broken, and its numbers.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.timers.validate()?;
        self.paths.validate()?;
        self.streams.validate()?;
        self.buffers.validate()?;
        self.extensions.validate()?;
        self.window.validate()
    }

    /// The delay of a delayed SACK.
    ///
    /// RFC 9260 section 6.2: "An implementation MUST NOT allow the maximum delay (protocol
    /// parameter 'SACK.Delay') to be configured to be more than 500 ms."
    pub(crate) fn sack_delay(&self) -> Duration {
        self.timers.sack_delay.min(SACK_DELAY_MAX)
    }

    /// The a_rwnd of an empty association.
    pub(crate) fn a_rwnd(&self) -> u32 {
        u32::try_from(self.buffers.receive_buffer).unwrap_or(u32::MAX).max(A_RWND_MIN)
    }

    /// The receive buffer.
    pub(crate) fn buffer(&self) -> Buffer {
        let (capacity, packet) = (self.a_rwnd() as usize, self.packet_size_max());
        let BufferConfig { message_size_max, receive_order: order, .. } = self.buffers;
        Buffer { capacity, message_size_max, packet, order }
    }

    /// Bytes of SCTP packet that fit into the path MTU behind all headers.
    pub(crate) fn packet_size_max(&self) -> usize {
        self.packet_size(self.paths.path_mtu)
    }

    /// The same with another path MTU.
    pub(crate) fn packet_size(&self, path_mtu: usize) -> usize {
        path_mtu
            .max(PATH_MTU_MIN)
            .saturating_sub(self.paths.header_overhead.min(HEADER_OVERHEAD_MAX))
            & !3
    }

    /// A congestion controller for a fresh path, without the bound of its queuing delay.
    pub(crate) fn controller(&self, rng: &mut Rng) -> Box<dyn CongestionController> {
        let factory = self.window.controller_factory.as_deref();
        let factory = factory.unwrap_or(&self.window.congestion_control);
        let path = FreshPath::new(self.pmdcs()).starting_at(self.window.start_rate);
        factory.build(&path, rng)
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
            (sound().with(|config| config.timers.rto_initial = zero), "rto_initial"),
            (
                sound().with(|config| {
                    config.timers.rto_max = zero;
                    config.timers.rto_min = zero;
                }),
                "rto_max",
            ),
            (sound().with(|config| config.timers.t1_initial = zero), "t1_initial"),
        ] {
            assert_eq!(refusal(config), ConfigError::ZeroTimeout { name });
        }
        let (min, max) = (Duration::from_secs(2), Duration::from_secs(1));
        let config = sound().with(|config| {
            config.timers.rto_min = min;
            config.timers.rto_max = max;
        });
        assert_eq!(refusal(config), ConfigError::RtoBounds { min, max });
        let config = sound().with(|config| config.paths.path_mtu = 575);
        assert_eq!(refusal(config), ConfigError::PathMtu { path_mtu: 575, min: 576 });
        let config = sound().with(|config| config.paths.header_overhead = 257);
        let error = ConfigError::HeaderOverhead { header_overhead: 257, limit: 256 };
        assert_eq!(refusal(config), error);
        let config = sound().with(|config| config.streams.outbound_streams = 0);
        assert_eq!(refusal(config), ConfigError::NoStreams { outbound: 0, inbound: 64 });
        let config = sound().with(|config| config.streams.inbound_streams_max = 0);
        assert_eq!(refusal(config), ConfigError::NoStreams { outbound: 16, inbound: 0 });
        let config = sound().with(|config| config.buffers.receive_buffer = 1_499);
        let error = ConfigError::ReceiveBuffer { receive_buffer: 1_499, min: 1_500 };
        assert_eq!(refusal(config), error);
        let config = sound().with(|config| config.buffers.message_size_max = 0);
        assert_eq!(refusal(config), ConfigError::NoMessages);
        for paths_max in [0, 256] {
            let config = sound().with(|config| config.paths.paths_max = paths_max);
            assert_eq!(refusal(config), ConfigError::Paths { paths_max, limit: 255 });
        }
        let config = sound().with(|config| config.window.max_burst = Some(0));
        assert_eq!(refusal(config), ConfigError::NoBurst);
        let congestion_control = CongestionControl::Fixed { window: 0 };
        let config = sound().with(|config| config.window.congestion_control = congestion_control);
        assert_eq!(refusal(config), ConfigError::NoWindow);
        let config =
            sound().with(|config| config.window.rate_max = Some(anabranch_sansio::Rate::ZERO));
        assert_eq!(refusal(config), ConfigError::NoRate);
    }

    #[test]
    fn a_refusal_says_what_is_wrong_and_what_would_be_right() {
        let told =
            refusal(AssociationConfig::default().with(|config| config.buffers.receive_buffer = 9));
        let expected = "the receive buffer has 9 bytes, but RFC 9260 asks for at least 1500";
        assert_eq!(told.to_string(), expected);
    }
}
