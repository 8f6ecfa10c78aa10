//! What is sent, and with which options.

use anabranch_sansio::Time;
use bytes::Bytes;

use super::{Connection, State, Subflow};
use crate::ccid::{AckContext, SentPacket};
use crate::feature::{Feature, Owner};
use crate::seq::Seq;
use crate::wire::{
    ElapsedTime, Kind, Options, OptionsBuf, Packet, PacketOption, PacketType, ResetCode,
    SequenceNumber, crc32c,
};

/// RFC 4340 section 7.5.2: "One good guideline is for each endpoint to set Sequence Window to about
/// five times the maximum number of packets it expects to send in a round-trip time."
const WINDOW_FACTOR: u64 = 5;

/// An answer that waits to be sent.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reply {
    Sync {
        acknowledgement: SequenceNumber,
    },
    SyncAck {
        acknowledgement: SequenceNumber,
    },
    Reset {
        acknowledgement: SequenceNumber,
        code: ResetCode,
        details: [u8; 3],
    },
    /// A Reset whose number is not one of ours, because we do not know which ones are.
    Foreign {
        sequence_number: SequenceNumber,
        acknowledgement: SequenceNumber,
        code: ResetCode,
        details: [u8; 3],
    },
}

/// Which options belong to an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Acknowledges {
    /// None: the number says enough.
    Number,
    /// All that the receiving CCID has.
    All,
}

impl Connection {
    /// Appends the next packet to `out`. False: there is none.
    pub(crate) fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        if let Some(reply) = self.replies.pop_front() {
            self.send_reply(now, reply, out);
            return true;
        }
        self.finish(now);
        self.propose(now);
        let acknowledgement_number = self.numbers.greatest_received();
        match &mut self.state {
            State::TimeWait { .. } | State::Closed => false,
            State::Request(request) => {
                if !request.must_send {
                    return false;
                }
                request.on_sent(now);
                let kind = Kind::Request { service_code: self.service_code };
                self.send_control(now, kind, out);
                true
            }
            State::Respond { must_send, .. } => {
                if !std::mem::take(must_send) {
                    return false;
                }
                self.response_sent = Some((self.numbers.greatest_sent + 1, now));
                let service_code = self.service_code;
                self.send_control(
                    now,
                    Kind::Response { acknowledgement_number, service_code },
                    out,
                );
                true
            }
            State::CloseReq(closing) if closing.must_send => {
                closing.must_send = false;
                self.send_control(now, Kind::CloseReq { acknowledgement_number }, out);
                true
            }
            State::Closing(closing) if closing.must_send => {
                closing.must_send = false;
                self.send_control(now, Kind::Close { acknowledgement_number }, out);
                true
            }
            State::PartOpen(_) | State::Open | State::CloseReq(_) | State::Closing(_) => {
                self.send_data(now, out) || self.send_acknowledgement(now, out)
            }
        }
    }

    fn send_reply(&mut self, now: Time, reply: Reply, out: &mut Vec<u8>) {
        let kind = match reply {
            Reply::Sync { acknowledgement } => {
                Kind::Sync { acknowledgement_number: acknowledgement }
            }
            Reply::SyncAck { acknowledgement } => {
                Kind::SyncAck { acknowledgement_number: acknowledgement }
            }
            Reply::Reset { acknowledgement, code, details } => {
                Kind::Reset { acknowledgement_number: acknowledgement, code, details }
            }
            Reply::Foreign { sequence_number, acknowledgement, code, details } => {
                let acknowledgement_number = acknowledgement;
                let kind = Kind::Reset { acknowledgement_number, code, details };
                self.packet(kind, sequence_number).encode(self.protection(), out);
                return;
            }
        };
        self.send_control(now, kind, out);
    }

    /// What our features should be by now.
    fn propose(&mut self, now: Time) {
        if !matches!(self.state, State::PartOpen(_) | State::Open) {
            return;
        }
        // Acknowledgements count, too.
        let (since, first) = self.counted_from;
        if now - since >= self.rtt() {
            self.sent_per_rtt = self.numbers.greatest_sent.since(first);
            self.counted_from = (now, self.numbers.greatest_sent);
        }
        let wanted = WINDOW_FACTOR * self.sender.packets_in_flight_max().max(self.sent_per_rtt);
        let window = self.features.value(Owner::Local, Feature::SequenceWindow);
        self.sender.on_sequence_window(window);
        let is_settled = |feature| self.features.is_settled(Owner::Local, feature);
        if wanted > window && is_settled(Feature::SequenceWindow) {
            // Twice as wide each time: few negotiations.
            let wider = wanted.next_power_of_two().min(1 << 40);
            self.features.set(Feature::SequenceWindow, wider);
        }
        let is_settled = |feature| self.features.is_settled(Owner::Local, feature);
        if let Some(ack_ratio) = self.sender.ack_ratio().filter(|_| is_settled(Feature::AckRatio)) {
            self.features.set(Feature::AckRatio, ack_ratio.into());
        }
    }

    /// Data, if they may go.
    fn send_data(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        if !self.has_data_to_send() || !self.sender.may_send(now) {
            return false;
        }
        let Some(len) = self.outgoing.front().map(Bytes::len) else { return false };
        let must_acknowledge = self.must_acknowledge();
        let is_part_open = matches!(self.state, State::PartOpen(_));
        // RFC 4340 section 8.1.5: "Clients in the PARTOPEN state that want to send data MUST do so
        // using DCCP-DataAck packets, not DCCP-Data packets."
        let acknowledges = is_part_open || must_acknowledge || self.sender.wants_acknowledgement();
        if !acknowledges {
            self.send_data_packet(now, Kind::Data, OptionsBuf::new(), out);
            return true;
        }
        let seq = self.numbers.greatest_sent + 1;
        let level = if must_acknowledge { Acknowledges::All } else { Acknowledges::Number };
        // What is said of a multipath connection has a number of its own (MP_SEQ), as data have.
        let is_numbered = self.subflow().is_some_and(Subflow::has_control);
        let options = self.acknowledgement_options(now, seq, level);
        let acknowledgement_number = self.numbers.greatest_received();
        if is_numbered || options.len() + len > self.datagram_len_max() {
            // RFC 4340 section 11.2: "In this case, DCCP B SHOULD send separate DCCP-Data and
            // DCCP-Ack packets".
            self.send_ack_packet(now, Kind::Ack { acknowledgement_number }, &options, out);
            return true;
        }
        self.send_data_packet(now, Kind::DataAck { acknowledgement_number }, options, out);
        true
    }

    fn must_acknowledge(&self) -> bool {
        let completes_handshake =
            matches!(&self.state, State::PartOpen(part_open) if part_open.must_send);
        completes_handshake
            || self.owes_acknowledgement
            || self.subflow().is_some_and(Subflow::has_control)
            || self.receiver.must_acknowledge()
            || self.features.must_send()
    }

    fn send_acknowledgement(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        if !self.must_acknowledge() {
            return false;
        }
        let seq = self.numbers.greatest_sent + 1;
        let options = self.acknowledgement_options(now, seq, Acknowledges::All);
        let acknowledgement_number = self.numbers.greatest_received();
        self.send_ack_packet(now, Kind::Ack { acknowledgement_number }, &options, out);
        true
    }

    /// The options of a packet that acknowledges, and will have this number.
    fn acknowledgement_options(&mut self, now: Time, seq: Seq, level: Acknowledges) -> OptionsBuf {
        let mut options = OptionsBuf::new();
        self.owes_acknowledgement = false;
        if let State::PartOpen(part_open) = &mut self.state {
            for cookie in &part_open.cookies {
                options.push(&PacketOption::InitCookie(cookie));
            }
            part_open.on_sent(now);
        }
        self.features.write(now, seq, true, false, &mut options);
        self.multipath_acknowledgement(&mut options);
        if level == Acknowledges::All {
            let with_loss_event_rate =
                self.features.is_on(Owner::Local, Feature::SendLossEventRate);
            let context = AckContext { arrived_at: self.newest_at, with_loss_event_rate };
            self.receiver.write(now, &context, &mut options);
            if self.is_slow {
                options.push(&PacketOption::SlowReceiver);
            }
            if let Some(history) = &mut self.history {
                history.write(seq, &mut options);
            }
        }
        options
    }

    fn send_ack_packet(&mut self, now: Time, kind: Kind, options: &OptionsBuf, out: &mut Vec<u8>) {
        let mut options = options.clone();
        self.common_options(now, &mut options);
        self.write(now, kind, &options, None, out);
    }

    fn send_data_packet(
        &mut self,
        now: Time,
        kind: Kind,
        mut options: OptionsBuf,
        out: &mut Vec<u8>,
    ) {
        let Some(data) = self.drop_oldest() else { return };
        self.number_option(&mut options);
        self.common_options(now, &mut options);
        if self.config.data_checksum {
            options.push(&PacketOption::DataChecksum(crc32c(&data)));
        }
        self.stats.datagrams_sent += 1;
        self.stats.bytes_sent += data.len() as u64;
        self.write(now, kind, &options, Some(&data), out);
    }

    /// Packets that are under no congestion control.
    fn send_control(&mut self, now: Time, kind: Kind, out: &mut Vec<u8>) {
        let mut options = OptionsBuf::new();
        let ty = kind.packet_type();
        if ty == PacketType::Response {
            for cookie in &self.cookies {
                options.push(&PacketOption::InitCookie(cookie));
            }
        }
        if ty != PacketType::Reset {
            let seq = self.numbers.greatest_sent + 1;
            let is_handshake = matches!(ty, PacketType::Request | PacketType::Response);
            let has_acknowledgement = ty.has_acknowledgement();
            self.features.write(now, seq, has_acknowledgement, is_handshake, &mut options);
        }
        self.multipath_options(kind, &mut options);
        self.common_options(now, &mut options);
        self.write(now, kind, &options, None, out);
    }

    /// Options that any packet may have.
    fn common_options(&mut self, now: Time, options: &mut OptionsBuf) {
        if let Some((timestamp, at)) = self.timestamp {
            let elapsed = ElapsedTime::from_duration(now - at);
            // RFC 4340 section 13.1: "A DCCP receiving a Timestamp option SHOULD respond with a
            // Timestamp Echo option on the next packet it sends."
            if options.push(&PacketOption::TimestampEcho { timestamp, elapsed }) {
                self.timestamp = None;
            }
        }
        // RFC 4340 section 7.7: "If a DCCP endpoint's Send NDP Count feature is one (see below),
        // then that endpoint MUST send an NDP Count option on every packet whose immediate
        // predecessor was a non-data packet."
        if self.non_data_sent > 0 && self.features.is_on(Owner::Local, Feature::SendNdpCount) {
            options.push(&PacketOption::NdpCount(self.non_data_sent));
        }
    }

    fn write(
        &mut self,
        now: Time,
        kind: Kind,
        options: &OptionsBuf,
        data: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) {
        let ty = kind.packet_type();
        let seq = self.numbers.next();
        let ccval = self.sender.ccval(now);
        let packet = Packet {
            ccval: if data.is_some() { ccval } else { 0 },
            checksum_coverage: data.map_or(0, |_| self.checksum_coverage()),
            is_short: self.features.is_on(Owner::Local, Feature::AllowShortSeqnos),
            options: options.as_options(),
            data: data.unwrap_or_default(),
            ..self.packet(kind, seq.number())
        };
        packet.encode(self.protection(), out);
        self.trace.on_sent(now, &packet);
        self.stats.packets_sent += 1;
        self.non_data_sent = if ty.is_data() { 0 } else { self.non_data_sent + 1 };
        let sent = SentPacket {
            seq,
            data: data.map(<[u8]>::len),
            is_waiting: self.has_more || !self.outgoing.is_empty(),
            is_acknowledgement: ty.has_acknowledgement(),
        };
        self.sender.on_sent(now, &sent);
    }

    /// A packet of this flow without options and data.
    fn packet<'a>(&self, kind: Kind, sequence_number: SequenceNumber) -> Packet<'a> {
        Packet {
            source_port: self.flow.local_port,
            destination_port: self.flow.remote_port,
            ccval: 0,
            checksum_coverage: 0,
            sequence_number,
            is_short: false,
            kind,
            options: Options::default(),
            data: &[],
        }
    }

    /// CsCov of our data: the peer must accept less than all.
    fn checksum_coverage(&self) -> u8 {
        let least = self.features.value(Owner::Remote, Feature::MinimumChecksumCoverage);
        let coverage = self.config.checksum_coverage.min(15);
        if least > 0 && u64::from(coverage) >= least { coverage } else { 0 }
    }
}
