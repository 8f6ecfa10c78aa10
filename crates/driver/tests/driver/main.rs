//! The driver on loopback sockets.

mod binding;
mod capture;
mod emulator;
mod lifecycle;
mod paths;
mod probe;
mod sending;
