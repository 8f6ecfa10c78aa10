//! [`MultipathOption`]: Multipath DCCP (RFC 9897), which has one option type for all it says.
//!
//! The sections are those of the last draft, draft-ietf-tsvwg-multipath-dccp-25.

use std::net::IpAddr;

use super::{Entry, OptionType, Options};
use crate::wire::SequenceNumber;

/// Bytes of an HMAC, section 3.2.6: "truncated to the leftmost 160 bits (20 bytes)".
pub const HMAC_LEN: usize = 20;

/// Bytes of a key in plain text, section 3.2.4.
pub const PLAIN_KEY_LEN: usize = 8;

/// Bytes of an experimental key, section 3.2.4.
const EXPERIMENTAL_KEY_LEN: usize = 64;

/// What both ends of a multipath connection tell each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MultipathOption<'a> {
    /// MP_CONFIRM, section 3.2.1: these options arrived.
    Confirm(Confirmations<'a>),
    /// MP_JOIN, section 3.2.2: the subflow belongs to a connection.
    Join {
        /// The sender's name for its address.
        address_id: u8,
        /// The receiver's name for the connection.
        connection: u32,
        /// What makes the HMAC of this handshake another one than that of all before.
        nonce: u32,
    },
    /// MP_FAST_CLOSE, section 3.2.3: the connection ends at once. The receiver's key.
    FastClose(&'a [u8]),
    /// MP_KEY, section 3.2.4: a connection begins.
    Key {
        /// The sender's name for it.
        connection: u32,
        /// The sender's keys.
        keys: Keys<'a>,
    },
    /// MP_SEQ, section 3.2.5: which one of all datagrams of the connection this is.
    Seq(SequenceNumber),
    /// MP_HMAC, section 3.2.6: who sent the option before it knows the keys.
    Hmac([u8; HMAC_LEN]),
    /// MP_RTT, section 3.2.7.
    Rtt {
        /// What was measured how: 0 raw, 1 least, 2 greatest, 3 smoothed.
        kind: u8,
        /// The round-trip time in milliseconds.
        rtt: u32,
        /// How many milliseconds ago it was measured.
        age: u32,
    },
    /// MP_ADDADDR, section 3.2.8: the sender can be reached there, too.
    AddAddress {
        /// The sender's name for the address.
        id: u8,
        /// What makes each HMAC another one.
        nonce: u32,
        /// The address.
        ip: IpAddr,
        /// DCCP's port, if it is not that of the subflow.
        port: Option<u16>,
    },
    /// MP_REMOVEADDR, section 3.2.9: nobody can be reached there any more.
    RemoveAddress {
        /// The sender's name for the address.
        id: u8,
        /// What makes each HMAC another one.
        nonce: u32,
    },
    /// MP_PRIO, section 3.2.10: how the subflow is to be used, 0 to 15.
    Priority(u8),
    /// MP_CLOSE, section 3.2.11: the connection ends. The receiver's key.
    Close(&'a [u8]),
    /// MP_EXP, section 3.2.12.
    Experimental(&'a [u8]),
}

/// What MP_CONFIRM says: options as they came, behind the MP_SEQ that they came with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Confirmations<'a>(&'a [u8]);

impl<'a> Confirmations<'a> {
    /// Of options that are already written, each with its type and length.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The options. What cannot be read is left out.
    pub fn iter(&self) -> impl Iterator<Item = MultipathOption<'a>> + use<'a> {
        let entries = Options::new(self.0).iter().filter_map(Result::ok);
        let multipath = entries.filter(|entry: &Entry<'a>| entry.ty == OptionType::MULTIPATH);
        multipath.filter_map(|entry| MultipathOption::decode(entry.data))
    }
}

/// What MP_KEY says: keys, each with its type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keys<'a>(&'a [u8]);

impl<'a> Keys<'a> {
    /// Of keys that are already written, each behind a byte with its type.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The key in plain text, if there is one.
    ///
    /// Section 3.2.4: "at least Key Type 0 (Plain Text) MUST be supported for interoperability
    /// tests in implementations of MP-DCCP." We know no other.
    #[must_use]
    pub fn plain(&self) -> Option<[u8; PLAIN_KEY_LEN]> {
        let mut rest = self.0;
        loop {
            let (ty, behind) = rest.split_first()?;
            match ty {
                0 => return behind.first_chunk().copied(),
                255 => rest = behind.get(EXPERIMENTAL_KEY_LEN..)?,
                // A type whose length nobody told: what follows cannot be found.
                _ => return None,
            }
        }
    }
}

/// MP_OPT, section 3.2.
mod kind {
    pub(super) const CONFIRM: u8 = 0;
    pub(super) const JOIN: u8 = 1;
    pub(super) const FAST_CLOSE: u8 = 2;
    pub(super) const KEY: u8 = 3;
    pub(super) const SEQ: u8 = 4;
    pub(super) const HMAC: u8 = 5;
    pub(super) const RTT: u8 = 6;
    pub(super) const ADD_ADDRESS: u8 = 7;
    pub(super) const REMOVE_ADDRESS: u8 = 8;
    pub(super) const PRIORITY: u8 = 9;
    pub(super) const CLOSE: u8 = 10;
    pub(super) const EXPERIMENTAL: u8 = 11;
}

impl<'a> MultipathOption<'a> {
    /// What follows type and length.
    pub(crate) fn to_data(self) -> Vec<u8> {
        let mut data = Vec::new();
        self.encode(&mut data);
        data
    }

    /// Reads what follows type and length; `None` if it is unknown or of a wrong length.
    pub(crate) fn of_data(data: &'a [u8]) -> Option<Self> {
        Self::decode(data)
    }

    pub(super) fn decode(data: &'a [u8]) -> Option<Self> {
        let (kind, rest) = data.split_first()?;
        Some(match *kind {
            kind::CONFIRM => Self::Confirm(Confirmations(rest)),
            kind::JOIN => {
                let (address_id, words) = rest.split_first()?;
                let [connection, nonce] = two_words(words)?;
                Self::Join { address_id: *address_id, connection, nonce }
            }
            kind::FAST_CLOSE => Self::FastClose(rest),
            kind::KEY => {
                let (_reserved, rest) = rest.split_first()?;
                let (connection, keys) = rest.split_first_chunk()?;
                Self::Key { connection: u32::from_be_bytes(*connection), keys: Keys(keys) }
            }
            kind::SEQ => {
                let [a, b, c, d, e, f] = *<&[u8; 6]>::try_from(rest).ok()?;
                Self::Seq(SequenceNumber::new(u64::from_be_bytes([0, 0, a, b, c, d, e, f])))
            }
            kind::HMAC => Self::Hmac(rest.try_into().ok()?),
            kind::RTT => {
                let (kind, words) = rest.split_first()?;
                let [rtt, age] = two_words(words)?;
                Self::Rtt { kind: *kind, rtt, age }
            }
            kind::ADD_ADDRESS => add_address(rest)?,
            kind::REMOVE_ADDRESS => {
                let (id, nonce) = rest.split_first()?;
                Self::RemoveAddress { id: *id, nonce: u32::from_be_bytes(nonce.try_into().ok()?) }
            }
            kind::PRIORITY => match rest {
                [priority] => Self::Priority(priority & 0xf),
                _ => return None,
            },
            kind::CLOSE => Self::Close(rest),
            kind::EXPERIMENTAL => Self::Experimental(rest),
            _ => return None,
        })
    }

    /// Appends what follows type and length.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.kind());
        match *self {
            Self::Confirm(Confirmations(bytes))
            | Self::FastClose(bytes)
            | Self::Close(bytes)
            | Self::Experimental(bytes) => out.extend_from_slice(bytes),
            Self::Join { address_id, connection, nonce } => {
                out.push(address_id);
                out.extend(connection.to_be_bytes());
                out.extend(nonce.to_be_bytes());
            }
            Self::Key { connection, keys } => {
                out.push(0);
                out.extend(connection.to_be_bytes());
                out.extend_from_slice(keys.0);
            }
            Self::Seq(number) => out.extend(number.value().to_be_bytes().into_iter().skip(2)),
            Self::Hmac(hmac) => out.extend(hmac),
            Self::Rtt { kind, rtt, age } => {
                out.push(kind);
                out.extend(rtt.to_be_bytes());
                out.extend(age.to_be_bytes());
            }
            Self::AddAddress { id, nonce, ip, port } => {
                out.push(id);
                out.extend(nonce.to_be_bytes());
                match ip {
                    IpAddr::V4(ip) => out.extend(ip.octets()),
                    IpAddr::V6(ip) => out.extend(ip.octets()),
                }
                out.extend(port.into_iter().flat_map(u16::to_be_bytes));
            }
            Self::RemoveAddress { id, nonce } => {
                out.push(id);
                out.extend(nonce.to_be_bytes());
            }
            Self::Priority(priority) => out.push(priority & 0xf),
        }
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Confirm(_) => kind::CONFIRM,
            Self::Join { .. } => kind::JOIN,
            Self::FastClose(_) => kind::FAST_CLOSE,
            Self::Key { .. } => kind::KEY,
            Self::Seq(_) => kind::SEQ,
            Self::Hmac(_) => kind::HMAC,
            Self::Rtt { .. } => kind::RTT,
            Self::AddAddress { .. } => kind::ADD_ADDRESS,
            Self::RemoveAddress { .. } => kind::REMOVE_ADDRESS,
            Self::Priority(_) => kind::PRIORITY,
            Self::Close(_) => kind::CLOSE,
            Self::Experimental(_) => kind::EXPERIMENTAL,
        }
    }
}

fn two_words(bytes: &[u8]) -> Option<[u32; 2]> {
    let [a, b, c, d, e, f, g, h] = *<&[u8; 8]>::try_from(bytes).ok()?;
    Some([u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])])
}

/// Section 3.2.8: "their presence can be inferred from the length of the option."
fn add_address(bytes: &[u8]) -> Option<MultipathOption<'_>> {
    let (id, rest) = bytes.split_first()?;
    let (nonce, rest) = rest.split_first_chunk()?;
    let (ip, port): (IpAddr, &[u8]) = match rest.len() {
        4 | 6 => rest.split_first_chunk::<4>().map(|(ip, port)| ((*ip).into(), port))?,
        16 | 18 => rest.split_first_chunk::<16>().map(|(ip, port)| ((*ip).into(), port))?,
        _ => return None,
    };
    let port = port.try_into().ok().map(u16::from_be_bytes);
    Some(MultipathOption::AddAddress { id: *id, nonce: u32::from_be_bytes(*nonce), ip, port })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{OptionsBuf, PacketOption};

    fn written(option: MultipathOption<'_>) -> Vec<u8> {
        let mut options = OptionsBuf::new();
        assert!(options.push(&PacketOption::Multipath(option)));
        options.as_options().as_bytes().to_vec()
    }

    fn read(bytes: &[u8]) -> Option<MultipathOption<'_>> {
        match Options::new(bytes).iter().next()?.ok()?.decode() {
            Ok(PacketOption::Multipath(option)) => Some(option),
            _ => None,
        }
    }

    fn all() -> Vec<MultipathOption<'static>> {
        let (id, nonce) = (2, 0x0102_0304);
        let (v4, v6) =
            (IpAddr::from([192, 0, 2, 1]), IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]));
        vec![
            MultipathOption::Confirm(Confirmations::new(&[46, 4, 9, 3])),
            MultipathOption::Join { address_id: 1, connection: 7, nonce },
            MultipathOption::FastClose(&[1; 8]),
            MultipathOption::Key { connection: 7, keys: Keys::new(&[0, 1, 2, 3, 4, 5, 6, 7, 8]) },
            MultipathOption::Seq(SequenceNumber::new(0x0102_0304_0506)),
            MultipathOption::Hmac([5; HMAC_LEN]),
            MultipathOption::Rtt { kind: 3, rtt: 20, age: 4 },
            MultipathOption::AddAddress { id, nonce, ip: v4, port: None },
            MultipathOption::AddAddress { id, nonce, ip: v4, port: Some(5_001) },
            MultipathOption::AddAddress { id, nonce, ip: v6, port: None },
            MultipathOption::AddAddress { id, nonce, ip: v6, port: Some(5_001) },
            MultipathOption::RemoveAddress { id, nonce },
            MultipathOption::Priority(15),
            MultipathOption::Close(&[1; 8]),
            MultipathOption::Experimental(&[]),
        ]
    }

    #[test]
    fn what_is_written_is_read_with_the_lengths_of_the_draft() {
        // Length counts type and length, too: section 3.2's table.
        let lengths = [7, 12, 11, 17, 9, 23, 12, 12, 14, 24, 26, 8, 4, 11, 3];
        for (option, length) in all().into_iter().zip(lengths) {
            let bytes = written(option);
            assert_eq!((bytes[0], bytes[1]), (46, length), "{option:?}");
            assert_eq!(read(&bytes), Some(option));
        }
    }

    #[test]
    fn a_join_lies_on_the_wire_as_the_draft_draws_it() {
        let join = MultipathOption::Join { address_id: 9, connection: 0x0a0b_0c0d, nonce: 1 };
        assert_eq!(written(join), [46, 12, 1, 9, 0x0a, 0x0b, 0x0c, 0x0d, 0, 0, 0, 1]);
        let prio = MultipathOption::Priority(3);
        assert_eq!(written(prio), [46, 4, 9, 3]);
    }

    #[test]
    fn an_option_of_another_length_or_of_no_known_kind_is_ignored() {
        // Keys in MP_CLOSE, experiments and lists may have any length.
        let flexible = |option: &MultipathOption<'_>| {
            matches!(
                option,
                MultipathOption::Confirm(_)
                    | MultipathOption::FastClose(_)
                    | MultipathOption::Close(_)
                    | MultipathOption::Experimental(_)
                    | MultipathOption::Key { .. }
                    | MultipathOption::AddAddress { .. }
            )
        };
        for option in all().into_iter().filter(|option| !flexible(option)) {
            let mut data = Vec::new();
            option.encode(&mut data);
            assert_eq!(MultipathOption::decode(&data[..data.len() - 1]), None, "{option:?}");
            data.push(0);
            assert_eq!(MultipathOption::decode(&data), None, "{option:?}");
        }
        let address = [7, 2, 0, 0, 0, 1, 192, 0, 2];
        assert_eq!(MultipathOption::decode(&address), None, "three bytes are no address");
        assert_eq!(MultipathOption::decode(&[12, 0]), None);
        assert_eq!(MultipathOption::decode(&[]), None);
    }

    #[test]
    fn the_plain_key_is_found_behind_an_experimental_one_and_not_behind_an_unknown_one() {
        let plain = [0, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(Keys::new(&plain).plain(), Some([1, 2, 3, 4, 5, 6, 7, 8]));
        let experimental = [&[255][..], &[9; 64], &plain].concat();
        assert_eq!(Keys::new(&experimental).plain(), Some([1, 2, 3, 4, 5, 6, 7, 8]));
        assert_eq!(Keys::new(&[&[7][..], &plain].concat()).plain(), None);
        assert_eq!(Keys::new(&plain[..8]).plain(), None, "a byte is missing");
    }

    #[test]
    fn confirmations_are_the_options_that_came() {
        let seq = MultipathOption::Seq(SequenceNumber::new(1));
        let mut list = written(seq);
        // Padding of the packet that the option came in is none of it.
        list.truncate(9);
        list.extend(written(MultipathOption::Priority(4)));
        let confirm = written(MultipathOption::Confirm(Confirmations::new(&list)));
        let Some(MultipathOption::Confirm(list)) = read(&confirm) else { panic!("{confirm:?}") };
        assert_eq!(list.iter().collect::<Vec<_>>(), [seq, MultipathOption::Priority(4)]);
    }
}
