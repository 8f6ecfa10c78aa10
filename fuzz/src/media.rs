//! Checks of `anabranch-media`: whatever comes, each packet leaves the sender once, and the
//! receiver releases items in order, not before their time, within its memory.

use std::time::Duration;

use anabranch_media::broadcast::BroadcastScreen;
use anabranch_media::playout::{Config, PathId, Playout, Released};
use anabranch_media::ts::{Pacer, PcrMeter, Reader};
use anabranch_media::{Packetizer, Piece};
use anabranch_sansio::Time;
use bytes::Bytes;

/// Checks `bytes` as a message.
pub fn piece(bytes: &[u8]) {
    let piece = match Piece::decode(Bytes::copy_from_slice(bytes)) {
        Ok(piece) => piece,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let header = &piece.header;
    assert!(header.items() > 0 && header.first_at() <= header.last_at());
    let message = piece.encode();
    assert_eq!(message.len(), header.encoded_len() + piece.payload.len());
    assert_eq!(Piece::decode(message.into()).as_ref(), Ok(&piece));
}

/// Checks `bytes` as a transport stream of which the first byte says how it comes and which program
/// is wanted.
pub fn transport_stream(bytes: &[u8]) {
    let Some((&options, bytes)) = bytes.split_first() else { return };
    let mut reader = match options & 3 {
        0 => Reader::new(),
        program => Reader::of_program(program.into()),
    };
    let mut packetizer = Packetizer::new(1);
    let mut screen = BroadcastScreen::new();
    let mut pacer = Pacer::by_clock();
    let mut meter = PcrMeter::new();
    let (mut taken, mut left, mut at) = (0, 0, Time::ZERO);
    for portion in bytes.chunks(1 + usize::from(options)) {
        let is_readable = reader.push(portion).is_ok();
        while let Some(packet) = reader.poll_packet() {
            at += Duration::from_micros(100);
            taken += 1;
            packetizer.handle_packet(at, &packet);
            meter.on_packet(at, &packet);
            assert!(pacer.push(packet).is_ok());
            left += drain(&mut packetizer, &mut screen);
        }
        if !is_readable {
            break;
        }
    }
    packetizer.finish();
    assert_eq!(taken, left + drain(&mut packetizer, &mut screen));
    assert!(packetizer.poll_timeout().is_none());
    if pacer.finish().is_ok() {
        let paced: Vec<_> = std::iter::from_fn(|| pacer.poll_packet()).collect();
        assert_eq!(paced.len() as u64, taken);
        assert!(paced.is_sorted_by_key(|(due, _)| *due));
    }
}

fn drain(packetizer: &mut Packetizer, screen: &mut BroadcastScreen) -> u64 {
    let mut items = 0;
    while let Some(made) = packetizer.poll_piece() {
        piece(&made.encode());
        items += made.header.items();
        screen.on_released(&Released::uncrossed(made));
    }
    while let Some(unit) = screen.poll_unit() {
        assert!(!unit.layers.is_empty());
    }
    items
}

/// Takes each command as the milliseconds that pass, a path, and the length of a message that
/// follows.
pub fn playout(mut bytes: &[u8]) {
    let max_bytes = 100_000;
    let latency = Duration::from_millis(50);
    let mut playout = Playout::new(Config { max_bytes, ..Config::with_latency(latency) });
    let (mut now, mut next, mut released) = (Time::ZERO, 0, 0);
    while let Some(([pause, path, length], rest)) = bytes.split_first_chunk::<3>() {
        let (message, rest) = rest.split_at(rest.len().min(usize::from(*length) * 4));
        bytes = rest;
        now += Duration::from_millis(u64::from(*pause));
        let path = (*path > 0).then_some(PathId(u32::from(*path)));
        let resets = |playout: &Playout| playout.stats().sessions + playout.stats().resyncs;
        let before = resets(&playout);
        playout.handle_message(now, path, Bytes::copy_from_slice(message));
        if resets(&playout) != before {
            next = 0;
        }
        while let Some(items) = playout.poll_release(now) {
            assert!(items.position >= next && items.due <= now);
            next = items.position + items.items;
            released += items.items;
        }
        assert!(playout.poll_timeout().is_none_or(|wakeup| wakeup.at > now));
        let stats = playout.stats();
        assert!(stats.queued_bytes <= max_bytes);
        assert_eq!(stats.released_items, released);
    }
}
