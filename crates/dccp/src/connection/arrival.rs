//! What arrives: RFC 4340 section 8.5, from step 4 on.

use std::time::Duration;

use anabranch_sansio::Time;

use super::transmit::Reply;
use super::{Connection, Role, State};
use crate::event::{CloseReason, Event};
use crate::feature::{Feature, Owner};
use crate::receive::{History, Replay};
use crate::seq::Seq;
use crate::tfrc::Arrival;
use crate::wire::{DropCode, Kind, Packet, PacketType, ResetCode, SequenceNumber};

/// RFC 4340 section 7.5.4: "such as not more than eight DCCP-Syncs per second."
const SYNCS_PER_SECOND: usize = 8;

/// RFC 4340 section 7.5.3: "a connection is considered active if it has received valid packets from
/// the other endpoint within the last three round-trip times."
const ACTIVE_ROUND_TRIPS: u32 = 3;

/// What became of a packet's data.
enum Fate {
    Delivered,
    /// There were none.
    None,
    Dropped(DropCode),
}

impl Connection {
    /// Takes a packet of this flow. `is_marked`: a router marked it as congested.
    pub(crate) fn on_packet(&mut self, now: Time, packet: &Packet<'_>, is_marked: bool) {
        let ty = packet.kind.packet_type();
        if matches!(self.state, State::Request(_)) && !self.begin(now, packet) {
            return self.refuse_in_request(now, packet);
        }
        // Step 6: "Packet has short seqnos, but short seqnos not allowed".
        if packet.is_short && !self.features.is_on(Owner::Remote, Feature::AllowShortSeqnos) {
            self.count_invalid(now, packet);
            return;
        }
        let seq = self.numbers.place(packet);
        let acknowledgement = self.numbers.acknowledged_place(packet);
        // Only of a Sync it is asked.
        let is_sync = matches!(ty, PacketType::Sync | PacketType::SyncAck);
        let (windows, is_active) = (self.windows(), is_sync && self.is_active(now));
        if !self.numbers.are_valid(windows, is_active, ty, seq, acknowledgement) {
            return self.on_invalid(now, packet, ty);
        }
        if self.is_unexpected(ty, seq) {
            self.count_invalid(now, packet);
            return self.sync(now, packet.sequence_number);
        }
        // What is repeated by the network has had its effect, and its data went to the application.
        if !self.replay.get_or_insert_with(|| Replay::new(seq - 1)).on_packet(seq) {
            self.stats.duplicates += 1;
            return;
        }
        self.stats.packets_received += 1;
        self.trace.on_received(now, packet);
        if self.numbers.peer.is_none_or(|peer| seq >= peer.greatest) {
            self.newest_at = now;
        }
        self.numbers.on_valid(now, seq, acknowledgement, ty == PacketType::Sync);
        self.hear(packet);
        if let Kind::Reset { code, .. } = packet.kind {
            return self.on_reset(now, code);
        }
        self.note(seq, is_marked);
        if !self.take_options(now, packet, seq, acknowledgement) {
            return;
        }
        self.advance(now, packet, seq);
        if self.is_closed() {
            return;
        }
        self.take_data(now, packet, seq, is_marked);
    }

    /// Step 4. False: the packet has no business in REQUEST.
    fn begin(&mut self, now: Time, packet: &Packet<'_>) -> bool {
        // RFC 4340 section 5.3: "MUST equal the Service Code on the corresponding DCCP-Request."
        let is_reset = packet.kind.packet_type() == PacketType::Reset;
        let is_response = matches!(packet.kind, Kind::Response { service_code, .. }
            if service_code == self.service_code);
        let is_ours = is_response || is_reset;
        let windows = self.windows();
        let answers = self
            .numbers
            .acknowledged_place(packet)
            .is_some_and(|ack| self.numbers.acknowledges_sent(windows, ack));
        if is_ours && answers {
            // "Set S.GSR, S.ISR, S.SWL, S.SWH", so that a Reset passes, too.
            let first = Seq::first(packet.sequence_number);
            self.numbers.begin(now, if is_reset { first - 1 } else { first });
        }
        is_ours && answers
    }

    fn is_active(&self, now: Time) -> bool {
        let span = self.rtt() * ACTIVE_ROUND_TRIPS;
        self.numbers.peer.is_some_and(|peer| now - peer.heard_at <= span)
    }

    /// RFC 4340 section 7.5.4.
    fn on_invalid(&mut self, now: Time, packet: &Packet<'_>, ty: PacketType) {
        self.count_invalid(now, packet);
        match ty {
            // "Any sequence-invalid DCCP-Sync or DCCP-SyncAck packet MUST be ignored."
            PacketType::Sync | PacketType::SyncAck => {}
            // "A sequence-invalid DCCP-Reset packet MUST elicit a DCCP-Sync packet in response
            // [...]. The response packet's Acknowledgement Number MUST equal GSR."
            PacketType::Reset => self.sync(now, self.numbers.greatest_received()),
            // "except that the response packet's Acknowledgement Number MUST equal the
            // sequence-invalid packet's Sequence Number."
            PacketType::Request
            | PacketType::Response
            | PacketType::Data
            | PacketType::Ack
            | PacketType::DataAck
            | PacketType::CloseReq
            | PacketType::Close => {
                let number = self.numbers.place(packet).number();
                self.sync(now, number);
            }
        }
    }

    pub(super) fn count_invalid(&mut self, now: Time, packet: &Packet<'_>) {
        self.stats.packets_invalid += 1;
        self.trace.on_invalid(now, packet);
    }

    fn sync(&mut self, now: Time, acknowledgement: SequenceNumber) {
        self.syncs.retain(|at| now - *at < Duration::from_secs(1));
        if self.syncs.len() < SYNCS_PER_SECOND {
            self.syncs.push_back(now);
            self.stats.syncs_sent += 1;
            self.reply(Reply::Sync { acknowledgement });
        }
    }

    /// Step 7.
    fn is_unexpected(&self, ty: PacketType, seq: Seq) -> bool {
        let is_server = self.role == Role::Server;
        let first_open = self.numbers.peer.and_then(|peer| peer.first_open);
        let is_open = first_open.is_some_and(|first_open| seq >= first_open);
        match ty {
            PacketType::CloseReq => is_server,
            PacketType::Response => is_server || is_open,
            PacketType::Request => !is_server || is_open,
            PacketType::Data => matches!(self.state, State::Respond { .. }),
            PacketType::Ack
            | PacketType::DataAck
            | PacketType::Close
            | PacketType::Reset
            | PacketType::Sync
            | PacketType::SyncAck => false,
        }
    }

    /// Step 8: "Mark packet as acknowledgeable".
    fn note(&mut self, seq: Seq, is_marked: bool) {
        if self.sends_ack_vectors() {
            match &mut self.history {
                Some(history) => {
                    history.on_packet(seq, is_marked);
                }
                None => self.history = Some(History::new(seq, is_marked)),
            }
        } else {
            self.history = None;
        }
    }

    /// Step 9.
    fn on_reset(&mut self, now: Time, code: ResetCode) {
        // Of a connection that was refused nothing is left that late packets could disturb. A
        // client that forgot this one and asks for another must find the port free: RFC 4340
        // section 7.5.6 shows it "REQUEST --> DCCP-Reset(seq 401, ack 11)", and the server then
        // CLOSED.
        let waits = self.is_past_request() && code != ResetCode::PACKET_ERROR;
        let reason = match code {
            ResetCode::CLOSED => CloseReason::Finished,
            code => CloseReason::Reset(code),
        };
        self.replies.clear();
        self.end(now, reason, waits);
    }

    /// Steps 10 to 15.
    fn advance(&mut self, now: Time, packet: &Packet<'_>, seq: Seq) {
        let ty = packet.kind.packet_type();
        match &mut self.state {
            State::Request(_) => self.enter_part_open(now, packet),
            State::Respond { must_send, .. } => {
                if ty == PacketType::Request {
                    *must_send = true;
                } else if ty != PacketType::Sync {
                    // A Sync does not say whether our Response arrived.
                    self.open(now, packet, seq);
                }
            }
            State::PartOpen(part_open) => {
                if ty == PacketType::Response {
                    part_open.must_send = true;
                } else if ty != PacketType::Sync {
                    self.open(now, packet, seq);
                }
            }
            State::Open => self.owes_acknowledgement |= self.is_waited_for(ty),
            State::CloseReq(_) | State::Closing(_) | State::TimeWait { .. } | State::Closed => {}
        }
        match ty {
            PacketType::CloseReq => self.on_close_req(now),
            // "Generate Reset(Closed). Tear down connection".
            PacketType::Close => {
                self.reset(now, ResetCode::CLOSED, [0; 3], CloseReason::Finished);
            }
            // RFC 4340 section 7.5.4: "The DCCP-SyncAck packet's Acknowledgement Number will equal
            // the DCCP-Sync's Sequence Number, which is not necessarily GSR."
            PacketType::Sync => self.reply(Reply::SyncAck { acknowledgement: seq.number() }),
            PacketType::Request
            | PacketType::Response
            | PacketType::Data
            | PacketType::Ack
            | PacketType::DataAck
            | PacketType::Reset
            | PacketType::SyncAck => {}
        }
    }

    fn open(&mut self, now: Time, packet: &Packet<'_>, seq: Seq) {
        if matches!(self.state, State::Respond { .. }) {
            let is_last =
                packet.kind.acknowledgement_number() == Some(self.numbers.greatest_sent.number());
            if is_last && let Some((_, sent_at)) = self.response_sent {
                self.on_handshake_rtt(now, now - sent_at);
            }
            self.owes_acknowledgement = true;
            self.events.push_back(Event::Connected);
        }
        if let Some(peer) = &mut self.numbers.peer {
            peer.first_open = Some(seq);
        }
        self.state = State::Open;
    }

    /// Whether a client asks once more for what takes it out of PARTOPEN: our acknowledgement was
    /// lost.
    ///
    /// RFC 4340 section 8.1.5: "The client leaves the PARTOPEN state for OPEN when it receives a
    /// valid packet other than DCCP-Response, DCCP-Reset, or DCCP-Sync from the server." Until then
    /// it acknowledges nothing later than the Response.
    fn is_waited_for(&self, ty: PacketType) -> bool {
        let heard = self.numbers.greatest_acknowledged;
        ty == PacketType::Ack && self.response_sent.is_some_and(|(number, _)| heard <= number)
    }

    /// Step 16, and what the congestion controls learn.
    fn take_data(&mut self, now: Time, packet: &Packet<'_>, seq: Seq, is_marked: bool) {
        let ty = packet.kind.packet_type();
        let fate = self.deliver(packet, ty);
        let mut is_corrupt = false;
        match fate {
            Fate::Delivered => {
                self.stats.datagrams_received += 1;
                self.stats.bytes_received += packet.data.len() as u64;
                // One event for all that has come since the last one was taken.
                if !self.events.contains(&Event::Readable) {
                    self.events.push_back(Event::Readable);
                }
            }
            Fate::None => {}
            Fate::Dropped(code) => {
                self.stats.datagrams_dropped += 1;
                is_corrupt = code == DropCode::CORRUPT;
                if let Some(history) = &mut self.history {
                    history.on_dropped(seq, code);
                }
            }
        }
        let arrival = Arrival {
            seq,
            is_data: ty.is_data(),
            counter: packet.ccval,
            // RFC 4340 section 11.7.2: Corrupt "MUST cause the relevant CCID to behave as if the
            // relevant packets were ECN marked". Loss Intervals can say it only so.
            is_marked: is_marked || is_corrupt,
            non_data_before: self.non_data_before(packet),
        };
        // The handshake's packets are under no congestion control.
        if matches!(ty, PacketType::Request | PacketType::Response) {
            return;
        }
        self.receiver.on_arrival(now, &arrival, packet.data.len());
        self.sender.on_arrival(&arrival);
    }

    fn deliver(&mut self, packet: &Packet<'_>, ty: PacketType) -> Fate {
        // RFC 4340 section 5.4: of a Request or a Response "an empty application data area
        // indicates the absence of application data".
        let is_handshake = matches!(ty, PacketType::Request | PacketType::Response);
        let is_data = ty.is_data() && !(is_handshake && packet.data.is_empty());
        if !self.has_intact_data(packet) {
            return Fate::Dropped(DropCode::CORRUPT);
        }
        if !is_data {
            return Fate::None;
        }
        // Data on a Request or a Response are nothing that an application here asks for.
        let is_allowed = !is_handshake && self.accepts_coverage(packet.checksum_coverage);
        if !is_allowed {
            Fate::Dropped(DropCode::PROTOCOL_CONSTRAINTS)
        } else if !self.incoming.is_open() {
            Fate::Dropped(DropCode::APPLICATION_NOT_LISTENING)
        } else {
            self.hand_on(packet)
        }
    }

    fn hand_on(&mut self, packet: &Packet<'_>) -> Fate {
        let is_taken = match self.subflow() {
            None => Some(self.incoming.push(packet.data)),
            Some(_) => self.take_numbered(packet),
        };
        match is_taken {
            Some(true) => Fate::Delivered,
            Some(false) => Fate::Dropped(DropCode::RECEIVE_BUFFER),
            None => Fate::Dropped(DropCode::PROTOCOL_CONSTRAINTS),
        }
    }

    /// RFC 4340 section 9.2.1: "If MinCsCov = 0, then DCCP B only finds packets with CsCov = 0
    /// acceptable. If MinCsCov > 0, then DCCP B additionally finds packets with CsCov >= MinCsCov
    /// acceptable."
    fn accepts_coverage(&self, coverage: u8) -> bool {
        let least = self.features.value(Owner::Local, Feature::MinimumChecksumCoverage);
        coverage == 0 || least > 0 && u64::from(coverage) >= least
    }
}
