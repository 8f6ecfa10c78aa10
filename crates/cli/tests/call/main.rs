//! `anabranch call` as two people meet it, without a screen: two programs, real sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../channels/greedy.rs"]
mod greedy;
#[path = "../transfer/harness.rs"]
#[expect(dead_code, reason = "the tests of several programs share it")]
mod harness;
#[path = "../watch/page.rs"]
mod page;
mod recording;
mod refusals;
mod rooms;

use harness::{Place, Running, free_port, program};

/// Two seconds of VP9 and Opus.
const ME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures/vp9_opus.webm");

/// Somebody who waits for a call, and the address that he or she gives away.
fn listener(more: &[&str]) -> (Running, String) {
    let url = format!("anabranch://127.0.0.1:{}?mode=listener", free_port());
    let arguments = [&["call", "--no-page", &url], more].concat();
    let mut listener = Running::start(&arguments);
    let said = listener.line_with("the other end calls anabranch://127.0.0.1:");
    let link = said.split_whitespace().find(|word| word.starts_with("anabranch://")).unwrap();
    (listener, link.to_owned())
}

#[test]
fn two_people_talk_until_one_hangs_up_and_the_other_waits_for_the_next_call() {
    let place = Place::new("call-talk");
    let (hers, his) = (place.file("hers"), place.file("his"));
    let files = ["--camera", ME, "--microphone", ME];
    let (mut alice, link) =
        listener(&[&files[..], &["--name", "Alice", "--record", &hers]].concat());
    let arguments = ["call", "--no-page", &link, "--name", "Bob", "--record", &his];
    let mut bob = Running::start(&[&arguments[..], &files].concat());
    alice.line_with("In a call with Bob.");
    bob.line_with("In a call with Alice.");
    recording::wait_for(&hers);
    recording::wait_for(&his);
    bob.interrupt();
    bob.assert_success();
    alice.line_with("Bob hung up.");
    alice.line_with("Waiting for a call on port ");
    alice.interrupt();
    alice.assert_success();
    recording::assert_whole(&hers, ME);
    recording::assert_whole(&his, ME);
}

#[test]
fn who_waits_can_hang_up_and_who_called_is_told_and_ends() {
    let (mut alice, link) = listener(&["--name", "Alice"]);
    let mut bob = Running::start(&["call", "--no-page", &link]);
    alice.line_with("In a call with 127.0.0.1:");
    bob.line_with("In a call with Alice.");
    alice.interrupt();
    alice.assert_success();
    let said = bob.assert_success();
    assert!(said.contains("Alice hung up."), "{said}");
}

#[test]
fn on_this_machine_a_call_may_be_in_the_open_where_both_ends_say_so() {
    let port = free_port();
    let url = |mode| format!("anabranch://127.0.0.1:{port}?mode={mode}&encryption=off");
    let mut alice = Running::start(&["call", "--no-page", &url("listener")]);
    alice.line_with("encryption=off: who sees the packets can read and alter all of it");
    alice.line_with("Waiting for a call");
    let bob = Running::start(&["call", "--no-page", "--name", "Bob", &url("caller")]);
    alice.line_with("In a call with Bob.");
    bob.interrupt();
    bob.assert_success();
    alice.line_with("Bob hung up.");
}

#[test]
fn the_help_says_what_a_call_takes() {
    let output = program(&["call", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    for words in ["[URL]", "--camera", "--threshold", "--record", "--no-page", "Examples:"] {
        assert!(help.contains(words), "{words}: {help}");
    }
}
