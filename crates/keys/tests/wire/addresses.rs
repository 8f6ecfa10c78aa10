//! Addresses that an encrypted association gets while it lasts.

use std::sync::Arc;
use std::time::Duration;

use anabranch_keys::{KeyLog, Suite};
use anabranch_sctp::{EncryptionPolicy, PathState};
use anabranch_wire::{Chunk, Packet, Parameter};

use crate::capture::{Secret, open_all, packets_of};
use crate::pump::{CALLER, LISTENER, Wire, config, is_sealed, keys, path};

/// draft-ietf-tsvwg-sctp-dtls-chunk section 1: "The lookup address MUST NOT be used."
#[test]
fn an_address_is_added_under_seal_and_without_a_lookup_address() {
    let secret = Arc::new(Secret::default());
    let configs = [0, 1].map(|_| {
        let keys = keys().with_key_log(Arc::clone(&secret) as Arc<dyn KeyLog>);
        config(Some(keys), EncryptionPolicy::Require)
    });
    let mut wire = Wire::calling_over(1, configs, &[Duration::from_millis(50); 2], 7);
    wire.connect();
    let connected = wire.sent.len();
    let now = wire.now;
    wire.end(CALLER).open_path(now, path(1)).expect("room");
    wire.run(Duration::from_secs(1));
    let paths = wire.end(LISTENER).stats().paths;
    let states: Vec<_> = paths.iter().map(|path| path.state).collect();
    assert_eq!(states, [PathState::Active; 2], "{paths:?}");
    assert!(wire.sent[connected..].iter().all(|sent| is_sealed(&sent.bytes)));
    let secret = secret.0.lock().unwrap().clone();
    let opened = open_all(Suite::by_speed()[0], &secret, &packets_of(&wire));
    let mut requests = 0;
    for (_, header, chunks) in &opened {
        for chunk in Packet::from_parts(*header, chunks).chunks().flatten() {
            let Chunk::Asconf(asconf) = chunk else { continue };
            assert!(asconf.address.is_unspecified(), "{}", asconf.address);
            let is_wildcard = |request| {
                matches!(request, Ok(Parameter::AddIpAddress { address, .. })
                    if address.is_unspecified())
            };
            assert!(asconf.parameters.iter().all(is_wildcard));
            requests += 1;
        }
    }
    assert_eq!(requests, 1);
    wire.assert_works();
}
