//! [`NativeViewer`]: a [`Viewer`] that speaks SCTP over UDP, as a machine.

use std::net::SocketAddr;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit, Wakeup};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, CloseReason, ConnectError, Endpoint,
    EndpointConfig, Event,
};

use super::{Viewer, ViewerEvent};
use crate::server::association;

/// SCTP's own port at both ends, inside UDP.
///
/// A viewer's is the first thing in its datagrams, and must not look like a browser's: neither
/// below 1024, as STUN does, nor 5120 to 16383, as DTLS does (RFC 7983 section 7).
pub const SCTP_PORT: u16 = 5_004;

/// A viewer that speaks SCTP over UDP.
#[derive(Debug)]
pub struct NativeViewer {
    endpoint: Endpoint,
    config: AssociationConfig,
    id: Option<AssociationId>,
    viewer: Viewer,
    closed: Option<CloseReason>,
}

/// What a native viewer tells.
#[derive(Debug, Clone, PartialEq)]
pub enum NativeEvent {
    /// Of the session.
    Session(ViewerEvent),
    /// The association has ended.
    Closed(CloseReason),
}

impl NativeViewer {
    /// A viewer that has not called yet. The generator must be unpredictable on real networks.
    #[must_use]
    pub fn new(viewer: Viewer, base: EndpointConfig, rng: Rng) -> Self {
        let config = association(base.association.clone());
        let endpoint = Endpoint::new(base, rng);
        Self { endpoint, config, id: None, viewer, closed: None }
    }

    /// Calls the server at the other end of `paths`, the first of which is the primary.
    ///
    /// # Errors
    /// The transport refuses.
    pub fn connect(&mut self, now: Time, paths: &[FourTuple]) -> Result<(), ConnectError> {
        let ports = (SCTP_PORT, SCTP_PORT);
        self.id = Some(self.endpoint.connect(now, paths, ports, self.config.clone())?);
        self.pump(now);
        Ok(())
    }

    /// Begins anew with another session; what is left of the association is dropped. It is
    /// to [`connect`](Self::connect) then.
    pub fn renew(&mut self, viewer: Viewer) {
        if let Some(id) = self.id.take() {
            self.endpoint.forget(id);
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
        if let Some(association) = self.association_mut() {
            association.open_path(now, path);
        }
        self.pump(now);
    }

    /// Nothing can be sent from this address any more: see [`Association::close_paths_from`].
    pub fn close_paths_from(&mut self, now: Time, local: SocketAddr) {
        if let Some(association) = self.association_mut() {
            association.close_paths_from(now, local);
        }
        self.pump(now);
    }

    /// Leaves in order.
    pub fn leave(&mut self, now: Time) {
        if let Some(association) = self.association_mut() {
            association.shutdown(now);
        }
        self.pump(now);
    }

    /// The association, if there is one.
    #[must_use]
    pub fn association(&self) -> Option<&Association> {
        self.endpoint.association(self.id?)
    }

    fn association_mut(&mut self) -> Option<&mut Association> {
        self.endpoint.association_mut(self.id?)
    }

    fn pump(&mut self, now: Time) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Closed { reason, .. } => self.closed = Some(reason),
                Event::Readable => {
                    while let Some(message) =
                        self.endpoint.association_mut(id).and_then(Association::receive)
                    {
                        self.viewer.handle_message(now, &message);
                    }
                }
                Event::Connected { .. }
                | Event::Restarted
                | Event::Writable
                | Event::PathAdded { .. }
                | Event::PathMoved { .. }
                | Event::PathStateChanged { .. }
                | Event::DataPathChanged { .. }
                | Event::RateChanged(_)
                | Event::StreamsReset { .. }
                | Event::ResetRefused { .. }
                | Event::PeerClosing => {}
            }
        }
        if let Some(association) = self.id.and_then(|id| self.endpoint.association_mut(id)) {
            self.viewer.serve(now, association);
        }
    }
}

impl Machine for NativeViewer {
    type Event = NativeEvent;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.endpoint.handle_datagram(now, datagram);
        self.pump(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.endpoint.handle_timeout(now);
        self.pump(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.endpoint.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.endpoint.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<NativeEvent> {
        let session = self.viewer.poll_event().map(NativeEvent::Session);
        session.or_else(|| self.closed.take().map(NativeEvent::Closed))
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
