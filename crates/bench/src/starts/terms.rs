//! [`Terms`]: the links that streams start on, and what becomes of them later.

use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::Path;
use std::time::Duration;

use anabranch_netsim::{DuplexConfig, LinkConfig, Loss, QueueLimit, Trace, settings};
use anabranch_sansio::Rate;
use anabranch_session::Bond;

use super::best::Carries;

/// What the queue in front of a link with a rate holds.
const QUEUE: Duration = Duration::from_millis(100);

/// The stream's seconds in which the first of two links is cut, and how many it lasts.
const CUT: (u64, u64, u64) = (4, 12, 16);

/// Those in which a link is narrow.
const NARROW: (u64, u64, u64) = (6, 14, 22);

/// A link of the kind that phones have, by spans: how many milliseconds, and how many percent of
/// the stream's rate it carries. Twice it stands still.
const STANDSTILLS: [(u64, u64); 9] = [
    (3_000, 180),
    (1_700, 0),
    (2_500, 150),
    (1_300, 210),
    (1_000, 0),
    (2_500, 160),
    (2_000, 130),
    (3_000, 200),
    (3_000, 150),
];

/// What is left of a link for packets of a transport stream: 1,344 of the 1,400 bytes of a full
/// packet, behind the headers of IP, UDP, SCTP and a DATA chunk. What the pieces' own headers take
/// is not counted.
const PAYLOAD_SHARE: f64 = 1_344.0 / 1_400.0;

/// How long an association rests before its stream begins.
const REST: Duration = Duration::from_millis(1_200);

/// How much later in a recording the next start begins.
const RECORDED_STEP: Duration = Duration::from_secs(2);

/// The latencies at which recorded links are measured.
const RECORDED_LATENCIES_MS: [u64; 2] = [200, 1_000];

/// A recorded link.
#[derive(Debug)]
pub(super) struct Recording {
    name: String,
    trace: Trace,
}

impl Recording {
    /// Reads a trace in Mahimahi's format.
    pub(super) fn read(file: &Path) -> io::Result<Self> {
        let read = |name: &str| std::fs::read_to_string(name).map_err(|error| error.to_string());
        let trace = settings::trace(&file.display().to_string(), &read);
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, trace: trace.map_err(io::Error::other)? })
    }
}

/// A link and what the session asks of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) rtt_ms: u64,
    pub(super) latency_ms: u64,
    loss_percent: f64,
    /// Packets lost in a row on average.
    burst: f64,
    rate: Option<Rate>,
    pub(super) course: Course<'a>,
}

/// What becomes of a link while the stream lasts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Course<'a> {
    /// It stays as it is.
    Steady,
    /// It is the first of two, and carries nothing for a while.
    Cut(Bond),
    /// It has this rate for a while.
    Narrow(Rate),
    /// It carries now more and now less, and at times nothing.
    Standstills,
    /// It carries what somebody's link carried.
    Recorded(&'a Recording),
}

/// Something happens to the links.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Cut,
    Restore,
    To(Box<DuplexConfig>),
}

impl Display for Terms<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { rtt_ms, latency_ms, loss_percent, burst, rate, course } = self;
        write!(f, "RTT {rtt_ms}, latency {latency_ms}")?;
        match course {
            Course::Steady => write!(f, ", loss {loss_percent} %")?,
            Course::Cut(bond) => return write!(f, ", {bond}, one cut"),
            Course::Narrow(to) => write!(f, ", to {}", to.as_mbps_f64())?,
            Course::Standstills => return f.write_str(", standstills"),
            Course::Recorded(recording) => return write!(f, ", {}", recording.name),
        }
        if *burst > 1.0 {
            write!(f, " by {burst}")?;
        }
        rate.map_or(Ok(()), |rate| write!(f, ", {} Mbit/s", rate.as_mbps_f64()))
    }
}

impl<'a> Terms<'a> {
    const fn steady(rtt_ms: u64, latency_ms: u64, loss_percent: f64) -> Self {
        let course = Course::Steady;
        Self { rtt_ms, latency_ms, loss_percent, burst: 1.0, rate: None, course }
    }

    const fn changing(latency_ms: u64, course: Course<'a>) -> Self {
        let rate = Some(Rate::mbps(20));
        Self { rate, course, ..Self::steady(50, latency_ms, 0.0) }
    }

    /// The links as they are at first.
    pub(super) fn links(&self) -> Vec<DuplexConfig> {
        match self.course {
            Course::Cut(_) => vec![self.link(self.rate).into(); 2],
            Course::Recorded(recording) => vec![self.following(recording.trace.clone())],
            Course::Steady | Course::Narrow(_) | Course::Standstills => {
                vec![self.link(self.rate).into()]
            }
        }
    }

    fn link(&self, rate: Option<Rate>) -> LinkConfig {
        let loss = match self.loss_percent / 100.0 {
            share if share <= 0.0 => Loss::None,
            share if self.burst > 1.0 => Loss::bursts(share, self.burst),
            share => Loss::uniform(share),
        };
        let queue = rate.map(|rate| QueueLimit::lasting(QUEUE, rate));
        let delay = Duration::from_millis(self.rtt_ms) / 2;
        let queue = queue.unwrap_or_default();
        LinkConfig { rate, delay, queue, loss, ..LinkConfig::default() }
    }

    /// How long an association rests before its stream begins: on a recorded link each start
    /// comes upon other seconds of it.
    pub(super) fn rest(&self, seed: u64) -> Duration {
        match self.course {
            Course::Recorded(_) => REST + RECORDED_STEP * u32::try_from(seed).unwrap_or(0),
            Course::Steady | Course::Cut(_) | Course::Narrow(_) => REST,
            Course::Standstills => REST,
        }
    }

    /// How the end sends over several paths.
    pub(super) const fn bond(&self) -> Bond {
        match self.course {
            Course::Cut(bond) => bond,
            Course::Steady | Course::Narrow(_) => Bond::Balance,
            Course::Standstills | Course::Recorded(_) => Bond::Balance,
        }
    }

    /// What a link that is narrow for a while carries of the stream.
    pub(super) fn carries(&self) -> Option<Carries> {
        let (Course::Narrow(narrow), Some(usual)) = (self.course, self.rate) else { return None };
        let payload = |rate: Rate| Rate::bps((rate.as_bps() as f64 * PAYLOAD_SHARE) as u64);
        let [from, until] = [NARROW.0, NARROW.1].map(Duration::from_secs);
        Some(Carries { usual: payload(usual), narrow: payload(narrow), from, until })
    }

    /// How many seconds of stream it takes to see what is to be seen.
    pub(super) fn seconds(&self) -> Option<u64> {
        match self.course {
            Course::Steady | Course::Recorded(_) => None,
            Course::Cut(_) => Some(CUT.2),
            Course::Narrow(_) => Some(NARROW.2),
            Course::Standstills => Some(trace_ms() / 1_000),
        }
    }

    /// What happens to the first link, and when since the stream began. `rate` is the stream's.
    pub(super) fn changes(&self, rate: Rate) -> io::Result<Vec<(Duration, Change)>> {
        let at = Duration::from_secs;
        Ok(match self.course {
            Course::Steady | Course::Recorded(_) => Vec::new(),
            Course::Cut(_) => vec![(at(CUT.0), Change::Cut), (at(CUT.1), Change::Restore)],
            Course::Narrow(to) => {
                let narrow = Change::To(Box::new(self.link(Some(to)).into()));
                let wide = Change::To(Box::new(self.link(self.rate).into()));
                vec![(at(NARROW.0), narrow), (at(NARROW.1), wide)]
            }
            Course::Standstills => {
                let links = self.following(standstills(rate)?);
                vec![(Duration::ZERO, Change::To(Box::new(links)))]
            }
        })
    }

    /// Links of which the way there follows a trace.
    fn following(&self, trace: Trace) -> DuplexConfig {
        let backward = self.link(None);
        DuplexConfig { forward: LinkConfig { trace: Some(trace), ..backward.clone() }, backward }
    }
}

/// The rows: narrow links, then links of any rate by round trip, latency and loss, then links that
/// change.
pub(super) fn rows() -> Vec<Terms<'static>> {
    let mut rows = Vec::new();
    for mbps in [12, 14, 20] {
        for loss_percent in [0.0, 1.0, 2.0, 5.0] {
            let rate = Some(Rate::mbps(mbps));
            rows.push(Terms { rate, ..Terms::steady(50, 200, loss_percent) });
        }
    }
    let losses = [
        (0.0, 1.0),
        (1.0, 1.0),
        (5.0, 1.0),
        (10.0, 1.0),
        (5.0, 5.0),
        (10.0, 5.0),
        (5.0, 20.0),
        (10.0, 20.0),
    ];
    for rtt_ms in [20, 50, 100, 200] {
        for latency_ms in [2 * rtt_ms, 4 * rtt_ms] {
            for (loss_percent, burst) in losses {
                rows.push(Terms { burst, ..Terms::steady(rtt_ms, latency_ms, loss_percent) });
            }
        }
    }
    for bond in [Bond::Backup, Bond::Balance] {
        rows.push(Terms::changing(200, Course::Cut(bond)));
    }
    for mbps in [8, 7, 6, 5] {
        rows.push(Terms::changing(200, Course::Narrow(Rate::mbps(mbps))));
    }
    for latency_ms in [200, 1_000] {
        rows.push(Terms::changing(latency_ms, Course::Standstills));
    }
    rows
}

/// The rows of recorded links.
pub(super) fn recorded(recordings: &[Recording]) -> Vec<Terms<'_>> {
    let row = |recording, latency_ms| Terms::changing(latency_ms, Course::Recorded(recording));
    let rows = |recording| RECORDED_LATENCIES_MS.map(|latency_ms| row(recording, latency_ms));
    recordings.iter().flat_map(rows).collect()
}

/// The trace of [`STANDSTILLS`] beside a stream of this rate.
fn standstills(rate: Rate) -> io::Result<Trace> {
    let mut opportunities = Vec::new();
    let (mut begin, mut credit) = (0, 0);
    for (span, percent) in STANDSTILLS {
        for ms in begin..begin + span {
            // In thousandths of a bit.
            credit += rate.as_bps() * percent / 100;
            let bits = Trace::BYTES * 8 * 1_000;
            let at = u32::try_from(ms).unwrap_or(u32::MAX);
            opportunities.extend((0..credit / bits).map(|_| at));
            credit %= bits;
        }
        begin += span;
    }
    Trace::new(opportunities).map_err(io::Error::other)
}

fn trace_ms() -> u64 {
    STANDSTILLS.iter().map(|(span, _)| span).sum()
}
