//! [`Segment`]: bytes to headers and back.

use std::net::IpAddr;

use anabranch_sansio::FourTuple;
use etherparse::TcpOptionElement::{
    MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted,
    WindowScale,
};
use etherparse::{TcpHeader, TcpOptionElement, TcpSlice};
use thiserror::Error;

/// A header without options.
pub(crate) const HEADER_LEN: usize = 20;

/// RFC 2018 section 3: a SACK option that fills the 40 bytes of options has four blocks.
pub(crate) const SACK_BLOCKS_MAX: usize = 4;

/// RFC 7323 section 2.3: the largest shift.
const WINDOW_SHIFT_MAX: u8 = 14;

/// What a segment says besides its data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    /// SEG.SEQ.
    pub(crate) sequence_number: u32,
    /// SEG.ACK, if the ACK bit is set.
    pub(crate) acknowledgment_number: Option<u32>,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) rst: bool,
    /// The last one of what the application had.
    pub(crate) psh: bool,
    /// The window field, not scaled.
    pub(crate) window: u16,
    /// The MSS option.
    pub(crate) mss: Option<u16>,
    /// The window scale option.
    pub(crate) window_shift: Option<u8>,
    /// The SACK-permitted option.
    pub(crate) sack_permitted: bool,
    /// The SACK option, from the first block on.
    pub(crate) sack_blocks: [Option<(u32, u32)>; SACK_BLOCKS_MAX],
}

/// Bytes that are no segment of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum SegmentError {
    #[error("the header is longer than the segment")]
    Truncated,
    #[error("the checksum is wrong")]
    Checksum,
    #[error("the ports are another connection's")]
    Ports,
}

impl Segment {
    /// Reads what arrived on `path`, as the receiver sees it.
    pub(crate) fn decode(path: FourTuple, bytes: &[u8]) -> Result<(Self, &[u8]), SegmentError> {
        let slice = TcpSlice::from_slice(bytes).map_err(|_| SegmentError::Truncated)?;
        let header = slice.to_header();
        if checksum(path.reversed(), &header, slice.payload()) != Some(header.checksum) {
            return Err(SegmentError::Checksum);
        }
        if (header.source_port, header.destination_port) != (path.remote.port(), path.local.port())
        {
            return Err(SegmentError::Ports);
        }
        let mut segment = Self {
            sequence_number: header.sequence_number,
            acknowledgment_number: header.ack.then_some(header.acknowledgment_number),
            syn: header.syn,
            fin: header.fin,
            rst: header.rst,
            psh: header.psh,
            window: header.window_size,
            ..Self::default()
        };
        // What follows an option that cannot be read is not looked at.
        for option in header.options_iterator().map_while(Result::ok) {
            segment.take_option(option);
        }
        Ok((segment, slice.payload()))
    }

    /// Appends the segment with what follows in `payload` to `out`.
    pub(crate) fn encode(&self, path: FourTuple, payload: &[u8], out: &mut Vec<u8>) {
        let (source, destination) = (path.local.port(), path.remote.port());
        let mut header = TcpHeader::new(source, destination, self.sequence_number, self.window);
        header.ack = self.acknowledgment_number.is_some();
        header.acknowledgment_number = self.acknowledgment_number.unwrap_or(0);
        (header.syn, header.fin) = (self.syn, self.fin);
        (header.rst, header.psh) = (self.rst, self.psh);
        let fitted = header.set_options(&self.options());
        debug_assert_eq!(fitted, Ok(()), "{self:?}");
        header.checksum = checksum(path, &header, payload).unwrap_or(0);
        out.extend_from_slice(&header.to_bytes());
        out.extend_from_slice(payload);
    }

    /// The SACK blocks that there are.
    pub(crate) fn sack_blocks(&self) -> impl Iterator<Item = (u32, u32)> {
        self.sack_blocks.into_iter().flatten()
    }

    /// How many sequence numbers the segment takes.
    pub(crate) fn len(&self, payload: &[u8]) -> u64 {
        payload.len() as u64 + u64::from(self.syn) + u64::from(self.fin)
    }

    fn take_option(&mut self, option: TcpOptionElement) {
        match option {
            MaximumSegmentSize(mss) => self.mss = Some(mss),
            // RFC 7323 section 2.3: a shift above 14 counts as 14.
            WindowScale(shift) => self.window_shift = Some(shift.min(WINDOW_SHIFT_MAX)),
            SelectiveAcknowledgementPermitted => self.sack_permitted = true,
            SelectiveAcknowledgement(first, [second, third, fourth]) => {
                self.sack_blocks = [Some(first), second, third, fourth];
            }
            Noop | TcpOptionElement::Timestamp(..) => {}
        }
    }

    fn options(&self) -> Vec<TcpOptionElement> {
        let mut options = Vec::new();
        options.extend(self.mss.map(MaximumSegmentSize));
        if self.sack_permitted {
            options.extend([SelectiveAcknowledgementPermitted, Noop, Noop]);
        }
        if let Some(shift) = self.window_shift {
            options.extend([Noop, WindowScale(shift)]);
        }
        if let [Some(first), second, third, fourth] = self.sack_blocks {
            options.extend([Noop, Noop, SelectiveAcknowledgement(first, [second, third, fourth])]);
        }
        options
    }
}

/// The shift with which a receive buffer fits into the window field.
pub(crate) fn window_shift(buffer: usize) -> u8 {
    let fits = |shift: &u8| buffer >> shift <= usize::from(u16::MAX);
    (0..WINDOW_SHIFT_MAX).find(fits).unwrap_or(WINDOW_SHIFT_MAX)
}

/// `None`: the two addresses are of different families, or the payload is longer than IP carries.
fn checksum(path: FourTuple, header: &TcpHeader, payload: &[u8]) -> Option<u16> {
    let sum = match (path.local.ip(), path.remote.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            header.calc_checksum_ipv4_raw(source.octets(), destination.octets(), payload)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            header.calc_checksum_ipv6_raw(source.octets(), destination.octets(), payload)
        }
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return None,
    };
    sum.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> FourTuple {
        FourTuple::new(([10, 0, 0, 1], 1_000).into(), ([10, 0, 0, 2], 2_000).into())
    }

    fn round_trip(segment: Segment, payload: &[u8], path: FourTuple) {
        let mut bytes = Vec::new();
        segment.encode(path, payload, &mut bytes);
        let (read, data) = Segment::decode(path.reversed(), &bytes).unwrap();
        assert_eq!((read, data), (segment, payload));
    }

    #[test]
    fn what_is_written_is_read() {
        let syn = Segment {
            sequence_number: 1,
            syn: true,
            window: 65_535,
            mss: Some(1_460),
            window_shift: Some(7),
            sack_permitted: true,
            ..Segment::default()
        };
        round_trip(syn, &[], path());
        let mut data = Segment {
            sequence_number: u32::MAX,
            acknowledgment_number: Some(7),
            fin: true,
            psh: true,
            window: 9,
            ..Segment::default()
        };
        round_trip(data, b"odd", path());
        data.sack_blocks = [Some((1, 2)), Some((3, 4)), Some((5, 6)), Some((7, 8))];
        round_trip(data, &[], path());
        let over_ipv6 =
            FourTuple::new("[fd00::1]:5000".parse().unwrap(), "[fd00::2]:5001".parse().unwrap());
        round_trip(data, b"even", over_ipv6);
    }

    /// A SYN of Linux 6.1 from 10.0.0.1:43210 to 10.0.0.2:80, with a timestamp.
    #[test]
    fn a_foreign_syn_is_read() {
        let mut syn = vec![
            0xa8, 0xca, 0x00, 0x50, 0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0, 0xa0, 0x02, 0xfa, 0xf0, 0,
            0, 0, 0, 0x02, 0x04, 0x05, 0xb4, 0x04, 0x02, 0x08, 0x0a, 0x01, 0x02, 0x03, 0x04, 0, 0,
            0, 0, 0x01, 0x03, 0x03, 0x0e,
        ];
        let path = FourTuple::new(([10, 0, 0, 2], 80).into(), ([10, 0, 0, 1], 43_210).into());
        assert_eq!(Segment::decode(path, &syn).unwrap_err(), SegmentError::Checksum);
        let header = TcpSlice::from_slice(&syn).unwrap().to_header();
        let sum = checksum(path.reversed(), &header, &[]).unwrap();
        syn[16..18].copy_from_slice(&sum.to_be_bytes());
        let (read, data) = Segment::decode(path, &syn).unwrap();
        assert_eq!(
            (read.mss, read.window_shift, read.sack_permitted),
            (Some(1_460), Some(14), true)
        );
        assert_eq!((read.syn, read.acknowledgment_number, data.len()), (true, None, 0));
    }

    #[test]
    fn what_is_not_ours_is_refused_with_the_reason() {
        let mut bytes = Vec::new();
        Segment::default().encode(path(), b"data", &mut bytes);
        let read = |path, bytes: &[u8]| Segment::decode(path, bytes).unwrap_err();
        assert_eq!(read(path().reversed(), &bytes[..19]), SegmentError::Truncated);
        let mut other = path().reversed();
        other.remote.set_port(1_001);
        assert_eq!(read(other, &bytes), SegmentError::Ports);
        bytes[20] ^= 1;
        assert_eq!(read(path().reversed(), &bytes), SegmentError::Checksum);
    }

    #[test]
    fn the_shift_is_the_smallest_that_lets_the_buffer_fit() {
        let shifts = [65_535, 65_536, 4 << 20, 1 << 40].map(window_shift);
        assert_eq!(shifts, [0, 1, 7, 14]);
    }
}
