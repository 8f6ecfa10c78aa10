//! Somebody who gives the chunks of the first handshake, which are in the open, other TSNs: the
//! first messages under seal would be taken for repeated ones, and nobody would miss them.

use std::time::Duration;

use crate::pump::{CALLER, Delivery, LISTENER, LONG, Sent, Wire, is_sealed, message, with_chunks};

const DATA: u8 = 0;
const INIT: u8 = 1;
const INIT_ACK: u8 = 2;
const SACK: u8 = 3;

/// Where TSNs stand in the chunks that have one.
fn tsn_at(ty: u8) -> Option<usize> {
    match ty {
        INIT | INIT_ACK => Some(16),
        DATA | SACK => Some(4),
        _ => None,
    }
}

/// Adds to the TSNs of one end, as its peer sees them, in all that is in the open.
fn renumber(of: usize, by: i32) -> impl FnMut(&Sent, &mut Vec<Delivery>) {
    move |sent, deliveries| {
        for delivery in deliveries.iter_mut().filter(|d| !is_sealed(&d.bytes)) {
            delivery.bytes = with_chunks(&delivery.bytes, |chunks| {
                let mut at = 0;
                while at + 4 <= chunks.len() {
                    let is_of = if chunks[at] == SACK { sent.from != of } else { sent.from == of };
                    if let Some(tsn) = tsn_at(chunks[at]).filter(|_| is_of) {
                        let by = if chunks[at] == SACK { -by } else { by };
                        let tsn = &mut chunks[at + tsn..at + tsn + 4];
                        let shifted = u32::from_be_bytes(tsn.try_into().expect("four bytes"));
                        tsn.copy_from_slice(&shifted.wrapping_add_signed(by).to_be_bytes());
                    }
                    let len = usize::from(u16::from_be_bytes([chunks[at + 2], chunks[at + 3]]));
                    at += len.next_multiple_of(4).max(4);
                }
            });
        }
    }
}

#[test]
fn nothing_is_lost_unseen_where_somebody_renumbers_the_first_handshake() {
    for of in [CALLER, LISTENER] {
        for by in [-3, -1, 1, 2, 3] {
            let mut wire = Wire::encrypted();
            wire.adversary = Box::new(renumber(of, by));
            wire.run_until(LONG, |wire| wire.ends[LISTENER].associations().next().is_some());
            for end in [CALLER, LISTENER] {
                for stream in [0, 1, 1, 2] {
                    wire.send(end, message(stream, b"the first words"));
                }
            }
            wire.run(LONG);
            let heard: Vec<_> = [CALLER, LISTENER]
                .map(|end| match wire.close_reason(end) {
                    Some(_) => None,
                    None => Some(wire.received(end).len()),
                })
                .into();
            let is_known = [CALLER, LISTENER].iter().any(|end| wire.close_reason(*end).is_some());
            let is_heard = heard.iter().all(|heard| *heard == Some(4));
            assert!(is_known || is_heard, "{of} by {by}: {heard:?}");
        }
    }
}

#[test]
fn without_anybody_on_the_way_the_listeners_first_words_come_with_the_last_ones_about_keys() {
    let mut wire = Wire::encrypted();
    wire.run_until(LONG, |wire| wire.ends[LISTENER].associations().next().is_some());
    wire.send(LISTENER, message(1, b"the first words"));
    assert!(wire.run_until(LONG, |wire| wire.is_connected(LISTENER)));
    wire.run(Duration::from_millis(50));
    assert_eq!(wire.received(CALLER), [b"the first words"]);
}
