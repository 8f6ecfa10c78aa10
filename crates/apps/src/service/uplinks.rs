//! [`Uplinks`]: what leads from here to the peer.

use std::future::pending;
use std::net::SocketAddr;

use anabranch_driver::{Handle, SocketSet};
use anabranch_sansio::{FourTuple, Machine, Time};

use super::{ServiceError, Severity};
use crate::net::{Interfaces, NetError, Network, OwnAddresses, Plan, Turn};
use crate::url::{Mode, SessionUrl};

/// A session whose paths come and go while it lasts.
pub(crate) trait Multihomed: Machine {
    /// Opens a further path to the peer, if there is one and room for it.
    fn open_path(&mut self, now: Time, path: FourTuple);

    /// Nothing can be sent from this address any more: see
    /// [`Connection::close_paths_from`](anabranch_transport::Connection::close_paths_from).
    fn close_paths_from(&mut self, now: Time, local: SocketAddr);

    /// The routes to the peer lead over the interface with this address now, and did over another
    /// one that is still there. A session that follows them says so itself.
    fn follow_route(&mut self, _now: Time, _local: SocketAddr) {}

    /// Where the peer is, if a listener shall offer it addresses that come.
    fn remotes(&self) -> Vec<SocketAddr> {
        Vec::new()
    }
}

/// What leads from here to the peer: the paths of a URL, or every interface that reaches it.
#[derive(Debug)]
pub(crate) struct Uplinks {
    plan: Plan,
    /// Watched, if paths come and go with them.
    interfaces: Option<Interfaces>,
    /// The same of a listener.
    own_addresses: Option<OwnAddresses>,
}

impl Uplinks {
    /// Resolves names and binds sockets; nothing is sent yet.
    ///
    /// # Errors
    /// Says which name or address is wrong, or what of the options does not go together.
    pub(crate) async fn open(
        url: &SessionUrl,
        over_all_interfaces: bool,
    ) -> Result<(SocketSet, Self), ServiceError> {
        if !over_all_interfaces {
            let (sockets, plan) = Network::open(url).await?.into_parts();
            return Ok((sockets, Self { plan, interfaces: None, own_addresses: None }));
        }
        if url.mode == Mode::Listener {
            return Err(ServiceError::Senseless(
                "the paths are the caller's: give --paths auto where the URL calls a receiver",
            ));
        }
        if !url.paths.is_empty() {
            return Err(ServiceError::Senseless(
                "--paths auto takes every interface, and path= names some: give one of the two",
            ));
        }
        let (network, interfaces) = Network::open_over_all_interfaces(url).await?;
        let (sockets, plan) = network.into_parts();
        Ok((sockets, Self { plan, interfaces: Some(interfaces), own_addresses: None }))
    }

    /// Has a listener that hears at all addresses of this machine offer its peers those that come.
    pub(crate) fn offer_addresses(&mut self) {
        let bound = self.plan.bound();
        let hears_at_all = bound.iter().all(|local| local.ip().is_unspecified());
        let Some(port) = bound.first().map(SocketAddr::port) else { return };
        if self.plan.calls() || !hears_at_all {
            return;
        }
        match OwnAddresses::watch(port) {
            Ok(own_addresses) => self.own_addresses = Some(own_addresses),
            Err(error) => tracing::info!(%error, "addresses that come are not noticed"),
        }
    }

    pub(crate) const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The paths to call over now, the primary first.
    ///
    /// # Errors
    /// None leads to the peer.
    pub(crate) fn paths(&self) -> Result<Vec<FourTuple>, NetError> {
        match &self.interfaces {
            Some(interfaces) => interfaces.paths(),
            None => self.plan.paths(),
        }
    }

    /// Waits until [`follow`](Self::follow) may have something to do: for ever, if paths do not
    /// come and go. Dropping the future loses nothing.
    ///
    /// # Errors
    /// The system does not tell.
    pub(crate) async fn changed(&mut self) -> Result<(), NetError> {
        match (&mut self.interfaces, &mut self.own_addresses) {
            (Some(interfaces), _) => Ok(interfaces.changed().await?),
            (None, Some(own_addresses)) => Ok(own_addresses.changed().await?),
            (None, None) => pending().await,
        }
    }

    /// Opens and closes paths as interfaces came and went; returns what to say of it.
    ///
    /// # Errors
    /// The system does not tell which interfaces there are.
    pub(crate) async fn follow<M: Multihomed>(
        &mut self,
        handle: &Handle<M>,
    ) -> Result<Vec<(Severity, String)>, NetError> {
        let Some(interfaces) = &mut self.interfaces else { return Ok(self.offer(handle)) };
        let turns = interfaces.follow(handle).await?;
        Ok(turns.iter().filter_map(|turn| take(turn, handle)).collect())
    }

    /// A peer is there that knows none of the addresses that came before; returns what to say.
    pub(crate) fn begin<M: Multihomed>(&mut self, handle: &Handle<M>) -> Vec<(Severity, String)> {
        if let Some(own_addresses) = &mut self.own_addresses {
            own_addresses.begin();
        }
        self.offer(handle)
    }

    fn offer<M: Multihomed>(&mut self, handle: &Handle<M>) -> Vec<(Severity, String)> {
        let Some(own_addresses) = &mut self.own_addresses else { return Vec::new() };
        match own_addresses.follow(&handle.with(|session, _| session.remotes())) {
            Ok(turns) => turns.iter().filter_map(|turn| take(turn, handle)).collect(),
            Err(error) => {
                self.own_addresses = None;
                vec![(Severity::Warning, format!("addresses that come are not offered: {error}"))]
            }
        }
    }
}

/// Opens or closes a path as an interface turned; returns what to say of it.
fn take<M: Multihomed>(turn: &Turn, handle: &Handle<M>) -> Option<(Severity, String)> {
    let severity = match turn {
        Turn::Opened { path, .. } => {
            handle.with(|session, now| session.open_path(now, *path));
            Severity::Info
        }
        Turn::Closed { bound, .. } => {
            handle.with(|session, now| session.close_paths_from(now, *bound));
            Severity::Warning
        }
        Turn::Failed { .. } => Severity::Warning,
        Turn::Routed { bound, .. } => {
            handle.with(|session, now| session.follow_route(now, *bound));
            return None;
        }
    };
    Some((severity, turn.to_string()))
}
