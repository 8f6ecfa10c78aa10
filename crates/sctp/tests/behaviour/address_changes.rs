//! Addresses that come and go by request (RFC 5061), ours and the peer's.

use std::net::IpAddr;
use std::time::Duration;

use anabranch_netsim::NatConfig;
use anabranch_sansio::FourTuple;
use anabranch_sctp::{AssociationConfig, CloseReason, Event, PathId, PathState, Protection};
use anabranch_wire::{
    Asconf, AsconfAck, Chunk, ChunkType, ErrorCause, ErrorChunk, HeartbeatAck, Parameter,
    ParameterType, Parameters,
};

use crate::harness::{Duo, Side, good_link, numbered};
use crate::packets::{Sent, Wiretap, lose_first};
use crate::raw_peer::{FIRST_TSN, RawPeer, cause, causes_of, data, tuple};
use crate::signing::{
    SECRET, Signer, connected, deliver_signed, deliver_signed_from, keyed, usual_offer,
};

const MS: Duration = Duration::from_millis(1);

const ANY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);

fn lenient() -> AssociationConfig {
    keyed(SECRET, Protection::Addresses, AssociationConfig::media())
}

/// A client that knows of its first path only, both ends with a key.
fn over_one_of(links: usize, seed: u64, config: AssociationConfig) -> Duo {
    let mut duo = Duo::new(seed, &vec![good_link(); links], config);
    let first = duo.pair.paths()[0].addresses;
    duo.connect_over(&[first]);
    assert!(duo.run_until(5_000 * MS, |duo| duo.is_established(Side::Server)));
    duo.run_for(500 * MS);
    duo
}

fn addresses(duo: &Duo, path: usize) -> FourTuple {
    duo.pair.paths()[path].addresses
}

fn open(duo: &mut Duo, path: usize) -> PathId {
    let tuple = addresses(duo, path);
    duo.act(Side::Client, |association, now| association.open_path(now, tuple)).expect("room")
}

fn close(duo: &mut Duo, path: usize) {
    let local = addresses(duo, path).local;
    duo.act(Side::Client, |association, now| association.close_paths_from(now, local));
}

fn asconf_of(sent: &Sent) -> Asconf<'_> {
    let asconf = |chunk| if let Chunk::Asconf(asconf) = chunk { Some(asconf) } else { None };
    sent.chunks().into_iter().find_map(asconf).expect("an ASCONF")
}

fn types_of(parameters: Parameters<'_>) -> Vec<ParameterType> {
    parameters.iter().map(|parameter| parameter.expect("what is sent can be read").ty()).collect()
}

/// The state of the client's path between two addresses that belong together.
fn client_state(duo: &Duo, path: usize) -> Option<PathState> {
    let tuple = addresses(duo, path);
    let paths = duo.stats(Side::Client).paths;
    paths.iter().find(|path| path.tuple == tuple).map(|path| path.state)
}

/// The state of the best path of the server's that leads to an address.
fn state_towards(duo: &Duo, address: IpAddr) -> Option<PathState> {
    let paths = duo.stats(Side::Server).paths;
    let there = paths.iter().filter(|path| path.tuple.remote.ip() == address);
    there.map(|path| path.state).min()
}

#[test]
fn a_new_address_says_nothing_before_the_peer_has_acknowledged_it() {
    let mut duo = over_one_of(2, 1, lenient());
    let tap = Wiretap::on(&mut duo);
    open(&mut duo, 1);
    duo.run_for(500 * MS);
    let new = addresses(&duo, 1).local;
    let from_new = tap.of_all(Side::Client).into_iter().filter(|sent| sent.path.local == new);
    let from_new: Vec<_> = from_new.collect();
    let acked = tap.of(Side::Server, ChunkType::ASCONF_ACK)[0].at;
    let before = from_new.iter().filter(|sent| sent.at <= acked);
    assert!(before.clone().count() >= 1 && before.clone().all(|s| s.has(ChunkType::ASCONF)));
    assert!(from_new[0].types().starts_with(&[ChunkType::AUTH, ChunkType::ASCONF]));
    let asconf = asconf_of(&from_new[0]);
    assert_eq!(types_of(asconf.parameters), [ParameterType::ADD_IP_ADDRESS]);
    assert_eq!(asconf.address, addresses(&duo, 0).local.ip());
    assert_eq!(state_towards(&duo, new.ip()), Some(PathState::Active));
    assert_eq!(client_state(&duo, 1), Some(PathState::Active));
    let is_new =
        |event: &&Event| matches!(event, Event::PathAdded { tuple, .. } if tuple.remote == new);
    assert_eq!(duo.events(Side::Server).iter().filter(is_new).count(), 1);
}

#[test]
fn an_address_that_is_gone_gets_nothing_any_more() {
    let mut duo = over_one_of(2, 2, lenient());
    open(&mut duo, 1);
    duo.run_for(500 * MS);
    let gone = addresses(&duo, 0);
    close(&mut duo, 0);
    duo.run_for(30 * MS);
    assert_eq!(state_towards(&duo, gone.local.ip()), Some(PathState::Inactive));
    let tap = Wiretap::on(&mut duo);
    for number in 0..50 {
        duo.send(Side::Server, numbered(0, number, 5_000));
        duo.run_for(20 * MS);
    }
    duo.run_for(2_000 * MS);
    assert_eq!(duo.numbers(Side::Client), (0..50).collect::<Vec<_>>());
    let to_gone = |sent: &&Sent| sent.path.remote == gone.local;
    assert_eq!(tap.of_all(Side::Server).iter().filter(to_gone).count(), 0);
}

#[test]
fn an_address_that_comes_back_is_used_again() {
    let mut duo = over_one_of(2, 3, lenient());
    open(&mut duo, 1);
    duo.run_for(500 * MS);
    let gone = addresses(&duo, 0).local.ip();
    for _ in 0..3 {
        close(&mut duo, 0);
        duo.run_for(200 * MS);
        assert_eq!(state_towards(&duo, gone), Some(PathState::Inactive));
        open(&mut duo, 0);
        duo.run_for(1_000 * MS);
        assert_eq!(state_towards(&duo, gone), Some(PathState::Active));
        assert_eq!(client_state(&duo, 0), Some(PathState::Active));
    }
    assert!(duo.stats(Side::Server).paths.len() <= 4, "{:?}", duo.stats(Side::Server).paths);
}

/// RFC 5061 section 5.2, E6: "The destination address of the SCTP packet containing the ASCONF-ACK
/// Chunks MUST be the source address of the SCTP packet that held the ASCONF Chunks." The answer
/// went to the address that was gone, and the other one waited for a second.
#[test]
fn an_address_that_was_deleted_gets_the_answer_when_it_is_the_only_one_again() {
    let mut duo = over_one_of(2, 5, lenient());
    for (from, to) in [(0, 1), (1, 0), (0, 1), (1, 0)] {
        let tap = Wiretap::on(&mut duo);
        duo.pair.restore(to);
        duo.pair.cut(from);
        close(&mut duo, from);
        open(&mut duo, to);
        let since = duo.pair.now();
        let rtt = duo.stats(Side::Client).paths[0].srtt.unwrap_or_default();
        let is_there = |duo: &Duo| client_state(duo, to) == Some(PathState::Active);
        assert!(duo.run_until(5_000 * MS, is_there));
        let took = duo.pair.now() - since;
        assert!(took <= 3 * rtt + 20 * MS, "{from} to {to}: {took:?}, round trip {rtt:?}");
        let new = addresses(&duo, to).local;
        let answers = tap.of(Side::Server, ChunkType::ASCONF_ACK);
        assert!(answers.iter().all(|sent| sent.path.remote == new), "{from} to {to}");
        duo.run_for(500 * MS);
    }
}

/// It waited for as long as a path that does not answer, where a heartbeat of before was still
/// unanswered.
#[test]
fn a_path_that_is_there_again_is_asked_at_once() {
    for wait in (2_000..2_400).step_by(20) {
        let mut duo = over_one_of(2, 6, AssociationConfig::media());
        open(&mut duo, 1);
        duo.run_for(500 * MS);
        duo.pair.cut(1);
        close(&mut duo, 1);
        duo.run_for(wait * MS);
        assert_eq!(client_state(&duo, 1), Some(PathState::Inactive));
        duo.pair.restore(1);
        open(&mut duo, 1);
        duo.run_for(30 * MS);
        assert_eq!(client_state(&duo, 1), Some(PathState::Active), "after {wait} ms");
    }
}

/// What was sent while no path stood went into the dead one, and waited for its timer although
/// another one stood again.
#[test]
fn what_went_into_a_dead_path_takes_the_one_that_stands_again_at_once() {
    let mut duo = over_one_of(2, 7, AssociationConfig::media());
    open(&mut duo, 1);
    duo.run_for(500 * MS);
    duo.pair.cut(1);
    close(&mut duo, 1);
    duo.run_for(500 * MS);
    duo.send(Side::Client, numbered(0, 0, 1_000));
    duo.run_for(500 * MS);
    duo.pair.cut(0);
    duo.pair.restore(1);
    close(&mut duo, 0);
    open(&mut duo, 1);
    for number in 1..6 {
        duo.send(Side::Client, numbered(0, number, 1_000));
        duo.run_for(3 * MS);
    }
    duo.run_for(45 * MS);
    assert_eq!(duo.numbers(Side::Server), (0..6).collect::<Vec<_>>());
}

/// RFC 5061 section 5.3.2, a special case: the only address is renumbered.
#[test]
fn the_only_address_is_exchanged_in_one_request() {
    let mut duo = over_one_of(2, 4, lenient());
    duo.send(Side::Server, numbered(0, 0, 1_000));
    duo.run_for(200 * MS);
    let tap = Wiretap::on(&mut duo);
    close(&mut duo, 0);
    assert!(tap.of(Side::Client, ChunkType::ASCONF).is_empty(), "there is nowhere to say it from");
    open(&mut duo, 1);
    duo.run_for(300 * MS);
    let asconfs = tap.of(Side::Client, ChunkType::ASCONF);
    let types = types_of(asconf_of(&asconfs[0]).parameters);
    assert_eq!(types, [ParameterType::ADD_IP_ADDRESS, ParameterType::DELETE_IP_ADDRESS]);
    assert_eq!(state_towards(&duo, addresses(&duo, 1).local.ip()), Some(PathState::Active));
    assert_eq!(state_towards(&duo, addresses(&duo, 0).local.ip()), Some(PathState::Inactive));
    duo.send(Side::Server, numbered(0, 1, 1_000));
    duo.run_for(200 * MS);
    assert_eq!(duo.numbers(Side::Client), [0, 1]);
}

#[test]
fn one_request_is_outstanding_at_a_time_and_comes_again_as_it_was() {
    let mut duo = over_one_of(3, 5, lenient());
    let tap = Wiretap::on(&mut duo);
    lose_first(&mut duo, Side::Server, ChunkType::ASCONF_ACK, 1);
    open(&mut duo, 1);
    open(&mut duo, 2);
    duo.run_for(3_000 * MS);
    let asconfs = tap.of(Side::Client, ChunkType::ASCONF);
    let numbers: Vec<_> = asconfs.iter().map(|sent| asconf_of(sent).sequence_number).collect();
    let first = numbers[0];
    assert_eq!(numbers, [first, first, first.wrapping_add(1)]);
    assert_eq!(asconf_of(&asconfs[0]), asconf_of(&asconfs[1]));
    let acks = tap.of(Side::Server, ChunkType::ASCONF_ACK);
    assert_eq!(acks.len(), 3, "the answer was kept for the second time");
    assert!(asconfs[2].at > acks[1].at, "the next one waits for the answer");
    for path in 1..3 {
        let address = addresses(&duo, path).local.ip();
        assert_eq!(state_towards(&duo, address), Some(PathState::Active));
    }
}

#[test]
fn a_new_address_that_leads_nowhere_does_not_end_the_association() {
    let mut duo = over_one_of(2, 6, lenient());
    duo.pair.cut(1);
    open(&mut duo, 1);
    duo.run_for(Duration::from_secs(60));
    duo.send(Side::Client, numbered(0, 1, 1_000));
    duo.run_for(500 * MS);
    assert_eq!(duo.numbers(Side::Server), [1]);
    // It is there after all, and nothing stands in the way of the next request.
    duo.pair.restore(1);
    duo.run_for(5_000 * MS);
    assert_eq!(client_state(&duo, 1), Some(PathState::Active));
}

#[test]
fn behind_a_nat_the_peer_learns_the_address_that_the_nat_gives() {
    let mut duo = Duo::new(7, &[good_link(), good_link()], lenient());
    (0..2).for_each(|path| _ = duo.pair.add_nat(path, NatConfig::default()));
    let first = addresses(&duo, 0);
    duo.connect_over(&[first]);
    assert!(duo.run_until(5_000 * MS, |duo| duo.is_established(Side::Server)));
    open(&mut duo, 1);
    duo.run_for(500 * MS);
    let mut paths = duo.stats(Side::Server).paths;
    paths.retain(|path| path.state == PathState::Active);
    assert_eq!(paths.len(), 2, "{paths:?}");
    for path in paths {
        assert_ne!(path.tuple.remote.port(), 9_899, "the NAT's port: {}", path.tuple);
    }
    // The peer does not know the address by which we know it; but all others are gone.
    let gone = duo.stats(Side::Server).paths[0].tuple.remote.ip();
    close(&mut duo, 0);
    duo.run_for(100 * MS);
    assert_eq!(state_towards(&duo, gone), Some(PathState::Inactive));
}

#[test]
fn a_peer_without_a_key_sees_heartbeats_only() {
    let plain = AssociationConfig::media();
    let mut duo = Duo::of_two(8, &[good_link(), good_link()], lenient(), plain);
    let first = addresses(&duo, 0);
    duo.connect_over(&[first]);
    assert!(duo.run_until(5_000 * MS, |duo| duo.is_established(Side::Server)));
    let tap = Wiretap::on(&mut duo);
    open(&mut duo, 1);
    duo.run_for(500 * MS);
    assert!(tap.of(Side::Client, ChunkType::ASCONF).is_empty());
    assert_eq!(client_state(&duo, 1), Some(PathState::Active));
}

#[test]
fn data_comes_over_the_path_that_was_asked_for() {
    let config = keyed(SECRET, Protection::Addresses, AssociationConfig::default());
    let mut duo = over_one_of(2, 9, config);
    let path = open(&mut duo, 1);
    duo.run_for(3_000 * MS);
    assert!(duo.act(Side::Client, |association, now| association.ask_for_primary(now, path)));
    duo.run_for(1_000 * MS);
    let tap = Wiretap::on(&mut duo);
    duo.send(Side::Server, numbered(0, 1, 1_000));
    duo.run_for(500 * MS);
    let sent = tap.of(Side::Server, ChunkType::DATA);
    assert!(sent.iter().all(|sent| sent.path.remote == addresses(&duo, 1).local));
    assert_eq!(duo.numbers(Side::Client), [1]);
}

/// A scripted peer, and the number of its next ASCONF.
struct Changer {
    peer: RawPeer,
    signer: Signer,
    number: u32,
}

impl Changer {
    fn new() -> Self {
        let (peer, signer) = connected(lenient(), &usual_offer());
        Self { peer, signer, number: FIRST_TSN }
    }

    /// Sends requests from somewhere; returns the responses.
    fn ask_from(&mut self, path: FourTuple, requests: &[u8]) -> Vec<u8> {
        let asconf = Asconf {
            sequence_number: self.number,
            address: self.peer.path.remote.ip(),
            parameters: Parameters::from_bytes(requests),
        };
        self.number += 1;
        self.peer.take();
        deliver_signed_from(&mut self.peer, path, &self.signer, &[Chunk::Asconf(asconf)]);
        let sent = self.peer.take();
        let acks: Vec<_> = sent.iter().filter(|sent| sent.has(ChunkType::ASCONF_ACK)).collect();
        let [ack] = acks[..] else { panic!("one answer, not {sent:?}") };
        assert_eq!(ack.path, path, "to where the request came from");
        assert!(self.signer.has_signed(ack));
        responses_of(ack)
    }

    fn ask(&mut self, requests: &[u8]) -> Vec<u8> {
        self.ask_from(self.peer.path, requests)
    }

    /// Returns the nonce of the next heartbeat to an address.
    fn confirm(&mut self, address: &str) {
        self.peer.run_for(MS);
        let address: IpAddr = address.parse().expect("an address");
        let sent = self.peer.take();
        let is_meant = |sent: &&Sent| sent.path.remote.ip() == address;
        let (path, info) = sent
            .iter()
            .filter(is_meant)
            .find_map(|sent| {
                let info = sent.chunks().into_iter().find_map(|chunk| {
                    let Chunk::Heartbeat(heartbeat) = chunk else { return None };
                    Some(heartbeat.info.to_vec())
                });
                info.map(|info| (sent.path, info))
            })
            .expect("asked");
        let ack = Chunk::HeartbeatAck(HeartbeatAck { info: &info });
        deliver_signed_from(&mut self.peer, path, &self.signer, &[ack]);
    }

    fn state_of(&self, address: &str) -> Option<PathState> {
        let address: IpAddr = address.parse().expect("an address");
        let paths = self.peer.stats().paths;
        paths.iter().find(|path| path.tuple.remote.ip() == address).map(|path| path.state)
    }
}

fn responses_of(sent: &Sent) -> Vec<u8> {
    let responses = sent.chunks().into_iter().find_map(|chunk| {
        let Chunk::AsconfAck(ack) = chunk else { return None };
        let mut bytes = Vec::new();
        ack.responses
            .iter()
            .for_each(|response| response.expect("what is sent can be read").encode(&mut bytes));
        Some(bytes)
    });
    responses.expect("an ASCONF-ACK")
}

fn add(correlation_id: u32, address: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let address = address.parse().expect("an address");
    Parameter::AddIpAddress { correlation_id, address }.encode(&mut bytes);
    bytes
}

fn delete(correlation_id: u32, address: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let address = address.parse().expect("an address");
    Parameter::DeleteIpAddress { correlation_id, address }.encode(&mut bytes);
    bytes
}

/// A response that says why a request was refused.
fn refused(correlation_id: u32, why: ErrorCause<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let causes = cause(why);
    let causes = anabranch_wire::ErrorCauses::from_bytes(&causes);
    Parameter::ErrorCauseIndication { correlation_id, causes }.encode(&mut bytes);
    bytes
}

#[test]
fn an_added_address_is_asked_before_it_gets_data() {
    let mut changer = Changer::new();
    assert!(changer.ask(&add(1, "10.0.0.9")).is_empty(), "success");
    assert_eq!(changer.state_of("10.0.0.9"), Some(PathState::Unconfirmed));
    changer.confirm("10.0.0.9");
    assert_eq!(changer.state_of("10.0.0.9"), Some(PathState::Active));
    assert!(changer.ask(&add(2, "10.0.0.9")).is_empty(), "as it is");
    assert_eq!(changer.peer.stats().paths.len(), 2);
}

#[test]
fn what_came_before_is_answered_as_before_and_what_skips_a_number_is_not() {
    let mut changer = Changer::new();
    let number = changer.number;
    let first = changer.ask(&delete(7, "10.0.0.77"));
    assert!(!first.is_empty());
    changer.number = number;
    assert_eq!(changer.ask(&add(7, "10.0.0.9")), first, "by its number");
    assert_eq!(changer.state_of("10.0.0.9"), None);
    let requests = add(1, "10.0.0.9");
    for number in [number.wrapping_sub(1), number + 2] {
        let asconf = Asconf {
            sequence_number: number,
            address: changer.peer.path.remote.ip(),
            parameters: Parameters::from_bytes(&requests),
        };
        deliver_signed(&mut changer.peer, &changer.signer, &[Chunk::Asconf(asconf)]);
        assert!(changer.peer.take().iter().all(|sent| !sent.has(ChunkType::ASCONF_ACK)));
    }
}

#[test]
fn a_request_that_is_not_signed_ends_its_packet() {
    let mut changer = Changer::new();
    let requests = add(1, "10.0.0.9");
    let asconf = Asconf {
        sequence_number: changer.number,
        address: ANY,
        parameters: Parameters::from_bytes(&requests),
    };
    changer.peer.deliver(&[Chunk::Asconf(asconf), Chunk::Data(data(FIRST_TSN, 0))]);
    assert!(changer.peer.take().is_empty() && changer.peer.read().is_empty());
    assert_eq!(changer.peer.stats().paths.len(), 1);
}

#[test]
fn deletions_that_cannot_be_are_refused_by_the_rule_they_break() {
    let mut changer = Changer::new();
    let request = delete(3, "10.0.0.1");
    let last = refused(3, ErrorCause::DeleteLastRemainingIpAddress(&request));
    assert_eq!(changer.ask(&request), last);
    changer.ask(&add(1, "10.0.0.9"));
    changer.confirm("10.0.0.9");
    let source = refused(3, ErrorCause::DeleteSourceIpAddress(&request));
    assert_eq!(changer.ask(&request), source);
    let request = delete(4, "10.0.0.77");
    let unknown = refused(4, ErrorCause::UnresolvableAddress(&request));
    assert_eq!(changer.ask(&request), unknown);
    let multicast = add(5, "224.0.0.1");
    let unusable = refused(5, ErrorCause::UnresolvableAddress(&multicast));
    assert_eq!(changer.ask(&multicast), unusable);
    let strange = [0xc0, 0x77, 0, 8, 0, 0, 0, 9];
    let unrecognized = refused(9, ErrorCause::UnrecognizedParameters(&strange));
    assert_eq!(changer.ask(&strange), unrecognized);
    assert!(changer.ask(&delete(6, "10.0.0.9")).is_empty());
    assert_eq!(changer.state_of("10.0.0.9"), Some(PathState::Inactive));
}

#[test]
fn addresses_beyond_the_limit_are_refused_and_all_requests_behind() {
    let mut changer = Changer::new();
    let mut requests = Vec::new();
    for nth in 0..9 {
        requests.extend(add(nth, &format!("10.0.0.{}", 100 + nth)));
    }
    requests.extend(delete(9, "10.0.0.100"));
    let responses = changer.ask(&requests);
    let ids = Parameters::from_bytes(&responses).iter().map(|response| {
        let Ok(Parameter::ErrorCauseIndication { correlation_id, causes }) = response else {
            panic!("{response:?}")
        };
        assert!(matches!(causes.iter().next(), Some(Ok(ErrorCause::ResourceShortage(_)))));
        correlation_id
    });
    assert_eq!(ids.collect::<Vec<_>>(), [7, 8, 9], "8 paths at most");
    assert_eq!(changer.peer.stats().paths.len(), 8);
}

#[test]
fn who_moves_a_request_to_his_own_address_cuts_nobody_off() {
    let mut changer = Changer::new();
    changer.ask(&add(1, "10.0.0.9"));
    changer.confirm("10.0.0.9");
    let elsewhere = tuple("10.0.0.2:9899", "10.66.0.1:666");
    let mut requests = add(2, "0.0.0.0");
    requests.extend(delete(3, "0.0.0.0"));
    assert!(changer.ask_from(elsewhere, &requests).is_empty());
    assert_eq!(changer.state_of("10.0.0.1"), Some(PathState::Active), "until it has answered");
    changer.confirm("10.66.0.1");
    assert_eq!(changer.state_of("10.66.0.1"), Some(PathState::Active));
    for gone in ["10.0.0.1", "10.0.0.9"] {
        assert_eq!(changer.state_of(gone), Some(PathState::Inactive));
    }
    changer.peer.send(numbered(0, 1, 100));
    assert!(changer.peer.take().iter().all(|sent| sent.path == elsewhere));
}

#[test]
fn an_answer_that_nobody_asked_for_ends_the_association() {
    let mut changer = Changer::new();
    let first = changer.peer.their_first_tsn.0;
    let responses = Parameters::from_bytes(&[]);
    let stale = AsconfAck { sequence_number: first.wrapping_sub(1), responses };
    deliver_signed(&mut changer.peer, &changer.signer, &[Chunk::AsconfAck(stale)]);
    assert!(changer.peer.is_established(), "an old one is ignored");
    let ack = AsconfAck { sequence_number: first, responses };
    deliver_signed(&mut changer.peer, &changer.signer, &[Chunk::AsconfAck(ack)]);
    assert!(matches!(changer.peer.close_reason(), Some(CloseReason::PeerMisbehaved { .. })));
    let sent = changer.peer.take();
    let abort = sent[0].chunks().pop().unwrap();
    assert_eq!(causes_of(&abort), [ErrorCause::IllegalAsconfAck]);
}

#[test]
fn a_peer_that_does_not_know_the_chunk_after_all_is_asked_no_more() {
    let mut changer = Changer::new();
    let other = tuple("10.0.5.2:9899", "10.0.0.1:9899");
    changer.peer.act(|association, now| association.open_path(now, other)).expect("room");
    let sent = changer.peer.take();
    assert_eq!(sent[0].types(), [ChunkType::AUTH, ChunkType::ASCONF]);
    let causes = cause(ErrorCause::UnrecognizedChunkType(&[0xc1, 0, 0, 4]));
    let causes = anabranch_wire::ErrorCauses::from_bytes(&causes);
    changer.peer.deliver(&[Chunk::Error(ErrorChunk { causes })]);
    changer.peer.run_for(5_000 * MS);
    let sent = changer.peer.take();
    assert!(sent.iter().all(|sent| !sent.has(ChunkType::ASCONF)));
    let asks = |sent: &&Sent| sent.path == other && sent.has(ChunkType::HEARTBEAT);
    assert!(sent.iter().filter(asks).count() > 0, "it is left to heartbeats");
}
