//! [`RecordCipher`]: the cryptography that records need, from outside.

use std::fmt;
use std::sync::Arc;

/// Bytes of a nonce.
pub const NONCE_LEN: usize = 12;
/// Bytes of the tag that proves a record: the same for all ciphers that are recommended.
pub const TAG_LEN: usize = 16;
/// Bytes of a sealed record that the mask of its number is made of.
pub const SAMPLE_LEN: usize = 16;

/// An AEAD with the keys of one direction and one epoch, as RFC 9147 uses it.
pub trait RecordCipher: fmt::Debug + Send + Sync {
    /// Encrypts `content` in place and returns its tag, which covers `header`, too. `None` if that
    /// cannot be done; the packet is then not sent.
    fn seal(
        &self,
        nonce: [u8; NONCE_LEN],
        header: &[u8],
        content: &mut [u8],
    ) -> Option<[u8; TAG_LEN]>;

    /// Decrypts `sealed`, which ends with its tag, to `content`, which is shorter by
    /// [`TAG_LEN`]. Returns whether the tag is right: nothing of the content may be used if not.
    fn open(
        &self,
        nonce: [u8; NONCE_LEN],
        header: &[u8],
        sealed: &[u8],
        content: &mut [u8],
    ) -> bool;

    /// What the number of a record is masked with (RFC 9147 section 4.2.3).
    fn mask(&self, sample: [u8; SAMPLE_LEN]) -> [u8; 2];
}

/// The keys of one direction and one epoch: the draft's key material.
#[derive(Debug, Clone)]
pub struct RecordKeys {
    /// The record payload key and the sequence number key, with the AEAD that they are for.
    pub cipher: Arc<dyn RecordCipher>,
    /// The initialization vector.
    pub iv: [u8; NONCE_LEN],
}

impl RecordKeys {
    /// RFC 8446 section 5.3: "The 64-bit record sequence number is encoded in network byte order
    /// and padded to the left with zeros to iv_length." and "The padded sequence number is XORed
    /// with either the static client_write_iv or server_write_iv".
    ///
    /// In two parts as wide as ciphers read them: a wider load than the store before it waits for
    /// that to reach the cache.
    pub(super) fn nonce(&self, number: u64) -> [u8; NONCE_LEN] {
        let [i0, i1, i2, i3, i4, i5, i6, i7, low @ ..] = self.iv;
        let high = u64::from_be_bytes([i0, i1, i2, i3, i4, i5, i6, i7]) ^ (number >> 32);
        let low = u32::from_be_bytes(low) ^ (number as u32);
        let mut nonce = [0; NONCE_LEN];
        nonce[..8].copy_from_slice(&high.to_be_bytes());
        nonce[8..].copy_from_slice(&low.to_be_bytes());
        nonce
    }
}
