//! The Data Channel Establishment Protocol (RFC 8832): how a data channel is opened.

use std::time::Duration;

use anabranch_sctp::Reliability;
use thiserror::Error;

/// Message Types, RFC 8832 section 8.2.1.
const DATA_CHANNEL_ACK: u8 = 0x02;
const DATA_CHANNEL_OPEN: u8 = 0x03;

/// Channel Types, RFC 8832 section 5.1; the upper bit stands for unordered.
const RELIABLE: u8 = 0x00;
const PARTIAL_RELIABLE_REXMIT: u8 = 0x01;
const PARTIAL_RELIABLE_TIMED: u8 = 0x02;
const UNORDERED: u8 = 0x80;

/// What an opening side says of a channel. The other one sends as it likes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelOptions {
    /// What the page calls it.
    pub label: String,
    /// The subprotocol; mostly empty.
    pub protocol: String,
    /// Whether messages keep their order.
    pub ordered: bool,
    /// When a message is given up.
    pub reliability: Reliability,
    /// RFC 8831 section 6.4: 128 is below normal, 256 normal, 512 high, 1024 extra high.
    pub priority: u16,
}

impl ChannelOptions {
    /// An ordered, reliable channel of normal priority.
    #[must_use]
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            protocol: String::new(),
            ordered: true,
            reliability: Reliability::Reliable,
            priority: 256,
        }
    }
}

/// A DCEP message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Dcep {
    Open(ChannelOptions),
    Ack,
}

/// Why a DCEP message cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum DcepError {
    #[error("message type {0:#04x}; 0x02 and 0x03 are defined")]
    UnknownMessageType(u8),
    #[error("channel type {0:#04x}, which RFC 8832 does not define")]
    UnknownChannelType(u8),
    #[error("DATA_CHANNEL_OPEN of {len} bytes; its fields need {expected}")]
    Length { len: usize, expected: usize },
    #[error("a label or protocol that is not UTF-8")]
    NotUtf8,
}

/// The fields of a DATA_CHANNEL_OPEN before the label.
const OPEN_FIXED_LEN: usize = 12;

impl Dcep {
    /// Reads a message.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    /// |  Message Type |  Channel Type |            Priority           |
    /// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    /// |                    Reliability Parameter                      |
    /// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    /// |         Label Length          |       Protocol Length         |
    /// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    /// \                                                               /
    /// |                             Label                             |
    /// /                                                               \
    /// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    /// \                                                               /
    /// |                            Protocol                           |
    /// /                                                               \
    /// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    /// ```
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DcepError> {
        match bytes.first() {
            Some(&DATA_CHANNEL_ACK) => Ok(Self::Ack),
            Some(&DATA_CHANNEL_OPEN) => decode_open(bytes).map(Self::Open),
            Some(&other) => Err(DcepError::UnknownMessageType(other)),
            None => Err(DcepError::Length { len: 0, expected: 1 }),
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Ack => vec![DATA_CHANNEL_ACK],
            Self::Open(options) => encode_open(options),
        }
    }
}

fn decode_open(bytes: &[u8]) -> Result<ChannelOptions, DcepError> {
    let len = bytes.len();
    let Some((&[_, ty, p0, p1, r0, r1, r2, r3, l0, l1, q0, q1], texts)) =
        bytes.split_first_chunk::<OPEN_FIXED_LEN>()
    else {
        return Err(DcepError::Length { len, expected: OPEN_FIXED_LEN });
    };
    let label_len = usize::from(u16::from_be_bytes([l0, l1]));
    let protocol_len = usize::from(u16::from_be_bytes([q0, q1]));
    let expected = OPEN_FIXED_LEN + label_len + protocol_len;
    let Some((label, protocol)) = texts.split_at_checked(label_len).filter(|_| len == expected)
    else {
        return Err(DcepError::Length { len, expected });
    };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| DcepError::NotUtf8);
    let parameter = u32::from_be_bytes([r0, r1, r2, r3]);
    Ok(ChannelOptions {
        label: text(label)?,
        protocol: text(protocol)?,
        ordered: ty & UNORDERED == 0,
        reliability: match ty & !UNORDERED {
            RELIABLE => Reliability::Reliable,
            PARTIAL_RELIABLE_REXMIT => Reliability::MaxRetransmissions(parameter),
            PARTIAL_RELIABLE_TIMED => {
                Reliability::Lifetime(Duration::from_millis(parameter.into()))
            }
            _ => return Err(DcepError::UnknownChannelType(ty)),
        },
        priority: u16::from_be_bytes([p0, p1]),
    })
}

fn encode_open(options: &ChannelOptions) -> Vec<u8> {
    let (ty, parameter) = match options.reliability {
        Reliability::Reliable => (RELIABLE, 0),
        Reliability::MaxRetransmissions(max) => (PARTIAL_RELIABLE_REXMIT, max),
        Reliability::Lifetime(lifetime) => {
            (PARTIAL_RELIABLE_TIMED, u32::try_from(lifetime.as_millis()).unwrap_or(u32::MAX))
        }
    };
    let (label, protocol) = (cut(&options.label), cut(&options.protocol));
    let mut bytes = vec![DATA_CHANNEL_OPEN, ty | if options.ordered { 0 } else { UNORDERED }];
    bytes.extend(options.priority.to_be_bytes());
    bytes.extend(parameter.to_be_bytes());
    bytes.extend((label.len() as u16).to_be_bytes());
    bytes.extend((protocol.len() as u16).to_be_bytes());
    bytes.extend(label.as_bytes());
    bytes.extend(protocol.as_bytes());
    bytes
}

/// As much of a text as its length field can say.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(usize::from(u16::MAX));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(ordered: bool, reliability: Reliability) -> Dcep {
        let label = "canal \u{e9}".into();
        let protocol = "p".into();
        Dcep::Open(ChannelOptions { label, protocol, ordered, reliability, priority: 512 })
    }

    #[test]
    fn chromium_opens_a_channel() {
        let bytes = [&[0x03, 0x81, 1, 0, 0, 0, 0, 3, 0, 4, 0, 0][..], b"chat"].concat();
        let options = ChannelOptions {
            ordered: false,
            reliability: Reliability::MaxRetransmissions(3),
            ..ChannelOptions::new("chat")
        };
        assert_eq!(Dcep::decode(&bytes), Ok(Dcep::Open(options.clone())));
        assert_eq!(Dcep::Open(options).encode(), bytes);
        assert_eq!(Dcep::decode(&[2]), Ok(Dcep::Ack));
    }

    #[test]
    fn every_treatment_survives_a_round_trip() {
        for ordered in [true, false] {
            for reliability in [
                Reliability::Reliable,
                Reliability::MaxRetransmissions(u32::MAX),
                Reliability::Lifetime(Duration::from_millis(1_500)),
            ] {
                let open = open(ordered, reliability);
                assert_eq!(Dcep::decode(&open.encode()), Ok(open));
            }
        }
    }

    #[test]
    fn what_is_not_well_formed_is_refused() {
        let good = open(true, Reliability::Reliable).encode();
        for len in 1..good.len() {
            let refused = Dcep::decode(&good[..len]);
            assert!(matches!(refused, Err(DcepError::Length { .. })), "{len}: {refused:?}");
        }
        let mut bad = good.clone();
        bad[1] = 0x03;
        assert_eq!(Dcep::decode(&bad), Err(DcepError::UnknownChannelType(3)));
        bad.clone_from(&good);
        bad[12] = 0xff;
        assert_eq!(Dcep::decode(&bad), Err(DcepError::NotUtf8));
        assert_eq!(Dcep::decode(&[7]), Err(DcepError::UnknownMessageType(7)));
        assert_eq!(Dcep::decode(&[]), Err(DcepError::Length { len: 0, expected: 1 }));
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let long = "\u{e9}".repeat(40_000);
        assert_eq!(cut(&long).len(), 65_534);
    }
}
