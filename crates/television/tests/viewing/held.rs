//! [`Held`]: a machine that can be held up, as a program is that gets no processor.

use std::collections::VecDeque;

use anabranch_sansio::{Datagram, Ecn, FourTuple, Machine, Time, Transmit, Wakeup};

/// What a socket keeps for a program that does not read.
const SOCKET_BYTES: usize = 2 << 20;

/// A machine, and what waits for it while it is held up.
pub(crate) struct Held<M> {
    pub(crate) machine: M,
    waiting: Option<Waiting>,
}

#[derive(Default)]
struct Waiting {
    datagrams: VecDeque<(FourTuple, Option<Ecn>, Vec<u8>)>,
    bytes: usize,
}

impl<M: Machine> Held<M> {
    pub(crate) const fn new(machine: M) -> Self {
        Self { machine, waiting: None }
    }

    /// It gets no time from now on.
    pub(crate) fn hold(&mut self) {
        self.waiting.get_or_insert_default();
    }

    /// It goes on, in a driver's order: first with what waits in its socket.
    pub(crate) fn release(&mut self, now: Time) {
        for (path, ecn, bytes) in self.waiting.take().into_iter().flat_map(|it| it.datagrams) {
            self.machine.handle_datagram(now, Datagram { path, ecn, bytes: &bytes });
        }
    }

    pub(crate) const fn is_held(&self) -> bool {
        self.waiting.is_some()
    }
}

impl<M: Machine> Machine for Held<M> {
    type Event = M::Event;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        let Some(waiting) = &mut self.waiting else {
            return self.machine.handle_datagram(now, datagram);
        };
        if waiting.bytes + datagram.bytes.len() <= SOCKET_BYTES {
            waiting.bytes += datagram.bytes.len();
            waiting.datagrams.push_back((datagram.path, datagram.ecn, datagram.bytes.to_vec()));
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if !self.is_held() {
            self.machine.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        if self.is_held() { None } else { self.machine.poll_transmit(now, buf) }
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        if self.is_held() { None } else { self.machine.poll_timeout() }
    }

    fn poll_event(&mut self) -> Option<M::Event> {
        if self.is_held() { None } else { self.machine.poll_event() }
    }
}
