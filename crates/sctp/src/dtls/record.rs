//! DTLSCiphertext (RFC 9147 section 4) in the one form that the DTLS chunk uses: a number of 16
//! bits, no length, no connection ID.
//!
//! ```text
//!  0 1 2 3 4 5 6 7
//! +-+-+-+-+-+-+-+-+
//! |0|0|1|0|1|0|E E|
//! +-+-+-+-+-+-+-+-+
//! |    16 bit     |
//! |Sequence Number|
//! +-+-+-+-+-+-+-+-+
//! |   Encrypted   |
//! /    Record     /
//! +-+-+-+-+-+-+-+-+
//! ```

use anabranch_wire::{Dtls, EncodeChunk};

use super::cipher::{RecordKeys, SAMPLE_LEN, TAG_LEN};
use super::epochs::Epoch;

/// Bytes of a record's header.
pub(crate) const HEADER_LEN: usize = 3;

/// The first byte of a header without the bits of the epoch.
const FIXED_BITS: u8 = 0b0010_1000;
const EPOCH_BITS: u8 = 0b0000_0011;

/// The numbers that 16 bits tell apart.
const SPAN: u64 = 1 << 16;

/// DTLSInnerPlaintext.type: the draft's "`application_data`".
const APPLICATION_DATA: u8 = 23;

/// For who has keys and no association: readers of captures, and referees.
impl RecordKeys {
    /// The DTLS chunk that holds `chunks` as the record with this number. `None` if the cipher
    /// refuses.
    #[must_use]
    pub fn seal_chunk(&self, epoch: Epoch, number: u64, chunks: &[u8]) -> Option<Vec<u8>> {
        let mut record = [&[0; HEADER_LEN], chunks].concat();
        let is_sealed = seal(self, epoch.0, number, &mut record, 0);
        let mut chunk = Vec::new();
        Dtls { restart: false, record: &record }.encode(&mut chunk);
        is_sealed.then_some(chunk)
    }

    /// The number of a chunk's record, of those around the one that is expected next, and the
    /// chunks in it. `None` if it is not of this epoch, or was not sealed with these keys.
    #[must_use]
    pub fn open_chunk(
        &self,
        epoch: Epoch,
        expected: u64,
        chunk: &Dtls<'_>,
    ) -> Option<(u64, Vec<u8>)> {
        let record = Record::read(chunk.record).filter(|_| !chunk.restart)?;
        if record.epoch_bits() != epoch.bits() {
            return None;
        }
        let mut chunks = Vec::new();
        let number = record.open_near(self, expected, &mut chunks)?;
        Some((number, chunks))
    }
}

/// Seals what stands in `buf` from `start` on, behind room for a header, as a record. Returns false
/// if the cipher refuses: what stands there is of no use then.
pub(super) fn seal(
    keys: &RecordKeys,
    epoch: u64,
    number: u64,
    buf: &mut Vec<u8>,
    start: usize,
) -> bool {
    buf.push(APPLICATION_DATA);
    let (_, record) = buf.split_at_mut(start);
    let Some((header, content)) = record.split_first_chunk_mut::<HEADER_LEN>() else {
        return false;
    };
    let [.., high, low] = number.to_be_bytes();
    *header = [FIXED_BITS | (epoch as u8 & EPOCH_BITS), high, low];
    let Some(tag) = keys.cipher.seal(keys.nonce(number), header, content) else { return false };
    buf.extend_from_slice(&tag);
    let (_, record) = buf.split_at_mut(start);
    let Some((header, sealed)) = record.split_first_chunk_mut::<HEADER_LEN>() else {
        return false;
    };
    mask(keys, header, sealed);
    true
}

/// A record that was received.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    header: [u8; HEADER_LEN],
    sealed: &'a [u8],
}

impl<'a> Record<'a> {
    /// `None` if it is not of the form that the draft asks for.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (header, sealed) = bytes.split_first_chunk::<HEADER_LEN>()?;
        // RFC 9147 section 4.2.3: "This procedure requires the ciphertext length to be at least 16
        // bytes. Receivers MUST reject shorter records as if they had failed deprotection".
        let has_form = header[0] & !EPOCH_BITS == FIXED_BITS && sealed.len() > TAG_LEN;
        has_form.then_some(Self { header: *header, sealed })
    }

    /// The two lowest bits of its epoch.
    pub(super) const fn epoch_bits(&self) -> u64 {
        (self.header[0] & EPOCH_BITS) as u64
    }

    /// Opens it if its number is one of those around `expected`, and returns that. Its content
    /// replaces what is in `out`.
    ///
    /// A number that seems to be behind may be ahead by as much as its 16 bits allow: of a burst,
    /// more than half of them may have been lost. Nothing would ever be opened again then.
    pub(super) fn open_near(
        &self,
        keys: &RecordKeys,
        expected: u64,
        out: &mut Vec<u8>,
    ) -> Option<u64> {
        let number = self.number(keys, expected);
        let ahead = (number < expected).then_some(number + SPAN);
        let mut numbers = std::iter::once(number).chain(ahead);
        numbers.find(|number| self.open(keys, *number, out))
    }

    /// Its number, if it is one of those around `expected`.
    fn number(&self, keys: &RecordKeys, expected: u64) -> u64 {
        let mut header = self.header;
        mask(keys, &mut header, self.sealed);
        let [_, high, low] = header;
        nearest(u16::from_be_bytes([high, low]), expected)
    }

    /// Opens it: its content replaces what is in `out`. Returns false if it was not sealed with
    /// these keys, or was altered; `out` is empty then.
    fn open(&self, keys: &RecordKeys, number: u64, out: &mut Vec<u8>) -> bool {
        let [.., high, low] = number.to_be_bytes();
        let header = [self.header[0], high, low];
        // What stood there is overwritten: it need not be cleared before.
        out.resize(self.sealed.len() - TAG_LEN, 0);
        if keys.cipher.open(keys.nonce(number), &header, self.sealed, out) && strip(out) {
            return true;
        }
        out.clear();
        false
    }
}

/// Takes the padding and the type from the end of a DTLSInnerPlaintext. Returns false if it is not
/// of the type that the DTLS chunk uses.
fn strip(inner: &mut Vec<u8>) -> bool {
    let len = inner.iter().rposition(|byte| *byte != 0).unwrap_or(0);
    let ty = inner.get(len).copied();
    inner.truncate(len);
    ty == Some(APPLICATION_DATA)
}

/// Masks the number in a header, or takes the mask off.
///
/// RFC 9147 section 4.2.3: "The encrypted sequence number is computed by XORing the leading bytes
/// of the mask with the on-the-wire representation of the sequence number. Decryption is
/// accomplished by the same process."
fn mask(keys: &RecordKeys, header: &mut [u8; HEADER_LEN], sealed: &[u8]) {
    let Some(sample) = sealed.first_chunk::<SAMPLE_LEN>() else { return };
    let [high, low] = keys.cipher.mask(*sample);
    header[1] ^= high;
    header[2] ^= low;
}

/// The number next to `expected` that ends with these 16 bits.
///
/// RFC 9147 section 4.2.2: "implementations SHOULD reconstruct the sequence number by computing the
/// full sequence number which is numerically closest to one plus the sequence number of the highest
/// successfully deprotected record in the current epoch."
fn nearest(bits: u16, expected: u64) -> u64 {
    let candidate = (expected & !(SPAN - 1)) | u64::from(bits);
    if candidate + SPAN / 2 < expected {
        candidate + SPAN
    } else if candidate > expected + SPAN / 2 && candidate >= SPAN {
        candidate - SPAN
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtls::cipher::NONCE_LEN;
    use std::sync::Arc;

    /// A cipher that hides nothing and shows what it is asked.
    #[derive(Debug)]
    struct Transparent;

    impl super::super::RecordCipher for Transparent {
        fn seal(
            &self,
            nonce: [u8; NONCE_LEN],
            header: &[u8],
            content: &mut [u8],
        ) -> Option<[u8; TAG_LEN]> {
            let mut tag = [0; TAG_LEN];
            tag[..NONCE_LEN].copy_from_slice(&nonce);
            tag[NONCE_LEN..NONCE_LEN + HEADER_LEN].copy_from_slice(header);
            tag[TAG_LEN - 1] = content.iter().fold(0, |sum, byte| sum.wrapping_add(*byte));
            Some(tag)
        }

        fn open(
            &self,
            nonce: [u8; NONCE_LEN],
            header: &[u8],
            sealed: &[u8],
            content: &mut [u8],
        ) -> bool {
            content.copy_from_slice(&sealed[..content.len()]);
            self.seal(nonce, header, content).as_ref().map(|tag| &tag[..])
                == Some(&sealed[content.len()..])
        }

        fn mask(&self, sample: [u8; SAMPLE_LEN]) -> [u8; 2] {
            [sample[0], sample[1]]
        }
    }

    fn keys() -> RecordKeys {
        RecordKeys { cipher: Arc::new(Transparent), iv: [0; NONCE_LEN] }
    }

    fn sealed(epoch: u64, number: u64, content: &[u8]) -> Vec<u8> {
        let mut buf = vec![0; HEADER_LEN];
        buf.extend_from_slice(content);
        assert!(seal(&keys(), epoch, number, &mut buf, 0));
        buf
    }

    #[test]
    fn a_nonce_is_the_iv_with_the_number_in_its_last_eight_bytes() {
        let iv = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        let keys = RecordKeys { cipher: Arc::new(Transparent), iv };
        for number in [0, 1, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, 1 << 47, u64::MAX] {
            let mut expected = iv;
            for (byte, part) in expected[4..].iter_mut().zip(number.to_be_bytes()) {
                *byte ^= part;
            }
            assert_eq!(keys.nonce(number), expected, "{number:#x}");
        }
    }

    #[test]
    fn a_record_has_the_form_of_the_draft() {
        let content = [0xf0, 0x0f, 1, 2];
        let bytes = sealed(7, 0x0001_0203, &content);
        // 0b001_0_1_0 and the last bits of the epoch, then the number under its mask.
        assert_eq!(bytes[..HEADER_LEN], [0b0010_1011, 0x02 ^ 0xf0, 0x03 ^ 0x0f]);
        assert_eq!(bytes[HEADER_LEN..HEADER_LEN + 5], [0xf0, 0x0f, 1, 2, 23]);
        // The nonce has the whole number; the tag covers the header before it is masked.
        let tag = &bytes[HEADER_LEN + 5..];
        assert_eq!(tag[NONCE_LEN - 4..NONCE_LEN], [0, 1, 2, 3]);
        assert_eq!(tag[NONCE_LEN..NONCE_LEN + HEADER_LEN], [0b0010_1011, 2, 3]);
    }

    #[test]
    fn what_was_sealed_is_opened() {
        let bytes = sealed(3, 70_000, b"abcd");
        let record = Record::read(&bytes).unwrap();
        assert_eq!(record.epoch_bits(), 3);
        assert_eq!(record.number(&keys(), 69_000), 70_000);
        let mut out = b"before".to_vec();
        assert!(record.open(&keys(), 70_000, &mut out));
        assert_eq!(out, b"abcd");
        assert!(!record.open(&keys(), 70_000 + (1 << 16), &mut out));
        assert!(out.is_empty());
    }

    #[test]
    fn padding_is_taken_off_and_other_types_are_refused() {
        for (inner, expected) in [
            (&b"ab\x17\0\0\0"[..], Some(&b"ab"[..])),
            (b"ab\x16", None),
            (b"\0\0", None),
            (b"\x17", Some(b"")),
        ] {
            let mut inner = inner.to_vec();
            let is_right = strip(&mut inner);
            assert_eq!(is_right.then_some(&inner[..]), expected);
        }
    }

    #[test]
    fn short_records_and_other_forms_are_refused() {
        let bytes = sealed(3, 0, b"abcd");
        for len in 0..HEADER_LEN + TAG_LEN + 1 {
            assert!(Record::read(&bytes[..len]).is_none(), "{len} bytes");
        }
        for bit in 2..8 {
            let mut other = bytes.clone();
            other[0] ^= 1 << bit;
            assert!(Record::read(&other).is_none(), "bit {bit}");
        }
    }

    #[test]
    fn numbers_are_those_next_to_what_is_expected() {
        for (bits, expected, number) in [
            (0, 0, 0),
            (0xffff, 0, 0xffff),
            (5, 0xfffe, 0x1_0005),
            (0xfffe, 0x1_0005, 0xfffe),
            (0x8000, 0x1_0000, 0x1_8000),
            (0x7ffe, 0x1_ffff, 0x2_7ffe),
            (0x8001, 0x2_0000, 0x1_8001),
        ] {
            assert_eq!(nearest(bits, expected), number, "{bits:#x} around {expected:#x}");
        }
    }
}
