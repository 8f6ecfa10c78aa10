//! Figures 8 to 11: a file that is sent at its own rate.

use std::time::Duration;

use anabranch_netsim::{Pair, SimulationError};
use anabranch_sansio::Time;

use super::message::Message;
use super::peer::{self, Counters, Incoming, Peer};
use super::setup::{self, Setup};
use crate::recording::Recording;
use crate::records::UnitRecord;

/// How often a server that waits for its transport looks again.
const WAIT: Duration = Duration::from_millis(1);
/// What is not over by then is given up: an association that was lost, for one.
const PATIENCE: Time = Time::from_secs(1_200);
/// What is under way when the sender has nothing more to do arrives within this.
const UNDER_WAY_MAX: Duration = Duration::from_secs(1);

/// What a transport made of the file.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) passages: Vec<Passage>,
    pub(super) counters: Counters,
    /// Packets that the links lost.
    pub(super) lost_on_links: u64,
    /// When all was over.
    pub(super) end: Time,
}

/// A message's way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passage {
    /// When the server had it ready, whether or not its transport took it at once.
    pub(super) ready: Time,
    pub(super) arrived: Option<Time>,
}

pub(super) fn run<P: Peer>(
    setup: &Setup,
    seed: u64,
    name: &str,
    recording: &mut Recording,
) -> Result<Delivery, SimulationError> {
    let mut session = Session::<P>::connect(setup, seed, name, recording)?;
    for number in 0..setup.messages {
        for channel in 0..setup.channels {
            session.send(Message { channel, number })?;
        }
    }
    session.drain()?;
    recording.units(|| session.units());
    Ok(session.into_delivery())
}

struct Session<'a, P: Peer> {
    setup: &'a Setup,
    pair: Pair<P>,
    passages: Vec<Passage>,
    /// When the server has the next message ready.
    next_at: Time,
}

impl<'a, P: Peer> Session<'a, P> {
    /// Losses begin when the connection stands.
    fn connect(
        setup: &'a Setup,
        seed: u64,
        name: &str,
        recording: &mut Recording,
    ) -> Result<Self, SimulationError> {
        let mut pair = setup.pair::<P>(seed);
        recording.begin(&name, &mut pair);
        pair.act_client(|client, now| client.connect(now))?;
        let mut session = Self { setup, pair, passages: Vec::new(), next_at: setup.start };
        session.run_to(setup.start)?;
        session.pair.reconfigure(0, setup.network.links());
        Ok(session)
    }

    /// A simple server: it sends, which may have to wait, and then sleeps until the next message.
    fn send(&mut self, message: Message) -> Result<(), SimulationError> {
        let ready = self.next_at;
        self.run_to(ready)?;
        while !self.has_room() && self.pair.now() < PATIENCE {
            self.run_to(self.pair.now() + WAIT)?;
        }
        let after = self.setup.pace.after(self.passages.len());
        self.passages.push(Passage { ready, arrived: None });
        self.pair.act_server(|server, now| server.send(now, message))?;
        self.next_at = self.pair.now() + after;
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.pair.server().buffered().saturating_add(self.setup.message_len)
            <= self.setup.send_buffer
    }

    /// Waits for what is still under way.
    fn drain(&mut self) -> Result<(), SimulationError> {
        while self.pair.now() < PATIENCE && self.pair.server().buffered() > 0 {
            self.run_to(self.pair.now() + Duration::from_millis(100))?;
        }
        self.run_to(self.pair.now() + UNDER_WAY_MAX)
    }

    fn run_to(&mut self, end: Time) -> Result<(), SimulationError> {
        let (passages, channels) = (&mut self.passages, self.setup.channels);
        peer::run_to(&mut self.pair, end, |_, _, now, incoming| {
            let Incoming::Media(Message { channel, number }) = incoming else { return };
            let index = number as usize * usize::from(channels) + usize::from(channel);
            if let Some(passage) = passages.get_mut(index) {
                passage.arrived.get_or_insert(now);
            }
        })
    }

    fn units(&self) -> Vec<UnitRecord> {
        let channels = usize::from(self.setup.channels);
        let unit = |(index, passage): (usize, &Passage)| UnitRecord {
            of: format!("channel {}", index % channels + 1),
            kind: "message",
            number: (index / channels) as u64,
            bytes: self.setup.message_len,
            ready: passage.ready,
            deadline: None,
            completed: passage.arrived,
        };
        self.passages.iter().enumerate().map(unit).collect()
    }

    fn into_delivery(self) -> Delivery {
        Delivery {
            counters: self.pair.server().counters(),
            lost_on_links: setup::lost_on_links(&self.pair),
            end: self.pair.now(),
            passages: self.passages,
        }
    }
}
