//! [`Flow`]: who sends what to whom, and over what.

use std::time::Duration;

use anabranch_netsim::settings::time;
use anabranch_netsim::written::{Fault, Place, Section, WrittenLink};
use anabranch_sctp::AssociationConfig;

use super::files::Named;
use super::key::{Key, bytes, choice, rate, span};
use super::options::{
    DCCP_KEYS, DccpOptions, FILM_KEYS, MEDIA_KEYS, MediaOptions, QUIC_KEYS, QuicOptions, SCTP_KEYS,
    SctpOptions, TCP_KEYS, TELEVISION_KEYS, TelevisionOptions, tcp_config,
};
use super::own::Own;
use super::route::{Hop, shortest, told};
use super::sink::STAMP_LEN;
use super::source::Pattern;

/// What flows take for granted where no link of theirs carries less.
const MTU: u16 = 1_500;
/// The headers of TCP and of UDP, with IPv4's.
const TCP_HEADERS: usize = 40;
const UDP_HEADERS: usize = 28;
/// The same of QUIC, whose headers change in length.
const QUIC_HEADERS: usize = 70;
/// What UDP can carry over IPv4.
const DATAGRAM_MAX: usize = 65_507;
/// A piece of a stream of bytes that makes sense as one message.
const STREAM_MESSAGE_MAX: usize = 1 << 20;

/// The keys of every flow.
const FLOW_KEYS: &[Key] = &[
    Key::new("name", &["film"], "what tables call it, and --set; no other flow or link has it"),
    Key::new(
        "kind",
        &["sctp", "tcp", "quic", "dccp", "udp", "media", "television"],
        "what carries it",
    ),
    Key::new("from", &["client"], "the host that sends; client"),
    Key::new("to", &["server"], "the host that receives; server"),
    Key::new("start", &["0s"], "when it calls the other host; 0s"),
    Key::new("spread", &["100ms"], "up to so much later, drawn for each seed; 0s"),
    Key::new("stop", &["20s"], "when it sends nothing new any more; the end of the run"),
];

/// The keys of a flow of messages.
const SOURCE_KEYS: &[Key] = &[
    Key::new(
        "source",
        &["bulk", "cbr", "on-off"],
        "as fast as it goes, the default; at a rate; at a rate for a while in turns",
    ),
    Key::new("rate", &["2M"], "bits of payload per second, of cbr and on-off"),
    Key::new("on", &["1s"], "how long on-off sends"),
    Key::new("off", &["1s"], "how long it is silent then"),
    Key::new("size", &["1200"], "bytes of a message; what fills a packet"),
];

/// A flow.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) start: Duration,
    pub(super) spread: Duration,
    pub(super) stop: Duration,
    /// One for each of its paths.
    pub(super) paths: Vec<Vec<Hop>>,
    pub(super) own: Own,
    pub(super) place: Place,
}

/// What a flow is.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// Messages of one size.
    Messages(Messages),
    /// A film over a media session.
    Media(Box<MediaOptions>),
    /// A channel of a server, and somebody who watches it.
    Television(Box<TelevisionOptions>),
}

/// Messages of one size.
#[derive(Debug, Clone)]
pub(super) struct Messages {
    pub(super) carrier: MessageCarrier,
    pub(super) pattern: Pattern,
    /// Bytes of each.
    pub(super) size: usize,
}

/// What carries messages.
#[derive(Debug, Clone)]
pub(super) enum MessageCarrier {
    Sctp(Box<SctpOptions>),
    Tcp(Box<anabranch_tcp::Config>),
    Quic(QuicOptions),
    Dccp(Box<DccpOptions>),
    Udp,
}

impl Kind {
    /// The keys that a flow of each kind has.
    pub(super) const ALL_KEYS: &'static [(&'static str, &'static [&'static [Key]])] = &[
        ("sctp", &[FLOW_KEYS, SOURCE_KEYS, SCTP_KEYS]),
        ("tcp", &[FLOW_KEYS, SOURCE_KEYS, TCP_KEYS]),
        ("quic", &[FLOW_KEYS, SOURCE_KEYS, QUIC_KEYS]),
        ("dccp", &[FLOW_KEYS, SOURCE_KEYS, DCCP_KEYS]),
        ("udp", &[FLOW_KEYS, SOURCE_KEYS]),
        ("media", &[FLOW_KEYS, FILM_KEYS, MEDIA_KEYS]),
        ("television", &[FLOW_KEYS, FILM_KEYS, TELEVISION_KEYS]),
    ];

    /// Its name in files and tables.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Messages(messages) => messages.carrier.name(),
            Self::Media(_) => "media",
            Self::Television(_) => "television",
        }
    }

    /// Whether its packets are UDP's.
    pub(super) const fn is_over_udp(&self) -> bool {
        match self {
            Self::Messages(Messages { carrier, .. }) => match carrier {
                MessageCarrier::Sctp(options) => options.over_udp,
                MessageCarrier::Dccp(options) => options.over_udp,
                MessageCarrier::Quic(_) | MessageCarrier::Udp => true,
                MessageCarrier::Tcp(_) => false,
            },
            Self::Media(_) | Self::Television(_) => true,
        }
    }

    /// Whether it is of units that are seen.
    pub(super) const fn is_media(&self) -> bool {
        matches!(self, Self::Media(_) | Self::Television(_))
    }

    fn keys(&self) -> impl Iterator<Item = &'static str> {
        let of_kind = Self::ALL_KEYS.iter().find(|(name, _)| *name == self.name());
        of_kind.into_iter().flat_map(|(_, keys)| *keys).copied().flatten().map(|key| key.name)
    }

    /// How many paths it can take.
    fn paths_max(&self) -> usize {
        match self {
            Self::Messages(Messages { carrier: MessageCarrier::Sctp(options), .. }) => {
                options.config.paths.paths_max
            }
            Self::Messages(Messages { carrier: MessageCarrier::Dccp(_), .. }) => {
                DccpOptions::paths_max()
            }
            Self::Messages(_) => 1,
            Self::Media(options) => options.paths_max(),
            Self::Television(_) => AssociationConfig::media().paths.paths_max,
        }
    }
}

impl Messages {
    /// What a section says of a flow of so many paths, which carry `mtu`.
    fn read(section: &mut Section, kind: &str, (paths, mtu): (usize, u16)) -> Result<Self, Fault> {
        let carrier = match kind {
            "sctp" => MessageCarrier::Sctp(Box::new(SctpOptions::read(section, mtu.into())?)),
            "quic" => MessageCarrier::Quic(QuicOptions::read(section, mtu.into())?),
            "dccp" => {
                MessageCarrier::Dccp(Box::new(DccpOptions::read(section, mtu.into(), paths)?))
            }
            "tcp" => MessageCarrier::Tcp(Box::new(tcp_config(section, mtu.into())?)),
            _ => MessageCarrier::Udp,
        };
        let (usual, most) = carrier.sizes(mtu.into());
        let size = section.read("size", |text| bytes(text, STAMP_LEN, most))?.unwrap_or(usual);
        let pattern = pattern(section)?;
        if matches!(carrier, MessageCarrier::Udp) && pattern == Pattern::Bulk {
            return Err(section.fault("udp takes all at once: give source = \"cbr\" and a rate"));
        }
        Ok(Self { carrier, pattern, size })
    }
}

impl MessageCarrier {
    const fn name(&self) -> &'static str {
        match self {
            Self::Sctp(_) => "sctp",
            Self::Tcp(_) => "tcp",
            Self::Quic(_) => "quic",
            Self::Dccp(_) => "dccp",
            Self::Udp => "udp",
        }
    }

    /// Bytes of the longest message that there can be.
    pub(super) fn message_max(&self) -> usize {
        // Only the usual size follows from the links.
        self.sizes(MTU.into()).1
    }

    /// The usual size of a message, where links carry `mtu`, and the largest.
    fn sizes(&self, mtu: usize) -> (usize, usize) {
        match self {
            Self::Sctp(options) => (options.packet_payload(), options.message_max()),
            Self::Tcp(config) => {
                (config.mtu.min(mtu) - TCP_HEADERS, STREAM_MESSAGE_MAX.min(config.send_buffer))
            }
            Self::Dccp(options) => (options.message_max(), options.message_max()),
            Self::Quic(_) => (mtu - QUIC_HEADERS, STREAM_MESSAGE_MAX),
            Self::Udp => (mtu - UDP_HEADERS, DATAGRAM_MAX),
        }
    }
}

impl Flow {
    /// The ways of its paths, from the end that calls.
    pub(super) fn ways(&self) -> Vec<Vec<Hop>> {
        let back = |hop: &Hop| Hop { forward: !hop.forward, ..*hop };
        match self.kind {
            Kind::Messages(_) | Kind::Media(_) => self.paths.clone(),
            Kind::Television(_) => {
                self.paths.iter().map(|hops| hops.iter().rev().map(back).collect()).collect()
            }
        }
    }

    pub(super) fn read(
        mut section: Section,
        links: &[WrittenLink],
        duration: Duration,
        files: &Named<'_>,
    ) -> Result<Self, Fault> {
        let place = section.place;
        let word = |text: &str| Ok::<_, Fault>(text.to_owned());
        let name = section.need("name", "\"film\"", word)?;
        let kinds: Vec<(&str, &str)> =
            Kind::ALL_KEYS.iter().map(|(name, _)| (*name, *name)).collect();
        let kind = section.need("kind", "\"sctp\"", |text| choice(text, &kinds))?;
        let paths = paths(&mut section, links)?;
        let mtu = mtu(&paths.ways, links);
        let kind = match kind {
            "media" => Kind::Media(Box::new(MediaOptions::read(&mut section, mtu.into(), files)?)),
            "television" => {
                Kind::Television(Box::new(TelevisionOptions::read(&mut section, files)?))
            }
            _ => Kind::Messages(Messages::read(&mut section, kind, (paths.ways.len(), mtu))?),
        };
        let paths = paths.of(&kind)?;
        let start = section.read("start", time)?.unwrap_or_default();
        let stop = section.read("stop", time)?.unwrap_or(duration);
        let spread = section.read("spread", time)?.unwrap_or_default();
        if start + spread >= stop || stop > duration {
            let reason = format!(
                "{name} sends from {start:?} to {stop:?}: let it start before it stops, and stop \
                 by the end of the run, {duration:?}"
            );
            return Err(Fault::new(place, reason));
        }
        let known = kind.keys().chain(["paths"]);
        section.refuse_rest(&known.collect::<Vec<_>>())?;
        Ok(Self { name, kind, start, spread, stop, paths, own: Own::default(), place })
    }
}

/// The paths of a flow, and where they are told.
struct Paths {
    ways: Vec<Vec<Hop>>,
    place: Place,
}

impl Paths {
    /// If a flow of this kind can take so many.
    fn of(self, kind: &Kind) -> Result<Vec<Vec<Hop>>, Fault> {
        let most = kind.paths_max();
        if self.ways.len() > most {
            let (name, count) = (kind.name(), self.ways.len());
            let reason = format!("paths: {name} takes {most} at most, and these are {count}");
            return Err(Fault::new(self.place, reason));
        }
        Ok(self.ways)
    }
}

/// The longest IP packet that all links of all paths carry, both ways.
fn mtu(paths: &[Vec<Hop>], links: &[WrittenLink]) -> u16 {
    let configs = paths.iter().flatten().map(|hop| &links[hop.link].config);
    let carried = configs.map(|config| config.forward.mtu.min(config.backward.mtu));
    carried.fold(MTU, u16::min)
}

fn paths(section: &mut Section, links: &[WrittenLink]) -> Result<Paths, Fault> {
    let word = |text: &str| Ok::<_, Fault>(text.to_owned());
    let from = section.read("from", word)?.unwrap_or_else(|| "client".to_owned());
    let to = section.read("to", word)?.unwrap_or_else(|| "server".to_owned());
    let hosts = || links.iter().flat_map(|link| [&link.between.0, &link.between.1]);
    for (key, host) in [("from", &from), ("to", &to)] {
        if !hosts().any(|known| known == host) {
            let mut known: Vec<&str> = hosts().map(String::as_str).collect();
            known.sort_unstable();
            known.dedup();
            let reason = match known[..] {
                [] => "there is no link: give [[links]] that join its hosts".to_owned(),
                _ => format!("{key}: no link leads to {host}; they join {}", known.join(", ")),
            };
            return Err(section.fault(reason));
        }
    }
    if from == to {
        return Err(section.fault(format!("to: it leads from {from} to {to}: give two hosts")));
    }
    let Some(entry) = section.take("paths") else {
        let reason = format!("there is no way from {from} to {to}: give links that join them");
        let ways = vec![shortest(links, &from, &to).ok_or_else(|| section.fault(reason))?];
        return Ok(Paths { ways, place: section.place });
    };
    Ok(Paths { ways: told(&entry, links, (&from, &to))?, place: entry.place })
}

fn pattern(section: &mut Section) -> Result<Pattern, Fault> {
    let sources = [("bulk", "bulk"), ("cbr", "cbr"), ("on-off", "on-off")];
    let source = section.read("source", |text| choice(text, &sources))?;
    match source.unwrap_or("bulk") {
        "cbr" => Ok(Pattern::Steady(section.need("rate", "\"2M\"", rate)?)),
        "on-off" => {
            let rate = section.need("rate", "\"2M\"", rate)?;
            let on = section.need("on", "\"1s\"", span)?;
            Ok(Pattern::OnOff(rate, on, section.need("off", "\"1s\"", span)?))
        }
        _ => match ["rate", "on", "off"].iter().find_map(|key| section.take(key)) {
            None => Ok(Pattern::Bulk),
            Some(entry) => {
                let key = entry.key;
                let reason = format!("{key} is not for bulk: give source = \"cbr\" or \"on-off\"");
                Err(Fault::new(entry.place, reason))
            }
        },
    }
}
