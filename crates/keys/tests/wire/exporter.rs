//! TLS-Exporter (RFC 8446 section 7.5) with the context of the handshake draft's section 5, to hold
//! the keys of an association to.

use std::sync::Arc;

use anabranch_keys::Suite;
use anabranch_sctp::RecordKeys;
use aws_lc_rs::{digest, hkdf};

const LABEL: &str = "EXPORTER_TLS_FOR_DTLS_IN_SCTP";
const IV_LEN: usize = 12;

/// What is named as in "client primary key", from the exporter secret and both ends' offers.
pub(crate) fn export(suite: Suite, secret: &[u8], name: &str, offers: &[Vec<u8>; 2]) -> Vec<u8> {
    let place = |n: usize, of: &[&str]| {
        let word = name.split(' ').nth(n).expect("three words");
        of.iter().position(|other| *other == word).expect("a known word") as u8
    };
    let (direction, role) = (place(0, &["client", "server"]), place(1, &["primary", "restart"]));
    let kind = place(2, &["key", "number_key", "iv"]);
    let len = if kind == 2 { IV_LEN } else { suite.key_len() };
    let context = [&[direction, role, kind], &offers[0][..], &offers[1][..]].concat();
    let (hash, hkdf) = match suite {
        Suite::Aes256Gcm => (&digest::SHA384, hkdf::HKDF_SHA384),
        Suite::Aes128Gcm | Suite::ChaCha20Poly1305 => (&digest::SHA256, hkdf::HKDF_SHA256),
    };
    let hashed = |bytes: &[u8]| digest::digest(hash, bytes).as_ref().to_vec();
    let derived = expand_label(hkdf, secret, LABEL, &hashed(b""), hash.output_len());
    expand_label(hkdf, &derived, "exporter", &hashed(&context), len)
}

/// The keys that an end seals with: the client or the server.
pub(crate) fn keys(suite: Suite, secret: &[u8], end: &str, offers: &[Vec<u8>; 2]) -> RecordKeys {
    let of = |kind: &str| export(suite, secret, &format!("{end} primary {kind}"), offers);
    let cipher = suite.cipher(&of("key"), &of("number_key")).expect("keys of their lengths");
    RecordKeys { cipher: Arc::new(cipher), iv: of("iv").try_into().expect("12 bytes") }
}

/// HKDF-Expand-Label of RFC 8446 section 7.1.
fn expand_label(
    algorithm: hkdf::Algorithm,
    secret: &[u8],
    label: &str,
    context: &[u8],
    len: usize,
) -> Vec<u8> {
    struct Len(usize);
    impl hkdf::KeyType for Len {
        fn len(&self) -> usize {
            self.0
        }
    }
    let len_bytes = (len as u16).to_be_bytes();
    let label_len = [(6 + label.len()) as u8];
    let info = [&len_bytes, &label_len[..], b"tls13 ", label.as_bytes(), &[context.len() as u8]];
    let info: Vec<&[u8]> = info.into_iter().chain([context]).collect();
    let mut out = vec![0; len];
    let secret = hkdf::Prk::new_less_safe(algorithm, secret);
    secret.expand(&info, Len(len)).and_then(|okm| okm.fill(&mut out)).expect("not too long");
    out
}
