//! Which of our addresses goes with which of the peer's.

use std::net::{IpAddr, SocketAddr};

use anabranch_sansio::FourTuple;

/// The paths that an announcement of addresses adds to those that are known: one for each new
/// remote address, and one for each local address that has none yet.
///
/// RFC 9260 counts destinations only; which source goes with which is routing's matter there. Here
/// a remote address is paired with the local one that shares the longest prefix (RFC 6724 section
/// 5, rule 8), preferably one without a path, and a local address left over with the remote
/// address that the announcement came from (`known[0]`).
pub(crate) fn pair_addresses(
    known: &[FourTuple],
    locals: &[SocketAddr],
    remotes: &[IpAddr],
) -> Vec<FourTuple> {
    let Some(&arrival) = known.first() else { return Vec::new() };
    let has_path = |local: &SocketAddr| known.iter().any(|tuple| tuple.local == *local);
    let mut unused: Vec<SocketAddr> = locals.iter().copied().filter(|l| !has_path(l)).collect();
    let mut pairs = Vec::new();
    for &remote in remotes {
        if known.iter().any(|tuple| tuple.remote.ip() == remote) || !is_usable(remote, arrival) {
            continue;
        }
        let used = known.iter().map(|tuple| tuple.local).filter(|local| fits(*local, remote));
        let fresh = unused.iter().copied().filter(|local| fits(*local, remote));
        let nearest = |local: &SocketAddr| common_prefix(local.ip(), remote);
        let best = fresh.max_by_key(nearest).or_else(|| used.max_by_key(nearest));
        let Some(local) = best else { continue };
        unused.retain(|other| *other != local);
        pairs.push(FourTuple::new(local, SocketAddr::new(remote, arrival.remote.port())));
    }
    let left = unused.into_iter().filter(|local| fits(*local, arrival.remote.ip()));
    pairs.extend(left.map(|local| FourTuple::new(local, arrival.remote)));
    pairs
}

/// Whether packets from `local` can reach `remote` at all: one family, and both or neither on the
/// machine itself.
fn fits(local: SocketAddr, remote: IpAddr) -> bool {
    local.is_ipv4() == remote.is_ipv4() && local.ip().is_loopback() == remote.is_loopback()
}

/// Whether an announced address can be a destination. One on our own machine can only if the peer
/// is there too.
fn is_usable(address: IpAddr, arrival: FourTuple) -> bool {
    let elsewhere = address.is_loopback() && !arrival.remote.ip().is_loopback();
    !address.is_unspecified() && !address.is_multicast() && !elsewhere
}

/// Leading bits that two addresses of one family share.
fn common_prefix(a: IpAddr, b: IpAddr) -> u32 {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn tuple(local: &str, remote: &str) -> FourTuple {
        FourTuple::new(addr(local), addr(remote))
    }

    #[test]
    fn two_interfaces_towards_one_address_are_two_paths() {
        let arrival = tuple("10.0.1.1:5000", "192.0.2.9:9000");
        let pairs =
            pair_addresses(&[arrival], &[addr("10.0.1.1:5000"), addr("10.0.2.1:5001")], &[]);
        assert_eq!(pairs, [tuple("10.0.2.1:5001", "192.0.2.9:9000")]);
    }

    #[test]
    fn announced_addresses_are_paired_by_their_longest_common_prefix() {
        let arrival = tuple("10.77.1.1:9", "10.77.1.2:9");
        let locals = [addr("10.77.1.1:9"), addr("[fd77:2::1]:9"), addr("10.77.2.1:9")];
        let remotes = [ip("10.77.2.2"), ip("10.77.1.2"), ip("fd77:2::2")];
        assert_eq!(
            pair_addresses(&[arrival], &locals, &remotes),
            [tuple("10.77.2.1:9", "10.77.2.2:9"), tuple("[fd77:2::1]:9", "[fd77:2::2]:9")]
        );
    }

    #[test]
    fn a_peer_with_two_addresses_reaches_our_only_one_over_two_paths() {
        let arrival = tuple("10.77.1.1:9", "10.77.1.2:9");
        let pairs = pair_addresses(&[arrival], &[arrival.local], &[ip("10.77.2.2")]);
        assert_eq!(pairs, [tuple("10.77.1.1:9", "10.77.2.2:9")]);
    }

    #[test]
    fn known_paths_and_unreachable_addresses_are_not_added() {
        let known = [tuple("10.0.1.1:9", "10.0.1.2:9"), tuple("10.0.2.1:9", "10.0.2.2:9")];
        let locals = [known[0].local, known[1].local];
        let remotes =
            [ip("10.0.2.2"), ip("0.0.0.0"), ip("127.0.0.1"), ip("224.0.0.1"), ip("fd::1")];
        assert_eq!(pair_addresses(&known, &locals, &remotes), []);
    }
}
