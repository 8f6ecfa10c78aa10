//! Peers that are refused, killed, or say something else.

use std::net::UdpSocket;

use crate::harness::{Place, Running, STREAM, assert_same, run, urls};

#[test]
fn a_caller_with_another_streamid_is_refused_in_words_and_leaves_no_file() {
    let place = Place::new("streamid");
    let out = place.file("out.ts");
    let (listener, caller) = urls("&streamid=camera%201", "&streamid=camera%202");
    let mut receiver = Running::start(&["recv", &listener, &out]);
    let (status, said) = run(&["send", STREAM, &caller]);
    assert_eq!(status, Some(1));
    let reason = "the other end refuses: there is no stream of that streamid here";
    assert!(said.contains(reason), "{said}");
    let told = receiver.line_with(" was refused: ");
    assert!(told.contains("there is no stream of that streamid here"), "{told}");
    receiver.interrupt();
    receiver.assert_success();
    assert!(!std::path::Path::new(&out).exists(), "nothing was received");
}

#[test]
fn a_caller_with_another_passphrase_is_refused_in_words_at_both_ends() {
    let place = Place::new("passphrase");
    let out = place.file("out.ts");
    let (listener, caller) = urls("&passphrase=the%20right%20one", "&passphrase=a%20wrong%20one");
    let mut receiver = Running::start(&["recv", &listener, &out]);
    let (status, said) = run(&["send", STREAM, &caller]);
    assert_eq!(status, Some(1));
    assert!(said.contains("the passphrases of both ends differ"), "{said}");
    let told = receiver.line_with(" was refused: ");
    assert!(told.contains("the passphrases of both ends differ"), "{told}");
    receiver.interrupt();
    receiver.assert_success();
    assert!(!std::path::Path::new(&out).exists(), "nothing was received");
}

#[test]
fn with_the_same_passphrase_a_file_arrives_whole() {
    let place = Place::new("same-passphrase");
    let out = place.file("out.ts");
    let (listener, caller) = urls("&passphrase=the%20right%20one", "&passphrase=the%20right%20one");
    let receiver = Running::start(&["recv", &listener, &out]);
    let (status, said) = run(&["send", STREAM, &caller]);
    assert_eq!(status, Some(0), "{said}");
    receiver.assert_success();
    assert_same(STREAM, &out);
}

#[test]
fn two_senders_are_told_that_one_must_receive() {
    let (listener, caller) = urls("", "");
    let _first = Running::start(&["send", STREAM, &listener]);
    let (status, said) = run(&["send", STREAM, &caller]);
    assert_eq!(status, Some(1));
    assert!(said.contains("both ends want to send"), "{said}");
}

#[test]
fn what_came_from_a_sender_that_was_killed_is_kept() {
    let place = Place::new("killed");
    let out = place.file("out.ts");
    let (listener, caller) = urls("", "");
    let mut receiver = Running::start(&["recv", &listener, &out]);
    let mut sender = Running::start(&["send", "--loop", STREAM, &caller]);
    receiver.line_with("connected: ");
    let has_media = || std::fs::metadata(&out).is_ok();
    while !has_media() {
        assert!(sender.child.try_wait().unwrap().is_none(), "the sender ended");
        std::thread::yield_now();
    }
    sender.child.kill().unwrap();
    receiver.interrupt();
    receiver.assert_success();
    let (kept, sent) = (std::fs::read(&out).unwrap(), std::fs::read(STREAM).unwrap());
    assert!(!kept.is_empty() && kept.len().is_multiple_of(188));
    let shorter = kept.len().min(sent.len());
    assert!(kept[..shorter] == sent[..shorter], "{} bytes", kept.len());
}

#[test]
fn a_sender_that_is_stopped_ends_in_order() {
    let place = Place::new("stopped");
    let out = place.file("out.ts");
    let (listener, caller) = urls("", "");
    let receiver = Running::start(&["recv", &listener, &out]);
    let mut sender = Running::start(&["send", "--loop", STREAM, &caller]);
    sender.line_with("track ");
    sender.interrupt();
    sender.assert_success();
    let said = receiver.assert_success();
    assert!(said.contains("the sender has ended"), "{said}");
    assert!(said.contains(" 0 missing: nothing is missing"), "{said}");
}

#[test]
fn a_sender_whose_receiver_left_says_why_and_serves_the_next_one() {
    let place = Place::new("next");
    let (first, second) = (place.file("1.ts"), place.file("2.ts"));
    let (listener, caller) = urls("", "");
    let mut receiver = Running::start(&["recv", &listener, &first]);
    let mut sender = Running::start(&["send", "--loop", STREAM, &caller]);
    receiver.line_with("connected: ");
    wait_for(&first);
    receiver.interrupt();
    receiver.assert_success();
    sender.line_with("the receiver was stopped");
    sender.line_with("trying again in 1 s");
    let mut receiver = Running::start(&["recv", &listener, &second]);
    receiver.line_with("connected: ");
    wait_for(&second);
    sender.interrupt();
    sender.assert_success();
    let said = receiver.assert_success();
    assert!(said.contains(" 0 missing: "), "{said}");
}

/// Waits until media has come.
fn wait_for(file: &str) {
    while !std::path::Path::new(file).exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn nobody_at_the_other_end_is_a_reason_in_words() {
    let (_, caller) = urls("", "");
    let (status, said) = run(&["send", "--retries", "0", STREAM, &caller]);
    assert_eq!(status, Some(1));
    assert!(said.contains("nobody answers there"), "{said}");
}

#[test]
fn a_call_that_fails_is_repeated_after_a_count_down() {
    let place = Place::new("again");
    let out = place.file("out.ts");
    let (listener, caller) = urls("", "");
    let mut sender = Running::start(&["send", "--fast", STREAM, &caller]);
    sender.line_with("nobody answers there");
    sender.line_with("trying again in 1 s");
    let receiver = Running::start(&["recv", &listener, &out]);
    sender.assert_success();
    receiver.assert_success();
    assert_same(&out, STREAM);
}

#[test]
fn random_bytes_on_the_port_do_no_harm() {
    let place = Place::new("noise");
    let (out, stats) = (place.file("out.ts"), place.file("stats.json"));
    let (listener, caller) = urls("", "");
    let port: u16 = listener[13..].split('?').next().unwrap().parse().unwrap();
    let mut receiver = Running::start(&["recv", &listener, &out, "--stats", &stats]);
    receiver.line_with("waiting for a sender");
    let noise = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut state: u32 = 1;
    for len in 0..1_000 {
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let bytes: Vec<u8> = (0..len).map(|_| next()).collect();
        noise.send_to(&bytes, ("127.0.0.1", port)).unwrap();
    }
    let (status, said) = run(&["send", "--fast", STREAM, &caller]);
    assert_eq!(status, Some(0), "{said}");
    receiver.assert_success();
    assert_same(&out, STREAM);
    let text = std::fs::read_to_string(stats).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert!(last["strangers"]["malformed"].as_u64().unwrap() > 900, "{}", last["strangers"]);
}
