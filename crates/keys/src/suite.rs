//! [`Suite`]: the AEADs of TLS 1.3 that records are sealed with.

use std::fmt;

use anabranch_sctp::{NONCE_LEN, RecordCipher, SAMPLE_LEN, TAG_LEN};
use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey, quic};
use rustls::{CipherSuite, SupportedCipherSuite, crypto::aws_lc_rs::cipher_suite};

/// A cipher suite of TLS 1.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// `TLS_AES_128_GCM_SHA256`, which the draft has every implementation know.
    Aes128Gcm,
    /// `TLS_AES_256_GCM_SHA384`.
    Aes256Gcm,
    /// `TLS_CHACHA20_POLY1305_SHA256`: the fastest one where the processor has no AES.
    ChaCha20Poly1305,
}

impl Suite {
    /// Those that there are, the fastest one on this processor first.
    #[must_use]
    pub fn by_speed() -> [Self; 3] {
        if has_aes() {
            [Self::Aes128Gcm, Self::Aes256Gcm, Self::ChaCha20Poly1305]
        } else {
            [Self::ChaCha20Poly1305, Self::Aes128Gcm, Self::Aes256Gcm]
        }
    }

    /// Bytes of its keys.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aes128Gcm => 16,
            Self::Aes256Gcm | Self::ChaCha20Poly1305 => 32,
        }
    }

    /// Records that one key may seal at most.
    ///
    /// RFC 8446 section 5.5: "For AES-GCM, up to 2^24.5 full-size records (about 24 million) may be
    /// encrypted on a given connection while keeping a safety margin of approximately 2^-57". Ours
    /// are a tenth as long. "For ChaCha20/Poly1305, the record sequence number would wrap before
    /// the safety limit is reached."
    #[must_use]
    pub const fn records_max(self) -> u64 {
        match self {
            Self::Aes128Gcm | Self::Aes256Gcm => 23_726_566,
            Self::ChaCha20Poly1305 => 1 << 48,
        }
    }

    /// The cipher with these keys: of the record payload, and of the sequence number. `None` if
    /// they have not the length that it takes.
    #[must_use]
    pub fn cipher(self, key: &[u8], number_key: &[u8]) -> Option<impl RecordCipher + use<>> {
        let (algorithm, mask) = match self {
            Self::Aes128Gcm => (&aead::AES_128_GCM, &quic::AES_128),
            Self::Aes256Gcm => (&aead::AES_256_GCM, &quic::AES_256),
            Self::ChaCha20Poly1305 => (&aead::CHACHA20_POLY1305, &quic::CHACHA20),
        };
        Some(Cipher {
            suite: self,
            aead: LessSafeKey::new(UnboundKey::new(algorithm, key).ok()?),
            mask: quic::HeaderProtectionKey::new(mask, number_key).ok()?,
        })
    }

    /// By which it is stored.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Aes128Gcm => 1,
            Self::Aes256Gcm => 2,
            Self::ChaCha20Poly1305 => 3,
        }
    }

    pub(crate) fn of_number(number: u8) -> Option<Self> {
        let known = [Self::Aes128Gcm, Self::Aes256Gcm, Self::ChaCha20Poly1305];
        known.into_iter().find(|suite| suite.number() == number)
    }

    pub(crate) fn of(negotiated: CipherSuite) -> Option<Self> {
        let known = [Self::Aes128Gcm, Self::Aes256Gcm, Self::ChaCha20Poly1305];
        known.into_iter().find(|suite| suite.in_tls().suite() == negotiated)
    }

    pub(crate) const fn in_tls(self) -> SupportedCipherSuite {
        match self {
            Self::Aes128Gcm => cipher_suite::TLS13_AES_128_GCM_SHA256,
            Self::Aes256Gcm => cipher_suite::TLS13_AES_256_GCM_SHA384,
            Self::ChaCha20Poly1305 => cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        }
    }
}

/// Whether the processor has AES.
fn has_aes() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("aes");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("aes");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    false
}

/// A cipher with its keys.
struct Cipher {
    suite: Suite,
    aead: LessSafeKey,
    /// DTLS 1.3 masks numbers as QUIC masks headers, by the same part of the ciphertext (RFC 9147
    /// section 4.2.3 and RFC 9001 section 5.4).
    mask: quic::HeaderProtectionKey,
}

impl fmt::Debug for Cipher {
    /// Shows no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cipher").field(&self.suite).finish()
    }
}

impl RecordCipher for Cipher {
    fn seal(
        &self,
        nonce: [u8; NONCE_LEN],
        header: &[u8],
        content: &mut [u8],
    ) -> Option<[u8; TAG_LEN]> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.aead.seal_in_place_separate_tag(nonce, Aad::from(header), content).ok()?;
        tag.as_ref().try_into().ok()
    }

    fn open(
        &self,
        nonce: [u8; NONCE_LEN],
        header: &[u8],
        sealed: &[u8],
        content: &mut [u8],
    ) -> bool {
        let Some((sealed, tag)) = sealed.split_last_chunk::<TAG_LEN>() else { return false };
        let nonce = Nonce::assume_unique_for_key(nonce);
        self.aead.open_separate_gather(nonce, Aad::from(header), sealed, tag, content).is_ok()
    }

    fn mask(&self, sample: [u8; SAMPLE_LEN]) -> [u8; 2] {
        // It fails for samples of other lengths only.
        self.mask.new_mask(&sample).map_or([0; 2], |[first, second, ..]| [first, second])
    }
}
