//! Whole associations, read from their packets and the exporter secret alone.
//!
//! `ANABRANCH_UPDATE_VECTORS=1 cargo test -p anabranch-keys --test wire capture` writes
//! `referee/captures.json` anew, which `referee/dtls_chunk.py check` reads, too.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anabranch_keys::{Identity, KeyLog, Suite, TlsKeys, Trust};
use anabranch_sctp::{EncryptionPolicy, Epoch};
use anabranch_wire::{Chunk, CommonHeader, DtlsKeyManagement, Packet, Parameter, Parameters};
use serde_json::{Value, json};

use crate::exporter;
use crate::pump::{CALLER, LISTENER, Wire, config, message, packet};
use crate::referee::{bytes, suite};

const CAPTURES: &str = "referee/captures.json";
const UPDATE: &str = "ANABRANCH_UPDATE_VECTORS";
const NAMES: [&str; 2] = ["caller", "listener"];

/// Keeps the exporter secret.
#[derive(Debug, Default)]
pub(crate) struct Secret(pub(crate) Mutex<Vec<u8>>);

impl KeyLog for Secret {
    fn log(&self, label: &str, _client_random: &[u8], secret: &[u8]) {
        if label == "EXPORTER_SECRET" {
            *self.0.lock().unwrap() = secret.to_vec();
        }
    }
}

/// An association in which each end says something, as one would store it.
fn capture(name: &str, suite: Suite) -> Value {
    let secret = Arc::new(Secret::default());
    let configs = [0, 1].map(|_| {
        let identity = Identity::generate().unwrap();
        let keys = TlsKeys::with_suites(&identity, Trust::Anyone, &[suite]).unwrap();
        let keys = keys.with_key_log(Arc::clone(&secret) as Arc<dyn KeyLog>);
        config(Some(keys), EncryptionPolicy::Require)
    });
    let mut wire = Wire::new(configs, &[Duration::from_millis(50)], 7);
    wire.connect();
    for end in [CALLER, LISTENER] {
        for stream in [0, 3] {
            wire.send(end, message(stream, NAMES[end].as_bytes()));
        }
        wire.run(Duration::from_secs(1));
    }
    let packets = wire.sent.iter();
    let packets = packets.map(|s| json!({ "from": NAMES[s.from], "bytes": hex(&s.bytes) }));
    let packets: Vec<_> = packets.collect();
    let secret = hex(&secret.0.lock().unwrap());
    json!({ "suite": name, "exporter_secret": secret, "packets": packets })
}

fn captures() -> Vec<Value> {
    [
        ("TLS_AES_128_GCM_SHA256", Suite::Aes128Gcm),
        ("TLS_AES_256_GCM_SHA384", Suite::Aes256Gcm),
        ("TLS_CHACHA20_POLY1305_SHA256", Suite::ChaCha20Poly1305),
    ]
    .map(|(name, suite)| capture(name, suite))
    .into()
}

/// The packets of an association, by who sent them.
pub(crate) fn packets_of(wire: &Wire) -> Vec<(String, Vec<u8>)> {
    wire.sent.iter().map(|sent| (NAMES[sent.from].to_owned(), sent.bytes.clone())).collect()
}

/// What each end said under seal, and how many sealed packets there are.
fn read(capture: &Value) -> (BTreeMap<String, Vec<Vec<u8>>>, usize) {
    let packets: Vec<_> = capture["packets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|packet| (packet["from"].as_str().unwrap().to_owned(), bytes(&packet["bytes"])))
        .collect();
    let sealed = open_all(suite(capture), &bytes(&capture["exporter_secret"]), &packets);
    let mut said = BTreeMap::<_, Vec<_>>::new();
    for (from, header, chunks) in &sealed {
        let messages = Packet::from_parts(*header, chunks);
        let messages = messages.chunks().map(|chunk| chunk.expect("well-formed"));
        said.entry(from.clone()).or_default().extend(messages.filter_map(user_message));
    }
    (said, sealed.len())
}

/// What is in each sealed packet of an association in its first epoch, by who sent it.
pub(crate) fn open_all(
    suite: Suite,
    secret: &[u8],
    packets: &[(String, Vec<u8>)],
) -> Vec<(String, CommonHeader, Vec<u8>)> {
    let offers = offers(packets);
    let mut opened = Vec::new();
    // The listener is the client: its tie breaker is the smaller one.
    for (from, role) in [("caller", "server"), ("listener", "client")] {
        let keys = exporter::keys(suite, secret, role, &offers);
        let mut expected = 0;
        for (_, bytes) in packets.iter().filter(|(end, _)| end == from) {
            let packet = packet(bytes);
            let Some(Ok(Chunk::Dtls(chunk))) = packet.chunks().next() else { continue };
            let (number, chunks) = keys.open_chunk(Epoch::FIRST, expected, &chunk).unwrap();
            assert_eq!(number, expected, "each number once, in order");
            expected = number + 1;
            opened.push((from.to_owned(), packet.header, chunks));
        }
    }
    opened
}

/// The client's parameter and the server's, as they went over the wire.
pub(crate) fn offers(packets: &[(String, Vec<u8>)]) -> [Vec<u8>; 2] {
    let offers = packets
        .iter()
        .filter_map(|(from, bytes)| {
            let first = packet(bytes).chunks().next()?.unwrap();
            let parameters = if let Chunk::Init(init) = first {
                init.parameters
            } else if let Chunk::InitAck(init_ack) = first {
                init_ack.parameters
            } else {
                return None;
            };
            let offer = key_management(parameters)?;
            let mut bytes = Vec::new();
            offer.encode_unpadded(&mut bytes);
            Some((from, (offer.tie_breaker, bytes)))
        })
        .collect::<Vec<_>>();
    // An INIT that is sent again is answered by another offer: the first answer is the one taken.
    let first_of = |end: &str| offers.iter().find(|(from, _)| *from == end).map(|(_, it)| it);
    let mut ends = ["caller", "listener"].map(|end| first_of(end).expect("an offer of each end"));
    ends.sort();
    ends.map(|(_, bytes)| bytes.clone())
}

fn key_management(parameters: Parameters<'_>) -> Option<DtlsKeyManagement<'_>> {
    parameters.iter().find_map(|parameter| match parameter {
        Ok(Parameter::DtlsKeyManagement(offer)) => Some(offer),
        _ => None,
    })
}

fn user_message(chunk: Chunk<'_>) -> Option<Vec<u8>> {
    let Chunk::Data(data) = chunk else { return None };
    (data.ppid.0 == 0).then(|| data.payload.to_vec())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn assert_read(captures: &[Value]) {
    for capture in captures {
        let (said, count) = read(capture);
        for name in NAMES {
            assert_eq!(said[name], vec![name.as_bytes(); 2], "{}", capture["suite"]);
        }
        assert!(count >= 6, "{count} sealed packets");
    }
}

#[test]
fn the_exporter_secret_opens_all_that_an_association_seals() {
    assert_read(&captures());
}

#[test]
fn the_captures_that_the_referee_opens_are_opened() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(CAPTURES);
    if env::var_os(UPDATE).is_some() {
        let json = serde_json::to_string_pretty(&json!({ "captures": captures() })).unwrap();
        fs::write(&path, json + "\n").unwrap();
    }
    let kept: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_read(kept["captures"].as_array().unwrap());
}
