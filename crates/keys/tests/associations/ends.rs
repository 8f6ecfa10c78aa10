//! [`Ends`]: two endpoints with real keys, over simulated links.

use std::time::Duration;

use anabranch_keys::{Identity, PublicKey, TlsKeys, Trust};
use anabranch_netsim::{DuplexConfig, LinkConfig, Loss, Pair, Side};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, CloseReason, EncryptionPolicy, Endpoint,
    EndpointConfig, Event, FourTuple,
};

pub(crate) struct Ends {
    pub(crate) pair: Pair<Endpoint>,
    client: AssociationId,
    server: Option<AssociationId>,
    events: Vec<(Side, Event)>,
}

pub(crate) fn config(keys: Option<TlsKeys>, policy: EncryptionPolicy) -> AssociationConfig {
    AssociationConfig::media().with(|config| {
        config.extensions.encryption = keys.map(|keys| keys.by(policy));
    })
}

pub(crate) fn encrypted(identity: &Identity, trust: Trust) -> AssociationConfig {
    config(
        Some(TlsKeys::new(identity, trust).expect("a key of its own")),
        EncryptionPolicy::Require,
    )
}

impl Ends {
    /// Over one path with a round trip of 100 ms.
    pub(crate) fn new(loss: f64, client: AssociationConfig, server: AssociationConfig) -> Self {
        let link = LinkConfig {
            delay: Duration::from_millis(50),
            loss: Loss::uniform(loss),
            ..LinkConfig::default()
        };
        Self::over(7, &[link], client, server)
    }

    pub(crate) fn over(
        seed: u64,
        links: &[LinkConfig],
        client: AssociationConfig,
        server: AssociationConfig,
    ) -> Self {
        let links: Vec<_> = links.iter().cloned().map(DuplexConfig::from).collect();
        let mut pair = Pair::new(seed, &links, move |side, _, rng| {
            let accept = side == Side::Server;
            let association = server.clone();
            Endpoint::new(EndpointConfig { accept, association, ..EndpointConfig::default() }, rng)
        });
        let paths: Vec<FourTuple> = pair.paths().iter().map(|path| path.addresses).collect();
        let connect =
            |endpoint: &mut Endpoint, now| endpoint.connect(now, &paths, (5_000, 5_001), client);
        let client = pair.act_client(connect).expect("quiet").expect("it may call");
        Self { pair, client, server: None, events: Vec::new() }
    }

    pub(crate) fn run_until(&mut self, limit: Duration, is_done: impl Fn(&Self) -> bool) -> bool {
        let end = self.pair.now() + limit;
        loop {
            while let Some((host, (id, event))) = self.pair.sim.poll_event() {
                let is_client = host == anabranch_netsim::CLIENT;
                if !is_client {
                    self.server = Some(id);
                }
                self.events.push((if is_client { Side::Client } else { Side::Server }, event));
            }
            if is_done(self) {
                return true;
            }
            match self.pair.sim.next_step_at() {
                Some(at) if at <= end => {
                    self.pair.sim.step().expect("the machines come to rest");
                }
                _ => return false,
            }
        }
    }

    pub(crate) fn act<T>(&mut self, side: Side, act: impl FnOnce(&mut Association) -> T) -> T {
        let (client, server) = (self.client, self.server);
        match side {
            Side::Client => {
                let act = |end: &mut Endpoint, _| act(end.association_mut(client).expect("alive"));
                self.pair.act_client(act).expect("quiet")
            }
            Side::Server => {
                let server = server.expect("somebody called");
                let act = |end: &mut Endpoint, _| act(end.association_mut(server).expect("alive"));
                self.pair.act_server(act).expect("quiet")
            }
        }
    }

    pub(crate) fn is_connected(&self, side: Side) -> bool {
        let is_meant = |event: &Event| matches!(event, Event::Connected { .. });
        self.events.iter().any(|(at, event)| *at == side && is_meant(event))
    }

    pub(crate) fn are_connected(&self) -> bool {
        self.is_connected(Side::Client) && self.is_connected(Side::Server)
    }

    pub(crate) fn close_reason(&self, side: Side) -> Option<&CloseReason> {
        self.events.iter().filter(|(at, _)| *at == side).find_map(|(_, event)| {
            if let Event::Closed { reason, .. } = event { Some(reason) } else { None }
        })
    }

    pub(crate) fn peer(&mut self, side: Side) -> Option<PublicKey> {
        self.act(side, |association| association.peer_identity().and_then(PublicKey::from_bytes))
    }
}
