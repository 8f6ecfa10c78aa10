//! [`Studio`]: both ends of one start.

use std::io;
use std::time::Duration;

use anabranch_media::ts::{Packet, Pid};
use anabranch_netsim::{Pair, Side, machine_of_several};
use anabranch_sansio::{FourTuple, Rate, Time};
use anabranch_session::{Event, Receiver, ReceiverConfig, Sender, SenderConfig, SessionConfig};

use super::Start;
use super::content::Content;
use super::terms::{Change, Terms};
use crate::encryption::encryption_if;

/// What arrives so much after its time still counts.
const SLACK: Duration = Duration::from_millis(100);

/// One machine for either end, so that one simulation runs both.
enum Party {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
}

machine_of_several!(Party: Event {
    Sender(sender) => sender.poll_event(),
    Receiver(receiver) => receiver.poll_event(),
});

/// Both ends, and the link between them.
pub(super) struct Studio<'a> {
    pair: Pair<Party>,
    paths: Vec<FourTuple>,
    terms: Terms<'a>,
    seed: u64,
}

impl<'a> Studio<'a> {
    pub(super) fn new(seed: u64, terms: &Terms<'a>, encrypted: bool) -> io::Result<Self> {
        let encryption = encryption_if(encrypted)?;
        let session = |listen| {
            let latency = Duration::from_millis(terms.latency_ms);
            let config = SessionConfig::new(listen, latency).with_bond(terms.bond());
            config.with_encryption(encryption.clone())
        };
        let mut paths = Vec::new();
        let pair = Pair::new(seed, &terms.links(), |side, seen, rng| match side {
            Side::Client => {
                paths = seen.to_vec();
                let config = SenderConfig::mpeg_ts(session(false));
                Party::Sender(Box::new(Sender::new(config, rng)))
            }
            Side::Server => {
                Party::Receiver(Box::new(Receiver::new(ReceiverConfig::new(session(true)), rng)))
            }
        });
        Ok(Self { pair, paths, terms: *terms, seed })
    }

    pub(super) fn run(
        mut self,
        packets: &[(Duration, Packet)],
        content: &Content,
        rate: Rate,
    ) -> io::Result<Start> {
        self.connect()?;
        self.pass(self.terms.rest(self.seed))?;
        let bytes = self.bytes();
        let begin = self.pair.now();
        let mut changes = self.terms.changes(rate)?.into_iter().peekable();
        let mut arrived = vec![None; packets.len()];
        let mut next = 0;
        let tail = Duration::from_millis(self.terms.latency_ms + self.terms.rtt_ms) + SLACK;
        let end = begin + packets.last().map_or(Duration::ZERO, |(at, _)| *at) + tail;
        while self.pair.now() < end {
            while let Some((_, change)) = changes.next_if(|(at, _)| begin + *at <= self.pair.now())
            {
                self.change(change);
            }
            let at = packets.get(next).map_or(end, |(at, _)| begin + *at);
            let at = at.min(self.pair.now() + Duration::from_millis(1));
            self.pass(at - self.pair.now())?;
            let due = packets[next..].iter().take_while(|(due, _)| begin + *due <= at).count();
            self.push(begin, &packets[next..next + due])?;
            next += due;
            self.take(&mut arrived)?;
        }
        let media = packets.len() as u64 * 188;
        Ok(self.judge(packets, content, &arrived, begin, (bytes, media)))
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Cut => self.pair.cut(0),
            Change::Restore => self.pair.restore(0),
            Change::To(config) => self.pair.reconfigure(0, *config),
        }
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
        let bytes = |link| self.pair.sim.network().link(link).stats().offered.bytes;
        let links = self.pair.paths().iter().map(|path| path.links);
        links.fold([0, 0], |[there, back], links| {
            [there + bytes(links.forward), back + bytes(links.backward)]
        })
    }

    fn judge(
        &self,
        packets: &[(Duration, Packet)],
        content: &Content,
        arrived: &[Option<Time>],
        begin: Time,
        (before, media): ([u64; 2], u64),
    ) -> Start {
        let wait = Duration::from_millis(self.terms.latency_ms + self.terms.rtt_ms / 2) + SLACK;
        let (mut wanted, mut missing) = (0, 0);
        let (mut hole, mut since) = ((Duration::ZERO, Duration::ZERO), None);
        let is_in_time = |n: usize| {
            let until = packets.get(n).map(|(at, _)| begin + *at + wait);
            arrived.get(n).copied().flatten().zip(until).is_some_and(|(at, until)| at <= until)
        };
        for (n, (at, packet)) in packets.iter().enumerate() {
            if packet.pid() == Pid::NULL {
                continue;
            }
            wanted += 1;
            if is_in_time(n) {
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
            shown: content.shown(is_in_time),
        }
    }
}
