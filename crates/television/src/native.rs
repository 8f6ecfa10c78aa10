//! [`Server`]: television over SCTP on UDP, as a machine; [`NativeViewer`], its other end.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit, Wakeup};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, CloseReason, ConnectError, Endpoint,
    EndpointConfig, Event,
};

use crate::server::{Television, ViewerId, association};
use crate::viewer::{Viewer, ViewerEvent};

/// SCTP's own port at both ends, inside UDP.
pub const SCTP_PORT: u16 = 5_004;

/// Channels for viewers that speak SCTP over UDP, over several paths if they have them.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    television: Television,
    viewers: BTreeMap<AssociationId, ViewerId>,
    associations: BTreeMap<ViewerId, AssociationId>,
}

impl Server {
    /// A server that answers. The generator must be unpredictable on real networks.
    #[must_use]
    pub fn new(television: Television, base: EndpointConfig, rng: Rng) -> Self {
        let config =
            EndpointConfig { accept: true, association: association(base.association), ..base };
        Self {
            endpoint: Endpoint::new(config, rng),
            television,
            viewers: BTreeMap::new(),
            associations: BTreeMap::new(),
        }
    }

    /// Which of its addresses viewers may use beside the one they called.
    pub fn set_local_addresses(&mut self, locals: Vec<SocketAddr>) {
        self.endpoint.set_local_addresses(locals);
    }

    /// Channels and viewers.
    #[must_use]
    pub const fn television(&self) -> &Television {
        &self.television
    }

    /// Changes channels or viewers, and sends what comes of it.
    pub fn act<T>(&mut self, now: Time, act: impl FnOnce(&mut Television) -> T) -> T {
        let result = act(&mut self.television);
        self.serve(now);
        result
    }

    /// The association of a viewer.
    #[must_use]
    pub fn association(&self, viewer: ViewerId) -> Option<&Association> {
        self.endpoint.association(*self.associations.get(&viewer)?)
    }

    fn pump(&mut self, now: Time) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            self.on_event(now, id, event);
        }
        self.serve(now);
    }

    fn on_event(&mut self, now: Time, id: AssociationId, event: Event) {
        match event {
            Event::Connected { .. } => self.on_connected(now, id),
            // A viewer that began anew has to say hello again.
            Event::Restarted => {
                self.on_closed(id);
                self.on_connected(now, id);
            }
            Event::Closed { .. } => self.on_closed(id),
            Event::Readable => {
                let Some(viewer) = self.viewers.get(&id).copied() else { return };
                while let Some(message) =
                    self.endpoint.association_mut(id).and_then(Association::receive)
                {
                    self.television.handle_message(now, viewer, &message);
                }
            }
            Event::Writable => {
                if let Some(viewer) = self.viewers.get(&id) {
                    self.television.handle_writable(*viewer);
                }
            }
            Event::PathAdded { .. }
            | Event::PathMoved { .. }
            | Event::PathStateChanged { .. }
            | Event::DataPathChanged { .. }
            | Event::RateChanged(_)
            | Event::StreamsReset { .. }
            | Event::ResetRefused { .. }
            | Event::PeerClosing => {}
        }
    }

    fn on_connected(&mut self, now: Time, id: AssociationId) {
        match self.television.viewer_came(now) {
            Some(viewer) => {
                self.viewers.insert(id, viewer);
                self.associations.insert(viewer, id);
            }
            None => {
                if let Some(association) = self.endpoint.association_mut(id) {
                    association.abort("there are as many viewers as the server takes");
                }
            }
        }
    }

    fn on_closed(&mut self, id: AssociationId) {
        if let Some(viewer) = self.viewers.remove(&id) {
            self.associations.remove(&viewer);
            self.television.viewer_left(viewer);
        }
    }

    fn serve(&mut self, now: Time) {
        while let Some(viewer) = self.television.poll_due() {
            let id = self.associations.get(&viewer);
            if let Some(association) = id.and_then(|id| self.endpoint.association_mut(*id)) {
                self.television.serve(now, viewer, association);
            }
        }
    }
}

impl Machine for Server {
    type Event = std::convert::Infallible;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.endpoint.handle_datagram(now, datagram);
        self.pump(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.endpoint.handle_timeout(now);
        self.television.handle_timeout(now);
        self.pump(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let transmit = self.endpoint.poll_transmit(now, buf);
        if transmit.is_none() {
            // What was sent may have made room.
            self.pump(now);
            return self.endpoint.poll_transmit(now, buf);
        }
        transmit
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.endpoint.poll_timeout().into_iter().chain(self.television.poll_timeout()).min()
    }

    fn poll_event(&mut self) -> Option<Self::Event> {
        None
    }
}

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
