//! Sending: messages wait in a queue, a scheduler picks streams, outstanding data is tracked until
//! it is acknowledged or abandoned.

mod delivery_rate;
mod flight;
mod message;
mod outstanding;
mod queue;
mod sack;
mod scheduler;
#[cfg(test)]
mod tests;

pub(crate) use message::Abandonment;
pub use message::{OutgoingMessage, PathPreference, Reliability};
pub(crate) use outstanding::{Outstanding, Retransmission, chunk_size};
pub(crate) use queue::{Head, MessageQueue};
pub(crate) use sack::PathAck;
pub use scheduler::SchedulerKind;
