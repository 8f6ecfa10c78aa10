//! Data in packets (RFC 9260 sections 6.1 and 6.10): FORWARD TSN, what is sent again, what is new.

use anabranch_sansio::Time;
use anabranch_wire::{ForwardTsn, IForwardTsn, Items, PacketWriter, SkippedStream, StreamId};

use super::{Context, DataSender, Phase};
use crate::format::{DataFormat, ssn_of};
use crate::path_choice::Outlook;
use crate::path_name::PathSlot;
use crate::send::Occasion;
use crate::sequence::tsn;
use crate::trace::TraceKind;

/// The shortest fragment that fills up a packet: less is not worth a chunk header.
const FRAGMENT_MIN: usize = 128;

/// The same in a packet behind others of its size: a shorter one is the last of its train, and what
/// follows takes a system call of its own.
const FRAGMENT_MIN_IN_TRAIN: usize = 16;

/// Chunks that may be outstanding at once. A SACK cannot report more, and within them no SSN comes
/// twice (RFC 9260 section 6.1: "For each stream, the data sender MUST NOT have more than 2^16 - 1
/// ordered user messages in the current send window.").
const OUTSTANDING_MAX: usize = 0xffff;

/// A FORWARD TSN or I-FORWARD-TSN without streams.
const FORWARD_TSN_FIXED: usize = 8;

/// How much data a packet may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Bytes that the packet may have.
    pub(crate) size_max: usize,
    /// Whether no other packet is before it in its train: then a chunk that fits no packet may go
    /// out in it, and nothing is gained by filling it to the last byte.
    pub(crate) leads: bool,
}

/// The data of one packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bundle<'a> {
    pub(super) path: PathSlot,
    pub(super) room: Room,
    /// Bytes of the packet in front of its data.
    begin: usize,
    /// Whether it probes a silent path, whatever the congestion window says.
    pub(super) is_probe: bool,
    /// How the paths stand, as far as there is a choice.
    pub(super) outlooks: &'a [Outlook],
}

impl Bundle<'_> {
    /// Whether a chunk that has its TSN fits behind what is written.
    ///
    /// RFC 9260 section 6.9: "Once a user message is fragmented, it cannot be re-fragmented.
    /// Instead, if the PMTU has been reduced, then IP fragmentation MUST be used."
    pub(super) fn takes(&self, context: &Context<'_>, chunk: usize, written: usize) -> bool {
        let is_alone = written == self.begin;
        written + chunk <= self.room.size_max
            || (self.room.leads && is_alone && chunk > context.pmdcs())
    }
}

/// Bytes of each window that are kept for what goes ahead of all else, if anything does: no more
/// than the data of one packet.
const EXPRESS_ROOM: usize = 1_200;

/// Which messages may be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Whichever is next.
    Any,
    /// Those that go ahead of all else, over the path where they arrive first.
    Express,
}

/// The paths that get one packet with data whatever their congestion windows say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Urgent {
    /// For the first of what was lost there.
    pub(super) fast_retransmit: Option<PathSlot>,
    /// As a probe.
    pub(super) loss_probe: Option<PathSlot>,
}

impl Urgent {
    const fn is_any(&self) -> bool {
        self.fast_retransmit.is_some() || self.loss_probe.is_some()
    }

    fn concerns(&self, path: PathSlot) -> bool {
        [self.fast_retransmit, self.loss_probe].contains(&Some(path))
    }

    /// The packet is being written; returns whether it is a probe.
    fn take(&mut self, path: PathSlot) -> bool {
        self.fast_retransmit.take_if(|urgent| *urgent == path);
        self.loss_probe.take_if(|probed| *probed == path).is_some()
    }
}

impl DataSender {
    /// Whether there is anything that a packet could be begun for.
    pub(crate) fn has_data_to_send(&self) -> bool {
        self.waits() || self.outstanding.has_any_copies() || self.urgent.is_any()
    }

    /// Whether data waits to be sent, for the first time or again.
    fn waits(&self) -> bool {
        self.queue.has_eligible() || self.outstanding.has_retransmissions()
    }

    /// Whether data may go out on a path now, as far as the path is concerned.
    pub(crate) fn may_carry_data(&self, now: Time, path: PathSlot) -> bool {
        self.is_released(now, path) || self.urgent.concerns(path) || self.has_express(path)
    }

    /// Whether window and pace let data out on a path.
    fn is_released(&self, now: Time, path: PathSlot) -> bool {
        self.paths.at(path).pacer.is_open(now) && self.may_send_on(path)
    }

    /// Whether something waits that goes ahead of all else, whatever the pace of a path says.
    fn has_express(&self, path: PathSlot) -> bool {
        self.urgent_ahead
            && self.may_send_express_on(path)
            && (self.outstanding.has_copies(path) || self.queue.has_urgent())
    }

    /// Writes a FORWARD TSN if one is due.
    pub(crate) fn write_forward_tsn(
        &mut self,
        context: &mut Context<'_>,
        path: PathSlot,
        size_max: usize,
        writer: &mut PacketWriter<'_>,
    ) {
        let format = self.outstanding.format();
        let room = size_max.saturating_sub(writer.len() + FORWARD_TSN_FIXED) / entry_len(format);
        if !self.forward_tsn_is_due(context.now, context.phase)
            || path != self.paths.current()
            || room == 0
        {
            return;
        }
        let skipped = self.outstanding.skipped_messages(room);
        let point = self.outstanding.advanced_peer_ack_point();
        let new_cumulative_tsn = tsn(point);
        // RFC 8260 section 2.3.1: "The I-FORWARD-TSN chunk MUST be used in combination with the
        // I-DATA chunk and MUST NOT be used in combination with the DATA chunk."
        match format {
            DataFormat::Data => {
                let last = skipped.iter().map(|last| (last.stream, ssn_of(last.mid)));
                let streams: Vec<_> =
                    last.map(|(stream, ssn)| SkippedStream { stream, ssn }).collect();
                let streams = Items::from_slice(&streams);
                writer.push(&ForwardTsn { new_cumulative_tsn, streams });
            }
            DataFormat::IData => {
                let streams = Items::from_slice(&skipped);
                writer.push(&IForwardTsn { new_cumulative_tsn, streams });
            }
        }
        self.forwarded = Some((point, context.now));
        context.journal.stats.forward_tsns_sent += 1;
        // RFC 3758 section 3.5, C5: "If a FORWARD TSN is sent, the sender MUST assure that at least
        // one T3-rtx timer is running."
        let target = self.paths.at_mut(path);
        target.t3_rtx.get_or_insert(context.now + target.rtt.rto());
    }

    /// The paths that get one packet with data whatever their congestion windows say.
    pub(crate) const fn urgent(&self) -> Urgent {
        self.urgent
    }

    /// What was urgent before is so again: it found no room.
    pub(crate) const fn set_urgent(&mut self, urgent: Urgent) {
        self.urgent = urgent;
    }

    /// Writes the data that takes a path now.
    pub(crate) fn write_data(
        &mut self,
        context: &mut Context<'_>,
        path: PathSlot,
        room: Room,
        writer: &mut PacketWriter<'_>,
    ) {
        if !self.may_carry_data(context.now, path) {
            return;
        }
        let before = writer.len();
        let is_released = self.is_released(context.now, path) || self.urgent.concerns(path);
        let is_probe = self.urgent.take(path);
        // RFC 9260 section 6.1, rule C: "before sending new DATA chunks, the sender MUST first
        // transmit any DATA chunks that are marked for retransmission (limited by the current
        // cwnd)."
        let outlooks = self.take_outlooks(context);
        let bundle = Bundle { path, room, begin: before, is_probe, outlooks: &outlooks };
        let is_empty = !self.urgent_ahead || self.write_express(context, &bundle, writer);
        let done = is_empty
            && is_released
            && self.write_retransmissions(context, &bundle, writer)
            && self.write_copies(context, &bundle, writer);
        if done && (is_probe || self.may_send_on(path)) {
            self.write_new_data(context, &bundle, Turn::Any, writer);
        }
        if is_probe {
            self.end_probe(context, &bundle, writer.len() > before, writer);
        }
        self.outlooks = outlooks;
        // What goes with a COOKIE ECHO is T1-cookie's matter.
        if writer.len() > before && context.phase != Phase::Handshake {
            let target = self.paths.at_mut(path);
            // RFC 9260 section 6.3.2, R1: "Every time a DATA chunk is sent to any address
            // (including a retransmission), if the T3-rtx timer of that address is not running,
            // start it".
            target.t3_rtx.get_or_insert(context.now + target.rtt.rto());
        }
    }

    /// Writes the new messages that go ahead of all else, and copies; false if some did not fit.
    fn write_express(
        &mut self,
        context: &mut Context<'_>,
        bundle: &Bundle<'_>,
        writer: &mut PacketWriter<'_>,
    ) -> bool {
        if !self.may_send_express_on(bundle.path) {
            return true;
        }
        self.write_new_data(context, bundle, Turn::Express, writer);
        self.write_copies(context, bundle, writer)
    }

    /// Writes what waits for retransmission on a path; false if some of it did not fit.
    fn write_retransmissions(
        &mut self,
        context: &mut Context<'_>,
        bundle: &Bundle<'_>,
        writer: &mut PacketWriter<'_>,
    ) -> bool {
        let &Bundle { path, outlooks, .. } = bundle;
        while self.outstanding.has_retransmissions() {
            let mut waiting = self.outstanding.retransmissions();
            let next = waiting.find(|next| {
                self.retransmission_path(context.config, next, outlooks) == Some(path)
            });
            let Some(next) = next else { return true };
            drop(waiting);
            if !bundle.takes(context, next.size, writer.len()) {
                return false;
            }
            self.begin_sending(context, path, next.size);
            // RFC 9260 section 6.1: "If the timer for that address is already running, the sender
            // MUST restart the timer if the earliest (i.e., lowest TSN) outstanding DATA chunk sent
            // to that address is being retransmitted."
            if self.outstanding.is_earliest_on(path, next.sequence) {
                self.paths.at_mut(path).t3_rtx = None;
            }
            self.outstanding.retransmit(context.now, next.sequence, path);
            self.write_chunk(context, bundle, (next.sequence, Occasion::Again), writer);
            self.plan_last_chance(context, path, next.sequence, outlooks);
        }
        true
    }

    fn write_new_data(
        &mut self,
        context: &mut Context<'_>,
        bundle: &Bundle<'_>,
        turn: Turn,
        writer: &mut PacketWriter<'_>,
    ) {
        let &Bundle { path, outlooks, .. } = bundle;
        let whole_packet = self.whole_message_max(context.pmdcs());
        let fragment_min = if bundle.room.leads { FRAGMENT_MIN } else { FRAGMENT_MIN_IN_TRAIN };
        let format = self.outstanding.format();
        self.give_up_unfinished(context);
        loop {
            if self.outstanding.len() >= OUTSTANDING_MAX {
                return;
            }
            let room = bundle.room.size_max.saturating_sub(writer.len() + format.header_len()) & !3;
            if room == 0 {
                return;
            }
            let Some((stream, left)) = self.next_message(context, path, turn, outlooks) else {
                return;
            };
            // A message that fits into one packet is never cut: it would be lost twice as easily.
            let len = if left <= room { left } else { room };
            if len < left && (left <= whole_packet || room < fragment_min) {
                return;
            }
            if !self.window.admits(len) {
                return self.start_window_probe(context);
            }
            self.skip_ordered(context.now, stream);
            let Some(fragment) = self.queue.take(stream, len) else { return };
            self.begin_sending(context, path, format.chunk_size(len));
            let preference = fragment.preference;
            let sequence = self.outstanding.push(context.now, fragment, path);
            self.window.on_sent(sequence, len);
            self.write_chunk(context, bundle, (sequence, Occasion::New), writer);
            self.plan_duplicate(context.config, path, sequence, preference);
        }
    }

    /// The next ordered message of a stream comes behind those that the peer was told to skip.
    pub(super) fn skip_ordered(&mut self, now: Time, stream: StreamId) {
        if let Some(last) = self.outstanding.take_skip(stream)
            && self.queue.skip_ordered(stream, last)
        {
            self.outstanding.insist_on_skip(now, stream, last);
        }
    }

    /// A chunk of data goes out on a path; the time that it was idle counts for its window.
    pub(super) fn begin_sending(&mut self, context: &Context<'_>, path: PathSlot, size: usize) {
        let sent = self.outstanding.sent_data(context.now, path, size);
        let packet = context.pmdcs();
        let target = self.paths.at_mut(path);
        target.account_idle_time(context.now, sent.flight);
        target.on_data_sent(&sent, packet);
    }

    /// Nothing goes out now: where the window would take more than there is, the application is the
    /// limit. A path that could take what waits, and does not because that shall go over another
    /// one, says as little about how fast it is.
    pub(crate) fn note_app_limits(&mut self, now: Time) {
        let waits = self.waits();
        if !waits {
            self.rate.note_pause();
        }
        for path in self.paths.ids() {
            let has_room = self.may_send_on(path);
            let pacer = &mut self.paths.at_mut(path).pacer;
            let is_held_back = waits && !pacer.is_open(now);
            pacer.set_holds_data(has_room && is_held_back);
            if has_room && !is_held_back && !self.outstanding.has_copies(path) {
                self.outstanding.mark_app_limited(path);
            }
        }
    }

    /// When the next path that holds data back for its pace lets it out.
    pub(super) fn pacing_timer(&self) -> Option<Time> {
        if !self.waits() && !self.outstanding.has_any_copies() {
            return None;
        }
        let holding = self.paths.iter().filter(|path| self.may_send_on(path.slot));
        holding.filter_map(|path| path.pacer.opens_at()).min()
    }

    pub(super) fn write_chunk(
        &mut self,
        context: &mut Context<'_>,
        bundle: &Bundle<'_>,
        (sequence, occasion): (u64, Occasion),
        writer: &mut PacketWriter<'_>,
    ) {
        let path = bundle.path;
        let immediate = self.wants_sack_at_once(context, bundle);
        let before = writer.len();
        let Some((stream, len)) = self.outstanding.write(sequence, immediate, writer) else {
            return;
        };
        debug_assert_eq!(writer.len() - before, self.outstanding.format().chunk_size(len));
        let counters = &mut self.paths.at_mut(path).stats;
        counters.chunks_sent += 1;
        counters.chunks_retransmitted += u64::from(occasion == Occasion::Again);
        counters.chunks_copied += u64::from(occasion == Occasion::Copy);
        self.queue.count_sent(stream, len, occasion);
        let tsn = tsn(sequence).0;
        let retransmission = occasion != Occasion::New;
        let path = self.paths.at(path).id;
        context
            .journal
            .trace(context.now, TraceKind::DataSent { path, tsn, stream, len, retransmission });
    }

    /// Whether the I bit asks for a SACK without delay. RFC 9260 section 6.1 names as reasons that
    /// "The sender is in the SHUTDOWN-PENDING state." and that "The sending of a DATA chunk fills
    /// the congestion or receiver window." The latter is one only where a SACK would else be late
    /// or make the window grow slower: with several packets in flight every second one gets a SACK.
    fn wants_sack_at_once(&self, context: &Context<'_>, bundle: &Bundle<'_>) -> bool {
        let &Bundle { path, is_probe, .. } = bundle;
        let drains = context.phase == Phase::Draining && self.queue.is_empty();
        // A loss probe asks whether the path lives (RFC 8985 section 7.3).
        if drains || is_probe {
            return true;
        }
        let is_alone = self.outstanding.flight(path) <= context.config.packet_size_max();
        let grows = || self.paths.at(path).congestion.metrics().slow_start;
        !self.may_send_on(path) && (is_alone || grows())
    }

    /// RFC 9260 section 6.1, rule D: "the protocol parameter 'Max.Burst' SHOULD be used to limit
    /// the number of packets sent", applied by "if ((flightsize + Max.Burst * PMDCS) < cwnd) cwnd =
    /// flightsize + Max.Burst * PMDCS" after all that happens.
    pub(crate) fn open_burst(&mut self, context: &Context<'_>) {
        let Some(burst) = context.config.window.max_burst else { return };
        let burst = burst as usize * context.pmdcs();
        for path in self.paths.ids() {
            let ceiling = self.outstanding.flight(path).saturating_add(burst);
            self.paths.at_mut(path).burst_ceiling = ceiling;
        }
    }

    /// Whether the congestion window lets a packet with data go out on a path.
    ///
    /// RFC 9260 section 6.1, rule B: "the sender SHOULD exceed cwnd by up to (PMDCS - 1) bytes on a
    /// new data transmission if the flightsize does not currently reach cwnd. The breach of cwnd
    /// MUST constitute one packet only."
    pub(super) fn may_send_on(&self, path: PathSlot) -> bool {
        let target = self.paths.at(path);
        let window = target.congestion.window().min(target.burst_ceiling);
        let kept_free = if self.urgent_ahead { EXPRESS_ROOM.min(window / 4) } else { 0 };
        target.is_confirmed() && self.outstanding.flight(path) + kept_free < window
    }

    /// Whether the congestion window has room for what goes ahead of all else.
    ///
    /// RFC 9260 section 6.1, rule B: "At any given time, the sender MUST NOT transmit new data to a
    /// given transport address if it has cwnd + (PMDCS - 1) or more bytes of data outstanding to
    /// that transport address."
    fn may_send_express_on(&self, path: PathSlot) -> bool {
        let target = self.paths.at(path);
        let limit = target.congestion.window().saturating_add(EXPRESS_ROOM);
        target.is_confirmed() && self.outstanding.flight(path) < limit
    }

    /// New data waits for the peer's window, and nothing is in flight that would bring a SACK: the
    /// window is probed after an RTO (RFC 9260 section 6.1, rule A).
    fn start_window_probe(&mut self, context: &Context<'_>) {
        if self.outstanding.bytes_in_flight() > 0 {
            return;
        }
        let current = self.paths.current();
        let target = self.paths.at_mut(current);
        target.t3_rtx.get_or_insert(context.now + target.rtt.rto());
    }
}

/// What each stream takes of it.
const fn entry_len(format: DataFormat) -> usize {
    match format {
        DataFormat::Data => 4,
        DataFormat::IData => 8,
    }
}
