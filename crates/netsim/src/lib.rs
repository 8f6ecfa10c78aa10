//! A deterministic network in virtual time.

mod agenda;
mod capture;
mod corrupt;
mod duplicate;
mod element;
mod link;
mod network;
mod observer;
mod packet;
mod pair;
mod probability;
mod reorder;
mod simulation;
#[cfg(test)]
mod testing;

pub use capture::{Capture, CaptureScope};
pub use corrupt::Corrupt;
pub use duplicate::Duplicate;
pub use element::{DropCause, Element};
pub use link::{
    Drops, Link, LinkConfig, LinkConfigError, LinkStats, Loss, MAX_PACKETS_HELD, Preset, QueueLimit,
};
pub use network::{Duplex, DuplexConfig, ElementId, LinkId, Network, RouteError};
pub use observer::{Observer, Sighting};
pub use packet::{Packet, Traffic};
pub use pair::{CLIENT, Pair, PairError, PairPath, SERVER, Side};
pub use probability::{Probability, ProbabilityError};
pub use reorder::Reorder;
pub use simulation::{
    HostError, HostId, HostStats, MAX_EVENTS_HELD, MAX_STEPS_PER_INSTANT, MAX_TRANSMITS_AT_ONCE,
    MAX_WAKEUPS_PER_INSTANT, Simulation, SimulationError, Step, Verdict,
};
