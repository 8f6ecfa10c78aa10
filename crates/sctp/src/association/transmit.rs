//! Writing packets: control chunks first, then SACK, FORWARD TSN and data (RFC 9260 section 6.10).

use anabranch_sansio::{Time, Transmit};
use anabranch_wire::{
    ChecksumField, CommonHeader, ForwardTsn, IForwardTsn, Items, PacketWriter, Sack, SkippedStream,
    VerificationTag,
};

use super::control::Bundling;
use super::{Association, State};
use crate::format::{DataFormat, ssn_of};
use crate::path::{Outlook, PathSlot};
use crate::receive::SackTiming;
use crate::sequence::tsn;
use crate::trace::TraceKind;

/// The shortest fragment that fills up a packet: less is not worth a chunk header.
const FRAGMENT_MIN: usize = 128;

/// The largest UDP payload, which segmentation offload may not exceed in one call.
const TRANSMIT_MAX: usize = 65_507;

/// A SACK in a packet that may not go out.
#[derive(Debug, Clone, Copy)]
struct WrittenSack {
    /// The a_rwnd that it tells.
    window: usize,
    /// Whether it goes out even alone.
    is_due: bool,
}

/// Why a chunk goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// For the first time.
    New,
    /// Because it was lost, or as a probe.
    Again,
    /// A second time beside the other.
    Copy,
}

/// Chunks that may be outstanding at once. A SACK cannot report more, and within them no SSN comes
/// twice (RFC 9260 section 6.1: "For each stream, the data sender MUST NOT have more than 2^16 - 1
/// ordered user messages in the current send window.").
const OUTSTANDING_MAX: usize = 0xffff;

impl Association {
    /// Writes a packet, and as many more for the same path as fit behind it with the same length.
    pub(super) fn write_packets(
        &mut self,
        now: Time,
        segments_max: usize,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        // RFC 3758 section 4.1, TR4: "Before transmitting or retransmitting a message for which a
        // TSN is already assigned, the SCTP sender MUST evaluate the lifetime of the message."
        self.expire_messages(now);
        self.settle_abandoned(now);
        self.drop_unaffordable();
        let start = buf.len();
        let size_max = self.config.packet_size_max();
        let path = self.write_packet(now, None, size_max, buf)?;
        let segment = buf.len() - start;
        let mut count = 1;
        // Behind a short packet only short ones could follow: there is nothing more to send, or
        // what there is belongs into packets of full size.
        let is_full = segment > size_max - size_max / 4;
        while is_full && count < segments_max && buf.len() + segment - start <= TRANSMIT_MAX {
            let before = buf.len();
            if self.write_packet(now, Some(path), segment, buf).is_none() {
                break;
            }
            count += 1;
            if buf.len() - before < segment {
                break;
            }
        }
        // Once for all of them: each packet with data would move the timer.
        if self.paths.at(path).last_data_sent == Some(now) && !self.is_handshaking() {
            self.settle_loss_timer(path);
        }
        Some(Transmit {
            path: self.paths.at(path).tuple,
            ecn: None,
            segment_size: (count > 1).then_some(segment),
        })
    }

    /// Writes one packet of at most `size_max` bytes, for the path `only` if one is named.
    fn write_packet(
        &mut self,
        now: Time,
        only: Option<PathSlot>,
        size_max: usize,
        buf: &mut Vec<u8>,
    ) -> Option<PathSlot> {
        if let Some(path) = self.path_with_control(now) {
            if only.is_some_and(|only| only != path) {
                return None;
            }
            return self.fill_packet(now, path, size_max, buf).then_some(path);
        }
        if !self.state.may_send_data() {
            return None;
        }
        if let Some(path) = only {
            return self.fill_packet(now, path, size_max, buf).then_some(path);
        }
        let current = self.paths.current();
        let others = self.paths.ids().filter(|path| *path != current);
        std::iter::once(current).chain(others).find(|path| {
            self.may_carry_data(now, *path) && self.fill_packet(now, *path, size_max, buf)
        })
    }

    /// The path that something other than data must go out on.
    fn path_with_control(&self, now: Time) -> Option<PathSlot> {
        if let Some(chunk) = self.control.front() {
            return Some(chunk.path);
        }
        if self.is_closed() {
            return None;
        }
        if self.sack_timing() == SackTiming::Immediate {
            return Some(self.sack_path);
        }
        self.forward_tsn_is_due(now).then(|| self.paths.current())
    }

    fn sack_timing(&self) -> SackTiming {
        // RFC 9260 section 6: data is acknowledged in the states that take it, and what was
        // received before in those that follow.
        let may_sack = !matches!(
            self.state,
            State::CookieWait(_)
                | State::CookieEchoed(_)
                | State::ShutdownAckSent(_)
                | State::Closed
        );
        let timing = self.receiver.as_ref().map(|receiver| receiver.tracker.timing());
        timing.filter(|_| may_sack).unwrap_or(SackTiming::None)
    }

    /// Whether data may go out on a path now, as far as the path is concerned.
    fn may_carry_data(&self, now: Time, path: PathSlot) -> bool {
        let is_released = self.paths.at(path).pacer.is_open(now) && self.may_send_on(path);
        let urgent = [self.window.fast_retransmit, self.window.loss_probe];
        is_released || urgent.contains(&Some(path))
    }

    /// Writes what there is for a path; false, and nothing written, if there is nothing.
    fn fill_packet(
        &mut self,
        now: Time,
        path: PathSlot,
        size_max: usize,
        buf: &mut Vec<u8>,
    ) -> bool {
        let size_max = size_max.min(self.allowance(path));
        let start = buf.len();
        let alone = self.control.front().and_then(|chunk| match chunk.bundling {
            Bundling::Alone(tag) => Some(tag),
            Bundling::Bundled | Bundling::WithData => None,
        });
        let echoes = self.control.front().is_some_and(|c| c.bundling == Bundling::WithData);
        let lacks_proof = self.lacks_proof_behind_echo(self.outstanding.format().chunk_type());
        let mut writer = PacketWriter::new(buf, self.header(alone));
        let signature = self.begin_signature(path, &mut writer);
        let unsigned = writer.chunks();
        let mut sack = None;
        if alone.is_some() {
            if let Some(chunk) = self.control.pop() {
                writer.push(&chunk);
            }
        } else {
            self.write_control(path, size_max, &mut writer);
            sack = self.write_sack(path, size_max, &mut writer);
            self.write_forward_tsn(now, path, size_max, &mut writer);
            if (echoes && !lacks_proof) || self.state.may_send_data() {
                self.write_data(now, path, size_max, &mut writer);
            }
        }
        // A SACK whose delay is not over goes with other chunks only.
        let content = writer.chunks() - unsigned;
        let waits = sack.is_some_and(|sack| !sack.is_due) && content == 1;
        if content == 0 || waits {
            buf.truncate(start);
            return false;
        }
        self.finish_signature(signature, &mut writer);
        let checksum = self.checksum_field(alone.is_some() || echoes);
        writer.finish(checksum);
        if let Some(sack) = sack {
            self.on_sack_sent(now, sack);
        }
        self.count_packet(now, path, buf.len() - start);
        true
    }

    /// RFC 9653 section 5.2: "When an end point sends a packet containing a COOKIE ECHO chunk, it
    /// MUST include a correct CRC32c checksum in the packet containing the COOKIE ECHO chunk." The
    /// same holds for INIT, and for what a peer gets that may know nothing of the association.
    const fn checksum_field(&self, is_first_contact: bool) -> ChecksumField {
        if self.outstanding.omits_checksums() && !is_first_contact {
            ChecksumField::Zero
        } else {
            ChecksumField::Fill
        }
    }

    const fn header(&self, tag: Option<VerificationTag>) -> CommonHeader {
        CommonHeader {
            source_port: self.identity.local_port,
            destination_port: self.identity.peer_port,
            verification_tag: match tag {
                Some(tag) => tag,
                None => self.identity.peer_tag,
            },
        }
    }

    fn count_packet(&mut self, now: Time, path: PathSlot, len: usize) {
        let counters = &mut self.paths.at_mut(path).stats;
        counters.packets_sent += 1;
        counters.bytes_sent += len as u64;
        let path = self.paths.at(path).id;
        self.trace(now, TraceKind::PacketSent { path, len });
    }

    fn write_control(&mut self, path: PathSlot, size_max: usize, writer: &mut PacketWriter<'_>) {
        let unsigned = writer.chunks();
        while let Some(chunk) = self.control.front() {
            let size = anabranch_wire::EncodeChunk::encoded_len(chunk);
            // A chunk that fits no packet still goes out, alone, for IP to fragment.
            let fits = writer.chunks() == unsigned || writer.len() + size <= size_max;
            let is_alone = matches!(chunk.bundling, Bundling::Alone(_));
            if chunk.path != path || is_alone || !fits {
                break;
            }
            writer.push(chunk);
            self.control.pop();
        }
    }

    /// RFC 9260 section 6.1: "Before an endpoint transmits a DATA chunk, if any received DATA
    /// chunks have not been acknowledged (e.g., due to delayed ack), the sender SHOULD create a
    /// SACK chunk and bundle it with the outbound DATA chunk".
    fn write_sack(
        &mut self,
        path: PathSlot,
        size_max: usize,
        writer: &mut PacketWriter<'_>,
    ) -> Option<WrittenSack> {
        let timing = self.sack_timing();
        if timing == SackTiming::None || path != self.sack_path {
            return None;
        }
        let room = size_max.saturating_sub(writer.len() + SACK_FIXED) / 4;
        let receiver = self.receiver.as_mut().filter(|_| room > 0)?;
        let tracker = &mut receiver.tracker;
        tracker.gap_ack_blocks(room, &mut self.gap_blocks);
        let duplicates = tracker.duplicates();
        let shown = duplicates.len().min(room - self.gap_blocks.len());
        let window = receiver.window();
        writer.push(&Sack {
            cumulative_tsn_ack: receiver.tracker.cumulative_tsn(),
            a_rwnd: u32::try_from(window).unwrap_or(u32::MAX),
            gap_ack_blocks: Items::from_slice(&self.gap_blocks),
            duplicate_tsns: Items::from_slice(&receiver.tracker.duplicates()[..shown]),
            data_packets: receiver.tracker.data_packets(),
        });
        Some(WrittenSack { window, is_due: timing == SackTiming::Immediate })
    }

    fn on_sack_sent(&mut self, now: Time, sack: WrittenSack) {
        let Some(receiver) = self.receiver.as_mut() else { return };
        receiver.note_advertised(sack.window);
        receiver.tracker.on_sack_sent(now);
        self.sack_timer = None;
        self.stats.sacks_sent += 1;
    }

    fn write_forward_tsn(
        &mut self,
        now: Time,
        path: PathSlot,
        size_max: usize,
        writer: &mut PacketWriter<'_>,
    ) {
        let format = self.outstanding.format();
        let room = size_max.saturating_sub(writer.len() + FORWARD_TSN_FIXED) / entry_len(format);
        if !self.forward_tsn_is_due(now) || path != self.paths.current() || room == 0 {
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
        self.window.forwarded = Some((point, now));
        self.stats.forward_tsns_sent += 1;
        // RFC 3758 section 3.5, C5: "If a FORWARD TSN is sent, the sender MUST assure that at least
        // one T3-rtx timer is running."
        let target = self.paths.at_mut(path);
        target.t3_rtx.get_or_insert(now + target.rtt.rto());
    }

    fn write_data(
        &mut self,
        now: Time,
        path: PathSlot,
        size_max: usize,
        writer: &mut PacketWriter<'_>,
    ) {
        if !self.may_carry_data(now, path) {
            return;
        }
        let before = writer.len();
        // RFC 9260 section 6.1, rule C: "before sending new DATA chunks, the sender MUST first
        // transmit any DATA chunks that are marked for retransmission (limited by the current
        // cwnd)."
        let outlooks = self.take_outlooks(now);
        let done = self.write_retransmissions(now, path, &outlooks, size_max, writer)
            && self.write_copies(now, path, size_max, writer);
        let probes = self.window.loss_probe == Some(path);
        if done && (probes || self.may_send_on(path)) {
            self.write_new_data(now, path, &outlooks, size_max, writer);
        }
        self.outlooks = outlooks;
        if probes {
            self.end_probe(now, path, writer.len() > before, size_max, writer);
        }
        if self.window.fast_retransmit == Some(path) {
            self.window.fast_retransmit = None;
        }
        // What goes with a COOKIE ECHO is T1-cookie's matter.
        if writer.len() > before && !self.is_handshaking() {
            let target = self.paths.at_mut(path);
            // RFC 9260 section 6.3.2, R1: "Every time a DATA chunk is sent to any address
            // (including a retransmission), if the T3-rtx timer of that address is not running,
            // start it".
            target.t3_rtx.get_or_insert(now + target.rtt.rto());
        }
    }

    /// Writes what waits for retransmission on a path; false if some of it did not fit.
    fn write_retransmissions(
        &mut self,
        now: Time,
        path: PathSlot,
        outlooks: &[Outlook],
        size_max: usize,
        writer: &mut PacketWriter<'_>,
    ) -> bool {
        while self.outstanding.has_retransmissions() {
            let mut waiting = self.outstanding.retransmissions();
            let next = waiting.find(|next| self.retransmission_path(next, outlooks) == Some(path));
            let Some(next) = next else { return true };
            drop(waiting);
            if writer.len() + next.size > size_max {
                return false;
            }
            self.begin_sending(now, path, next.size);
            // RFC 9260 section 6.1: "If the timer for that address is already running, the sender
            // MUST restart the timer if the earliest (i.e., lowest TSN) outstanding DATA chunk sent
            // to that address is being retransmitted."
            if self.outstanding.is_earliest_on(path, next.sequence) {
                self.paths.at_mut(path).t3_rtx = None;
            }
            self.outstanding.retransmit(now, next.sequence, path);
            self.write_chunk(now, path, (next.sequence, Occasion::Again), writer);
            self.plan_last_chance(now, path, next.sequence, outlooks);
        }
        true
    }

    fn write_new_data(
        &mut self,
        now: Time,
        path: PathSlot,
        outlooks: &[Outlook],
        size_max: usize,
        writer: &mut PacketWriter<'_>,
    ) {
        let whole_packet = self.whole_message_max();
        let format = self.outstanding.format();
        loop {
            self.give_up_unfinished(now);
            if self.outstanding.len() >= OUTSTANDING_MAX {
                return;
            }
            let room = size_max.saturating_sub(writer.len() + format.header_len()) & !3;
            if room == 0 {
                return;
            }
            let Some((stream, left)) = self.next_message(now, path, outlooks) else { return };
            // A message that fits into one packet is never cut: it would be lost twice as easily.
            let len = if left <= room { left } else { room };
            if len < left && (left <= whole_packet || room < FRAGMENT_MIN) {
                return;
            }
            if !self.window.admits(len) {
                return self.start_window_probe(now);
            }
            let Some(fragment) = self.queue.take(stream, len) else { return };
            self.begin_sending(now, path, format.chunk_size(len));
            let preference = fragment.preference;
            let sequence = self.outstanding.push(now, fragment, path);
            self.window.on_sent(sequence, len);
            self.write_chunk(now, path, (sequence, Occasion::New), writer);
            self.plan_duplicate(path, sequence, preference);
        }
    }

    /// A chunk of data goes out on a path; the time that it was idle counts for its window.
    pub(super) fn begin_sending(&mut self, now: Time, path: PathSlot, size: usize) {
        let sent = self.outstanding.sent_data(now, path, size);
        let packet = self.pmdcs();
        let target = self.paths.at_mut(path);
        target.account_idle_time(now, sent.flight);
        target.on_data_sent(&sent, packet);
    }

    /// Nothing goes out now: where the window would take more than there is, the application is the
    /// limit. A path that could take what waits, and does not because that shall go over another
    /// one, says as little about how fast it is.
    pub(super) fn note_app_limits(&mut self, now: Time) {
        let waits = !self.queue.is_empty() || self.outstanding.has_retransmissions();
        if !waits {
            self.rate.note_pause();
        }
        for path in self.paths.ids() {
            let is_held_back = waits && !self.paths.at(path).pacer.is_open(now);
            if self.may_send_on(path) && !is_held_back && !self.outstanding.has_copies(path) {
                self.outstanding.mark_app_limited(path);
            }
        }
    }

    /// When the next path that holds data back for its pace lets it out.
    pub(super) fn pacing_timer(&self) -> Option<Time> {
        let waits = !self.queue.is_empty() || self.outstanding.has_retransmissions();
        let any_waits = waits || self.paths.ids().any(|path| self.outstanding.has_copies(path));
        if !any_waits || !self.state.may_send_data() {
            return None;
        }
        let holding = self.paths.iter().filter(|path| self.may_send_on(path.slot));
        holding.filter_map(|path| path.pacer.opens_at()).min()
    }

    /// The rest of messages whose lifetimes ended in the middle of sending them.
    pub(super) fn give_up_unfinished(&mut self, now: Time) {
        while self.outstanding.is_partially_reliable()
            && let Some(stream) = self.queue.expired_in_the_middle(now)
            && let Some(rest) = self.queue.take_rest(stream)
        {
            self.outstanding.push_abandoned(now, rest);
            self.settle_abandoned(now);
        }
    }

    pub(super) fn write_chunk(
        &mut self,
        now: Time,
        path: PathSlot,
        (sequence, occasion): (u64, Occasion),
        writer: &mut PacketWriter<'_>,
    ) {
        let immediate = self.wants_sack_at_once(path);
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
        self.trace(now, TraceKind::DataSent { path, tsn, stream, len, retransmission });
    }
}

impl Association {
    /// Whether the I bit asks for a SACK without delay. RFC 9260 section 6.1 names as reasons that
    /// "The sender is in the SHUTDOWN-PENDING state." and that "The sending of a DATA chunk fills
    /// the congestion or receiver window." The latter is one only where a SACK would else be late
    /// or make the window grow slower: with several packets in flight every second one gets a SACK.
    fn wants_sack_at_once(&self, path: PathSlot) -> bool {
        let drains = matches!(self.state, State::ShutdownPending) && self.queue.is_empty();
        // A loss probe asks whether the path lives (RFC 8985 section 7.3).
        if drains || self.window.loss_probe == Some(path) {
            return true;
        }
        let is_alone = self.outstanding.flight(path) <= self.config.packet_size_max();
        let grows = self.paths.at(path).congestion.metrics().slow_start;
        !self.may_send_on(path) && (is_alone || grows)
    }
}

/// A SACK without gap blocks and duplicates.
const SACK_FIXED: usize = 16;

/// A FORWARD TSN or I-FORWARD-TSN without streams.
const FORWARD_TSN_FIXED: usize = 8;

/// What each stream takes of it.
const fn entry_len(format: DataFormat) -> usize {
    match format {
        DataFormat::Data => 4,
        DataFormat::IData => 8,
    }
}
