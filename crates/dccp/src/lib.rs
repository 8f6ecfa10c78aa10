//! DCCP (RFC 4340): datagrams that are not repeated, under congestion control.
//!
//! An [`Endpoint`] does no I/O, reads no clock and draws no randomness of its own: see
//! [`anabranch_sansio`]. Its packets go straight on IP or in UDP (RFC 6773).
//!
//! It has what the RFCs define: the handshake, with or without cookies, and service codes (RFC
//! 5595); feature negotiation; sequence numbers of 48 and 24 bits with their validity windows, Sync
//! and SyncAck; Ack Vectors, NDP Counts, Slow Receiver, Data Dropped; checksums that cover data in
//! part, and Data Checksums; close from either end, Resets, TIMEWAIT. Congestion control is CCID 2,
//! by a window (RFC 4341), or CCID 3, by a rate (RFC 4342), whose [`tfrc`] (RFC 5348) can be used
//! alone. A [`Bundle`] carries one source by several connections; [`Multipath`] is one connection
//! over several paths (RFC 9897). [`wire`] is its packets: bytes to structs and back, without
//! state.
//!
//! Of Multipath DCCP it has keys in plain text, joins, numbers over all paths, addresses,
//! priorities, round-trip times, confirmations and both ways to close.
//!
//! It leaves out data on a Request or a Response, path MTU discovery, history discounting (RFC 5348
//! section 5.5), and the ECN nonce, which RFC 8311 has done away with. So a receiver can conceal
//! its losses, and gets what the application sends. But whatever it reports, TFRC's rate is at most
//! four times what was sent in one of the last round trips, or at the beginning, and the round trip
//! is believed down to an eighth of what passed (RFC 5348 section 10).
//!
//! ```
//! use anabranch_dccp::{Ccid, Config, Encapsulation, Endpoint, EndpointConfig, wire::ServiceCode};
//! use anabranch_netsim::{Carrier, LinkConfig, Pair, Side};
//!
//! let service: ServiceCode = "SC:anab".parse()?;
//! let config = Config::with_ccid(Ccid::Tfrc);
//! let on_ip = EndpointConfig { encapsulation: Encapsulation::Ip, ..EndpointConfig::default() };
//! let links = [LinkConfig::wifi().into()];
//! let mut pair = Pair::new(7, &links, |_, _, rng| Endpoint::new(on_ip.clone(), rng));
//! pair.set_carrier(Carrier::Dccp);
//! pair.server_mut().listen(5_001, vec![service], config.clone());
//! let path = pair.paths()[0].addresses;
//! let id = pair.act_client(|client, now| {
//!     client.connect(now, path, (40_000, 5_001), service, config)
//! })??;
//! pair.run_for(std::time::Duration::from_secs(1))?;
//! pair.act_client(|client, _| client.connection_mut(id).unwrap().send("hello".into()))??;
//! pair.run_for(std::time::Duration::from_secs(1))?;
//! let received = pair.act_server(|server, _| {
//!     let id = server.connections().next().unwrap();
//!     server.connection_mut(id).unwrap().receive()
//! })?;
//! assert_eq!(received, Some("hello".into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod bundle;
mod ccid;
mod config;
mod connection;
mod encapsulation;
mod endpoint;
mod error;
mod event;
mod feature;
mod multipath;
mod receive;
mod seq;
mod stats;
pub mod tfrc;
mod trace;
pub mod wire;

pub use bundle::{
    Bundle, BundleConfig, BundleEvent, BundleStats, CONNECTIONS_MAX, Connections, Interleaving,
    Look, Width,
};
pub use config::{Ccid, Config};
pub use connection::Connection;
pub use encapsulation::Encapsulation;
pub use endpoint::{ConnectionId, Endpoint, EndpointConfig};
pub use error::{ConnectError, SendError};
pub use event::{CloseReason, Event};
pub use multipath::{
    Multipath, MultipathConfig, MultipathEvent, MultipathId, MultipathStats, SubflowId,
};
pub use stats::{CongestionStats, EndpointStats, Stats};

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
