//! What both ends of a real run did, in files, and what `lab trace` makes of them.

use std::fs;

use crate::harness::{Place, Running, STREAM, assert_same, program, run, urls};

/// What the program prints on stdout.
fn printed(arguments: &[&str]) -> String {
    let output = program(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn both_ends_of_a_transfer_write_what_they_did_and_the_lab_explains_it() {
    let place = Place::new("trace");
    let (sent, received) = (place.file("sent.qlog"), place.file("received.qlog"));
    let (svg, out) = (place.file("sent.svg"), place.file("out.ts"));
    let (listener, caller) = urls("", "");
    let receiver = Running::start(&["recv", &listener, &out, "--trace", &received]);
    let sender = Running::start(&["send", "--fast", STREAM, &caller, "--trace", &sent]);
    let said = sender.assert_success();
    assert!(said.contains("sent.qlog: ") && said.contains(" records"), "{said}");
    receiver.assert_success();
    assert_same(&out, STREAM);

    let text = fs::read_to_string(&sent).unwrap();
    let records: Vec<&str> = text.split('\x1e').skip(1).collect();
    assert!(records[0].contains("urn:ietf:params:qlog:file:sequential"), "{}", records[0]);
    let names = ["packet_sent", "data_sent", "data_acknowledged", "window_updated", "timer_set"];
    let states = ["cookie-wait", "established", "closed"];
    for part in names.iter().chain(&states) {
        assert!(text.contains(part), "{part} is missing");
    }
    let text = fs::read_to_string(&received).unwrap();
    for part in ["sctp:data_received", "media:piece_received", "\"class\":\"key-frame\""] {
        assert!(text.contains(part), "{part} is missing");
    }

    let lines = printed(&["lab", "trace", &sent, "--every", "100ms", "--svg", &svg]);
    assert!(lines.starts_with(" from s    sent   acked"), "{lines}");
    assert!(lines.lines().all(|line| line.len() <= 80), "{lines}");
    let figure = fs::read_to_string(&svg).unwrap();
    assert!(figure.contains("can be carried") && figure.contains("pictures left out"));
    let lines = printed(&["lab", "trace", &received]);
    assert!(lines.starts_with(" from s  received   spare"), "{lines}");
}

#[test]
fn what_is_no_trace_is_said_and_a_trace_is_no_media_on_stdout() {
    let expected = "it is no qlog file of JSON text sequences: give one that --trace wrote";
    let (status, said) = run(&["lab", "trace", STREAM]);
    assert!(status == Some(1) && said.contains(expected), "{said}");
    let (status, said) = run(&["lab", "trace", "/nowhere/run.qlog"]);
    assert!(status == Some(2) && said.contains("cannot read /nowhere/run.qlog"), "{said}");
    let (status, said) = run(&["lab", "trace", STREAM, "--every", "0ms"]);
    assert!(status == Some(2) && said.contains("give 1ms or more"), "{said}");
    let (status, said) = run(&["send", STREAM, "anabranch://127.0.0.1:9", "--trace", "-"]);
    assert!(status == Some(2) && said.contains("give --trace a file"), "{said}");
}
