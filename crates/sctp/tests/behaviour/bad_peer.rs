//! What a peer that breaks the rules, or somebody who knows none of them, gets.

use std::time::Duration;

use anabranch_sansio::Rng;
use anabranch_sctp::{AssociationConfig, CloseReason, EndpointConfig};
use anabranch_wire::{
    Chunk, ChunkType, CookieEcho, Data, ErrorCause, Ssn, StreamId, VerificationTag,
};

use crate::packets::{Sent, packet};
use crate::raw_peer::{FIRST_TSN, RawPeer, TAG, causes_of, data, init};

fn default() -> AssociationConfig {
    AssociationConfig::default()
}

/// The ABORT among packets, its causes, and why the association closed.
fn assert_aborted(peer: &mut RawPeer, is_right: impl Fn(&ErrorCause<'_>) -> bool) -> String {
    let sent = peer.take();
    assert_eq!(sent.last().map(Sent::types), Some(vec![ChunkType::ABORT]), "{sent:?}");
    let chunks = sent.last().map(Sent::chunks).unwrap_or_default();
    let causes = causes_of(&chunks[0]);
    assert!(causes.iter().all(is_right) && causes.len() == 1, "{causes:?}");
    let Some(CloseReason::PeerMisbehaved { what }) = peer.close_reason() else {
        panic!("{:?}", peer.close_reason())
    };
    what
}

fn fragment(number: u32, ends: (bool, bool), payload: &[u8]) -> Data<'_> {
    let (beginning, ending) = ends;
    Data { beginning, ending, payload, ..data(FIRST_TSN + number, 0) }
}

#[test]
fn data_without_a_byte_ends_the_association() {
    let bytes = hex_data(16);
    let mut peer = RawPeer::connected(default());
    deliver_raw(&mut peer, &bytes);
    let what = assert_aborted(
        &mut peer,
        |cause| matches!(cause, ErrorCause::NoUserData { tsn } if tsn.0 == FIRST_TSN),
    );
    assert_eq!(what, "it sent a DATA chunk without data");
}

#[test]
fn data_without_a_byte_behind_other_chunks_ends_the_association_too() {
    let mut peer = RawPeer::connected(default());
    let mut bytes = vec![11, 0, 0, 4];
    bytes.extend(hex_data(16));
    deliver_raw(&mut peer, &bytes);
    assert_aborted(&mut peer, |cause| matches!(cause, ErrorCause::NoUserData { .. }));
}

/// A DATA chunk of this length field, with zeros for all but its TSN.
fn hex_data(len: u8) -> Vec<u8> {
    let mut bytes = vec![0, 3, 0, len];
    bytes.extend(FIRST_TSN.to_be_bytes());
    bytes.resize(usize::from(len), 0);
    bytes
}

/// Delivers chunks as bytes, in a packet with the right tag and checksum.
fn deliver_raw(peer: &mut RawPeer, chunks: &[u8]) {
    let bytes = crate::packets::packet_of_bytes(peer.ports, peer.tag, chunks);
    peer.deliver_bytes(peer.path, &bytes);
}

#[test]
fn fragments_that_contradict_each_other_end_the_association() {
    let part = |number, ends| fragment(number, ends, b"part");
    let cases: [(&str, [Data<'_>; 2]); 5] = [
        ("a whole message before an end", [part(1, (false, true)), part(0, (true, true))]),
        ("a middle after an end", [part(0, (false, true)), part(1, (false, false))]),
        (
            "two streams",
            [part(0, (true, false)), Data { stream: StreamId(1), ..part(1, (false, true)) }],
        ),
        ("two SSNs", [part(0, (true, false)), Data { ssn: Ssn(1), ..part(1, (false, true)) }]),
        (
            "ordered and unordered",
            [part(0, (true, false)), Data { unordered: true, ..part(1, (false, true)) }],
        ),
    ];
    for (what, [first, second]) in cases {
        for order in [[first, second], [second, first]] {
            // Of a whole message nothing is kept that a later fragment could contradict.
            if order[0].beginning && order[0].ending {
                continue;
            }
            let mut peer = RawPeer::connected(default());
            order.iter().for_each(|data| peer.deliver(&[Chunk::Data(*data)]));
            assert!(!peer.is_established(), "{what}: {order:?}");
            assert_aborted(&mut peer, |cause| matches!(cause, ErrorCause::ProtocolViolation(_)));
        }
    }
}

/// dcSCTP gives the rest of a message that it gave up no TSNs.
#[test]
fn an_unfinished_message_gives_way_to_one_that_begins_behind_it() {
    for ends in [(true, false), (true, true)] {
        let mut peer = RawPeer::connected(default());
        peer.deliver(&[Chunk::Data(fragment(0, (true, false), &[1; 500]))]);
        peer.deliver(&[Chunk::Data(fragment(1, ends, b"next"))]);
        assert!(peer.is_established(), "{ends:?}");
        assert!(peer.stats().held < 500, "{ends:?}: what cannot be finished is not kept");
    }
}

#[test]
fn a_message_beyond_the_limit_ends_the_association_before_it_is_kept() {
    let config = default().with(|config| config.buffers.message_size_max = 5_000);
    let mut peer = RawPeer::connected(config);
    let payload = [0; 1_000];
    for number in 0..5 {
        peer.deliver(&[Chunk::Data(fragment(number, (number == 0, false), &payload))]);
        assert!(peer.is_established(), "{number}");
    }
    peer.take();
    peer.deliver(&[Chunk::Data(fragment(5, (false, true), &payload))]);
    let what = assert_aborted(&mut peer, |cause| matches!(cause, ErrorCause::OutOfResource));
    assert_eq!(what, "it sent a message of more than 5000 bytes");
}

#[test]
fn unknown_chunks_are_skipped_or_reported_by_their_upper_bits() {
    // The upper bits: 00 stop, 01 stop and report, 10 skip, 11 skip and report.
    for (ty, reported, goes_on) in
        [(0x3f, false, false), (0x7f, true, false), (0xbf, false, true), (0xfe, true, true)]
    {
        let mut peer = RawPeer::connected(default());
        let mut bytes = vec![ty, 9, 0, 7, 1, 2, 3, 0];
        bytes.extend(hex_data(20));
        deliver_raw(&mut peer, &bytes);
        assert_eq!(peer.stats().chunks_received, u64::from(goes_on), "{ty:x}");
        let sent = peer.take();
        let reports: Vec<_> =
            sent.iter().flat_map(Sent::chunks).filter(|c| c.ty() == ChunkType::ERROR).collect();
        assert_eq!(reports.len(), usize::from(reported), "{ty:x}");
        if let Some(report) = reports.first() {
            let raw = [ty, 9, 0, 7, 1, 2, 3];
            assert_eq!(causes_of(report), [ErrorCause::UnrecognizedChunkType(&raw)]);
        }
    }
}

#[test]
fn the_report_of_a_large_unknown_chunk_is_cut() {
    let mut peer = RawPeer::connected(default());
    let mut bytes = vec![0xfe, 0, 0x04, 0];
    bytes.resize(1_024, 7);
    deliver_raw(&mut peer, &bytes);
    assert!(peer.take()[0].bytes.len() < 300);
}

#[test]
fn a_flood_of_unknown_chunks_gets_a_bounded_number_of_reports() {
    let mut peer = RawPeer::connected(default());
    let bytes: Vec<u8> = std::iter::repeat_n([0xfe, 0, 0, 4], 330).flatten().collect();
    deliver_raw(&mut peer, &bytes);
    let reports: usize = peer.take_types().iter().map(Vec::len).sum();
    assert_eq!(reports, 64);
    assert_eq!(peer.stats().control_dropped, 330 - 64);
}

#[test]
fn what_is_cut_off_is_counted_and_what_stands_before_it_is_used() {
    let mut peer = RawPeer::connected(default());
    let mut bytes = hex_data(20);
    bytes.extend([0, 3, 0, 99]);
    deliver_raw(&mut peer, &bytes);
    assert_eq!((peer.stats().chunks_received, peer.stats().malformed), (1, 1));
    assert!(peer.is_established());
}

#[test]
fn a_damaged_packet_is_counted_and_changes_nothing() {
    let mut peer = RawPeer::connected(default());
    let good = packet(peer.ports, peer.tag, &[Chunk::Data(data(FIRST_TSN, 0))]);
    let (path, before) = (peer.path, peer.stats());
    for bit in 0..good.len() * 8 {
        let mut damaged = good.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        peer.deliver_bytes(path, &damaged);
    }
    for len in 0..good.len() {
        peer.deliver_bytes(path, &good[..len]);
    }
    assert_eq!(peer.endpoint.stats().malformed as usize, good.len() * 9);
    assert!(peer.take().is_empty() && peer.stats() == before);
}

#[test]
fn random_bytes_get_no_answer_and_leave_nothing() {
    let mut peer = RawPeer::connected(default());
    let mut rng = Rng::from_u64(9);
    let path = peer.path;
    for _ in 0..20_000 {
        let mut bytes = vec![0; rng.range(0..200) as usize];
        rng.fill(&mut bytes);
        peer.deliver_bytes(path, &bytes);
    }
    assert!(peer.take().is_empty());
    assert_eq!(
        (peer.endpoint.stats().malformed, peer.endpoint.associations().count()),
        (20_000, 1)
    );
}

#[test]
fn random_chunks_behind_a_right_header_never_panic_and_stay_within_limits() {
    for seed in 0..300 {
        let config = default().with(|config| config.buffers.receive_buffer = 20_000);
        let mut peer = RawPeer::connected(config);
        let mut rng = Rng::from_u64(seed);
        for _ in 0..60 {
            let bytes = random_chunks(&mut rng);
            if peer.association().is_none() {
                break;
            }
            peer.send_if_possible();
            deliver_raw(&mut peer, &bytes);
            peer.run_for(Duration::from_millis(rng.range(0..300)));
            peer.take();
            if let Some(stats) = peer.association().map(anabranch_sctp::Association::stats) {
                assert!(stats.held <= 80_000 && stats.paths.len() <= 8, "seed {seed}: {stats:?}");
            }
        }
    }
}

/// Chunks of known types with random contents; TSNs are near those that matter.
fn random_chunks(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..1 + rng.range(0..4) {
        let types = [0, 0, 0, 2, 3, 4, 5, 6, 7, 9, 11, 12, 13, 14, 192, 192, 130, 70];
        let ty = types[rng.range(0..types.len() as u64) as usize];
        let len = 4 + 4 * rng.range(0..12) as usize;
        let mut chunk = vec![0; len];
        rng.fill(&mut chunk);
        chunk[0] = ty;
        chunk[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        if len >= 8 {
            let tsn = FIRST_TSN.wrapping_add(rng.range(0..30) as u32);
            chunk[4..8].copy_from_slice(&tsn.to_be_bytes());
        }
        if ty == 0 && len >= 12 {
            chunk[8..12].copy_from_slice(&[0, rng.range(0..9) as u8, 0, rng.range(0..9) as u8]);
        }
        bytes.extend(chunk);
    }
    bytes
}

#[test]
fn another_protocol_on_the_port_gets_no_answer() {
    let mut peer = RawPeer::facing(EndpointConfig { accept: true, ..EndpointConfig::default() });
    let path = peer.path;
    for bytes in [
        &b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"[..],
        b"\x16\xfe\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x7f",
        b"\x00\x01\x00\x00\x21\x12\xa4\x42abcdefghijkl",
        b"",
    ] {
        peer.deliver_bytes(path, bytes);
    }
    assert!(peer.take().is_empty());
    assert_eq!(peer.endpoint.stats().malformed, 4);
}

#[test]
fn a_cookie_echo_that_is_not_the_first_chunk_is_ignored() {
    let mut peer = RawPeer::facing_listener(default());
    let cookie = peer.fetch_cookie(TAG, &[]);
    let echo = Chunk::CookieEcho(CookieEcho { cookie: &cookie });
    peer.deliver(&[Chunk::Data(data(FIRST_TSN, 0)), echo]);
    assert_eq!(peer.endpoint.associations().count(), 0);
}

#[test]
fn an_init_inside_an_association_s_packet_is_ignored() {
    let mut peer = RawPeer::connected(default());
    let init = Chunk::Init(init(VerificationTag(5), &[]));
    peer.deliver(&[Chunk::Data(data(FIRST_TSN, 0)), init]);
    assert_eq!(peer.take_types(), [[ChunkType::SACK]]);
}

#[test]
fn what_stands_behind_an_auth_chunk_is_not_read_without_authentication() {
    let mut peer = RawPeer::connected(AssociationConfig::default());
    let hmac_identifier = anabranch_wire::HmacIdentifier::SHA_256;
    let auth = anabranch_wire::Auth { shared_key_identifier: 0, hmac_identifier, hmac: &[7; 32] };
    peer.deliver(&[Chunk::Auth(auth), Chunk::Data(data(FIRST_TSN, 0))]);
    peer.run_for(std::time::Duration::from_secs(1));
    assert!(peer.take_types().is_empty() && peer.read().is_empty());
}
