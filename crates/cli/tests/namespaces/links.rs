//! A link that goes down while media crosses it.

use std::time::Duration;

use libtest_mimic::Trial;

use crate::harness::{Place, Running, STREAM, assert_same, program};
use crate::hosts::{Host, Wire, two_hosts};
use crate::trial;

/// As much of the stream has been written when the link goes down.
const MIDDLE: u64 = 10_000;

/// Of the stream, which then goes on for ten seconds more: an interface may drop what it is given
/// for a second or two after it came up.
const BIT_RATE: &str = "70k";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(an_ipv4_link_taken_down_at_the_sender_costs_nothing),
        trial(an_ipv6_link_taken_down_at_the_receiver_costs_nothing),
        trial(interfaces_that_come_and_go_are_paths_that_come_and_go),
    ]
}

/// An IPv4 and an IPv6 network from the sender, the first, to the receiver.
fn hosts() -> [Host; 2] {
    two_hosts(&[
        Wire { name: "four", addresses: ["10.78.1.1/24", "10.78.1.2/24"] },
        Wire { name: "six", addresses: ["fd78:2::1/64", "fd78:2::2/64"] },
    ])
}

fn an_ipv4_link_taken_down_at_the_sender_costs_nothing() {
    let hosts = hosts();
    let caller = "anabranch://10.78.1.2:9000?path=10.78.1.1,fd78:2::1&peer=[fd78:2::2]:9000";
    transfer_while(&hosts, caller, || hosts[0].set_link("four", "down"));
}

fn an_ipv6_link_taken_down_at_the_receiver_costs_nothing() {
    let hosts = hosts();
    let caller = "anabranch://[fd78:2::2]:9000?path=fd78:2::1,10.78.1.1&peer=10.78.1.2:9000";
    transfer_while(&hosts, caller, || hosts[1].set_link("six", "down"));
}

fn interfaces_that_come_and_go_are_paths_that_come_and_go() {
    let wires = [
        Wire { name: "wifi", addresses: ["10.78.1.1/24", "10.78.1.2/24"] },
        Wire { name: "mobile", addresses: ["10.78.2.1/24", "10.78.2.2/24"] },
    ];
    let hosts = two_hosts(&wires);
    hosts[0].set_link("mobile", "down");
    let caller = "anabranch://10.78.1.2:9000?peer=10.78.2.2:9000";
    transfer_with(&hosts, &["--paths", "auto"], caller, |sender| {
        hosts[0].set_link("mobile", "up");
        wires[1].introduce(&hosts);
        sender.line_with("mobile (10.78.2.1) reaches 10.78.2.2:9000: one more path");
        sender.line_with("path 1 (10.78.2.1");
        hosts[0].set_link("wifi", "down");
        let gone = "wifi (10.78.1.1) reaches 10.78.1.2:9000 no more";
        all_of(sender, &[gone, "media takes path 1 ("]);
    });
}

/// Sends a stream over the first path of a caller until something befalls it.
fn transfer_while(hosts: &[Host; 2], caller: &str, befalls: impl FnOnce()) {
    transfer_with(hosts, &[], caller, |sender| {
        befalls();
        sender.line_with("media takes path 1 (");
    });
}

/// Sends a stream with further arguments; something befalls it, and nothing is lost.
fn transfer_with(
    [near, far]: &[Host; 2],
    arguments: &[&str],
    caller: &str,
    befalls: impl FnOnce(&mut Running),
) {
    let place = Place::new(&caller.replace(|char: char| !char.is_ascii_alphanumeric(), "-"));
    let out = place.file("out.ts");
    let caller = format!("{caller}&latency=1000");
    let recv = program(&["recv", "anabranch://:9000?latency=1000", &out]);
    let receiver = Running::spawn(&mut far.command(&recv));
    let send = ["send", "--treatment", "reliable", "--bitrate", BIT_RATE, STREAM, &caller];
    let mut sender = Running::spawn(&mut near.command(&program(&[&send[..], arguments].concat())));
    sender.line_with("connected: ");
    wait_for(&out, MIDDLE);
    befalls(&mut sender);
    sender.assert_success();
    let said = receiver.assert_success();
    assert!(said.contains(" 0 missing: nothing is missing"), "{said}");
    assert_same(&out, STREAM);
}

/// Waits for lines that come in any order.
fn all_of(sender: &mut Running, expected: &[&str]) {
    let mut missing = expected.to_vec();
    while !missing.is_empty() {
        let line = sender.line_with_one_of(&missing);
        missing.retain(|part| !line.contains(part));
    }
}

/// Waits until a file has so many bytes.
fn wait_for(file: &str, bytes: u64) {
    while std::fs::metadata(file).map_or(0, |metadata| metadata.len()) < bytes {
        std::thread::sleep(Duration::from_millis(10));
    }
}
