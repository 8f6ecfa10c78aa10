//! Resetting streams (RFC 6525): our requests, and the peer's.
//!
//! We ask to reset our own streams, one request at a time, and when all that was sent on them is
//! acknowledged, so that no FORWARD TSN can speak of a stream's former life. The peer may have its
//! streams reset, add to them, and ask us to reset ours; the numbering of TSNs stays as it is.

use std::collections::{BTreeMap, VecDeque};

use anabranch_sansio::Time;
use anabranch_wire::{
    AddStreamsRequest, ErrorCause, ErrorCauses, ErrorChunk, IncomingSsnResetRequest, Items,
    OutgoingSsnResetRequest, Parameter, Parameters, ReConfig, ReconfigurationResponse,
    ReconfigurationResult, StreamId, Tsn,
};

use super::control::Bundling;
use super::{Association, State};
use crate::error::ResetError;
use crate::event::{Direction, Event};
use crate::path::PathSlot;
use crate::sequence::{extend, tsn};

/// Streams that one request lists: it fits into the smallest packet. Others wait for the next one.
const STREAMS_PER_REQUEST_MAX: usize = 200;

/// Requests of the peer whose results are remembered: a RE-CONFIG chunk has at most two.
const RESULTS_REMEMBERED: usize = 2;

/// What both sides asked for.
#[derive(Debug)]
pub(super) struct Reconfiguration {
    /// Whether the peer understands RE-CONFIG.
    pub(super) is_supported: bool,
    /// The number of our next request.
    next_request: u32,
    /// Our streams that are to be reset, and the extended TSN that must be acknowledged before;
    /// none while messages of the stream wait.
    wanted: BTreeMap<StreamId, Option<u64>>,
    /// The peer's request that ours answers.
    asked_by: Option<u32>,
    /// Our request that was not answered yet.
    in_flight: Option<Request>,
    /// The number of the peer's next request.
    expected_request: u32,
    /// How the last requests of the peer ended.
    results: VecDeque<ReconfigurationResponse>,
}

/// A request of ours.
#[derive(Debug)]
struct Request {
    number: u32,
    response_number: u32,
    last_assigned_tsn: Tsn,
    streams: Vec<StreamId>,
    /// The Re-configuration Timer.
    timer: Time,
    path: PathSlot,
    /// Whether the peer said that it works on it.
    is_in_progress: bool,
}

impl Reconfiguration {
    /// RFC 6525 section 4.1: the Request Sequence Number "is a monotonically increasing number that
    /// is initialized to the same value as the initial TSN."
    pub(super) fn new(is_supported: bool, initial_tsn: Tsn, peer_initial_tsn: Tsn) -> Self {
        Self {
            is_supported,
            next_request: initial_tsn.0,
            wanted: BTreeMap::new(),
            asked_by: None,
            in_flight: None,
            expected_request: peer_initial_tsn.0,
            results: VecDeque::new(),
        }
    }

    /// Streams that wait to be reset, or for the answer.
    fn concerns(&self, stream: StreamId) -> bool {
        let in_flight = self.in_flight.as_ref();
        self.wanted.contains_key(&stream)
            || in_flight.is_some_and(|request| request.streams.contains(&stream))
    }

    fn remember(&mut self, response: ReconfigurationResponse) {
        let number = response.response_sequence_number;
        self.results.retain(|before| before.response_sequence_number != number);
        if self.results.len() >= RESULTS_REMEMBERED {
            self.results.pop_front();
        }
        self.results.push_back(response);
    }
}

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

    /// Goes on with resets whose streams are at rest.
    pub(super) fn advance_reconfiguration(&mut self, now: Time) {
        if let Some(streams) = self.receiver.as_mut().and_then(|receiver| receiver.settle_reset()) {
            self.on_incoming_reset(streams);
        }
        let reconfiguration = &mut self.reconfiguration;
        // RFC 6525 section 5.1.1: "At any given time, there MUST NOT be more than one request in
        // flight."
        if reconfiguration.wanted.is_empty() || reconfiguration.in_flight.is_some() {
            return;
        }
        let last_assigned = self.sender.outstanding().next_sequence() - 1;
        let acknowledged = self.sender.outstanding().cumulative_ack_point();
        let mut ready = Vec::new();
        for (stream, after) in &mut reconfiguration.wanted {
            if self.sender.queue().is_stream_drained(*stream) {
                let after = *after.get_or_insert(last_assigned);
                if after <= acknowledged && ready.len() < STREAMS_PER_REQUEST_MAX {
                    ready.push(*stream);
                }
            }
        }
        if !ready.is_empty() && self.state.may_send_data() {
            self.request_reset(now, ready);
        }
    }

    /// RFC 6525 section 5.1.2.
    fn request_reset(&mut self, now: Time, streams: Vec<StreamId>) {
        let path = self.sender.paths.current();
        let reconfiguration = &mut self.reconfiguration;
        reconfiguration.wanted.retain(|stream, _| !streams.contains(stream));
        let number = reconfiguration.next_request;
        // A2: "The next re-configuration request sequence number MUST then be incremented by 1."
        reconfiguration.next_request = number.wrapping_add(1);
        // A4: "The Re-configuration Response Sequence Number is the next expected Re-configuration
        // Request Sequence Number of the peer minus 1."
        let last_of_peer = reconfiguration.expected_request.wrapping_sub(1);
        let response_number = reconfiguration.asked_by.unwrap_or(last_of_peer);
        reconfiguration.in_flight = Some(Request {
            number,
            response_number,
            // A3: "The Sender's Last Assigned TSN MUST be set to the next TSN the sender assigns
            // minus 1."
            last_assigned_tsn: tsn(self.sender.outstanding().next_sequence() - 1),
            streams,
            timer: now + self.sender.paths.at(path).rtt.rto(),
            path,
            is_in_progress: false,
        });
        self.send_request();
    }

    fn send_request(&mut self) {
        let Some(request) = &self.reconfiguration.in_flight else { return };
        let path = request.path;
        let parameter = Parameter::OutgoingSsnResetRequest(OutgoingSsnResetRequest {
            request_sequence_number: request.number,
            response_sequence_number: request.response_number,
            last_assigned_tsn: request.last_assigned_tsn,
            streams: Items::from_slice(&request.streams),
        });
        let mut parameters = Vec::new();
        parameter.encode(&mut parameters);
        self.send_re_config(path, &parameters);
    }

    fn send_re_config(&mut self, path: PathSlot, parameters: &[u8]) {
        let chunk = ReConfig { parameters: Parameters::from_bytes(parameters) };
        self.queue_control(path, Bundling::Bundled, &chunk);
    }

    pub(super) fn reconfiguration_timer(&self) -> Option<Time> {
        self.reconfiguration.in_flight.as_ref().map(|request| request.timer)
    }

    /// RFC 6525 section 5.1.1: "If the timer expires, besides doubling the value, the sender MUST
    /// retransmit the RE-CONFIG chunk, increment the appropriate error counts (for both the
    /// association and the destination), and perform threshold management".
    pub(super) fn on_reconfiguration_timer(&mut self, now: Time) {
        let Some(request) = &mut self.reconfiguration.in_flight else { return };
        if request.timer > now {
            return;
        }
        // Section 5.2.7, H2: "If the timer runs out, the RE-CONFIG chunk MUST be retransmitted but
        // the corresponding error counters MUST NOT be incremented."
        let (path, counts) = (request.path, !std::mem::take(&mut request.is_in_progress));
        if !self.state.may_send_data() {
            self.reconfiguration.in_flight = None;
            return;
        }
        if counts {
            self.sender.paths.at_mut(path).rtt.back_off();
            self.on_path_error(now, path, true);
            if self.is_closed() {
                return;
            }
            self.reselect_path();
        }
        let path = self.sender.paths.current();
        let timer = now + self.sender.paths.at(path).rtt.rto();
        if let Some(request) = &mut self.reconfiguration.in_flight {
            (request.path, request.timer) = (path, timer);
        }
        self.send_request();
    }

    pub(super) fn on_re_config(&mut self, now: Time, path: PathSlot, chunk: &ReConfig<'_>) {
        // RFC 9260 section 3.2 has a chunk of this type that is not recognized skipped: it was not
        // negotiated.
        if !self.reconfiguration.is_supported || !self.state.may_send_data() {
            return;
        }
        let read: Result<Vec<_>, _> = chunk.parameters.iter().take(3).collect();
        let Ok(parameters) = read else {
            self.journal.stats.malformed += 1;
            return;
        };
        if !may_stand_together(&parameters) {
            return self.refuse_combination(path);
        }
        let mut responses = Vec::new();
        for parameter in &parameters {
            if let Some(response) = self.on_reconfiguration_parameter(now, parameter) {
                Parameter::ReconfigurationResponse(response).encode(&mut responses);
            }
        }
        if responses.is_empty() {
            return;
        }
        // RFC 6525 section 5.2.1: "If the received RE-CONFIG chunk contains at least one request
        // parameter, a selective acknowledgment (SACK) chunk SHOULD be sent back".
        if let Some(receiver) = self.receiver.as_mut() {
            receiver.tracker.demand_sack();
        }
        self.send_re_config(self.reply_path(path), &responses);
    }

    /// RFC 6525 section 3.1: "If a sender transmits an unsupported combination, the receiver SHOULD
    /// send an ERROR chunk with a Protocol Violation cause".
    fn refuse_combination(&mut self, path: PathSlot) {
        let mut causes = Vec::new();
        let what = b"these parameters may not stand together in a RE-CONFIG chunk";
        ErrorCause::ProtocolViolation(what).encode(&mut causes);
        let error = ErrorChunk { causes: ErrorCauses::from_bytes(&causes) };
        self.queue_control(self.reply_path(path), Bundling::Bundled, &error);
    }

    /// Handles one parameter; a request gets an answer.
    fn on_reconfiguration_parameter(
        &mut self,
        now: Time,
        parameter: &Parameter<'_>,
    ) -> Option<ReconfigurationResponse> {
        if let Parameter::ReconfigurationResponse(response) = parameter {
            self.on_reconfiguration_response(now, *response);
            return None;
        }
        let number = request_number(parameter)?;
        let reconfiguration = &mut self.reconfiguration;
        // RFC 6525 section 5.2.1: "the same RE-CONFIG chunk MUST to be sent back in response, as it
        // was earlier", unless what was in progress has ended since.
        let is_same = |before: &&ReconfigurationResponse| before.response_sequence_number == number;
        if let Some(&before) = reconfiguration.results.iter().find(is_same) {
            return Some(before);
        }
        let is_expected = number == reconfiguration.expected_request;
        let mut result = ReconfigurationResult::BAD_SEQUENCE_NUMBER;
        if is_expected {
            reconfiguration.expected_request = number.wrapping_add(1);
            result = self.on_reconfiguration_request(parameter);
        }
        let resets_tsns = matches!(parameter, Parameter::SsnTsnResetRequest { .. });
        let next_tsns = resets_tsns.then(|| self.next_tsns()).flatten();
        let response =
            ReconfigurationResponse { response_sequence_number: number, result, next_tsns };
        if is_expected {
            self.reconfiguration.remember(response);
        }
        Some(response)
    }

    /// Sender's Next TSN and Receiver's Next TSN. No TSN is reset: who is denied uses neither.
    ///
    /// RFC 6525 section 5.1.7, D3: "If the incoming request is an SSN/TSN reset request, the
    /// Sender's Next TSN field MUST be filled with the next TSN the sender of this Re-configuration
    /// Response Parameter will assign."; D4: "the Receiver's Next TSN field MUST be filled with a
    /// TSN such that the sender of the Re-configuration Response Parameter can be sure it can
    /// discard received DATA chunks with smaller TSNs. The value SHOULD be the smallest TSN not
    /// acknowledged by the receiver of the request plus 2^31."
    fn next_tsns(&self) -> Option<(Tsn, Tsn)> {
        let smallest_missing = self.receiver.as_ref()?.tracker.cumulative_tsn().next();
        let theirs = Tsn(smallest_missing.0.wrapping_add(1 << 31));
        Some((tsn(self.sender.outstanding().next_sequence()), theirs))
    }

    fn on_reconfiguration_request(&mut self, request: &Parameter<'_>) -> ReconfigurationResult {
        if let Parameter::OutgoingSsnResetRequest(request) = request {
            self.on_outgoing_reset_request(request)
        } else if let Parameter::IncomingSsnResetRequest(request) = request {
            self.on_incoming_reset_request(request)
        } else if let Parameter::AddOutgoingStreamsRequest(request) = request {
            self.on_add_outgoing_streams_request(*request)
        } else {
            // TSNs are not reset, and our streams are as many as our user wanted.
            ReconfigurationResult::DENIED
        }
    }

    /// RFC 6525 section 5.2.2: the peer begins its streams anew.
    fn on_outgoing_reset_request(
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
    fn on_incoming_reset(&mut self, streams: Vec<StreamId>) {
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
    fn on_incoming_reset_request(
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

    /// RFC 6525 section 5.2.5: "The SCTP endpoint SHOULD deny the request if the number of streams
    /// exceeds a limit that should be configurable by the application."
    fn on_add_outgoing_streams_request(
        &mut self,
        request: AddStreamsRequest,
    ) -> ReconfigurationResult {
        let limit = self.config.streams.inbound_streams_max;
        let receiver = self.receiver.as_mut();
        let added = receiver.is_some_and(|r| r.add_streams(request.new_streams, limit));
        if added { ReconfigurationResult::PERFORMED } else { ReconfigurationResult::DENIED }
    }

    /// RFC 6525 section 5.2.7.
    fn on_reconfiguration_response(&mut self, now: Time, response: ReconfigurationResponse) {
        let ReconfigurationResponse { response_sequence_number, result, .. } = response;
        let reconfiguration = &mut self.reconfiguration;
        let Some(mut request) =
            reconfiguration.in_flight.take_if(|r| r.number == response_sequence_number)
        else {
            return;
        };
        self.sender.clear_errors();
        // H2: "If the Result field indicates "In progress", the timer for the Re-configuration
        // Request Sequence Number is started again."
        if result == ReconfigurationResult::IN_PROGRESS {
            request.is_in_progress = true;
            request.timer = now + self.sender.paths.at(request.path).rtt.rto();
            reconfiguration.in_flight = Some(request);
            return;
        }
        let answered = reconfiguration.asked_by.take_if(|n| *n == request.response_number);
        if let Some(asked_by) = answered {
            reconfiguration.remember(ReconfigurationResponse {
                response_sequence_number: asked_by,
                result: ReconfigurationResult::PERFORMED,
                next_tsns: None,
            });
        }
        let performed = [ReconfigurationResult::NOTHING_TO_DO, ReconfigurationResult::PERFORMED];
        let performed = performed.contains(&result);
        for stream in &request.streams {
            self.sender.end_reset(*stream, performed);
        }
        if performed {
            self.tell_reset(Direction::Outgoing, request.streams);
        } else {
            let (streams, why) = (request.streams, result.to_string());
            self.journal.tell(Event::ResetRefused { streams, why });
        }
    }

    fn tell_reset(&mut self, direction: Direction, streams: Vec<StreamId>) {
        self.journal.tell(Event::StreamsReset { direction, streams });
    }
}

/// RFC 6525 section 3.1: "each RE-CONFIG chunk holds at least one parameter and at most two
/// parameters. Only the following combinations are allowed".
fn may_stand_together(parameters: &[Parameter<'_>]) -> bool {
    use Parameter as P;
    match parameters {
        [one] => matches!(one, P::ReconfigurationResponse(_)) || request_number(one).is_some(),
        [first, second] => matches!(
            (first, second),
            (P::OutgoingSsnResetRequest(_), P::IncomingSsnResetRequest(_))
                | (P::AddOutgoingStreamsRequest(_), P::AddIncomingStreamsRequest(_))
                | (P::ReconfigurationResponse(_), P::OutgoingSsnResetRequest(_))
                | (P::ReconfigurationResponse(_), P::ReconfigurationResponse(_))
        ),
        _ => false,
    }
}

/// The Request Sequence Number of a request.
fn request_number(parameter: &Parameter<'_>) -> Option<u32> {
    if let Parameter::OutgoingSsnResetRequest(request) = parameter {
        Some(request.request_sequence_number)
    } else if let Parameter::IncomingSsnResetRequest(request) = parameter {
        Some(request.request_sequence_number)
    } else if let Parameter::SsnTsnResetRequest { request_sequence_number } = parameter {
        Some(*request_sequence_number)
    } else if let Parameter::AddOutgoingStreamsRequest(request)
    | Parameter::AddIncomingStreamsRequest(request) = parameter
    {
        Some(request.request_sequence_number)
    } else {
        None
    }
}
