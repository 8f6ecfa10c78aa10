//! Data transfer (RFC 9260 section 6, RFC 3758): what arrives, what is acknowledged, what is lost.

use anabranch_sansio::Time;
use anabranch_wire::{
    ChunkType, DecodeError, EncodeChunk, ErrorCause, ErrorCauses, ErrorChunk, ForwardTsn,
    IForwardTsn, Mid, Sack, SkippedMessages, StreamId, UnknownChunk,
};

use super::control::Bundling;
use super::{Association, State};
use crate::format::DataFormat;
use crate::path_name::PathSlot;
use crate::receive::{DataChunk, DataOutcome, Patience};
use crate::trace::TraceKind;

/// Bytes of an unrecognized chunk that are sent back in the error report.
const REPORT_MAX: usize = 256;

impl Association {
    pub(super) fn on_data(
        &mut self,
        now: Time,
        path: PathSlot,
        format: DataFormat,
        data: &DataChunk<'_>,
    ) {
        if !self.state.may_receive_data() || !self.is_admitted(data) {
            return;
        }
        if format != self.sender.extensions().data_format() {
            return self.refuse_format(format, "data");
        }
        let Some(receiver) = self.receiver.as_mut() else { return };
        self.journal.stats.chunks_received += 1;
        if !receiver.is_valid_stream(data.stream.0) {
            receiver.acknowledge_only(data);
            return self.report_invalid_stream(path, data.stream);
        }
        let (tsn, stream, len) = (data.tsn.0, data.stream, data.payload.len());
        let path = self.sender.paths.at(path).id;
        let outcome = receiver.on_data(now, path, data);
        self.journal.trace(now, TraceKind::DataReceived { path, tsn, stream, len });
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
        if !self.interleaves_messages() || !self.sender.extensions().partial_reliability() {
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
        let patience = Patience {
            delay: self.config.sack_delay(),
            is_spaced: self.sender.has_spaced_sacks(),
            srtt: self.sender.paths.at(reply_path).rtt.srtt(),
        };
        let Some(receiver) = self.receiver.as_mut() else { return };
        receiver.end_packet(now, patience);
        // RFC 9260 section 6.7: "When its peer is multi-homed, the SCTP endpoint SHOULD always try
        // to send the SACK chunk to the same destination address from which the last DATA chunk was
        // received."
        self.sack_path = reply_path;
    }

    pub(super) fn on_sack(&mut self, now: Time, via: PathSlot, sack: &Sack<'_>) {
        if !self.state.may_send_data() {
            return;
        }
        let (sender, context) = &mut self.sending(now);
        if let Err(error) = sender.on_sack(context, via, sack) {
            let what = error.to_string();
            self.abort_for(&ErrorCause::ProtocolViolation(what.as_bytes()), &what);
        }
    }

    /// RFC 9260 section 11.2.6: "When SCTP receives an ERROR chunk from its peer and decides to
    /// notify its ULP, it can invoke this notification on the ULP."
    pub(super) fn on_error(&mut self, now: Time, error: &ErrorChunk<'_>) {
        self.journal.tell_error(error.causes);
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
                Err(_) => self.journal.stats.malformed += 1,
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
        self.journal.stats.malformed += 1;
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
