//! [`Hostility`]: a path that means no good.

use std::time::Duration;

use crate::{Corrupt, Duplicate, ElementId, LinkId, Network, Probability, Reorder};

/// What a path does to packets besides what its links do.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Hostility {
    /// How many are repeated: see [`Duplicate`].
    pub duplicate: Probability,
    /// How many are held back: see [`Reorder`].
    pub reorder: Probability,
    /// For how long at most.
    pub hold_max: Duration,
    /// How many are damaged: see [`Corrupt`].
    pub corrupt: Probability,
}

impl Hostility {
    /// The boxes and then the link; the link alone if there is no hostility.
    pub(crate) fn chain(self, network: &mut Network, link: LinkId) -> Vec<ElementId> {
        if self == Self::default() {
            return vec![link.into()];
        }
        let name = network.name(link).to_owned();
        let duplicate = Duplicate::new(self.duplicate, network.fork_rng());
        let reorder = Reorder::new(self.reorder, self.hold_max, network.fork_rng());
        let corrupt = Corrupt::new(self.corrupt, network.fork_rng());
        vec![
            network.add_element(format!("{name}: duplicate"), duplicate),
            network.add_element(format!("{name}: reorder"), reorder),
            network.add_element(format!("{name}: corrupt"), corrupt),
            link.into(),
        ]
    }
}
