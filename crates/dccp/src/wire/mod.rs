//! DCCP's packets: bytes to structs and back, without state.
//!
//! ```
//! use anabranch_dccp::wire::{
//!     Kind, OptionsBuf, Packet, PacketOption, Protection, SequenceNumber, ServiceCode,
//! };
//!
//! let mut options = OptionsBuf::new();
//! options.push(&PacketOption::Timestamp(7));
//! let request = Packet {
//!     source_port: 40_000,
//!     destination_port: 5_001,
//!     ccval: 0,
//!     checksum_coverage: 0,
//!     sequence_number: SequenceNumber::new(1),
//!     is_short: false,
//!     kind: Kind::Request { service_code: "SC:anab".parse::<ServiceCode>()? },
//!     options: options.as_options(),
//!     data: &[],
//! };
//! let mut bytes = Vec::new();
//! request.encode(Protection::Udp, &mut bytes);
//! assert_eq!(Packet::decode(Protection::Udp, &bytes)?, request);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checksum;
mod error;
mod number;
mod option;
mod packet;
mod packet_type;
mod reset_code;
mod service_code;

pub use checksum::{Protection, crc32c};
pub use error::DecodeError;
pub use number::{SEQUENCE_NUMBERS, SHORT_SEQUENCE_NUMBERS, SequenceNumber};
pub use option::{
    AckRun, AckRuns, AckState, AckVector, Ccid3Option, Confirmations, DanglingMandatory,
    DataDropped, DropCode, DropRun, DropRuns, ElapsedTime, Entry, FeatureNumber, FeatureOption,
    FeatureOptionKind, HMAC_LEN, Keys, LossInterval, LossIntervals, MultipathOption,
    OPTION_DATA_MAX, OPTIONS_LEN_MAX, OptionError, OptionType, Options, OptionsBuf, PLAIN_KEY_LEN,
    PacketOption, RUNS_PER_OPTION_MAX,
};
pub use packet::{Kind, Packet};
pub use packet_type::PacketType;
pub use reset_code::ResetCode;
pub use service_code::{ServiceCode, ServiceCodeError};
