//! The driver on loopback sockets.

mod binding;
mod emulator;
mod lifecycle;
mod paths;
mod probe;
mod sending;
