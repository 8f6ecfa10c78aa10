//! What can be asked of an association: its state, its capabilities, its counters.

use anabranch_sansio::Time;
use anabranch_wire::StreamId;

use super::{Association, AssociationState, State};
use crate::format::DataFormat;
use crate::rate_signal::RateSignal;
use crate::receive::Receiver;
use crate::stats::{AssociationStats, StreamStats};

impl Association {
    /// The state of RFC 9260 section 4.
    #[must_use]
    pub const fn state(&self) -> AssociationState {
        match self.state {
            State::CookieWait(_) => AssociationState::CookieWait,
            State::CookieEchoed(_) => AssociationState::CookieEchoed,
            State::Established => AssociationState::Established,
            State::ShutdownPending => AssociationState::ShutdownPending,
            State::ShutdownSent(_) => AssociationState::ShutdownSent,
            State::ShutdownReceived => AssociationState::ShutdownReceived,
            State::ShutdownAckSent(_) => AssociationState::ShutdownAckSent,
            State::Closed => AssociationState::Closed,
        }
    }

    /// Our SCTP port.
    #[must_use]
    pub const fn local_port(&self) -> u16 {
        self.identity.local_port
    }

    /// The peer's SCTP port.
    #[must_use]
    pub const fn peer_port(&self) -> u16 {
        self.identity.peer_port
    }

    /// Whether the handshake is done and the association not yet ended.
    #[must_use]
    pub const fn is_established(&self) -> bool {
        !matches!(self.state, State::CookieWait(_) | State::CookieEchoed(_) | State::Closed)
    }

    /// Whether the association ended.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Whether the association has more than one path, whatever state they are in.
    #[must_use]
    pub fn is_multihomed(&self) -> bool {
        self.sender.paths.iter().filter(|path| !path.is_deleted()).nth(1).is_some()
    }

    /// Streams that we may send on: 0 to one less.
    #[must_use]
    pub fn outbound_streams(&self) -> u16 {
        self.sender.queue().stream_count()
    }

    /// Streams that the peer may send on: 0 to one less. 0 before the handshake told.
    #[must_use]
    pub fn inbound_streams(&self) -> u16 {
        self.receiver.as_ref().map_or(0, Receiver::stream_count)
    }

    /// Bytes that wait in the send queue, with what each message costs beside.
    #[must_use]
    pub const fn queued(&self) -> usize {
        self.sender.queue().queued()
    }

    /// Payload bytes that wait to be sent for the first time on streams of this priority.
    #[must_use]
    pub fn queued_at(&self, priority: u16) -> usize {
        self.sender.queue().queued_at(priority)
    }

    /// What the association can carry now; `None` until some data was sent.
    #[must_use]
    pub const fn rate(&self) -> Option<RateSignal> {
        self.sender.rate()
    }

    /// Bytes that wait in the send queue or are in flight.
    #[must_use]
    pub fn unacknowledged(&self) -> usize {
        self.sender.queue().queued() + self.sender.outstanding().bytes_outstanding()
    }

    /// Bytes of the longest message that is never cut, because it fits into one packet. A longer
    /// one is lost with any of its packets.
    #[must_use]
    pub fn whole_message_max(&self) -> usize {
        self.sender.whole_message_max(self.pmdcs())
    }

    /// Whether messages of different streams interleave (RFC 8260), as both ends offered.
    #[must_use]
    pub const fn interleaves_messages(&self) -> bool {
        matches!(self.sender.extensions().data_format(), DataFormat::IData)
    }

    /// Whether chunks are marked with their [`Level`](crate::Level), as both ends offered.
    #[must_use]
    pub const fn marks_levels(&self) -> bool {
        self.sender.extensions().level_marks
    }

    /// Whether packets go without a checksum (RFC 9653), as both ends offered.
    #[must_use]
    pub const fn omits_checksums(&self) -> bool {
        self.sender.extensions().zero_checksum
    }

    /// Bytes of DATA chunks that the peer has acknowledged.
    #[must_use]
    pub fn bytes_acked(&self) -> u64 {
        self.sender.paths.totals().bytes_acked
    }

    /// When the last packet came from the peer.
    #[must_use]
    pub fn last_heard(&self) -> Option<Time> {
        self.sender.paths.iter().filter_map(|path| path.last_heard).max()
    }

    /// Whether all that was handed over is delivered or abandoned.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.sender.is_drained()
    }

    /// What was sent on one stream.
    #[must_use]
    pub fn stream_stats(&self, stream: StreamId) -> Option<StreamStats> {
        self.sender.queue().stream_stats(stream).copied()
    }

    /// Counters and the state of all paths.
    #[must_use]
    pub fn stats(&self) -> AssociationStats {
        let received = self.receiver.as_ref().map(|receiver| receiver.stats).unwrap_or_default();
        AssociationStats {
            duplicates_received: received.duplicates,
            dropped_no_room: received.dropped_no_room,
            messages_received: received.messages,
            bytes_received: received.bytes,
            outstanding_chunks: self.sender.outstanding().len(),
            in_flight: self.sender.outstanding().bytes_in_flight(),
            queued: self.sender.queue().queued(),
            peer_window: self.sender.peer_window(),
            held: self.receiver.as_ref().map_or(0, |receiver| receiver.held().cost()),
            levels: self.receiver.as_ref().map(Receiver::level_stats).unwrap_or_default(),
            rate: self.rate(),
            streams: self.sender.queue().totals(),
            paths: self.sender.paths.iter().map(|path| self.sender.report_path(path)).collect(),
            path_totals: self.sender.paths.totals(),
            encryption: self.encrypted.as_ref().map(|encrypted| encrypted.epochs.stats),
            ..self.journal.stats.clone()
        }
    }
}
