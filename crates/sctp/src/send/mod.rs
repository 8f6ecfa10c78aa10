//! Sending: messages wait in a queue, a scheduler picks streams, outstanding data is tracked until
//! it is acknowledged or abandoned.

mod abandonment;
mod chunk;
mod copies;
mod error;
mod flight;
mod in_time;
mod loss_detection;
mod message;
mod miss_indications;
mod outstanding;
mod queue;
mod rack;
mod sack;
mod scheduler;
mod skips;
mod spurious;
#[cfg(test)]
mod tests;

pub(crate) use abandonment::Abandoned;
pub(crate) use chunk::Occasion;
pub use error::SendError;
pub(crate) use in_time::Unanswered;
pub use loss_detection::LossDetection;
pub(crate) use loss_detection::Losses;
pub(crate) use message::Abandonment;
pub(crate) use message::Undelivered;
pub use message::{OutgoingMessage, PathPreference, Reliability, SendFailure};
pub(crate) use outstanding::{Outstanding, Retransmission};
pub(crate) use queue::{Head, Interleaving, MessageQueue};
pub(crate) use sack::{PathAck, Rtts, SackError};
pub use scheduler::{SchedulerKind, StreamScheduler, StreamSchedulerFactory};
