//! [`NatConfig`]: all that can be chosen about a NAT, as Rust and as data.

use std::time::Duration;

/// All that can be chosen about a NAT.
///
/// As data: `timeout_ms` in milliseconds, `mapping` and `filtering`; each may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct NatConfig {
    /// How long a mapping is kept without a packet that leaves through it. Default 30 s: RFC 4787
    /// REQ-5 asks for 2 minutes, and mobile networks are known for less.
    #[cfg_attr(feature = "serde", serde(rename = "timeout_ms", with = "crate::millis::duration"))]
    pub timeout: Duration,
    /// Towards whom a host's port keeps its public port. Default: everybody (RFC 4787 REQ-1).
    pub mapping: Mapping,
    /// Whose packets are let in. Default: the strictest.
    pub filtering: Filtering,
}

impl Default for NatConfig {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            mapping: Mapping::default(),
            filtering: Filtering::default(),
        }
    }
}

/// Towards whom a host's port keeps its public port (RFC 4787 section 4.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Mapping {
    /// Everybody.
    #[default]
    EndpointIndependent,
    /// One address and port: each other one gets another public port, as of a NAT that is called
    /// symmetric.
    AddressAndPortDependent,
}

/// Whose packets a NAT lets in to a port that it has mapped (RFC 4787 section 5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Filtering {
    /// Everybody's.
    EndpointIndependent,
    /// Those of addresses that were sent something from that port.
    AddressDependent,
    /// Those of addresses and ports that were sent something from that port.
    #[default]
    AddressAndPortDependent,
}
