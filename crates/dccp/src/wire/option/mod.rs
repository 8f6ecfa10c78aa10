//! Options: RFC 4340 section 5.8, and those of CCID 3 (RFC 4342 section 8).

mod ack_vector;
mod ccid3;
mod data_dropped;
mod feature;
mod list;
mod multipath;
mod option_type;

use std::time::Duration;

use thiserror::Error;

pub use ack_vector::{AckRun, AckRuns, AckState, AckVector, RUNS_PER_OPTION_MAX};
pub use ccid3::{Ccid3Option, LossInterval, LossIntervals};
pub use data_dropped::{DataDropped, DropCode, DropRun, DropRuns};
pub use feature::{FeatureNumber, FeatureOption, FeatureOptionKind};
pub use list::{DanglingMandatory, Entry, OPTIONS_LEN_MAX, Options, OptionsBuf};
pub use multipath::{Confirmations, HMAC_LEN, Keys, MultipathOption, PLAIN_KEY_LEN};
pub use option_type::OptionType;

/// The most data that one option can have.
pub const OPTION_DATA_MAX: usize = 253;

/// An option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketOption<'a> {
    /// RFC 4340 section 11.6: the receiver cannot take more than it gets now.
    SlowReceiver,
    /// RFC 4340 section 6: a feature's value is to change, or has.
    Feature(FeatureOption<'a>),
    /// RFC 4340 section 8.1.4: what a server wants back instead of remembering it.
    InitCookie(&'a [u8]),
    /// RFC 4340 section 7.7: how many packets without data came right before this one.
    NdpCount(u64),
    /// RFC 4340 section 11.4: which packets have arrived.
    ///
    /// It has two types, for two values of the ECN Nonce Echo. RFC 8311 section 6 has done away
    /// with the nonce: both are read alike, and the first is written.
    AckVector(AckVector<'a>),
    /// RFC 4340 section 11.7: whose data did not reach the application.
    DataDropped(DataDropped<'a>),
    /// RFC 4340 section 13.1, in units of 10 microseconds.
    Timestamp(u32),
    /// RFC 4340 section 13.3.
    TimestampEcho {
        /// What the Timestamp option said.
        timestamp: u32,
        /// How long ago that was.
        elapsed: ElapsedTime,
    },
    /// RFC 4340 section 13.2: how long ago the packet arrived that is acknowledged.
    ElapsedTime(ElapsedTime),
    /// RFC 4340 section 9.3: the [`crc32c`](super::crc32c) of the data.
    DataChecksum(u32),
    /// RFC 9897: several paths at once.
    Multipath(MultipathOption<'a>),
    /// RFC 4340 section 10.3: what it means depends on the CCID; see [`Ccid3Option`].
    Ccid {
        /// The type, 128 or more.
        ty: OptionType,
        /// The option's data.
        data: &'a [u8],
    },
}

/// Why an option is ignored, unless it is mandatory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OptionError {
    /// Nobody told us what it means.
    #[error("option type {} is not known", ty.0)]
    Unknown {
        /// Its type.
        ty: OptionType,
    },
    /// It has not the length that such an option has.
    #[error("{ty} option with {len} bytes of data; {right} would be right")]
    Length {
        /// Its type.
        ty: OptionType,
        /// How many bytes of data it has.
        len: usize,
        /// How many it should have.
        right: &'static str,
    },
}

/// A span of time in units of 10 microseconds: RFC 4340 section 13.2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ElapsedTime(pub u32);

impl ElapsedTime {
    /// RFC 4340 section 13.2: "The special Elapsed Time value 4294967295, which corresponds to
    /// approximately 11.9 hours, is used to represent any Elapsed Time greater than 42949.67294
    /// seconds."
    #[must_use]
    pub fn from_duration(span: Duration) -> Self {
        Self(u32::try_from(span.as_micros() / 10).unwrap_or(u32::MAX))
    }

    /// The span.
    #[must_use]
    pub const fn as_duration(self) -> Duration {
        Duration::from_micros(self.0 as u64 * 10)
    }

    fn decode(data: &[u8]) -> Option<Self> {
        match *data {
            [] => Some(Self(0)),
            [a, b] => Some(Self(u16::from_be_bytes([a, b]).into())),
            [a, b, c, d] => Some(Self(u32::from_be_bytes([a, b, c, d]))),
            _ => None,
        }
    }

    /// RFC 4340 section 13.2: "If Elapsed Time is less than a half-second, the first, smaller form
    /// of the option SHOULD be used. Elapsed Times of more than 0.65535 seconds MUST be sent using
    /// the second form of the option."
    fn encode(self, out: &mut Vec<u8>) {
        match u16::try_from(self.0) {
            Ok(short) => out.extend(short.to_be_bytes()),
            Err(_) => out.extend(self.0.to_be_bytes()),
        }
    }
}

impl<'a> PacketOption<'a> {
    /// The option's type.
    #[must_use]
    pub const fn option_type(&self) -> OptionType {
        match self {
            Self::SlowReceiver => OptionType::SLOW_RECEIVER,
            Self::Feature(feature) => feature.kind.option_type(),
            Self::InitCookie(_) => OptionType::INIT_COOKIE,
            Self::NdpCount(_) => OptionType::NDP_COUNT,
            Self::AckVector(_) => OptionType::ACK_VECTOR_0,
            Self::DataDropped(_) => OptionType::DATA_DROPPED,
            Self::Timestamp(_) => OptionType::TIMESTAMP,
            Self::TimestampEcho { .. } => OptionType::TIMESTAMP_ECHO,
            Self::ElapsedTime(_) => OptionType::ELAPSED_TIME,
            Self::DataChecksum(_) => OptionType::DATA_CHECKSUM,
            Self::Multipath(_) => OptionType::MULTIPATH,
            Self::Ccid { ty, .. } => *ty,
        }
    }

    fn decode(ty: OptionType, data: &'a [u8]) -> Result<Self, OptionError> {
        let right = |right| OptionError::Length { ty, len: data.len(), right };
        Ok(match ty {
            OptionType::SLOW_RECEIVER => Self::SlowReceiver,
            OptionType::CHANGE_L
            | OptionType::CONFIRM_L
            | OptionType::CHANGE_R
            | OptionType::CONFIRM_R => {
                Self::Feature(FeatureOption::decode(ty, data).ok_or(right("1 or more"))?)
            }
            OptionType::INIT_COOKIE => Self::InitCookie(data),
            OptionType::NDP_COUNT => Self::NdpCount(big_endian(data).ok_or(right("1 to 6"))?),
            OptionType::ACK_VECTOR_0 | OptionType::ACK_VECTOR_1 => {
                Self::AckVector(AckVector::new(data))
            }
            OptionType::DATA_DROPPED => Self::DataDropped(DataDropped::new(data)),
            OptionType::TIMESTAMP => Self::Timestamp(word(data).ok_or(right("4"))?),
            OptionType::TIMESTAMP_ECHO => {
                let read = data.split_first_chunk::<4>().and_then(|(timestamp, elapsed)| {
                    let timestamp = u32::from_be_bytes(*timestamp);
                    Some(Self::TimestampEcho { timestamp, elapsed: ElapsedTime::decode(elapsed)? })
                });
                read.ok_or(right("4, 6 or 8"))?
            }
            OptionType::ELAPSED_TIME => {
                let elapsed = ElapsedTime::decode(data).filter(|_| !data.is_empty());
                Self::ElapsedTime(elapsed.ok_or(right("2 or 4"))?)
            }
            // As in SCTP, whose CRC travels with its least significant byte first.
            OptionType::DATA_CHECKSUM => {
                Self::DataChecksum(word(data).ok_or(right("4"))?.swap_bytes())
            }
            OptionType::MULTIPATH => Self::Multipath(
                MultipathOption::decode(data).ok_or(right("that of a known MP_OPT"))?,
            ),
            OptionType(128..) => Self::Ccid { ty, data },
            OptionType(_) => return Err(OptionError::Unknown { ty }),
        })
    }

    /// Appends the option's data, without its type and length.
    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::SlowReceiver => {}
            Self::Feature(feature) => feature.encode(out),
            Self::InitCookie(data) | Self::Ccid { data, .. } => out.extend_from_slice(data),
            Self::NdpCount(count) => put_big_endian(count, out),
            Self::AckVector(vector) => out.extend_from_slice(vector.as_bytes()),
            Self::DataDropped(dropped) => out.extend_from_slice(dropped.as_bytes()),
            Self::Timestamp(timestamp) => out.extend(timestamp.to_be_bytes()),
            Self::TimestampEcho { timestamp, elapsed } => {
                out.extend(timestamp.to_be_bytes());
                // RFC 4340 section 13.3: "A missing Elapsed Time field is equivalent to an Elapsed
                // Time of zero. The smallest version of the option SHOULD be used".
                if elapsed != ElapsedTime(0) {
                    elapsed.encode(out);
                }
            }
            Self::ElapsedTime(elapsed) => elapsed.encode(out),
            Self::DataChecksum(checksum) => out.extend(checksum.to_le_bytes()),
            Self::Multipath(option) => option.encode(out),
        }
    }
}

fn word(data: &[u8]) -> Option<u32> {
    data.try_into().ok().map(u32::from_be_bytes)
}

/// One to six bytes.
fn big_endian(data: &[u8]) -> Option<u64> {
    let value = data.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    (1..=6).contains(&data.len()).then_some(value)
}

/// RFC 4340 section 7.7: "The NDP Count option can carry one to six bytes of data. The smallest
/// option format that can hold the NDP Count SHOULD be used."
fn put_big_endian(value: u64, out: &mut Vec<u8>) {
    let [_, _, bytes @ ..] = value.min((1 << 48) - 1).to_be_bytes();
    let zeros = bytes.iter().take(bytes.len() - 1).take_while(|byte| **byte == 0).count();
    out.extend_from_slice(bytes.get(zeros..).unwrap_or_default());
}
