//! A receiver that does not read.

use std::time::Duration;

use anabranch_netsim::SERVER;
use anabranch_tcp::Config;

use crate::harness::{Duo, link, pattern};

fn stalled() -> (Duo, Vec<u8>) {
    let small = Config { receive_buffer: 20_000, ..Config::default() };
    let mut duo = Duo::new(1, link(10, 20, 0.0), Config::default(), small);
    duo.connect();
    duo.server_reads = false;
    let data = pattern(100_000);
    duo.send(&data).expect("an open connection");
    duo.run_for(Duration::from_secs(5));
    assert_eq!(duo.pair.server().stats().bytes_received, 20_000, "the buffer is full");
    (duo, data)
}

#[test]
fn a_window_that_opens_lets_the_rest_through() {
    let (mut duo, data) = stalled();
    duo.server_reads = true;
    duo.read();
    duo.run_for(Duration::from_secs(5));
    assert!(duo.received == data);
}

#[test]
fn a_lost_window_update_is_found_out_by_a_probe() {
    let (mut duo, data) = stalled();
    duo.server_reads = true;
    duo.pair.sim.drop_next(SERVER, 1);
    duo.read();
    duo.run_for(Duration::from_secs(30));
    assert!(duo.received == data);
}

#[test]
fn a_closed_window_neither_ends_the_connection_nor_shrinks_the_congestion_window() {
    let (mut duo, data) = stalled();
    let window = duo.stats().window;
    duo.run_for(Duration::from_secs(3_600));
    assert_eq!((duo.stats().window, duo.stats().timeouts), (window, 0));
    duo.server_reads = true;
    duo.read();
    duo.run_for(Duration::from_secs(5));
    assert!(duo.received == data);
}
