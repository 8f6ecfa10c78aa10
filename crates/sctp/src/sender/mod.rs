//! [`DataSender`]: all that brings the user's messages to the peer.
//!
//! It owns the paths, what waits, what is outstanding and what the peer has room for, and decides
//! what data the next packet of a path takes. [`packets`] writes it, [`scheduling`] spreads it over
//! the paths, [`copies`] sends some of it twice, [`acknowledgement`] hears what arrived,
//! [`recovery`] answers losses, [`abandonment`] gives messages up, [`liveness`] knows which paths
//! work, [`rate`] tells what they carry. What all that is made of is in [`send`](crate::send) and
//! [`path`](crate::path).
//!
//! It knows nothing of the handshake, of control chunks and of what arrives: the association shows
//! it the [`Phase`] that it is in, and does what needs a control chunk.

mod abandonment;
mod acknowledgement;
mod copies;
mod liveness;
mod packets;
mod rate;
mod recovery;
mod report;
mod scheduling;
#[cfg(test)]
mod tests;
mod window;

use std::time::Duration;

use anabranch_sansio::{FourTuple, Rng, Time};
use anabranch_wire::{StreamId, Tsn};
use bytes::Bytes;

use crate::config::AssociationConfig;
use crate::earliest::Earliest;
use crate::event::Event;
use crate::extensions::SupportedExtensions;
use crate::journal::Journal;
use crate::path::{Origin, PathSet};
use crate::path_choice::{Outlook, PathScheduler};
use crate::path_name::{PathSlot, PathState};
use crate::rate_signal::RateSignal;
use crate::send::SendError;
use crate::send::{Interleaving, MessageQueue, OutgoingMessage, Outstanding, SendFailure};

pub(crate) use liveness::Peer;
pub(crate) use packets::Room;
use packets::Urgent;
use rate::RateMeter;
use window::Window;

/// What an association's state means for data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Data goes with a COOKIE ECHO only, whose timer brings it back.
    Handshake,
    /// Data goes out.
    Open,
    /// Data goes out, and no more is taken (SHUTDOWN-PENDING).
    Draining,
    /// Nothing goes out any more.
    Over,
}

impl Phase {
    /// Whether data may be sent (RFC 9260 section 6).
    pub(crate) const fn may_send(self) -> bool {
        matches!(self, Self::Open | Self::Draining)
    }
}

/// What the sender is shown with a call, and where it tells what happened.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) config: &'a AssociationConfig,
    pub(crate) phase: Phase,
    /// Bytes that authentication takes of each packet.
    pub(crate) signature_len: usize,
    pub(crate) journal: &'a mut Journal,
}

impl Context<'_> {
    /// PMDCS: bytes of the longest DATA chunk that fits into a packet, chunk header included.
    pub(crate) fn pmdcs(&self) -> usize {
        self.config.pmdcs() - self.signature_len
    }

    /// The IP bytes of a packet that has nothing but a chunk of so many.
    fn ip_len_with(&self, chunk: usize) -> usize {
        self.config.paths.path_mtu - self.pmdcs() + chunk
    }
}

/// The sending half of an association.
#[derive(Debug)]
pub(crate) struct DataSender {
    /// Where data can go. The association pairs addresses and sends heartbeats.
    pub(crate) paths: PathSet,
    /// Exists where several paths carry new data at once.
    path_scheduler: Option<Box<dyn PathScheduler>>,
    /// Whether new urgent messages go before what is sent again.
    urgent_ahead: bool,
    queue: MessageQueue,
    outstanding: Outstanding,
    /// The peer's receive window.
    window: Window,
    urgent: Urgent,
    /// FORWARD TSN: the point last told, and when.
    forwarded: Option<(u64, Time)>,
    /// RFC 9260 section 8.1: consecutive retransmissions to the peer.
    error_count: u32,
    /// Timeouts after which T3-rtx did not back off, while the handshake of keys lasts.
    steady_timeouts: Option<u32>,
    rate: RateMeter,
    /// Whether packets may have to be longer or shorter than they are.
    is_mtu_unsettled: bool,
    /// Scratch space for what path schedulers look at.
    outlooks: Vec<Outlook>,
}

impl DataSender {
    /// A sender with one path, which is the primary one.
    pub(crate) fn new(
        config: &AssociationConfig,
        first: (FourTuple, Origin),
        initial_tsn: Tsn,
        shared: SupportedExtensions,
        rng: &mut Rng,
    ) -> Self {
        Self {
            paths: PathSet::new(first, PathState::Active, config, rng),
            path_scheduler: config.paths.build_scheduler(),
            urgent_ahead: config.recovery.urgent_ahead,
            queue: MessageQueue::new(
                config.streams.outbound_streams,
                config.buffers.send_buffer,
                config.buffers.message_size_max,
                config.streams.scheduler_factory(),
            ),
            outstanding: Outstanding::new(initial_tsn, shared, config.recovery.loss_detection),
            window: Window::default(),
            urgent: Urgent::default(),
            forwarded: None,
            error_count: 0,
            steady_timeouts: None,
            rate: RateMeter::default(),
            is_mtu_unsettled: false,
            outlooks: Vec::new(),
        }
    }

    /// What the peer announced of itself: its receive buffer, the streams that it takes, and what
    /// both ends know.
    pub(crate) fn take_limits(
        &mut self,
        pmdcs: usize,
        a_rwnd: usize,
        inbound_streams: u16,
        shared: SupportedExtensions,
    ) {
        self.window = Window::announced(a_rwnd);
        (self.urgent, self.forwarded) = (Urgent::default(), None);
        self.queue.limit_streams(inbound_streams);
        self.outstanding.set_extensions(shared);
        // Chunks may have other headers from now on: what was counted cannot be compared.
        self.rate = RateMeter::default();
        let whole_message_max = self.whole_message_max(pmdcs);
        let interleaving = Interleaving { peer_buffer: a_rwnd, whole_message_max };
        self.queue.set_interleaving(shared.i_data.then_some(interleaving));
    }

    /// What a path carries, or which paths data takes, has changed.
    pub(crate) const fn note_mtu_change(&mut self) {
        self.is_mtu_unsettled = true;
    }

    /// Whether it has, since this was asked last.
    pub(crate) const fn take_mtu_change(&mut self) -> bool {
        std::mem::replace(&mut self.is_mtu_unsettled, false)
    }

    /// The longest DATA chunk that fits into a packet has so many bytes from now on.
    pub(crate) fn set_pmdcs(&mut self, pmdcs: usize) {
        let whole_message_max = self.whole_message_max(pmdcs);
        self.queue.set_whole_message_max(whole_message_max);
        for path in self.paths.iter_mut() {
            path.congestion.on_mtu(pmdcs);
        }
    }

    /// Begins anew with a peer that restarted: what was sent is lost, what waits is sent to it.
    pub(crate) fn restart(
        &mut self,
        config: &AssociationConfig,
        journal: &mut Journal,
        initial_tsn: Tsn,
        shared: SupportedExtensions,
        rng: &mut Rng,
    ) {
        let lost = self.outstanding.take_undelivered(SendFailure::Restarted);
        journal.tell_undelivered(lost);
        let detection = config.recovery.loss_detection;
        self.outstanding = Outstanding::new(initial_tsn, shared, detection);
        self.queue.restart();
        self.error_count = 0;
        self.rate = RateMeter::default();
        for path in self.paths.iter_mut() {
            path.reset(config, rng);
        }
    }

    /// Takes a message of the user's.
    pub(crate) fn send(
        &mut self,
        context: &Context<'_>,
        message: OutgoingMessage,
    ) -> Result<(), SendError> {
        self.queue.push(context.now, message)?;
        self.open_burst(context);
        Ok(())
    }

    /// Ends the life of all that was handed over on a stream and is not reliable.
    pub(crate) fn withdraw(&mut self, context: &mut Context<'_>, stream: StreamId) {
        self.queue.withdraw(context.now, stream);
        self.outstanding.withdraw(context.now, stream);
        self.give_up_unfinished(context);
        self.expire_messages(context);
        self.settle_abandoned(context);
    }

    pub(crate) fn set_stream_priority(&mut self, stream: StreamId, priority: u16) -> bool {
        self.queue.set_priority(stream, priority)
    }

    /// From here on messages of the user wait until there are keys.
    pub(crate) fn shut_gate(&mut self, config: &AssociationConfig) {
        self.queue.shut_gate();
        self.begin_steady_timeouts(config);
    }

    /// There are keys.
    pub(crate) fn open_gate(&mut self) {
        self.queue.open_gate();
        // The user's messages wait for answers of which nobody knows how long they take.
        let unmeasured = self.paths.iter_mut().filter(|path| path.rtt.srtt().is_none());
        unmeasured.for_each(|path| path.rtt.follow_t1(None));
    }

    /// Takes a message about keys.
    pub(crate) fn send_about_keys(&mut self, now: Time, message: Bytes) {
        self.queue.push_about_keys(now, message);
    }

    /// There are so many more streams, behind the last one.
    pub(crate) fn add_streams(&mut self, count: u16) {
        self.queue.add_streams(count);
    }

    /// What is handed over on a stream from now on waits until [`end_reset`](Self::end_reset).
    pub(crate) fn begin_reset(&mut self, stream: StreamId) {
        self.queue.begin_reset(stream);
    }

    /// The peer answered whether the stream begins anew; its messages go out again.
    pub(crate) fn end_reset(&mut self, stream: StreamId, performed: bool) {
        if performed {
            self.outstanding.forget_skip(stream);
        }
        self.queue.end_reset(stream, performed);
    }

    /// What went with a COOKIE ECHO goes with the next one again.
    pub(crate) fn take_back_data(&mut self) {
        for path in self.paths.ids() {
            self.outstanding.on_timeout(path);
        }
        self.outstanding.advance();
    }

    /// The peer answered something: whatever was counted against it is forgotten.
    pub(crate) const fn clear_errors(&mut self) {
        self.error_count = 0;
    }

    /// Time has passed. The timers of paths are apart: what they lead to concerns heartbeats too.
    pub(crate) fn on_time(&mut self, context: &mut Context<'_>) {
        self.expire_messages(context);
        self.release_copies(context.now);
        for path in self.paths.iter_mut() {
            path.pacer.on_time(context.now);
        }
    }

    /// Second copies whose time has come may leave.
    pub(crate) fn release_copies(&mut self, now: Time) {
        self.outstanding.release_copies(now);
    }

    /// All timers that run. Where nothing may be sent, no pace holds it up.
    /// What may be late by some `slack` is offered later by as much.
    pub(crate) fn offer_timers(&self, may_send: bool, slack: Duration, earliest: &mut Earliest) {
        let late = |at: Option<Time>| at.map(|at| at + slack);
        earliest.offer(late(self.outstanding.next_expiration()), "message lifetime");
        for path in self.paths.iter() {
            path.offer_timers(earliest);
        }
        if may_send {
            earliest.offer(self.pacing_timer(), "pacing");
        }
        earliest.offer(late(self.outstanding.next_copy_at()), "second copy");
    }

    /// What any input may have brought about, as far as data and paths are concerned.
    pub(crate) fn after_input(&mut self, context: &mut Context<'_>) {
        self.paths.remove_abandoned();
        self.report_lost_chunks(context);
        self.settle_abandoned(context);
        self.reselect_path(context.journal);
    }

    /// Tells what became of messages that waited.
    pub(crate) fn report_queue(&mut self, journal: &mut Journal) {
        if self.queue.has_undelivered() {
            journal.tell_undelivered(self.queue.take_undelivered());
        }
        if self.queue.became_writable() {
            journal.tell(Event::Writable);
        }
    }

    /// The association ends: what was not delivered by now never will be, and no timer of a path
    /// runs.
    pub(crate) fn end(&mut self, journal: &mut Journal) {
        journal.tell_undelivered(self.outstanding.take_undelivered(SendFailure::Closed));
        self.queue.end();
        journal.tell_undelivered(self.queue.take_undelivered());
        for path in self.paths.iter_mut() {
            path.t3_rtx = None;
            path.loss_timer = None;
            path.heartbeat.timer = None;
            path.mtu_search = None;
        }
    }

    /// Whether all that was handed over is delivered or abandoned.
    pub(crate) fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.outstanding.is_empty()
    }

    /// What waits to be sent for the first time.
    pub(crate) const fn queue(&self) -> &MessageQueue {
        &self.queue
    }

    /// What was sent, and is not yet cumulatively acknowledged.
    pub(crate) const fn outstanding(&self) -> &Outstanding {
        &self.outstanding
    }

    /// What both ends know.
    pub(crate) const fn extensions(&self) -> SupportedExtensions {
        self.outstanding.extensions()
    }

    /// Bytes that the peer's receive buffer can still take.
    pub(crate) const fn peer_window(&self) -> usize {
        self.window.rwnd
    }

    /// What the paths carry now; `None` until some data was sent.
    pub(crate) const fn rate(&self) -> Option<RateSignal> {
        self.rate.signal()
    }

    /// Bytes of the longest message that fits into one packet.
    pub(crate) const fn whole_message_max(&self, pmdcs: usize) -> usize {
        pmdcs - self.extensions().data_format().header_len()
    }

    /// Whether SACKs are spaced in time, both ways: agreed upon, and no second path confuses what
    /// a SACK reports.
    pub(crate) fn has_spaced_sacks(&self) -> bool {
        self.extensions().spaced_sacks && self.paths.carriers().count() <= 1
    }

    /// A packet, or several, went out on a path.
    pub(crate) fn end_transmission(&mut self, context: &Context<'_>, path: PathSlot) {
        // Once for all of them: each packet with data would move the timer.
        let brought_data = self.paths.at(path).last_data_sent == Some(context.now);
        if brought_data && context.phase != Phase::Handshake {
            self.settle_loss_timer(context.config, path);
        }
    }

    /// Adds a path, in the place of one that failed if there are as many as there may be.
    pub(crate) fn add_path(
        &mut self,
        path: (FourTuple, Origin),
        config: &AssociationConfig,
        rng: &mut Rng,
    ) -> Option<PathSlot> {
        let slot = self.paths.add(path, PathState::Unconfirmed, config, rng)?;
        self.outstanding.forget_path(slot);
        Some(slot)
    }

    /// The peer, which had deleted a path, has it again.
    pub(crate) fn restore_path(
        &mut self,
        path: PathSlot,
        config: &AssociationConfig,
        rng: &mut Rng,
    ) {
        self.paths.at_mut(path).restore(config, rng);
        self.outstanding.forget_path(path);
    }

    /// Gives a path the addresses of a candidate, which is no path of its own any more. What is in
    /// flight went to where nobody is: it is sent again, and says nothing about congestion. Returns
    /// false if one of the two is gone.
    pub(crate) fn move_path(
        &mut self,
        context: &Context<'_>,
        path: PathSlot,
        candidate: PathSlot,
    ) -> bool {
        let Some(moved) = self.paths.absorb(path, candidate) else { return false };
        moved.error_count = 0;
        moved.rtt.undo_back_off();
        let losses = self.outstanding.take_back(path);
        self.outstanding.advance();
        let target = self.paths.at_mut(path);
        target.stats.chunks_lost += losses.chunks as u64;
        target.t3_rtx = None;
        self.settle_timers(context);
        true
    }
}
