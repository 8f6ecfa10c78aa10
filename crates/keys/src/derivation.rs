//! Key material from a TLS connection (draft-porfiri-tsvwg-sctp-dtls-handshake section 5).

use std::sync::Arc;

use anabranch_sctp::{KeyContext, KeyRole, NONCE_LEN, RecordKeys};
use rustls::Connection;

use crate::suite::Suite;

const LABEL: &[u8] = b"EXPORTER_TLS_FOR_DTLS_IN_SCTP";

/// What keys are for. "Key role: 0x00 = primary/traffic, 0x01 = restart".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The packets of an association.
    Traffic = 0x00,
    /// Those of its restart.
    Restart = 0x01,
}

/// Key type: "0x00 = Key, 0x01 = SN_KEY, 0x02 = IV".
const KEY: u8 = 0x00;
const NUMBER_KEY: u8 = 0x01;
const IV: u8 = 0x02;

/// The keys that one end seals with, as they are kept where a restart may need them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Material {
    pub(crate) key: Vec<u8>,
    pub(crate) number_key: Vec<u8>,
    pub(crate) iv: [u8; NONCE_LEN],
}

impl Material {
    /// `None` if the connection has none to give.
    pub(crate) fn derive(
        connection: &Connection,
        suite: Suite,
        context: &KeyContext,
        sealer: KeyRole,
        purpose: Purpose,
    ) -> Option<Self> {
        let export = |ty: u8, len: usize| {
            let context = exporter_context(context, sealer, purpose, ty);
            connection.export_keying_material(vec![0; len], LABEL, Some(&context)).ok()
        };
        Some(Self {
            key: export(KEY, suite.key_len())?,
            number_key: export(NUMBER_KEY, suite.key_len())?,
            iv: export(IV, NONCE_LEN)?.try_into().ok()?,
        })
    }

    /// `None` if they have not the length that the suite takes.
    pub(crate) fn keys(&self, suite: Suite) -> Option<RecordKeys> {
        let cipher = suite.cipher(&self.key, &self.number_key)?;
        Some(RecordKeys { cipher: Arc::new(cipher), iv: self.iv })
    }
}

/// Section 5.2: the direction, the key role, the key type, and both ends' parameters as they were
/// on the wire, the client's first.
fn exporter_context(context: &KeyContext, sealer: KeyRole, purpose: Purpose, ty: u8) -> Vec<u8> {
    let direction = match sealer {
        KeyRole::Client => 0x00,
        KeyRole::Server => 0x01,
    };
    let fixed = [direction, purpose as u8, ty];
    [&fixed[..], &context.clients_offer, &context.servers_offer].concat()
}
