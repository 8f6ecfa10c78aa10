//! [`SimulationError`]: what would otherwise hang.

use anabranch_sansio::Time;
use thiserror::Error;

use super::{
    MAX_EVENTS_HELD, MAX_STEPS_PER_INSTANT, MAX_TRANSMITS_AT_ONCE, MAX_WAKEUPS_PER_INSTANT,
};

/// What would otherwise hang.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// A machine wants to be woken again and again without time passing.
    #[error(
        "{host} was woken {MAX_WAKEUPS_PER_INSTANT} times at {at} and is due again for \"{why}\": \
         handle_timeout must act on what is due and disarm or move its timer"
    )]
    BusyLoop {
        /// The host's name.
        host: String,
        /// [`Wakeup::why`](anabranch_sansio::Wakeup::why).
        why: &'static str,
        /// When.
        at: Time,
    },
    /// A machine always has something more to send.
    #[error(
        "{host} handed out {MAX_TRANSMITS_AT_ONCE} transmits at {at} and has more: \
         poll_transmit must return None at some point"
    )]
    EndlessTransmit {
        /// The host's name.
        host: String,
        /// When.
        at: Time,
    },
    /// Packets go to and fro without time passing.
    #[error(
        "{MAX_STEPS_PER_INSTANT} steps happened at {at} without time passing: \
         give the links a delay, or look for machines that answer every answer"
    )]
    Chatter {
        /// When.
        at: Time,
    },
    /// The run took as many steps as [`Simulation::limit_steps`](super::Simulation::limit_steps)
    /// allows.
    #[error("the run was ended at {at}: it took {steps} events, its limit")]
    Endless {
        /// The time reached.
        at: Time,
        /// The limit.
        steps: u64,
    },
    /// Events have piled up.
    #[error("more than {MAX_EVENTS_HELD} events wait at {at}: poll_event must be called")]
    EventsNotPolled {
        /// When.
        at: Time,
    },
    /// What was waited for has not come, and nothing happens any more.
    #[error("nothing happens any more after {at}, and what was waited for has not come")]
    Idle {
        /// When the last thing happened.
        at: Time,
    },
    /// What was waited for has not come within the steps allowed.
    #[error("what was waited for has not come within {steps} steps, by {at}")]
    NotDone {
        /// How many.
        steps: u64,
        /// The time reached.
        at: Time,
    },
}
