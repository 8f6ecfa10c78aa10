//! Data transfer (RFC 9260 section 6, RFC 3758): what arrives, what is acknowledged, what is lost.

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::{
    ChunkType, DecodeError, EncodeChunk, ErrorCause, ErrorCauses, ErrorChunk, ForwardTsn,
    IForwardTsn, Mid, Sack, SkippedMessages, StreamId, UnknownChunk,
};

use super::control::Bundling;
use super::{Association, State};
use crate::event::Event;
use crate::format::DataFormat;
use crate::path::PathSlot;
use crate::receive::{DataChunk, DataOutcome, SackTiming};
use crate::send::{Abandoned, Abandonment, LossDetection, PathAck, SendFailure, Undelivered};
use crate::trace::TraceKind;
use anabranch_congestion::Ack;

/// The least time between two FORWARD TSNs that say the same: a round trip may seem to take no time
/// at all where clocks are coarse.
const FORWARD_TSN_PAUSE_MIN: Duration = Duration::from_millis(1);

/// Bytes of an unrecognized chunk that are sent back in the error report.
const REPORT_MAX: usize = 256;

/// The peer's receive window as we know it, and the state of probing it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Window {
    pub(super) rwnd: usize,
    /// Whether one chunk may be sent although the window is closed.
    probe_allowed: bool,
    /// The chunk that was sent although the window was closed.
    probe: Option<u64>,
    /// Whether a SACK came since the last probe or timeout.
    answered: bool,
    /// FORWARD TSN: the point last told, and when.
    pub(super) forwarded: Option<(u64, Time)>,
    /// The path whose first lost chunks may be sent again whatever its window says.
    pub(super) fast_retransmit: Option<PathSlot>,
    /// The path that one packet with data goes to as a probe, whatever its window says.
    pub(super) loss_probe: Option<PathSlot>,
}

impl Window {
    /// The window of a fresh association.
    pub(super) fn announced(a_rwnd: usize) -> Self {
        Self { rwnd: a_rwnd, ..Self::default() }
    }

    /// RFC 9260 section 6.1, rule A: "the data sender MUST NOT transmit new data to any destination
    /// transport address if its peer's rwnd indicates that the peer has no buffer space (i.e., rwnd
    /// is smaller than the size of the next DATA chunk; see Section 6.2.1), except for zero window
    /// probes."
    pub(super) const fn admits(&self, payload: usize) -> bool {
        payload <= self.rwnd || self.probe_allowed
    }

    /// New data was sent.
    pub(super) fn on_sent(&mut self, sequence: u64, payload: usize) {
        if payload > self.rwnd {
            self.probe = Some(sequence);
        }
        self.probe_allowed = false;
        self.rwnd = self.rwnd.saturating_sub(payload);
    }

    /// One chunk may be sent although the window is closed.
    pub(super) const fn allow_probe(&mut self) {
        self.probe_allowed = true;
        self.answered = false;
    }

    /// Whether a chunk is under way that was sent although the window was closed.
    pub(super) const fn is_probed(&self) -> bool {
        self.probe.is_some()
    }

    /// A SACK told the window, and how much of it is taken.
    fn on_sack(&mut self, a_rwnd: usize, in_flight: usize) {
        // RFC 9260 section 6.2.1, D ii: "Set rwnd equal to the newly received a_rwnd minus the
        // number of bytes still outstanding after processing the Cumulative TSN Ack and the Gap Ack
        // Blocks."
        self.rwnd = a_rwnd.saturating_sub(in_flight);
        self.probe_allowed = false;
        self.answered = true;
    }

    /// Whether the timeout that is being handled is one of a zero window probe that the peer
    /// answered.
    ///
    /// RFC 9260 section 6.1, rule A: "If the sender continues to receive SACK chunks from the peer
    /// while doing zero window probing, the unacknowledged window probes SHOULD NOT increment the
    /// error counter for the association or any destination transport address."; "Zero window
    /// probing does not affect the calculation of cwnd."
    pub(super) fn take_answered_probe(&mut self) -> bool {
        let answered = std::mem::take(&mut self.answered);
        self.rwnd == 0 && self.probe.is_some() && answered
    }
}

impl Association {
    pub(super) fn on_data(
        &mut self,
        now: Time,
        path: PathSlot,
        format: DataFormat,
        data: &DataChunk<'_>,
    ) {
        if !self.state.may_receive_data() {
            return;
        }
        if format != self.outstanding.format() {
            return self.refuse_format(format, "data");
        }
        let Some(receiver) = self.receiver.as_mut() else { return };
        self.stats.chunks_received += 1;
        if !receiver.is_valid_stream(data.stream.0) {
            receiver.acknowledge_only(data);
            return self.report_invalid_stream(path, data.stream);
        }
        let (tsn, stream, len) = (data.tsn.0, data.stream, data.payload.len());
        let path = self.paths.at(path).id;
        let outcome = receiver.on_data(now, path, data);
        self.trace(now, TraceKind::DataReceived { path, tsn, stream, len });
        match outcome {
            DataOutcome::Handled => {}
            DataOutcome::MessageTooLarge => {
                let limit = self.config.buffers.message_size_max;
                let what = format!("it sent a message of more than {limit} bytes");
                self.abort_for(&ErrorCause::OutOfResource, &what);
            }
            DataOutcome::Stuck => {
                let what = "its unfinished messages fill our receive buffer";
                self.abort_for(&ErrorCause::OutOfResource, what);
            }
            DataOutcome::BadFragments => {
                let what = "the fragments of its messages contradict each other";
                self.abort_for(&ErrorCause::ProtocolViolation(what.as_bytes()), what);
            }
        }
    }

    /// RFC 8260 section 2.2.3: "If I-DATA support has been negotiated for an association, the
    /// reception of a DATA chunk is a violation of the above rules and therefore the receiver of
    /// the DATA chunk MUST abort the association by sending an ABORT chunk. ... The same applies if
    /// I-DATA support has not been negotiated for an association and an I-DATA chunk is received."
    /// Section 2.3.1 says the same of FORWARD TSN and I-FORWARD-TSN.
    fn refuse_format(&mut self, format: DataFormat, of: &str) {
        let what = match format {
            DataFormat::Data => format!("it sent {of} as if messages did not interleave"),
            DataFormat::IData => format!("it sent {of} as if messages interleaved"),
        };
        self.abort_for(&ErrorCause::ProtocolViolation(what.as_bytes()), &what);
    }

    /// RFC 9260 section 6.5: "If an endpoint receives a DATA chunk with an invalid stream
    /// identifier, it SHOULD acknowledge the reception of the DATA chunk following the normal
    /// procedure, immediately send an ERROR chunk with cause set to "Invalid Stream Identifier"
    /// ..., and discard the DATA chunk."
    fn report_invalid_stream(&mut self, path: PathSlot, stream: StreamId) {
        let mut causes = Vec::new();
        ErrorCause::InvalidStreamIdentifier { stream }.encode(&mut causes);
        let error = ErrorChunk { causes: ErrorCauses::from_bytes(&causes) };
        self.queue_control(self.reply_path(path), Bundling::Bundled, &error);
    }

    /// RFC 3758 section 3.3.1: an endpoint that did not announce its support "MUST instead act as
    /// if it does NOT support the FORWARD TSN chunk, returning an ERROR to the peer upon receipt of
    /// any FORWARD TSN."
    pub(super) fn on_forward_tsn(&mut self, path: PathSlot, forward: &ForwardTsn<'_>) {
        if !self.config.extensions.partial_reliability {
            let mut raw = Vec::new();
            forward.encode(&mut raw);
            return self.report_unrecognized(path, &raw);
        }
        if !self.state.may_receive_data() {
            return;
        }
        if self.interleaves_messages() {
            return self.refuse_format(DataFormat::Data, "a FORWARD TSN");
        }
        let skipped = forward.streams.iter().map(|last| SkippedMessages {
            stream: last.stream,
            unordered: false,
            mid: Mid(last.ssn.0.into()),
        });
        if let Some(receiver) = self.receiver.as_mut() {
            receiver.on_forward_tsn(forward.new_cumulative_tsn, skipped);
        }
    }

    pub(super) fn on_i_forward_tsn(&mut self, forward: &IForwardTsn<'_>) {
        if !self.state.may_receive_data() {
            return;
        }
        if !self.interleaves_messages() || !self.outstanding.is_partially_reliable() {
            return self.refuse_format(DataFormat::IData, "an I-FORWARD-TSN");
        }
        if let Some(receiver) = self.receiver.as_mut() {
            receiver.on_forward_tsn(forward.new_cumulative_tsn, forward.streams.iter());
        }
    }

    /// A packet with DATA or FORWARD TSN is done: decides when it is acknowledged.
    pub(super) fn end_data_packet(&mut self, now: Time, path: PathSlot) {
        self.answer_data_with_shutdown(now, path);
        if self.config.timers.probes_silence {
            self.silence.on_data(now);
        }
        let reply_path = self.reply_path(path);
        let is_spaced = self.has_spaced_sacks();
        let Some(receiver) = self.receiver.as_mut() else { return };
        receiver.tracker.space_sacks(is_spaced);
        receiver.tracker.end_packet();
        // RFC 9260 section 6.7: "When its peer is multi-homed, the SCTP endpoint SHOULD always try
        // to send the SACK chunk to the same destination address from which the last DATA chunk was
        // received."
        self.sack_path = reply_path;
        match receiver.tracker.timing() {
            SackTiming::Delayed => {
                let srtt = self.paths.at(reply_path).rtt.srtt();
                let spaced = receiver.tracker.spaced_sack_at(now, srtt);
                let at = spaced.unwrap_or(now + self.config.sack_delay());
                let at = self.sack_timer.map_or(at, |timer| timer.min(at));
                self.sack_timer = Some(at).filter(|at| *at > now);
                if at <= now {
                    receiver.tracker.demand_sack();
                }
            }
            SackTiming::Immediate | SackTiming::None => self.sack_timer = None,
        }
    }

    /// Whether SACKs are spaced in time, both ways: agreed upon, and no second path confuses what
    /// a SACK tells.
    pub(super) fn has_spaced_sacks(&self) -> bool {
        self.outstanding.has_spaced_sacks() && self.paths.carriers().count() <= 1
    }

    pub(super) fn on_sack(&mut self, now: Time, via: PathSlot, sack: &Sack<'_>) {
        if !self.state.may_send_data() {
            return;
        }
        let paths = &self.paths;
        let is_newest =
            match self.outstanding.on_sack(now, sack, via, |path| paths.at(path).rtt.round_trips())
            {
                Ok(is_newest) => is_newest,
                Err(error) => {
                    let what = error.to_string();
                    return self.abort_for(&ErrorCause::ProtocolViolation(what.as_bytes()), &what);
                }
            };
        self.stats.sacks_received += u64::from(is_newest);
        let acks = self.outstanding.take_acks();
        for ack in &acks {
            self.on_path_ack(now, ack);
        }
        self.outstanding.recycle_acks(acks);
        if is_newest {
            let a_rwnd = sack.a_rwnd as usize;
            self.end_window_probe(a_rwnd);
            self.window.on_sack(a_rwnd, self.outstanding.bytes_outstanding());
        }
        self.settle_timers(now);
    }

    /// A probe that the peer had no room for goes out again as soon as there is room, and not only
    /// when its timer, which backs off, expires.
    fn end_window_probe(&mut self, a_rwnd: usize) {
        let Some(probe) = self.window.probe else { return };
        let waits = self.outstanding.in_flight_len(probe);
        if waits.is_some_and(|len| len > a_rwnd) {
            return;
        }
        self.window.probe = None;
        if waits.is_some() {
            self.outstanding.retract(probe);
        }
    }

    fn on_path_ack(&mut self, now: Time, ack: &PathAck) {
        let PathAck { path, acked, losses, .. } = *ack;
        self.on_spurious(now, ack);
        let flight = self.outstanding.flight(path);
        let target = self.paths.at_mut(path);
        if let Some(rtt) = ack.rtt {
            target.rtt.on_sample(rtt);
        }
        if ack.answered {
            target.congestion.on_ack(&Ack {
                now,
                acked,
                flight_before: ack.flight_before,
                flight,
                advanced: ack.advanced,
                in_recovery: ack.in_recovery,
                rtt: ack.rtt,
                delivered: ack.delivered,
                sample: ack.sample,
            });
        }
        if acked > 0 {
            self.error_count = 0;
            let target = self.paths.at_mut(path);
            target.stats.bytes_acked += acked as u64;
            let id = target.id;
            self.trace(now, TraceKind::Acknowledged { path: id, bytes: acked });
        }
        // RFC 7829 section 3.2, rule 9: acknowledgements for chunks that went to several
        // destinations "SHOULD NOT clear the error count".
        if ack.proves_path {
            self.on_path_success(now, path);
        }
        self.on_losses(now, path, losses);
        // RFC 9260 section 6.3.2, R3: "Whenever a SACK chunk is received that acknowledges the DATA
        // chunk with the earliest outstanding TSN for that address, restart the T3-rtx timer for
        // that address with its current RTO (if there is still outstanding data on that address)."
        // RFC 8985 section 8: "When arming a RACK reordering timer or TLP PTO timer, the sender
        // SHOULD cancel any other pending timers": there, any answer tells that the path lives.
        let in_time = self.config.recovery.loss_detection == LossDetection::InTime;
        if ack.advanced || (in_time && acked > 0) {
            self.paths.at_mut(path).t3_rtx = None;
        }
        if acked > 0 || losses.chunks > 0 {
            self.trace_window(now, path);
        }
    }

    /// Tells the controllers of each chunk that was declared lost.
    pub(super) fn report_lost_chunks(&mut self, now: Time) {
        let lost = self.outstanding.take_lost_chunks();
        for (path, chunk) in &lost {
            self.paths.at_mut(*path).congestion.on_chunk_lost(now, chunk);
        }
        self.outstanding.recycle_lost_chunks(lost);
    }

    /// Gives up every message whose lifetime ended.
    pub(super) fn expire_messages(&mut self, now: Time) {
        if self.outstanding.next_expiration().is_none_or(|at| at > now) {
            return;
        }
        let paths = &self.paths;
        for path in self.outstanding.expire(now, |path| paths.at(path).rtt.patience()) {
            self.stats.fast_recoveries += 1;
            self.paths.at_mut(path).congestion.on_loss(now);
        }
        self.settle_timers(now);
    }

    /// Books abandoned messages, and gives the unsent rest of each a TSN that is abandoned at once,
    /// so that the peer drops the part it has.
    pub(super) fn settle_abandoned(&mut self, now: Time) {
        for stream in self.outstanding.unended().to_vec() {
            if let Some(rest) = self.queue.take_rest(stream) {
                self.outstanding.push_abandoned(now, rest);
            }
        }
        for Abandoned { stream, why, context } in self.outstanding.take_abandoned() {
            self.queue.count_abandoned(stream, why);
            let expired = why == Abandonment::Expired;
            self.trace(now, TraceKind::Abandoned { stream, expired });
            let why = if expired { SendFailure::Expired } else { SendFailure::Retransmissions };
            let undelivered =
                context.map(|context| Undelivered { context, stream, was_sent: true, why });
            self.report_undelivered(undelivered);
        }
    }

    pub(super) fn report_undelivered(&mut self, messages: impl IntoIterator<Item = Undelivered>) {
        for Undelivered { context, stream, was_sent, why } in messages {
            self.events.push_back(Event::SendFailed { context, stream, was_sent, why });
        }
    }

    /// Whether a FORWARD TSN should go out now: at once when there is news, and once per round trip
    /// while the peer has not confirmed it (RFC 3758 section 3.5, F2: "waiting a full RTT before
    /// sending a duplicate FORWARD TSN").
    pub(super) fn forward_tsn_is_due(&self, now: Time) -> bool {
        if !self.outstanding.is_forward_tsn_due() || !self.state.may_send_data() {
            return false;
        }
        let rtt = &self.paths.at(self.paths.current()).rtt;
        let round_trip = rtt.srtt().unwrap_or(rtt.rto()).max(FORWARD_TSN_PAUSE_MIN);
        self.window.forwarded.is_none_or(|(point, told)| {
            point < self.outstanding.advanced_peer_ack_point() || now >= told + round_trip
        })
    }

    /// RFC 9260 section 6.1, rule D: "the protocol parameter 'Max.Burst' SHOULD be used to limit
    /// the number of packets sent", applied by "if ((flightsize + Max.Burst * PMDCS) < cwnd) cwnd =
    /// flightsize + Max.Burst * PMDCS" after all that happens.
    pub(super) fn open_burst(&mut self) {
        let Some(burst) = self.config.window.max_burst else { return };
        let burst = burst as usize * self.pmdcs();
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
        target.is_confirmed() && self.outstanding.flight(path) < window
    }

    /// New data waits for the peer's window, and nothing is in flight that would bring a SACK: the
    /// window is probed after an RTO (RFC 9260 section 6.1, rule A).
    pub(super) fn start_window_probe(&mut self, now: Time) {
        if self.outstanding.bytes_in_flight() > 0 {
            return;
        }
        let current = self.paths.current();
        let target = self.paths.at_mut(current);
        target.t3_rtx.get_or_insert(now + target.rtt.rto());
    }

    pub(super) fn on_error(&mut self, now: Time, error: &ErrorChunk<'_>) {
        for cause in error.causes.iter() {
            match cause {
                Ok(ErrorCause::StaleCookie { .. }) => self.on_stale_cookie(now),
                Ok(ErrorCause::NoAuthorization(_)) => self.on_no_authorization(),
                // Where everything is authenticated, who reports this may be anybody.
                Ok(ErrorCause::UnrecognizedChunkType([ty, ..]))
                    if ChunkType(*ty) == ChunkType::ASCONF && !self.demands(ChunkType::SACK) =>
                {
                    self.on_asconf_unrecognized(now);
                }
                Ok(_) => {}
                Err(_) => self.stats.malformed += 1,
            }
        }
    }

    /// RFC 9260 section 3.2: the upper bits of an unknown chunk's type say whether it is reported,
    /// and whether the rest of the packet is used.
    pub(super) fn on_unknown_chunk(&mut self, path: PathSlot, unknown: &UnknownChunk<'_>) -> bool {
        let action = unknown.action();
        if action.report {
            self.report_unrecognized(path, unknown.raw);
        }
        !action.stop
    }

    pub(super) fn report_unrecognized(&mut self, path: PathSlot, raw: &[u8]) {
        if matches!(self.state, State::CookieWait(_) | State::Closed) {
            return;
        }
        let shown = raw.get(..REPORT_MAX).unwrap_or(raw);
        let mut causes = Vec::new();
        ErrorCause::UnrecognizedChunkType(shown).encode(&mut causes);
        let error = ErrorChunk { causes: ErrorCauses::from_bytes(&causes) };
        self.queue_control(self.reply_path(path), Bundling::Bundled, &error);
    }

    /// RFC 4895 section 6.3: "if the receiver wants to tear down an association in an authenticated
    /// way only, the handling of malformed packets should not result in tearing down the
    /// association."
    pub(super) fn on_malformed(&mut self, error: DecodeError, is_authenticated: bool) {
        self.stats.malformed += 1;
        if !is_authenticated && self.demands(ChunkType::ABORT) {
            return;
        }
        // RFC 9260 section 6.2: "If an endpoint receives a DATA chunk with no user data (i.e., the
        // Length field is set to 16), it SHOULD send an ABORT chunk with a "No User Data" error
        // cause."
        if let DecodeError::NoUserData { tsn } = error
            && self.state.may_receive_data()
        {
            self.abort_for(&ErrorCause::NoUserData { tsn }, "it sent a DATA chunk without data");
        }
    }
}
