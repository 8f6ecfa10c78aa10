//! [`NativeViewer`]: a [`Viewer`] that speaks SCTP over UDP, as a machine.

use std::net::SocketAddr;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use anabranch_transport::{
    CloseReason, ConnectError, Connection, ConnectionId, ConnectionStats, Encryption, Event,
    SctpTransport, Transport,
};

use super::{Viewer, ViewerEvent};
use crate::sctp::{self, SCTP_PORT, between_server_and_viewer};

/// A viewer that has a transport of its own: SCTP over UDP, unless it is given another.
#[derive(Debug)]
pub struct NativeViewer {
    transport: Box<dyn Transport>,
    id: Option<ConnectionId>,
    viewer: Viewer,
    closed: Option<CloseReason>,
}

/// What a native viewer reports.
#[derive(Debug, Clone, PartialEq)]
pub enum NativeEvent {
    /// Of the session.
    Session(ViewerEvent),
    /// The connection has ended.
    Closed(CloseReason),
}

impl NativeViewer {
    /// A viewer that has not called yet, and encrypts if it is told how. The generator must be
    /// unpredictable on real networks.
    #[must_use]
    pub fn new(viewer: Viewer, encryption: Option<Encryption>, rng: Rng) -> Self {
        let config = between_server_and_viewer(sctp::native()).with_encryption(encryption);
        Self::over(Box::new(SctpTransport::new(config, SCTP_PORT, rng)), viewer)
    }

    /// A viewer over any transport, whose connections have as many streams as
    /// [`Viewer::streams`] says.
    #[must_use]
    pub fn over(transport: Box<dyn Transport>, viewer: Viewer) -> Self {
        Self { transport, id: None, viewer, closed: None }
    }

    /// Calls the server at the other end of `paths`, the first of which is the primary.
    ///
    /// # Errors
    /// The transport refuses.
    pub fn connect(&mut self, now: Time, paths: &[FourTuple]) -> Result<(), ConnectError> {
        self.id = Some(self.transport.connect(now, paths)?);
        self.pump(now);
        Ok(())
    }

    /// Begins anew with another session; what is left of the connection is dropped. It is
    /// to [`connect`](Self::connect) then.
    pub fn renew(&mut self, viewer: Viewer) {
        if let Some(id) = self.id.take() {
            self.transport.forget(id);
        }
        (self.viewer, self.closed) = (viewer, None);
    }

    /// The session.
    #[must_use]
    pub const fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// Asks the server for something.
    pub fn act<T>(&mut self, now: Time, act: impl FnOnce(&mut Viewer) -> T) -> T {
        let result = act(&mut self.viewer);
        self.pump(now);
        result
    }

    /// Opens a further path to the server, if there is one and room for it.
    pub fn open_path(&mut self, now: Time, path: FourTuple) {
        if let Some(connection) = self.connection_mut() {
            connection.open_path(now, path);
        }
        self.pump(now);
    }

    /// Nothing can be sent from this address any more.
    pub fn close_paths_from(&mut self, now: Time, local: SocketAddr) {
        if let Some(connection) = self.connection_mut() {
            connection.close_paths_from(now, local);
        }
        self.pump(now);
    }

    /// Leaves in order.
    pub fn leave(&mut self, now: Time) {
        if let Some(connection) = self.connection_mut() {
            connection.shutdown(now);
        }
        self.pump(now);
    }

    /// What the network does to it: paths, round-trip times, losses; `None` without a connection.
    #[must_use]
    pub fn network(&self) -> Option<ConnectionStats> {
        Some(self.transport.connection(self.id?)?.stats())
    }

    /// The key that the server has proved to have.
    #[must_use]
    pub fn peer_key(&self) -> Option<Vec<u8>> {
        self.transport.connection(self.id?)?.peer_key()
    }

    fn connection_mut(&mut self) -> Option<&mut dyn Connection> {
        self.transport.connection_mut(self.id?)
    }

    fn pump(&mut self, now: Time) {
        while let Some((id, event)) = self.transport.poll_event() {
            match event {
                Event::Closed { reason, .. } => self.closed = Some(reason),
                Event::Readable => {
                    let Some(connection) = self.transport.connection_mut(id) else { continue };
                    while let Some(message) = connection.receive() {
                        self.viewer.handle_message(now, &message);
                    }
                }
                Event::Connected { .. }
                | Event::Restarted { .. }
                | Event::Writable
                | Event::Path(_)
                | Event::RateChanged(_) => {}
                _ => {}
            }
        }
        if let Some(connection) = self.id.and_then(|id| self.transport.connection_mut(id)) {
            self.viewer.serve(now, connection);
        }
    }
}

impl Machine for NativeViewer {
    type Event = NativeEvent;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.transport.handle_datagram(now, datagram);
        self.pump(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.transport.handle_timeout(now);
        self.pump(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.transport.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.transport.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<NativeEvent> {
        let session = self.viewer.poll_event().map(NativeEvent::Session);
        session.or_else(|| self.closed.take().map(NativeEvent::Closed))
    }

    fn set_tracing(&mut self, on: bool) {
        self.transport.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.transport.poll_trace()
    }
}

#[cfg(test)]
mod tests {
    use anabranch_rtc::Protocol;

    use super::*;

    #[test]
    fn a_native_datagram_does_not_look_like_a_browsers() {
        assert_eq!(Protocol::of(&SCTP_PORT.to_be_bytes()), None);
        assert_eq!(Protocol::of(&1_023_u16.to_be_bytes()), Some(Protocol::Stun));
        for (port, is_free) in [(1_024_u16, true), (5_119, true), (5_120, false), (16_383, false)] {
            assert_eq!(Protocol::of(&port.to_be_bytes()).is_none(), is_free, "{port}");
        }
    }
}
