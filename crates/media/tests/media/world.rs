//! The committed streams, and a sender and a receiver with a network of any kind in between.

use std::path::Path;
use std::time::Duration;

use anabranch_media::packetizer::{Packetizer, PacketizerStats};
use anabranch_media::playout::{Config, PathId, Playout, PlayoutStats, Released};
use anabranch_media::ts::{PACKET_LEN, Pacer, Packet, PcrMeter, Reader};
use anabranch_media::{Piece, Summary};
use anabranch_sansio::Time;

/// One program, variable rate: H.264 and AAC.
pub(crate) const H264_AAC: &str = "h264_aac.ts";
/// Two programs, constant rate, null packets.
pub(crate) const TWO_PROGRAMS: &str = "two_programs_cbr.ts";

pub(crate) const LATENCY: Duration = Duration::from_millis(100);

pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(folder.join(name)).unwrap()
}

pub(crate) fn packets(mut reader: Reader, bytes: &[u8]) -> Vec<Packet> {
    reader.push(bytes).unwrap();
    reader.finish().unwrap();
    std::iter::from_fn(|| reader.poll_packet()).collect()
}

/// The packets with their times in a file's own clock.
pub(crate) fn paced(packets: &[Packet]) -> Vec<(Time, Packet)> {
    let mut pacer = Pacer::by_clock();
    packets.iter().for_each(|packet| pacer.push(*packet).unwrap());
    pacer.finish().unwrap();
    std::iter::from_fn(|| pacer.poll_packet()).map(|(due, p)| (Time::ZERO + due, p)).collect()
}

/// A piece, and when it leaves the sender.
pub(crate) type Sent = (Time, Piece);

/// What a live sender makes of packets that come at these times.
pub(crate) fn send(packets: &[(Time, Packet)]) -> (Vec<Sent>, PacketizerStats) {
    let mut packetizer = Packetizer::new(1);
    let mut sent = Vec::new();
    for (at, packet) in packets {
        while let Some(wakeup) = packetizer.poll_timeout().filter(|wakeup| wakeup.at <= *at) {
            packetizer.handle_timeout(wakeup.at);
            sent.extend(std::iter::from_fn(|| packetizer.poll_piece()).map(|p| (wakeup.at, p)));
        }
        packetizer.handle_packet(*at, packet);
        sent.extend(std::iter::from_fn(|| packetizer.poll_piece()).map(|p| (*at, p)));
    }
    packetizer.finish();
    let end = packets.last().unwrap().0;
    sent.extend(std::iter::from_fn(|| packetizer.poll_piece()).map(|piece| (end, piece)));
    (sent, packetizer.stats())
}

/// What a receiver makes of pieces that arrive at these times.
pub(crate) struct Received {
    pub(crate) bytes: Vec<u8>,
    pub(crate) released: Vec<(Time, Released)>,
    pub(crate) stats: PlayoutStats,
    pub(crate) jitter: Summary,
}

pub(crate) fn receive(mut arrivals: Vec<Sent>) -> Received {
    arrivals.sort_by_key(|(at, _)| *at);
    let mut playout = Playout::new(Config::with_latency(LATENCY));
    let mut meter = PcrMeter::new();
    let mut released = Vec::new();
    for (now, piece) in arrivals {
        play_until(&mut playout, now, &mut meter, &mut released);
        playout.handle_message(now, Some(PathId(0)), piece.encode().into());
    }
    play_until(&mut playout, Time::MAX, &mut meter, &mut released);
    let bytes = released.iter().flat_map(|(_, items)| items.bytes.to_vec()).collect();
    Received { bytes, released, stats: playout.stats(), jitter: meter.jitter().summary() }
}

fn play_until(
    playout: &mut Playout,
    end: Time,
    meter: &mut PcrMeter,
    released: &mut Vec<(Time, Released)>,
) {
    while let Some(wakeup) = playout.poll_timeout().filter(|wakeup| wakeup.at <= end) {
        while let Some(items) = playout.poll_release(wakeup.at) {
            for bytes in items.bytes.as_chunks::<PACKET_LEN>().0 {
                meter.on_packet(wakeup.at, &Packet::new(*bytes).unwrap());
            }
            released.push((wakeup.at, items));
        }
    }
}
