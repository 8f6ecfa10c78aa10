//! The keys of a media session.

use std::sync::Arc;
use std::time::Duration;

use anabranch_netsim::written::{Fault, Section};
use anabranch_sansio::Rate;
use anabranch_sctp::Encryption;
use anabranch_session::treatment::Preset;
use anabranch_session::{Bond, SessionConfig};
use anabranch_transport::{Connections, DccpConfig};

use super::dccp::{CONNECTIONS, DccpOptions, connections};
use super::encryption::{self, ENCRYPTION};
use crate::scenario::AFTER;
use crate::scenario::files::Named;
use crate::scenario::film::Film;
use crate::scenario::key::{Key, choice, number, rate, span};
use crate::scenario::stream::Stream;
use crate::svc::Trace;

const RATE: Rate = Rate::mbps(4);
const FRAME_RATE: u64 = 25;
const GROUP: u64 = 50;
const LATENCY: Duration = Duration::from_millis(200);

/// The keys that tell of a film.
pub(in crate::scenario) const FILM_KEYS: &[Key] = &[
    Key::new(
        "video",
        &["synthetic", "svc", "trace:FILE", "file:FILE"],
        "made up, with groups of pictures, the default; two layers as an encoder made them, which \
         come with the program; the same from a file; or a film, as anabranch send sends it, which \
         begins again at its end",
    ),
    Key::new("rate", &["4M"], "bits of video per second; 4M, or what was recorded"),
    Key::new("frame_rate", &["25"], "pictures per second; 25, of a film its own"),
    Key::new("group", &["50"], "pictures from one key picture to the next, of synthetic; 50"),
    Key::new("latency", &["200ms"], "from the camera to the screen; 200ms"),
];

pub(in crate::scenario) const MEDIA_KEYS: &[Key] = &[
    Key::new(
        "transport",
        &["sctp", "dccp"],
        "what carries the session, over UDP: SCTP, the default, or DCCP with TFRC, which sends \
         once what may be lost",
    ),
    CONNECTIONS,
    Key::new(
        "treatment",
        &["layered", "live", "reliable"],
        "what is given up when it is late, and what goes first; layered",
    ),
    Key::new(
        "bond",
        &["balance", "backup", "dup"],
        "how several paths are used: at once, one by one, each message on two; balance",
    ),
    ENCRYPTION,
    Key::new(
        "mtu",
        &["1500"],
        "bytes of the longest IP packet; what its links carry, 1500 at most",
    ),
];

/// What is to be seen.
#[derive(Debug, Clone)]
pub(in crate::scenario) enum Video {
    /// Pictures that are made up or recorded.
    Pictures(Film),
    /// A film of the user's.
    Stream(Arc<Stream>),
}

/// What a media session is told.
#[derive(Debug, Clone)]
pub(in crate::scenario) struct MediaOptions {
    pub(in crate::scenario) video: Video,
    pub(in crate::scenario) latency: Duration,
    pub(in crate::scenario) treatment: Preset,
    bond: Bond,
    encryption: Option<Encryption>,
    /// How many DCCP connections share each path; none if it goes over SCTP.
    dccp: Option<Connections>,
    mtu: usize,
}

impl MediaOptions {
    /// What the keys say; what they leave out follows from `mtu`, which the links carry.
    pub(in crate::scenario) fn read(
        section: &mut Section,
        mtu: u64,
        files: &Named<'_>,
    ) -> Result<Self, Fault> {
        let presets = Preset::ALL.map(|preset| (preset.name(), preset));
        let bonds = Bond::ALL.map(|bond| (bond.name(), bond));
        let treatment = section.read("treatment", |text| choice(text, &presets))?;
        let bond = section.read("bond", |text| choice(text, &bonds))?;
        let chosen = section.read("mtu", |text| number(text, 576, 9_000))?;
        let (dccp, bond) = (dccp(section)?, bond.unwrap_or_default());
        let encryption = encryption::read(section)?;
        if dccp.is_some() && (encryption.is_some() || bond == Bond::Dup) {
            let reason = "over DCCP nothing is encrypted and nothing sent twice: leave encryption \
                          and bond = \"dup\" out";
            return Err(section.fault(reason));
        }
        Ok(Self {
            video: video(section, files)?,
            latency: latency(section)?,
            treatment: treatment.unwrap_or_default(),
            bond,
            encryption,
            dccp,
            mtu: chosen.unwrap_or(mtu) as usize,
        })
    }

    /// What either end is told.
    pub(in crate::scenario) fn session(&self, listen: bool) -> SessionConfig {
        let mut config = SessionConfig::new(listen, self.latency).with_bond(self.bond);
        config.sctp.association.paths.path_mtu = self.mtu;
        config.sctp.association.paths.path_mtu_search_max = None;
        config.sctp.association.extensions.encryption.clone_from(&self.encryption);
        let one_path = self.bond == Bond::Backup;
        match self.dccp {
            Some(connections) => {
                let dccp =
                    DccpConfig { connections, one_path, mtu: self.mtu, ..DccpConfig::default() };
                config.over_dccp(dccp)
            }
            None => config,
        }
    }

    /// Whether it goes over DCCP.
    pub(in crate::scenario) const fn is_over_dccp(&self) -> bool {
        self.dccp.is_some()
    }

    /// Paths that it can take.
    pub(in crate::scenario) fn paths_max(&self) -> usize {
        match self.dccp {
            Some(_) => DccpOptions::paths_max(),
            None => self.session(false).sctp.association.paths.paths_max,
        }
    }
}

/// The DCCP connections of a path, where the session goes over them.
fn dccp(section: &mut Section) -> Result<Option<Connections>, Fault> {
    let transports = [("sctp", false), ("dccp", true)];
    let is_over_dccp = section.read("transport", |text| choice(text, &transports))?;
    let count = section.read("connections", connections)?;
    match is_over_dccp.unwrap_or(false) {
        true => Ok(Some(count.unwrap_or(DccpConfig::default().connections))),
        false if count.is_some() => {
            Err(section.fault("connections are DCCP's: give transport = \"dccp\""))
        }
        false => Ok(None),
    }
}

/// The latency that a viewer wants.
pub(super) fn latency(section: &mut Section) -> Result<Duration, Fault> {
    let latency = section.read("latency", |text| {
        let latency = span(text)?;
        // What is sent last shall be seen before the run is over.
        if latency > AFTER { Err(format!("give {AFTER:?} at most")) } else { Ok(latency) }
    })?;
    Ok(latency.unwrap_or(LATENCY))
}

/// The video that the keys tell of.
pub(super) fn video(section: &mut Section, files: &Named<'_>) -> Result<Video, Fault> {
    let wanted = section.read("rate", rate)?;
    let frame_rate = section.read("frame_rate", |text| number(text, 1, 240))?;
    let interval = Duration::from_secs(1).div_f64(frame_rate.unwrap_or(FRAME_RATE) as f64);
    let group = section.read("group", |text| number(text, 1, 10_000))?;
    let told = section.read("video", |text| Told::read(text, files))?.unwrap_or(Told::MadeUp);
    if group.is_some() && !matches!(told, Told::MadeUp) {
        return Err(section.fault("group is for synthetic video: a recorded one has its own"));
    }
    let has_rates = wanted.is_some() || frame_rate.is_some();
    match told {
        Told::MadeUp => {
            let (rate, group) = (wanted.unwrap_or(RATE), group.unwrap_or(GROUP));
            Ok(Video::Pictures(Film::synthetic(rate, interval, group)))
        }
        Told::Recorded(trace) => {
            let trace = match wanted {
                Some(rate) => scaled(trace, interval, rate),
                None => trace,
            };
            Ok(Video::Pictures(Film::recorded(trace, interval)))
        }
        Told::Film(_) if has_rates => {
            Err(section.fault("a film has its own rate and frame_rate: leave them out"))
        }
        Told::Film(film) => Ok(Video::Stream(film)),
    }
}

/// What `video` says.
enum Told {
    MadeUp,
    Recorded(Trace),
    Film(Arc<Stream>),
}

impl Told {
    fn read(text: &str, files: &Named<'_>) -> Result<Self, String> {
        let file = |kind: &str| text.strip_prefix(kind);
        if let Some(file) = file("trace:") {
            let table = files.text(file).map_err(|error| {
                format!("{file}: {error}; give a trace of layered video, which is a table")
            })?;
            let trace = Trace::from_csv(table.as_bytes());
            return trace.map(Self::Recorded).map_err(|error| format!("{file}: {error}"));
        }
        if let Some(file) = file("file:") {
            let film = files.film(file);
            return film.map(Self::Film).map_err(|error| format!("{file}: {error}"));
        }
        match text {
            "synthetic" => Ok(Self::MadeUp),
            "svc" => Ok(Self::Recorded(Trace::jsvm_720p25())),
            _ => {
                Err(format!("\"{text}\" is no video: give synthetic, svc, trace:FILE or file:FILE"))
            }
        }
    }
}

/// The same pictures at another rate, each layer with its part of it.
fn scaled(trace: Trace, interval: Duration, rate: Rate) -> Trace {
    let sum = |slices: &[u32]| slices.iter().map(|slice| u64::from(*slice)).sum::<u64>();
    let base: u64 = trace.frames.iter().map(|frame| sum(&frame.base)).sum();
    let all: u64 = trace.frames.iter().map(|frame| u64::from(frame.len())).sum();
    let mbps = rate.as_bps() as f64 / 1e6;
    let base = mbps * base as f64 / all.max(1) as f64;
    trace.with_mean_rates(interval, base, mbps - base)
}
