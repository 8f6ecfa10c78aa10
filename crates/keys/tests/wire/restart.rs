//! An end that has lost its association takes it up again with the keys that it kept for that.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anabranch_keys::{Identity, KeyLog, RestartSecrets, RestartStore, Suite, TlsKeys, Trust};
use anabranch_sansio::Rng;
use anabranch_sctp::{
    AssociationConfig, CloseReason, EncryptionPolicy, Endpoint, EndpointConfig, Event,
};
use anabranch_wire::Chunk;

use crate::capture::{Secret, offers, packets_of};
use crate::exporter;
use crate::pump::{CALLER, LISTENER, LONG, Wire, config, message, packet, path, path_at};

const SECOND: Duration = Duration::from_secs(1);

/// Both ends' keys and what they keep; the caller's ports and path stay the same.
struct Parties {
    caller: Identity,
    listener: Identity,
    store: Arc<Store>,
    secret: Arc<Secret>,
}

#[derive(Debug, Default)]
struct Store(Mutex<Vec<Vec<u8>>>);

impl RestartStore for Store {
    fn keep(&self, secrets: &RestartSecrets) {
        self.0.lock().unwrap().push(secrets.to_bytes());
    }
}

impl Parties {
    fn new() -> Self {
        let [caller, listener] = [0, 1].map(|_| Identity::generate().unwrap());
        Self { caller, listener, store: Arc::default(), secret: Arc::default() }
    }

    fn callers_keys(&self) -> TlsKeys {
        let trust = Trust::Only(vec![self.listener.public_key()]);
        let keys = TlsKeys::with_suites(&self.caller, trust, &[Suite::Aes128Gcm]).unwrap();
        let keys = keys.with_key_log(Arc::clone(&self.secret) as Arc<dyn KeyLog>);
        keys.with_restarts(Arc::clone(&self.store) as Arc<_>)
    }

    fn listeners_keys(&self) -> TlsKeys {
        TlsKeys::new(&self.listener, Trust::Anyone).unwrap().with_restarts(Arc::new(()))
    }

    fn connected(&self) -> Wire {
        let configs = [self.callers_keys(), self.listeners_keys()].map(required);
        let mut wire = Wire::new(configs, &[Duration::from_millis(50)], 7);
        wire.connect();
        wire
    }

    /// What the caller stored last.
    fn secrets(&self) -> RestartSecrets {
        let stored = self.store.0.lock().unwrap();
        RestartSecrets::from_bytes(stored.last().expect("something was stored")).unwrap()
    }
}

fn required(keys: TlsKeys) -> AssociationConfig {
    config(Some(keys), EncryptionPolicy::Require)
}

/// The caller's process dies, and another one calls from the same ports.
fn crash(wire: &mut Wire, config: AssociationConfig, seed: u64) {
    let rng = Rng::from_u64(seed);
    let accept = false;
    let endpoint =
        EndpointConfig { accept, association: config.clone(), ..EndpointConfig::default() };
    wire.ends[CALLER] = Endpoint::new(endpoint, rng);
    let id = wire.ends[CALLER].connect(wire.now, &[path(0)], (5_000, 5_001), config).unwrap();
    wire.ids[CALLER] = Some(id);
    wire.events = [Vec::new(), Vec::new()];
    wire.sent.clear();
}

fn is_restarted(wire: &Wire) -> bool {
    wire.events[LISTENER].contains(&Event::Restarted)
}

/// The first chunks of the packets that were sent, as who knows nothing sees them, in the order in
/// which they first appeared.
fn outsides(wire: &Wire) -> Vec<&'static str> {
    let outside = |bytes: &[u8]| match packet(bytes).chunks().next() {
        Some(Ok(Chunk::Init(_))) => "INIT",
        Some(Ok(Chunk::InitAck(_))) => "INIT ACK",
        Some(Ok(Chunk::Dtls(chunk))) if chunk.restart => "restart",
        Some(Ok(Chunk::Dtls(_))) => "sealed",
        other => panic!("in the open: {other:?}"),
    };
    let mut outsides = Vec::new();
    for chunk in wire.sent.iter().map(|sent| outside(&sent.bytes)) {
        if !outsides.contains(&chunk) {
            outsides.push(chunk);
        }
    }
    outsides
}

#[test]
fn who_kept_the_keys_for_it_takes_the_association_up_again() {
    let parties = Parties::new();
    let mut wire = parties.connected();
    wire.assert_works();
    crash(&mut wire, required(parties.callers_keys().restarting(parties.secrets())), 11);
    let called_at = wire.now;
    assert!(wire.run_until(LONG, |wire| wire.is_connected(CALLER)));
    assert_eq!(wire.now - called_at, Duration::from_millis(200), "two round trips");
    assert!(is_restarted(&wire));
    // What is said at once goes under the keys of the restart.
    wire.send(CALLER, message(1, b"I am back"));
    wire.run(SECOND);
    assert_eq!(wire.received(LISTENER), [b"I am back"]);
    assert_eq!(outsides(&wire), ["INIT", "INIT ACK", "restart", "sealed"]);
    let identity = |wire: &mut Wire, end| wire.end(end).peer_identity().map(<[u8]>::to_vec);
    let ours = parties.caller.public_key().as_bytes().to_vec();
    assert_eq!(identity(&mut wire, LISTENER), Some(ours));
    wire.assert_works();
    for end in [CALLER, LISTENER] {
        let stats = wire.stats(end);
        assert_eq!((stats.forged, stats.replayed, stats.unsealed), (0, 0, 0), "{stats:?}");
    }
}

#[test]
fn an_association_is_restarted_again_once_there_are_keys_for_the_next_time() {
    let parties = Parties::new();
    let mut wire = parties.connected();
    for round in 0..3 {
        let secrets = parties.secrets();
        let stored = parties.store.0.lock().unwrap().len();
        crash(&mut wire, required(parties.callers_keys().restarting(secrets)), 20 + round);
        assert!(wire.run_until(LONG, |wire| wire.is_connected(CALLER)), "round {round}");
        wire.run(SECOND);
        assert_eq!(parties.store.0.lock().unwrap().len(), stored, "old packets may be on the way");
        wire.run(Duration::from_secs(120));
        assert_eq!(parties.store.0.lock().unwrap().len(), stored + 1);
        wire.assert_works();
    }
}

#[test]
fn the_same_keys_restart_an_association_once() {
    let parties = Parties::new();
    let mut wire = parties.connected();
    let (first, again) = (parties.secrets(), parties.secrets());
    crash(&mut wire, required(parties.callers_keys().restarting(first)), 30);
    assert!(wire.run_until(LONG, |wire| wire.is_connected(CALLER)));
    wire.run(SECOND);
    crash(&mut wire, required(parties.callers_keys().restarting(again)), 31);
    wire.run_until(LONG, |wire| wire.close_reason(CALLER).is_some());
    assert_eq!(wire.close_reason(CALLER), Some(&CloseReason::HandshakeTimeout));
    assert!(!is_restarted(&wire));
}

#[test]
fn nobody_restarts_an_association_without_its_keys() {
    let parties = Parties::new();
    let other = Parties::new();
    other.connected();
    for (name, keys) in [
        ("none at all", parties.callers_keys()),
        ("those of another association", parties.callers_keys().restarting(other.secrets())),
    ] {
        let mut wire = parties.connected();
        crash(&mut wire, required(keys), 40);
        wire.run(Duration::from_secs(8));
        assert!(!is_restarted(&wire) && !wire.is_connected(CALLER), "{name}");
        assert!(wire.close_reason(LISTENER).is_none(), "{name}");
    }
}

#[test]
fn where_one_end_cannot_restart_nothing_is_kept() {
    let parties = Parties::new();
    let plain = TlsKeys::new(&parties.listener, Trust::Anyone).unwrap();
    let configs = [parties.callers_keys(), plain].map(required);
    let mut wire = Wire::new(configs, &[Duration::from_millis(50)], 7);
    wire.connect();
    wire.assert_works();
    assert!(parties.store.0.lock().unwrap().is_empty());
}

#[test]
fn who_restarts_as_somebody_else_is_refused() {
    let mut parties = Parties::new();
    let mut wire = parties.connected();
    let secrets = parties.secrets();
    parties.caller = Identity::generate().unwrap();
    crash(&mut wire, required(parties.callers_keys().restarting(secrets)), 50);
    wire.run_until(LONG, |wire| wire.close_reason(LISTENER).is_some());
    let reason = wire.close_reason(LISTENER).unwrap().to_string();
    assert!(reason.contains("another key than it had before"), "{reason}");
}

#[test]
fn a_restart_survives_losses_and_its_packets_do_nothing_when_they_come_again() {
    let parties = Parties::new();
    for lost in 0..8 {
        let mut wire = parties.connected();
        crash(&mut wire, required(parties.callers_keys().restarting(parties.secrets())), 60);
        let mut nth = 0;
        wire.adversary = Box::new(move |_, deliveries| {
            if nth == lost {
                deliveries.clear();
            }
            nth += 1;
        });
        assert!(wire.run_until(LONG, |wire| wire.is_connected(CALLER)), "packet {lost} was lost");
        wire.run(5 * SECOND);
        let before = wire.sent.clone();
        for sent in before {
            wire.put(1 - sent.from, path_at(1 - sent.from, 0), &sent.bytes);
        }
        wire.run(5 * SECOND);
        wire.assert_works();
    }
}

#[test]
fn what_is_kept_for_a_restart_is_what_the_exporter_gives() {
    let parties = Parties::new();
    let wire = parties.connected();
    let offers = offers(&packets_of(&wire));
    let secret = parties.secret.0.lock().unwrap().clone();
    // The caller is the server.
    let expected: Vec<u8> = ["server", "client"]
        .into_iter()
        .flat_map(|end| ["key", "number_key", "iv"].map(|kind| format!("{end} restart {kind}")))
        .flat_map(|name| exporter::export(Suite::Aes128Gcm, &secret, &name, &offers))
        .collect();
    let stored = parties.secrets().to_bytes();
    assert!(stored.ends_with(&expected));
    assert_eq!(stored.len(), 2 + 8 + 32 + expected.len());
}
