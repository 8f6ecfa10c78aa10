//! Streams that are added to an association: ours, and the peer's (RFC 6525 sections 5.1.5, 5.1.6,
//! 5.2.5 and 5.2.6).

use anabranch_sansio::Time;
use anabranch_wire::{AddStreamsRequest, ReconfigurationResult};

use super::super::{Association, State};
use super::Asked;
use crate::error::AddStreamsError;
use crate::event::{Direction, Event};

/// Streams that are to be added.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wanted {
    pub(super) outgoing: u16,
    pub(super) incoming: u16,
}

impl Wanted {
    pub(super) const fn any(self) -> bool {
        self.outgoing > 0 || self.incoming > 0
    }

    /// Those that are asked for next: one direction at a time.
    fn take(&mut self) -> Option<Asked> {
        let direction = match (self.outgoing, self.incoming) {
            (0, 0) => return None,
            (0, _) => Direction::Incoming,
            _ => Direction::Outgoing,
        };
        let count = std::mem::take(match direction {
            Direction::Outgoing => &mut self.outgoing,
            Direction::Incoming => &mut self.incoming,
        });
        Some(Asked::Streams { direction, count })
    }
}

impl Association {
    /// Asks for more streams: of ours, and of the peer's. [`Event::StreamsAdded`] or
    /// [`Event::AddRefused`] follows for each direction, [`Event::AddInProgress`] where the peer
    /// takes its time. New streams are numbered on from the last one.
    ///
    /// Until then [`StreamConfig::inbound_streams_max`](crate::StreamConfig::inbound_streams_max)
    /// counts as no lower than what was asked for.
    ///
    /// # Errors
    ///
    /// Says why nothing was asked.
    pub fn add_streams(
        &mut self,
        now: Time,
        outgoing: u16,
        incoming: u16,
    ) -> Result<(), AddStreamsError> {
        if !matches!(self.state, State::Established) {
            return Err(AddStreamsError::NotEstablished);
        }
        // RFC 6525 section 5.1.1: "If the chunk type of the RE-CONFIG chunk does not appear in the
        // supported extension's list of chunks, then the sender MUST NOT send any re-configuration
        // request to the peer, and any request by the application for such service SHOULD be
        // responded to with an appropriate error".
        if !self.reconfiguration.is_supported {
            return Err(AddStreamsError::NotSupported);
        }
        let outgoing = self.streams_with(Direction::Outgoing, outgoing)?;
        let incoming = self.streams_with(Direction::Incoming, incoming)?;
        self.reconfiguration.streams.outgoing += outgoing.added;
        self.reconfiguration.streams.incoming += incoming.added;
        let limit = &mut self.config.streams.inbound_streams_max;
        *limit = incoming.total.max(*limit);
        self.advance_reconfiguration(now);
        Ok(())
    }

    /// How many streams of a direction there would be with so many more than there are or will be.
    fn streams_with(&self, direction: Direction, added: u16) -> Result<Growth, AddStreamsError> {
        let (present, wanted) = match direction {
            Direction::Outgoing => (self.outbound_streams(), self.reconfiguration.streams.outgoing),
            Direction::Incoming => (self.inbound_streams(), self.reconfiguration.streams.incoming),
        };
        let asked = self.reconfiguration.streams_in_flight(direction);
        let streams = [present, wanted, asked, added].map(u32::from).iter().sum();
        let total = u16::try_from(streams);
        let limit = u16::MAX;
        let total = total.map_err(|_| AddStreamsError::TooMany { streams, limit })?;
        Ok(Growth { added, total })
    }

    /// Asks for the streams that are wanted, if nothing else was asked.
    ///
    /// RFC 6525 section 5.1.1: "At any given time, there MUST NOT be more than one request in
    /// flight."
    pub(super) fn ask_for_streams(&mut self, now: Time) {
        if self.reconfiguration.in_flight.is_none()
            && self.state.may_send_data()
            && let Some(asked) = self.reconfiguration.streams.take()
        {
            self.ask(now, asked);
        }
    }

    /// RFC 6525 section 5.2.5: "If the response is successful, the receiver MUST add the requested
    /// number of inbound streams to the association, initializing the next expected SSN to 0. The
    /// SCTP endpoint SHOULD deny the request if the number of streams exceeds a limit that should
    /// be configurable by the application."
    pub(super) fn on_add_outgoing_streams_request(
        &mut self,
        request: AddStreamsRequest,
    ) -> ReconfigurationResult {
        let (count, limit) = (request.new_streams, self.config.streams.inbound_streams_max);
        if count == 0 {
            return ReconfigurationResult::NOTHING_TO_DO;
        }
        if !self.receiver.as_mut().is_some_and(|receiver| receiver.add_streams(count, limit)) {
            return ReconfigurationResult::DENIED;
        }
        // It may be the answer to a request of ours: see the next function.
        if self.reconfiguration.streams_in_flight(Direction::Incoming) == count {
            self.reconfiguration.in_flight = None;
            self.sender.clear_errors();
        }
        let direction = Direction::Incoming;
        self.journal.tell(Event::StreamsAdded { direction, streams: count });
        ReconfigurationResult::PERFORMED
    }

    /// The peer wants us to have more streams. A request of ours is the answer, so that there is no
    /// result yet.
    ///
    /// RFC 6525 section 5.2.6: "it MUST either send a response parameter denying the request or
    /// send a corresponding Add Outgoing Streams Request Parameter, following the rules given in
    /// Section 5.1.5. The SCTP endpoint SHOULD deny the request if the number of streams exceeds a
    /// limit that should be configurable by the application."
    pub(super) fn on_add_incoming_streams_request(
        &mut self,
        request: AddStreamsRequest,
    ) -> Option<ReconfigurationResult> {
        let AddStreamsRequest { request_sequence_number, new_streams } = request;
        if new_streams == 0 {
            return Some(ReconfigurationResult::NOTHING_TO_DO);
        }
        let limit = self.config.streams.outbound_streams_max;
        match self.streams_with(Direction::Outgoing, new_streams) {
            Ok(Growth { total, .. }) if total <= limit => {}
            Ok(_) | Err(_) => return Some(ReconfigurationResult::DENIED),
        }
        let reconfiguration = &mut self.reconfiguration;
        if reconfiguration.in_flight.is_some() || reconfiguration.streams.outgoing > 0 {
            return Some(ReconfigurationResult::REQUEST_ALREADY_IN_PROGRESS);
        }
        reconfiguration.streams.outgoing = new_streams;
        reconfiguration.streams_asked_by = Some(request_sequence_number);
        None
    }

    /// The peer answered a request for streams.
    pub(super) fn on_streams_answered(
        &mut self,
        direction: Direction,
        streams: u16,
        result: ReconfigurationResult,
    ) {
        let is_performed = result == ReconfigurationResult::PERFORMED;
        if direction == Direction::Outgoing {
            let asked_by = self.reconfiguration.streams_asked_by.take();
            if let Some(asked_by) = asked_by {
                self.reconfiguration.remember_result(asked_by, result);
            }
        }
        if !is_performed {
            return self.journal.tell(Event::AddRefused { direction, streams, result });
        }
        match direction {
            // RFC 6525 section 5.2.7, H6: "If the request was to add outgoing streams, the endpoint
            // MUST add the additional streams to the association."
            Direction::Outgoing => {
                self.sender.add_streams(streams);
                self.journal.tell(Event::StreamsAdded { direction, streams });
            }
            // They come with a request of the peer's.
            Direction::Incoming => {}
        }
    }
}

/// Streams that may be added.
#[derive(Debug, Clone, Copy)]
struct Growth {
    added: u16,
    total: u16,
}
