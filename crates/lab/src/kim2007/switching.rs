//! Figure 12: from the key pressed to the first message of another channel.

use std::time::Duration;

use anabranch_netsim::{Pair, SERVER, SimulationError};
use anabranch_sansio::{Rng, Time};

use super::message::Message;
use super::peer::{self, Counters, Incoming, Peer};
use super::setup::{self, Pace, Setup};
use crate::recording::Recording;
use crate::records::UnitRecord;

/// The channel that is watched, and the one that is switched to.
const OLD: u16 = 0;
const NEW: u16 = 1;
/// How long the old channel is watched at least.
const WATCHED: Duration = Duration::from_secs(2);
/// A viewer who sees nothing by then has gone.
const PATIENCE: Duration = Duration::from_secs(60);
/// The new channel is watched so long, that a capture shows it.
const AFTERWARDS: Duration = Duration::from_millis(100);

/// What became of a key that was pressed.
#[derive(Debug)]
pub(super) struct Switched {
    /// From the key to the first message of the new channel, whole, at the application.
    pub(super) after: Option<Duration>,
    pub(super) counters: Counters,
    /// Packets that the links lost.
    pub(super) lost_on_links: u64,
    /// When all was over.
    pub(super) end: Time,
}

/// The key may be pressed at any moment between two messages of the old channel.
pub(super) fn run<P: Peer>(
    setup: &Setup,
    seed: u64,
    name: &str,
    recording: &mut Recording,
) -> Result<Switched, SimulationError> {
    let mut session = Session::<P>::connect(setup, seed, name, recording)?;
    let moment = Rng::from_u64(seed).range(0..setup.own_time.as_nanos() as u64);
    let pressed = setup.start + WATCHED + Duration::from_nanos(moment);
    session.stream_to(pressed)?;
    session.pair.act_client(|client, now| client.request(now, NEW))?;
    while session.seen.is_none() && session.pair.now() < pressed + PATIENCE {
        session.stream_to(session.sender.next_at)?;
    }
    session.stream_to(session.pair.now() + AFTERWARDS)?;
    // What a viewer waits for.
    let first = UnitRecord {
        of: format!("channel {}", NEW + 1),
        kind: "message",
        number: 0,
        bytes: setup.message_len,
        ready: pressed,
        deadline: None,
        completed: session.seen,
    };
    recording.units(|| vec![first]);
    Ok(Switched {
        after: session.seen.map(|seen| seen - pressed),
        counters: session.pair.server().counters(),
        lost_on_links: setup::lost_on_links(&session.pair),
        end: session.pair.now(),
    })
}

struct Session<P: Peer> {
    pair: Pair<P>,
    sender: StreamSender,
    /// When the first message of the new channel was there.
    seen: Option<Time>,
}

/// Streams the channel that was asked for last, from its beginning.
struct StreamSender {
    next: Message,
    next_at: Time,
    pace: Pace,
}

impl StreamSender {
    fn send<P: Peer>(&mut self, server: &mut P, now: Time) {
        server.send(now, self.next);
        self.next_at = now + self.pace.after(self.next.number as usize);
        self.next.number += 1;
    }
}

impl<P: Peer> Session<P> {
    /// Losses begin when the first channel is being watched.
    fn connect(
        setup: &Setup,
        seed: u64,
        name: &str,
        recording: &mut Recording,
    ) -> Result<Self, SimulationError> {
        let mut pair = setup.pair::<P>(seed);
        recording.begin(&name, &mut pair);
        pair.act_client(|client, now| client.connect(now))?;
        let (start, pace) = (setup.start, setup.pace.clone());
        let next = Message { channel: OLD, number: 0 };
        let sender = StreamSender { next, next_at: start, pace };
        let mut session = Self { pair, sender, seen: None };
        session.run_to(start)?;
        session.pair.reconfigure(0, setup.network.links());
        Ok(session)
    }

    fn stream_to(&mut self, end: Time) -> Result<(), SimulationError> {
        while self.sender.next_at <= end {
            self.run_to(self.sender.next_at)?;
            if self.sender.next_at <= self.pair.now() {
                let sender = &mut self.sender;
                self.pair.act_server(|server, now| sender.send(server, now))?;
            }
        }
        self.run_to(end)
    }

    /// The server answers a request at once, and the client notes when it sees what it asked for.
    fn run_to(&mut self, end: Time) -> Result<(), SimulationError> {
        let (sender, seen) = (&mut self.sender, &mut self.seen);
        peer::run_to(&mut self.pair, end, |host, peer, now, incoming| match incoming {
            Incoming::Request(channel) if host == SERVER => {
                sender.next = Message { channel, number: 0 };
                sender.send(peer, now);
            }
            Incoming::Media(Message { channel: NEW, number: 0 }) => *seen = Some(now),
            Incoming::Request(_) | Incoming::Media(_) => {}
        })
    }
}
