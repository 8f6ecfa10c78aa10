//! [`PesHeader`]: what stands in front of an access unit.

/// The header of a PES packet (ISO/IEC 13818-1 section 2.4.3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PesHeader {
    /// What kind of stream it belongs to.
    pub stream_id: u8,
    /// Bytes of the whole PES packet; `None`: it ends where the next one starts, as only video may.
    pub packet_len: Option<usize>,
    /// Bytes of the header: the elementary stream's data follow.
    pub header_len: usize,
    /// When to show it: 90 kHz, 33 bits.
    pub pts: Option<u64>,
    /// When to decode it, if that differs: 90 kHz, 33 bits.
    pub dts: Option<u64>,
}

/// Stream ids whose packets have no further header (ISO/IEC 13818-1 table 2-21): program stream
/// map, padding, private 2, ECM, EMM, directory, DSM-CC, H.222.1 type E.
const WITHOUT_HEADER: [u8; 8] = [0xbc, 0xbe, 0xbf, 0xf0, 0xf1, 0xff, 0xf2, 0xf8];

const FIXED_LEN: usize = 6;

impl PesHeader {
    /// Reads the header at the start of a packet's payload. Times are left out if the header goes
    /// on in the next packet before they come; `None` if no PES packet starts here.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let (fixed, rest) = payload.split_first_chunk::<FIXED_LEN>()?;
        let [0, 0, 1, stream_id, len_high, len_low] = *fixed else { return None };
        let len = usize::from(u16::from_be_bytes([len_high, len_low]));
        let mut header = Self {
            stream_id,
            packet_len: (len > 0).then_some(FIXED_LEN + len),
            header_len: FIXED_LEN,
            pts: None,
            dts: None,
        };
        let Some(([_, flags, data_len], optional)) = rest.split_first_chunk::<3>() else {
            return Some(header);
        };
        if WITHOUT_HEADER.contains(&stream_id) {
            return Some(header);
        }
        header.header_len = FIXED_LEN + 3 + usize::from(*data_len);
        if flags & 0x80 != 0 {
            header.pts = timestamp(optional);
        }
        if flags & 0xc0 == 0xc0 {
            header.dts = optional.get(5..).and_then(timestamp);
        }
        Some(header)
    }
}

/// 33 bits, spread over five bytes between marker bits.
fn timestamp(bytes: &[u8]) -> Option<u64> {
    let [a, b, c, d, e] = bytes.first_chunk::<5>()?.map(u64::from);
    Some((a >> 1 & 0x07) << 30 | b << 22 | (c >> 1) << 15 | d << 7 | e >> 1)
}

#[cfg(test)]
pub(crate) mod build {
    //! PES packets for tests.

    /// A PES packet of unbounded length with a PTS.
    pub(crate) fn unbounded(stream_id: u8, data: &[u8]) -> Vec<u8> {
        [&[0, 0, 1, stream_id, 0, 0, 0x80, 0x80, 5, 0x21, 0, 1, 0, 1], data].concat()
    }

    /// The same with its length.
    pub(crate) fn bounded(stream_id: u8, data: &[u8]) -> Vec<u8> {
        let mut bytes = unbounded(stream_id, data);
        let len = (bytes.len() - 6) as u16;
        bytes[4..6].copy_from_slice(&len.to_be_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_lengths_are_read() {
        let bytes = [
            0, 0, 1, 0xe0, 0, 20, 0x80, 0xc0, 10, // header of 10 bytes: PTS and DTS
            0x3f, 0xff, 0xff, 0xff, 0xff, // PTS: all ones
            0x11, 0x00, 0x01, 0x00, 0x03, // DTS: 1
        ];
        let header = PesHeader::parse(&bytes).unwrap();
        assert_eq!((header.pts, header.dts), (Some((1 << 33) - 1), Some(1)));
        assert_eq!((header.packet_len, header.header_len), (Some(26), 19));
    }

    #[test]
    fn a_header_cut_anywhere_is_read_as_far_as_it_goes() {
        let bytes = build::bounded(0xc0, b"sound");
        for len in 0..bytes.len() {
            let header = PesHeader::parse(&bytes[..len]);
            assert_eq!(header.is_some(), len >= FIXED_LEN);
            assert_eq!(header.and_then(|header| header.pts).is_some(), len >= 14);
        }
        assert_eq!(PesHeader::parse(b"\0\0\x02\xe0\0\0\0\0\0"), None);
    }
}
