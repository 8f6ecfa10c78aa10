//! TFRC, the rate control of CCID 3: RFC 5348, in parts that know no packets.
//!
//! Rates are in bytes of data per second, as the RFC has them: headers do not count.

mod equation;
mod intervals;
mod loss_history;
mod rate;

pub use equation::{allowed_rate, loss_event_rate_for, packets_per_round_trip};
pub use intervals::{INTERVALS, average_loss_interval};
pub(crate) use loss_history::{Arrival, LossHistory, distance};
pub use rate::{Feedback, FirstRate, PacketSize, RateControl, RateControlConfig};
