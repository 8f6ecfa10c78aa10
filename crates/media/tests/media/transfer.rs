//! What is emitted is the input, minus whole lost pieces, in the input's spacing.

use std::collections::BTreeSet;
use std::time::Duration;

use anabranch_media::Class;
use anabranch_media::packetizer::HOLD;
use anabranch_media::ts::{PACKET_LEN, Reader};
use anabranch_sansio::{Rng, Time};

use crate::world::{H264_AAC, LATENCY, Sent, TWO_PROGRAMS, fixture, paced, packets, receive, send};

const DELAY: Duration = Duration::from_millis(20);

fn delayed(sent: Vec<Sent>, mut extra: impl FnMut() -> Duration) -> Vec<Sent> {
    sent.into_iter().map(|(at, piece)| (at + DELAY + extra(), piece)).collect()
}

#[test]
fn a_complete_transfer_is_bit_identical() {
    for name in [H264_AAC, TWO_PROGRAMS] {
        let input = fixture(name);
        let (sent, _) = send(&paced(&packets(Reader::new(), &input)));
        let received = receive(delayed(sent, || Duration::ZERO));
        assert!(received.bytes == input, "{name}: the bytes differ");
        assert_eq!(received.stats.skipped_items, 0);
        assert_eq!(received.stats.missing.total(), 0);
    }
}

#[test]
fn spacing_is_restored_under_jitter() {
    for name in [H264_AAC, TWO_PROGRAMS] {
        let mut rng = Rng::from_u64(1);
        let source = paced(&packets(Reader::new(), &fixture(name)));
        let (sent, _) = send(&source);
        let jitter = || Duration::from_micros(rng.range(0..60_000));
        let received = receive(delayed(sent, jitter));
        let came = |position: u64| source[position as usize].0;
        for pair in received.released.windows(2) {
            let spacing = (pair[1].0 - pair[0].0).as_secs_f64();
            let wanted = (came(pair[1].1.position) - came(pair[0].1.position)).as_secs_f64();
            // The speed may differ by 1 % while the smallest delay is still being found.
            let error = (spacing - wanted).abs();
            assert!(error <= 0.01 * wanted + 3e-6, "{name}: {spacing} s instead of {wanted} s");
        }
        assert_eq!(received.stats.late.total(), 0, "{name}");
        assert!(received.jitter.p99_us < 1_000, "{name}: {:?}", received.jitter);
    }
}

#[test]
fn without_jitter_the_clock_references_leave_within_microseconds() {
    let source = paced(&packets(Reader::new(), &fixture(TWO_PROGRAMS)));
    let received = receive(delayed(send(&source).0, || Duration::ZERO));
    assert!(received.jitter.count > 20 && received.jitter.max_us <= 20, "{:?}", received.jitter);
}

#[test]
fn a_lost_piece_costs_its_packets_and_nothing_else() {
    for seed in 0..20 {
        let name = if seed % 2 == 0 { H264_AAC } else { TWO_PROGRAMS };
        let mut rng = Rng::from_u64(seed);
        let input = fixture(name);
        let (mut sent, _) = send(&paced(&packets(Reader::new(), &input)));
        let mut lost = BTreeSet::new();
        let (first, last) = (sent[0].1.header.clone(), sent[sent.len() - 1].1.header.clone());
        sent.retain(|(_, piece)| {
            let keep = piece.header == first || piece.header == last || !rng.chance(0.1);
            if !keep {
                for run in &piece.header.runs {
                    lost.extend(run.position..run.position + u64::from(run.count));
                }
            }
            keep
        });
        let received = receive(delayed(sent, || Duration::from_micros(rng.range(0..30_000))));
        let kept = |(i, _): &(usize, &[u8])| !lost.contains(&(*i as u64));
        let expected: Vec<u8> = input
            .chunks(PACKET_LEN)
            .enumerate()
            .filter(kept)
            .flat_map(|(_, p)| p.to_vec())
            .collect();
        assert!(received.bytes == expected, "{name}, seed {seed}: other bytes than expected");
        assert_eq!(received.stats.skipped_items, lost.len() as u64, "{name}, seed {seed}");
        assert!(!lost.is_empty());
    }
}

#[test]
fn a_lost_disposable_picture_leaves_every_other_picture_whole() {
    let input = fixture(H264_AAC);
    let source = packets(Reader::new(), &input);
    let (mut sent, _) = send(&paced(&source));
    let before = sent.len();
    sent.retain(|(_, piece)| piece.header.class != Class::Disposable);
    assert!(before - sent.len() > 20);
    let received = receive(delayed(sent, || Duration::ZERO));
    let classes: BTreeSet<_> = received.released.iter().map(|(_, items)| items.class).collect();
    assert_eq!(classes, [Class::Tables, Class::KeyFrame, Class::Audio, Class::Reference].into());
    // Sound and tables keep every packet.
    for pid in [0x101, 0x0, 0x11, 0x1000] {
        let of_pid = |bytes: &[u8]| {
            bytes
                .chunks(PACKET_LEN)
                .filter(|p| u16::from_be_bytes([p[1] & 0x1f, p[2]]) == pid)
                .count()
        };
        assert_eq!(of_pid(&received.bytes), of_pid(&input), "{pid:#x}");
    }
}

#[test]
fn what_comes_after_its_time_is_given_up_and_counted() {
    let (sent, _) = send(&paced(&packets(Reader::new(), &fixture(H264_AAC))));
    let mut i = 0;
    let received = receive(delayed(sent, || {
        i += 1;
        if i % 10 == 0 { LATENCY + Duration::from_millis(20) } else { Duration::ZERO }
    }));
    let stats = received.stats;
    assert_eq!(stats.late.total(), i / 10);
    assert_eq!(stats.missing.total(), 0, "they came, though late");
    assert!(stats.skipped_items > 0);
}

#[test]
fn a_program_chosen_arrives_alone_and_plays() {
    let whole = fixture(TWO_PROGRAMS);
    let chosen = packets(Reader::of_program(2), &whole);
    let received = receive(delayed(send(&paced(&chosen)).0, || Duration::ZERO));
    let again = packets(Reader::of_program(2), &received.bytes);
    assert!(again == chosen, "choosing the program once more changes nothing");
    assert!(received.bytes.len() < whole.len() / 2);
}

#[test]
fn nothing_is_held_longer_than_promised_and_headers_stay_small() {
    for (name, share) in [(H264_AAC, 0.08), (TWO_PROGRAMS, 0.13)] {
        let (sent, stats) = send(&paced(&packets(Reader::new(), &fixture(name))));
        for (at, piece) in &sent {
            let held = *at - piece.header.first_at();
            assert!(held <= HOLD + Duration::from_micros(1), "{held:?}");
        }
        let overhead = stats.header_bytes as f64 / stats.bytes.total() as f64;
        assert!(overhead < share, "{name}: {:.1} % of headers", overhead * 100.0);
        let bytes: u64 = sent.iter().map(|(_, piece)| piece.header.items() * 188).sum();
        assert_eq!(bytes, stats.bytes.total());
    }
}

#[test]
fn headers_take_less_than_two_percent_of_a_live_stream() {
    // The stream of a broadcast: 10 Mbit/s in datagrams of seven packets.
    let stream = packets(Reader::new(), &fixture(H264_AAC));
    let at = |i: usize| Time::from_micros(i as u64 / 7 * 7 * 1_504 / 10);
    let source: Vec<_> = stream.iter().enumerate().map(|(i, p)| (at(i), *p)).collect();
    let (_, stats) = send(&source);
    let overhead = stats.header_bytes as f64 / stats.bytes.total() as f64;
    assert!(overhead < 0.05, "{:.2} % of headers", overhead * 100.0);
}
