//! Feature negotiation: RFC 4340 section 6.

mod negotiation;
mod rule;

pub(crate) use negotiation::{FeatureFault, Negotiation};
pub(crate) use rule::{Feature, Owner};
