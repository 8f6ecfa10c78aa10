//! Ends that know each other by certificates of a CA.

use std::time::Duration;

use anabranch_keys::{Authority, Certificate, Identity, KeyError, TlsKeys, Trust};
use anabranch_netsim::Side;
use anabranch_sctp::{AssociationConfig, CloseReason, EncryptionPolicy};

use crate::ends::{Ends, config, encrypted};
use crate::issuer::{ClientAuth, Holds, Issuer, ServerAuth};
use crate::{MINUTE, exchange};

const HOST: &str = "studio.example";

fn of(keys: TlsKeys) -> AssociationConfig {
    config(Some(keys), EncryptionPolicy::Require)
}

/// Somebody with a key of his own, and a certificate.
fn certified(trust: Trust, certificate: &Certificate) -> AssociationConfig {
    of(certified_keys(trust, certificate))
}

fn certified_keys(trust: Trust, certificate: &Certificate) -> TlsKeys {
    let identity = Identity::generate().unwrap();
    TlsKeys::with_certificate(&identity, trust, certificate).unwrap()
}

fn with_key(trust: Trust) -> AssociationConfig {
    encrypted(&Identity::generate().unwrap(), trust)
}

fn only(authority: Authority) -> Trust {
    Trust::Certified(authority, Vec::new())
}

/// What both ends say of a call that comes to nothing.
fn refusal(client: AssociationConfig, server: AssociationConfig) -> [CloseReason; 2] {
    let mut ends = Ends::new(0.0, client, server);
    ends.run_until(MINUTE, |_| false);
    [Side::Client, Side::Server].map(|side| {
        assert!(!ends.is_connected(side), "{side:?}");
        ends.close_reason(side).unwrap().clone()
    })
}

fn assert_untrusted(reason: &CloseReason, words: &str) {
    let CloseReason::PeerUntrusted { what } = reason else { panic!("{reason:?}") };
    assert!(what.contains(words), "{what}");
}

#[test]
fn a_listener_is_known_by_its_certificate_and_a_caller_by_another() {
    let ca = Issuer::new("The broadcaster");
    let listens = ca.issue(HOST, ServerAuth, Holds::Today);
    let calls = ca.issue("camera-3.example", ClientAuth, Holds::Today);
    let trusting = || with_key(only(ca.of_host(HOST)));
    let known = || certified(only(ca.of_host(HOST)), &calls);
    for (client, server) in [
        (trusting(), certified(Trust::Anyone, &listens)),
        (known(), certified(only(ca.of_anyone()), &listens)),
        (certified(Trust::Anyone, &calls), with_key(only(ca.of_anyone()))),
    ] {
        let mut ends = Ends::new(0.0, client, server);
        assert!(ends.run_until(MINUTE, Ends::are_connected));
        assert_eq!(exchange(&mut ends), (40, 40));
    }
}

#[test]
fn what_is_between_a_certificate_and_its_ca_is_shown_too() {
    let root = Issuer::new("The root");
    let between = Issuer::under("Between", &root);
    let [leaf, key] = between.issue_pem(HOST, ServerAuth, Holds::Today);
    let chain = [leaf.clone(), between.pem()].concat();
    let caller = || with_key(only(root.of_host(HOST)));
    let listener =
        |chain: &[u8]| certified(Trust::Anyone, &Certificate::from_pem(chain, &key).unwrap());
    let mut ends = Ends::new(0.0, caller(), listener(&chain));
    assert!(ends.run_until(MINUTE, Ends::are_connected));
    let [reason, _] = refusal(caller(), listener(&leaf));
    assert_untrusted(&reason, "no CA that is known to who asked");
}

#[test]
fn a_listeners_certificate_that_does_not_do_is_refused_in_words() {
    let (ca, other) = (Issuer::new("The broadcaster"), Issuer::new("Somebody else"));
    let days = "days ago: its owner needs a new one";
    for (issuer, name, purpose, holds, words) in [
        (
            &ca,
            "other.example",
            ServerAuth,
            Holds::Today,
            "is for other.example, and not for studio",
        ),
        (&ca, HOST, ServerAuth, Holds::Before, days),
        (&ca, HOST, ServerAuth, Holds::Later, "days only: are both clocks right?"),
        (&other, HOST, ServerAuth, Holds::Today, "no CA that is known to who asked"),
        (&ca, HOST, ClientAuth, Holds::Today, "certificate is not for server authentication"),
    ] {
        let certificate = issuer.issue(name, purpose, holds);
        let caller = with_key(only(ca.of_host(HOST)));
        let [at_caller, at_listener] = refusal(caller, certified(Trust::Anyone, &certificate));
        assert_untrusted(&at_caller, words);
        assert!(at_listener.to_string().contains(words), "{at_listener}");
    }
}

#[test]
fn a_callers_certificate_that_does_not_do_is_refused_in_words() {
    let (ca, other) = (Issuer::new("The broadcaster"), Issuer::new("Somebody else"));
    for (issuer, purpose, holds, words) in [
        (&ca, ClientAuth, Holds::Before, "days ago: its owner needs a new one"),
        (&other, ClientAuth, Holds::Today, "no CA that is known to who asked"),
        (&ca, ServerAuth, Holds::Today, "certificate is not for client authentication"),
    ] {
        let certificate = issuer.issue("camera.example", purpose, holds);
        let caller = certified(Trust::Anyone, &certificate);
        let [_, at_listener] = refusal(caller, with_key(only(ca.of_anyone())));
        assert_untrusted(&at_listener, words);
    }
}

#[test]
fn who_has_a_key_alone_is_refused_where_a_certificate_is_demanded() {
    let ca = Issuer::new("The broadcaster");
    let identity = Identity::generate().unwrap();
    let words = format!("the key {} came without a certificate", identity.public_key());
    let bare = || encrypted(&identity, Trust::Anyone);
    let [at_caller, _] = refusal(with_key(only(ca.of_host(HOST))), bare());
    assert_untrusted(&at_caller, &words);
    let [_, at_listener] = refusal(bare(), with_key(only(ca.of_anyone())));
    assert_untrusted(&at_listener, &words);
}

#[test]
fn a_listener_takes_the_keys_that_it_knows_beside_the_certificates_of_a_ca() {
    let ca = Issuer::new("The broadcaster");
    let identity = Identity::generate().unwrap();
    let trust = Trust::Certified(ca.of_anyone(), vec![identity.public_key()]);
    let listener = with_key(trust);
    let mut ends = Ends::new(0.0, encrypted(&identity, Trust::Anyone), listener);
    assert!(ends.run_until(MINUTE, Ends::are_connected));
    assert_eq!(ends.peer(Side::Server), Some(identity.public_key()));
}

#[test]
fn who_has_a_certificate_is_still_known_by_its_key_to_those_who_ask_for_that() {
    let ca = Issuer::new("The broadcaster");
    let identity = Identity::generate().unwrap();
    let certificate = ca.issue(HOST, ServerAuth, Holds::Today);
    let both = || of(TlsKeys::with_certificate(&identity, Trust::Anyone, &certificate).unwrap());
    let pin = || with_key(Trust::Only(vec![identity.public_key()]));
    let other = || with_key(Trust::Only(vec![Identity::generate().unwrap().public_key()]));
    for (client, server, knows) in [(pin(), both(), Side::Client), (both(), pin(), Side::Server)] {
        let mut ends = Ends::new(0.0, client, server);
        assert!(ends.run_until(MINUTE, Ends::are_connected));
        assert_eq!(ends.peer(knows), Some(identity.public_key()));
    }
    let words = format!("the key {} is not the one", identity.public_key());
    assert_untrusted(&refusal(other(), both())[0], &words);
    assert_untrusted(&refusal(both(), other())[1], &words);
}

#[test]
fn keys_are_renewed_between_ends_that_know_each_other_by_certificates() {
    let ca = Issuer::new("The broadcaster");
    let listens = ca.issue(HOST, ServerAuth, Holds::Today);
    let calls = ca.issue("camera-3.example", ClientAuth, Holds::Today);
    let [client, server] = [(only(ca.of_host(HOST)), calls), (only(ca.of_anyone()), listens)].map(
        |(trust, certificate)| {
            let keys = certified_keys(trust, &certificate);
            of(keys.with_passphrase("the one secret").with_limits(Duration::from_secs(5), u64::MAX))
        },
    );
    let mut ends = Ends::new(0.01, client, server);
    assert!(ends.run_until(MINUTE, Ends::are_connected));
    assert_eq!(exchange(&mut ends), (40, 40));
    for side in [Side::Client, Side::Server] {
        let stats = ends.act(side, |association| association.stats().encryption.unwrap());
        assert!(stats.epochs > 3, "{stats:?}");
        assert_eq!(ends.close_reason(side), None);
    }
}

#[test]
fn files_that_hold_something_else_are_refused_in_words() {
    let ca = Issuer::new("The broadcaster");
    let [certificate, key] = ca.issue_pem(HOST, ServerAuth, Holds::Today);
    let [_, others_key] = ca.issue_pem(HOST, ServerAuth, Holds::Today);
    let read = |chain: &[u8], key: &[u8]| Certificate::from_pem(chain, key).unwrap_err();
    assert_eq!(read(b"nothing", &key), KeyError::NoCertificate);
    assert_eq!(read(&certificate, b"nothing"), KeyError::CertificateKey);
    assert_eq!(read(&certificate, &others_key), KeyError::CertificateOfAnotherKey);
    let many = certificate.repeat(11);
    assert_eq!(read(&many, &key), KeyError::TooManyCertificates { count: 11, max: 10 });
    assert_eq!(Authority::of_anyone(&key).unwrap_err(), KeyError::NoCertificate);
    let many = certificate.repeat(1_001);
    let error = KeyError::TooManyCertificates { count: 1_001, max: 1_000 };
    assert_eq!(Authority::of_anyone(&many).unwrap_err(), error);
    let found = "no host".to_owned();
    assert_eq!(Authority::of_host(&ca.pem(), &found).unwrap_err(), KeyError::HostName { found });
}
