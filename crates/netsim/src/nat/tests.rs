//! A NAT by itself.

use std::time::Duration;

use anabranch_sansio::FourTuple;

use super::*;

const PUBLIC: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 18, 0, 1));

fn addr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn nat(config: NatConfig) -> Nat {
    let inside = vec![addr("10.0.0.1:1").ip(), addr("10.0.0.3:1").ip()];
    Nat::new(config, PUBLIC, inside, Rng::from_u64(1))
}

fn filtering(filtering: Filtering) -> Nat {
    nat(NatConfig { filtering, ..NatConfig::default() })
}

/// What becomes of a packet: its path behind the NAT.
fn pass(nat: &mut Nat, at_ms: u64, from: SocketAddr, to: SocketAddr) -> Option<FourTuple> {
    let (now, path) = (Time::from_millis(at_ms), FourTuple::new(from, to));
    nat.handle_packet(now, Packet::new(path, Carrier::Udp, vec![7]));
    let passed = nat.poll_packet(now);
    assert_eq!(passed.is_none(), nat.poll_dropped().is_some(), "it passes or it is dropped");
    passed.map(|packet| packet.path)
}

/// The public address that a packet to a server leaves with.
fn leave(nat: &mut Nat, at_ms: u64, from: &str) -> SocketAddr {
    pass(nat, at_ms, addr(from), addr("10.0.0.2:9")).expect("packets may leave").local
}

#[test]
fn what_leaves_has_the_public_address_and_the_answer_comes_back() {
    let mut nat = filtering(Filtering::AddressAndPortDependent);
    let public = leave(&mut nat, 0, "10.0.0.1:9899");
    assert_eq!(public.ip(), PUBLIC);
    assert_ne!(public.port(), 9_899);
    let back = pass(&mut nat, 1, addr("10.0.0.2:9"), public);
    assert_eq!(back, Some(FourTuple::new(addr("10.0.0.2:9"), addr("10.0.0.1:9899"))));
}

#[test]
fn a_mapping_is_the_same_towards_everybody_and_each_port_has_its_own() {
    let mut nat = filtering(Filtering::AddressAndPortDependent);
    let public = leave(&mut nat, 0, "10.0.0.1:9899");
    let elsewhere = pass(&mut nat, 0, addr("10.0.0.1:9899"), addr("10.0.0.7:7")).unwrap();
    assert_eq!(elsewhere.local, public);
    assert_ne!(leave(&mut nat, 0, "10.0.0.1:9900"), public);
    assert_ne!(leave(&mut nat, 0, "10.0.0.3:9899"), public);
    assert_eq!(nat.mappings(), 3);
}

#[test]
fn a_symmetric_nat_has_another_port_for_whoever_is_called() {
    let mapping = Mapping::AddressAndPortDependent;
    let mut nat = nat(NatConfig { mapping, ..NatConfig::default() });
    let public = leave(&mut nat, 0, "10.0.0.1:9899");
    assert_eq!(leave(&mut nat, 1, "10.0.0.1:9899"), public);
    for other in ["10.0.0.7:9", "10.0.0.2:10"] {
        let elsewhere = pass(&mut nat, 0, addr("10.0.0.1:9899"), addr(other)).unwrap().local;
        assert_ne!(elsewhere, public, "{other}");
        let back = pass(&mut nat, 1, addr(other), elsewhere).map(|path| path.remote);
        assert_eq!(back, Some(addr("10.0.0.1:9899")), "{other}");
        assert_eq!(pass(&mut nat, 1, addr(other), public), None, "{other}");
    }
}

#[test]
fn filtering_decides_whose_packets_are_let_in() {
    let strangers = [("10.0.0.2:9", 3), ("10.0.0.2:10", 2), ("10.0.0.7:9", 1)];
    let strictness = [
        (Filtering::EndpointIndependent, 1),
        (Filtering::AddressDependent, 2),
        (Filtering::AddressAndPortDependent, 3),
    ];
    for (rule, strict) in strictness {
        let mut nat = filtering(rule);
        let public = leave(&mut nat, 0, "10.0.0.1:9899");
        for (stranger, acquaintance) in strangers {
            let is_let_in = pass(&mut nat, 0, addr(stranger), public).is_some();
            assert_eq!(is_let_in, acquaintance >= strict, "{rule:?} {stranger}");
        }
    }
}

#[test]
fn nobody_gets_in_who_was_not_called_or_aims_past_the_public_address() {
    let mut nat = filtering(Filtering::EndpointIndependent);
    assert_eq!(pass(&mut nat, 0, addr("10.0.0.2:9"), SocketAddr::new(PUBLIC, 5_000)), None);
    let public = leave(&mut nat, 0, "10.0.0.1:9899");
    let private = SocketAddr::new(addr("10.0.0.1:1").ip(), public.port());
    assert_eq!(pass(&mut nat, 0, addr("10.0.0.2:9"), private), None);
}

#[test]
fn a_mapping_is_kept_by_what_leaves_and_not_by_what_comes_in() {
    let timeout = Duration::from_millis(1_000);
    let mut nat = nat(NatConfig { timeout, ..NatConfig::default() });
    let public = leave(&mut nat, 0, "10.0.0.1:9899");
    assert_eq!(leave(&mut nat, 1_000, "10.0.0.1:9899"), public, "just in time");
    assert!(pass(&mut nat, 2_000, addr("10.0.0.2:9"), public).is_some());
    assert!(pass(&mut nat, 2_001, addr("10.0.0.2:9"), public).is_none(), "that did not keep it");
    assert_ne!(leave(&mut nat, 2_002, "10.0.0.1:9899"), public);
    assert_eq!(nat.mappings(), 1);
}

#[test]
fn rebinding_changes_ports_and_renumbering_the_address() {
    let mut nat = filtering(Filtering::EndpointIndependent);
    let before = leave(&mut nat, 0, "10.0.0.1:9899");
    nat.rebind();
    assert_eq!(pass(&mut nat, 0, addr("10.0.0.2:9"), before), None);
    let after = leave(&mut nat, 0, "10.0.0.1:9899");
    assert!(after.ip() == before.ip() && after.port() != before.port());
    nat.renumber([198, 18, 0, 2].into());
    assert_eq!(pass(&mut nat, 0, addr("10.0.0.2:9"), after), None);
    assert_eq!(leave(&mut nat, 0, "10.0.0.1:9899").ip(), nat.public());
}

#[test]
fn mappings_are_bounded_and_those_whose_time_is_over_make_room() {
    let mut nat = filtering(Filtering::EndpointIndependent);
    let host = addr("10.0.0.1:0").ip();
    let mut leaves = |at_ms, port: usize| {
        let from = SocketAddr::new(host, port as u16);
        pass(&mut nat, at_ms, from, addr("10.0.0.2:9")).is_some()
    };
    assert!((1..=MAPPINGS_MAX).all(|port| leaves(0, port)));
    assert!(!leaves(0, MAPPINGS_MAX + 1));
    assert!(leaves(30_001, MAPPINGS_MAX + 1));
}

#[test]
fn what_is_not_udp_has_no_port_to_rewrite() {
    let mut nat = filtering(Filtering::EndpointIndependent);
    let path = FourTuple::new(addr("10.0.0.1:1"), addr("10.0.0.2:9"));
    let packet = Packet::new(path, Carrier::Sctp, vec![7]);
    nat.handle_packet(Time::ZERO, packet.clone());
    assert_eq!(nat.poll_dropped(), Some((DropCause::Nat, packet)));
}
