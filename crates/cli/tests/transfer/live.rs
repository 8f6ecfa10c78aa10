//! Live media: UDP in, UDP out.

use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use crate::harness::{FILM, Place, Running, STREAM, TWO_PROGRAMS, free_port, run, urls};

/// Long enough for any machine: a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Seven packets, as ffmpeg and OBS send them.
const DATAGRAM: usize = 7 * 188;

#[test]
fn udp_in_is_udp_out() {
    let output = UdpSocket::bind("127.0.0.1:0").unwrap();
    output.set_read_timeout(Some(PATIENCE)).unwrap();
    let to = format!("udp://{}", output.local_addr().unwrap());
    let entrance = free_port();
    let from = format!("udp://127.0.0.1:{entrance}");
    let (listener, caller) = urls("", "");
    let receiver = Running::start(&["recv", &listener, &to]);
    let mut sender = Running::start(&["send", &from, &caller]);
    sender.line_with("connected: ");

    let stream = std::fs::read(TWO_PROGRAMS).unwrap();
    let source = UdpSocket::bind("127.0.0.1:0").unwrap();
    let feed = stream.clone();
    let feeding = std::thread::spawn(move || {
        for datagram in feed.chunks(DATAGRAM) {
            source.send_to(datagram, ("127.0.0.1", entrance)).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let mut arrived = Vec::new();
    let mut buf = [0; 65_536];
    while arrived.len() < stream.len() {
        let len = output.recv(&mut buf).unwrap();
        assert!(len <= DATAGRAM && len.is_multiple_of(188), "a datagram of {len} bytes");
        arrived.extend_from_slice(&buf[..len]);
    }
    feeding.join().unwrap();
    assert!(arrived == stream, "{} bytes", arrived.len());
    sender.interrupt();
    sender.assert_success();
    receiver.assert_success();
}

#[test]
fn what_ffmpeg_sends_as_live_media_arrives_frame_by_frame() {
    let place = Place::new("ffmpeg");
    let out = place.file("out.ts");
    let entrance = free_port();
    let (listener, caller) = urls("", "");
    let receiver = Running::start(&["recv", &listener, &out]);
    let from = format!("udp://127.0.0.1:{entrance}");
    let mut sender = Running::start(&["send", "--treatment", "reliable", &from, &caller]);
    sender.line_with("connected: ");
    let to = format!("udp://127.0.0.1:{entrance}?pkt_size={DATAGRAM}");
    ffmpeg(&["-re", "-i", STREAM, "-c", "copy", "-f", "mpegts", &to]);
    sender.line_with("is H.264");
    sender.interrupt();
    sender.assert_success();
    receiver.assert_success();
    assert_eq!(frames(&out), frames(STREAM));
}

#[test]
fn an_mp4_file_arrives_as_a_transport_stream_with_every_picture_and_sample() {
    let place = Place::new("mp4");
    let out = place.file("out.ts");
    let (listener, caller) = urls("", "");
    let receiver = Running::start(&["recv", &listener, &out]);
    let (status, said) = run(&["send", "--fast", FILM, &caller]);
    assert_eq!(status, Some(0), "{said}");
    receiver.assert_success();
    assert_eq!(decoded(&[], &out), decoded(&IGNORE_EDITS, FILM));
}

/// An MP4 file says which samples are not to be heard, and so do others.
const IGNORE_EDITS: [&str; 2] = ["-ignore_editlist", "1"];

/// A hash of all decoded pictures and samples, by track.
fn decoded(options: &[&str], file: &str) -> String {
    let input = ["-flags2", "skip_manual", "-i", file, "-map", "0"];
    let output = ["-fps_mode", "passthrough", "-f", "streamhash", "-hash", "md5", "-"];
    ffmpeg(&[options, &input[..], &output].concat())
}

/// A film made of another one, with its frames as they are unless the options say otherwise.
fn made(place: &Place, name: &str, options: &[&str]) -> String {
    let file = place.file(name);
    ffmpeg(&[&["-i", FILM, "-c", "copy"], options, &["-y", &file]].concat());
    file
}

#[test]
fn films_of_many_kinds_arrive_with_every_picture_and_sample() {
    let place = Place::new("kinds");
    let fragments = ["-movflags", "frag_keyframe+empty_moov+default_base_moof"];
    let av1 = ["-c:v", "libaom-av1", "-usage", "realtime", "-cpu-used", "8", "-g", "25"];
    let vp9 = ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-an"];
    let opus = ["-c:a", "libopus"];
    for (options, file) in [
        (&IGNORE_EDITS[..], made(&place, "fragments.mp4", &fragments)),
        (&IGNORE_EDITS, made(&place, "old.mp4", &["-movflags", "frag_keyframe+empty_moov"])),
        (&[], made(&place, "film.mkv", &[])),
        (&[], made(&place, "opus.mkv", &opus)),
        (&[], made(&place, "sound.mp3", &["-vn", "-c:a", "libmp3lame"])),
        (&[], made(&place, "sound.aac", &["-vn"])),
    ] {
        let out = place.file("out.ts");
        let (listener, caller) = urls("", "");
        let receiver = Running::start(&["recv", &listener, &out]);
        let (status, said) = run(&["send", "--fast", &file, &caller]);
        assert_eq!(status, Some(0), "{file}: {said}");
        receiver.assert_success();
        assert_eq!(decoded(&[], &out), decoded(options, &file), "{file}");
    }
    // No program here reads it of a transport stream but ours.
    let file = made(&place, "av1.mp4", &[&av1[..], &opus].concat());
    let (listener, caller) = urls("", "");
    let receiver = Running::start(&["recv", &listener, &place.file("av1.ts")]);
    let (status, said) = run(&["send", "--fast", &file, &caller]);
    assert!(status == Some(0) && said.contains("is AV1") && said.contains("is Opus"), "{said}");
    receiver.assert_success();
    let (_, said) = run(&["send", &made(&place, "vp9.webm", &vp9), "anabranch://127.0.0.1:9"]);
    assert!(said.contains("VP9, which no transport stream carries: make it one with"), "{said}");
}

/// As much as the program needs, and no more than a tenth of what the file asks for.
const MEMORY_KIB: u32 = 800 << 10;

#[test]
fn regression_a_small_mp4_file_took_gigabytes_by_what_it_said_of_itself() {
    let place = Place::new("hostile-mp4");
    let (hostile, out) = (place.file("hostile.mp4"), place.file("out.ts"));
    let mut film = std::fs::read(FILM).unwrap();
    // The box that describes the film is the last. It gets one more, of two thousand million
    // entries without a byte each (ISO/IEC 14496-12 section 8.9.3).
    let moov = film.windows(4).rposition(|four| four == b"moov").unwrap();
    let size = u32::try_from(film.len() - moov + 4 + 24).unwrap();
    film[moov - 4..moov].copy_from_slice(&size.to_be_bytes());
    film.extend(24_u32.to_be_bytes());
    film.extend(b"sgpd\0\0\0\0none");
    film.extend([0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    std::fs::write(&hostile, film).unwrap();
    let (listener, caller) = urls("", "");
    let receiver = Running::start(&["recv", &listener, &out]);
    let limited = format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"");
    let mut sender = Command::new("/bin/sh");
    sender.args(["-c", &limited, env!("CARGO_BIN_EXE_anabranch")]);
    sender.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    sender.args(["send", "--fast", &hostile, &caller]);
    let output = sender.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    receiver.assert_success();
}

/// A hash of all coded frames, by track.
fn frames(file: &str) -> String {
    ffmpeg(&["-i", file, "-c", "copy", "-f", "streamhash", "-hash", "md5", "-"])
}

fn ffmpeg(arguments: &[&str]) -> String {
    let quiet = ["-nostdin", "-loglevel", "error"];
    let output = Command::new("ffmpeg").args(quiet).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_comes_by_udp_and_is_no_transport_stream_is_said_in_words() {
    let entrance = free_port();
    let from = format!("udp://127.0.0.1:{entrance}");
    let place = Place::new("no-ts");
    let (listener, caller) = urls("", "");
    let _receiver = Running::start(&["recv", &listener, &place.file("out.ts")]);
    let mut sender = Running::start(&["send", &from, &caller]);
    sender.line_with("connected: ");
    let source = UdpSocket::bind("127.0.0.1:0").unwrap();
    while sender.child.try_wait().unwrap().is_none() {
        // The last ones find the port closed.
        let _refused = source.send_to(&[b'x'; 1_000], ("127.0.0.1", entrance));
        std::thread::sleep(Duration::from_millis(1));
    }
    let (status, said) = sender.end();
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("not an MPEG transport stream"), "{said}");
}
