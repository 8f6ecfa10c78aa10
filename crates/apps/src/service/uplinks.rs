//! [`Uplinks`]: what leads from here to the peer.

use std::future::pending;
use std::net::SocketAddr;

use anabranch_driver::{Handle, SocketSet};
use anabranch_sansio::{FourTuple, Machine, Time};

use super::{ServiceError, Severity};
use crate::net::{Interfaces, NetError, Network, Plan, Turn};
use crate::url::{Mode, SessionUrl};

/// A session whose paths come and go while it lasts.
pub(crate) trait Multihomed: Machine {
    /// Opens a further path to the peer, if there is one and room for it.
    fn open_path(&mut self, now: Time, path: FourTuple);

    /// Nothing can be sent from this address any more: see
    /// [`Connection::close_paths_from`](anabranch_transport::Connection::close_paths_from).
    fn close_paths_from(&mut self, now: Time, local: SocketAddr);
}

/// What leads from here to the peer: the paths of a URL, or every interface that reaches it.
#[derive(Debug)]
pub(crate) struct Uplinks {
    plan: Plan,
    /// Watched, if paths come and go with them.
    interfaces: Option<Interfaces>,
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
            return Ok((sockets, Self { plan, interfaces: None }));
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
        Ok((sockets, Self { plan, interfaces: Some(interfaces) }))
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
        match &mut self.interfaces {
            Some(interfaces) => Ok(interfaces.changed().await?),
            None => pending().await,
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
        let Some(interfaces) = &mut self.interfaces else { return Ok(Vec::new()) };
        let mut told = Vec::new();
        for turn in interfaces.follow(handle).await? {
            let severity = match &turn {
                Turn::Opened { path, .. } => {
                    handle.with(|session, now| session.open_path(now, *path));
                    Severity::Info
                }
                Turn::Closed { bound, .. } => {
                    handle.with(|session, now| session.close_paths_from(now, *bound));
                    Severity::Warning
                }
                Turn::Failed { .. } => Severity::Warning,
            };
            told.push((severity, turn.to_string()));
        }
        Ok(told)
    }
}
