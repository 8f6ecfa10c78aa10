//! [`Interfaces`]: sockets over every interface that reaches a peer, as interfaces come and go.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use anabranch_driver::{
    BindConfig, BindError, Handle, InterfaceWatch, SocketSet, Way, is_preferred, ways_to,
};
use anabranch_sansio::{FourTuple, Machine};

use super::{NetError, bind_at_one_port};

/// The interfaces that reach a peer, each with a socket tied to it.
#[derive(Debug)]
pub struct Interfaces {
    watch: InterfaceWatch,
    remotes: Vec<SocketAddr>,
    /// The port of all sockets.
    port: u16,
    /// The ways there are, and where their sockets are bound.
    open: Vec<(Way, SocketAddr)>,
    /// The one of them that the routes choose, as the default route says, if it is a single one.
    routed: Option<Way>,
}

/// What became of an interface.
#[derive(Debug)]
pub enum Turn {
    /// It reaches the peer, and has a socket now.
    Opened {
        /// How it reaches the peer.
        way: Way,
        /// The path that it makes possible.
        path: FourTuple,
    },
    /// It reaches the peer, and got no socket.
    Failed {
        /// How it reaches the peer.
        way: Way,
        /// Why.
        error: BindError,
    },
    /// It reaches the peer no more, or from another address.
    Closed {
        /// How it reached the peer.
        way: Way,
        /// Where its socket was bound.
        bound: SocketAddr,
    },
    /// The routes to the peer lead over it now; the one that they led over before is there, too.
    Routed {
        /// How it reaches the peer.
        way: Way,
        /// Where its socket is bound.
        bound: SocketAddr,
    },
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Opened { way, .. }
        | Self::Failed { way, .. }
        | Self::Closed { way, .. }
        | Self::Routed { way, .. }) = self;
        let Way { interface, local, remote } = way;
        write!(f, "{interface} ({}) ", local.ip())?;
        match self {
            Self::Opened { .. } => write!(f, "reaches {remote}: one more path"),
            Self::Failed { error, .. } => write!(f, "reaches {remote}, but {error}"),
            Self::Closed { .. } => write!(f, "reaches {remote} no more"),
            Self::Routed { .. } => write!(f, "has the route to {remote} now"),
        }
    }
}

impl Interfaces {
    /// Binds a socket at every interface that reaches one of the remote addresses, all at one port.
    pub(super) fn open(remotes: Vec<SocketAddr>) -> Result<(Self, SocketSet), NetError> {
        // Watched first, so that no change is missed.
        let watch = InterfaceWatch::start()?;
        let ways = ways(&remotes, &[])?;
        if ways.is_empty() {
            return Err(NetError::NoRoute { remotes });
        }
        let wanted: Vec<_> = ways.iter().map(|way| bind_config(way, 0)).collect();
        let (sockets, bound) = bind_at_one_port(&wanted)?;
        let port = bound.first().map_or(0, SocketAddr::port);
        let routed = routed(&ways);
        let open = ways.into_iter().zip(bound).collect();
        Ok((Self { watch, remotes, port, open, routed }, sockets))
    }

    /// The paths to call over, the one that the routes prefer first.
    ///
    /// # Errors
    /// No interface reaches the peer now.
    pub fn paths(&self) -> Result<Vec<FourTuple>, NetError> {
        if self.open.is_empty() {
            return Err(NetError::NoRoute { remotes: self.remotes.clone() });
        }
        Ok(self.open.iter().map(|(way, bound)| FourTuple::new(*bound, way.remote)).collect())
    }

    /// Waits until [`follow`](Self::follow) may have something to do. Dropping the future loses
    /// nothing.
    ///
    /// # Errors
    /// The system does not tell.
    pub async fn changed(&mut self) -> io::Result<()> {
        self.watch.changed().await
    }

    /// Closes the sockets of interfaces that reach the peer no more, opens one for each that newly
    /// does, and notices when the routes lead over another one. What fails is tried again with the
    /// next change.
    ///
    /// # Errors
    /// The system does not tell which interfaces there are.
    pub async fn follow<M: Machine>(&mut self, handle: &Handle<M>) -> Result<Vec<Turn>, NetError> {
        let in_use: Vec<Way> = self.open.iter().map(|(way, _)| way.clone()).collect();
        let ways = ways(&self.remotes, &in_use)?;
        let mut turns = Vec::new();
        for (way, bound) in self.open.extract_if(.., |(way, _)| !ways.contains(way)) {
            handle.remove(bound).await;
            turns.push(Turn::Closed { way, bound });
        }
        let routed = routed(&ways);
        for way in ways {
            if self.open.iter().any(|(open, _)| *open == way) {
                continue;
            }
            turns.push(match handle.bind(bind_config(&way, self.port)) {
                Ok(bound) => {
                    self.open.push((way.clone(), bound));
                    Turn::Opened { path: FourTuple::new(bound, way.remote), way }
                }
                Err(error) => Turn::Failed { way, error },
            });
        }
        turns.extend(routed.and_then(|way| self.turn_to(way)));
        Ok(turns)
    }

    /// The routes lead over this one: a turn, if they led over another one that is still open.
    fn turn_to(&mut self, way: Way) -> Option<Turn> {
        let (_, bound) = self.open.iter().find(|(open, _)| *open == way)?;
        let before = self.routed.replace(way.clone()).filter(|before| *before != way)?;
        let is_open = self.open.iter().any(|(open, _)| *open == before);
        is_open.then_some(Turn::Routed { way, bound: *bound })
    }
}

/// The way that the routes choose. Where each of a peer's addresses is on a network of its own
/// there are several, and none of them is the one.
fn routed(ways: &[Way]) -> Option<Way> {
    let mut chosen = ways.iter().filter(|way| is_preferred(way));
    let first = chosen.next()?;
    chosen.next().is_none().then(|| first.clone())
}

pub(super) fn ways(remotes: &[SocketAddr], in_use: &[Way]) -> Result<Vec<Way>, NetError> {
    ways_to(remotes, in_use).map_err(|error| {
        let is_forbidden = error.kind() == io::ErrorKind::PermissionDenied;
        if is_forbidden { NetError::InterfacesNotPermitted } else { NetError::System(error) }
    })
}

fn bind_config(way: &Way, port: u16) -> BindConfig {
    let mut local = way.local;
    local.set_port(port);
    BindConfig { interface: Some(way.interface.clone()), ..BindConfig::from(local) }
}
