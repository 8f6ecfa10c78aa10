//! Streams that begin anew: ours, and the peer's.
//!
//! We ask to reset our own streams when all that was sent on them is acknowledged, so that no
//! FORWARD TSN can speak of a stream's former life. The peer may have its streams reset, and ask us
//! to reset ours.

use anabranch_sansio::Time;
use anabranch_wire::{
    IncomingSsnResetRequest, OutgoingSsnResetRequest, Parameter, ReconfigurationResponse,
    ReconfigurationResult, StreamId,
};

use super::super::{Association, State};
use super::Asked;
use crate::error::ResetError;
use crate::event::{Direction, Event};
use crate::sequence::{extend, tsn};

impl Association {
    /// Begins the numbering of our streams anew, which is how data channels are closed: what was
    /// handed over before is delivered first, what is handed over from now on waits for the peer's
    /// answer, [`Event::StreamsReset`] or [`Event::ResetRefused`]. No stream stands for all, as
    /// in the requests of RFC 6525.
    ///
    /// # Errors
    ///
    /// Says why nothing was begun.
    pub fn reset_streams(&mut self, now: Time, streams: &[StreamId]) -> Result<(), ResetError> {
        if !matches!(self.state, State::Established) {
            return Err(ResetError::NotEstablished);
        }
        if !self.reconfiguration.is_supported {
            return Err(ResetError::NotSupported);
        }
        let last = self.sender.queue().stream_count() - 1;
        if let Some(stream) = streams.iter().find(|stream| stream.0 > last) {
            return Err(ResetError::InvalidStream { stream: stream.0, last });
        }
        // RFC 6525 section 5.2.2, E3: "If no stream numbers are listed in the parameter, then all
        // incoming streams MUST be reset".
        if streams.is_empty() {
            self.want_reset(&self.all_outgoing());
        } else {
            self.want_reset(streams);
        }
        self.advance_reconfiguration(now);
        Ok(())
    }

    fn all_outgoing(&self) -> Vec<StreamId> {
        (0..self.sender.queue().stream_count()).map(StreamId).collect()
    }

    fn want_reset(&mut self, streams: &[StreamId]) {
        for &stream in streams {
            if !self.reconfiguration.concerns(stream) {
                self.reconfiguration.wanted.insert(stream, None);
                self.sender.begin_reset(stream);
            }
        }
    }

    /// RFC 6525 section 5.1.2.
    pub(super) fn request_reset(&mut self, now: Time, streams: Vec<StreamId>) {
        let reconfiguration = &mut self.reconfiguration;
        reconfiguration.wanted.retain(|stream, _| !streams.contains(stream));
        // A4: "The Re-configuration Response Sequence Number is the next expected Re-configuration
        // Request Sequence Number of the peer minus 1."
        let last_of_peer = reconfiguration.expected_request.wrapping_sub(1);
        let response_number = reconfiguration.asked_by.unwrap_or(last_of_peer);
        // A3: "The Sender's Last Assigned TSN MUST be set to the next TSN the sender assigns minus
        // 1."
        let last_assigned_tsn = tsn(self.sender.outstanding().next_sequence() - 1);
        self.ask(now, Asked::Reset { response_number, last_assigned_tsn, streams });
    }

    /// RFC 6525 section 5.2.2: the peer begins its streams anew.
    pub(super) fn on_outgoing_reset_request(
        &mut self,
        request: &OutgoingSsnResetRequest<'_>,
    ) -> ReconfigurationResult {
        let Some(receiver) = self.receiver.as_mut() else { return ReconfigurationResult::DENIED };
        let streams: Vec<StreamId> = request.streams.iter().collect();
        if streams.iter().any(|stream| !receiver.is_valid_stream(stream.0)) {
            return ReconfigurationResult::WRONG_SSN;
        }
        let last_assigned = extend(receiver.tracker.cumulative(), request.last_assigned_tsn);
        // E2: "If the endpoint enters "deferred reset processing", it MUST put a Re-configuration
        // Response Parameter into a RE-CONFIG chunk indicating "In progress"".
        if !receiver.reset(last_assigned, streams) {
            return ReconfigurationResult::IN_PROGRESS;
        }
        if let Some(streams) = receiver.settle_reset() {
            self.tell_reset(Direction::Incoming, streams);
        }
        ReconfigurationResult::PERFORMED
    }

    /// A deferred reset is done: the peer is told without being asked again.
    pub(super) fn on_incoming_reset(&mut self, streams: Vec<StreamId>) {
        self.tell_reset(Direction::Incoming, streams);
        let reconfiguration = &mut self.reconfiguration;
        let mut responses = Vec::new();
        let deferred = |response: &&mut ReconfigurationResponse| {
            response.result == ReconfigurationResult::IN_PROGRESS
                && reconfiguration.asked_by != Some(response.response_sequence_number)
        };
        for response in reconfiguration.results.iter_mut().filter(deferred) {
            // E5: "A Re-configuration Response Parameter MUST be put into a RE-CONFIG chunk
            // indicating successful processing."
            response.result = ReconfigurationResult::PERFORMED;
            Parameter::ReconfigurationResponse(*response).encode(&mut responses);
        }
        if !responses.is_empty() {
            self.send_re_config(self.sender.paths.current(), &responses);
        }
    }

    /// RFC 6525 section 5.2.3: the peer wants our streams to begin anew. What waits on them goes
    /// first, so the answer is that it is in progress; our request ends that.
    pub(super) fn on_incoming_reset_request(
        &mut self,
        request: &IncomingSsnResetRequest<'_>,
    ) -> ReconfigurationResult {
        let count = self.sender.queue().stream_count();
        let mut streams: Vec<StreamId> = request.streams.iter().collect();
        if streams.iter().any(|stream| stream.0 >= count) {
            return ReconfigurationResult::WRONG_SSN;
        }
        if streams.is_empty() {
            streams = self.all_outgoing();
        }
        // "If the Outgoing SSN Reset Request Parameter that was just sent completely overlaps the
        // received Incoming SSN Reset Request Parameter, respond to the peer with an acknowledgment
        // indicating that there was "Nothing to do"."
        if streams.iter().all(|stream| self.reconfiguration.concerns(*stream)) {
            return ReconfigurationResult::NOTHING_TO_DO;
        }
        if self.reconfiguration.asked_by.is_some() {
            return ReconfigurationResult::REQUEST_ALREADY_IN_PROGRESS;
        }
        self.reconfiguration.asked_by = Some(request.request_sequence_number);
        self.want_reset(&streams);
        ReconfigurationResult::IN_PROGRESS
    }

    /// The peer answered a request of ours; it may be the answer to one of the peer's.
    pub(super) fn on_reset_answered(
        &mut self,
        response_number: u32,
        streams: Vec<StreamId>,
        result: ReconfigurationResult,
    ) {
        let reconfiguration = &mut self.reconfiguration;
        if let Some(asked_by) = reconfiguration.asked_by.take_if(|n| *n == response_number) {
            reconfiguration.remember_result(asked_by, ReconfigurationResult::PERFORMED);
        }
        let performed = [ReconfigurationResult::NOTHING_TO_DO, ReconfigurationResult::PERFORMED];
        let performed = performed.contains(&result);
        for stream in &streams {
            self.sender.end_reset(*stream, performed);
        }
        if performed {
            self.tell_reset(Direction::Outgoing, streams);
        } else {
            self.journal.tell(Event::ResetRefused { streams, result });
        }
    }

    fn tell_reset(&mut self, direction: Direction, streams: Vec<StreamId>) {
        self.journal.tell(Event::StreamsReset { direction, streams });
    }
}
