//! [`Chunk`]: what packets consist of.

mod abort;
mod asconf;
mod asconf_ack;
mod auth;
mod cookie_ack;
mod cookie_echo;
mod cwr;
mod data;
mod dtls;
mod ecne;
mod error;
mod forward_tsn;
mod heartbeat;
mod heartbeat_ack;
mod i_data;
mod i_forward_tsn;
mod init;
mod init_ack;
mod pad;
mod re_config;
mod sack;
mod shutdown;
mod shutdown_ack;
mod shutdown_complete;
mod unknown;

pub use abort::Abort;
pub use asconf::Asconf;
pub use asconf_ack::AsconfAck;
pub use auth::Auth;
pub use cookie_ack::CookieAck;
pub use cookie_echo::CookieEcho;
pub use cwr::Cwr;
pub use data::Data;
pub use dtls::Dtls;
pub use ecne::Ecne;
pub use error::ErrorChunk;
pub use forward_tsn::{ForwardTsn, SkippedStream};
pub use heartbeat::Heartbeat;
pub use heartbeat_ack::HeartbeatAck;
pub use i_data::{FragmentPlace, IData};
pub use i_forward_tsn::{IForwardTsn, SkippedMessages};
pub use init::Init;
pub use init_ack::InitAck;
pub use pad::Pad;
pub use re_config::ReConfig;
pub use sack::{GapAckBlock, Sack};
pub use shutdown::Shutdown;
pub use shutdown_ack::ShutdownAck;
pub use shutdown_complete::ShutdownComplete;
pub use unknown::UnknownChunk;

use crate::{ChunkType, DecodeError, Tsn, tlv};

/// The type, flags and length of a chunk.
pub(crate) const HEADER_LEN: usize = 4;

/// A chunk of any type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunk<'a> {
    /// Payload Data.
    Data(Data<'a>),
    /// Initiation.
    Init(Init<'a>),
    /// Initiation Acknowledgement.
    InitAck(InitAck<'a>),
    /// Selective Acknowledgement.
    Sack(Sack<'a>),
    /// Heartbeat Request.
    Heartbeat(Heartbeat<'a>),
    /// Heartbeat Acknowledgement.
    HeartbeatAck(HeartbeatAck<'a>),
    /// Abort Association.
    Abort(Abort<'a>),
    /// Shutdown Association.
    Shutdown(Shutdown),
    /// Shutdown Acknowledgement: [`ShutdownAck`].
    ShutdownAck,
    /// Operation Error.
    Error(ErrorChunk<'a>),
    /// Cookie Echo.
    CookieEcho(CookieEcho<'a>),
    /// Cookie Acknowledgement: [`CookieAck`].
    CookieAck,
    /// Explicit Congestion Notification Echo.
    Ecne(Ecne),
    /// Congestion Window Reduced.
    Cwr(Cwr),
    /// Shutdown Complete.
    ShutdownComplete(ShutdownComplete),
    /// Authentication.
    Auth(Auth<'a>),
    /// Payload Data supporting Interleaving.
    IData(IData<'a>),
    /// All chunks of a packet, sealed.
    Dtls(Dtls<'a>),
    /// Address Configuration Acknowledgment.
    AsconfAck(AsconfAck<'a>),
    /// Re-configuration.
    ReConfig(ReConfig<'a>),
    /// Padding.
    Pad(Pad<'a>),
    /// Forward Cumulative TSN.
    ForwardTsn(ForwardTsn<'a>),
    /// Address Configuration Change.
    Asconf(Asconf<'a>),
    /// Forward Cumulative TSN for I-DATA.
    IForwardTsn(IForwardTsn<'a>),
    /// A chunk of a type that this crate does not know.
    Unknown(UnknownChunk<'a>),
}

impl<'a> Chunk<'a> {
    pub(crate) fn decode(raw: RawChunk<'a>) -> Result<Self, DecodeError> {
        Ok(match raw.ty {
            ChunkType::DATA => Self::Data(Data::decode(raw)?),
            ChunkType::INIT => Self::Init(Init::decode(raw)?),
            ChunkType::INIT_ACK => Self::InitAck(InitAck::decode(raw)?),
            ChunkType::SACK => Self::Sack(Sack::decode(raw)?),
            ChunkType::HEARTBEAT => Self::Heartbeat(Heartbeat::decode(raw)?),
            ChunkType::HEARTBEAT_ACK => Self::HeartbeatAck(HeartbeatAck::decode(raw)?),
            ChunkType::ABORT => Self::Abort(Abort::decode(raw)),
            ChunkType::SHUTDOWN => Self::Shutdown(Shutdown::decode(raw)?),
            ChunkType::SHUTDOWN_ACK => {
                ShutdownAck::decode(raw)?;
                Self::ShutdownAck
            }
            ChunkType::ERROR => Self::Error(ErrorChunk::decode(raw)),
            ChunkType::COOKIE_ECHO => Self::CookieEcho(CookieEcho::decode(raw)),
            ChunkType::COOKIE_ACK => {
                CookieAck::decode(raw)?;
                Self::CookieAck
            }
            ChunkType::ECNE => Self::Ecne(Ecne::decode(raw)?),
            ChunkType::CWR => Self::Cwr(Cwr::decode(raw)?),
            ChunkType::SHUTDOWN_COMPLETE => Self::ShutdownComplete(ShutdownComplete::decode(raw)?),
            ChunkType::AUTH => Self::Auth(Auth::decode(raw)?),
            ChunkType::I_DATA => Self::IData(IData::decode(raw)?),
            ChunkType::DTLS => Self::Dtls(Dtls::decode(raw)?),
            ChunkType::ASCONF_ACK => Self::AsconfAck(AsconfAck::decode(raw)?),
            ChunkType::RE_CONFIG => Self::ReConfig(ReConfig::decode(raw)),
            ChunkType::PAD => Self::Pad(Pad::decode(raw)),
            ChunkType::FORWARD_TSN => Self::ForwardTsn(ForwardTsn::decode(raw)?),
            ChunkType::ASCONF => Self::Asconf(Asconf::decode(raw)?),
            ChunkType::I_FORWARD_TSN => Self::IForwardTsn(IForwardTsn::decode(raw)?),
            _ => Self::Unknown(UnknownChunk::decode(raw)),
        })
    }

    /// The chunk's type, whose `Display` is its name in the RFC.
    #[must_use]
    pub const fn ty(&self) -> ChunkType {
        match self {
            Self::Data(_) => ChunkType::DATA,
            Self::Init(_) => ChunkType::INIT,
            Self::InitAck(_) => ChunkType::INIT_ACK,
            Self::Sack(_) => ChunkType::SACK,
            Self::Heartbeat(_) => ChunkType::HEARTBEAT,
            Self::HeartbeatAck(_) => ChunkType::HEARTBEAT_ACK,
            Self::Abort(_) => ChunkType::ABORT,
            Self::Shutdown(_) => ChunkType::SHUTDOWN,
            Self::ShutdownAck => ChunkType::SHUTDOWN_ACK,
            Self::Error(_) => ChunkType::ERROR,
            Self::CookieEcho(_) => ChunkType::COOKIE_ECHO,
            Self::CookieAck => ChunkType::COOKIE_ACK,
            Self::Ecne(_) => ChunkType::ECNE,
            Self::Cwr(_) => ChunkType::CWR,
            Self::ShutdownComplete(_) => ChunkType::SHUTDOWN_COMPLETE,
            Self::Auth(_) => ChunkType::AUTH,
            Self::IData(_) => ChunkType::I_DATA,
            Self::Dtls(_) => ChunkType::DTLS,
            Self::AsconfAck(_) => ChunkType::ASCONF_ACK,
            Self::ReConfig(_) => ChunkType::RE_CONFIG,
            Self::Pad(_) => ChunkType::PAD,
            Self::ForwardTsn(_) => ChunkType::FORWARD_TSN,
            Self::Asconf(_) => ChunkType::ASCONF,
            Self::IForwardTsn(_) => ChunkType::I_FORWARD_TSN,
            Self::Unknown(chunk) => chunk.ty,
        }
    }
}

/// A chunk that can be written into a packet.
///
/// # Panics
///
/// [`encode`](Self::encode) panics if the chunk is longer than its 16-bit length field can say.
pub trait EncodeChunk {
    /// The chunk's length in a packet, its padding included.
    #[must_use]
    fn encoded_len(&self) -> usize;

    /// Appends the chunk and its padding.
    fn encode(&self, buf: &mut Vec<u8>);
}

impl EncodeChunk for Chunk<'_> {
    fn encoded_len(&self) -> usize {
        match self {
            Self::Data(chunk) => chunk.encoded_len(),
            Self::Init(chunk) => chunk.encoded_len(),
            Self::InitAck(chunk) => chunk.encoded_len(),
            Self::Sack(chunk) => chunk.encoded_len(),
            Self::Heartbeat(chunk) => chunk.encoded_len(),
            Self::HeartbeatAck(chunk) => chunk.encoded_len(),
            Self::Abort(chunk) => chunk.encoded_len(),
            Self::Shutdown(chunk) => chunk.encoded_len(),
            Self::ShutdownAck => ShutdownAck.encoded_len(),
            Self::Error(chunk) => chunk.encoded_len(),
            Self::CookieEcho(chunk) => chunk.encoded_len(),
            Self::CookieAck => CookieAck.encoded_len(),
            Self::Ecne(chunk) => chunk.encoded_len(),
            Self::Cwr(chunk) => chunk.encoded_len(),
            Self::ShutdownComplete(chunk) => chunk.encoded_len(),
            Self::Auth(chunk) => chunk.encoded_len(),
            Self::IData(chunk) => chunk.encoded_len(),
            Self::Dtls(chunk) => chunk.encoded_len(),
            Self::AsconfAck(chunk) => chunk.encoded_len(),
            Self::ReConfig(chunk) => chunk.encoded_len(),
            Self::Pad(chunk) => chunk.encoded_len(),
            Self::ForwardTsn(chunk) => chunk.encoded_len(),
            Self::Asconf(chunk) => chunk.encoded_len(),
            Self::IForwardTsn(chunk) => chunk.encoded_len(),
            Self::Unknown(chunk) => chunk.encoded_len(),
        }
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        match self {
            Self::Data(chunk) => chunk.encode(buf),
            Self::Init(chunk) => chunk.encode(buf),
            Self::InitAck(chunk) => chunk.encode(buf),
            Self::Sack(chunk) => chunk.encode(buf),
            Self::Heartbeat(chunk) => chunk.encode(buf),
            Self::HeartbeatAck(chunk) => chunk.encode(buf),
            Self::Abort(chunk) => chunk.encode(buf),
            Self::Shutdown(chunk) => chunk.encode(buf),
            Self::ShutdownAck => ShutdownAck.encode(buf),
            Self::Error(chunk) => chunk.encode(buf),
            Self::CookieEcho(chunk) => chunk.encode(buf),
            Self::CookieAck => CookieAck.encode(buf),
            Self::Ecne(chunk) => chunk.encode(buf),
            Self::Cwr(chunk) => chunk.encode(buf),
            Self::ShutdownComplete(chunk) => chunk.encode(buf),
            Self::Auth(chunk) => chunk.encode(buf),
            Self::IData(chunk) => chunk.encode(buf),
            Self::Dtls(chunk) => chunk.encode(buf),
            Self::AsconfAck(chunk) => chunk.encode(buf),
            Self::ReConfig(chunk) => chunk.encode(buf),
            Self::Pad(chunk) => chunk.encode(buf),
            Self::ForwardTsn(chunk) => chunk.encode(buf),
            Self::Asconf(chunk) => chunk.encode(buf),
            Self::IForwardTsn(chunk) => chunk.encode(buf),
            Self::Unknown(chunk) => chunk.encode(buf),
        }
    }
}

/// A chunk split from its packet, its value not yet read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawChunk<'a> {
    pub(crate) ty: ChunkType,
    flags: u8,
    value: &'a [u8],
    /// The whole chunk with its header, without padding.
    bytes: &'a [u8],
}

impl<'a> RawChunk<'a> {
    /// Splits the first chunk and its padding from `packet`, which is not empty.
    pub(crate) fn split_first(packet: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let Some((&[ty, flags, len0, len1], _)) = packet.split_first_chunk::<HEADER_LEN>() else {
            return Err(DecodeError::ChunkHeaderTruncated { len: packet.len() });
        };
        let ty = ChunkType(ty);
        let len = usize::from(u16::from_be_bytes([len0, len1]));
        if len < HEADER_LEN {
            return Err(DecodeError::ChunkLengthBelowHeader { ty, len });
        }
        let available = packet.len();
        let Some((bytes, rest)) = packet.split_at_checked(len) else {
            return Err(DecodeError::ChunkBeyondPacket { ty, len, available });
        };
        let (_, value) = bytes.split_at(HEADER_LEN);
        // RFC 9260 section 3.2: "The receiver MUST ignore the padding bytes." The last chunk
        // loses nothing when its padding is missing.
        let rest = rest.get(tlv::padding(len)..).unwrap_or_default();
        Ok((Self { ty, flags, value, bytes }, rest))
    }

    /// Splits the `N` bytes of fixed fields from the value.
    fn split_fixed<const N: usize>(&self) -> Result<(&'a [u8; N], &'a [u8]), DecodeError> {
        self.value.split_first_chunk().ok_or(DecodeError::ChunkTooShort {
            ty: self.ty,
            len: self.bytes.len(),
            min: HEADER_LEN + N,
        })
    }

    /// The value of a chunk that has `N` bytes of fixed fields and nothing else.
    fn only_fixed<const N: usize>(&self) -> Result<[u8; N], DecodeError> {
        self.value.try_into().map_err(|_| DecodeError::ChunkLengthWrong {
            ty: self.ty,
            len: self.bytes.len(),
            expected: HEADER_LEN + N,
        })
    }
}

/// The header of a chunk whose value has `value_len` bytes.
fn header(ty: ChunkType, flags: u8, value_len: usize) -> [u8; HEADER_LEN] {
    let [len0, len1] = tlv::length_field(HEADER_LEN + value_len).to_be_bytes();
    [ty.0, flags, len0, len1]
}

/// Appends a chunk whose value is `value` and nothing else.
fn encode_opaque(ty: ChunkType, flags: u8, value: &[u8], buf: &mut Vec<u8>) {
    buf.extend_from_slice(&header(ty, flags, value.len()));
    buf.extend_from_slice(value);
    tlv::pad(buf, value.len());
}

/// The length of a chunk whose value is one TSN.
const TSN_ONLY_LEN: usize = HEADER_LEN + 4;

/// Appends a chunk whose value is one TSN.
fn encode_tsn_only(ty: ChunkType, tsn: Tsn, buf: &mut Vec<u8>) {
    encode_opaque(ty, 0, &tsn.0.to_be_bytes(), buf);
}

/// The T bit of ABORT and SHUTDOWN COMPLETE.
///
/// RFC 9260 section 3.3.7: "The T bit is set to 0 if the sender filled in the Verification Tag
/// expected by the peer. If the Verification Tag is reflected, the T bit MUST be set to 1."
const TAG_REFLECTED: u8 = 0b0000_0001;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{first_chunk, hex, packet_around};

    #[test]
    fn a_chunk_is_told_by_its_type() {
        let packet = packet_around(&hex("0b000004"));
        let chunk = first_chunk(&packet).unwrap();
        assert_eq!(chunk.ty(), ChunkType::COOKIE_ACK);
        assert_eq!(chunk.ty().to_string(), "COOKIE ACK");
        assert_eq!(ChunkType(131).to_string(), "type 131");
    }

    #[test]
    #[should_panic(expected = "65536 bytes do not fit a 16-bit length field")]
    fn a_chunk_that_no_length_field_can_tell_is_the_callers_mistake() {
        CookieEcho { cookie: &[0; 65_532] }.encode(&mut Vec::new());
    }
}
