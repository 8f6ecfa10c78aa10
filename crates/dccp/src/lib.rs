//! DCCP (RFC 4340): datagrams that are not repeated, under congestion control.
//!
//! [`wire`] is its packets: bytes to structs and back, without state.

#![forbid(unsafe_code)]

pub mod wire;
