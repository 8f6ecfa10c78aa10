//! A connection from the end of its handshake on.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use anabranch_sansio::{Time, Wakeup};

use super::{CloseReason, Event};
use crate::Config;
use crate::receive::Receiver;
use crate::segment::Segment;
use crate::send::{Acknowledgment, Sender};

/// ESTABLISHED and the states after it, which are told apart by which end has finished.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    /// The shift of the peer's window field.
    peer_shift: u8,
    has_sack: bool,
    /// We closed before the peer did, and wait for its late segments in the end.
    closed_first: bool,
    time_wait: Duration,
    /// TIME-WAIT lasts until then.
    time_wait_until: Option<Time>,
}

impl Open {
    pub(super) fn new(
        config: &Config,
        sender: Sender,
        receiver: Receiver,
        peer_shift: u8,
        has_sack: bool,
    ) -> Self {
        Self {
            sender,
            receiver,
            peer_shift,
            has_sack,
            closed_first: false,
            time_wait: config.time_wait,
            time_wait_until: None,
        }
    }

    pub(super) fn close(&mut self) {
        self.closed_first |= !self.sender.has_finished() && !self.receiver.is_finished();
        self.sender.finish();
    }

    /// What an abort sends.
    pub(super) fn reset(&self) -> Segment {
        Segment {
            sequence_number: self.sender.next_number(),
            acknowledgment_number: Some(self.receiver.next_number()),
            rst: true,
            ..Segment::default()
        }
    }

    /// RFC 9293 section 3.10.7.4. Returns why the connection is over, if it is.
    pub(super) fn on_segment(
        &mut self,
        now: Time,
        segment: &Segment,
        payload: &[u8],
        events: &mut VecDeque<Event>,
    ) -> Option<CloseReason> {
        let start = self.receiver.position(segment.sequence_number)?;
        let range = start..start + segment.len(payload);
        if segment.syn || !self.receiver.is_acceptable(&range) {
            // A repeated SYN or what has been here: our acknowledgment was lost. So was a window
            // update, where the peer asks with what does not fit.
            if !segment.rst {
                self.receiver.acknowledge_now();
                self.take_acknowledgment(now, start, segment, false);
            }
            return None;
        }
        if segment.rst {
            // Section 3.10.7.4, second: only the very next number resets; another one in the window
            // is asked about.
            let is_exact = segment.sequence_number == self.receiver.next_number();
            if !is_exact {
                self.receiver.acknowledge_now();
            }
            return is_exact.then_some(CloseReason::Reset);
        }
        self.take_acknowledgment(now, start, segment, !range.is_empty());
        if !range.is_empty() {
            self.take_data(now, start, segment, payload, events);
        }
        self.finish(now)
    }

    fn take_acknowledgment(
        &mut self,
        now: Time,
        sequence: u64,
        segment: &Segment,
        carries_data: bool,
    ) {
        let Some(number) = segment.acknowledgment_number else { return };
        let Some(position) = self.sender.position(number) else { return };
        let blocks: Vec<Range<u64>> = segment
            .sack_blocks()
            .filter_map(|(start, end)| {
                Some(self.sender.position(start)?..self.sender.position(end)?)
            })
            .collect();
        let window = u64::from(segment.window) << if segment.syn { 0 } else { self.peer_shift };
        let ack = Acknowledgment { sequence, position, window, blocks: &blocks, carries_data };
        if !self.sender.on_ack(now, &ack) {
            self.receiver.acknowledge_now();
        }
    }

    fn take_data(
        &mut self,
        now: Time,
        start: u64,
        segment: &Segment,
        payload: &[u8],
        events: &mut VecDeque<Event>,
    ) {
        let (had, was_finished) = (self.receiver.received(), self.receiver.is_finished());
        self.receiver.on_data(now, start, payload, segment.fin);
        if self.receiver.received() > had {
            events.push_back(Event::Readable);
        }
        if self.receiver.is_finished() && !was_finished {
            events.push_back(Event::PeerClosed);
        }
    }

    /// Both directions are done: the end that closed second is gone, the other one waits for twice
    /// the life of a segment, lest its last acknowledgment be lost.
    fn finish(&mut self, now: Time) -> Option<CloseReason> {
        if !self.sender.is_finished() || !self.receiver.is_finished() {
            return None;
        }
        if self.closed_first {
            self.time_wait_until.get_or_insert(now + self.time_wait);
            return None;
        }
        Some(CloseReason::Finished)
    }

    pub(super) fn poll(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Segment> {
        let blocks = if self.has_sack { self.receiver.sack_blocks() } else { Default::default() };
        // Blocks go in a segment of their own: with data they would make it too long.
        let must_tell = self.receiver.must_acknowledge() && blocks[0].is_some();
        let data = if must_tell { None } else { self.sender.poll(now, payload) };
        if data.is_none() && !self.receiver.must_acknowledge() {
            return None;
        }
        let acknowledgment_number = Some(self.receiver.next_number());
        let window = self.receiver.on_acknowledged();
        let segment = Segment { acknowledgment_number, window, ..Segment::default() };
        Some(match data {
            Some(data) => Segment {
                sequence_number: data.sequence_number,
                fin: data.fin,
                psh: data.psh,
                ..segment
            },
            None => Segment {
                sequence_number: self.sender.next_number(),
                sack_blocks: blocks,
                ..segment
            },
        })
    }

    pub(super) fn poll_timeout(&self) -> Option<Wakeup> {
        let time_wait = self.time_wait_until.map(|at| Wakeup { at, why: "TIME-WAIT" });
        let timers = [self.sender.poll_timeout(), self.receiver.poll_timeout(), time_wait];
        timers.into_iter().flatten().min()
    }

    pub(super) fn handle_timeout(&mut self, now: Time) -> Option<CloseReason> {
        self.receiver.handle_timeout(now);
        if self.time_wait_until.is_some_and(|at| at <= now) {
            return Some(CloseReason::Finished);
        }
        let is_lost = self.sender.handle_timeout(now);
        is_lost.then_some(CloseReason::TimedOut)
    }
}
