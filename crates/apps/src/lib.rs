//! The services behind the commands: what happens between media and a protocol machine.

pub mod demo;
pub mod page;
pub mod session;
pub mod treatment;
pub mod url;
