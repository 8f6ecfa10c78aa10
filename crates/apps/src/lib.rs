//! The services behind the commands: what happens between media and a protocol machine.

pub mod call;
pub mod demo;
pub mod input;
pub mod keys;
pub mod meet;
pub mod net;
pub mod output;
pub mod page;
pub mod recv;
pub mod send;
pub mod serve;
pub mod service;
pub mod site;
pub mod url;
pub mod watch;

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
