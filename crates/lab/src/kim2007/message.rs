//! [`Message`]: what the server streams, and what a client asks for.

use std::time::Duration;

use bytes::Bytes;

/// The paper's messages of its file of 2 MB: "a constant value of 1024 bytes".
pub const MESSAGES: u32 = (2 << 20) / 1_024;
/// Between two of the paper's messages of a channel.
pub(super) const INTERVAL: Duration = Duration::from_millis(8);
/// Bytes of a client's request for a channel.
pub(super) const REQUEST_LEN: usize = 16;

/// Stands for the bytes of the file, which no transport reads.
const FILLER: u8 = 0x5a;

/// A piece of a channel's media. Its place is written at its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    /// Counted from zero.
    pub(super) channel: u16,
    /// Counted from zero in each channel.
    pub(super) number: u32,
}

impl Message {
    pub(super) fn encode(self, len: usize) -> Bytes {
        let mut bytes = vec![FILLER; len];
        bytes[..2].copy_from_slice(&self.channel.to_be_bytes());
        bytes[2..6].copy_from_slice(&self.number.to_be_bytes());
        bytes.into()
    }

    /// `None` for what is none of this length.
    pub(super) fn decode(bytes: &[u8], len: usize) -> Option<Self> {
        let (channel, rest) = bytes.split_first_chunk()?;
        let (number, _) = rest.split_first_chunk()?;
        let is_whole = bytes.len() == len;
        is_whole.then_some(Self {
            channel: u16::from_be_bytes(*channel),
            number: u32::from_be_bytes(*number),
        })
    }
}

/// A request for a channel.
pub(super) fn encode_request(channel: u16) -> Bytes {
    let mut bytes = vec![FILLER; REQUEST_LEN];
    bytes[..2].copy_from_slice(&channel.to_be_bytes());
    bytes.into()
}

/// `None` for what is no request.
pub(super) fn decode_request(bytes: &[u8]) -> Option<u16> {
    let channel = bytes.first_chunk().filter(|_| bytes.len() == REQUEST_LEN)?;
    Some(u16::from_be_bytes(*channel))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written_and_nothing_else_is_one() {
        let message = Message { channel: 2, number: 70_000 };
        let bytes = message.encode(1_024);
        assert_eq!(Message::decode(&bytes, 1_024), Some(message));
        assert_eq!(Message::decode(&bytes[1..], 1_024), None);
        assert_eq!(decode_request(&encode_request(7)), Some(7));
        assert_eq!(decode_request(&bytes), None);
    }
}
