//! Names of elements and hosts.

/// An element of a network. Using it with another network than its own is a mistake that panics or
/// meets another element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ElementId(pub(crate) usize);

/// A host of a simulation. Using it with another simulation is a mistake that panics or meets
/// another host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostId(pub(crate) usize);

impl HostId {
    /// The host that is added as number `n`, counted from zero.
    pub(crate) const fn nth(n: usize) -> Self {
        Self(n)
    }
}
