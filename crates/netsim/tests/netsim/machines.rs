//! Small machines to drive the simulation with.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Machine, Time, Transmit, Wakeup};

/// Sends numbered datagrams at a steady pace, answers each of the peer's if told to, and reports
/// all that arrives.
pub(crate) struct Chatter {
    paths: Vec<FourTuple>,
    pace: Option<Pace>,
    answers: bool,
    outbox: VecDeque<(FourTuple, u32)>,
    inbox: VecDeque<Heard>,
    sent: u32,
    payload: usize,
}

/// A datagram that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) number: u32,
    pub(crate) at: Time,
    pub(crate) path: FourTuple,
}

struct Pace {
    interval: Duration,
    next: Time,
    left: u32,
}

impl Chatter {
    /// Only listens.
    pub(crate) fn listener(paths: &[FourTuple]) -> Self {
        Self {
            paths: paths.to_vec(),
            pace: None,
            answers: false,
            outbox: VecDeque::new(),
            inbox: VecDeque::new(),
            sent: 0,
            payload: 1_000,
        }
    }

    /// Sends `count` datagrams, round robin over its paths, one per `interval`.
    pub(crate) fn talker(paths: &[FourTuple], count: u32, interval: Duration) -> Self {
        let pace = Some(Pace { interval, next: Time::ZERO, left: count });
        Self { pace, ..Self::listener(paths) }
    }

    /// Answers each datagram with its number on the path it came by.
    pub(crate) fn answering(self) -> Self {
        Self { answers: true, ..self }
    }

    /// Sends one datagram on a path of its own now.
    pub(crate) fn say(&mut self, path: usize) {
        self.outbox.push_back((self.paths[path], self.sent));
        self.sent += 1;
    }
}

impl Machine for Chatter {
    type Event = Heard;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        let Some(number) = datagram.bytes.first_chunk() else { return };
        let number = u32::from_be_bytes(*number);
        self.inbox.push_back(Heard { number, at: now, path: datagram.path });
        if self.answers {
            self.outbox.push_back((datagram.path, number));
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        let Some(pace) = self.pace.as_mut().filter(|pace| pace.next <= now) else { return };
        pace.next += pace.interval;
        pace.left -= 1;
        if pace.left == 0 {
            self.pace = None;
        }
        self.say(self.sent as usize % self.paths.len());
    }

    fn poll_transmit(&mut self, _now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let (path, number) = self.outbox.pop_front()?;
        buf.extend_from_slice(&number.to_be_bytes());
        buf.resize(self.payload.max(4), number as u8);
        Some(Transmit::datagram(path))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.pace.as_ref().map(|pace| Wakeup { at: pace.next, why: "pace" })
    }

    fn poll_event(&mut self) -> Option<Heard> {
        self.inbox.pop_front()
    }
}
