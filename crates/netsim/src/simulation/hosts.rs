//! [`Hosts`]: machines and their addresses.

use std::net::IpAddr;

use anabranch_sansio::Time;
use thiserror::Error;

use crate::network::{Rank, rank};
use crate::{Carrier, HostId, Traffic};

/// What a host sent and received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct HostStats {
    /// All that its machine sent.
    pub sent: Traffic,
    /// What of that the simulation's filter took out.
    pub filtered: Traffic,
    /// All that arrived.
    pub received: Traffic,
}

/// A host that cannot be as asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HostError {
    /// An address belongs to a host already.
    #[error("{address} belongs to {host} already: each address belongs to one host")]
    AddressInUse {
        /// The address.
        address: IpAddr,
        /// Whose it is.
        host: String,
    },
}

pub(super) struct Host<M> {
    pub(super) name: String,
    pub(super) machine: M,
    pub(super) carrier: Carrier,
    pub(super) stats: HostStats,
    /// How many of the next packets to lose.
    pub(super) to_drop: u32,
    wakeups: u32,
    woken_at: Time,
}

impl<M> Host<M> {
    /// How often it has been woken at `now`, this time included.
    pub(super) fn count_wakeup(&mut self, now: Time) -> u32 {
        if self.woken_at != now {
            self.woken_at = now;
            self.wakeups = 0;
        }
        self.wakeups += 1;
        self.wakeups
    }
}

pub(super) struct Hosts<M> {
    hosts: Vec<Host<M>>,
    /// Sorted.
    addresses: Vec<(Rank, HostId)>,
}

impl<M> Default for Hosts<M> {
    fn default() -> Self {
        Self { hosts: Vec::new(), addresses: Vec::new() }
    }
}

impl<M> Hosts<M> {
    pub(super) fn add(
        &mut self,
        name: String,
        addresses: &[IpAddr],
        machine: M,
    ) -> Result<HostId, HostError> {
        for (n, address) in addresses.iter().enumerate() {
            self.check_is_free(*address)?;
            if addresses.iter().take(n).any(|earlier| earlier == address) {
                return Err(HostError::AddressInUse { address: *address, host: name });
            }
        }
        let host = HostId(self.hosts.len());
        let stats = HostStats::default();
        self.hosts.push(Host {
            name,
            machine,
            carrier: Carrier::default(),
            stats,
            to_drop: 0,
            wakeups: 0,
            woken_at: Time::ZERO,
        });
        for address in addresses {
            self.add_address(host, *address)?;
        }
        Ok(host)
    }

    pub(super) fn add_address(&mut self, host: HostId, address: IpAddr) -> Result<(), HostError> {
        self.check_is_free(address)?;
        let place = self.addresses.partition_point(|(other, _)| *other < rank(address));
        self.addresses.insert(place, (rank(address), host));
        Ok(())
    }

    pub(super) fn remove_address(&mut self, address: IpAddr) {
        self.addresses.retain(|(other, _)| *other != rank(address));
    }

    /// Who has an address.
    pub(super) fn at(&self, address: IpAddr) -> Option<HostId> {
        let place = self.addresses.binary_search_by_key(&rank(address), |(rank, _)| *rank).ok()?;
        self.addresses.get(place).map(|(_, host)| *host)
    }

    pub(super) fn get(&self, host: HostId) -> &Host<M> {
        &self.hosts[host.0]
    }

    pub(super) fn get_mut(&mut self, host: HostId) -> &mut Host<M> {
        &mut self.hosts[host.0]
    }

    /// All hosts, in the order in which they were added.
    pub(super) fn ids(&self) -> impl Iterator<Item = HostId> + use<M> {
        (0..self.hosts.len()).map(HostId)
    }

    fn check_is_free(&self, address: IpAddr) -> Result<(), HostError> {
        match self.at(address) {
            None => Ok(()),
            Some(host) => {
                Err(HostError::AddressInUse { address, host: self.get(host).name.clone() })
            }
        }
    }
}
