//! Options that arrive: RFC 4340 section 8.5, step 8.

use anabranch_sansio::Time;

use super::{Connection, State};
use crate::ccid::{AckRange, Report};
use crate::config::Ccid;
use crate::event::{CloseReason, Event};
use crate::feature::{Feature, FeatureFault, Owner};
use crate::seq::Seq;
use crate::wire::{
    AckState, AckVector, Ccid3Option, DataDropped, DropCode, Entry, FeatureNumber, Packet,
    PacketOption, PacketType, ResetCode, crc32c,
};

/// Packets of one acknowledgement that are noted as dropped.
const DROPPED_MAX: usize = 1_024;

/// What ends the connection.
struct Fault {
    code: ResetCode,
    /// Type and the first data of the option.
    details: [u8; 3],
}

/// What the options of one packet say, as far as they have been read.
struct Reading {
    seq: Seq,
    acknowledgement: Option<Seq>,
    /// What they say about our packets. None: there is no Acknowledgement Number that counts.
    report: Option<Report>,
    /// Where the next Ack Vector goes on; none: one of them was wrong.
    vector_from: Option<Seq>,
    dropped_from: Option<Seq>,
    has_features: bool,
}

impl Connection {
    /// Takes the options of a packet. False: that ended the connection.
    pub(super) fn take_options(
        &mut self,
        now: Time,
        packet: &Packet<'_>,
        seq: Seq,
        acknowledgement: Option<Seq>,
    ) -> bool {
        let ty = packet.kind.packet_type();
        // RFC 4340 section 5.7: "receivers MUST NOT assume that a packet was processed simply
        // because it appears in the Acknowledgement Number field of a DCCP-Sync packet."
        let counts = acknowledgement.filter(|_| ty != PacketType::Sync);
        let mut reading = Reading {
            seq,
            acknowledgement,
            report: counts.map(Report::new),
            vector_from: counts,
            dropped_from: counts,
            has_features: false,
        };
        let outcome = self.read_options(now, packet, ty, &mut reading);
        if reading.has_features {
            self.features.on_packet(seq);
        }
        if let Err(Fault { code, details }) = outcome.and_then(|()| self.check_ccid_needs()) {
            self.reset(now, code, details, CloseReason::Broken(code));
            return false;
        }
        if let Some(report) = &reading.report {
            self.take_report(now, report);
        }
        // What both ends have agreed on changes by what they say of it alone, and with the end of
        // the handshake.
        if reading.has_features || !self.is_open() {
            self.install_ccids(now);
        }
        true
    }

    fn read_options(
        &mut self,
        now: Time,
        packet: &Packet<'_>,
        ty: PacketType,
        reading: &mut Reading,
    ) -> Result<(), Fault> {
        for entry in packet.options.iter() {
            let on_data = ty == PacketType::Data;
            let Ok(mut entry) = entry else {
                // RFC 4340 section 5.8.2: "any Mandatory options received on DCCP-Data packets MUST
                // be ignored."
                let fault = Fault { code: ResetCode::OPTION_ERROR, details: [1, 0, 0] };
                return if on_data { Ok(()) } else { Err(fault) };
            };
            if on_data {
                if !entry.ty.may_stand_on_data() {
                    continue;
                }
                entry.is_mandatory = false;
            }
            let understood = match entry.decode() {
                Ok(option) => self.read_option(now, reading, &option, entry.is_mandatory),
                Err(_) => Ok(false),
            };
            let code = match understood {
                Ok(true) => continue,
                Ok(false) if !entry.is_mandatory => continue,
                // RFC 4340 section 5.8.2: "If the endpoint does not understand or process O,
                // however, then it MUST reset the connection using Reset Code 6".
                Ok(false) | Err(FeatureFault::MandatoryError) => ResetCode::MANDATORY_ERROR,
                Err(FeatureFault::OptionError) => ResetCode::OPTION_ERROR,
            };
            return Err(Fault { code, details: details(&entry) });
        }
        Ok(())
    }

    /// Whether the option was understood.
    fn read_option(
        &mut self,
        now: Time,
        reading: &mut Reading,
        option: &PacketOption<'_>,
        is_mandatory: bool,
    ) -> Result<bool, FeatureFault> {
        match option {
            // Its own handshake agrees on it: RFC 9897 section 3.1.
            PacketOption::Feature(feature)
                if feature.feature == FeatureNumber::MULTIPATH_CAPABLE
                    && self.subflow().is_some() => {}
            PacketOption::Feature(feature) => {
                reading.has_features = true;
                let (seq, acknowledgement) = (reading.seq, reading.acknowledgement);
                self.features.on_option(seq, acknowledgement, feature, is_mandatory)?;
            }
            PacketOption::SlowReceiver => {
                if let Some(report) = &mut reading.report {
                    report.is_slow = true;
                }
            }
            PacketOption::AckVector(vector) => {
                reading.take_vector(*vector, self.numbers.first_sent);
            }
            PacketOption::DataDropped(dropped) => {
                reading.take_dropped(*dropped, self.numbers.first_sent);
            }
            PacketOption::ElapsedTime(elapsed) => {
                if let Some(report) = &mut reading.report {
                    report.elapsed = Some(elapsed.as_duration());
                }
            }
            PacketOption::TimestampEcho { elapsed, .. } => {
                // We send no Timestamps: who answers one still tells how long it waited.
                if let Some(report) = &mut reading.report {
                    report.elapsed.get_or_insert(elapsed.as_duration());
                }
            }
            PacketOption::Timestamp(timestamp) => self.timestamp = Some((*timestamp, now)),
            PacketOption::Ccid { ty, data } => {
                let option = Ccid3Option::decode(*ty, data);
                let (Ok(option), Ccid::Tfrc) = (option, self.send_ccid) else { return Ok(false) };
                reading.take_ccid3(&option);
            }
            PacketOption::Multipath(_) => return Ok(self.subflow().is_some()),
            // Looked at where the data are, or by who began the connection.
            PacketOption::NdpCount(_)
            | PacketOption::DataChecksum(_)
            | PacketOption::InitCookie(_) => {}
        }
        Ok(true)
    }

    /// Without Ack Vectors there is no CCID 2.
    fn check_ccid_needs(&self) -> Result<(), Fault> {
        let is_refused = self.send_ccid == Ccid::TcpLike
            && matches!(self.state, State::Open | State::PartOpen(_))
            && self.features.is_settled(Owner::Remote, Feature::SendAckVector)
            && !self.features.is_on(Owner::Remote, Feature::SendAckVector);
        if is_refused {
            let details = [35, Feature::SendAckVector.number().0, 0];
            return Err(Fault { code: ResetCode::OPTION_ERROR, details });
        }
        Ok(())
    }

    fn take_report(&mut self, now: Time, report: &Report) {
        if let Some(history) = &mut self.history {
            history.on_acknowledged(report.acknowledgement, report.acknowledgement);
            let received =
                |range: &&AckRange| matches!(range.state, AckState::Received | AckState::EcnMarked);
            for range in report.states.iter().filter(received) {
                history.on_acknowledged(range.first, range.last);
            }
        }
        // RFC 4340 section 11.7.2: "once an endpoint receives a Drop State 1 report, it SHOULD
        // expect that no more data will ever be delivered to the other endpoint's application, so
        // it SHOULD NOT send more data."
        let mut codes = report.dropped.iter().map(|(_, code)| *code);
        let is_deaf = codes.any(|code| code == DropCode::APPLICATION_NOT_LISTENING);
        if is_deaf && !std::mem::replace(&mut self.is_peer_deaf, true) {
            self.outgoing.clear();
            self.outgoing_len = 0;
            self.events.push_back(Event::PeerStoppedListening);
        }
        self.sender.on_report(now, report);
    }

    /// NDP Count: RFC 4340 section 7.7.
    pub(super) fn non_data_before(&self, packet: &Packet<'_>) -> u64 {
        let counts = packet.options.iter().flatten().filter_map(|entry| match entry.decode() {
            Ok(PacketOption::NdpCount(count)) => Some(count),
            _ => None,
        });
        counts.last().unwrap_or(0)
    }

    /// Data Checksum: RFC 4340 section 9.3.
    pub(super) fn has_intact_data(&self, packet: &Packet<'_>) -> bool {
        packet.options.iter().flatten().all(|entry| match entry.decode() {
            Ok(PacketOption::DataChecksum(checksum)) => checksum == crc32c(packet.data),
            _ => true,
        })
    }

    pub(super) fn sends_ack_vectors(&self) -> bool {
        // RFC 4341 section 4: "Use of the Ack Vector is MANDATORY on CCID 2 half-connections".
        self.receive_ccid == Ccid::TcpLike
            || self.features.is_on(Owner::Local, Feature::SendAckVector)
    }
}

impl Reading {
    fn take_vector(&mut self, vector: AckVector<'_>, first_sent: Seq) {
        let (Some(report), Some(mut next)) = (&mut self.report, self.vector_from) else { return };
        for run in vector.runs() {
            let last = next;
            next = last - u64::from(run.len);
            // RFC 4340 section 11.4: "One or more Ack Vector options that, together, report the
            // status of a packet with a sequence number less than ISN, the initial sequence number,
            // SHOULD be considered invalid. The receiving DCCP SHOULD either ignore the options or
            // reset".
            if next + 1 < first_sent {
                report.states.clear();
                self.vector_from = None;
                return;
            }
            report.states.push(AckRange { first: next + 1, last, state: run.state });
        }
        self.vector_from = Some(next);
    }

    fn take_dropped(&mut self, dropped: DataDropped<'_>, first_sent: Seq) {
        let (Some(report), Some(mut next)) = (&mut self.report, self.dropped_from) else { return };
        for run in dropped.runs() {
            let last = next;
            next = last - u64::from(run.len);
            let Some(code) = run.code else { continue };
            // RFC 4340 section 11.7: options that "report the status of more packets than have been
            // sent" SHOULD be ignored.
            if next + 1 < first_sent || report.dropped.len() >= DROPPED_MAX {
                self.dropped_from = None;
                return;
            }
            let packets = (0..u64::from(run.len)).map(|offset| (last - offset, code));
            report.dropped.extend(packets);
        }
        self.dropped_from = Some(next);
    }

    fn take_ccid3(&mut self, option: &Ccid3Option<'_>) {
        let Some(report) = &mut self.report else { return };
        match option {
            Ccid3Option::LossEventRate(packets) => report.loss_event_rate = Some(*packets),
            Ccid3Option::ReceiveRate(rate) => report.receive_rate = Some(*rate),
            Ccid3Option::LossIntervals(intervals) => {
                let (skip, all) =
                    report.loss_intervals.get_or_insert_with(|| (intervals.skip(), Vec::new()));
                // RFC 4342 section 8.6.1: "the Skip Lengths of the second and subsequent options
                // MUST equal zero; such options with nonzero Skip Lengths MUST be ignored."
                if all.is_empty() || intervals.skip() == 0 {
                    *skip = if all.is_empty() { intervals.skip() } else { *skip };
                    all.extend(intervals.iter());
                }
            }
        }
    }
}

/// RFC 4340 section 5.6: "The Data 1 field equals the offending option type; Data 2 and Data 3
/// equal the first two bytes of option data (or zero if the option had less than two bytes of
/// data)."
fn details(entry: &Entry<'_>) -> [u8; 3] {
    match *entry.data {
        [first, second, ..] => [entry.ty.0, first, second],
        _ => [entry.ty.0, 0, 0],
    }
}
