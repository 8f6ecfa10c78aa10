//! An association as a connection.

use std::net::SocketAddr;

use anabranch_sansio::{FourTuple, PathId, Time};
use anabranch_sctp::{Association, OutgoingMessage};
use anabranch_wire::Ppid;

use super::convert;
use crate::{
    Connection, ConnectionStats, Incoming, Outgoing, RateSignal, SendError, StreamId, StreamStats,
};

impl Connection for Association {
    fn send(&mut self, now: Time, message: Outgoing) -> Result<(), SendError> {
        let message = OutgoingMessage {
            ppid: Ppid(message.payload_id.0),
            ordered: message.ordered,
            reliability: message.reliability.into(),
            path: message.path.into(),
            level: message.level.into(),
            ..OutgoingMessage::new(convert::stream(message.stream), message.payload)
        };
        Self::send(self, now, message).map_err(SendError::from)
    }

    fn peer_key(&self) -> Option<Vec<u8>> {
        self.peer_identity().map(<[u8]>::to_vec)
    }

    fn receive(&mut self) -> Option<Incoming> {
        Self::receive(self).map(Incoming::from)
    }

    fn set_stream_priority(&mut self, stream: StreamId, priority: u16) {
        Self::set_stream_priority(self, convert::stream(stream), priority);
    }

    fn withdraw(&mut self, now: Time, stream: StreamId) {
        Self::withdraw(self, now, convert::stream(stream));
    }

    fn rate(&self) -> Option<RateSignal> {
        Self::rate(self).map(RateSignal::from)
    }

    fn queued(&self) -> usize {
        Self::queued(self)
    }

    fn queued_at(&self, priority: u16) -> usize {
        Self::queued_at(self, priority)
    }

    fn bytes_acked(&self) -> u64 {
        Self::bytes_acked(self)
    }

    fn is_drained(&self) -> bool {
        Self::is_drained(self)
    }

    fn last_heard(&self) -> Option<Time> {
        Self::last_heard(self)
    }

    fn whole_message_max(&self) -> usize {
        Self::whole_message_max(self)
    }

    fn stream_stats(&self, stream: StreamId) -> StreamStats {
        Self::stream_stats(self, convert::stream(stream)).map(StreamStats::from).unwrap_or_default()
    }

    fn stats(&self) -> ConnectionStats {
        Self::stats(self).into()
    }

    fn is_multihomed(&self) -> bool {
        Self::is_multihomed(self)
    }

    fn set_primary(&mut self, path: PathId) -> bool {
        Self::set_primary(self, path)
    }

    fn spare_path(&mut self, path: PathId, spared: bool) -> bool {
        Self::spare_path(self, path, spared)
    }

    fn open_path(&mut self, now: Time, tuple: FourTuple) -> Option<PathId> {
        Self::open_path(self, now, tuple)
    }

    fn close_paths_from(&mut self, now: Time, local: SocketAddr) {
        Self::close_paths_from(self, now, local);
    }

    fn shutdown(&mut self, now: Time) {
        Self::shutdown(self, now);
    }

    fn abort(&mut self, reason: &str) {
        Self::abort(self, reason);
    }
}
