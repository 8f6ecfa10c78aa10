//! Key material from a TLS connection (draft-porfiri-tsvwg-sctp-dtls-handshake section 5).

use std::sync::Arc;

use anabranch_sctp::{KeyContext, KeyRole, NONCE_LEN, RecordKeys};
use rustls::Connection;

use crate::suite::Suite;

const LABEL: &[u8] = b"EXPORTER_TLS_FOR_DTLS_IN_SCTP";

/// Key role: "0x00 = primary/traffic, 0x01 = restart".
const PRIMARY: u8 = 0x00;

/// Key type: "0x00 = Key, 0x01 = SN_KEY, 0x02 = IV".
const KEY: u8 = 0x00;
const NUMBER_KEY: u8 = 0x01;
const IV: u8 = 0x02;

/// The keys that one end seals with. `None` if the connection has none to give.
pub(crate) fn keys_of(
    connection: &Connection,
    suite: Suite,
    context: &KeyContext,
    sealer: KeyRole,
) -> Option<RecordKeys> {
    let export = |ty: u8, len: usize| {
        let context = exporter_context(context, sealer, ty);
        connection.export_keying_material(vec![0; len], LABEL, Some(&context)).ok()
    };
    let cipher =
        suite.cipher(&export(KEY, suite.key_len())?, &export(NUMBER_KEY, suite.key_len())?)?;
    let iv = export(IV, NONCE_LEN)?.try_into().ok()?;
    Some(RecordKeys { cipher: Arc::new(cipher), iv })
}

/// Section 5.2: the direction, the key role, the key type, and both ends' parameters as they were
/// on the wire, the client's first.
fn exporter_context(context: &KeyContext, sealer: KeyRole, ty: u8) -> Vec<u8> {
    let direction = match sealer {
        KeyRole::Client => 0x00,
        KeyRole::Server => 0x01,
    };
    let fixed = [direction, PRIMARY, ty];
    [&fixed[..], &context.clients_offer, &context.servers_offer].concat()
}
