//! Packets of real runs in files, read by tshark.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use anabranch_interop::examine_at_port;

use crate::harness::{Place, Running, STREAM, assert_same, free_port, program, urls};

/// Chunk types by the numbers that tshark prints (RFC 9260 section 3.2, RFC 8260 section 5).
const DATA: u8 = 0;
const INIT: u8 = 1;
const INIT_ACK: u8 = 2;
const SACK: u8 = 3;
const COOKIE_ECHO: u8 = 10;
const COOKIE_ACK: u8 = 11;
const I_DATA: u8 = 64;
const DTLS: u8 = 65;

/// What opens captures with the secrets of their associations, from the drafts' text alone.
const REFEREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../keys/referee/dtls_chunk.py");

const TS_PACKET_LEN: usize = 188;

/// A frame's direction as tshark prints it.
const INBOUND: &str = "0x00000001";
const OUTBOUND: &str = "0x00000002";

/// The packets of a capture, in the order of the file.
struct Frame {
    interface: String,
    /// [`INBOUND`] or [`OUTBOUND`].
    direction: String,
    seconds: f64,
    source: String,
}

fn frames(capture: &str) -> Vec<Frame> {
    let mut command = Command::new("tshark");
    command.args(["-r", capture, "-T", "fields", "-E", "separator=|"]);
    for field in ["frame.interface_name", "frame.packet_flags_direction", "frame.time_epoch"] {
        command.args(["-e", field]);
    }
    let output = command.args(["-e", "ip.src"]).output().expect("./test.sh installs tshark");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let frame = |line: &str| {
        let [interface, direction, time, source] = line.split('|').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let (interface, direction) = (interface.to_owned(), direction.to_owned());
        Frame { interface, direction, seconds: time.parse().unwrap(), source: source.to_owned() }
    };
    String::from_utf8(output.stdout).unwrap().lines().map(frame).collect()
}

#[test]
fn tshark_reads_what_both_ends_of_a_transfer_captured() {
    let place = Place::new("capture");
    let (sent, received) = (place.file("sent.pcapng"), place.file("received.pcapng"));
    let out = place.file("out.ts");
    let port = free_port();
    let listener = format!("anabranch://:{port}?encryption=off");
    let caller = format!("anabranch://127.0.0.1:{port}?path=127.0.0.1,127.0.0.2&encryption=off");
    let receiver = Running::start(&["recv", &listener, &out, "--capture", &received]);
    let sender = Running::start(&["send", "--fast", STREAM, &caller, "--capture", &sent]);
    let said = sender.assert_success();
    assert!(said.contains("sent.pcapng: "), "{said}");
    let said = receiver.assert_success();
    assert!(said.contains("received.pcapng: "), "{said}");
    assert_same(&out, STREAM);
    for file in [&sent, &received] {
        let found = examine_at_port(Path::new(file), port).unwrap();
        assert_eq!(found.faults, [], "{file}");
        let count = |chunk| found.chunks.get(&chunk).copied().unwrap_or_default();
        for chunk in [INIT, INIT_ACK, COOKIE_ECHO, COOKIE_ACK, SACK] {
            assert!(count(chunk) > 0, "{file}: no chunk of type {chunk}: {found:?}");
        }
        // Seven packets of 188 bytes in a piece at most.
        assert!(count(DATA) + count(I_DATA) >= 543 / 7, "{file}: {found:?}");
        let frames = frames(file);
        assert_eq!(frames.len(), found.packets);
        assert!(frames.is_sorted_by_key(|frame| frame.seconds), "{file}");
        for frame in frames {
            let local = if frame.direction == OUTBOUND { &frame.source } else { "127.0.0." };
            assert!(frame.interface.starts_with(local), "{} from {}", frame.interface, local);
        }
    }
    let of_sender = frames(&sent);
    for local in ["127.0.0.1:", "127.0.0.2:"] {
        for direction in [INBOUND, OUTBOUND] {
            let fits =
                |frame: &&Frame| frame.interface.starts_with(local) && frame.direction == direction;
            assert!(of_sender.iter().any(|frame| fits(&frame)), "{local} {direction}");
        }
    }
}

#[test]
fn of_an_encrypted_transfer_a_capture_shows_the_handshake_and_sealed_packets_alone() {
    let place = Place::new("sealed-capture");
    let (sent, out) = (place.file("sent.pcapng"), place.file("out.ts"));
    let port = free_port();
    let receiver = Running::start(&["recv", &format!("anabranch://:{port}"), &out]);
    let caller = format!("anabranch://127.0.0.1:{port}");
    let keys = place.file("keys.log");
    let arguments = ["send", "--fast", STREAM, &caller, "--capture", &sent];
    let sender = Running::spawn(program(&arguments).env("SSLKEYLOGFILE", &keys));
    sender.assert_success();
    receiver.assert_success();
    assert_same(&out, STREAM);
    let logged = std::fs::read_to_string(&keys).unwrap();
    assert_eq!(logged.matches("EXPORTER_SECRET ").count(), 1, "{logged}");
    let found = examine_at_port(Path::new(&sent), port).unwrap();
    assert_eq!(found.faults, []);
    let count = |chunk| found.chunks.get(&chunk).copied().unwrap_or_default();
    assert!(count(DTLS) >= 543 / 7, "{found:?}");
    assert!(count(DATA) + count(I_DATA) <= 10, "messages about keys alone: {found:?}");

    let said = place.file("said");
    let mut referee = Command::new("/usr/bin/env");
    let output = referee.args(["python3", REFEREE, "read", &sent, &keys, &said]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let words = String::from_utf8(output.stdout).unwrap();
    assert_eq!(words, format!("{} sealed packets opened\n", count(DTLS)));
    let (said, stream) = (std::fs::read(said).unwrap(), std::fs::read(STREAM).unwrap());
    for packet in stream.chunks(TS_PACKET_LEN) {
        assert!(said.windows(TS_PACKET_LEN).any(|window| window == packet), "{packet:x?}");
    }
}

#[test]
fn a_capture_that_cannot_be_written_any_more_is_said_once_and_the_transfer_goes_on() {
    let place = Place::new("broken-capture");
    let (pipe, out) = (place.file("pipe"), place.file("out.ts"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (listener, caller) = urls("", "");
    let receiver = Running::start(&["recv", &listener, &out]);
    let sender = Running::start(&["send", "--fast", STREAM, &caller, "--capture", &pipe]);
    // The file has begun, and has no reader any more.
    File::open(&pipe).unwrap().read_exact(&mut [0; 4]).unwrap();
    let said = sender.assert_success();
    assert_eq!(said.matches("packets cannot be written to").count(), 1, "{said}");
    assert!(said.contains("any more: Broken pipe"), "{said}");
    receiver.assert_success();
    assert_same(&out, STREAM);
}
