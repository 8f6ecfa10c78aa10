//! Writing packets: control chunks first, then SACK, FORWARD TSN and data (RFC 9260 section 6.10).

use anabranch_sansio::{Time, Transmit};
use anabranch_wire::{
    ChecksumField, CommonHeader, EncodeChunk, PacketWriter, Pad, VerificationTag,
};

use super::control::{Bundling, ControlChunk};
use super::{Association, State};
use crate::dtls::{BACK_LEN, RECORD_HEADER_LEN};
use crate::path_name::PathSlot;
use crate::receive::{SackTiming, WrittenSack};
use crate::sender::Room;
use crate::trace::TraceKind;

/// The largest UDP payload, which segmentation offload may not exceed in one call.
const TRANSMIT_MAX: usize = 65_507;

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
        let (sender, context) = &mut self.sending(now);
        sender.expire_messages(context);
        sender.release_copies(context.now);
        sender.settle_abandoned(context);
        self.drop_unaffordable();
        let start = buf.len();
        let size_max = self.config.packet_size_max();
        let room = Room { size_max, leads: true };
        let is_probe = self.control.front().is_some_and(ControlChunk::is_probe);
        let path = self.write_packet(now, None, room, buf)?;
        let segment = buf.len() - start;
        let mut count = 1;
        // Behind a short packet only short ones could follow: there is nothing more to send, or
        // what there is belongs into packets of full size. Behind one that IP has to fragment all
        // would have to be as long.
        let is_full = segment > size_max - size_max / 4 && segment <= size_max;
        let room = Room { size_max: segment, leads: false };
        while is_full && count < segments_max && buf.len() + segment - start <= TRANSMIT_MAX {
            let before = buf.len();
            if self.write_packet(now, Some(path), room, buf).is_none() {
                break;
            }
            count += 1;
            if buf.len() - before < segment {
                break;
            }
        }
        let (sender, context) = &mut self.sending(now);
        sender.end_transmission(context, path);
        Some(Transmit {
            path: self.sender.paths.at(path).tuple,
            ecn: None,
            segment_size: (count > 1).then_some(segment),
            may_fragment: segment > size_max && !is_probe,
        })
    }

    /// Writes one packet, for the path `only` if one is named.
    fn write_packet(
        &mut self,
        now: Time,
        only: Option<PathSlot>,
        room: Room,
        buf: &mut Vec<u8>,
    ) -> Option<PathSlot> {
        if let Some(path) = self.path_with_control(now) {
            if only.is_some_and(|only| only != path) {
                return None;
            }
            return self.fill_packet(now, path, room, buf).then_some(path);
        }
        if !self.state.may_send_data() || !self.sender.has_data_to_send() {
            return None;
        }
        if let Some(path) = only {
            return self.fill_packet(now, path, room, buf).then_some(path);
        }
        let current = self.sender.paths.current();
        let others = self.sender.paths.ids().filter(|path| *path != current);
        std::iter::once(current).chain(others).find(|path| {
            self.sender.may_carry_data(now, *path) && self.fill_packet(now, *path, room, buf)
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
        self.sender.forward_tsn_is_due(now, self.state.phase()).then(|| self.sender.paths.current())
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

    /// Writes what there is for a path; false, and nothing written, if there is nothing.
    fn fill_packet(&mut self, now: Time, path: PathSlot, room: Room, buf: &mut Vec<u8>) -> bool {
        let seals = self.seals();
        let bundling = self.control.front().map(|chunk| chunk.bundling);
        let (alone, padded) = match bundling {
            Some(Bundling::Alone(tag)) => (Some(tag), None),
            Some(Bundling::Padded(len)) => (None, Some(len)),
            Some(Bundling::Bundled | Bundling::WithData) | None => (None, None),
        };
        // Behind others of one size a probe would be as short as they are.
        if padded.is_some() && !room.leads {
            return false;
        }
        let size_max = padded.unwrap_or(room.size_max).min(self.allowance(path));
        let size_max = size_max - if seals { BACK_LEN } else { 0 };
        let room = Room { size_max, ..room };
        let start = buf.len();
        let echoes = bundling == Some(Bundling::WithData);
        let lacks_proof =
            self.lacks_proof_behind_echo(self.sender.extensions().data_format().chunk_type());
        let mut writer = PacketWriter::new(buf, self.header(alone));
        if seals {
            writer.begin_envelope(RECORD_HEADER_LEN);
        }
        let signature = self.begin_signature(path, &mut writer);
        let unsigned = writer.chunks();
        let mut sack = None;
        if alone.is_some() {
            if let Some(chunk) = self.control.pop() {
                writer.push(&chunk);
            }
        } else if padded.is_some() {
            self.write_probe(size_max, &mut writer);
        } else {
            self.write_control(path, size_max, &mut writer);
            let may_send_data = (echoes && !lacks_proof) || self.state.phase().may_send();
            let is_first = writer.chunks() == unsigned;
            sack =
                self.write_sack_and_data(now, path, (room, may_send_data, is_first), &mut writer);
        }
        if writer.chunks() == unsigned {
            buf.truncate(start);
            return false;
        }
        self.finish_signature(signature, &mut writer);
        if seals && !self.seal(&mut writer) {
            buf.truncate(start);
            return false;
        }
        let checksum = self.checksum_field(alone.is_some() || echoes, seals);
        writer.finish(checksum);
        if let Some(sack) = sack {
            self.on_sack_sent(now, sack);
        }
        self.count_packet(now, path, buf.len() - start);
        true
    }

    /// Writes a SACK, if there is one, and data. A SACK that can wait goes with other chunks only;
    /// what fits no packet that begins with it goes without it, instead of waiting, too.
    fn write_sack_and_data(
        &mut self,
        now: Time,
        path: PathSlot,
        (room, may_send_data, is_first): (Room, bool, bool),
        writer: &mut PacketWriter<'_>,
    ) -> Option<WrittenSack> {
        let (len, chunks) = (writer.len(), writer.chunks());
        let sack = self.write_sack(path, room.size_max, writer);
        let urgent = self.sender.urgent();
        self.write_data(now, path, (room, may_send_data), writer);
        let is_alone = is_first && writer.chunks() == chunks + 1;
        if !is_alone || sack.is_none_or(|sack| sack.is_due) {
            return sack;
        }
        writer.rewind(len, chunks);
        self.sender.set_urgent(urgent);
        self.write_data(now, path, (room, may_send_data), writer);
        None
    }

    /// Writes a FORWARD TSN if one is due, and data if it may be sent.
    fn write_data(
        &mut self,
        now: Time,
        path: PathSlot,
        (room, may_send_data): (Room, bool),
        writer: &mut PacketWriter<'_>,
    ) {
        let (sender, context) = &mut self.sending(now);
        sender.write_forward_tsn(context, path, room.size_max, writer);
        if may_send_data {
            sender.write_data(context, path, room, writer);
        }
    }

    fn seal(&mut self, writer: &mut PacketWriter<'_>) -> bool {
        let Some(encrypted) = &mut self.encrypted else { return false };
        let mut is_sealed = false;
        let restart = encrypted.epochs.seals_for_restart();
        writer.seal(restart, |buf, start| is_sealed = encrypted.epochs.seal(buf, start));
        is_sealed
    }

    /// RFC 9653 section 5.2: "When an end point sends a packet containing a COOKIE ECHO chunk, it
    /// MUST include a correct CRC32c checksum in the packet containing the COOKIE ECHO chunk." The
    /// same holds for INIT, and for what a peer gets that may know nothing of the association, as
    /// where a SHUTDOWN ACK is repeated.
    const fn checksum_field(&self, is_first_contact: bool, is_sealed: bool) -> ChecksumField {
        let extensions = self.sender.extensions();
        let is_dispensable =
            extensions.zero_checksum || is_sealed && extensions.zero_checksum_of_sealed;
        let may_be_forgotten = matches!(self.state, State::ShutdownAckSent(_));
        if is_dispensable && !is_first_contact && !may_be_forgotten {
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
        let counters = &mut self.sender.paths.at_mut(path).stats;
        counters.packets_sent += 1;
        counters.bytes_sent += len as u64;
        let path = self.sender.paths.at(path).id;
        self.journal.trace(now, TraceKind::PacketSent { path, len });
    }

    /// Writes the probe that stands first, and pads its packet to `size_max` bytes.
    fn write_probe(&mut self, size_max: usize, writer: &mut PacketWriter<'_>) {
        let Some(chunk) = self.control.pop() else { return };
        writer.push(&chunk);
        let header = EncodeChunk::encoded_len(&Pad { data: &[] });
        let rest = size_max.saturating_sub(writer.len() + header);
        writer.push(&Pad { data: &vec![0; rest] });
    }

    fn write_control(&mut self, path: PathSlot, size_max: usize, writer: &mut PacketWriter<'_>) {
        let unsigned = writer.chunks();
        while let Some(chunk) = self.control.front() {
            let size = EncodeChunk::encoded_len(chunk);
            // A chunk that fits no packet still goes out, alone, for IP to fragment.
            let fits = writer.chunks() == unsigned || writer.len() + size <= size_max;
            let is_alone = matches!(chunk.bundling, Bundling::Alone(_) | Bundling::Padded(_));
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
        if self.sack_timing() == SackTiming::None || path != self.sack_path {
            return None;
        }
        self.receiver.as_mut()?.write_sack(size_max, writer)
    }

    fn on_sack_sent(&mut self, now: Time, sack: WrittenSack) {
        let Some(receiver) = self.receiver.as_mut() else { return };
        receiver.on_sack_sent(now, sack);
        self.journal.stats.sacks_sent += 1;
    }
}
