//! What has arrived: for acknowledgements, and for the application.

mod history;
mod queue;
mod replay;

pub(crate) use history::History;
pub(crate) use queue::ReceiveQueue;
pub(crate) use replay::Replay;
