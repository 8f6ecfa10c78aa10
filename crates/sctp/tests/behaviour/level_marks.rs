//! Marks of levels: what is sent again says so, and peers that do not know them get zeros.

use std::time::Duration;

use anabranch_netsim::{LinkConfig, Side};
use anabranch_sctp::{AssociationConfig, Level, OutgoingMessage, ReceiveOrder};
use anabranch_wire::{Chunk, Data, Parameter, Ppid};

use crate::harness::{Duo, link, number_of, numbered};
use crate::raw_peer::{FIRST_TSN, RawPeer, data};

fn offering(level_marks: bool) -> AssociationConfig {
    AssociationConfig::media().with(|config| config.extensions.level_marks = level_marks)
}

fn level_of(number: u32) -> Level {
    Level::ALL[1 + number as usize % 3]
}

/// Sends messages of three levels, each of `len` bytes; what arrives, by number.
fn exchange(link: LinkConfig, (client, server): (bool, bool), len: usize) -> Vec<(u32, Level)> {
    let mut duo = Duo::of_two(1, &[link], offering(client), offering(server));
    duo.connect();
    for number in 0..90 {
        duo.run_for(Duration::from_millis(20));
        let level = level_of(number);
        let message = OutgoingMessage { level, ordered: false, ..numbered(0, number, len) };
        duo.send(Side::Client, message);
    }
    duo.run_for(Duration::from_secs(5));
    let of = |message| (number_of(message), message.level);
    let mut arrived: Vec<_> = duo.messages(Side::Server).iter().map(of).collect();
    arrived.sort_unstable_by_key(|(number, _)| *number);
    assert!(arrived.iter().map(|(number, _)| *number).eq(0..90), "each once");
    arrived
}

#[test]
fn between_peers_that_agreed_a_message_arrives_with_its_level() {
    for len in [100, 5_000] {
        let arrived = exchange(link(20, 10, 0.0), (true, true), len);
        assert!(arrived.iter().all(|&(number, level)| level == level_of(number)), "{arrived:?}");
    }
}

#[test]
fn what_was_sent_again_is_urgent_and_nothing_else_is() {
    let arrived = exchange(link(20, 10, 0.1), (true, true), 100);
    let urgent = arrived.iter().filter(|(_, level)| *level == Level::Urgent).count();
    assert!((4..=20).contains(&urgent), "{urgent} of 90 at 10 % loss");
    let is_right = |&(number, level)| level == Level::Urgent || level == level_of(number);
    assert!(arrived.iter().all(is_right), "{arrived:?}");
}

#[test]
fn where_one_side_does_not_offer_marks_every_message_is_normal() {
    for offers in [(true, false), (false, true)] {
        let arrived = exchange(link(20, 10, 0.1), offers, 100);
        assert!(arrived.iter().all(|(_, level)| *level == Level::Normal), "{arrived:?}");
    }
}

/// The first transmission and the second of a message marked low, towards a peer that announces
/// these parameters.
fn marks(parameters: &[u8]) -> [Level; 2] {
    let mut peer = RawPeer::facing_listener(AssociationConfig::media());
    peer.call(parameters);
    peer.take();
    peer.send(OutgoingMessage { level: Level::Low, ..numbered(0, 0, 100) });
    peer.run_for(Duration::from_secs(1));
    let sent = peer.take();
    let chunks = sent.iter().flat_map(|packet| packet.chunks());
    let mut levels = chunks.filter_map(|chunk| {
        let Chunk::Data(data) = chunk else { return None };
        Some(data.level)
    });
    [levels.next(), levels.next()].map(|level| level.expect("sent twice"))
}

#[test]
fn a_peer_that_announces_nothing_gets_zeros() {
    assert_eq!(marks(&[]), [Level::Urgent; 2]);
}

#[test]
fn a_peer_that_announces_marks_gets_the_level_first_and_zeros_with_what_is_sent_again() {
    let mut parameters = Vec::new();
    Parameter::LevelMarksSupported.encode(&mut parameters);
    assert_eq!(marks(&parameters), [Level::Low, Level::Urgent]);
}

const LEN: usize = 1_000;
/// Messages that a peer which lies finds room for.
const ROOM: u32 = 40;

/// Has called a listener that reads what matters most first, and announces these parameters.
fn liar(parameters: &[u8]) -> RawPeer {
    let mut peer = RawPeer::facing_listener(AssociationConfig::media().with(|config| {
        config.buffers.receive_order = ReceiveOrder::PRIORITY;
        config.buffers.receive_buffer = ROOM as usize * LEN;
        config.buffers.message_size_max = LEN;
    }));
    peer.call(parameters);
    peer.take();
    peer
}

/// Sends an unordered message so marked, by its number: it heeds no window.
fn send_marked(peer: &mut RawPeer, number: u32, level: Level) {
    let (ppid, payload) = (Ppid(number), &[0; LEN]);
    let whole = data(FIRST_TSN + number, 0);
    peer.deliver(&[Chunk::Data(Data { ppid, unordered: true, level, payload, ..whole })]);
}

/// The numbers and levels of all that can be read.
fn read_all(peer: &mut RawPeer) -> Vec<(u32, Level)> {
    peer.act(|association, _| {
        let messages = std::iter::from_fn(|| association.receive());
        messages.map(|message| (message.ppid.0, message.level)).collect()
    })
}

#[test]
fn marks_that_were_not_announced_mean_nothing() {
    let mut peer = liar(&[]);
    for number in 0..2 * ROOM {
        send_marked(&mut peer, number, Level::ALL[3 - number as usize % 4]);
    }
    let as_they_came: Vec<_> = (0..ROOM).map(|number| (number, Level::Normal)).collect();
    assert_eq!(read_all(&mut peer), as_they_came, "and what found no room made nothing give way");
}

#[test]
fn a_peer_that_marks_all_as_sent_again_gains_nothing() {
    let mut parameters = Vec::new();
    Parameter::LevelMarksSupported.encode(&mut parameters);
    let mut peer = liar(&parameters);
    (0..2 * ROOM).for_each(|number| send_marked(&mut peer, number, Level::Urgent));
    let as_they_came: Vec<_> = (0..ROOM).map(|number| (number, Level::Urgent)).collect();
    assert_eq!(read_all(&mut peer), as_they_came, "no more room than others have");
    let levels = peer.act(|association, _| association.stats().levels);
    assert_eq!(levels.map(|level| level.dropped), [0; 4]);
}
