//! What a reader that cannot keep up gets first.

use std::time::Duration;

use anabranch_netsim::Side;
use anabranch_sctp::{AssociationConfig, Level, OutgoingMessage, ReceiveOrder};

use crate::harness::{Duo, good_link, number_of, numbered};

const MILLISECOND: Duration = Duration::from_millis(1);

fn config(receive_order: ReceiveOrder) -> AssociationConfig {
    AssociationConfig::media().with(|config| config.buffers.receive_order = receive_order)
}

/// Sends these levels in one go, on a stream each or all on one, and then reads one message each
/// `reading`; the numbers in the order in which they were read.
fn read(order: ReceiveOrder, levels: &[Level], one_stream: bool, reading: Duration) -> Vec<u32> {
    let mut duo = Duo::connected(1, &[good_link()], config(order));
    duo.reads = false;
    for (number, &level) in (0..).zip(levels) {
        let stream = if one_stream { 0 } else { number as u16 };
        duo.send(Side::Client, OutgoingMessage { level, ..numbered(stream, number, 100) });
    }
    duo.run_for(100 * MILLISECOND);
    let mut numbers = Vec::new();
    while let Some(message) = duo.act(Side::Server, |association, _| association.receive()) {
        numbers.push(number_of(&message));
        duo.run_for(reading);
    }
    numbers
}

const LEVELS: [Level; 6] =
    [Level::Low, Level::Normal, Level::High, Level::Low, Level::Urgent, Level::High];

#[test]
fn messages_are_read_as_they_arrived_unless_asked_for_otherwise() {
    let in_order = [0, 1, 2, 3, 4, 5];
    assert_eq!(read(ReceiveOrder::default(), &LEVELS, false, MILLISECOND), in_order);
}

#[test]
fn what_matters_most_is_read_first() {
    let read = read(ReceiveOrder::PRIORITY, &LEVELS, false, MILLISECOND);
    assert_eq!(read, [4, 2, 5, 1, 0, 3]);
}

#[test]
fn a_stream_keeps_its_order_whatever_matters_most() {
    let in_order = [0, 1, 2, 3, 4, 5];
    assert_eq!(read(ReceiveOrder::PRIORITY, &LEVELS, true, MILLISECOND), in_order);
}

#[test]
fn the_oldest_is_read_before_newer_ones_once_it_waited_for_the_bound() {
    let read = read(ReceiveOrder::PRIORITY, &LEVELS, false, 250 * MILLISECOND);
    assert_eq!(read, [4, 2, 0, 1, 3, 5], "from the third on all are overdue");
}

#[test]
fn where_the_peer_marks_nothing_messages_are_read_as_they_arrived() {
    let plain = config(ReceiveOrder::PRIORITY).with(|config| {
        config.extensions.level_marks = false;
    });
    let mut duo = Duo::of_two(1, &[good_link()], plain, config(ReceiveOrder::PRIORITY));
    duo.connect();
    duo.run_for(Duration::from_secs(1));
    duo.reads = false;
    for (number, level) in (0..).zip(LEVELS) {
        let stream = number as u16;
        duo.send(Side::Client, OutgoingMessage { level, ..numbered(stream, number, 100) });
    }
    duo.run_for(Duration::from_secs(1));
    duo.read(Side::Server);
    assert_eq!(duo.numbers(Side::Server), [0, 1, 2, 3, 4, 5]);
}
