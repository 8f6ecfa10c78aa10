//! What is known of sessions by many seeds or long streams, in virtual time: what one short run
//! shows is in the unit tests, whose harness this is.

use anabranch_session::{
    Event, Receiver, ReceiverConfig, Sender, SenderConfig, SessionConfig, SourceFormat, treatment,
};

mod dccp;
mod film;
#[path = "../../src/tests/harness.rs"]
mod harness;
mod layered;
mod media;
mod output;
#[path = "../../src/tests/plain.rs"]
mod plain;
mod standstill;
