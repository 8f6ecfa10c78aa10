//! [`Host`]: our side of a test, an endpoint on real sockets.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anabranch_driver::{Driver, Handle, SocketSet};
use anabranch_sansio::{FourTuple, Rng, Time};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, AssociationStats, CloseReason, Endpoint,
    EndpointConfig, Event, IncomingMessage, OutgoingMessage, SendError,
};

/// RFC 6951: both ends send from and to this UDP port.
const ENCAPSULATION_PORT: u16 = 9_899;
/// Packets of one size leave in one call, as applications have it.
const SEGMENTS_MAX: usize = 64;
/// How often a state is looked at that no event tells of.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// An endpoint on real sockets, with one association at a time.
#[derive(Debug)]
pub(crate) struct Host {
    handle: Handle<Endpoint>,
    config: AssociationConfig,
    association: Option<AssociationId>,
    messages: VecDeque<IncomingMessage>,
    closed: Option<(CloseReason, Box<AssociationStats>)>,
}

impl Host {
    /// Answers calls at these addresses if `accept`.
    pub(crate) fn at(addresses: &[&str], accept: bool) -> Self {
        Self::configured(addresses, accept, watchful())
    }

    /// As [`at`](Self::at); all associations get this configuration.
    pub(crate) fn configured(
        addresses: &[&str],
        accept: bool,
        association: AssociationConfig,
    ) -> Self {
        // Each host is another one to the kernel, also if it takes the place of one that vanished.
        static SEED: AtomicU64 = AtomicU64::new(1);
        let rng = Rng::from_u64(SEED.fetch_add(1, Ordering::Relaxed));
        let mut sockets = SocketSet::new();
        let locals: Vec<SocketAddr> = addresses.iter().map(|text| encapsulated(text)).collect();
        for local in &locals {
            sockets.bind(*local).expect("the networks are up and the port free");
        }
        let config = EndpointConfig {
            accept,
            association: association.clone(),
            segments_max: SEGMENTS_MAX,
            ..EndpointConfig::default()
        };
        let mut endpoint = Endpoint::new(config, rng);
        endpoint.set_local_addresses(locals);
        let handle = Driver::spawn(endpoint, sockets).expect("within a runtime");
        Self {
            handle,
            config: association,
            association: None,
            messages: VecDeque::new(),
            closed: None,
        }
    }

    /// Calls the kernel; each of our addresses makes a path with the one of the kernel's that is at
    /// the same place in its list. `ports` are SCTP's: ours, the kernel's.
    pub(crate) fn call(&mut self, ours: &[&str], kernels: &[&str], ports: (u16, u16)) {
        let paths: Vec<FourTuple> = ours
            .iter()
            .zip(kernels)
            .map(|(local, remote)| FourTuple::new(encapsulated(local), encapsulated(remote)))
            .collect();
        let config = self.config.clone();
        let connect = |endpoint: &mut Endpoint, now| endpoint.connect(now, &paths, ports, config);
        self.association = Some(self.handle.with(connect).expect("nothing stands against it"));
    }

    /// A further address appears at our side, and makes a path to one of the kernel's.
    pub(crate) fn join(&self, ours: &str, kernels: &str) {
        let path = FourTuple::new(encapsulated(ours), encapsulated(kernels));
        self.handle.bind(path.local).expect("the network is up and the port free");
        self.with(|association, now| association.open_path(now, path)).expect("room for a path");
    }

    /// An address of ours is gone.
    pub(crate) fn leave(&self, ours: &str) {
        self.with(|association, now| association.close_paths_from(now, encapsulated(ours)));
    }

    /// Waits until there is an association.
    pub(crate) async fn connected(&mut self) {
        self.event(|event| matches!(event, Event::Connected { .. })).await;
    }

    /// Waits for an event.
    pub(crate) async fn event(&mut self, is_it: impl Fn(&Event) -> bool) {
        while !is_it(&self.next_event().await) {}
    }

    /// Hands a message over, when the send queue has room for it.
    pub(crate) async fn send(&mut self, message: OutgoingMessage) {
        loop {
            let again = message.clone();
            match self.with(|association, now| association.send(now, again)) {
                Ok(()) => return,
                Err(SendError::BufferFull { .. }) => {
                    self.event(|event| matches!(event, Event::Writable)).await;
                }
                Err(error) => panic!("a message is refused: {error}"),
            }
        }
    }

    /// The next message.
    pub(crate) async fn receive(&mut self) -> IncomingMessage {
        loop {
            if let Some(message) = self.messages.pop_front() {
                return message;
            }
            self.next_event().await;
        }
    }

    /// Waits until the association has ended; its messages can still be received.
    pub(crate) async fn closed(&mut self) -> CloseReason {
        while self.closed.is_none() {
            self.next_event().await;
        }
        self.closed.as_ref().expect("just seen").0.clone()
    }

    /// Waits until the association is as wanted.
    pub(crate) async fn until(&self, is_so: impl Fn(&AssociationStats) -> bool) {
        while !is_so(&self.stats()) {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Acts on the association.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Association, Time) -> T) -> T {
        let id = self.association.expect("there was a call");
        self.handle.with(|endpoint, now| {
            act(endpoint.association_mut(id).expect("the association has not ended"), now)
        })
    }

    /// The association's counters, also after its end.
    pub(crate) fn stats(&self) -> AssociationStats {
        match &self.closed {
            Some((_, last)) => (**last).clone(),
            None => self.with(|association, _| association.stats()),
        }
    }

    pub(crate) fn associations(&self) -> usize {
        self.handle.with(|endpoint, _| endpoint.associations().count())
    }

    /// Is gone without a word, as after a crash. Its ports are free then.
    pub(crate) async fn vanish(self) {
        self.handle.close();
        self.handle.closed().await.expect("nothing else ended the driver");
    }

    async fn next_event(&mut self) -> Event {
        let (id, event) = self.handle.next_event().await.expect("the driver runs");
        match &event {
            Event::Connected { .. } => self.association = Some(id),
            Event::Closed { reason, stats } => self.closed = Some((reason.clone(), stats.clone())),
            Event::Readable => self.handle.with(|endpoint, _| {
                let association = endpoint.association_mut(id);
                let received = association
                    .into_iter()
                    .flat_map(|association| std::iter::from_fn(|| association.receive()));
                self.messages.extend(received);
            }),
            Event::Restarted
            | Event::Writable
            | Event::StreamsReset { .. }
            | Event::ResetRefused { .. }
            | Event::RateChanged(_)
            | Event::PathAdded { .. }
            | Event::PathRemoved { .. }
            | Event::SendFailed { .. }
            | Event::SenderDry
            | Event::PeerError { .. }
            | Event::StreamsAdded { .. }
            | Event::AddInProgress { .. }
            | Event::AddRefused { .. }
            | Event::PathMoved { .. }
            | Event::PathStateChanged { .. }
            | Event::DataPathChanged { .. }
            | Event::PeerClosing => {}
            other => panic!("a test for this event is missing: {other:?}"),
        }
        event
    }
}

/// The defaults are the RFC's. Only the paths are watched more closely, as the second kernel's side
/// does, so that tests of failing paths take seconds.
pub(crate) fn watchful() -> AssociationConfig {
    AssociationConfig::default().with(|config| {
        config.timers.heartbeat_interval = Duration::from_secs(1);
        config.timers.rto_max = Duration::from_secs(4);
        config.paths.path_max_retrans = 2;
    })
}

fn encapsulated(address: &str) -> SocketAddr {
    SocketAddr::new(address.parse().expect("an address"), ENCAPSULATION_PORT)
}
