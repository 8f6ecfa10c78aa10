//! [`OwnAddresses`]: addresses of this machine that come and go while it listens at all of them.

use std::io;
use std::net::SocketAddr;

use anabranch_driver::{InterfaceAddress, InterfaceWatch, Way, interface_addresses};
use anabranch_sansio::FourTuple;

use super::NetError;
use super::interfaces::{Turn, ways};

/// The addresses at which a listener is found, beside those at which its callers found it.
#[derive(Debug)]
pub(crate) struct OwnAddresses {
    watch: InterfaceWatch,
    /// The port of the socket that hears at all of them.
    port: u16,
    /// Those that were there from the start, and still are.
    first: Vec<InterfaceAddress>,
    /// How those that came since then reach the peer.
    offered: Vec<Way>,
}

impl OwnAddresses {
    /// Begins to watch. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The system does not tell.
    pub(crate) fn watch(port: u16) -> io::Result<Self> {
        // Watched first, so that no change is missed.
        let watch = InterfaceWatch::start()?;
        Ok(Self { watch, port, first: interface_addresses()?, offered: Vec::new() })
    }

    /// Waits until [`follow`](Self::follow) may have something to do. Dropping the future loses
    /// nothing.
    ///
    /// # Errors
    /// The system does not tell.
    pub(crate) async fn changed(&mut self) -> io::Result<()> {
        self.watch.changed().await
    }

    /// Another peer is there, which knows none of the addresses that came.
    pub(crate) fn begin(&mut self) {
        self.offered.clear();
    }

    /// What came and went since the last time, towards a peer with these addresses; nothing
    /// without one.
    ///
    /// # Errors
    /// The system does not tell which addresses there are.
    pub(crate) fn follow(&mut self, remotes: &[SocketAddr]) -> Result<Vec<Turn>, NetError> {
        let addresses = interface_addresses()?;
        let gone = self.first.extract_if(.., |it| !addresses.contains(it)).collect();
        let ways = ways(remotes, &self.offered)?;
        Ok(self.turns(remotes, gone, ways))
    }

    fn turns(
        &mut self,
        remotes: &[SocketAddr],
        gone: Vec<InterfaceAddress>,
        ways: Vec<Way>,
    ) -> Vec<Turn> {
        let Some(remote) = remotes.first() else { return Vec::new() };
        let lost = gone.into_iter().map(|InterfaceAddress { interface, ip, .. }| Way {
            interface,
            local: SocketAddr::new(ip, 0),
            remote: *remote,
        });
        let lost = lost.chain(self.offered.extract_if(.., |way| !ways.contains(way)));
        let bound = |way: &Way| {
            let mut local = way.local;
            local.set_port(self.port);
            local
        };
        let mut turns: Vec<Turn> =
            lost.map(|way| Turn::Closed { bound: bound(&way), way }).collect();
        for way in ways {
            let is_first = self.first.iter().any(|it| it.ip == way.local.ip());
            if !is_first && !self.offered.contains(&way) {
                let path = FourTuple::new(bound(&way), way.remote);
                turns.push(Turn::Opened { way: way.clone(), path });
                self.offered.push(way);
            }
        }
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: &str = "198.51.100.1:9";

    fn address(interface: &str, ip: &str) -> InterfaceAddress {
        InterfaceAddress { interface: interface.to_owned(), ip: ip.parse().unwrap(), scope_id: 0 }
    }

    fn way(interface: &str, ip: &str) -> Way {
        let local = SocketAddr::new(ip.parse().unwrap(), 0);
        Way { interface: interface.to_owned(), local, remote: PEER.parse().unwrap() }
    }

    fn said(turns: Vec<Turn>) -> Vec<String> {
        turns.iter().map(ToString::to_string).collect()
    }

    #[tokio::test]
    async fn what_came_since_the_start_is_offered_once_to_each_peer() {
        let mut own = OwnAddresses::watch(7).unwrap();
        own.first = vec![address("wifi", "192.0.2.1")];
        let peer = [PEER.parse().unwrap()];
        let both = || vec![way("wifi", "192.0.2.1"), way("mobile", "192.0.2.2")];
        let turns = own.turns(&peer, vec![], both());
        let path = FourTuple::new("192.0.2.2:7".parse().unwrap(), peer[0]);
        assert!(matches!(&turns[..], [Turn::Opened { path: it, .. }] if *it == path), "{turns:?}");
        assert_eq!(said(own.turns(&peer, vec![], both())), Vec::<String>::new());
        own.begin();
        assert_eq!(own.turns(&peer, vec![], both()).len(), 1, "another peer");
    }

    #[tokio::test]
    async fn what_reaches_the_peer_no_more_is_closed() {
        let mut own = OwnAddresses::watch(7).unwrap();
        own.first = vec![];
        let peer = [PEER.parse().unwrap()];
        assert_eq!(own.turns(&peer, vec![], vec![way("mobile", "192.0.2.2")]).len(), 1);
        let gone = vec![address("wifi", "192.0.2.1")];
        let expected = [
            "wifi (192.0.2.1) reaches 198.51.100.1:9 no more",
            "mobile (192.0.2.2) reaches 198.51.100.1:9 no more",
        ];
        assert_eq!(said(own.turns(&peer, gone, vec![])), expected);
    }

    #[tokio::test]
    async fn without_a_peer_nothing_is_offered() {
        let mut own = OwnAddresses::watch(7).unwrap();
        own.first = vec![];
        assert_eq!(said(own.follow(&[]).unwrap()), Vec::<String>::new());
    }
}
