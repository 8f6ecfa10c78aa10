//! The keys of a flow over TCP.

use anabranch_netsim::settings::time;
use anabranch_netsim::written::{Fault, Section};
use anabranch_tcp::{Config, CongestionControl};

use crate::scenario::key::{Key, boolean, bytes, choice, number};

/// Segments of the largest initial window.
const WINDOW_MAX: u64 = 1_000;

pub(in crate::scenario) const TCP_KEYS: &[Key] = &[
    Key::new(
        "profile",
        &["rfc", "linux"],
        "what the keys below change: what the RFCs recommend, the default; or what Linux does",
    ),
    Key::new(
        "controller",
        &["reno", "cubic", "cubic-rfc8312", "bbr"],
        "congestion control: RFC 5681, rfc's; RFC 9438; the CUBIC before it, linux's; BBR \
         version 3, paced",
    ),
    Key::new(
        "mtu",
        &["1500"],
        "bytes of the longest IP packet; what its links carry, 1500 at most",
    ),
    Key::new("sack", &["true"], "selective acknowledgments (RFC 2018); true"),
    Key::new(
        "rack",
        &["true"],
        "whether a repetition that is lost is found by time (RFC 8985); false, true of linux",
    ),
    Key::new("nagle", &["false"], "whether short segments wait (RFC 9293); true"),
    Key::new("initial_window", &["10"], "segments at the beginning; 10"),
    Key::new("segments_per_ack", &["2"], "segments that one acknowledgment answers; 2"),
    Key::new("ack_delay", &["40ms"], "how long an acknowledgment waits; 40ms"),
    Key::new("rto_min", &["200ms"], "retransmission timeout at least; 1s, 200ms of linux"),
    Key::new("send_buffer", &["4M"], "bytes that wait to be sent or acknowledged; 4M"),
    Key::new("receive_buffer", &["4M"], "bytes that wait to be read; 4M"),
];

/// What the keys say; what they leave out follows from `mtu`, which the links carry.
pub(in crate::scenario) fn tcp_config(section: &mut Section, mtu: u64) -> Result<Config, Fault> {
    let profiles = [("rfc", false), ("linux", true)];
    let is_linux = section.read("profile", |text| choice(text, &profiles))?.unwrap_or(false);
    let mut config = if is_linux { Config::linux() } else { Config::default() };
    let controllers = [
        ("reno", CongestionControl::Reno),
        ("cubic", CongestionControl::Cubic),
        ("cubic-rfc8312", CongestionControl::CubicRfc8312),
        ("bbr", CongestionControl::Bbr),
    ];
    let buffer = |text: &str| bytes(text, 2_048, 1 << 30);
    put(section.read("controller", |text| choice(text, &controllers))?, |value| {
        config.congestion_control = value;
    });
    config.mtu = section.read("mtu", |text| number(text, 576, 9_000))?.unwrap_or(mtu) as usize;
    put(section.read("sack", boolean)?, |value| config.sack = value);
    put(section.read("rack", boolean)?, |value| config.rack = value);
    put(section.read("nagle", boolean)?, |value| config.nagle = value);
    put(section.read("initial_window", |text| number(text, 1, WINDOW_MAX))?, |value| {
        config.initial_window = value as usize;
    });
    put(section.read("segments_per_ack", |text| number(text, 1, WINDOW_MAX))?, |value| {
        config.segments_per_ack = value as u32;
    });
    put(section.read("ack_delay", time)?, |value| config.ack_delay = value);
    put(section.read("rto_min", time)?, |value| config.rto_min = value);
    put(section.read("send_buffer", buffer)?, |value| config.send_buffer = value);
    put(section.read("receive_buffer", buffer)?, |value| config.receive_buffer = value);
    config.rto_initial = config.rto_initial.max(config.rto_min);
    Ok(config)
}

fn put<T>(value: Option<T>, set: impl FnOnce(T)) {
    if let Some(value) = value {
        set(value);
    }
}
