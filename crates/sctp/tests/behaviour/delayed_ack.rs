//! Delayed acknowledgements for CMT (DAC of Iyengar 2006, section V): negotiated, then SACKs of
//! reordered data are delayed too and count packets.

use std::time::Duration;

use anabranch_sctp::AssociationConfig;
use anabranch_wire::{Chunk, GapAckBlock, Items, Parameter, Parameters, Sack};

use crate::harness::numbered;
use crate::packets::Sent;
use crate::raw_peer::{FIRST_TSN, RawPeer, TAG, WINDOW, data, init};

const OFFER: Parameter<'static> = Parameter::CmtDelayedAckSupported;

fn offering() -> AssociationConfig {
    AssociationConfig::default().with(|config| config.extensions.cmt_delayed_ack = true)
}

/// A peer that called with or without the offer; its first DATA chunk is acknowledged.
fn called(config: AssociationConfig, offers: bool) -> RawPeer {
    let mut parameters = Vec::new();
    Parameter::ForwardTsnSupported.encode(&mut parameters);
    if offers {
        OFFER.encode(&mut parameters);
    }
    let mut peer = RawPeer::facing_listener(config);
    peer.call(&parameters);
    deliver(&mut peer, 0);
    peer.take();
    peer
}

fn deliver(peer: &mut RawPeer, number: u32) {
    peer.deliver(&[Chunk::Data(data(FIRST_TSN + number, number as u16))]);
}

/// The packets that each SACK counts, of those sent since the last call.
fn take_counts(peer: &mut RawPeer) -> Vec<u8> {
    peer.take().iter().filter_map(Sent::sack).map(|sack| sack.data_packets).collect()
}

#[test]
fn between_peers_that_agreed_every_second_packet_is_acknowledged_in_gaps_too() {
    let mut peer = called(offering(), true);
    for (number, counts) in [(2, vec![]), (3, vec![2]), (5, vec![]), (1, vec![2])] {
        deliver(&mut peer, number);
        assert_eq!(take_counts(&mut peer), counts, "packet {number}");
    }
    deliver(&mut peer, 7);
    peer.run_for(Duration::from_millis(199));
    assert!(take_counts(&mut peer).is_empty());
    peer.run_for(Duration::from_millis(1));
    assert_eq!(take_counts(&mut peer), [1], "the SACK delay is over");
}

#[test]
fn a_duplicate_is_reported_at_once_all_the_same() {
    let mut peer = called(offering(), true);
    deliver(&mut peer, 2);
    deliver(&mut peer, 2);
    let report = peer.take_sack().expect("at once");
    assert_eq!(report.duplicates, [FIRST_TSN + 2]);
    deliver(&mut peer, 2);
    assert!(peer.take_sack().is_some());
}

#[test]
fn where_one_side_does_not_offer_it_gaps_are_reported_at_once_and_nothing_is_counted() {
    for (config, offers) in [(offering(), false), (AssociationConfig::default(), true)] {
        let mut peer = called(config, offers);
        for number in [2, 3, 5] {
            deliver(&mut peer, number);
            assert_eq!(take_counts(&mut peer), [1], "packet {number}, offered by us: {offers}");
        }
    }
}

#[test]
fn a_listener_offers_it_only_if_told_so() {
    let offers = |config| {
        let mut peer = RawPeer::facing_listener(config);
        peer.deliver_as(
            peer.path,
            anabranch_wire::VerificationTag(0),
            &[Chunk::Init(init(TAG, &[]))],
        );
        let sent = peer.take();
        let [Chunk::InitAck(init_ack)] = sent[0].chunks()[..] else { panic!("an INIT ACK") };
        contains_offer(init_ack.parameters)
    };
    assert!(offers(offering()));
    assert!(!offers(AssociationConfig::default()), "a plain peer sees nothing new");
}

fn contains_offer(parameters: Parameters<'_>) -> bool {
    parameters.iter().any(|parameter| parameter == Ok(OFFER))
}

#[test]
fn a_caller_offers_it_and_goes_by_the_answer() {
    for agrees in [true, false] {
        let mut peer = RawPeer::facing_listener(offering());
        let init = peer.let_it_call(&[peer.path], offering());
        let [Chunk::Init(init)] = init.chunks()[..] else { panic!("an INIT") };
        assert!(contains_offer(init.parameters));
        let mut parameters = Vec::new();
        if agrees {
            OFFER.encode(&mut parameters);
        }
        peer.answer_init(&parameters);
        peer.deliver(&[Chunk::CookieAck]);
        deliver(&mut peer, 0);
        peer.take();
        deliver(&mut peer, 2);
        assert_eq!(take_counts(&mut peer).is_empty(), agrees);
    }
}

/// Ten chunks are in flight, the first is lost, and one SACK reports `data_packets` behind it.
fn retransmits_after_one_sack(offers: bool, data_packets: u8) -> bool {
    let mut peer = called(offering(), offers);
    (0..10).for_each(|number| peer.send(numbered(0, number, 1_000)));
    peer.take();
    peer.deliver(&[Chunk::Sack(Sack {
        cumulative_tsn_ack: peer.tsn_of(0),
        a_rwnd: WINDOW,
        gap_ack_blocks: Items::from_slice(&[GapAckBlock { start: 2, end: 3 }]),
        duplicate_tsns: Items::default(),
        data_packets,
    })]);
    peer.take_numbers().concat().contains(&1)
}

#[test]
fn each_packet_that_a_sack_counts_is_a_miss_indication_between_peers_that_agreed() {
    assert!(retransmits_after_one_sack(true, 3));
    assert!(!retransmits_after_one_sack(true, 2));
    assert!(!retransmits_after_one_sack(false, 3), "those bits are reserved");
}
