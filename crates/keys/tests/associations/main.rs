//! Associations between ends that have real keys, over simulated links.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod certificates;
mod ends;
mod issuer;
mod networks;

use std::time::Duration;

use anabranch_keys::{Identity, Suite, TlsKeys, Trust};
use anabranch_netsim::Side;
use anabranch_sctp::{
    Association, AssociationConfig, CloseReason, EncryptionPolicy, OutgoingMessage, StreamId,
};

use ends::{Ends, config, encrypted};

const MINUTE: Duration = Duration::from_secs(60);

fn message(number: u32, len: usize) -> OutgoingMessage {
    let mut payload = vec![7; len];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    OutgoingMessage::new(StreamId((number % 4) as u16), payload.into())
}

/// Sends messages of all lengths both ways, and returns how many of them arrived whole.
fn exchange(ends: &mut Ends) -> (usize, usize) {
    let now = ends.pair.now();
    for number in 0..40 {
        for side in [Side::Client, Side::Server] {
            let message = message(number, 4 + 97 * number as usize);
            ends.act(side, |association| association.send(now, message)).expect("taken");
        }
    }
    ends.run_until(MINUTE, |_| false);
    [Side::Client, Side::Server]
        .map(|side| {
            ends.act(side, |association| {
                let messages = std::iter::from_fn(|| association.receive());
                messages.filter(|message| message.payload[4..].iter().all(|b| *b == 7)).count()
            })
        })
        .into()
}

#[test]
fn two_ends_that_know_each_other_talk_in_secret() {
    let (ours, theirs) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let client = encrypted(&ours, Trust::Only(vec![theirs.public_key()]));
    let server = encrypted(&theirs, Trust::Only(vec![ours.public_key()]));
    let mut ends = Ends::new(0.0, client, server);
    assert!(ends.run_until(MINUTE, Ends::are_connected));
    assert_eq!(ends.peer(Side::Client), Some(theirs.public_key()));
    assert_eq!(ends.peer(Side::Server), Some(ours.public_key()));
    assert_eq!(exchange(&mut ends), (40, 40));
    for side in [Side::Client, Side::Server] {
        let stats = ends.act(side, |association| association.stats().encryption.unwrap());
        assert!(stats.sealed > 40 && stats.opened > 40, "{stats:?}");
        assert_eq!((stats.forged, stats.replayed, stats.unsealed), (0, 0, 0), "{stats:?}");
    }
}

#[test]
fn the_callers_first_message_leaves_after_three_round_trips_and_the_listeners_half_one_later() {
    let (ours, theirs) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let client = encrypted(&ours, Trust::Anyone);
    let mut ends = Ends::new(0.0, client, encrypted(&theirs, Trust::Anyone));
    assert!(ends.run_until(MINUTE, |ends| ends.is_connected(Side::Client)));
    assert_eq!(ends.pair.now().as_millis(), 300);
    assert!(ends.run_until(MINUTE, Ends::are_connected));
    assert_eq!(ends.pair.now().as_millis(), 350);
}

#[test]
fn what_was_handed_over_before_there_are_keys_is_delivered_sealed() {
    let (ours, theirs) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let client = encrypted(&ours, Trust::Anyone);
    let mut ends = Ends::new(0.0, client, encrypted(&theirs, Trust::Anyone));
    let now = ends.pair.now();
    ends.act(Side::Client, |association| association.send(now, message(0, 3_000))).unwrap();
    assert!(ends.run_until(MINUTE, Ends::are_connected));
    ends.run_until(Duration::from_secs(1), |_| false);
    let received = ends.act(Side::Server, Association::receive).unwrap();
    assert_eq!(received.payload.len(), 3_000);
    let stats = ends.act(Side::Server, |association| association.stats().encryption.unwrap());
    assert!(stats.opened >= 3);
}

#[test]
fn every_suite_seals() {
    for suite in Suite::by_speed() {
        let (ours, theirs) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        let [client, server] = [&ours, &theirs].map(|identity| {
            let keys = TlsKeys::with_suites(identity, Trust::Anyone, &[suite]).unwrap();
            config(Some(keys), EncryptionPolicy::Require)
        });
        let mut ends = Ends::new(0.0, client, server);
        assert!(ends.run_until(MINUTE, Ends::are_connected), "{suite:?}");
        assert_eq!(exchange(&mut ends), (40, 40), "{suite:?}");
    }
}

#[test]
fn keys_are_agreed_on_where_a_tenth_is_lost() {
    let (ours, theirs) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let client = encrypted(&ours, Trust::Anyone);
    let mut ends = Ends::new(0.1, client, encrypted(&theirs, Trust::Anyone));
    assert!(ends.run_until(Duration::from_secs(10), Ends::are_connected));
    assert_eq!(exchange(&mut ends), (40, 40));
}

#[test]
fn a_peer_with_another_key_is_refused_in_words() {
    let (ours, theirs) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let expected = Identity::generate().unwrap().public_key();
    for (trust_of_client, trust_of_server) in
        [(Trust::Only(vec![expected]), Trust::Anyone), (Trust::Anyone, Trust::Only(vec![expected]))]
    {
        let refuser = if trust_of_server == Trust::Anyone { Side::Client } else { Side::Server };
        let client = encrypted(&ours, trust_of_client);
        let mut ends = Ends::new(0.0, client, encrypted(&theirs, trust_of_server));
        ends.run_until(MINUTE, |ends| ends.close_reason(refuser).is_some());
        let refused = if refuser == Side::Client { &theirs } else { &ours };
        let reason = ends.close_reason(refuser).unwrap().to_string();
        assert!(reason.contains(&refused.public_key().to_string()), "{reason}");
        assert!(!ends.is_connected(refuser));
    }
}

#[test]
fn who_demands_encryption_does_not_speak_in_the_open() {
    let identity = Identity::generate().unwrap();
    let demanding = || encrypted(&identity, Trust::Anyone);
    let plain = || config(None, EncryptionPolicy::Require);
    let mut ends = Ends::new(0.0, demanding(), plain());
    ends.run_until(MINUTE, |ends| ends.close_reason(Side::Client).is_some());
    assert_eq!(ends.close_reason(Side::Client), Some(&CloseReason::PeerNotEncrypted));
    let mut ends = Ends::new(0.0, plain(), demanding());
    ends.run_until(MINUTE, |ends| ends.close_reason(Side::Client).is_some());
    assert_eq!(ends.close_reason(Side::Client), Some(&CloseReason::PeerDemandsEncryption));
}

#[test]
fn who_only_prefers_it_speaks_in_the_open_to_those_who_do_not_know_it() {
    let identity = Identity::generate().unwrap();
    let preferring = || {
        let keys = TlsKeys::new(&identity, Trust::Anyone).unwrap();
        config(Some(keys), EncryptionPolicy::Prefer)
    };
    let plain = || config(None, EncryptionPolicy::Require);
    for (client, server, is_encrypted) in [
        (preferring(), plain(), false),
        (plain(), preferring(), false),
        (preferring(), preferring(), true),
    ] {
        let mut ends = Ends::new(0.0, client, server);
        assert!(ends.run_until(MINUTE, Ends::are_connected));
        assert_eq!(ends.act(Side::Client, |a| a.is_encrypted()), is_encrypted);
        assert_eq!(exchange(&mut ends), (40, 40));
    }
}

#[test]
fn an_encrypted_association_ends_in_order() {
    let (ours, theirs) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let client = encrypted(&ours, Trust::Anyone);
    let mut ends = Ends::new(0.0, client, encrypted(&theirs, Trust::Anyone));
    assert!(ends.run_until(MINUTE, Ends::are_connected));
    let now = ends.pair.now();
    ends.act(Side::Client, |association| association.shutdown(now));
    ends.run_until(MINUTE, |ends| ends.close_reason(Side::Client).is_some());
    ends.run_until(Duration::from_secs(1), |_| false);
    for side in [Side::Client, Side::Server] {
        assert_eq!(ends.close_reason(side), Some(&CloseReason::Shutdown), "{side:?}");
    }
}

/// Messages of 1,200 bytes both ways until so many have gone, and how many of them arrived.
fn stream(ends: &mut Ends, count: u32) -> [usize; 2] {
    let mut received = [0, 0];
    for number in 0..count {
        let now = ends.pair.now();
        for (index, side) in [Side::Client, Side::Server].into_iter().enumerate() {
            let message = message(number, 1_100);
            ends.act(side, |association| association.send(now, message)).expect("taken");
            received[index] += ends.act(side, |a| std::iter::from_fn(|| a.receive()).count());
        }
        ends.run_until(Duration::from_millis(20), |_| false);
    }
    ends.run_until(MINUTE, |_| false);
    for (index, side) in [Side::Client, Side::Server].into_iter().enumerate() {
        received[index] += ends.act(side, |a| std::iter::from_fn(|| a.receive()).count());
    }
    received
}

#[test]
fn keys_are_renewed_without_a_gap_by_time_and_by_packets() {
    for (life, records) in [(Duration::from_secs(5), u64::MAX), (MINUTE * 60, 300)] {
        let (ours, theirs) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        let [client, server] = [&ours, &theirs].map(|identity| {
            let keys = TlsKeys::new(identity, Trust::Anyone).unwrap().with_limits(life, records);
            config(Some(keys), EncryptionPolicy::Require)
        });
        let mut ends = Ends::new(0.01, client, server);
        assert!(ends.run_until(MINUTE, Ends::are_connected));
        assert_eq!(stream(&mut ends, 1_000), [1_000, 1_000]);
        for side in [Side::Client, Side::Server] {
            let stats = ends.act(side, |association| association.stats().encryption.unwrap());
            assert_eq!((stats.forged, stats.unsealed), (0, 0), "{stats:?}");
            assert!(stats.epochs > 3, "{stats:?}");
        }
        assert_eq!(ends.peer(Side::Client), Some(theirs.public_key()));
    }
}

fn with_passphrase(passphrase: Option<&str>) -> AssociationConfig {
    let keys = TlsKeys::new(&Identity::generate().expect("randomness"), Trust::Anyone);
    let keys = keys.expect("a key of its own");
    let keys = match passphrase {
        Some(passphrase) => keys.with_passphrase(passphrase),
        None => keys,
    };
    config(Some(keys), EncryptionPolicy::Require)
}

#[test]
fn with_the_same_passphrase_both_ends_talk_after_as_many_round_trips() {
    let same = || with_passphrase(Some("the right one"));
    let mut ends = Ends::new(0.0, same(), same());
    assert!(ends.run_until(MINUTE, Ends::are_connected));
    assert_eq!(ends.pair.now().as_millis(), 350);
    assert_eq!(exchange(&mut ends), (40, 40));
    let mut ends = Ends::new(0.1, same(), same());
    assert!(ends.run_until(Duration::from_secs(10), Ends::are_connected));
}

#[test]
fn who_has_another_passphrase_or_none_is_refused_in_words_at_both_ends() {
    for (client, server, words) in [
        (Some("the right one"), Some("the wrong one"), "the passphrases of both ends differ"),
        (Some("the right one"), None, "one end has a passphrase"),
        (None, Some("the right one"), "one end has a passphrase"),
    ] {
        let mut ends = Ends::new(0.0, with_passphrase(client), with_passphrase(server));
        ends.run_until(MINUTE, |ends| {
            ends.close_reason(Side::Client).is_some() && ends.close_reason(Side::Server).is_some()
        });
        for side in [Side::Client, Side::Server] {
            let reason = ends.close_reason(side).expect("it ends").to_string();
            assert!(reason.contains(words), "{client:?} {server:?} {side:?}: {reason}");
            assert!(!ends.is_connected(side));
        }
    }
}
