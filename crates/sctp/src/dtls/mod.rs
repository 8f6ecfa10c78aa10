//! The DTLS chunk (draft-ietf-tsvwg-sctp-dtls-chunk): all chunks of a packet, sealed as one record
//! of DTLS 1.3.
//!
//! Both ends offer it in INIT and INIT ACK ([`offer`]). A [`KeyManagement`], which comes from
//! outside, then exchanges messages on stream 0 until both ends have keys; [`Epochs`] seals and
//! opens [records](record) with them and refuses what was [received before](replay).

mod cipher;
mod epochs;
mod method;
mod offer;
mod record;
mod replay;

pub use cipher::{NONCE_LEN, RecordCipher, RecordKeys, SAMPLE_LEN, TAG_LEN};
pub use epochs::{EncryptionStats, Epoch};
pub(crate) use epochs::{Epochs, RestartContext};
pub use method::{
    Encryption, EncryptionPolicy, KeyAction, KeyContext, KeyFailure, KeyManagement,
    KeyManagementFactory, KeyRole, Restart, RestartKeys,
};
pub(crate) use method::{KEY_MANAGEMENT_PPID, KEY_MANAGEMENT_STREAM};
pub(crate) use offer::{Agreement, Disagreement, KeyOffer, Offers};

/// Bytes that sealing adds in front of a packet's chunks: the header of the DTLS chunk, its
/// pre-padding and the header of the record.
pub(crate) const FRONT_LEN: usize = 5 + record::HEADER_LEN;

/// Bytes that it adds behind them: the content type, the tag, and padding that brings the chunk to
/// a multiple of 4 bytes, as the chunks inside are one.
pub(crate) const BACK_LEN: usize = (1 + TAG_LEN).next_multiple_of(4);

/// Bytes that sealing takes of each packet.
pub const SEALING_LEN: usize = FRONT_LEN + BACK_LEN;

pub(crate) use record::HEADER_LEN as RECORD_HEADER_LEN;
