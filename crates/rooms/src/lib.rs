//! Rooms where people meet, as a state machine: each browser sends its voice and pictures once, and
//! gets those of all others.
//!
//! [`Rooms`] knows who is in which room, what each sends, and what each one's network takes of the
//! others. It sees a [`Connection`](anabranch_transport::Connection) of each guest and nothing of
//! its carrier. [`Server`] is the [`Machine`](anabranch_sansio::Machine) around it for one UDP
//! port, which browsers and [`Agent`]s share. `docs/meet.md` describes what passes between a room
//! and a page, and an agent.
//!
//! Media is forwarded piece by piece as it comes, never decoded. What a guest's network does not
//! take is left out by whole pictures, by the policy that sessions and television have; voice
//! always goes.

mod agent;
mod association;
mod forwarding;
mod lacking;
mod listener;
mod machine;
mod participant;
pub mod protocol;
mod rooms;

pub use agent::{Agent, AgentConfig, AgentEvent, AgentStats, PeerKeys, Said, Sealed};
pub use listener::{Listener, ListenerEvent};
pub use machine::{JoinError, Server, ServerConfig};
pub use participant::Participant;
pub use rooms::{
    Event, GuestId, MEMBERS_MAX, MemberReport, Occurrence, RoomId, RoomLabel, RoomReport, Rooms,
    RoomsConfig, Tokens,
};

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
