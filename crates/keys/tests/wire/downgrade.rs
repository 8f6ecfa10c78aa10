//! Somebody who alters what both ends offer: they end up without each other, and never in the open.

use std::time::Duration;

use anabranch_sctp::{AssociationConfig, CloseReason, EncryptionPolicy};

use crate::pump::{CALLER, LISTENER, LONG, Wire, config, encrypted, is_sealed, keys, with_chunks};

/// The parameter's type, and the one that every stack skips.
const KEY_MANAGEMENT: [u8; 2] = [0x80, 0x06];
const SKIPPED: [u8; 2] = [0xbf, 0xff];

const DELAY: Duration = Duration::from_millis(50);

/// Alters the parameter of one end's INIT or INIT ACK.
fn altering(wire: &mut Wire, of: usize, alter: impl Fn(&mut [u8]) + 'static) {
    let ty = if of == CALLER { 1 } else { 2 };
    wire.adversary = Box::new(move |sent, deliveries| {
        for delivery in deliveries.iter_mut().filter(|_| sent.from == of) {
            delivery.bytes = with_chunks(&delivery.bytes, |chunks| {
                let at = chunks.windows(2).position(|two| two == KEY_MANAGEMENT);
                if let Some(at) = at.filter(|_| chunks[0] == ty) {
                    let len = usize::from(chunks[at + 3]);
                    alter(&mut chunks[at..at + len]);
                }
            });
        }
    });
}

fn hide(parameter: &mut [u8]) {
    parameter[..2].copy_from_slice(&SKIPPED);
}

fn preferring() -> AssociationConfig {
    config(Some(keys()), EncryptionPolicy::Prefer)
}

#[test]
fn who_demands_encryption_refuses_in_words_where_an_offer_was_taken_out() {
    for of in [CALLER, LISTENER] {
        let mut wire = Wire::encrypted();
        altering(&mut wire, of, hide);
        wire.run(LONG);
        assert!(!wire.is_connected(CALLER) && !wire.is_connected(LISTENER));
        let reason = wire.close_reason(CALLER).expect("it knows").to_string();
        let words = ["encryption is demanded here", "the peer demands encryption"];
        assert!(words.iter().any(|words| reason.contains(words)), "{reason}");
    }
}

#[test]
fn an_altered_offer_ends_the_association_before_anything_is_heard() {
    // Each bit of the tie breaker and the roles; and those of the method where that is demanded.
    let cases = [CALLER, LISTENER].into_iter().flat_map(|of| (32..80).map(move |bit| (of, bit)));
    for (of, bit) in cases {
        for makes in [encrypted, preferring].into_iter().take(if bit < 72 { 2 } else { 1 }) {
            let mut wire = Wire::new([makes(), makes()], &[DELAY], 7);
            altering(&mut wire, of, move |parameter| parameter[bit / 8] ^= 0x80 >> (bit % 8));
            wire.run(LONG);
            // The server of TLS has keys before it knows that its client has the same ones: what it
            // says under them nobody opens.
            assert!(!wire.is_connected(LISTENER), "{of}, bit {bit}");
            assert!(wire.close_reason(CALLER).is_some(), "{of}, bit {bit}");
        }
    }
}

#[test]
fn who_merely_prefers_encryption_can_be_made_to_speak_in_the_open() {
    let mut wire = Wire::new([preferring(), preferring()], &[DELAY], 7);
    altering(&mut wire, CALLER, hide);
    wire.connect();
    assert!(wire.sent.iter().all(|sent| !is_sealed(&sent.bytes)));
    assert!(!wire.end(CALLER).is_encrypted() && !wire.end(LISTENER).is_encrypted());
}

#[test]
fn one_end_that_demands_encryption_is_enough() {
    for configs in [[encrypted(), preferring()], [preferring(), encrypted()]] {
        let mut wire = Wire::new(configs, &[DELAY], 7);
        altering(&mut wire, LISTENER, hide);
        wire.run(LONG);
        let is_open = |end| wire.is_connected(end) && wire.close_reason(end).is_none();
        assert!(!(is_open(CALLER) && is_open(LISTENER)));
        assert!(!matches!(wire.close_reason(CALLER), Some(CloseReason::Shutdown)));
    }
}
