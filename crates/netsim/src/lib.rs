//! A deterministic network in virtual time.

mod element;
mod link;
mod packet;
mod probability;
#[cfg(test)]
mod testing;

pub use element::{DropCause, Element};
pub use link::{
    Drops, Link, LinkConfig, LinkConfigError, LinkStats, Loss, MAX_PACKETS_HELD, Preset, QueueLimit,
};
pub use packet::{Packet, Traffic};
pub use probability::{Probability, ProbabilityError};
