//! The keys of a flow over DCCP.

use std::time::Duration;

use anabranch_dccp::tfrc::PacketSize;
use anabranch_dccp::wire::ServiceCode;
use anabranch_dccp::{
    BundleConfig, CONNECTIONS_MAX, Ccid, Config, Connections, Encapsulation, EndpointConfig,
    MultipathConfig,
};
use anabranch_netsim::settings::time;
use anabranch_netsim::written::{Fault, Section};

use crate::scenario::AFTER;
use crate::scenario::key::{Key, boolean, bytes, choice, number, span};

/// What a bundle and a connection over several paths put beside each datagram.
const NUMBERING: usize = 12;

const GROUP_MAX: u64 = 1_000_000;

pub(in crate::scenario) const DCCP_KEYS: &[Key] = &[
    Key::new(
        "carrier",
        &["ip", "udp"],
        "what stands below DCCP: IP alone, the default, or UDP (RFC 6773)",
    ),
    Key::new(
        "ccid",
        &["2", "3"],
        "congestion control: by a window, as TCP's (RFC 4341), the default; or TFRC, by a rate \
         (RFC 4342)",
    ),
    CONNECTIONS,
    Key::new("group", &["15"], "messages in a row that go by one connection of the bundle; 1"),
    Key::new("start_gap", &["500ms"], "from one connection's beginning to the next one's; 500ms"),
    Key::new(
        "reordering",
        &["200ms"],
        "how long a receiver waits for what is missing, of a bundle and of several paths; 2s and \
         200ms",
    ),
    Key::new(
        "packet_size",
        &["mean", "actual", "maximum"],
        "what TFRC's equation is fed with: the mean of what was sent, the default; each packet's \
         own size; that of the largest packet",
    ),
    Key::new(
        "oscillation_reduction",
        &["true"],
        "whether TFRC gives way when the round trip grows (RFC 5348 section 4.5); true",
    ),
    Key::new(
        "faster_restart",
        &["30s"],
        "whether TFRC comes back faster after a pause, and how long until the rate before it \
         counts half; it does not",
    ),
    Key::new("service_code", &["SC:anab"], "the service that is asked for (RFC 5595); SC:anab"),
    Key::new(
        "init_cookies",
        &["true"],
        "whether the receiver keeps nothing of who has not answered its Response; false",
    ),
    Key::new("short_sequence_numbers", &["true"], "whether numbers of data have 24 bits; false"),
    Key::new("data_checksum", &["true"], "whether data have a checksum of their own; false"),
    Key::new(
        "mtu",
        &["1500"],
        "bytes of the longest IP packet; what its links carry, 1500 at most",
    ),
    Key::new("send_buffer", &["64K"], "bytes that wait to be sent, for each connection; 64K"),
    Key::new("receive_buffer", &["1M"], "bytes that wait to be read; 1M"),
];

/// How many connections share a path.
pub(super) const CONNECTIONS: Key = Key::new(
    "connections",
    &["4", "auto"],
    "DCCP connections that share its path, at most 32; with auto more as long as each brings rate; \
     1, of media 4",
);

/// Reads what [`CONNECTIONS`] is about.
pub(super) fn connections(text: &str) -> Result<Connections, String> {
    match text {
        "auto" => Ok(Connections::Auto),
        _ => number(text, 1, CONNECTIONS_MAX as u64)
            .map(|count| Connections::Fixed(count as usize))
            .map_err(|error| format!("{error}, or auto")),
    }
}

/// What a flow over DCCP is told.
#[derive(Debug, Clone)]
pub(in crate::scenario) struct DccpOptions {
    pub(in crate::scenario) over_udp: bool,
    pub(in crate::scenario) service_code: ServiceCode,
    pub(in crate::scenario) shape: Shape,
    /// How each connection behaves.
    pub(in crate::scenario) connection: Config,
    init_cookies: bool,
}

/// How many connections there are.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) enum Shape {
    /// One, by itself.
    Plain,
    /// Several over one path, among which the messages are dealt out.
    Bundle { connections: Connections, group: u64, start_gap: Duration, reordering: Duration },
    /// One over several paths.
    Multipath { reordering: Duration },
}

impl DccpOptions {
    /// What the keys say of a flow of so many paths; what they leave out follows from `mtu`, which
    /// the links carry.
    pub(in crate::scenario) fn read(
        section: &mut Section,
        mtu: u64,
        paths: usize,
    ) -> Result<Self, Fault> {
        let carriers = [("ip", false), ("udp", true)];
        let over_udp = section.read("carrier", |text| choice(text, &carriers))?.unwrap_or(false);
        let service_code = section.read("service_code", str::parse)?;
        Ok(Self {
            over_udp,
            service_code: service_code.unwrap_or(ServiceCode(u32::from_be_bytes(*b"anab"))),
            shape: Shape::read(section, paths)?,
            connection: connection(section, mtu)?,
            init_cookies: section.read("init_cookies", boolean)?.unwrap_or(false),
        })
    }

    /// Bytes of the longest message.
    pub(in crate::scenario) fn message_max(&self) -> usize {
        let numbering = if self.shape == Shape::Plain { 0 } else { NUMBERING };
        self.connection.packet_payload(self.encapsulation(), true).saturating_sub(numbering)
    }

    pub(in crate::scenario) fn endpoint(&self) -> EndpointConfig {
        EndpointConfig {
            encapsulation: self.encapsulation(),
            init_cookies: self.init_cookies,
            ..EndpointConfig::default()
        }
    }

    pub(in crate::scenario) fn bundle(
        &self,
        connections: Connections,
        (start_gap, reordering): (Duration, Duration),
    ) -> BundleConfig {
        BundleConfig {
            connections,
            start_gap,
            reordering,
            send_buffer: self.connection.send_buffer,
            reordering_buffer: self.connection.receive_buffer,
            connection: self.connection.clone(),
            ..BundleConfig::default()
        }
    }

    pub(in crate::scenario) fn multipath(&self, reordering: Duration) -> MultipathConfig {
        MultipathConfig {
            send_buffer: self.connection.send_buffer,
            receive_buffer: self.connection.receive_buffer,
            reordering,
            connection: self.connection.clone(),
            ..MultipathConfig::default()
        }
    }

    /// Paths that it can take.
    pub(in crate::scenario) fn paths_max() -> usize {
        MultipathConfig::default().subflows_max
    }

    const fn encapsulation(&self) -> Encapsulation {
        if self.over_udp { Encapsulation::Udp } else { Encapsulation::Ip }
    }
}

impl Shape {
    fn read(section: &mut Section, paths: usize) -> Result<Self, Fault> {
        let connections = section.read("connections", connections)?;
        let connections = connections.unwrap_or(Connections::Fixed(1));
        let group = section.read("group", |text| number(text, 1, GROUP_MAX))?;
        let start_gap = section.read("start_gap", time)?;
        let reordering = section.read("reordering", |text| {
            let reordering = span(text)?;
            // What waits for what is missing shall come before the run is over.
            if reordering > AFTER { Err(format!("give {AFTER:?} at most")) } else { Ok(reordering) }
        })?;
        let is_bundle = connections != Connections::Fixed(1);
        let reason = match () {
            () if is_bundle && paths > 1 => format!(
                "connections share one path, and these are {paths}: give one path, or leave \
                 connections out"
            ),
            () if !is_bundle && (group.is_some() || start_gap.is_some()) => {
                "group and start_gap are for a bundle: give connections".to_owned()
            }
            () if !is_bundle && paths == 1 && reordering.is_some() => {
                "one connection over one path puts nothing in order: leave reordering out"
                    .to_owned()
            }
            () if is_bundle => {
                let start_gap = start_gap.unwrap_or(BundleConfig::default().start_gap);
                let (group, reordering) = (group.unwrap_or(1), reordering.unwrap_or(AFTER));
                return Ok(Self::Bundle { connections, group, start_gap, reordering });
            }
            () if paths > 1 => {
                let usual = MultipathConfig::default().reordering;
                return Ok(Self::Multipath { reordering: reordering.unwrap_or(usual) });
            }
            () => return Ok(Self::Plain),
        };
        Err(section.fault(reason))
    }
}

fn connection(section: &mut Section, mtu: u64) -> Result<Config, Fault> {
    let ccids = [("2", Ccid::TcpLike), ("3", Ccid::Tfrc)];
    let ccid = section.read("ccid", |text| choice(text, &ccids))?.unwrap_or(Ccid::TcpLike);
    let sizes = [
        ("mean", PacketSize::Mean),
        ("actual", PacketSize::Actual),
        ("maximum", PacketSize::Maximum),
    ];
    let packet_size = section.read("packet_size", |text| choice(text, &sizes))?;
    let oscillation_reduction = section.read("oscillation_reduction", boolean)?;
    let faster_restart = section.read("faster_restart", span)?;
    let is_of_tfrc =
        packet_size.is_some() || oscillation_reduction.is_some() || faster_restart.is_some();
    if is_of_tfrc && ccid != Ccid::Tfrc {
        let reason = "packet_size, oscillation_reduction and faster_restart are TFRC's: give ccid \
                      = 3";
        return Err(section.fault(reason));
    }
    let buffer = |text: &str| bytes(text, 2_048, 1 << 30);
    Ok(Config {
        mtu: section.read("mtu", |text| number(text, 576, 9_000))?.unwrap_or(mtu) as usize,
        short_sequence_numbers: section.read("short_sequence_numbers", boolean)?.unwrap_or(false),
        data_checksum: section.read("data_checksum", boolean)?.unwrap_or(false),
        send_buffer: section.read("send_buffer", buffer)?.unwrap_or(64 << 10),
        receive_buffer: section.read("receive_buffer", buffer)?.unwrap_or(1 << 20),
        packet_size: packet_size.unwrap_or_default(),
        oscillation_reduction: oscillation_reduction.unwrap_or(true),
        faster_restart,
        ..Config::with_ccid(ccid)
    })
}
