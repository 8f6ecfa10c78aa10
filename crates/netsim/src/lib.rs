//! A deterministic network in virtual time, and the boxes it is made of.
//!
//! An [`Element`] is a box that packets go through. A [`Link`] has a rate, a delay, a queue and
//! losses; a [`Nat`] rewrites addresses; [`Duplicate`], [`Reorder`] and [`Corrupt`] make a network
//! hostile. Each stands alone: in
//! front of real sockets, whoever owns a link does for every packet and whenever its timeout is
//! due:
//!
//! ```
//! use anabranch_netsim::{Element, Link, Packet};
//! use anabranch_sansio::Time;
//!
//! /// Returns when to call this again, if ever.
//! fn turn(
//!     link: &mut Link,
//!     now: Time,
//!     arrived: Option<Packet>,
//!     mut send: impl FnMut(Packet),
//! ) -> Option<Time> {
//!     if let Some(packet) = arrived {
//!         link.handle_packet(now, packet);
//!     }
//!     while let Some(packet) = link.poll_packet(now) {
//!         send(packet);
//!     }
//!     link.poll_timeout()
//! }
//! ```
//!
//! A [`Network`] joins elements by routes, and a [`Simulation`] runs machines on it; [`Pair`] is
//! the usual one, of two machines over some paths. Everything random comes from one seed: the same
//! seed and the same version give the same run, to the byte of a [`Capture`]. A [`Scenario`] is a
//! run as data; with the feature `serde` it is read from TOML and JSON.

mod agenda;
mod capture;
mod cell;
mod corrupt;
mod duplicate;
mod element;
mod hostility;
mod hosts;
mod id;
mod link;
mod medium;
#[cfg(feature = "serde")]
mod millis;
mod nat;
mod network;
mod observer;
mod packet;
mod pair;
mod probability;
mod qlog;
mod reorder;
mod scenario;
pub mod settings;
mod simulation;
#[cfg(test)]
mod testing;
#[cfg(feature = "serde")]
pub mod written;

pub use capture::{Capture, CaptureScope, Note, PacketFile};
pub use cell::{Cell, MemberId};
pub use corrupt::Corrupt;
pub use duplicate::Duplicate;
pub use element::{DropCause, Element};
pub use hostility::Hostility;
pub use id::{ElementId, HostId};
#[cfg(feature = "serde")]
pub use link::LinkConfigError;
pub use link::{
    Drops, Link, LinkConfig, LinkStats, Loss, MAX_PACKETS_HELD, Preset, QueueLimit, Trace,
    TraceError,
};
pub use medium::{CellConfig, Medium, Scheduling, Service, WifiConfig, WifiStandard, WimaxConfig};
pub use nat::{Filtering, Mapping, Nat, NatConfig};
pub use network::{Duplex, DuplexConfig, LinkId, NatId, NatSide, Network, RouteError};
pub use observer::{Observer, Sighting};
pub use packet::{Carrier, Journey, Packet, Traffic};
pub use pair::{CLIENT, Pair, PairError, PairPath, PathConfig, SERVER, Side};
pub use probability::{Probability, ProbabilityError};
pub use qlog::QlogFile;
pub use reorder::Reorder;
#[cfg(feature = "serde")]
pub use scenario::RunHeader;
pub use scenario::{Action, NamedLink, NamedNat, Scenario, ScenarioError, Stage};
pub use simulation::{
    HostError, HostStats, MAX_EVENTS_HELD, MAX_STEPS_PER_INSTANT, MAX_TRANSMITS_AT_ONCE,
    MAX_WAKEUPS_PER_INSTANT, Simulation, SimulationError, Step, Verdict,
};

/// For [`machine_of_several!`].
#[doc(hidden)]
pub use anabranch_sansio;

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
