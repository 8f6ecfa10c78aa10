//! Emulated links in real time: the boxes of the simulator between UDP programs.
//!
//! ```text
//! client --> [listen | up link   | socket of the client] --> target
//! client <-- [       | down link |                     ] <-- target
//! ```
//!
//! A link looks like a NAT to both programs: the client sends to the address where the link
//! listens, and the target sees each client come from a port of its own. All clients of a link
//! share its rate and queue. A link in a cell is one station, both of whose directions share the
//! cell's air. ECN marks pass. One link is one machine with its own
//! [`Driver`], so links do not disturb each other.
//!
//! ```
//! use anabranch_driver::emulator::{EmulatedLink, Emulator, EmulatorConfig};
//! use anabranch_netsim::LinkConfig;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let link = EmulatedLink {
//!     name: "mobile".to_owned(),
//!     listen: "127.0.0.1:0".parse()?,
//!     target: "127.0.0.1:9899".parse()?,
//!     up: LinkConfig::mobile(),
//!     down: LinkConfig::mobile(),
//! };
//! let emulator = Emulator::spawn(EmulatorConfig { links: vec![link], seed: 7 })?;
//! // Programs now send to this address instead of the target's.
//! let entrance = emulator.listens_at("mobile")?;
//! emulator.cut("mobile")?;
//! assert!(!emulator.stats()[0].is_up);
//! emulator.restore("mobile")?;
//! # assert_ne!(entrance.port(), 0);
//! # Ok(())
//! # }
//! ```
//!
//! Packets leave some 0.05 ms after their time on a machine with time to spare; what it was in a
//! run is told by [`EmulatedLinkStats::lateness`].

mod clients;
mod config;
mod relay;
#[cfg(test)]
mod tests;
mod ways;

use std::net::SocketAddr;

use anabranch_netsim::{LinkConfig, LinkStats};
use anabranch_sansio::{FourTuple, Rng, Time};

use crate::address::{canonical, wildcard_like};
use crate::{BindError, Clock, Driver, DriverError, Handle, Recording, SocketSet, local_towards};
use clients::ClientEvent;
pub use clients::{CLIENT_IDLE_MIN, CLIENTS_PER_LINK_MAX};
pub use config::{Direction, EmulatedLink, EmulatorConfig, EmulatorError, Lateness, UnknownLink};
use relay::Relay;

/// What one emulated link counts and how it is set.
#[derive(Debug, Clone, PartialEq)]
pub struct EmulatedLinkStats {
    /// Its name.
    pub name: String,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where it leads.
    pub target: SocketAddr,
    /// False while it is cut.
    pub is_up: bool,
    /// The setting from clients to target.
    pub up_config: LinkConfig,
    /// The setting from target to clients.
    pub down_config: LinkConfig,
    /// Packets from clients to target.
    pub up: LinkStats,
    /// Packets from target to clients.
    pub down: LinkStats,
    /// How many clients it serves.
    pub clients: usize,
    /// Clients that made room for others ([`CLIENTS_PER_LINK_MAX`], [`CLIENT_IDLE_MIN`]).
    pub evicted: u64,
    /// Packets of clients that there was no room or no socket for.
    pub refused: u64,
    /// Packets that came to a client's socket from elsewhere than the target.
    pub strangers: u64,
    /// How late packets left the emulator.
    pub lateness: Lateness,
}

/// Runs emulated links until it is dropped.
#[derive(Debug)]
pub struct Emulator {
    links: Vec<Running>,
}

#[derive(Debug)]
struct Running {
    name: String,
    listen: SocketAddr,
    target: SocketAddr,
    handle: Handle<Relay>,
}

impl Emulator {
    /// Starts all links. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The configuration makes no sense, or an address cannot be bound; then no link runs.
    pub fn spawn(config: EmulatorConfig) -> Result<Self, EmulatorError> {
        Self::spawn_recorded(config, &Recording::default())
    }

    /// As [`spawn`](Self::spawn); what each link does is recorded under its name.
    ///
    /// # Errors
    /// The configuration makes no sense, or an address cannot be bound; then no link runs.
    pub fn spawn_recorded(
        config: EmulatorConfig,
        recording: &Recording,
    ) -> Result<Self, EmulatorError> {
        config.check()?;
        let mut rng = Rng::from_u64(config.seed);
        let clock = Clock::start();
        let mut emulator = Self { links: Vec::new() };
        for link in config.links {
            let recording = recording.labelled(&link.name);
            emulator.links.push(Running::spawn(link, (clock, recording), &mut rng)?);
        }
        Ok(emulator)
    }

    /// Where the link listens, with the real port.
    ///
    /// # Errors
    /// There is no such link.
    pub fn listens_at(&self, link: &str) -> Result<SocketAddr, UnknownLink> {
        Ok(self.link(link)?.listen)
    }

    /// Changes the setting of one direction; packets under way stay in order.
    ///
    /// # Errors
    /// There is no such link.
    pub fn reconfigure(
        &self,
        link: &str,
        direction: Direction,
        config: LinkConfig,
    ) -> Result<(), UnknownLink> {
        let running = self.link(link)?;
        tracing::info!(link, ?direction, ?config, "link changes");
        let change = |relay: &mut Relay, now: Time| relay.reconfigure(now, direction, config);
        running.handle.with(change);
        Ok(())
    }

    /// Cuts both directions: packets under way are lost, and so are all that come.
    ///
    /// # Errors
    /// There is no such link.
    pub fn cut(&self, link: &str) -> Result<(), UnknownLink> {
        self.link(link)?.handle.with(|relay, now| relay.cut(now));
        tracing::info!(link, "link cut");
        Ok(())
    }

    /// Brings a link that was cut up again.
    ///
    /// # Errors
    /// There is no such link.
    pub fn restore(&self, link: &str) -> Result<(), UnknownLink> {
        self.link(link)?.handle.with(|relay, now| relay.restore(now));
        tracing::info!(link, "link restored");
        Ok(())
    }

    /// Has a link forget its clients: what they send next reaches the target from other ports, and
    /// what the target sends to the old ones is lost.
    ///
    /// # Errors
    /// There is no such link.
    pub fn rebind(&self, link: &str) -> Result<(), UnknownLink> {
        self.link(link)?.handle.with(|relay, _| relay.clients.rebind());
        tracing::info!(link, "ports changed");
        Ok(())
    }

    /// All links, in the order of the configuration.
    #[must_use]
    pub fn stats(&self) -> Vec<EmulatedLinkStats> {
        self.links.iter().map(Running::stats).collect()
    }

    /// Waits until a link has ended, which only a defect or [`close`](Self::close) brings about.
    ///
    /// # Errors
    /// The defect.
    pub async fn closed(&self) -> Result<(), DriverError> {
        for link in &self.links {
            link.handle.closed().await?;
        }
        Ok(())
    }

    /// Ends all links.
    pub fn close(&self) {
        for link in &self.links {
            link.handle.close();
        }
    }

    fn link(&self, name: &str) -> Result<&Running, UnknownLink> {
        self.links.iter().find(|link| link.name == name).ok_or_else(|| UnknownLink {
            name: name.to_owned(),
            links: self.links.iter().map(|link| link.name.clone()).collect(),
        })
    }
}

impl Drop for Emulator {
    /// The tasks that open sockets for clients have handles, too.
    fn drop(&mut self) {
        self.close();
    }
}

impl Running {
    fn spawn(
        link: EmulatedLink,
        (clock, recording): (Clock, Recording),
        rng: &mut Rng,
    ) -> Result<Self, EmulatorError> {
        let refused = |source: BindError| EmulatorError::Listen { link: link.name.clone(), source };
        let mut sockets = SocketSet::new();
        sockets.record(recording);
        let listen = sockets.bind(link.listen).map_err(refused)?;
        let target = canonical(link.target);
        let link = EmulatedLink { target, ..link };
        let handle = Driver::spawn_with_clock(Relay::new(&link, listen, rng), sockets, clock)?;
        tokio::spawn(open_sockets(handle.clone(), link.name.clone(), target));
        tracing::info!(link = link.name, %listen, %target, "link up");
        Ok(Self { name: link.name, listen, target, handle })
    }

    fn stats(&self) -> EmulatedLinkStats {
        self.handle.with(|relay, _| self.stats_of(relay))
    }

    fn stats_of(&self, relay: &Relay) -> EmulatedLinkStats {
        let [up, down] = [Direction::Up, Direction::Down].map(|way| relay.ways.link(way));
        EmulatedLinkStats {
            name: self.name.clone(),
            listen: self.listen,
            target: self.target,
            is_up: up.is_up(),
            up_config: up.config().clone(),
            down_config: down.config().clone(),
            up: up.stats(),
            down: down.stats(),
            clients: relay.clients.len(),
            evicted: relay.clients.evicted,
            refused: relay.refused,
            strangers: relay.strangers,
            lateness: relay.lateness,
        }
    }
}

/// Gives clients their sockets as they come, and takes them back.
async fn open_sockets(handle: Handle<Relay>, link: String, target: SocketAddr) {
    while let Some(event) = handle.next_event().await {
        match event {
            ClientEvent::Arrived(who) => arrive(&handle, &link, who, target),
            ClientEvent::Left { outside } => {
                handle.remove(outside).await;
                tracing::debug!(link, %outside, "client left");
            }
        }
    }
}

fn arrive(handle: &Handle<Relay>, link: &str, who: FourTuple, target: SocketAddr) {
    match handle.bind(outside_for(target)) {
        Ok(outside) => {
            handle.with(|relay, now| relay.serve(now, who, outside));
            tracing::debug!(link, client = %who.remote, %outside, "client arrived");
        }
        Err(error) => {
            handle.with(|relay, _| relay.turn_away(who));
            tracing::warn!(link, client = %who.remote, %error, "no socket for a client");
        }
    }
}

/// What to bind towards `target`. A target on this machine is no reason to listen to the network.
fn outside_for(target: SocketAddr) -> SocketAddr {
    let mut any = wildcard_like(target);
    any.set_port(0);
    if target.ip().is_loopback() { local_towards(any, target).unwrap_or(any) } else { any }
}
