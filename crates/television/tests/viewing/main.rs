//! A server and a viewer over simulated networks, on virtual time.

mod access;
mod harness;
mod overload;
mod urgent;
mod zapping;
