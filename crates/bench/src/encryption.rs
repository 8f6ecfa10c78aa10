//! Encryption of the associations that are measured.

use std::io;

use anabranch_keys::{Identity, KeyError, Suite, TlsKeys, Trust};
use anabranch_sctp::Encryption;

/// Where it is wanted: by a key of its own, towards whoever has one, with AES-128-GCM.
pub(crate) fn encryption_if(encrypted: bool) -> io::Result<Option<Encryption>> {
    encrypted.then(encryption).transpose().map_err(io::Error::other)
}

fn encryption() -> Result<Encryption, KeyError> {
    let suites = [Suite::Aes128Gcm];
    Ok(TlsKeys::with_suites(&Identity::generate()?, Trust::Anyone, &suites)?.required())
}
