//! [`Frame`]: what a DCCP datagram of a session holds. `docs/session-protocol.md` has the format.

use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes};

use crate::{PayloadId, StreamId};

/// Bytes that a datagram needs beside the payload of a message, once its connection is known.
pub(super) const OVERHEAD: usize = 28;

/// Ranges of one connection that an acknowledgement holds at most.
pub(super) const RANGES_MAX: usize = 32;

/// Connections that an acknowledgement reports at most.
pub(super) const BLOCKS_MAX: usize = 32;

const PING: u8 = 0;
const FRAGMENT: u8 = 1;
const ACKS: u8 = 2;
const BYE: u8 = 3;
const QUERY: u8 = 4;
const WANT: u8 = 5;
const CLOSED: u8 = 6;
/// A [`Join`] follows.
const JOINS: u8 = 0x80;

const IS_FIRST: u8 = 1;
const IS_AUTOMATIC: u8 = 2;

const IS_REPEATED: u8 = 1;
const IS_ORDERED: u8 = 2;
const IS_CUT: u8 = 4;
const IS_AGAIN: u8 = 8;

/// What a datagram holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    /// Until the other end has answered on this connection.
    pub(super) join: Option<Join>,
    pub(super) body: Body,
}

/// To whom a DCCP connection belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Join {
    /// The name of the trunk, which its caller chose.
    pub(super) trunk: u64,
    /// Whether the trunk may be new to the other end.
    pub(super) is_first: bool,
    /// Whether who sends data chooses how many connections a path has.
    pub(super) is_automatic: bool,
    pub(super) path: u16,
    /// How often the path was opened anew.
    pub(super) generation: u32,
    /// The number of the connection within its trunk.
    pub(super) member: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    /// Asks for an acknowledgement.
    Ping { number: u64 },
    /// Asks for what has arrived on all connections.
    Query { number: u64 },
    /// A message, or a part of one.
    Fragment { number: u64, fragment: Fragment },
    /// What has arrived.
    Acks(Acks),
    /// How many connections the sender would have on a path.
    Want { path: u16, count: u32 },
    /// The sender has closed a path.
    Closed { number: u64, path: u16 },
    /// The last words.
    Bye { number: u64, reason: Bytes },
}

/// A message, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fragment {
    pub(super) stream: StreamId,
    pub(super) payload_id: PayloadId,
    /// The number of the message among those that are repeated, or among those that are not.
    pub(super) message: u64,
    /// Whether it is sent until it is acknowledged.
    pub(super) is_repeated: bool,
    /// Whether it was sent before.
    pub(super) is_again: bool,
    /// The number of the message among the ordered ones of its stream.
    pub(super) turn: Option<u64>,
    /// Which part of how many.
    pub(super) index: u32,
    pub(super) count: u32,
    pub(super) payload: Bytes,
}

/// What has arrived, and how much may come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Acks {
    /// Bytes of repeated messages that the receiver takes in all, from the trunk's beginning.
    pub(super) limit: u64,
    pub(super) blocks: Vec<AckBlock>,
}

/// What has arrived on one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AckBlock {
    pub(super) member: u32,
    /// How long ago the greatest number came.
    pub(super) delay: Duration,
    /// First and last numbers, the latest range first.
    pub(super) ranges: Vec<(u64, u64)>,
}

impl Frame {
    pub(super) fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(64);
        let joins = if self.join.is_some() { JOINS } else { 0 };
        out.push(joins | self.body.kind());
        if let Some(join) = &self.join {
            join.encode(&mut out);
        }
        match &self.body {
            Body::Ping { number } | Body::Query { number } => put_varint(&mut out, *number),
            Body::Fragment { number, fragment } => {
                put_varint(&mut out, *number);
                fragment.encode(&mut out);
            }
            Body::Acks(acks) => acks.encode(&mut out),
            Body::Want { path, count } => {
                put_varint(&mut out, (*path).into());
                put_varint(&mut out, (*count).into());
            }
            Body::Closed { number, path } => {
                put_varint(&mut out, *number);
                put_varint(&mut out, (*path).into());
            }
            Body::Bye { number, reason } => {
                put_varint(&mut out, *number);
                out.extend_from_slice(reason);
            }
        }
        out.into()
    }

    /// `None`: it is none.
    pub(super) fn decode(mut bytes: Bytes) -> Option<Self> {
        let first = take_u8(&mut bytes)?;
        let join = match first & JOINS {
            0 => None,
            _ => Some(Join::decode(&mut bytes)?),
        };
        let body = match first & !JOINS {
            PING => Body::Ping { number: take_varint(&mut bytes)? },
            QUERY => Body::Query { number: take_varint(&mut bytes)? },
            FRAGMENT => {
                let number = take_varint(&mut bytes)?;
                Body::Fragment { number, fragment: Fragment::decode(bytes)? }
            }
            ACKS => Body::Acks(Acks::decode(&mut bytes)?),
            WANT => {
                let path = u16::try_from(take_varint(&mut bytes)?).ok()?;
                Body::Want { path, count: u32::try_from(take_varint(&mut bytes)?).ok()? }
            }
            CLOSED => {
                let number = take_varint(&mut bytes)?;
                Body::Closed { number, path: u16::try_from(take_varint(&mut bytes)?).ok()? }
            }
            BYE => Body::Bye { number: take_varint(&mut bytes)?, reason: bytes },
            _ => return None,
        };
        Some(Self { join, body })
    }
}

impl Body {
    const fn kind(&self) -> u8 {
        match self {
            Self::Ping { .. } => PING,
            Self::Query { .. } => QUERY,
            Self::Fragment { .. } => FRAGMENT,
            Self::Acks(_) => ACKS,
            Self::Want { .. } => WANT,
            Self::Closed { .. } => CLOSED,
            Self::Bye { .. } => BYE,
        }
    }
}

impl Join {
    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u64(self.trunk);
        let first = if self.is_first { IS_FIRST } else { 0 };
        out.push(first | if self.is_automatic { IS_AUTOMATIC } else { 0 });
        put_varint(out, self.path.into());
        put_varint(out, self.generation.into());
        put_varint(out, self.member.into());
    }

    fn decode(bytes: &mut Bytes) -> Option<Self> {
        if bytes.len() < 8 {
            return None;
        }
        let trunk = bytes.get_u64();
        let flags = take_u8(bytes)?;
        let (is_first, is_automatic) = (flags & IS_FIRST != 0, flags & IS_AUTOMATIC != 0);
        let path = u16::try_from(take_varint(bytes)?).ok()?;
        let generation = u32::try_from(take_varint(bytes)?).ok()?;
        let member = u32::try_from(take_varint(bytes)?).ok()?;
        Some(Self { trunk, is_first, is_automatic, path, generation, member })
    }
}

impl Fragment {
    fn encode(&self, out: &mut Vec<u8>) {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        out.push(
            flag(self.is_repeated, IS_REPEATED)
                | flag(self.turn.is_some(), IS_ORDERED)
                | flag(self.count > 1, IS_CUT)
                | flag(self.is_again, IS_AGAIN),
        );
        put_varint(out, self.stream.0.into());
        out.put_u32(self.payload_id.0);
        put_varint(out, self.message);
        if let Some(turn) = self.turn {
            put_varint(out, turn);
        }
        if self.count > 1 {
            put_varint(out, self.index.into());
            put_varint(out, self.count.into());
        }
        out.extend_from_slice(&self.payload);
    }

    fn decode(mut bytes: Bytes) -> Option<Self> {
        let flags = take_u8(&mut bytes)?;
        let stream = StreamId(u16::try_from(take_varint(&mut bytes)?).ok()?);
        if bytes.len() < 4 {
            return None;
        }
        let payload_id = PayloadId(bytes.get_u32());
        let message = take_varint(&mut bytes)?;
        let turn = match flags & IS_ORDERED {
            0 => None,
            _ => Some(take_varint(&mut bytes)?),
        };
        let (mut index, mut count) = (0, 1);
        if flags & IS_CUT != 0 {
            index = u32::try_from(take_varint(&mut bytes)?).ok()?;
            count = u32::try_from(take_varint(&mut bytes)?).ok()?;
        }
        let is_repeated = flags & IS_REPEATED != 0;
        let is_again = flags & IS_AGAIN != 0;
        let is_sound = index < count && !bytes.is_empty();
        is_sound.then_some(Self {
            stream,
            payload_id,
            message,
            is_repeated,
            is_again,
            turn,
            index,
            count,
            payload: bytes,
        })
    }
}

impl Acks {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.limit);
        for block in &self.blocks {
            put_varint(out, block.member.into());
            put_varint(out, u64::try_from(block.delay.as_micros()).unwrap_or(u64::MAX));
            put_varint(out, block.ranges.len() as u64);
            let mut above = None;
            for (first, last) in &block.ranges {
                match above {
                    None => put_varint(out, *last),
                    Some(above) => put_varint(out, above - last - 2),
                }
                put_varint(out, last - first);
                above = Some(*first);
            }
        }
    }

    fn decode(bytes: &mut Bytes) -> Option<Self> {
        let limit = take_varint(bytes)?;
        let mut blocks = Vec::new();
        while !bytes.is_empty() {
            if blocks.len() == BLOCKS_MAX {
                return None;
            }
            blocks.push(AckBlock::decode(bytes)?);
        }
        Some(Self { limit, blocks })
    }
}

impl AckBlock {
    fn decode(bytes: &mut Bytes) -> Option<Self> {
        let member = u32::try_from(take_varint(bytes)?).ok()?;
        let delay = Duration::from_micros(take_varint(bytes)?);
        let count = take_varint(bytes)?;
        if !(1..=RANGES_MAX as u64).contains(&count) {
            return None;
        }
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for _ in 0..count {
            let value = take_varint(bytes)?;
            let last = match ranges.last() {
                None => value,
                Some((above, _)) => above.checked_sub(value)?.checked_sub(2)?,
            };
            ranges.push((last.checked_sub(take_varint(bytes)?)?, last));
        }
        Some(Self { member, delay, ranges })
    }
}

/// Seven bits a byte, the lowest first; the top bit says that another byte follows.
fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_varint(bytes: &mut Bytes) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let byte = take_u8(bytes)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn take_u8(bytes: &mut Bytes) -> Option<u8> {
    (!bytes.is_empty()).then(|| bytes.get_u8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment() -> Fragment {
        Fragment {
            stream: StreamId(7),
            payload_id: PayloadId(0x616e_6101),
            message: 1 << 40,
            is_repeated: true,
            is_again: true,
            turn: Some(300),
            index: 2,
            count: 12,
            payload: Bytes::from_static(b"payload"),
        }
    }

    fn frames() -> Vec<Frame> {
        let join = Join {
            trunk: u64::MAX,
            is_first: true,
            is_automatic: true,
            path: 1,
            generation: 200,
            member: 515,
        };
        let plain = Fragment {
            is_repeated: false,
            is_again: false,
            turn: None,
            index: 0,
            count: 1,
            ..fragment()
        };
        let delay = Duration::from_micros(12_345);
        let blocks = vec![
            AckBlock { member: 0, delay, ranges: vec![(900, 1_000), (5, 898), (0, 3)] },
            AckBlock { member: 900, delay: Duration::ZERO, ranges: vec![(7, 7)] },
        ];
        let bodies = [
            Body::Ping { number: 0 },
            Body::Query { number: 1 << 20 },
            Body::Fragment { number: 128, fragment: fragment() },
            Body::Fragment { number: 1, fragment: plain },
            Body::Acks(Acks { limit: 1 << 30, blocks }),
            Body::Acks(Acks { limit: 0, blocks: Vec::new() }),
            Body::Want { path: 3, count: 12 },
            Body::Closed { number: 300, path: 259 },
            Body::Bye { number: 9, reason: Bytes::from_static(b"enough") },
            Body::Bye { number: 9, reason: Bytes::new() },
        ];
        let joined = bodies.iter().map(|body| Frame { join: Some(join), body: body.clone() });
        let alone = bodies.iter().map(|body| Frame { join: None, body: body.clone() });
        joined.chain(alone).collect()
    }

    #[test]
    fn every_frame_survives_the_way() {
        for frame in frames() {
            assert_eq!(Frame::decode(frame.encode()), Some(frame));
        }
    }

    #[test]
    fn a_frame_that_is_cut_off_or_changed_is_refused_or_another_one() {
        for frame in frames() {
            let bytes = frame.encode();
            for len in 0..bytes.len() {
                let _any = Frame::decode(bytes.slice(..len));
            }
            for at in 0..bytes.len() {
                for value in [0, 1, 0x7f, 0x80, 0xff] {
                    let mut changed = bytes.to_vec();
                    changed[at] = value;
                    let _any = Frame::decode(changed.into());
                }
            }
        }
        let refused: [&[u8]; 6] = [b"", b"\x06", b"\x00", b"\x80\x00", b"\x01\x00\x00", b"\x03"];
        for bytes in refused {
            assert_eq!(Frame::decode(Bytes::copy_from_slice(bytes)), None, "{bytes:?}");
        }
        // Ranges that would go below zero.
        let below = b"\x02\x00\x00\x00\x02\x05\x01\x04\x00";
        assert_eq!(Frame::decode(Bytes::from_static(below)), None);
    }

    #[test]
    fn what_a_frame_takes_beside_its_payload_is_reckoned_with() {
        let fragment = Fragment { message: 1 << 34, turn: Some(1 << 34), ..fragment() };
        let len = fragment.payload.len();
        let frame = Frame { join: None, body: Body::Fragment { number: 1 << 34, fragment } };
        assert!(frame.encode().len() - len <= OVERHEAD, "{}", frame.encode().len() - len);
    }
}
