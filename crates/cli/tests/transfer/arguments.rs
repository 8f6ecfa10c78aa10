//! Arguments, files and URLs that make no sense: one line, status 2, nothing written.

use std::net::UdpSocket;

use crate::harness::{CLIP, Place, STREAM, TWO_PROGRAMS, run};

const URL: &str = "anabranch://127.0.0.1:9";
const PATH: &str = "anabranch://127.0.0.1:9?path=127.0.0.1";

#[track_caller]
fn assert_refused(arguments: &[&str], expected: &str) {
    let (status, said) = run(arguments);
    assert_eq!(status, Some(2), "{arguments:?}: {said}");
    assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
    assert!(said.contains(expected), "{arguments:?}: {said}");
}

#[test]
fn senseless_urls_and_options_are_refused() {
    let wrong: [(&[&str], &str); 16] = [
        (&["send", STREAM], "<URL>"),
        (&["send", STREAM, PATH, "--paths", "auto"], "give one of the two"),
        (&["send", STREAM, "anabranch://:9", "--paths", "auto"], "where the URL calls"),
        (&["send", STREAM, "srt://h:1"], "it must begin with anabranch://"),
        (&["send", STREAM, "anabranch://h:1?passphrase=x"], "has 1 bytes: give 10 to 79"),
        (&["send", STREAM, "anabranch://h:1?latency=never"], "give milliseconds"),
        (&["send", STREAM, "anabranch://:1?mode=caller"], "needs a host to call"),
        (&["send", STREAM, "anabranch://127.0.0.1:1?path=::1"], "path=::1 is IPv6"),
        (&["send", STREAM, "anabranch://no-such-host.invalid:1"], "is not known"),
        (&["send", STREAM, URL, "--treatment", "best"], "there is no treatment \"best\""),
        (&["send", STREAM, URL, "--fast", "--treatment", "live"], "treatment reliable"),
        (&["send", STREAM, URL, "--bitrate", "fast"], "is no rate"),
        (&["send", "-", URL, "--loop"], "only a file can begin again"),
        (&["recv", "anabranch://:9?program=1", "out.ts"], "is the sender's choice"),
        (&["recv", URL, "-", "--stats", "-"], "cannot both go to stdout"),
        (&["recv", URL, "rtp://127.0.0.1:1"], "is no udp URL"),
    ];
    for (arguments, expected) in wrong {
        assert_refused(arguments, expected);
    }
}

#[test]
fn inputs_that_cannot_be_read_are_refused() {
    let place = Place::new("inputs");
    let write = |name: &str, bytes: &[u8]| {
        let file = place.file(name);
        std::fs::write(&file, bytes).unwrap();
        file
    };
    let clip = std::fs::read(CLIP).unwrap();
    let cut_clip = write("cut.anaclip", &clip[..100_000]);
    let empty = write("empty.ts", b"");
    let text = write("text.ts", b"this is no media at all, but a text that goes on and on");
    let stub = write("stub.ts", &std::fs::read(STREAM).unwrap()[..100]);
    let no_clock = write("still.ts", &std::fs::read(STREAM).unwrap()[..188 * 3]);
    let program = format!("{URL}?program=7");
    let wrong: [(&[&str], &str); 9] = [
        (&["send", "/nowhere.ts", URL], "cannot read /nowhere.ts: No such file"),
        (&["send", "/", URL], "it is a directory"),
        (&["send", &cut_clip, URL], "the clip is truncated"),
        (&["send", &empty, URL], "the input is empty"),
        (&["send", &text, URL], "the input is text, not an MPEG transport stream"),
        (&["send", &stub, URL], "not an MPEG transport stream"),
        (&["send", &no_clock, URL], "writes them, or --bitrate 5M sends them"),
        (&["send", TWO_PROGRAMS, &program], "no program 7, only programs 1 and 2"),
        (&["send", "udp://no-address:1", URL], "give an address of this machine"),
    ];
    for (arguments, expected) in wrong {
        assert_refused(arguments, expected);
    }
}

#[test]
fn outputs_that_cannot_be_written_are_refused() {
    assert_refused(&["recv", URL, "/nowhere/out.ts"], "there is no directory /nowhere");
    assert_refused(&["recv", URL, "/"], "it is a directory");
    assert_refused(&["recv", URL, "udp://:5"], "give the host to send to");
    assert_refused(&["recv", URL, "out.ts", "--stats", "/nowhere/s"], "cannot write /nowhere/s");
    for command in [&["send", STREAM, URL][..], &["recv", URL, "out.ts"], &["watch", URL]] {
        let refused = |file, expected| {
            assert_refused(&[command, &["--capture", file]].concat(), expected);
        };
        refused("/nowhere/c", "cannot write /nowhere/c: No such file");
        refused("/dev/full", "cannot write /dev/full: No space left");
        refused("-", "packets cannot go to stdout: give --capture a file");
    }
}

#[test]
fn addresses_that_cannot_be_had_are_refused() {
    let taken = UdpSocket::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let listener = format!("anabranch://:{port}");
    assert_refused(&["recv", &listener, "out.ts"], "is in use at 0.0.0.0");
    let elsewhere = format!("{URL}?path=192.0.2.77");
    assert_refused(&["send", STREAM, &elsewhere], "192.0.2.77 is not an address of this machine");
    let interface = format!("{URL}?path=nosuchif0");
    assert_refused(&["send", STREAM, &interface], "nosuchif0");
    let input = format!("udp://127.0.0.1:{port}");
    assert_refused(&["send", &input, URL], "another program has the port");
    assert!(!std::path::Path::new("out.ts").exists(), "nothing half-written");
}
