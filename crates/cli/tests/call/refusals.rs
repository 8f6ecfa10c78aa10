//! Calls that are not taken, and options that make no call: in words.

use std::path::Path;

use anabranch_keys::Identity;

use super::{ME, listener};
use crate::greedy::greedy;
use crate::harness::{FILM, Place, Running, free_port, run};

#[test]
fn who_answers_with_another_key_than_was_expected_is_refused_in_words() {
    let (_alice, link) = listener(&[]);
    let (place, _) = link.split_once('?').unwrap();
    let other = Identity::generate().unwrap().public_key();
    let (status, said) = run(&["call", "--no-page", &format!("{place}?key={other}")]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("is not the one that was expected"), "{said}");
}

#[test]
fn a_stranger_is_refused_in_words() {
    let other = Identity::generate().unwrap().public_key();
    let url = format!("anabranch://127.0.0.1:{}?mode=listener&allow={other}", free_port());
    let mut alice = Running::start(&["call", "--no-page", &url]);
    let said = alice.line_with("the other end calls ");
    let link = said.split_whitespace().find(|word| word.starts_with("anabranch://")).unwrap();
    let (status, said) = run(&["call", "--no-page", link]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("The call was not taken: "), "{said}");
    assert!(said.contains("the key "), "{said}");
    alice.line_with(" called and was refused: ");
}

#[test]
fn who_calls_during_a_call_is_told_so_and_the_call_goes_on() {
    let (mut alice, link) = listener(&["--name", "Alice"]);
    let mut bob = Running::start(&["call", "--no-page", "--name", "Bob", &link]);
    bob.line_with("In a call with Alice.");
    let (status, said) = run(&["call", "--no-page", &link]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("The call was not taken: the other end is in another call."), "{said}");
    alice.line_with(" called and was refused: the other end is in another call");
    bob.interrupt();
    bob.assert_success();
    alice.line_with("Bob hung up.");
}

#[test]
fn nobody_there_is_a_reason_in_words() {
    let (status, said) =
        run(&["call", "--no-page", &format!("anabranch://127.0.0.1:{}", free_port())]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("Nobody answers there"), "{said}");
}

#[test]
fn what_makes_no_call_is_refused_before_anything_is_sent() {
    let cases = [
        ("anabranch://192.0.2.1:9000?encryption=off", "a call is always encrypted"),
        ("anabranch://:9000?encryption=off", "a call is always encrypted"),
        ("anabranch+dccp://127.0.0.1:9000?encryption=off", "a call goes over SCTP"),
        ("anabranch://127.0.0.1:9000?latency=500", "are for send and recv"),
        ("anabranch://127.0.0.1:9000?streamid=me", "are for send and recv"),
        ("anabranch://127.0.0.1:9000?token=x", "token= is for anabranch watch"),
    ];
    for (url, words) in cases {
        let (status, said) = run(&["call", "--no-page", url]);
        assert_eq!(status, Some(2), "{url}: {said}");
        assert!(said.contains(words), "{url}: {said}");
    }
}

#[test]
fn a_threshold_that_no_call_has_is_refused_in_words() {
    let between = "give a time between them, such as 1.5s";
    for (threshold, words) in [("100ms", between), ("31s", between), ("soon", "is no time")] {
        let (status, said) = run(&["call", "--no-page", "--threshold", threshold]);
        assert_eq!(status, Some(2), "{threshold}: {said}");
        assert!(said.contains(words), "{threshold}: {said}");
    }
}

#[test]
fn a_file_that_is_no_media_is_named_at_once() {
    let place = Place::new("call-no-media");
    let (text, absent) = (place.file("text.mkv"), place.file("absent.mkv"));
    std::fs::write(&text, "words, and no media at all\n".repeat(100)).unwrap();
    for (option, file) in [("--camera", &text), ("--microphone", &absent)] {
        let (status, said) = run(&["call", "--no-page", option, file]);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(file.as_str()), "{said}");
    }
}

#[test]
fn a_film_that_takes_more_memory_than_a_reader_may_have_ends_its_reader_alone() {
    let place = Place::new("call-greedy");
    let film = place.file("greedy.webm");
    greedy(Path::new(&film));
    let (status, said) = run(&["call", "--no-page", "--camera", &film]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("it took more than 512 MiB of memory to read"), "{said}");
}

#[test]
fn sound_that_is_no_opus_is_left_out_in_words_and_its_picture_taken() {
    let (mut alice, link) = listener(&["--camera", ME, "--microphone", FILM]);
    let mut bob = Running::start(&["call", "--no-page", &link]);
    bob.line_with("In a call with ");
    alice.line_with("--microphone: there is no Opus in it");
}

#[test]
fn what_enters_no_room_is_refused_in_words() {
    let room = "anabranch://127.0.0.1:9000?room=lab&token=0123456789abcdef";
    for (arguments, words) in [
        (vec!["--no-page", room], "in a room --no-page needs --name"),
        (vec!["--camera", FILM, room], "leave --camera out, or give --no-page"),
        (vec!["--name", "Alice", room], "in a room the page asks for your name"),
        (vec!["--threshold", "1s", room], "--threshold is for a call between two"),
        (vec!["anabranch://127.0.0.1:9000?room=lab"], "option token has no value"),
        (vec!["anabranch://:9000?room=lab&token=a"], "a room is one of a server"),
        (vec!["https://meet.example:8443/r/lab#0123"], "this link opens in a browser"),
    ] {
        let (status, said) = run(&[&["call"], &arguments[..]].concat());
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}
