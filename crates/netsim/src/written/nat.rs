//! [`WrittenNat`]: a NAT as a file describes it.

use super::{CellKey, Fault, Place, Section};
use crate::settings::time;
use crate::{Filtering, Mapping, NatConfig};

/// A NAT as a file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenNat {
    /// The link at whose first end it stands: what enters there comes from it.
    pub link: String,
    /// How it behaves.
    pub config: NatConfig,
    /// Where it is written.
    pub place: Place,
}

/// The keys of `[[nats]]`.
pub const NAT_KEYS: &[CellKey] = &[
    ("link", &["wifi"], "the link at whose first end it stands, between the host there and it"),
    ("timeout", &["30s"], "how long it keeps a mapping through which nothing leaves; 30s"),
    (
        "mapping",
        &["endpoint-independent", "address-and-port-dependent"],
        "towards whom a port of a host keeps its public port (RFC 4787 section 4.1); \
         endpoint-independent",
    ),
    (
        "filtering",
        &["endpoint-independent", "address-dependent", "address-and-port-dependent"],
        "whose packets it lets in (RFC 4787 section 5); address-and-port-dependent",
    ),
];

impl WrittenNat {
    /// Reads a NAT.
    ///
    /// # Errors
    /// A key is missing, unknown, or has no value that it can have.
    pub fn read(mut section: Section) -> Result<Self, Fault> {
        let place = section.place;
        let link = section.need("link", "\"wifi\"", |link| Ok::<_, Fault>(link.to_owned()))?;
        let mut config = NatConfig::default();
        config.timeout = section.read("timeout", time)?.unwrap_or(config.timeout);
        config.mapping = section.read("mapping", mapping)?.unwrap_or(config.mapping);
        config.filtering = section.read("filtering", filtering)?.unwrap_or(config.filtering);
        section.refuse_rest(&NAT_KEYS.iter().map(|key| key.0).collect::<Vec<_>>())?;
        Ok(Self { link, config, place })
    }
}

fn mapping(text: &str) -> Result<Mapping, String> {
    match text {
        "endpoint-independent" => Ok(Mapping::EndpointIndependent),
        "address-and-port-dependent" => Ok(Mapping::AddressAndPortDependent),
        _ => Err(format!(
            "\"{text}\" is no mapping: give endpoint-independent or address-and-port-dependent"
        )),
    }
}

fn filtering(text: &str) -> Result<Filtering, String> {
    match text {
        "endpoint-independent" => Ok(Filtering::EndpointIndependent),
        "address-dependent" => Ok(Filtering::AddressDependent),
        "address-and-port-dependent" => Ok(Filtering::AddressAndPortDependent),
        _ => Err(format!(
            "\"{text}\" is no filtering: give endpoint-independent, address-dependent or \
             address-and-port-dependent"
        )),
    }
}
