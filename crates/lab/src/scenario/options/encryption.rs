//! Whether a flow is encrypted.

use anabranch_keys::{Identity, TlsKeys, Trust};
use anabranch_netsim::written::{Fault, Section};
use anabranch_sctp::Encryption;

use crate::scenario::key::{Key, boolean};

pub(super) const ENCRYPTION: Key = Key::new(
    "encryption",
    &["true"],
    "whether packets are sealed by the DTLS chunk, with keys by TLS 1.3, as those of send and recv \
     are; false",
);

/// Keys of the section's own, if it wants any. What is random of them alters no length and no time.
pub(super) fn read(section: &mut Section) -> Result<Option<Encryption>, Fault> {
    if !section.read("encryption", boolean)?.unwrap_or(false) {
        return Ok(None);
    }
    let keys = Identity::generate().and_then(|identity| TlsKeys::new(&identity, Trust::Anyone));
    Ok(Some(keys.map_err(|error| section.fault(error.to_string()))?.required()))
}
