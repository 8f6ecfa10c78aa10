//! SCTP on the wire: packets, chunks, parameters and error causes as bytes and as structs.
//!
//! Decoding borrows the packet and allocates nothing; a struct holds exactly what its RFC says.
//! The crate keeps no state and knows no procedures: whether a chunk is welcome is for the
//! association to say.
//!
//! It covers RFC 9260 with its reserved ECN fields, RFC 3758 (FORWARD TSN), RFC 4895 (AUTH), RFC
//! 5061 (ASCONF), RFC 6525 (RE-CONFIG), RFC 8260 (I-DATA), RFC 9653 (Zero Checksum Acceptable), and
//! the error cause that draft-tuexen-tsvwg-sctp-udp-encaps-cons adds to RFC 6951 (UDP
//! encapsulation), and the DTLS chunk of draft-ietf-tsvwg-sctp-dtls-chunk.
//!
//! ```
//! use anabranch_wire::{
//!     ChecksumField, ChecksumMode, Chunk, CommonHeader, CookieAck, Packet, PacketWriter,
//!     Shutdown, Tsn, VerificationTag,
//! };
//!
//! let header = CommonHeader {
//!     source_port: 5000,
//!     destination_port: 5001,
//!     verification_tag: VerificationTag(0xdead_beef),
//! };
//! let mut bytes = Vec::new();
//! let mut writer = PacketWriter::new(&mut bytes, header);
//! writer.push(&CookieAck);
//! writer.push(&Shutdown { cumulative_tsn_ack: Tsn(7) });
//! writer.finish(ChecksumField::Fill);
//!
//! let packet = Packet::decode(&bytes, ChecksumMode::Verify)?;
//! assert_eq!(packet.header, header);
//! let chunks: Result<Vec<_>, _> = packet.chunks().collect();
//! assert_eq!(
//!     chunks?,
//!     [Chunk::CookieAck, Chunk::Shutdown(Shutdown { cumulative_tsn_ack: Tsn(7) })],
//! );
//! # Ok::<(), anabranch_wire::DecodeError>(())
//! ```

mod cause;
mod cause_display;
mod checksum;
mod chunk;
mod code;
mod error;
mod items;
mod level;
mod numbers;
mod packet;
mod parameter;
mod tlv;
mod unrecognized;
mod writer;

#[cfg(test)]
mod test_support;

pub use cause::{ErrorCause, ErrorCauses, ErrorCausesIter};
pub use chunk::{
    Abort, Asconf, AsconfAck, Auth, Chunk, CookieAck, CookieEcho, Cwr, Data, Dtls, Ecne,
    EncodeChunk, ErrorChunk, ForwardTsn, FragmentPlace, GapAckBlock, Heartbeat, HeartbeatAck,
    IData, IForwardTsn, Init, InitAck, Pad, ReConfig, Sack, Shutdown, ShutdownAck,
    ShutdownComplete, SkippedMessages, SkippedStream, UnknownChunk,
};
pub use code::{CauseCode, ChunkType, HmacIdentifier, ParameterType};
pub use error::DecodeError;
pub use items::{Item, Items, ItemsIter};
pub use level::Level;
pub use numbers::{Fsn, Mid, Ppid, Ssn, StreamId, Tsn, VerificationTag};
pub use packet::{ChecksumMode, Chunks, CommonHeader, Packet};
pub use parameter::{
    AddStreamsRequest, DtlsKeyManagement, ErrorDetectionMethod, IncomingSsnResetRequest,
    OutgoingSsnResetRequest, Parameter, Parameters, ParametersIter, ReconfigurationResponse,
    ReconfigurationResult, SALT_LEN, UnknownParameter,
};
pub use unrecognized::UnrecognizedAction;
pub use writer::{ChecksumField, PacketWriter};

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
