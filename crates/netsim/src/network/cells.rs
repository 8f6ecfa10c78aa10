//! Cells in a network: links that share a medium.

use anabranch_sansio::Time;

use super::{AnyElement, Duplex, DuplexConfig, LinkId, Network};
use crate::{Cell, CellConfig, DropCause, ElementId, Link, LinkConfig, MemberId, Packet};

/// A cell, and which elements its links are.
#[derive(Debug)]
pub(super) struct CellNode {
    pub(super) cell: Cell,
    /// The element of each link of the cell.
    members: Vec<ElementId>,
}

impl CellNode {
    pub(super) fn poll_packet(&mut self, now: Time) -> Option<(ElementId, Packet)> {
        let (member, packet) = self.cell.poll_packet(now)?;
        Some((self.members[member.0], packet))
    }

    pub(super) fn poll_dropped(&mut self) -> Option<(ElementId, DropCause, Packet)> {
        let (member, cause, packet) = self.cell.poll_dropped()?;
        Some((self.members[member.0], cause, packet))
    }
}

impl Network {
    /// Adds a link for each direction, named `name` and `name back`. Those in a cell are the two of
    /// one of its stations: the first leads to its access point.
    pub fn add_duplex(&mut self, name: &str, config: impl Into<DuplexConfig>) -> Duplex {
        let DuplexConfig { forward, backward } = config.into();
        let back = format!("{name} back");
        let duplex = match (&forward.cell, &backward.cell) {
            (Some(cell), Some(other)) if cell == other => {
                let node = self.cell(cell);
                let [up, down] = self.cell_mut(node).cell.add_station(forward, backward);
                let forward = self.add_member(name.to_owned(), node, up);
                Duplex { forward, backward: self.add_member(back, node, down) }
            }
            (_, Some(_)) => {
                let forward = self.add_link(name, forward);
                Duplex { forward, backward: self.add_receiver(back, backward) }
            }
            (_, None) => {
                let forward = self.add_link(name, forward);
                Duplex { forward, backward: self.add_link(back, backward) }
            }
        };
        self.duplexes.push((name.to_owned(), duplex));
        duplex
    }

    pub(super) fn add_sender(&mut self, name: String, config: LinkConfig) -> LinkId {
        self.add_one_way(name, config, Cell::add_sender)
    }

    fn add_receiver(&mut self, name: String, config: LinkConfig) -> LinkId {
        self.add_one_way(name, config, Cell::add_receiver)
    }

    fn add_one_way(
        &mut self,
        name: String,
        config: LinkConfig,
        add: impl FnOnce(&mut Cell, LinkConfig) -> MemberId,
    ) -> LinkId {
        let Some(cell) = &config.cell else { return self.add_link(name, config) };
        let node = self.cell(cell);
        let member = add(&mut self.cell_mut(node).cell, config);
        self.add_member(name, node, member)
    }

    fn add_member(&mut self, name: String, node: ElementId, member: MemberId) -> LinkId {
        let element = self.add_node(name, AnyElement::Member(node, member));
        let node = self.cell_mut(node);
        node.cell.keep_dropped(member);
        node.members.push(element);
        LinkId(element.0)
    }

    /// The cell of this name, or a new one.
    fn cell(&mut self, config: &CellConfig) -> ElementId {
        if let Some(name) = &config.name {
            let is_it = |node: &super::Node| {
                matches!(node.element, AnyElement::Cell(_)) && node.name == *name
            };
            if let Some(known) = self.nodes.iter().position(is_it) {
                return ElementId(known);
            }
        }
        let cell = Cell::new(&config.medium, self.rng.fork());
        let node = Box::new(CellNode { cell, members: Vec::new() });
        self.add_node(config.name.clone().unwrap_or_default(), AnyElement::Cell(node))
    }

    fn cell_mut(&mut self, id: ElementId) -> &mut CellNode {
        match &mut self.nodes[id.0].element {
            AnyElement::Cell(node) => node,
            AnyElement::Link(_)
            | AnyElement::Nat(_)
            | AnyElement::Member(..)
            | AnyElement::Other(_) => panic!("{} is not a cell of this network", id.0),
        }
    }

    /// The link that an element is.
    pub(super) fn link_at(&self, index: usize) -> Option<&Link> {
        match &self.nodes[index].element {
            AnyElement::Link(link) => Some(link),
            AnyElement::Member(node, member) => match &self.nodes[node.0].element {
                AnyElement::Cell(node) => Some(node.cell.link(*member)),
                AnyElement::Link(_)
                | AnyElement::Nat(_)
                | AnyElement::Member(..)
                | AnyElement::Other(_) => None,
            },
            AnyElement::Nat(_) | AnyElement::Cell(_) | AnyElement::Other(_) => None,
        }
    }

    /// Which cell a link is in, and which of its links it is.
    pub(super) fn place_in_cell(&self, link: LinkId) -> Option<(ElementId, MemberId)> {
        match self.nodes[link.0].element {
            AnyElement::Member(node, member) => Some((node, member)),
            AnyElement::Link(_)
            | AnyElement::Nat(_)
            | AnyElement::Cell(_)
            | AnyElement::Other(_) => None,
        }
    }

    pub(super) fn change_cell(&mut self, now: Time, id: ElementId, change: impl FnOnce(&mut Cell)) {
        change(&mut self.cell_mut(id).cell);
        self.settle(now, id);
    }
}
