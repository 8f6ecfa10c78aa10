//! The driver on loopback sockets.

mod binding;
mod lifecycle;
mod paths;
mod probe;
mod sending;
