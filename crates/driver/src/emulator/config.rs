//! What an emulator is told, and what it says when that makes no sense.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_netsim::LinkConfig;

use crate::{BindError, SpawnError};

/// The links of an emulator.
#[derive(Debug, Clone, PartialEq)]
pub struct EmulatorConfig {
    /// At least one.
    pub links: Vec<EmulatedLink>,
    /// Decides which packets are lost and how long they jitter.
    pub seed: u64,
}

/// An emulated link between a UDP port here and a target.
#[derive(Debug, Clone, PartialEq)]
pub struct EmulatedLink {
    /// What people call it; each link has another.
    pub name: String,
    /// Where clients send to; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// Where their packets go.
    pub target: SocketAddr,
    /// The link from clients to target.
    pub up: LinkConfig,
    /// The link from target to clients.
    pub down: LinkConfig,
}

/// One of the two links between clients and target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From clients to target.
    Up,
    /// From target to clients.
    Down,
}

impl Direction {
    /// Its name: `up`, `down`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// How late packets left the emulator, against the time that the link model gave them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lateness {
    /// Packets that left.
    pub packets: u64,
    /// The sum over them.
    pub total: Duration,
    /// The latest of them.
    pub max: Duration,
}

impl Lateness {
    /// The mean; zero if no packet has left.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let nanos = self.total.as_nanos() / u128::from(self.packets.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    pub(super) fn count(&mut self, late: Duration) {
        self.packets += 1;
        self.total = self.total.saturating_add(late);
        self.max = self.max.max(late);
    }
}

/// Why an emulator cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulatorError {
    /// Nothing to do.
    #[error("no links: give at least one")]
    NoLinks,
    /// Two links could not be told apart.
    #[error("two links are called {name}: give each a name of its own")]
    SameName {
        /// The name.
        name: String,
    },
    /// Packets would go round in circles.
    #[error("link {link} listens at its own target {addr}: let it listen at another port")]
    Circle {
        /// The link.
        link: String,
        /// The address.
        addr: SocketAddr,
    },
    /// Packets cannot be sent there.
    #[error("link {link} cannot lead to {target}: give an address and a port that is not 0")]
    Target {
        /// The link.
        link: String,
        /// The address.
        target: SocketAddr,
    },
    /// A cell carries both directions.
    #[error("only one direction of link {link} is in a cell: put both in the same, or none")]
    HalfInCell {
        /// The link.
        link: String,
    },
    /// Each link runs by itself.
    #[error(
        "links {first} and {second} are in one cell: the live emulator has one station in each"
    )]
    SharedCell {
        /// The one link.
        first: String,
        /// The other.
        second: String,
    },
    /// The address to listen at cannot be bound.
    #[error("link {link}: {source}")]
    Listen {
        /// The link.
        link: String,
        /// Why.
        source: BindError,
    },
    /// The driver cannot start.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

/// A name that no link has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no link {name}; there is {}", .links.join(", "))]
pub struct UnknownLink {
    /// The name.
    pub name: String,
    /// The names of the links.
    pub links: Vec<String>,
}

impl EmulatorConfig {
    pub(super) fn check(&self) -> Result<(), EmulatorError> {
        if self.links.is_empty() {
            return Err(EmulatorError::NoLinks);
        }
        for (nth, link) in self.links.iter().enumerate() {
            if self.links.iter().take(nth).any(|before| before.name == link.name) {
                return Err(EmulatorError::SameName { name: link.name.clone() });
            }
            link.check()?;
            let cell = link.cell();
            let mut before = self.links.iter().take(nth);
            if let Some(other) = before.find(|other| cell.is_some() && other.cell() == cell) {
                let (first, second) = (other.name.clone(), link.name.clone());
                return Err(EmulatorError::SharedCell { first, second });
            }
        }
        Ok(())
    }
}

impl EmulatedLink {
    fn check(&self) -> Result<(), EmulatorError> {
        let ip = self.target.ip();
        if ip.is_unspecified() || ip.is_multicast() || self.target.port() == 0 {
            let link = self.name.clone();
            return Err(EmulatorError::Target { link, target: self.target });
        }
        if self.listen == self.target {
            return Err(EmulatorError::Circle { link: self.name.clone(), addr: self.listen });
        }
        if self.up.cell != self.down.cell {
            return Err(EmulatorError::HalfInCell { link: self.name.clone() });
        }
        Ok(())
    }

    /// The name of the cell that other links can be in, too.
    fn cell(&self) -> Option<&str> {
        self.up.cell.as_ref()?.name.as_deref()
    }
}
