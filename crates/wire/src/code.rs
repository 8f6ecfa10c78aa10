//! The code points of chunks, parameters, causes and algorithms, with their names in the RFCs.

mod cause_code;
mod chunk_type;
mod hmac_identifier;
mod parameter_type;

pub use cause_code::CauseCode;
pub use chunk_type::ChunkType;
pub use hmac_identifier::HmacIdentifier;
pub use parameter_type::ParameterType;
