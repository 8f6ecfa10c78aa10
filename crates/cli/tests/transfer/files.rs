//! Files arrive as they are.

use std::io::Read as _;
use std::process::Stdio;

use anabranch_media::clip::{Clip, ClipUnit};
use anabranch_media::ts::Reader;

use crate::harness::{
    CLIP, Place, Running, STREAM, TWO_PROGRAMS, assert_same, free_port, program, run, urls,
};

#[test]
fn a_file_over_two_paths_in_real_time_is_bit_identical() {
    let place = Place::new("two-paths");
    let (out, stats) = (place.file("out.ts"), place.file("stats.json"));
    let (listener, caller) = urls("&latency=300", "&latency=200&path=127.0.0.1,127.0.0.2");
    let receiver = Running::start(&["recv", &listener, &out]);
    let sender = Running::start(&["send", STREAM, &caller, "--stats", &stats]);
    let said = sender.assert_success();
    assert!(said.contains("latency 300 ms"), "the larger one of both: {said}");
    assert!(said.contains("advised latency: "), "{said}");
    let said = receiver.assert_success();
    assert!(said.contains("handed on: 543 packets, 0 missing: nothing is missing"), "{said}");
    assert!(said.contains("PCR jitter: "), "{said}");
    assert_same(&out, STREAM);
    let paths = last_paths(&stats);
    let locals: Vec<_> = paths.iter().map(|path| path["local"].as_str().unwrap()).collect();
    assert!(locals[0].starts_with("127.0.0.1:") && locals[1].starts_with("127.0.0.2:"));
    assert!(paths.iter().all(|path| path["state"] == "active"), "{paths:?}");
}

#[test]
fn one_association_has_paths_of_both_families() {
    let place = Place::new("families");
    let (out, stats) = (place.file("out.ts"), place.file("stats.json"));
    let received = place.file("received.json");
    let port = free_port();
    let listener = format!("anabranch://:{port}");
    let caller = format!("anabranch://127.0.0.1:{port}?path=127.0.0.1,::1&peer=[::1]:{port}");
    let receiver = Running::start(&["recv", &listener, &out, "--stats", &received]);
    let sender = Running::start(&["send", STREAM, &caller, "--stats", &stats]);
    sender.assert_success();
    receiver.assert_success();
    assert_same(&out, STREAM);
    let paths = last_paths(&stats);
    assert!(paths[0]["remote"].as_str().unwrap().starts_with("127.0.0.1:"), "{paths:?}");
    assert!(paths[1]["remote"].as_str().unwrap().starts_with("[::1]:"), "{paths:?}");
    assert!(paths.iter().all(|path| path["state"] == "active"), "{paths:?}");
    let levels = last(&received)["association"]["levels"].clone();
    let read = |level: usize| levels[level]["read"].as_u64().unwrap();
    assert!((0..4).all(|level| read(level) > 0), "control, sound, pictures: {levels}");
}

fn last_paths(stats: &str) -> Vec<serde_json::Value> {
    last(stats)["association"]["paths"].as_array().unwrap().clone()
}

fn last(stats: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(stats).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["last"], true);
    last
}

#[test]
fn the_receiver_may_call_and_the_sender_listen() {
    let place = Place::new("roles");
    let out = place.file("out.ts");
    let (listener, caller) = urls("", "");
    let sender = Running::start(&["send", "--fast", STREAM, &listener]);
    let receiver = Running::start(&["recv", &caller, &out]);
    receiver.assert_success();
    sender.assert_success();
    assert_same(&out, STREAM);
}

#[test]
fn regression_a_sender_did_not_hear_that_the_receivers_disk_was_full() {
    let (listener, caller) = urls("", "");
    let receiver = Running::start(&["recv", &listener, "/dev/full"]);
    let (status, said) = run(&["send", "--fast", STREAM, &caller]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("the receiver cannot write what it gets: No space left"), "{said}");
    let (status, said) = receiver.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write /dev/full: No space left"), "{said}");
}

#[test]
fn a_clip_arrives_as_a_clip() {
    let place = Place::new("clip");
    let (short, out) = (place.file("in.anaclip"), place.file("out.anaclip"));
    std::fs::write(&short, one_second_of(CLIP)).unwrap();
    let (listener, caller) = urls("", "");
    let receiver = Running::start(&["recv", &listener, &out]);
    let sender = Running::start(&["send", "--treatment", "reliable", &short, &caller]);
    sender.assert_success();
    let said = receiver.assert_success();
    assert!(said.contains("out.anaclip has "), "{said}");
    assert_same(&out, &short);
}

fn one_second_of(clip: &str) -> Vec<u8> {
    let clip = Clip::decode(&std::fs::read(clip).unwrap().into()).unwrap();
    let mut header = clip.header().clone();
    header.loop_duration_us = 1_000_000;
    let ends_in_time =
        |unit: &&ClipUnit| unit.pts_us + u64::from(unit.duration_us) <= header.loop_duration_us;
    let units = clip.units().iter().filter(ends_in_time).cloned().collect();
    Clip::new(header, units).unwrap().encode()
}

#[test]
fn one_program_of_several_is_sent_alone() {
    let place = Place::new("program");
    let out = place.file("out.ts");
    let (listener, caller) = urls("", "&program=2");
    let receiver = Running::start(&["recv", &listener, &out]);
    let sender = Running::start(&["send", "--fast", TWO_PROGRAMS, &caller]);
    sender.assert_success();
    receiver.assert_success();
    let mut reader = Reader::of_program(2);
    reader.push(&std::fs::read(TWO_PROGRAMS).unwrap()).unwrap();
    reader.finish().unwrap();
    let packets = std::iter::from_fn(|| reader.poll_packet());
    let expected: Vec<u8> = packets.flat_map(|packet| *packet.bytes()).collect();
    assert!(std::fs::read(&out).unwrap() == expected);
}

#[test]
fn a_damaged_file_is_sent_as_far_as_it_goes_and_said_to_be_damaged() {
    let place = Place::new("damaged");
    let (damaged, out) = (place.file("in.ts"), place.file("out.ts"));
    let bytes = std::fs::read(STREAM).unwrap();
    std::fs::write(&damaged, &bytes[..188 * 200 + 100]).unwrap();
    let (listener, caller) = urls("", "");
    let receiver = Running::start(&["recv", &listener, &out]);
    let sender = Running::start(&["send", "--fast", &damaged, &caller]);
    let said = sender.assert_success();
    assert!(said.contains("100 bytes of "), "{said}");
    receiver.assert_success();
    assert!(std::fs::read(&out).unwrap() == bytes[..188 * 200]);
}

#[test]
fn a_codec_that_cannot_be_looked_into_is_sent_whole_and_said() {
    let place = Place::new("codec");
    let (unknown, out) = (place.file("in.ts"), place.file("out.ts"));
    std::fs::write(&unknown, with_unknown_video(STREAM)).unwrap();
    let (listener, caller) = urls("", "");
    let receiver = Running::start(&["recv", &listener, &out]);
    let sender = Running::start(&["send", "--fast", &unknown, &caller]);
    let said = sender.assert_success();
    let notice = "is stream type 0x33, which we cannot tell apart: it is sent whole as data";
    assert!(said.contains(notice), "{said}");
    let classes: Vec<_> = said.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(classes.contains(&"data") && classes.contains(&"audio"), "{said}");
    assert!(!classes.contains(&"key-frame") && !classes.contains(&"reference"), "{said}");
    receiver.assert_success();
    assert_same(&out, &unknown);
}

/// The stream with H.266 where its tables say H.264.
fn with_unknown_video(stream: &str) -> Vec<u8> {
    let mut bytes = std::fs::read(stream).unwrap();
    for packet in bytes.chunks_exact_mut(188) {
        // The entry of H.264 on PID 0x100, without descriptors, and the CRC behind the section.
        let Some(at) = packet.windows(5).position(|entry| entry == [0x1b, 0xe1, 0, 0xf0, 0]) else {
            continue;
        };
        packet[at] = 0x33;
        let start = 5 + usize::from(packet[4]);
        let len = 3 + (usize::from(packet[start + 1] & 0x0f) << 8) + usize::from(packet[start + 2]);
        let (section, crc) = packet[start..start + len].split_at_mut(len - 4);
        crc.copy_from_slice(&crc_of_section(section).to_be_bytes());
    }
    bytes
}

/// ISO/IEC 13818-1 annex A.
fn crc_of_section(section: &[u8]) -> u32 {
    section.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ (u32::from(*byte) << 24), |crc, _| {
            (crc << 1) ^ (if crc >> 31 == 1 { 0x04c1_1db7 } else { 0 })
        })
    })
}

#[test]
fn stdin_goes_to_stdout() {
    let (listener, caller) = urls("", "");
    let mut recv = program(&["recv", &listener, "-"]);
    let mut receiver = Running::spawn(recv.stdout(Stdio::piped()));
    let mut send = program(&["send", "--treatment", "reliable", "-", &caller]);
    let mut sender = Running::spawn(send.stdin(Stdio::piped()));
    let mut stdin = sender.child.stdin.take().unwrap();
    let feeding = std::thread::spawn(move || {
        std::io::copy(&mut std::fs::File::open(TWO_PROGRAMS).unwrap(), &mut stdin).unwrap();
    });
    let mut arrived = Vec::new();
    receiver.child.stdout.take().unwrap().read_to_end(&mut arrived).unwrap();
    feeding.join().unwrap();
    sender.assert_success();
    receiver.assert_success();
    assert!(arrived == std::fs::read(TWO_PROGRAMS).unwrap(), "{} bytes", arrived.len());
}

#[test]
fn a_receiver_that_keeps_waiting_appends_the_next_sender() {
    let place = Place::new("keep");
    let out = place.file("out.ts");
    let (listener, caller) = urls("", "");
    let mut receiver = Running::start(&["recv", "--keep", &listener, &out]);
    for _ in 0..2 {
        let (status, said) = run(&["send", "--fast", STREAM, &caller]);
        assert_eq!(status, Some(0), "{said}");
        receiver.line_with("waiting for the next one");
    }
    receiver.interrupt();
    receiver.assert_success();
    let stream = std::fs::read(STREAM).unwrap();
    assert!(std::fs::read(&out).unwrap() == [&stream[..], &stream[..]].concat());
}

#[test]
fn measures_are_lines_of_json_whose_fields_are_described() {
    let place = Place::new("stats");
    let (listener, caller) = urls("", "");
    let (sent, received) = (place.file("sent.json"), place.file("received.json"));
    let receiver = Running::start(&["recv", "--stats", &received, &listener, &place.file("o.ts")]);
    let (status, said) = run(&["send", "--fast", "--quiet", "--stats", &sent, STREAM, &caller]);
    assert_eq!((status, said.as_str()), (Some(0), ""), "quiet");
    receiver.assert_success();
    let document = include_str!("../../../../docs/stats.md");
    for file in [sent, received] {
        let text = std::fs::read_to_string(file).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.iter().any(|line| line["type"] == "event"));
        assert_eq!(lines.last().unwrap()["last"], true);
        for line in &lines {
            assert_described(line, document);
        }
    }
}

/// Every key stands in the document, in backquotes.
fn assert_described(value: &serde_json::Value, document: &str) {
    let map = value.as_object().into_iter().flatten();
    for key in map.clone().map(|(key, _)| key) {
        assert!(document.contains(&format!("`{key}`")), "{key} is not described");
    }
    let inner = map.map(|(_, inner)| inner).chain(value.as_array().into_iter().flatten());
    inner.for_each(|value| assert_described(value, document));
}

#[test]
fn packets_with_times_or_code_beside_them_arrive_without() {
    let place = Place::new("padded");
    let stream = std::fs::read(STREAM).unwrap();
    for (name, before, behind) in [("in.m2ts", 4, 0), ("in.ts", 0, 16)] {
        let padded = stream
            .chunks(188)
            .map(|packet| [&vec![0x11; before][..], packet, &vec![0x22; behind]].concat());
        let (padded, out) = (padded.collect::<Vec<_>>().concat(), place.file("out.ts"));
        std::fs::write(place.file(name), padded).unwrap();
        let (listener, caller) = urls("", "");
        let receiver = Running::start(&["recv", &listener, &out]);
        let sender = Running::start(&["send", "--fast", &place.file(name), &caller]);
        let said = sender.assert_success();
        assert!(!said.contains("damaged"), "{said}");
        receiver.assert_success();
        assert_same(&out, STREAM);
    }
}
