//! Ports for programs under test, each given to one test only.

use std::sync::atomic::{AtomicU16, Ordering};

/// A port of UDP and TCP that nobody on this machine has. It is below those that Linux gives to
/// sockets without a choice, or one of those might take it first.
///
/// It is looked up, not tried: a program that another test starts at that moment would inherit
/// the socket that tries it, and keep the port until it runs.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(20_000);
    loop {
        let port = NEXT.fetch_add(1, Ordering::Relaxed);
        if !is_taken(port) {
            return port;
        }
    }
}

/// Waits until a port that was closed just now can be bound again: a program that another test
/// started before that has a copy of the socket until it runs.
pub(crate) fn wait_until_free(port: u16) {
    while is_taken(port) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Whether a socket of any address has it (proc(5), `/proc/net/udp`): the second column is an
/// address and a port, in hexadecimal.
fn is_taken(port: u16) -> bool {
    let column = format!(":{port:04X}");
    ["udp", "udp6", "tcp", "tcp6"].iter().any(|protocol| {
        // There is none of a protocol that the machine lacks.
        let sockets = std::fs::read_to_string(format!("/proc/net/{protocol}")).unwrap_or_default();
        let mut addresses = sockets.lines().filter_map(|line| line.split_whitespace().nth(1));
        addresses.any(|address| address.ends_with(&column))
    })
}

#[test]
fn regression_a_port_was_taken_by_a_program_that_another_test_started() {
    let held = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap().port();
    assert!(is_taken(taken));
    let port = free_port();
    assert!(!is_taken(port), "whoever asks for a free port leaves it free");
    assert_ne!(free_port(), port);
    drop(held);
    wait_until_free(taken);
}
