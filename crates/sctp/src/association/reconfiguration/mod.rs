//! Reconfiguring streams (RFC 6525): our requests, one at a time, and the peer's.
//!
//! [`reset`] begins streams anew, [`streams`] adds more; the numbering of TSNs stays as it is.

mod reset;
mod streams;

use std::collections::{BTreeMap, VecDeque};

use anabranch_sansio::Time;
use anabranch_wire::{
    AddStreamsRequest, ErrorCause, ErrorCauses, ErrorChunk, Items, OutgoingSsnResetRequest,
    Parameter, Parameters, ReConfig, ReconfigurationResponse, ReconfigurationResult, StreamId, Tsn,
};

use super::Association;
use super::control::Bundling;
use crate::event::{Direction, Event};
use crate::path_name::PathSlot;
use crate::sequence::tsn;
use streams::Wanted;

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
    /// Streams that are to be added.
    streams: Wanted,
    /// The peer's request to reset streams that ours answers.
    asked_by: Option<u32>,
    /// The peer's request to add streams that ours answers.
    streams_asked_by: Option<u32>,
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
    asked: Asked,
    /// The Re-configuration Timer.
    timer: Time,
    path: PathSlot,
    /// Whether the peer said that it works on it.
    is_in_progress: bool,
}

/// What a request asks for.
#[derive(Debug)]
enum Asked {
    /// That streams of ours begin anew.
    Reset { response_number: u32, last_assigned_tsn: Tsn, streams: Vec<StreamId> },
    /// So many more streams, of ours or of the peer's.
    Streams { direction: Direction, count: u16 },
}

impl Asked {
    fn parameter(&self, number: u32) -> Parameter<'_> {
        match self {
            Self::Reset { response_number, last_assigned_tsn, streams } => {
                Parameter::OutgoingSsnResetRequest(OutgoingSsnResetRequest {
                    request_sequence_number: number,
                    response_sequence_number: *response_number,
                    last_assigned_tsn: *last_assigned_tsn,
                    streams: Items::from_slice(streams),
                })
            }
            Self::Streams { direction, count: new_streams } => {
                let new_streams = *new_streams;
                let request = AddStreamsRequest { request_sequence_number: number, new_streams };
                match direction {
                    Direction::Outgoing => Parameter::AddOutgoingStreamsRequest(request),
                    Direction::Incoming => Parameter::AddIncomingStreamsRequest(request),
                }
            }
        }
    }
}

impl Reconfiguration {
    /// RFC 6525 section 4.1: the Request Sequence Number "is a monotonically increasing number that
    /// is initialized to the same value as the initial TSN."
    pub(super) fn new(is_supported: bool, initial_tsn: Tsn, peer_initial_tsn: Tsn) -> Self {
        Self {
            is_supported,
            next_request: initial_tsn.0,
            wanted: BTreeMap::new(),
            streams: Wanted::default(),
            asked_by: None,
            streams_asked_by: None,
            in_flight: None,
            expected_request: peer_initial_tsn.0,
            results: VecDeque::new(),
        }
    }

    /// Streams that wait to be reset, or for the answer.
    fn concerns(&self, stream: StreamId) -> bool {
        let asked = self.in_flight.as_ref().map(|request| &request.asked);
        self.wanted.contains_key(&stream)
            || matches!(asked, Some(Asked::Reset { streams, .. }) if streams.contains(&stream))
    }

    /// Streams of a direction that we asked for, and have no answer yet.
    fn streams_in_flight(&self, direction: Direction) -> u16 {
        match self.in_flight.as_ref().map(|request| &request.asked) {
            Some(Asked::Streams { direction: asked, count }) if *asked == direction => *count,
            Some(Asked::Streams { .. } | Asked::Reset { .. }) | None => 0,
        }
    }

    /// A request of the peer's is answered by one of ours, which ended.
    fn remember_result(&mut self, number: u32, result: ReconfigurationResult) {
        let response_sequence_number = number;
        self.remember(ReconfigurationResponse {
            response_sequence_number,
            result,
            next_tsns: None,
        });
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
    /// Goes on with requests that wait for their turn, or for streams to be at rest.
    pub(super) fn advance_reconfiguration(&mut self, now: Time) {
        if let Some(streams) = self.receiver.as_mut().and_then(|receiver| receiver.settle_reset()) {
            self.on_incoming_reset(streams);
        }
        if self.reconfiguration.streams.any() {
            self.ask_for_streams(now);
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

    /// Sends a request, and awaits its answer.
    fn ask(&mut self, now: Time, asked: Asked) {
        let path = self.sender.paths.current();
        let reconfiguration = &mut self.reconfiguration;
        let number = reconfiguration.next_request;
        // RFC 6525 section 5.1.2, A2: "The next re-configuration request sequence number MUST then
        // be incremented by 1."
        reconfiguration.next_request = number.wrapping_add(1);
        let timer = now + self.sender.paths.at(path).rtt.rto();
        let request = Request { number, asked, timer, path, is_in_progress: false };
        reconfiguration.in_flight = Some(request);
        self.send_request();
    }

    fn send_request(&mut self) {
        let Some(request) = &self.reconfiguration.in_flight else { return };
        let path = request.path;
        let mut parameters = Vec::new();
        request.asked.parameter(request.number).encode(&mut parameters);
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
        // RFC 6525 section 5.2.1: "If the received RE-CONFIG chunk contains at least one request
        // parameter, a selective acknowledgment (SACK) chunk SHOULD be sent back".
        let asks = parameters.iter().any(|parameter| request_number(parameter).is_some());
        if let Some(receiver) = self.receiver.as_mut().filter(|_| asks) {
            receiver.tracker.demand_sack();
        }
        if !responses.is_empty() {
            self.send_re_config(self.reply_path(path), &responses);
        }
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

    /// Handles one parameter; a request gets an answer, unless it is one of ours.
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
        if reconfiguration.streams_asked_by == Some(number) {
            return None;
        }
        let is_expected = number == reconfiguration.expected_request;
        let mut result = ReconfigurationResult::BAD_SEQUENCE_NUMBER;
        if is_expected {
            reconfiguration.expected_request = number.wrapping_add(1);
            result = self.on_reconfiguration_request(parameter)?;
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

    fn on_reconfiguration_request(
        &mut self,
        request: &Parameter<'_>,
    ) -> Option<ReconfigurationResult> {
        if let Parameter::OutgoingSsnResetRequest(request) = request {
            Some(self.on_outgoing_reset_request(request))
        } else if let Parameter::IncomingSsnResetRequest(request) = request {
            Some(self.on_incoming_reset_request(request))
        } else if let Parameter::AddOutgoingStreamsRequest(request) = request {
            Some(self.on_add_outgoing_streams_request(*request))
        } else if let Parameter::AddIncomingStreamsRequest(request) = request {
            self.on_add_incoming_streams_request(*request)
        } else {
            // TSNs are not reset.
            Some(ReconfigurationResult::DENIED)
        }
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
            if let Asked::Streams { direction, count: streams } = request.asked {
                self.journal.tell(Event::AddInProgress { direction, streams });
            }
            reconfiguration.in_flight = Some(request);
            return;
        }
        match request.asked {
            Asked::Reset { response_number, streams, .. } => {
                self.on_reset_answered(response_number, streams, result);
            }
            Asked::Streams { direction, count } => {
                self.on_streams_answered(direction, count, result);
            }
        }
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
