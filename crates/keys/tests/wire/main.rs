//! Encrypted associations packet by packet: held to a second implementation, and with somebody on
//! the way who sees, alters, holds back, repeats and injects.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod addresses;
mod before_keys;
mod capture;
mod damage;
mod downgrade;
mod exporter;
mod in_the_open;
mod limits;
mod numbers;
mod pump;
mod random;
mod referee;
mod renumbered;
mod restart;
