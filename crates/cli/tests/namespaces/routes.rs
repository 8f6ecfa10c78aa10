//! Calls whose routes and addresses change while both networks stay up.

use std::thread::sleep;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use crate::harness::{Running, program};
use crate::hosts::{Host, Wire, two_hosts};
use crate::trial;

/// What moves goes on over the other network by then, or never will.
const PATIENCE: Duration = Duration::from_secs(30);

/// Two seconds of VP9 and Opus.
const ME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures/vp9_opus.webm");

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(a_default_route_that_moves_takes_the_call_along),
        trial(an_address_that_comes_to_a_listener_is_one_more_path),
        trial(a_silent_network_is_left_after_the_threshold_and_the_last_one_ends_the_call),
    ]
}

const WIRES: [Wire<'_>; 2] = [
    Wire { name: "wifi", addresses: ["10.78.1.1/24", "10.78.1.2/24"] },
    Wire { name: "mobile", addresses: ["10.78.2.1/24", "10.78.2.2/24"] },
];

/// Somebody who waits for a call, and the key that he or she gives away.
fn listener(host: &Host) -> (Running, String) {
    let waits = program(&["call", "--no-page", "--name", "Bob"]);
    let mut bob = Running::spawn(&mut host.command(&waits));
    let said = bob.line_with("the other end calls ");
    let (_, rest) = said.split_once("key=").unwrap();
    (bob, rest.split_whitespace().next().unwrap().to_owned())
}

fn caller(host: &Host, place: &str, key: &str, more: &[&str]) -> Running {
    let url = format!("anabranch://{place}key={key}");
    let arguments = ["call", "--no-page", "--name", "Alice", &url];
    Running::spawn(&mut host.command(&program(&[&arguments, more].concat())))
}

fn a_default_route_that_moves_takes_the_call_along() {
    let hosts = two_hosts(&WIRES);
    let [near, far] = &hosts;
    // As if far away: default routes alone lead there.
    far.ip(&["address", "add", "10.79.0.9/32", "dev", "lo"]);
    let default = |gateway, dev, metric| {
        near.ip(&["route", "replace", "default", "via", gateway, "dev", dev, "metric", metric]);
    };
    default("10.78.1.2", "wifi", "100");
    default("10.78.2.2", "mobile", "200");
    let (mut bob, key) = listener(far);
    let devices = ["--camera", ME, "--microphone", ME];
    let mut alice = caller(near, "10.79.0.9:9000?", &key, &devices);
    alice.line_with("In a call with Bob.");
    default("10.78.2.2", "mobile", "50");
    alice.line_with("The default route moved to mobile; went over to it.");
    pictures_go_over(near, "mobile", "wifi");
    near.ip(&["route", "delete", "default", "dev", "mobile", "metric", "50"]);
    alice.line_with("The default route moved to wifi; went over to it.");
    pictures_go_over(near, "wifi", "mobile");
    alice.interrupt();
    let said = alice.assert_success();
    assert!(!said.contains(" lost"), "{said}");
    bob.line_with("Alice hung up.");
}

/// Waits until one network carries half as much again as the other: voice goes over both.
fn pictures_go_over(host: &Host, this: &str, other: &str) {
    let end = Instant::now() + PATIENCE;
    loop {
        let sent = || [host.sent_over(this), host.sent_over(other)];
        let before = sent();
        sleep(Duration::from_millis(1_000));
        let now = sent();
        let [over_this, over_other] = [0, 1].map(|at| now[at] - before[at]);
        if over_this * 2 > over_other * 3 {
            return;
        }
        assert!(Instant::now() < end, "{this} {over_this}, {other} {over_other} bytes");
    }
}

fn an_address_that_comes_to_a_listener_is_one_more_path() {
    let hosts = two_hosts(&WIRES);
    let [near, far] = &hosts;
    far.set_link("mobile", "down");
    far.ip(&["address", "flush", "dev", "mobile"]);
    let (mut bob, key) = listener(far);
    let mut alice = caller(near, "10.78.1.2:9000?path=10.78.1.1&", &key, &["--microphone", ME]);
    bob.line_with("In a call with Alice.");
    far.ip(&["address", "add", "10.78.2.2/24", "dev", "mobile"]);
    far.set_link("mobile", "up");
    WIRES[1].introduce(&hosts);
    // Alice can be reached over there as well, though not first.
    let other_way = ["route", "add", "10.78.1.0/24", "via", "10.78.2.1", "dev", "mobile"];
    far.ip(&[&other_way[..], &["metric", "300"]].concat());
    bob.line_with("mobile (10.78.2.2) reaches 10.78.1.1:");
    // Bob has offered it, and Alice has found that it answers.
    alice.line_with("is there.");
    bob.line_with("mobile is there.");
    far.set_link("wifi", "down");
    bob.line_with("lost; went on over mobile");
    alice.interrupt();
    alice.assert_success();
    bob.line_with("Alice hung up.");
    bob.interrupt();
    bob.assert_success();
}

fn a_silent_network_is_left_after_the_threshold_and_the_last_one_ends_the_call() {
    let hosts = two_hosts(&WIRES);
    let (mut bob, key) = listener(&hosts[1]);
    let place = "10.78.1.2:9000?peer=10.78.2.2:9000&";
    let mut alice = caller(&hosts[0], place, &key, &["--microphone", ME, "--threshold", "1s"]);
    bob.line_with("In a call with Alice.");
    alice.line_with("wifi is there.");
    silence(&hosts, &WIRES[1]);
    alice.line_with("mobile was silent for 1 s: went over to wifi.");
    silence(&hosts, &WIRES[0]);
    alice.line_with("wifi was silent for 1 s, and no other path is available.");
    let (status, said) = alice.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("No path was left after 1 s: the call is over."), "{said}");
}

/// What crosses this wire is for nobody from now on, and no interface tells so.
fn silence(hosts: &[Host; 2], wire: &Wire<'_>) {
    for (host, peer) in [(0, 1), (1, 0)] {
        let (address, _) = wire.addresses[peer].split_once('/').unwrap();
        let nobody = ["neighbour", "replace", address, "lladdr", "02:00:00:00:00:99"];
        hosts[host].ip(&[&nobody[..], &["dev", wire.name, "nud", "permanent"]].concat());
    }
}
