//! The options of CCID 3: RFC 4342 section 8.

use super::{OPTION_DATA_MAX, OptionError, OptionType, PacketOption, word};

/// An option of CCID 3, from the receiver of data to their sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ccid3Option<'a> {
    /// RFC 4342 section 8.5: data packets per loss event, rounded up; `u32::MAX` before the first.
    LossEventRate(u32),
    /// RFC 4342 section 8.6: the latest loss intervals.
    LossIntervals(LossIntervals<'a>),
    /// RFC 4342 section 8.3: bytes of data per second that arrived of late.
    ReceiveRate(u32),
}

/// The latest loss intervals, the newest first.
///
/// ```text
/// +--------+--------+--------+--------...--------+--------+---
/// |11000001| Length |  Skip  |   Loss Interval   | More Loss
/// |        |        | Length |                   | Intervals...
/// +--------+--------+--------+--------...--------+--------+---
///  Type=193                         9 bytes
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossIntervals<'a> {
    skip: u8,
    bytes: &'a [u8],
}

/// From one loss event to the next.
///
/// ```text
/// +--------...-------+--------...--------+--------...--------+
/// | Lossless Length  |E|   Loss Length   |    Data Length    |
/// +--------...-------+--------...--------+--------...--------+
///       3 bytes            3 bytes             3 bytes
/// ```
///
/// E is the ECN Nonce Echo, which RFC 8311 section 6 has done away with: it is written as 0, and
/// not read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LossInterval {
    /// Packets behind the last one that was lost, of 24 bits.
    pub lossless_length: u32,
    /// Packets from the first one that was lost to the last, of 23 bits.
    pub loss_length: u32,
    /// Data packets in both, of 24 bits.
    pub data_length: u32,
}

impl<'a> Ccid3Option<'a> {
    /// Reads an option of CCID 3.
    ///
    /// # Errors
    ///
    /// If there is no such option, or not of this length: it is to be ignored.
    pub fn decode(ty: OptionType, data: &'a [u8]) -> Result<Self, OptionError> {
        let right = |right| OptionError::Length { ty, len: data.len(), right };
        match ty {
            OptionType::LOSS_EVENT_RATE => word(data).map(Self::LossEventRate).ok_or(right("4")),
            OptionType::RECEIVE_RATE => word(data).map(Self::ReceiveRate).ok_or(right("4")),
            OptionType::LOSS_INTERVALS => match data.split_first() {
                Some((skip, bytes)) if bytes.len().is_multiple_of(LossInterval::LEN) => {
                    Ok(Self::LossIntervals(LossIntervals { skip: *skip, bytes }))
                }
                _ => Err(right("1 and a multiple of 9")),
            },
            _ => Err(OptionError::Unknown { ty }),
        }
    }

    /// Appends the data of this option to `buf`, and returns the option with them.
    pub fn encode<'b>(&self, buf: &'b mut Vec<u8>) -> PacketOption<'b> {
        buf.clear();
        let ty = match *self {
            Self::LossEventRate(rate) => {
                buf.extend(rate.to_be_bytes());
                OptionType::LOSS_EVENT_RATE
            }
            Self::LossIntervals(intervals) => {
                buf.push(intervals.skip);
                buf.extend_from_slice(intervals.bytes);
                OptionType::LOSS_INTERVALS
            }
            Self::ReceiveRate(rate) => {
                buf.extend(rate.to_be_bytes());
                OptionType::RECEIVE_RATE
            }
        };
        PacketOption::Ccid { ty, data: buf }
    }
}

impl<'a> LossIntervals<'a> {
    /// RFC 4342 section 8.6: "The option reports up to 28 loss intervals seen by the receiver".
    pub const MAX: usize = (OPTION_DATA_MAX - 1) / LossInterval::LEN;

    /// Writes intervals, the newest first, into `buf` and reads them there; those beyond
    /// [`MAX`](Self::MAX) are left out.
    #[must_use]
    pub fn new(
        skip: u8,
        intervals: impl IntoIterator<Item = LossInterval>,
        buf: &'a mut Vec<u8>,
    ) -> Self {
        buf.clear();
        intervals.into_iter().take(Self::MAX).for_each(|interval| interval.encode(buf));
        Self { skip, bytes: buf }
    }

    /// Skip Length: how many packets, from the one that is acknowledged back, are not yet part of
    /// an interval.
    #[must_use]
    pub const fn skip(&self) -> u8 {
        self.skip
    }

    /// The intervals, the newest first.
    pub fn iter(&self) -> impl Iterator<Item = LossInterval> + use<'a> {
        self.bytes.as_chunks().0.iter().map(LossInterval::decode)
    }
}

impl LossInterval {
    const LEN: usize = 9;

    fn decode(bytes: &[u8; Self::LEN]) -> Self {
        let [a, b, c, d, e, f, g, h, i] = *bytes;
        Self {
            lossless_length: u32::from_be_bytes([0, a, b, c]),
            loss_length: u32::from_be_bytes([0, d & 0x7f, e, f]),
            data_length: u32::from_be_bytes([0, g, h, i]),
        }
    }

    /// Lengths that do not fit are the longest that do.
    fn encode(self, out: &mut Vec<u8>) {
        let lengths = [
            self.lossless_length.min((1 << 24) - 1),
            self.loss_length.min((1 << 23) - 1),
            self.data_length.min((1 << 24) - 1),
        ];
        for length in lengths {
            let [_, bytes @ ..] = length.to_be_bytes();
            out.extend(bytes);
        }
    }

    /// Packets of any kind in the interval.
    #[must_use]
    pub const fn sequence_length(&self) -> u32 {
        self.lossless_length + self.loss_length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(lossless_length: u32, loss_length: u32, data_length: u32) -> LossInterval {
        LossInterval { lossless_length, loss_length, data_length }
    }

    #[test]
    fn the_example_of_the_rfc_is_read_as_it_says() {
        // RFC 4342 section 8.6.2: "might contain the bytes 193,39,2, 0,0,10, 128,0,1, 0,0,10,
        // 0,0,8, 0,0,5, 0,0,10, 0,0,8, 0,0,1, 0,0,8, 0,0,10, 128,0,0, 0,0,15."
        let data = [
            2, 0, 0, 10, 128, 0, 1, 0, 0, 10, 0, 0, 8, 0, 0, 5, 0, 0, 10, 0, 0, 8, 0, 0, 1, 0, 0,
            8, 0, 0, 10, 128, 0, 0, 0, 0, 15,
        ];
        let option = Ccid3Option::decode(OptionType::LOSS_INTERVALS, &data).unwrap();
        let Ccid3Option::LossIntervals(intervals) = option else { panic!("{option:?}") };
        let expected =
            [interval(10, 1, 10), interval(8, 5, 10), interval(8, 1, 8), interval(10, 0, 15)];
        assert_eq!(intervals.skip(), 2);
        assert!(intervals.iter().eq(expected));
        let mut buf = Vec::new();
        let written = LossIntervals::new(2, expected, &mut buf);
        assert!(written.iter().eq(expected));
    }

    #[test]
    fn no_more_intervals_are_written_than_fit() {
        let mut buf = Vec::new();
        let long = interval(u32::MAX, u32::MAX, u32::MAX);
        let intervals = LossIntervals::new(0, [long; 40], &mut buf);
        assert_eq!(intervals.iter().count(), 28);
        assert_eq!(
            intervals.iter().next(),
            Some(interval((1 << 24) - 1, (1 << 23) - 1, (1 << 24) - 1))
        );
    }

    #[test]
    fn what_has_another_length_is_refused() {
        for (ty, data) in [
            (OptionType::LOSS_EVENT_RATE, &[0; 3][..]),
            (OptionType::RECEIVE_RATE, &[0; 5]),
            (OptionType::LOSS_INTERVALS, &[]),
            (OptionType::LOSS_INTERVALS, &[0; 9]),
        ] {
            let error = Ccid3Option::decode(ty, data).unwrap_err();
            assert!(matches!(error, OptionError::Length { len, .. } if len == data.len()));
        }
        let ty = OptionType(195);
        assert_eq!(Ccid3Option::decode(ty, &[]), Err(OptionError::Unknown { ty }));
    }
}
