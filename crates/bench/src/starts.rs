//! Many starts of a live stream on simulated links: how much comes in time from the first packet
//! on.
//!
//! A sender connects, rests, and is then given a transport stream in its own time. What counts is
//! the worst start, not the mean.

use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::Path;
use std::time::Duration;

use anabranch_media::ts::{Packet, Pid, Reader};
use anabranch_netsim::{LinkConfig, Loss, Pair, QueueLimit, Side};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rate, Time, Transmit, Wakeup};
use anabranch_session::{
    Bond, Event, Receiver, ReceiverConfig, Sender, SenderConfig, SessionConfig,
};

/// How long an association rests before its stream begins.
const REST: Duration = Duration::from_millis(1_200);

/// Packets that programs put into one datagram.
const DATAGRAM: u64 = 7;

/// What arrives so much after its time still counts.
const SLACK: Duration = Duration::from_millis(100);

/// What the queue in front of a link with a rate holds.
const QUEUE: Duration = Duration::from_millis(100);

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan<'a> {
    /// Seconds of stream in a start.
    pub(crate) seconds: u64,
    /// Starts of each row.
    pub(crate) starts: u64,
    /// The seed of the first one.
    pub(crate) first: u64,
    /// Only rows with this in their name.
    pub(crate) only: &'a str,
    /// The stream's rate.
    pub(crate) rate: Rate,
    /// Whether each start is told.
    pub(crate) each: bool,
}

/// A link and what the session asks of it.
#[derive(Debug, Clone, Copy)]
struct Terms {
    rtt_ms: u64,
    latency_ms: u64,
    loss_percent: f64,
    /// Packets lost in a row on average.
    burst: f64,
    rate: Option<Rate>,
}

impl Display for Terms {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { rtt_ms, latency_ms, loss_percent, burst, rate } = self;
        write!(f, "RTT {rtt_ms}, latency {latency_ms}, loss {loss_percent} %")?;
        if *burst > 1.0 {
            write!(f, " by {burst}")?;
        }
        rate.map_or(Ok(()), |rate| write!(f, ", {} Mbit/s", rate.as_mbps_f64()))
    }
}

impl Terms {
    fn link(&self) -> LinkConfig {
        let loss = match self.loss_percent / 100.0 {
            share if share <= 0.0 => Loss::None,
            share if self.burst > 1.0 => Loss::bursts(share, self.burst),
            share => Loss::uniform(share),
        };
        let queue = self.rate.map(|rate| QueueLimit::lasting(QUEUE, rate));
        LinkConfig {
            rate: self.rate,
            delay: Duration::from_millis(self.rtt_ms) / 2,
            queue: queue.unwrap_or_default(),
            loss,
            ..LinkConfig::default()
        }
    }
}

/// The rows: narrow links, then links of any rate by round trip, latency and loss.
fn rows() -> Vec<Terms> {
    let mut rows = Vec::new();
    for mbps in [12, 14, 20] {
        for loss_percent in [0.0, 1.0, 2.0, 5.0] {
            let rate = Some(Rate::mbps(mbps));
            rows.push(Terms { rtt_ms: 50, latency_ms: 200, loss_percent, burst: 1.0, rate });
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
                rows.push(Terms { rtt_ms, latency_ms, loss_percent, burst, rate: None });
            }
        }
    }
    rows
}

/// Runs the rows, each told when it is done.
pub(crate) fn measure(
    stream: &Path,
    plan: Plan<'_>,
    mut tell: impl FnMut(String) -> io::Result<()>,
) -> io::Result<()> {
    let packets = schedule(stream, plan)?;
    for terms in rows().into_iter().filter(|terms| terms.to_string().contains(plan.only)) {
        let mut row = Row { name: terms.to_string(), starts: Vec::new() };
        for seed in plan.first..plan.first + plan.starts {
            let start = Studio::new(seed, &terms)?.run(&packets)?;
            if plan.each {
                tell(format!("  seed {seed}: {start}"))?;
            }
            row.starts.push(start);
        }
        tell(row.to_string())?;
    }
    Ok(())
}

/// The stream's packets and when each is due.
fn schedule(stream: &Path, plan: Plan<'_>) -> io::Result<Vec<(Duration, Packet)>> {
    let Plan { rate, seconds, .. } = plan;
    let mut reader = Reader::new();
    reader.push(&std::fs::read(stream)?).map_err(io::Error::other)?;
    reader.finish().map_err(io::Error::other)?;
    let interval = rate.time_for(DATAGRAM * 188);
    let due = (0u64..).map(|n| interval * u32::try_from(n / DATAGRAM).unwrap_or(u32::MAX));
    let packets = due.zip(std::iter::from_fn(|| reader.poll_packet()));
    let end = Duration::from_secs(seconds);
    let packets: Vec<_> = packets.take_while(|(at, _)| *at < end).collect();
    if packets.is_empty() {
        return Err(io::Error::other("the stream has no packets: give an MPEG transport stream"));
    }
    Ok(packets)
}

/// The starts on one link.
struct Row {
    name: String,
    starts: Vec<Start>,
}

impl Display for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sorted = |figure: fn(&Start) -> f64| {
            let mut figures: Vec<_> = self.starts.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            figures
        };
        let median = |figure| sorted(figure)[self.starts.len() / 2];
        let in_time = sorted(Start::in_time);
        write!(
            f,
            "{:<44} in time {:7.3} %, worst {:7.3}; hole {:6.1} ms; over {:5.1} %, back {:4.2} %",
            self.name,
            in_time[in_time.len() / 2],
            in_time[0],
            sorted(|start| start.hole.as_secs_f64() * 1e3)[self.starts.len() - 1],
            median(|start| start.over),
            median(|start| start.back),
        )
    }
}

/// What became of one start.
#[derive(Debug, Clone, Copy)]
struct Start {
    packets: u64,
    missing: u64,
    /// The longest stretch of the stream of which nothing came in time, and where it begins.
    hole: Duration,
    hole_at: Duration,
    /// Bytes sent beyond the stream's own, and sent back, in percent of the stream.
    over: f64,
    back: f64,
    /// Pictures left out, and what was given up.
    left_out: u64,
    abandoned: u64,
}

impl Start {
    fn in_time(&self) -> f64 {
        100.0 * (1.0 - self.missing as f64 / self.packets as f64)
    }
}

impl Display for Start {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.3} %, missing {}, hole {:.0} ms at {:.2} s, over {:.1}, back {:.2}, \
             left out {}, given up {}",
            self.in_time(),
            self.missing,
            self.hole.as_secs_f64() * 1e3,
            self.hole_at.as_secs_f64(),
            self.over,
            self.back,
            self.left_out,
            self.abandoned,
        )
    }
}

/// One machine for either end, so that one simulation runs both.
enum Party {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
}

macro_rules! delegate {
    ($self:ident, $party:ident => $call:expr) => {
        match $self {
            Party::Sender($party) => $call,
            Party::Receiver($party) => $call,
        }
    };
}

impl Machine for Party {
    type Event = Event;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        delegate!(self, party => party.handle_datagram(now, datagram));
    }

    fn handle_timeout(&mut self, now: Time) {
        delegate!(self, party => party.handle_timeout(now));
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        delegate!(self, party => party.poll_transmit(now, buf))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        delegate!(self, party => party.poll_timeout())
    }

    fn poll_event(&mut self) -> Option<Event> {
        delegate!(self, party => party.poll_event())
    }
}

/// Both ends, and the link between them.
struct Studio {
    pair: Pair<Party>,
    paths: Vec<FourTuple>,
    terms: Terms,
}

impl Studio {
    fn new(seed: u64, terms: &Terms) -> io::Result<Self> {
        let session = |listen| {
            let latency = Duration::from_millis(terms.latency_ms);
            SessionConfig::new(listen, latency).with_bond(Bond::Balance)
        };
        let mut paths = Vec::new();
        let pair = Pair::new(seed, &[terms.link().into()], |side, seen, rng| match side {
            Side::Client => {
                paths = seen.to_vec();
                let config = SenderConfig::mpeg_ts(session(false));
                Party::Sender(Box::new(Sender::new(config, rng)))
            }
            Side::Server => {
                Party::Receiver(Box::new(Receiver::new(ReceiverConfig::new(session(true)), rng)))
            }
        });
        Ok(Self { pair, paths, terms: *terms })
    }

    fn run(mut self, packets: &[(Duration, Packet)]) -> io::Result<Start> {
        self.connect()?;
        self.pass(REST)?;
        let bytes = self.bytes();
        let begin = self.pair.now();
        let mut arrived = vec![None; packets.len()];
        let mut next = 0;
        let tail = Duration::from_millis(self.terms.latency_ms + self.terms.rtt_ms) + SLACK;
        let end = begin + packets.last().map_or(Duration::ZERO, |(at, _)| *at) + tail;
        while self.pair.now() < end {
            let at = packets.get(next).map_or(end, |(at, _)| begin + *at);
            let at = at.min(self.pair.now() + Duration::from_millis(1));
            self.pass(at - self.pair.now())?;
            let due = packets[next..].iter().take_while(|(due, _)| begin + *due <= at).count();
            self.push(begin, &packets[next..next + due])?;
            next += due;
            self.take(&mut arrived)?;
        }
        let media = packets.len() as u64 * 188;
        Ok(self.judge(packets, &arrived, begin, (bytes, media)))
    }

    fn connect(&mut self) -> io::Result<()> {
        let end = self.pair.now() + Duration::from_secs(60);
        while !self.client().is_connected() {
            if self.pair.now() > end {
                return Err(io::Error::other("no connection within a minute"));
            }
            if !self.client().has_peer() {
                let paths = self.paths.clone();
                self.act_sender(|sender, now| {
                    sender.connect(now, &paths).map_err(io::Error::other)
                })??;
            }
            self.pass(Duration::from_millis(1))?;
        }
        Ok(())
    }

    fn client(&self) -> &Sender {
        match self.pair.client() {
            Party::Sender(sender) => sender,
            Party::Receiver(_) => unreachable!("the client sends"),
        }
    }

    fn act_sender<T>(&mut self, act: impl FnOnce(&mut Sender, Time) -> T) -> io::Result<T> {
        let act = |party: &mut Party, now| match party {
            Party::Sender(sender) => act(sender, now),
            Party::Receiver(_) => unreachable!("the client sends"),
        };
        self.pair.act_client(act).map_err(io::Error::other)
    }

    fn pass(&mut self, span: Duration) -> io::Result<()> {
        self.pair.run_for(span).map_err(io::Error::other)
    }

    fn push(&mut self, begin: Time, due: &[(Duration, Packet)]) -> io::Result<()> {
        self.act_sender(|sender, now| {
            due.iter().try_for_each(|(at, packet)| sender.push_packet(now, begin + *at, packet))
        })?
        .map_err(io::Error::other)
    }

    /// Notes when each packet was handed on.
    fn take(&mut self, arrived: &mut [Option<Time>]) -> io::Result<()> {
        let act = |party: &mut Party, now| {
            let Party::Receiver(receiver) = party else { return };
            while let Some(released) = receiver.poll_release(now) {
                let span = released.position..released.position + released.items;
                for position in span {
                    if let Some(slot) = arrived.get_mut(position as usize) {
                        slot.get_or_insert(now);
                    }
                }
            }
        };
        self.pair.act_server(act).map_err(io::Error::other)
    }

    /// IP bytes that went each way.
    fn bytes(&self) -> [u64; 2] {
        let links = self.pair.paths()[0].links;
        [links.forward, links.backward]
            .map(|link| self.pair.sim.network().link(link).stats().offered.bytes)
    }

    fn judge(
        &self,
        packets: &[(Duration, Packet)],
        arrived: &[Option<Time>],
        begin: Time,
        (before, media): ([u64; 2], u64),
    ) -> Start {
        let wait = Duration::from_millis(self.terms.latency_ms + self.terms.rtt_ms / 2) + SLACK;
        let (mut wanted, mut missing) = (0, 0);
        let (mut hole, mut since) = ((Duration::ZERO, Duration::ZERO), None);
        for ((at, packet), arrival) in packets.iter().zip(arrived) {
            if packet.pid() == Pid::NULL {
                continue;
            }
            wanted += 1;
            if arrival.is_some_and(|arrival| arrival <= begin + *at + wait) {
                if let Some(since) = since.take() {
                    hole = hole.max((*at - since, since));
                }
            } else {
                missing += 1;
                since.get_or_insert(*at);
            }
        }
        let stats = self.client().stats();
        let after = self.bytes();
        let percent = |n: usize| 100.0 * (after[n] - before[n]) as f64 / media as f64;
        Start {
            packets: wanted,
            missing,
            hole: hole.0,
            hole_at: hole.1,
            over: percent(0) - 100.0,
            back: percent(1),
            left_out: stats.classes.iter().map(|class| class.left_out).sum(),
            abandoned: stats.classes.iter().map(|class| class.stream.abandoned()).sum(),
        }
    }
}
