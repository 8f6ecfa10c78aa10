//! SCTP's words in those of any transport.

use anabranch_sctp as sctp;
use anabranch_wire as wire;

use crate::{
    CloseReason, ConnectionStats, Event, Incoming, Level, LevelStats, PathEvent, PathPreference,
    PathReport, PathState, PayloadId, RateSignal, RefusedCallReason, Reliability, SendError,
    StrangerStats, StreamId, StreamStats,
};

pub(super) const fn stream(id: StreamId) -> wire::StreamId {
    wire::StreamId(id.0)
}

/// What is of no concern to media is `None`.
pub(super) fn event(
    event: sctp::Event,
    has_key: bool,
    config: &sctp::AssociationConfig,
) -> Option<Event> {
    Some(match event {
        sctp::Event::Connected { incoming, outbound_streams: streams, partial_reliability } => {
            Event::Connected { incoming, streams, partial_reliability }
        }
        sctp::Event::Restarted => {
            Event::Restarted { partial_reliability: config.extensions.partial_reliability }
        }
        sctp::Event::Readable => Event::Readable,
        sctp::Event::Writable => Event::Writable,
        sctp::Event::PathAdded { path, tuple } => Event::Path(PathEvent::Added { path, tuple }),
        sctp::Event::PathRemoved { path, last } => {
            Event::Path(PathEvent::Removed { path, last: Box::new((*last).into()) })
        }
        sctp::Event::PathMoved { path, from, to } => {
            Event::Path(PathEvent::Moved { path, from, to })
        }
        sctp::Event::PathStateChanged { path, from, to } => {
            Event::Path(PathEvent::StateChanged { path, from: from.into(), to: to.into() })
        }
        sctp::Event::DataPathChanged { from, to } => {
            Event::Path(PathEvent::DataPathChanged { from, to })
        }
        sctp::Event::RateChanged(signal) => Event::RateChanged(signal.into()),
        sctp::Event::Closed { reason, stats } => {
            let stats = Box::new((*stats).into());
            Event::Closed { reason: close_reason(reason, has_key), stats }
        }
        // Media resets no streams; a peer that does harms only its own order.
        sctp::Event::StreamsReset { .. }
        | sctp::Event::ResetRefused { .. }
        | sctp::Event::SendFailed { .. }
        | sctp::Event::SenderDry
        | sctp::Event::PeerError { .. }
        | sctp::Event::StreamsAdded { .. }
        | sctp::Event::AddInProgress { .. }
        | sctp::Event::AddRefused { .. }
        | sctp::Event::PeerClosing => return None,
        _ => return None,
    })
}

fn close_reason(reason: sctp::CloseReason, has_key: bool) -> CloseReason {
    match reason {
        sctp::CloseReason::Shutdown => CloseReason::Shutdown,
        sctp::CloseReason::Aborted => CloseReason::Aborted,
        sctp::CloseReason::AbortedByPeer { causes } => aborted_by_peer(&causes),
        sctp::CloseReason::HandshakeTimeout => CloseReason::HandshakeTimeout,
        sctp::CloseReason::KeyRefused => CloseReason::KeyRefused { has_key },
        sctp::CloseReason::PeerNotAuthenticated => CloseReason::PeerNotAuthenticated,
        sctp::CloseReason::NoKeys { what } => CloseReason::NoKeys { what },
        sctp::CloseReason::KeysTimeout => CloseReason::KeysTimeout,
        sctp::CloseReason::PeerUntrusted { what } => CloseReason::PeerUntrusted { what },
        sctp::CloseReason::PeerNotEncrypted => CloseReason::PeerNotEncrypted,
        sctp::CloseReason::PeerDemandsEncryption => CloseReason::PeerDemandsEncryption,
        sctp::CloseReason::PeerUnreachable => CloseReason::PeerUnreachable,
        sctp::CloseReason::ShutdownTimeout => CloseReason::ShutdownTimeout,
        sctp::CloseReason::PeerMisbehaved { what } => CloseReason::PeerMisbehaved { what },
        // Reasons that a later version of the transport has.
        other => CloseReason::AbortedByPeer { reason: other.to_string() },
    }
}

pub(super) const fn refused_call_reason(why: sctp::RefusedCallReason) -> RefusedCallReason {
    match why {
        sctp::RefusedCallReason::NotAuthenticated => RefusedCallReason::Key,
        sctp::RefusedCallReason::OtherKey => RefusedCallReason::RightKey,
        sctp::RefusedCallReason::NotEncrypted => RefusedCallReason::Encryption,
    }
}

/// RFC 9260 section 8.4: a packet of no association is answered with an ABORT, which has no cause.
fn aborted_by_peer(causes: &sctp::PeerCauses) -> CloseReason {
    match causes.user_reason() {
        Some(words) => {
            CloseReason::PeerLeft { reason: String::from_utf8_lossy(words).into_owned() }
        }
        None if causes.is_empty() => CloseReason::PeerForgot,
        None => CloseReason::AbortedByPeer { reason: causes.to_string() },
    }
}

impl From<sctp::PathState> for PathState {
    fn from(state: sctp::PathState) -> Self {
        match state {
            sctp::PathState::Active => Self::Active,
            sctp::PathState::PotentiallyFailed => Self::PotentiallyFailed,
            sctp::PathState::Inactive => Self::Inactive,
            sctp::PathState::Unconfirmed => Self::Unconfirmed,
        }
    }
}

impl From<Reliability> for sctp::Reliability {
    fn from(reliability: Reliability) -> Self {
        match reliability {
            Reliability::Reliable => Self::Reliable,
            Reliability::Lifetime(lifetime) => Self::Lifetime(lifetime),
            Reliability::MaxRetransmissions(most) => Self::MaxRetransmissions(most),
        }
    }
}

impl From<PathPreference> for sctp::PathPreference {
    fn from(preference: PathPreference) -> Self {
        match preference {
            PathPreference::Any => Self::Any,
            PathPreference::Prefer(id) => Self::Prefer(id),
            PathPreference::Two => Self::Two,
        }
    }
}

impl From<Level> for sctp::Level {
    fn from(level: Level) -> Self {
        match level {
            Level::Urgent => Self::Urgent,
            Level::High => Self::High,
            Level::Normal => Self::Normal,
            Level::Low => Self::Low,
        }
    }
}

impl From<sctp::SendError> for SendError {
    fn from(error: sctp::SendError) -> Self {
        let is_full = matches!(error, sctp::SendError::BufferFull { .. });
        if is_full { Self::Full } else { Self::Refused(error.to_string()) }
    }
}

impl From<sctp::IncomingMessage> for Incoming {
    fn from(message: sctp::IncomingMessage) -> Self {
        Self {
            stream: StreamId(message.stream.0),
            payload_id: PayloadId(message.ppid.0),
            payload: message.payload,
            completed_at: message.completed_at,
            path: message.path,
            fills_gap: message.fills_gap,
        }
    }
}

impl From<sctp::RateSignal> for RateSignal {
    fn from(signal: sctp::RateSignal) -> Self {
        let sctp::RateSignal { carries, is_at_least, queued } = signal;
        Self { carries, is_at_least, queued }
    }
}

impl From<sctp::AssociationStats> for ConnectionStats {
    fn from(stats: sctp::AssociationStats) -> Self {
        Self {
            queued: stats.queued,
            in_flight: stats.in_flight,
            peer_window: stats.peer_window,
            recoveries: stats.fast_recoveries,
            rate: stats.rate.map(RateSignal::from),
            sends_once: false,
            paths: stats.paths.into_iter().map(PathReport::from).collect(),
            levels: levels(stats.levels),
        }
    }
}

/// All are zero where levels were not agreed upon.
fn levels(levels: [sctp::LevelStats; 4]) -> Vec<LevelStats> {
    if levels.iter().all(|level| *level == sctp::LevelStats::default()) {
        return Vec::new();
    }
    levels.map(LevelStats::from).into()
}

impl From<sctp::LevelStats> for LevelStats {
    fn from(stats: sctp::LevelStats) -> Self {
        let sctp::LevelStats { waiting, waiting_bytes, read, dropped, delay_p50, delay_p99 } =
            stats;
        Self { waiting, waiting_bytes, read, dropped, delay_p50, delay_p99 }
    }
}

impl From<sctp::StreamStats> for StreamStats {
    fn from(stats: sctp::StreamStats) -> Self {
        Self {
            messages_queued: stats.messages_queued,
            bytes_queued: stats.bytes_queued,
            messages_sent: stats.messages_sent,
            bytes_sent: stats.bytes_sent,
            chunks_retransmitted: stats.chunks_retransmitted,
            bytes_retransmitted: stats.bytes_retransmitted,
            chunks_copied: stats.chunks_copied,
            bytes_copied: stats.bytes_copied,
            abandoned_unsent: stats.abandoned_unsent,
            abandoned_expired: stats.abandoned_expired,
            abandoned_retransmissions: stats.abandoned_retransmissions,
        }
    }
}

impl From<sctp::PathReport> for PathReport {
    fn from(report: sctp::PathReport) -> Self {
        let counters = report.counters;
        Self {
            id: report.id,
            tuple: report.tuple,
            state: report.state.into(),
            is_wanted: report.is_wanted,
            is_spared: report.is_spared,
            is_primary: report.is_primary,
            is_current: report.is_current,
            srtt: report.srtt,
            rttvar: report.rttvar,
            rto: report.rto,
            window: report.window,
            in_flight: report.in_flight,
            packets_sent: counters.packets_sent,
            bytes_sent: counters.bytes_sent,
            packets_received: counters.packets_received,
            bytes_received: counters.bytes_received,
            chunks_sent: counters.chunks_sent,
            chunks_retransmitted: counters.chunks_retransmitted,
            chunks_copied: counters.chunks_copied,
            chunks_lost: counters.chunks_lost,
            chunks_lost_in_error: counters.spurious_retransmissions,
            timeouts: counters.timeouts,
        }
    }
}

impl From<sctp::EndpointStats> for StrangerStats {
    fn from(stats: sctp::EndpointStats) -> Self {
        Self {
            malformed: stats.malformed,
            unknown: stats.out_of_the_blue,
            calls_answered: stats.init_acks_sent,
            calls_refused: stats.inits_refused,
            cookies_forged: stats.cookies_forged,
            cookies_stale: stats.cookies_stale,
            cookies_replayed: stats.cookies_replayed,
            replies_suppressed: stats.replies_suppressed,
            key_agreements_deferred: stats.key_agreements_deferred,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_gives_no_reason_does_not_know_the_connection() {
        let causes = sctp::PeerCauses::default();
        let reason = close_reason(sctp::CloseReason::AbortedByPeer { causes }, false);
        assert_eq!(reason, CloseReason::PeerForgot);
    }

    #[test]
    fn whoever_was_not_let_in_learns_whether_it_had_a_key() {
        for has_key in [true, false] {
            let reason = close_reason(sctp::CloseReason::KeyRefused, has_key);
            assert_eq!(reason, CloseReason::KeyRefused { has_key });
        }
    }

    #[test]
    fn levels_are_those_of_sctp() {
        assert_eq!(Level::ALL.map(sctp::Level::from), sctp::Level::ALL);
    }

    #[test]
    fn only_a_lack_of_room_passes() {
        let message = sctp::OutgoingMessage::new(wire::StreamId(0), bytes::Bytes::new());
        let message = Box::new(message);
        let full = sctp::SendError::BufferFull { queued: 1, limit: 1, message };
        assert_eq!(SendError::from(full), SendError::Full);
        let refused = SendError::from(sctp::SendError::Empty);
        assert!(matches!(refused, SendError::Refused(words) if words.contains("empty")));
    }
}
