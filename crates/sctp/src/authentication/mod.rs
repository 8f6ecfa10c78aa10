//! Authenticated chunks (RFC 4895): who shares which keys, what both ends announce, and the HMACs
//! that follow from it.

mod announced;
mod config;
mod keys;

pub(crate) use announced::{Announced, OfferError, RANDOM_LEN, Random};
pub use config::{Authentication, AuthenticationError, Protection, SharedKey};
pub(crate) use keys::{AssociationKeys, Standing};
