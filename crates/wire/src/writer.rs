//! [`PacketWriter`]: builds a packet at the end of a buffer.

use crate::{Auth, CommonHeader, Dtls, EncodeChunk, checksum, tlv};

/// The longest HMAC that there is: SHA-256.
const HMAC_LEN_MAX: usize = 32;

/// What the checksum field of a finished packet holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumField {
    /// The CRC32c of the packet.
    Fill,
    /// Zero, where the peer has agreed to that (RFC 9653).
    Zero,
}

/// Writes one packet at the end of a buffer.
///
/// What stands in the buffer already stays, so that several packets of one segmentation offload
/// can be written one behind the other.
#[derive(Debug)]
#[must_use = "a packet is complete only when it is finished"]
pub struct PacketWriter<'b> {
    buf: &'b mut Vec<u8>,
    start: usize,
    chunks: usize,
}

impl<'b> PacketWriter<'b> {
    /// Begins a packet with its common header.
    pub fn new(buf: &'b mut Vec<u8>, header: CommonHeader) -> Self {
        let start = buf.len();
        buf.extend_from_slice(&header.encode());
        Self { buf, start, chunks: 0 }
    }

    /// Appends a chunk and its padding.
    pub fn push(&mut self, chunk: &impl EncodeChunk) {
        chunk.encode(self.buf);
        self.chunks += 1;
        debug_assert!(self.len().is_multiple_of(4), "a chunk ends on a multiple of 4 bytes");
    }

    /// The packet's bytes so far, the common header included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buf.len() - self.start
    }

    /// Whether the packet has no chunk yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.chunks == 0
    }

    /// How many chunks the packet has so far.
    #[must_use]
    pub const fn chunks(&self) -> usize {
        self.chunks
    }

    /// Takes chunks back from the end, until the packet has `chunks` of them in `len` bytes as it
    /// had before.
    pub fn rewind(&mut self, len: usize, chunks: usize) {
        self.buf.truncate(self.start + len);
        self.chunks = chunks;
    }

    /// Fills in the HMAC of the AUTH chunk that begins at `at`, a [`len`](Self::len) of before.
    /// `sign` is shown the AUTH chunk and all behind it, and where the HMAC belongs.
    ///
    /// RFC 4895 section 6.2: "The 'data' used for the computation of the AUTH-chunk is given by the
    /// AUTH chunk with its HMAC field set to zero (as shown in Figure 6) followed by all the chunks
    /// that are placed after the AUTH chunk in the SCTP packet."
    pub fn sign(&mut self, at: usize, hmac_len: usize, sign: impl FnOnce(&[u8], &mut [u8])) {
        let mut hmac = [0; HMAC_LEN_MAX];
        let Some(hmac) = hmac.get_mut(..hmac_len) else { return };
        let (_, signed) = self.buf.split_at_mut(self.start + at);
        sign(signed, hmac);
        if let Some(field) = signed.get_mut(Auth::HEADER_LEN..Auth::HEADER_LEN + hmac_len) {
            field.copy_from_slice(hmac);
        }
    }

    /// Leaves room for a DTLS chunk that is to hold what follows, with a header of its record of
    /// `record_header_len` bytes: see [`seal`](Self::seal).
    pub fn begin_envelope(&mut self, record_header_len: usize) {
        self.buf.resize(self.buf.len() + Dtls::HEADER_LEN + record_header_len, 0);
    }

    /// Makes all behind the common header the content of one DTLS chunk, for which
    /// [`begin_envelope`](Self::begin_envelope) left room. `seal` is given the buffer and where the
    /// record begins in it; it seals the record in place and may append to it.
    pub fn seal(&mut self, restart: bool, seal: impl FnOnce(&mut Vec<u8>, usize)) {
        let chunk = self.start + CommonHeader::LEN;
        let record = chunk + Dtls::HEADER_LEN;
        seal(self.buf, record);
        let len = self.buf.len() - record;
        if let Some(header) = self.buf.get_mut(chunk..record) {
            header.copy_from_slice(&Dtls::header(restart, len));
        }
        tlv::pad(self.buf, Dtls::HEADER_LEN + len);
    }

    /// Completes the packet.
    pub fn finish(self, field: ChecksumField) {
        if field == ChecksumField::Zero {
            return;
        }
        let (_, packet) = self.buf.split_at_mut(self.start);
        checksum::set(packet, checksum::compute(packet));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::hex;
    use crate::{
        ChecksumMode, Chunk, CookieAck, CookieEcho, HmacIdentifier, Packet, VerificationTag,
    };

    const HEADER: CommonHeader = CommonHeader {
        source_port: 5101,
        destination_port: 7000,
        verification_tag: VerificationTag(0x0a0b_0c0d),
    };

    #[test]
    fn writes_what_linux_writes() {
        let mut bytes = Vec::new();
        let mut writer = PacketWriter::new(&mut bytes, HEADER);
        writer.push(&CookieAck);
        writer.finish(ChecksumField::Fill);
        assert_eq!(bytes, hex("13ed1b58 0a0b0c0d bebbb02c 0b000004"));
    }

    #[test]
    fn chunks_are_taken_back_from_the_end() {
        let mut bytes = vec![0xee; 3];
        let mut writer = PacketWriter::new(&mut bytes, HEADER);
        writer.push(&CookieAck);
        let (len, chunks) = (writer.len(), writer.chunks());
        writer.push(&CookieEcho { cookie: b"long" });
        writer.rewind(len, chunks);
        assert_eq!((writer.len(), writer.chunks()), (len, chunks));
        writer.finish(ChecksumField::Fill);
        assert_eq!(bytes[3..], hex("13ed1b58 0a0b0c0d bebbb02c 0b000004"));
    }

    #[test]
    fn several_packets_stand_in_one_buffer() {
        let mut bytes = vec![0xee; 3];
        let mut ends = Vec::new();
        for cookie in [&b"first"[..], b"second"] {
            let mut writer = PacketWriter::new(&mut bytes, HEADER);
            assert!(writer.is_empty());
            writer.push(&CookieEcho { cookie });
            writer.push(&CookieAck);
            assert_eq!((writer.len(), writer.chunks(), writer.is_empty()), (28, 2, false));
            writer.finish(ChecksumField::Fill);
            ends.push(bytes.len());
        }
        assert_eq!(ends, [31, 59]);
        assert_eq!(bytes[..3], [0xee; 3]);
        for (range, cookie) in [(3..31, &b"first"[..]), (31..59, b"second")] {
            let packet = Packet::decode(&bytes[range], ChecksumMode::Verify).unwrap();
            let chunks: Vec<_> = packet.chunks().collect();
            let echo = Chunk::CookieEcho(CookieEcho { cookie });
            assert_eq!(chunks, [Ok(echo), Ok(Chunk::CookieAck)]);
        }
    }

    #[test]
    fn an_hmac_covers_its_chunk_with_zeros_and_all_behind_it() {
        let mut bytes = Vec::new();
        let mut writer = PacketWriter::new(&mut bytes, HEADER);
        let at = writer.len();
        let hmac_identifier = HmacIdentifier::SHA_1;
        writer.push(&Auth { shared_key_identifier: 7, hmac_identifier, hmac: &[0; 20] });
        writer.push(&CookieAck);
        let mut covered = Vec::new();
        writer.sign(at, 20, |signed, hmac| {
            covered.extend_from_slice(signed);
            hmac.fill(0xab);
        });
        writer.finish(ChecksumField::Fill);
        let zeros = "00".repeat(20);
        assert_eq!(covered, hex(&format!("0f00001c 0007 0001 {zeros} 0b000004")));

        let packet = Packet::decode(&bytes, ChecksumMode::Verify).unwrap();
        let mut chunks = packet.chunks();
        let auth = Auth { shared_key_identifier: 7, hmac_identifier, hmac: &[0xab; 20] };
        assert_eq!(chunks.next(), Some(Ok(Chunk::Auth(auth))));
        assert_eq!(chunks.rest(), hex("0b000004"));
    }

    #[test]
    fn a_dtls_chunk_holds_all_that_follows() {
        let mut bytes = Vec::new();
        let mut writer = PacketWriter::new(&mut bytes, HEADER);
        writer.begin_envelope(3);
        writer.push(&CookieAck);
        writer.seal(false, |buf, record| {
            assert_eq!(buf[record..], hex("000000 0b000004"));
            buf[record..].fill(0xcc);
            buf.push(0xdd);
        });
        writer.finish(ChecksumField::Fill);
        let packet = Packet::decode(&bytes, ChecksumMode::Verify).unwrap();
        let record = hex("cccccccccccccc dd");
        let chunks: Vec<_> = packet.chunks().collect();
        assert_eq!(chunks, [Ok(Chunk::Dtls(Dtls { restart: false, record: &record }))]);
    }

    #[test]
    fn the_checksum_can_stay_zero() {
        let mut bytes = Vec::new();
        let mut writer = PacketWriter::new(&mut bytes, HEADER);
        writer.push(&CookieAck);
        writer.finish(ChecksumField::Zero);
        assert_eq!(bytes, hex("13ed1b58 0a0b0c0d 00000000 0b000004"));
    }
}
