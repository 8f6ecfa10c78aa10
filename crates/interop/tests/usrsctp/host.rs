//! [`Host`]: our side of a test, an endpoint on real sockets with one association.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use anabranch_driver::emulator::{EmulatedLink, Emulator, EmulatorConfig};
use anabranch_driver::{Driver, Handle, SocketSet};
use anabranch_netsim::{LinkConfig, Loss};
use anabranch_sansio::{FourTuple, Rng, Time};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, AssociationStats, CloseReason, Endpoint,
    EndpointConfig, Event, IncomingMessage, OutgoingMessage, SendError,
};

use crate::peer::{Caller, Chunks, Peer};

/// SCTP's own: ours, and the peer's.
const PORTS: (u16, u16) = (5_000, 5_001);

#[derive(Debug)]
pub(crate) struct Host {
    handle: Handle<Endpoint>,
    association: Option<AssociationId>,
    messages: VecDeque<IncomingMessage>,
    closed: Option<(CloseReason, Box<AssociationStats>)>,
    /// What the packets cross, where that is more than this machine.
    _network: Option<Emulator>,
}

impl Host {
    /// Both ends are connected, straight.
    pub(crate) async fn connected(
        caller: Caller,
        chunks: Chunks,
        config: AssociationConfig,
    ) -> (Self, Peer) {
        let (own, theirs) = (free_address(), free_address());
        let mut host = Self::new(own, chunks, config.clone(), None);
        let peer = Peer::ready(caller, theirs.port(), own.port(), chunks).await;
        if caller == Caller::We {
            host.call(FourTuple::new(own, theirs), chunks, config);
        }
        host.until(|event| matches!(event, Event::Connected { .. })).await;
        (host, peer)
    }

    /// We call over a network that loses so many of the packets, each way.
    pub(crate) async fn connected_over_loss(
        loss: f64,
        chunks: Chunks,
        config: AssociationConfig,
    ) -> (Self, Peer) {
        let (own, theirs) = (free_address(), free_address());
        let link = LinkConfig {
            delay: Duration::from_millis(5),
            loss: Loss::uniform(loss),
            ..LinkConfig::default()
        };
        let link = EmulatedLink {
            name: "lossy".to_owned(),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            target: theirs,
            up: link.clone(),
            down: link,
        };
        let network = Emulator::spawn(EmulatorConfig { links: vec![link], seed: 1 });
        let network = network.expect("a link of this machine");
        let entry = network.listens_at("lossy").expect("its name");
        let peer = Peer::ready(Caller::We, theirs.port(), entry.port(), chunks).await;
        let mut host = Self::new(own, chunks, config.clone(), Some(network));
        host.call(FourTuple::new(own, entry), chunks, config);
        host.until(|event| matches!(event, Event::Connected { .. })).await;
        (host, peer)
    }

    fn new(
        own: SocketAddr,
        chunks: Chunks,
        config: AssociationConfig,
        network: Option<Emulator>,
    ) -> Self {
        let mut sockets = SocketSet::new();
        sockets.bind(own).expect("the port is free");
        let association = speaking(config, chunks);
        let config = EndpointConfig { accept: true, association, ..EndpointConfig::default() };
        let mut endpoint = Endpoint::new(config, Rng::from_u64(own.port().into()));
        endpoint.set_local_addresses(vec![own]);
        let handle = Driver::spawn(endpoint, sockets).expect("within a runtime");
        let messages = VecDeque::new();
        Self { handle, association: None, messages, closed: None, _network: network }
    }

    fn call(&mut self, path: FourTuple, chunks: Chunks, config: AssociationConfig) {
        let config = speaking(config, chunks);
        let connect = |endpoint: &mut Endpoint, now| endpoint.connect(now, &[path], PORTS, config);
        self.association = Some(self.handle.with(connect).expect("nothing stands against it"));
    }

    /// Hands a message over, when the send queue has room for it.
    pub(crate) async fn send(&mut self, message: OutgoingMessage) {
        loop {
            let again = message.clone();
            match self.with(|association, now| association.send(now, again)) {
                Ok(()) => return,
                Err(SendError::BufferFull { .. }) => {
                    self.until(|event| matches!(event, Event::Writable)).await;
                }
                Err(error) => panic!("a message is refused: {error}"),
            }
        }
    }

    /// The next messages, so many.
    pub(crate) async fn receive(&mut self, count: usize) -> Vec<IncomingMessage> {
        while self.messages.len() < count {
            assert_eq!(self.closed, None, "after {} messages", self.messages.len());
            self.next_event().await;
        }
        self.messages.drain(..count).collect()
    }

    pub(crate) fn shut_down(&self) {
        self.with(Association::shutdown);
    }

    pub(crate) fn abort(&self) {
        self.with(|association, _| association.abort("a test"));
    }

    /// Waits until the association has ended.
    pub(crate) async fn closed(&mut self) -> CloseReason {
        while self.closed.is_none() {
            self.next_event().await;
        }
        self.closed.as_ref().expect("just seen").0.clone()
    }

    pub(crate) fn stats(&self) -> AssociationStats {
        self.with(|association, _| association.stats())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Association, Time) -> T) -> T {
        let id = self.association.expect("there was a call");
        self.handle.with(|endpoint, now| {
            act(endpoint.association_mut(id).expect("the association has not ended"), now)
        })
    }

    async fn until(&mut self, is_it: impl Fn(&Event) -> bool) {
        while !is_it(&self.next_event().await) {
            assert_eq!(self.closed, None);
        }
    }

    async fn next_event(&mut self) -> Event {
        let (id, event) = self.handle.next_event().await.expect("the driver runs");
        self.association = Some(id);
        self.handle.with(|endpoint, _| {
            let association = endpoint.association_mut(id).into_iter();
            let received = association.flat_map(|it| std::iter::from_fn(|| it.receive()));
            self.messages.extend(received);
        });
        if let Event::Closed { reason, stats } = &event {
            self.closed = Some((reason.clone(), stats.clone()));
        }
        event
    }
}

fn speaking(config: AssociationConfig, chunks: Chunks) -> AssociationConfig {
    config.with(|config| config.extensions.message_interleaving = chunks == Chunks::IData)
}

/// An address of this machine with a port that nobody has.
fn free_address() -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    socket.local_addr().expect("it is bound")
}
