//! A server and its viewers over simulated networks, on virtual time.

mod access;
mod broadcast;
mod browser;
mod giving_up;
mod harness;
mod held;
mod lossy;
mod lounge;
mod narrow;
mod overload;
#[path = "../../../rtc/tests/browser/page.rs"]
#[expect(dead_code, reason = "the tests of several crates share it")]
mod page;
mod port;
mod stalls;
mod stills;
mod urgent;
mod zapping;
