//! The keys of a flow over SCTP.

use anabranch_netsim::settings::time;
use anabranch_netsim::written::{Fault, Section};
use anabranch_sctp::{
    AssociationConfig, CongestionControl, LossDetection, PathSchedulerKind, Reliability,
    RetransmissionPolicy, SEALING_LEN, SchedulerKind,
};

use super::encryption::{self, ENCRYPTION};

use crate::scenario::key::{Key, boolean, bytes, choice, number, rate, span};

/// An IPv4 header, and one of UDP.
const IP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
/// The common header, and a DATA chunk's.
const SCTP_HEADERS: usize = 12 + 16;

const CONTROLLERS: &[(&str, CongestionControl)] = &[
    ("rfc9260", CongestionControl::Rfc9260),
    ("small-window", CongestionControl::SmallInitialWindow),
    ("large-window", CongestionControl::LargeInitialWindow),
    ("cubic", CongestionControl::Cubic),
    ("bbr", CongestionControl::Bbr),
    ("media", CongestionControl::Media),
];
const PATH_SCHEDULERS: &[(&str, PathSchedulerKind)] = &[
    ("primary", PathSchedulerKind::Primary),
    ("as-window-allows", PathSchedulerKind::AsWindowAllows),
    ("lowest-rtt", PathSchedulerKind::LowestRtt),
    ("earliest-delivery", PathSchedulerKind::EarliestDelivery),
    ("duplicate", PathSchedulerKind::Duplicate),
];
const RETRANSMISSIONS: &[(&str, RetransmissionPolicy)] = &[
    ("rfc9260", RetransmissionPolicy::Rfc9260),
    ("alternate", RetransmissionPolicy::Alternate),
    ("same", RetransmissionPolicy::Same),
    ("asap", RetransmissionPolicy::Asap),
    ("cwnd", RetransmissionPolicy::Cwnd),
    ("ssthresh", RetransmissionPolicy::Ssthresh),
    ("loss-rate", RetransmissionPolicy::LossRate),
    ("earliest", RetransmissionPolicy::Earliest),
];
const LOSS_DETECTIONS: &[(&str, LossDetection)] = &[
    ("rfc9260", LossDetection::Rfc9260),
    ("once-per-window", LossDetection::OncePerWindow),
    ("in-time", LossDetection::InTime),
];
const STREAM_SCHEDULERS: &[(&str, SchedulerKind)] =
    &[("priority", SchedulerKind::Priority), ("round-robin", SchedulerKind::RoundRobin)];

pub(in crate::scenario) const SCTP_KEYS: &[Key] = &[
    Key::new(
        "profile",
        &["rfc9260", "media"],
        "what the keys below change: what RFC 9260 section 16 recommends, the default, or \
         our configuration for media with deadlines",
    ),
    Key::new(
        "carrier",
        &["ip", "udp"],
        "what stands below SCTP: IP alone, the default, or UDP (RFC 6951)",
    ),
    ENCRYPTION,
    Key::new(
        "controller",
        &["rfc9260", "small-window", "large-window", "cubic", "bbr", "media"],
        "congestion control of each path; the profile's",
    ),
    Key::new(
        "path_scheduler",
        &["primary", "as-window-allows", "lowest-rtt", "earliest-delivery", "duplicate"],
        "which paths new data takes; primary. CMT is as-window-allows",
    ),
    Key::new(
        "retransmission",
        &["rfc9260", "alternate", "same", "asap", "cwnd", "ssthresh", "loss-rate", "earliest"],
        "which path lost data takes; rfc9260",
    ),
    Key::new(
        "loss_detection",
        &["rfc9260", "once-per-window", "in-time"],
        "how losses are found; the profile's",
    ),
    Key::new(
        "cmt_delayed_ack",
        &["true"],
        "SACKs that wait in the midst of gaps, for CMT (DAC); false",
    ),
    Key::new("spaced_sacks", &["true"], "SACKs spaced in time; the profile's"),
    Key::new("interleaving", &["true"], "message interleaving (RFC 8260); false"),
    Key::new(
        "buffer_splitting",
        &["false"],
        "each path may fill only its share of the peer's buffer; true",
    ),
    Key::new("streams", &["4"], "streams that the messages take in turn; 1"),
    Key::new("stream_scheduler", &["priority", "round-robin"], "which stream sends next; priority"),
    Key::new("priorities", &["0,1,1,2"], "of each stream, the first to be served 0; 0 of all"),
    Key::new(
        "ordered",
        &["false"],
        "whether messages are delivered in the order of their stream; true",
    ),
    Key::new("lifetime", &["200ms"], "a message is given up after so long; never"),
    Key::new(
        "max_retransmissions",
        &["1"],
        "a message is given up after so many repetitions; never",
    ),
    Key::new(
        "mtu",
        &["1500"],
        "bytes of the longest IP packet; what its links carry, 1500 at most",
    ),
    Key::new("start_rate", &["2M"], "what the media controller begins with; its initial window"),
    Key::new("pacing", &["true"], "a window's data is spread over the round trip; false"),
    Key::new("max_burst", &["4", "none"], "packets that one arrival releases; the profile's"),
    Key::new(
        "queuing_delay_max",
        &["50ms"],
        "how long packets may wait in the network before the window shrinks; without bound",
    ),
    Key::new(
        "rate_max",
        &["3M"],
        "what the source sends at most, with `queuing_delay_max`; not known",
    ),
    Key::new("send_buffer", &["1M"], "bytes that wait to be sent; the profile's"),
    Key::new(
        "receive_buffer",
        &["1M"],
        "bytes that wait to be read, or for gaps to close; the profile's",
    ),
    Key::new("sack_delay", &["200ms"], "how long a SACK waits; the profile's"),
    Key::new(
        "slack",
        &["2ms"],
        "how late the end of a lifetime may be noticed, and a second copy leave; 0s",
    ),
    Key::new("rto_initial", &["1s"], "retransmission timeout at first; the profile's"),
    Key::new("rto_min", &["1s"], "at least; the profile's"),
    Key::new("rto_max", &["60s"], "at most; the profile's"),
    Key::new(
        "rto_variation_min",
        &["20ms"],
        "what the round trip's variation counts at least in it; the profile's",
    ),
    Key::new("t1_initial", &["1s"], "how long INIT waits for its answer; the profile's"),
    Key::new(
        "t1_steady",
        &["3"],
        "times that INIT or COOKIE ECHO goes again before that time doubles; the profile's",
    ),
    Key::new("max_init_retransmits", &["8"], "times that they go again at most; the profile's"),
    Key::new("heartbeat_interval", &["30s"], "between heartbeats of an idle path; the profile's"),
    Key::new(
        "heartbeat_repeats",
        &["2"],
        "times that a heartbeat is asked again before an error counts; the profile's",
    ),
    Key::new(
        "probes_silence",
        &["true"],
        "whether a receiver that hears nothing asks with a heartbeat; the profile's",
    ),
    Key::new(
        "last_chance_twice",
        &["true"],
        "whether what could be sent again only once goes twice then; the profile's",
    ),
    Key::new("path_max_retrans", &["5"], "errors in a row after which a path fails; the profile's"),
    Key::new(
        "potentially_failed_max_retrans",
        &["0"],
        "errors after which a path carries no data while another can (RFC 7829); 0",
    ),
    Key::new(
        "association_max_retrans",
        &["10"],
        "errors in a row after which the peer counts as lost; the profile's",
    ),
];

/// What a flow over SCTP is told.
#[derive(Debug, Clone)]
pub(in crate::scenario) struct SctpOptions {
    pub(in crate::scenario) config: AssociationConfig,
    pub(in crate::scenario) streams: u16,
    /// Of each stream.
    pub(in crate::scenario) priorities: Vec<u16>,
    pub(in crate::scenario) ordered: bool,
    pub(in crate::scenario) reliability: Reliability,
    pub(in crate::scenario) over_udp: bool,
}

impl SctpOptions {
    /// What the keys say; what they leave out follows from `mtu`, which the links carry.
    pub(in crate::scenario) fn read(section: &mut Section, mtu: u64) -> Result<Self, Fault> {
        let profiles = [("rfc9260", false), ("media", true)];
        let is_media = section.read("profile", |text| choice(text, &profiles))?.unwrap_or(false);
        let mut config =
            if is_media { AssociationConfig::media() } else { AssociationConfig::default() };
        let carriers = [("ip", false), ("udp", true)];
        let over_udp = section.read("carrier", |text| choice(text, &carriers))?.unwrap_or(false);
        config.paths.header_overhead = IP_HEADER + if over_udp { UDP_HEADER } else { 0 };
        let chosen = section.read("mtu", |text| number(text, 576, 9_000))?;
        config.paths.path_mtu = chosen.unwrap_or(mtu) as usize;
        config.extensions.encryption = encryption::read(section)?;
        read_policies(section, &mut config)?;
        read_windows(section, &mut config)?;
        read_timers(section, &mut config)?;
        let streams = section.read("streams", |text| number(text, 1, 65_535))?.unwrap_or(1) as u16;
        config.streams.outbound_streams = streams;
        config.streams.inbound_streams_max = streams;
        let options = Self {
            streams,
            priorities: priorities(section, streams)?,
            ordered: section.read("ordered", boolean)?.unwrap_or(true),
            reliability: reliability(section)?,
            over_udp,
            config,
        };
        options.config.validate().map_err(|error| section.fault(error.to_string()))?;
        Ok(options)
    }

    /// Bytes of the longest message that fits into one packet.
    pub(in crate::scenario) fn packet_payload(&self) -> usize {
        let paths = &self.config.paths;
        let is_sealed = self.config.extensions.encryption.is_some();
        let sealing = if is_sealed { SEALING_LEN } else { 0 };
        (paths.path_mtu - paths.header_overhead - SCTP_HEADERS - sealing) & !3
    }

    /// Bytes of the longest message that there can be.
    pub(in crate::scenario) fn message_max(&self) -> usize {
        let buffers = &self.config.buffers;
        buffers.message_size_max.min(buffers.receive_buffer / 2).min(buffers.send_buffer)
    }
}

fn priorities(section: &mut Section, streams: u16) -> Result<Vec<u16>, Fault> {
    let listed = section.read("priorities", |text| {
        let one = |text: &str| number(text.trim(), 0, u16::MAX.into()).map(|one| one as u16);
        let priorities: Vec<u16> = text.split(',').map(one).collect::<Result<_, _>>()?;
        let count = priorities.len();
        let wrong = || format!("these are {count}, of {streams} streams: give one for each");
        if count == usize::from(streams) { Ok(priorities) } else { Err(wrong()) }
    })?;
    Ok(listed.unwrap_or_default())
}

fn reliability(section: &mut Section) -> Result<Reliability, Fault> {
    let lifetime = section.read("lifetime", span)?;
    let repeats = section.read("max_retransmissions", |text| number(text, 0, 1_000))?;
    match (lifetime, repeats) {
        (None, None) => Ok(Reliability::Reliable),
        (Some(lifetime), None) => Ok(Reliability::Lifetime(lifetime)),
        (None, Some(repeats)) => Ok(Reliability::MaxRetransmissions(repeats as u32)),
        (Some(_), Some(_)) => Err(section.fault("give lifetime or max_retransmissions, not both")),
    }
}

fn read_policies(section: &mut Section, config: &mut AssociationConfig) -> Result<(), Fault> {
    put(section.read("controller", |text| choice(text, CONTROLLERS))?, |value| {
        config.window.congestion_control = value;
    });
    put(section.read("path_scheduler", |text| choice(text, PATH_SCHEDULERS))?, |value| {
        config.paths.path_scheduler = value;
    });
    put(section.read("retransmission", |text| choice(text, RETRANSMISSIONS))?, |value| {
        config.recovery.retransmission_policy = value;
    });
    put(section.read("loss_detection", |text| choice(text, LOSS_DETECTIONS))?, |value| {
        config.recovery.loss_detection = value;
    });
    put(section.read("stream_scheduler", |text| choice(text, STREAM_SCHEDULERS))?, |value| {
        config.streams.scheduler = value;
    });
    put(section.read("cmt_delayed_ack", boolean)?, |value| {
        config.extensions.cmt_delayed_ack = value;
    });
    put(section.read("spaced_sacks", boolean)?, |value| config.extensions.spaced_sacks = value);
    put(section.read("interleaving", boolean)?, |value| {
        config.extensions.message_interleaving = value;
    });
    put(section.read("buffer_splitting", boolean)?, |value| config.paths.buffer_splitting = value);
    Ok(())
}

fn read_windows(section: &mut Section, config: &mut AssociationConfig) -> Result<(), Fault> {
    let burst = |text: &str| match text {
        "none" => Ok(None),
        _ => number(text, 1, 1_000_000).map(|packets| Some(packets as u32)),
    };
    let send_buffer = |text: &str| bytes(text, 2_048, 1 << 30);
    let receive_buffer = |text: &str| bytes(text, 4_096, 1 << 30);
    put(section.read("start_rate", rate)?, |value| config.window.start_rate = Some(value));
    put(section.read("pacing", boolean)?, |value| config.window.pacing = value);
    put(section.read("max_burst", burst)?, |value| config.window.max_burst = value);
    put(section.read("queuing_delay_max", span)?, |value| {
        config.window.queuing_delay_max = Some(value);
    });
    put(section.read("rate_max", rate)?, |value| config.window.rate_max = Some(value));
    put(section.read("send_buffer", send_buffer)?, |value| config.buffers.send_buffer = value);
    put(section.read("receive_buffer", receive_buffer)?, |value| {
        config.buffers.receive_buffer = value;
    });
    Ok(())
}

fn read_timers(section: &mut Section, config: &mut AssociationConfig) -> Result<(), Fault> {
    let timers = &mut config.timers;
    put(section.read("sack_delay", time)?, |value| timers.sack_delay = value);
    put(section.read("slack", time)?, |value| timers.slack = value);
    put(section.read("rto_initial", span)?, |value| timers.rto_initial = value);
    put(section.read("rto_min", time)?, |value| timers.rto_min = value);
    put(section.read("rto_max", span)?, |value| timers.rto_max = value);
    put(section.read("rto_variation_min", time)?, |value| timers.rto_variation_min = value);
    put(section.read("t1_initial", span)?, |value| timers.t1_initial = value);
    put(section.read("heartbeat_interval", span)?, |value| timers.heartbeat_interval = value);
    put(section.read("probes_silence", boolean)?, |value| timers.probes_silence = value);
    let errors = |text: &str| number(text, 0, 1_000).map(|errors| errors as u32);
    put(section.read("t1_steady", errors)?, |value| timers.t1_steady = value);
    put(section.read("heartbeat_repeats", errors)?, |value| timers.heartbeat_repeats = value);
    put(section.read("max_init_retransmits", errors)?, |value| {
        config.recovery.max_init_retransmits = value;
    });
    put(section.read("last_chance_twice", boolean)?, |value| {
        config.recovery.last_chance_twice = value;
    });
    put(section.read("path_max_retrans", errors)?, |value| config.paths.path_max_retrans = value);
    put(section.read("potentially_failed_max_retrans", errors)?, |value| {
        config.paths.potentially_failed_max_retrans = value;
    });
    put(section.read("association_max_retrans", errors)?, |value| {
        config.recovery.association_max_retrans = value;
    });
    Ok(())
}

fn put<T>(value: Option<T>, set: impl FnOnce(T)) {
    if let Some(value) = value {
        set(value);
    }
}
