//! Which path new data takes, and which one what was lost.

mod retransmission;
mod scheduler;

pub(crate) use retransmission::Lost;
pub use retransmission::RetransmissionPolicy;
pub use scheduler::{Demand, Outlook, PathScheduler, PathSchedulerFactory, PathSchedulerKind};
