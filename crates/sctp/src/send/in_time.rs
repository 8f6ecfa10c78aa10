//! Loss detection in time: RACK and the tail loss probe (RFC 8985) over TSNs and paths.
//!
//! Where it deviates from RFC 8985:
//!
//! - The reordering timer expires when the first chunk is due, not the last one: each is sent again
//!   as early as it may be (as QUIC does, RFC 9002 section 6.1.2).
//! - A silent path is probed in recovery too (RFC 9002 section 6.2), and sending does not put the
//!   probe off, for a stream of media never pauses: see [`Outstanding::unanswered`].
//! - A lost chunk is a new sign of congestion if it was sent after the last one was answered by a
//!   smaller window, which holds for lost retransmissions as RFC 8985 section 9.3 demands.

use std::time::Duration;

use anabranch_sansio::Time;

use super::chunk::{ChunkState, View};
use super::flight::{Flight, Sent};
use super::loss_detection::Losses;
use super::outstanding::Outstanding;
use super::rack::{Delivery, Rack};
use super::spurious::Episode;
use crate::path_name::PathSlot;

/// DupThresh (RFC 6675 section 2).
const DUP_THRESH: usize = 3;

/// The state of one path.
#[derive(Debug, Default)]
pub(super) struct InTime {
    pub(super) rack: Rack,
    /// Transmissions below this one were sent under a window that was reduced since, if any was.
    reduced_below: u64,
    /// What that reduction was based on.
    pub(super) episode: Episode,
    /// When the oldest overtaken chunk counts as lost: the reordering timer.
    due: Option<Time>,
    /// TLP.end_seq and TLP.is_retrans.
    pub(super) probe: Option<Probe>,
    /// Whether a round trip was measured since the last probe.
    measured: bool,
    /// When the peer last answered anything that was sent here.
    answered_at: Time,
}

/// A probe that was not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Probe {
    /// A chunk that would have been sent anyway.
    New(Sent),
    /// A chunk that had been sent already.
    Again(Sent),
    /// A HEARTBEAT, while the data goes over another path.
    Heartbeat,
}

/// Data in flight to which a peer has not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unanswered {
    /// When the oldest chunk was sent.
    pub(crate) sent_at: Time,
    /// When the peer last answered anything that was sent there.
    pub(crate) answered_at: Time,
}

impl Unanswered {
    /// Since when an answer has been awaited: since the peer last answered, or since the oldest
    /// chunk was sent.
    pub(crate) fn since(self) -> Time {
        self.sent_at.max(self.answered_at)
    }
}

/// What shows that chunks were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LostBy {
    /// What was sent later has arrived.
    Order,
    /// The peer is silent on their path.
    Silence,
    /// T3-rtx.
    Timeout,
}

impl InTime {
    /// RFC 9002 section 7.3.2: recovery ends "when a packet sent during the recovery period is
    /// acknowledged".
    pub(super) const fn in_recovery(&self) -> bool {
        self.reduced_below > 0 && self.rack.delivered_below() <= self.reduced_below
    }

    /// The reduction of the window was undone: what is found lost now asks for one again.
    pub(super) const fn forget_reduction(&mut self) {
        self.reduced_below = 0;
    }

    /// A chunk was delivered.
    pub(super) fn on_delivered(&mut self, delivery: &Delivery) {
        let was_in_recovery = self.in_recovery();
        self.rack.on_delivered(delivery);
        self.measured |= !delivery.retransmitted;
        self.answered_at = delivery.now;
        if was_in_recovery && !self.in_recovery() {
            self.rack.on_recovery_end();
        }
    }

    /// T3-rtx expired and all that was in flight counts as lost.
    pub(super) fn on_timeout(&mut self, next: u64) {
        self.due = None;
        self.enter_recovery(next, next, true);
    }

    /// A loss, timeout or repair is answered by a smaller window, if it was sent since the last
    /// time; `next` is the number of the next transmission.
    fn enter_recovery(&mut self, transmission: u64, next: u64, timeout: bool) -> bool {
        if transmission < self.reduced_below {
            return false;
        }
        self.reduced_below = next;
        self.episode.begin(timeout);
        if timeout {
            self.rack.on_timeout();
        }
        // RFC 8985 section 7.1: "Reset TLP.is_retrans and TLP.end_seq when initiating a connection,
        // fast recovery, or RTO recovery."
        self.probe = None;
        true
    }
}

impl Flight {
    fn in_time_mut(&mut self) -> Option<&mut InTime> {
        self.detector.in_time_mut()
    }

    /// When the reordering timer expires.
    fn reordering_due(&self) -> Option<Time> {
        let unsettled = self.unsettled.first().map(|(at, _)| *at);
        self.detector.in_time()?.due.into_iter().chain(unsettled).min()
    }

    /// Whether as many chunks as DupThresh were delivered that had been sent after the oldest one
    /// in flight.
    fn reaches_dup_thresh(&self, below: u64, is_delivered: impl Fn(Sent) -> bool) -> bool {
        let overtaking = self.sent.iter().take_while(|sent| sent.transmission < below);
        overtaking.filter(|sent| is_delivered(**sent)).take(DUP_THRESH).count() == DUP_THRESH
    }

    /// Takes out the chunks that are due from the front on, up to the transmission `below`. Returns
    /// when the next one is due.
    fn take_due(
        &mut self,
        now: Time,
        below: u64,
        due: impl Fn(Sent) -> Option<Time>,
        mut lost: impl FnMut(Sent),
    ) -> Option<Time> {
        while let Some(&front) = self.sent.front().filter(|sent| sent.transmission < below) {
            match due(front) {
                Some(at) if at > now => return Some(at),
                Some(_) => lost(front),
                None => {}
            }
            self.sent.pop_front();
        }
        None
    }
}

impl Outstanding {
    /// RACK_detect_loss (RFC 8985 section 6.2, step 5): "RACK considers that segment lost if
    /// another segment that was sent later has been delivered and the reordering window has
    /// passed."
    ///
    /// Chunks are due in the order of their transmission, so that only those are looked at that are
    /// lost, and one more.
    pub(crate) fn detect_losses(
        &mut self,
        now: Time,
        path: PathSlot,
        srtt: Option<Duration>,
    ) -> Losses {
        let mut lost = std::mem::take(&mut self.lost);
        self.take_overtaken(now, path, srtt, &mut lost);
        self.take_settled(now, path, &mut lost);
        self.declare_lost(path, lost, LostBy::Order)
    }

    /// Takes out what was overtaken long enough ago. A copy that may yet be reported as a duplicate
    /// waits for that aside.
    fn take_overtaken(
        &mut self,
        now: Time,
        path: PathSlot,
        srtt: Option<Duration>,
        lost: &mut Vec<Sent>,
    ) {
        let view = View { chunks: &self.chunks, first: self.first, copies: &self.copies };
        let Some(flight) = self.flights.get_mut(path.index()) else { return };
        let Some(rack) = flight.detector.in_time().map(|in_time| &in_time.rack) else { return };
        let Some(rtt) = rack.rtt() else { return };
        let below = rack.delivered_below();
        let is_delivered = |sent| view.is_delivered(path, sent);
        flight.oldest(|sent| view.is_live(path, sent));
        let Some(in_time) = flight.detector.in_time() else { return };
        let settled = in_time.in_recovery() || flight.reaches_dup_thresh(below, is_delivered);
        let age = rtt + in_time.rack.reo_wnd(settled, srtt);
        let due = |sent| Some(view.sent_at(path, sent)? + age);
        let mut unsettled = std::mem::take(&mut flight.unsettled);
        let next_due = flight.take_due(now, below, due, |sent| {
            match view.copies.settled_at(path, sent).filter(|at| *at > now) {
                Some(at) => drop(unsettled.insert((at, sent))),
                None => lost.push(sent),
            }
        });
        flight.unsettled = unsettled;
        if let Some(in_time) = flight.in_time_mut() {
            in_time.due = next_due;
        }
    }

    /// Takes the copies of which no duplicate was reported in time.
    fn take_settled(&mut self, now: Time, path: PathSlot, lost: &mut Vec<Sent>) {
        let view = View { chunks: &self.chunks, first: self.first, copies: &self.copies };
        let Some(flight) = self.flights.get_mut(path.index()) else { return };
        while let Some(&(at, sent)) = flight.unsettled.first()
            && (at <= now || !view.is_live(path, sent))
        {
            flight.unsettled.pop_first();
            lost.extend(view.is_live(path, sent).then_some(sent));
        }
    }

    /// The peer is silent on `path`, or its T3-rtx expired: what was sent `age` ago is lost, and
    /// the oldest chunk in any case.
    ///
    /// RFC 8985 section 6.3: "Upon RTO timer expiration, RACK marks the first outstanding segment
    /// as lost ...; for all the other segments, RACK only marks the segment as lost if the time
    /// elapsed since the segment was transmitted is at least the sum of the recent RTT and the
    /// reordering window."
    pub(crate) fn give_up_overdue(
        &mut self,
        now: Time,
        path: PathSlot,
        age: Duration,
        timeout: bool,
    ) -> Losses {
        let view = View { chunks: &self.chunks, first: self.first, copies: &self.copies };
        let Some(flight) = self.flights.get_mut(path.index()) else { return Losses::default() };
        let oldest = flight.oldest(|sent| view.is_live(path, sent));
        let due = |sent: Sent| {
            let sent_at = view.sent_at(path, sent)?;
            Some(if oldest == Some(sent) { now } else { sent_at + age })
        };
        let mut lost = std::mem::take(&mut self.lost);
        flight.take_due(now, u64::MAX, due, |sent| lost.push(sent));
        if let Some(in_time) = flight.in_time_mut() {
            in_time.due = None;
        }
        self.declare_lost(path, lost, if timeout { LostBy::Timeout } else { LostBy::Silence })
    }

    /// How long after it was sent a chunk of `path` is overdue when T3-rtx expires.
    pub(crate) fn overdue_age(&self, path: PathSlot, srtt: Option<Duration>) -> Duration {
        let flight = self.flights.get(path.index());
        let Some(rack) = flight.and_then(|f| f.detector.in_time()).map(|in_time| &in_time.rack)
        else {
            return Duration::ZERO;
        };
        rack.rtt().map_or(Duration::ZERO, |rtt| rtt + rack.reo_wnd(true, srtt))
    }

    fn declare_lost(&mut self, path: PathSlot, mut lost: Vec<Sent>, by: LostBy) -> Losses {
        let timeout = by == LostBy::Timeout;
        let newest = lost.iter().map(|sent| sent.transmission).max();
        // A timeout is one whatever came before.
        let newest = if timeout { Some(u64::MAX) } else { newest };
        let enters_recovery = newest.is_some_and(|newest| self.reduce(path, newest, timeout));
        self.mark_lost(path, &lost, by != LostBy::Order);
        let losses = Losses { chunks: lost.len(), enters_recovery };
        lost.clear();
        self.lost = lost;
        losses
    }

    /// The window of a path is to be reduced for a transmission, unless it was already.
    pub(super) fn reduce(&mut self, path: PathSlot, transmission: u64, timeout: bool) -> bool {
        let Some(flight) = self.flights.get_mut(path.index()) else { return false };
        let next = flight.next_transmission;
        let in_time = flight.in_time_mut();
        in_time.is_some_and(|in_time| in_time.enter_recovery(transmission, next, timeout))
    }

    /// When the reordering timer of a path expires (RFC 8985 section 6.2, step 5).
    pub(crate) fn reordering_due(&self, path: PathSlot) -> Option<Time> {
        self.flights.get(path.index())?.reordering_due()
    }

    /// What is in flight on `path` and was not answered, if the absence of an answer calls for a
    /// probe.
    ///
    /// RFC 8985 section 7.2 restarts the timer with each transmission as well; then it would never
    /// expire while a stream goes on. Within a round trip and a SACK's delay of the oldest chunk's
    /// transmission the peer answers anyhow, which restarts it.
    ///
    /// RFC 8985 section 7.3: "there is no other previous loss probe still in flight", and "the
    /// sender has obtained an RTT measurement since the last loss probe transmission or the start
    /// of the connection".
    pub(crate) fn unanswered(&mut self, path: PathSlot) -> Option<Unanswered> {
        let view = View { chunks: &self.chunks, first: self.first, copies: &self.copies };
        let flight = self.flights.get_mut(path.index())?;
        let in_time = flight.in_time_mut()?;
        if !in_time.measured || in_time.due.is_some() {
            return None;
        }
        let answered_at = in_time.answered_at;
        let is_live = |sent| view.is_live(path, sent);
        match in_time.probe {
            Some(Probe::Heartbeat) => return None,
            Some(Probe::New(sent) | Probe::Again(sent)) if is_live(sent) => return None,
            Some(_) | None => {}
        }
        let oldest = flight.oldest(is_live)?;
        Some(Unanswered { sent_at: view.sent_at(path, oldest)?, answered_at })
    }

    /// When the peer last answered anything that was sent on `path`.
    pub(crate) fn answered_at(&self, path: PathSlot) -> Option<Time> {
        Some(self.flights.get(path.index())?.detector.in_time()?.answered_at)
    }

    /// A silent path is about to be probed, if there is anything to do it with.
    pub(crate) fn begin_probe(&mut self, path: PathSlot) {
        if let Some(in_time) = self.flights.get_mut(path.index()).and_then(Flight::in_time_mut) {
            in_time.measured = false;
        }
    }

    /// A HEARTBEAT goes out as the probe of a silent path.
    pub(crate) fn probe_by_heartbeat(&mut self, path: PathSlot) {
        if let Some(in_time) = self.flights.get_mut(path.index()).and_then(Flight::in_time_mut) {
            in_time.probe = Some(Probe::Heartbeat);
        }
    }

    /// Whether a HEARTBEAT that probes `path` was not answered yet, nor anything else since.
    pub(crate) fn is_probed_by_heartbeat(&self, path: PathSlot) -> bool {
        let in_time = self.flights.get(path.index()).and_then(|flight| flight.detector.in_time());
        in_time.is_some_and(|in_time| in_time.probe == Some(Probe::Heartbeat))
    }

    /// A HEARTBEAT ACK came.
    pub(crate) fn on_heartbeat_answered(&mut self, now: Time, path: PathSlot) {
        if let Some(in_time) = self.flights.get_mut(path.index()).and_then(Flight::in_time_mut) {
            in_time.probe = in_time.probe.filter(|probe| *probe != Probe::Heartbeat);
            in_time.measured = true;
            in_time.answered_at = now;
        }
    }

    /// The chunk to send again as a probe of `path`, with its size: the one sent last.
    ///
    /// RFC 8985 section 7.3: "the sender SHOULD retransmit the highest-sequence segment sent so
    /// far", for its arrival says something of all that were sent before.
    pub(crate) fn probe_candidate(&self, path: PathSlot) -> Option<(u64, usize)> {
        let flight = self.flights.get(path.index())?;
        let view = self.view();
        let is_own = |sent: &&Sent| view.copies.of(path, **sent).is_none();
        let live = flight.sent.iter().rev().filter(|sent| view.is_live(path, **sent));
        let live = live.filter(is_own);
        let mut chunks = live.filter_map(|sent| Some((sent.sequence, self.chunk(sent.sequence)?)));
        let (sequence, chunk) = chunks.find(|(_, chunk)| chunk.may_be_sent_again())?;
        Some((sequence, chunk.size()))
    }

    /// Puts a chunk that is in flight in flight once more.
    pub(crate) fn send_again(&mut self, now: Time, sequence: u64, path: PathSlot) {
        let Some(chunk) = self.chunk_mut(sequence) else { return };
        if chunk.state != ChunkState::InFlight {
            return;
        }
        let (size, before) = (chunk.size(), chunk.path);
        self.leave_flight(before, size);
        self.cancel_rtt_probes(sequence);
        self.put_in_flight(now, sequence, path);
    }

    /// A packet with data went out as a probe of `path`.
    pub(crate) fn on_probe_sent(&mut self, path: PathSlot) {
        let Some(flight) = self.flights.get_mut(path.index()) else { return };
        let Some(&sent) = flight.sent.back() else { return };
        let index = sent.sequence.saturating_sub(self.first) as usize;
        let again = self.chunks.get(index).is_some_and(|chunk| chunk.transmissions > 1);
        if let Some(in_time) = flight.in_time_mut() {
            in_time.probe = Some(if again { Probe::Again(sent) } else { Probe::New(sent) });
        }
    }
}
