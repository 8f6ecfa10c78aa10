//! The groups of an [`AssociationConfig`](super::AssociationConfig). Every field names its RFC
//! parameter, unit and default.

use std::sync::Arc;
use std::time::Duration;

use anabranch_congestion::{CongestionControl, ControllerFactory};
use anabranch_sansio::Rate;

use super::{A_RWND_MIN, HEADER_OVERHEAD_MAX, IP_LEN_MAX, PATH_MTU_MIN, PATHS_LIMIT};
use crate::authentication::Authentication;
use crate::dtls::Encryption;
use crate::error::ConfigError;
use crate::path_choice::{
    PathScheduler, PathSchedulerFactory, PathSchedulerKind, RetransmissionPolicy,
};
use crate::receive::ReceiveOrder;
use crate::send::{LossDetection, SchedulerKind, StreamSchedulerFactory};

/// Timeouts, heartbeats and how long acknowledgements may wait.
#[derive(Debug, Clone)]
pub struct TimerConfig {
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
    /// What T1-init begins with, and T1-cookie if no round trip was measured. Default: 1 s, which
    /// is 'RTO.Initial'.
    pub t1_initial: Duration,
    /// Resends of an INIT or COOKIE ECHO before T1 backs off, and of what is said about keys before
    /// T3-rtx does and errors are counted: on a path that loses much, a lost handshake says little
    /// about congestion. Until then they follow each other within
    /// [`t1_initial`](field@Self::t1_initial). Default: 0.
    pub t1_steady: u32,
    /// 'HB.interval'. Default: 30 s. [`Duration::MAX`] leaves idle paths alone; a single one is by
    /// [`Association::set_heartbeats`](crate::Association::set_heartbeats).
    pub heartbeat_interval: Duration,
    /// How often a heartbeat is asked again, each after the RTO, before an active path on which
    /// nothing is in flight counts an error: one of them, or its answer, may be lost like any
    /// packet, and nothing else says so. Default: 0, RFC 9260's.
    pub heartbeat_repeats: u32,
    /// Whether a receiver that hears nothing for longer than usual sends a heartbeat, which tells a
    /// sender the new port if a NAT in between forgot the old one; without it, the next one after
    /// `heartbeat_interval` does. Default: false.
    pub probes_silence: bool,
    /// 'SACK.Delay'. Default: 200 ms; more than 500 ms counts as that (RFC 9260 section 6.2).
    pub sack_delay: Duration,
    /// How late the end of a message's lifetime may be noticed, and a second copy leave, so that
    /// several are handled in one wakeup. Whatever is sent meanwhile is looked at first: nothing
    /// goes out behind its lifetime. Default: 0.
    pub slack: Duration,
}

impl Default for TimerConfig {
    fn default() -> Self {
        Self {
            rto_initial: Duration::from_secs(1),
            rto_min: Duration::from_secs(1),
            rto_max: Duration::from_secs(60),
            rto_variation_min: Duration::ZERO,
            t1_initial: Duration::from_secs(1),
            t1_steady: 0,
            heartbeat_interval: Duration::from_secs(30),
            heartbeat_repeats: 0,
            probes_silence: false,
            sack_delay: Duration::from_millis(200),
            slack: Duration::ZERO,
        }
    }
}

/// How much may be in flight, and how fast it goes out.
#[derive(Debug, Clone)]
pub struct WindowConfig {
    /// The congestion controller of each path. Default: RFC 9260's.
    pub congestion_control: CongestionControl,
    /// A factory of controllers of your own, in place of
    /// [`congestion_control`](field@Self::congestion_control). Default: `None`.
    pub controller_factory: Option<Arc<dyn ControllerFactory>>,
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
    /// [`QueueBound`](crate::QueueBound). `None`: only losses tell that it is too large. Default:
    /// `None`.
    pub queuing_delay_max: Option<Duration>,
    /// What the source sends at most, if its data is worth nothing once it is late, as that of a
    /// call: what would wait in the network all the same stays here (see
    /// [`QueueBound::for_rate`](crate::QueueBound::for_rate)). Counts with
    /// [`queuing_delay_max`](field@Self::queuing_delay_max) only. `None`: it is not known. Default:
    /// `None`.
    pub rate_max: Option<Rate>,
    /// 'Max.Burst': packets that one arrival may release; `None` leaves it to the congestion
    /// window. Default: 4.
    ///
    /// Nor does a transmission hold more than these packets, a shorter one aside, however many
    /// [`segments_max`](crate::EndpointConfig::segments_max) allows: for bulk data with
    /// segmentation offload take `None`, and [`pacing`](field@Self::pacing) or a controller that
    /// paces, which keep short queues from overflowing.
    pub max_burst: Option<u32>,
}

impl Default for WindowConfig {
    fn default() -> Self {
        Self {
            congestion_control: CongestionControl::default(),
            controller_factory: None,
            start_rate: None,
            pacing: false,
            queuing_delay_max: None,
            rate_max: None,
            max_burst: Some(4),
        }
    }
}

/// How many paths there are, what a packet may have on them, which of them carry data, and when one
/// fails.
#[derive(Debug, Clone)]
pub struct PathConfig {
    /// Paths that an association may have, those included that a peer announces: 1 to 255.
    /// Default: 8.
    pub paths_max: usize,
    /// Whether the peer learns our IP addresses from us, in INIT and INIT ACK (RFC 9260 section
    /// 5.1.2) and by ASCONF (RFC 5061). Without, it learns of paths by their packets alone: an
    /// address says nothing where a relay or a NAT stands between, and both ends have other ways to
    /// find each other. Default: true.
    pub announces_addresses: bool,
    /// IP bytes that a packet may have on every path, at least 576. Default: 1400, which passes
    /// through the usual tunnels (VPNs, PPPoE, mobile networks) unfragmented.
    pub path_mtu: usize,
    /// IP bytes up to which larger packets are tried out on each path, by probes without data
    /// (RFC 8899): packets are then as long as the paths carry that data takes, at least
    /// [`path_mtu`](field@Self::path_mtu). At most 65,535. Default: `None`, nothing is tried.
    pub path_mtu_search_max: Option<usize>,
    /// Bytes that headers in front of an SCTP packet take of the path MTU. Default: 48, for IPv6
    /// and UDP, so that a packet fits every path of a mixed association. At most 256.
    pub header_overhead: usize,
    /// Which paths new data takes. Default: the primary one, another while it fails.
    pub path_scheduler: PathSchedulerKind,
    /// A factory of path schedulers of your own, in place of
    /// [`path_scheduler`](field@Self::path_scheduler). Default: `None`.
    pub path_scheduler_factory: Option<Arc<dyn PathSchedulerFactory>>,
    /// Whether each path that carries data at the same time as others may fill only its share of
    /// the peer's receive buffer, so that a slow one never leaves nothing for a fast one (Adhari
    /// 2011, "Evaluation of Concurrent Multipath Transfer over Dissimilar Paths"). Our own send
    /// buffer holds only what was not sent yet, and needs no splitting. Default: true.
    pub buffer_splitting: bool,
    /// 'Path.Max.Retrans': the same for one path. Default: 5.
    pub path_max_retrans: u32,
    /// 'PotentiallyFailed.Max.Retrans' (RFC 7829): errors above which a path carries no data while
    /// another can. Default: 0, which is the RFC's recommendation: one timeout.
    pub potentially_failed_max_retrans: u32,
}

impl Default for PathConfig {
    fn default() -> Self {
        Self {
            paths_max: 8,
            announces_addresses: true,
            path_mtu: 1_400,
            path_mtu_search_max: None,
            header_overhead: 40 + 8,
            path_scheduler: PathSchedulerKind::default(),
            path_scheduler_factory: None,
            buffer_splitting: true,
            path_max_retrans: 5,
            potentially_failed_max_retrans: 0,
        }
    }
}

/// How losses are found and repaired, and when the peer counts as lost.
#[derive(Debug, Clone)]
pub struct RecoveryConfig {
    /// How losses are found. Default: as RFC 9260 has it.
    pub loss_detection: LossDetection,
    /// Which path lost data takes. Default: as RFC 9260 has it.
    pub retransmission_policy: RetransmissionPolicy,
    /// Whether a lost chunk is sent again twice when a further retransmission would come after its
    /// lifetime: on two paths, or one after the other on one. Only where losses are found
    /// [in time](LossDetection::InTime). Default: false.
    pub last_chance_twice: bool,
    /// Whether new messages of [`Level::Urgent`](crate::Level::Urgent) go before what is sent
    /// again, have a packet's room of each window to themselves, and do not wait for a path's
    /// pace: voice, which is little and cannot wait, while a path takes over what another one lost.
    /// Default: false, as RFC 9260 section 6.1, rule C, has it.
    pub urgent_ahead: bool,
    /// 'Association.Max.Retrans': consecutive unanswered retransmissions after which the peer
    /// counts as lost. Default: 10.
    pub association_max_retrans: u32,
    /// 'Max.Init.Retransmits'. Default: 8.
    pub max_init_retransmits: u32,
}

impl Default for RecoveryConfig {
    fn default() -> Self {
        Self {
            loss_detection: LossDetection::default(),
            retransmission_policy: RetransmissionPolicy::default(),
            last_chance_twice: false,
            urgent_ahead: false,
            association_max_retrans: 10,
            max_init_retransmits: 8,
        }
    }
}

/// How many bytes wait at our end, and how many a message may have.
#[derive(Debug, Clone)]
pub struct BufferConfig {
    /// Bytes of messages that may wait in the send queue. Default: 1 MiB.
    pub send_buffer: usize,
    /// Bytes of received data that may wait for gaps to close or for the user: the a_rwnd of an
    /// empty association. At least 1500 (RFC 9260 section 3.3.2). With what each message costs
    /// beside its bytes, four times as much at most are held: of messages under 48 bytes some may
    /// find no room that was announced, and come again. Default: 1 MiB.
    pub receive_buffer: usize,
    /// The longest message that can be sent or received, in bytes; at most half the receive
    /// buffer. Default: 256 KiB.
    pub message_size_max: usize,
    /// In which order messages are read that wait for the user. Default: as they arrived.
    pub receive_order: ReceiveOrder,
}

impl Default for BufferConfig {
    fn default() -> Self {
        Self {
            send_buffer: 1 << 20,
            receive_buffer: 1 << 20,
            message_size_max: 256 << 10,
            receive_order: ReceiveOrder::Arrival,
        }
    }
}

/// How many streams there are, and which of ours sends next.
#[derive(Debug, Clone)]
pub struct StreamConfig {
    /// Streams that we want to send on. Default: 16.
    pub outbound_streams: u16,
    /// Streams that we let the peer send on. Default: 64.
    pub inbound_streams_max: u16,
    /// Streams that we may come to send on because the peer asks for it (RFC 6525 section 5.2.6),
    /// those included that there are. Default: 0, so that the peer is refused.
    pub outbound_streams_max: u16,
    /// Which stream sends next. Default: by priority, equal ones in turn.
    pub scheduler: SchedulerKind,
    /// A factory of stream schedulers of your own, in place of
    /// [`scheduler`](field@Self::scheduler). Default: `None`.
    pub scheduler_factory: Option<Arc<dyn StreamSchedulerFactory>>,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self {
            outbound_streams: 16,
            inbound_streams_max: 64,
            outbound_streams_max: 0,
            scheduler: SchedulerKind::default(),
            scheduler_factory: None,
        }
    }
}

/// What is offered to the peer beyond RFC 9260. What it does not offer as well is not used.
#[derive(Debug, Clone)]
pub struct ExtensionConfig {
    /// Whether partial reliability (RFC 3758) is offered. Default: true.
    pub partial_reliability: bool,
    /// Whether user message interleaving (RFC 8260) is offered: between peers that both offer it,
    /// an urgent message does not wait for the end of a long one of another stream. Messages of one
    /// stream stay one behind the other. Default: false.
    pub message_interleaving: bool,
    /// Whether packets without a checksum are offered (RFC 9653): only where this association runs
    /// in DTLS (RFC 8261), which refuses what was changed on its way. Default: false.
    pub zero_checksum_over_dtls: bool,
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
    /// Whether marks of a message's [`Level`](crate::Level) are offered, in flags that RFC 9260
    /// reserves (Huseynli 2023): between peers that both offer them, a receiver learns how much
    /// each message matters, and can [read that first](BufferConfig::receive_order). A peer that
    /// does not know them does not notice: it gets zeros there. Default: false.
    pub level_marks: bool,
    /// The keys that chunks are authenticated by (RFC 4895); with them, addresses can be changed by
    /// request (RFC 5061). Default: `None`, neither is offered.
    pub authentication: Option<Authentication>,
    /// Whether, and how, all packets are encrypted (draft-ietf-tsvwg-sctp-dtls-chunk). Not together
    /// with [`authentication`](Self::authentication). Default: `None`.
    pub encryption: Option<Encryption>,
}

impl Default for ExtensionConfig {
    fn default() -> Self {
        Self {
            partial_reliability: true,
            message_interleaving: false,
            zero_checksum_over_dtls: false,
            cmt_delayed_ack: false,
            spaced_sacks: false,
            level_marks: false,
            authentication: None,
            encryption: None,
        }
    }
}

impl ExtensionConfig {
    /// Whether sealed packets are offered to go without a checksum (RFC 9653): the DTLS chunk
    /// refuses what was changed on its way.
    pub(crate) const fn omits_checksums_of_sealed(&self) -> bool {
        self.encryption.is_some() && !self.zero_checksum_over_dtls
    }

    /// Whether these extensions go together.
    ///
    /// # Errors
    ///
    /// Names the first rule that is broken.
    pub const fn validate(&self) -> Result<(), ConfigError> {
        if self.authentication.is_some() && self.encryption.is_some() {
            return Err(ConfigError::AuthenticationAndEncryption);
        }
        Ok(())
    }
}

impl TimerConfig {
    /// Whether these timers can work.
    ///
    /// # Errors
    ///
    /// Names the first rule that is broken, and its numbers.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let timeouts = [
            ("rto_initial", self.rto_initial),
            ("rto_max", self.rto_max),
            ("t1_initial", self.t1_initial),
        ];
        if let Some(&(name, _)) = timeouts.iter().find(|(_, timeout)| timeout.is_zero()) {
            return Err(ConfigError::ZeroTimeout { name });
        }
        let (min, max) = (self.rto_min, self.rto_max);
        if min > max { Err(ConfigError::RtoBounds { min, max }) } else { Ok(()) }
    }
}

impl WindowConfig {
    /// Whether anything can be sent within these windows.
    ///
    /// # Errors
    ///
    /// Names the first rule that is broken.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.max_burst == Some(0) {
            Err(ConfigError::NoBurst)
        } else if matches!(self.congestion_control, CongestionControl::Fixed { window: 0 }) {
            Err(ConfigError::NoWindow)
        } else if self.rate_max == Some(Rate::ZERO) {
            Err(ConfigError::NoRate)
        } else {
            Ok(())
        }
    }
}

impl BufferConfig {
    /// Whether these buffers can work.
    ///
    /// # Errors
    ///
    /// Names the first rule that is broken, and its numbers.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.receive_buffer < A_RWND_MIN as usize {
            let (receive_buffer, min) = (self.receive_buffer, A_RWND_MIN);
            Err(ConfigError::ReceiveBuffer { receive_buffer, min })
        } else if self.message_size_max == 0 {
            Err(ConfigError::NoMessages)
        } else {
            Ok(())
        }
    }
}

impl PathConfig {
    /// Whether such paths can carry anything.
    ///
    /// # Errors
    ///
    /// Names the first rule that is broken, and its numbers.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let Self { paths_max, path_mtu, path_mtu_search_max, header_overhead, .. } = *self;
        let search_max = path_mtu_search_max.unwrap_or(path_mtu);
        if path_mtu < PATH_MTU_MIN {
            Err(ConfigError::PathMtu { path_mtu, min: PATH_MTU_MIN })
        } else if path_mtu_search_max.is_some() && !(path_mtu..=IP_LEN_MAX).contains(&search_max) {
            Err(ConfigError::PathMtuSearch { search_max, path_mtu, limit: IP_LEN_MAX })
        } else if header_overhead > HEADER_OVERHEAD_MAX {
            Err(ConfigError::HeaderOverhead { header_overhead, limit: HEADER_OVERHEAD_MAX })
        } else if paths_max == 0 || paths_max > PATHS_LIMIT {
            Err(ConfigError::Paths { paths_max, limit: PATHS_LIMIT })
        } else {
            Ok(())
        }
    }

    /// What chooses among several paths; `None` where data takes one at a time.
    pub(crate) fn build_scheduler(&self) -> Option<Box<dyn PathScheduler>> {
        match &self.path_scheduler_factory {
            Some(factory) => factory.build(),
            None => self.path_scheduler.build(),
        }
    }

    /// Whether all messages take two paths.
    pub(crate) fn doubles(&self) -> bool {
        self.path_scheduler_factory.is_none() && self.path_scheduler.doubles()
    }
}

impl StreamConfig {
    /// Whether there are streams at all.
    ///
    /// # Errors
    ///
    /// Tells the numbers.
    pub const fn validate(&self) -> Result<(), ConfigError> {
        let (outbound, inbound) = (self.outbound_streams, self.inbound_streams_max);
        if outbound == 0 || inbound == 0 {
            Err(ConfigError::NoStreams { outbound, inbound })
        } else {
            Ok(())
        }
    }

    /// What chooses among streams.
    pub(crate) fn scheduler_factory(&self) -> &dyn StreamSchedulerFactory {
        self.scheduler_factory.as_deref().unwrap_or(&self.scheduler)
    }
}
