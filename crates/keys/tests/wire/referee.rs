//! What `referee/dtls_chunk.py`, written from the drafts' text alone, seals, refuses and derives
//! (`referee/dtls_chunk.json`).

use std::sync::Arc;

use anabranch_keys::Suite;
use anabranch_sctp::{Epoch, RecordKeys};
use anabranch_wire::{Chunk, CommonHeader, Packet, VerificationTag};
use serde_json::Value;

use crate::exporter;

const VECTORS: &str = include_str!("../../referee/dtls_chunk.json");

const HEADER: CommonHeader =
    CommonHeader { source_port: 1, destination_port: 2, verification_tag: VerificationTag(3) };

struct Vector {
    name: String,
    epoch: Epoch,
    number: u64,
    keys: RecordKeys,
    sealed: Vec<u8>,
}

fn vectors(of: &str) -> Vec<(Vector, Value)> {
    let all: Value = serde_json::from_str(VECTORS).expect("as written");
    let of = all[of].as_array().expect("as written");
    of.iter().map(|vector| (Vector::read(vector), vector.clone())).collect()
}

impl Vector {
    fn read(vector: &Value) -> Self {
        let bytes = |key: &str| bytes(&vector[key]);
        let cipher = suite(vector).cipher(&bytes("key"), &bytes("number_key")).expect("as written");
        Self {
            name: format!("{}: {}", vector["suite"], vector["name"]),
            epoch: Epoch(vector["epoch"].as_u64().expect("as written")),
            number: vector["number"].as_u64().expect("as written"),
            keys: RecordKeys {
                cipher: Arc::new(cipher),
                iv: bytes("iv").try_into().expect("as written"),
            },
            sealed: bytes("sealed"),
        }
    }

    fn open(&self) -> Option<(u64, Vec<u8>)> {
        let packet = Packet::from_parts(HEADER, &self.sealed);
        match packet.chunks().next()? {
            Ok(Chunk::Dtls(chunk)) => self.keys.open_chunk(self.epoch, self.number, &chunk),
            _ => None,
        }
    }
}

pub(crate) fn suite(vector: &Value) -> Suite {
    match vector["suite"].as_str().expect("as written") {
        "TLS_AES_128_GCM_SHA256" => Suite::Aes128Gcm,
        "TLS_AES_256_GCM_SHA384" => Suite::Aes256Gcm,
        "TLS_CHACHA20_POLY1305_SHA256" => Suite::ChaCha20Poly1305,
        other => panic!("no suite of ours: {other}"),
    }
}

pub(crate) fn bytes(value: &Value) -> Vec<u8> {
    let hex = value.as_str().expect("as written");
    let digits = |n| u8::from_str_radix(&hex[n..n + 2], 16).expect("as written");
    (0..hex.len()).step_by(2).map(digits).collect()
}

#[test]
fn what_the_referee_sealed_is_sealed_alike_and_opened() {
    for (vector, value) in vectors("sealed") {
        let chunks = bytes(&value["chunks"]);
        let sealed =
            vector.keys.seal_chunk(vector.epoch, vector.number, &chunks).expect("as written");
        assert_eq!(sealed, vector.sealed, "{}", vector.name);
        assert_eq!(vector.open(), Some((vector.number, chunks)), "{}", vector.name);
    }
}

#[test]
fn forms_that_only_others_write_are_opened() {
    for (vector, value) in vectors("other_forms") {
        assert_eq!(
            vector.open(),
            Some((vector.number, bytes(&value["chunks"]))),
            "{}",
            vector.name
        );
    }
}

#[test]
fn what_the_referee_refuses_is_refused() {
    for (vector, _) in vectors("refused") {
        assert_eq!(vector.open(), None, "{}", vector.name);
    }
}

#[test]
fn sixteen_kilobytes_in_the_open_are_sealed_and_opened() {
    for (vector, _) in vectors("other_forms") {
        let chunks = vec![7; 1 << 14];
        let sealed =
            vector.keys.seal_chunk(vector.epoch, vector.number, &chunks).expect("as written");
        assert_eq!(Vector { sealed, ..vector }.open(), Some((9, chunks)));
    }
}

#[test]
fn the_exporter_of_these_tests_derives_what_the_referee_derives() {
    let all: Value = serde_json::from_str(VECTORS).expect("as written");
    for vector in all["derivations"].as_array().expect("as written") {
        let secret = bytes(&vector["exporter_secret"]);
        let offers = ["initiator_parameter", "responder_parameter"].map(|of| bytes(&vector[of]));
        for (name, value) in vector["exports"].as_object().expect("as written") {
            let exported = exporter::export(suite(vector), &secret, name, &offers);
            assert_eq!(exported, bytes(value), "{} {name}", vector["suite"]);
        }
    }
}
