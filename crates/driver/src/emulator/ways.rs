//! [`Ways`]: both directions of an emulated link.

use anabranch_netsim::{Cell, DropCause, Element, Link, LinkConfig, MemberId, Packet};
use anabranch_sansio::{Rng, Time};

use super::Direction;

/// Both directions of an emulated link.
#[derive(Debug)]
pub(super) enum Ways {
    /// A link each.
    Apart { up: Box<Link>, down: Box<Link> },
    /// A station of a cell, whose air they share.
    Cell { cell: Box<Cell>, up: MemberId, down: MemberId },
}

impl Ways {
    pub(super) fn new(up: LinkConfig, down: LinkConfig, rng: &mut Rng) -> Self {
        let Some(config) = up.cell.clone() else {
            let (up, down) = (Link::new(up, rng.fork()), Link::new(down, rng.fork()));
            return Self::Apart { up: Box::new(up), down: Box::new(down) };
        };
        let mut cell = Box::new(Cell::new(&config.medium, rng.fork()));
        let [up, down] = cell.add_station(up, down);
        Self::Cell { cell, up, down }
    }

    pub(super) fn link(&self, direction: Direction) -> &Link {
        match (self, direction) {
            (Self::Apart { up, .. }, Direction::Up) => up,
            (Self::Apart { down, .. }, Direction::Down) => down,
            (Self::Cell { cell, up, .. }, Direction::Up) => cell.link(*up),
            (Self::Cell { cell, down, .. }, Direction::Down) => cell.link(*down),
        }
    }

    pub(super) fn handle_packet(&mut self, now: Time, direction: Direction, packet: Packet) {
        match (self, direction) {
            (Self::Apart { up, .. }, Direction::Up) => up.handle_packet(now, packet),
            (Self::Apart { down, .. }, Direction::Down) => down.handle_packet(now, packet),
            (Self::Cell { cell, up, .. }, Direction::Up) => cell.handle_packet(now, *up, packet),
            (Self::Cell { cell, down, .. }, Direction::Down) => {
                cell.handle_packet(now, *down, packet);
            }
        }
    }

    /// The next packet that leaves either way, and when it was to leave.
    pub(super) fn poll_packet(&mut self, now: Time) -> Option<(Direction, Time, Packet)> {
        match self {
            Self::Apart { up, down } => due(up, now)
                .map(|(at, packet)| (Direction::Up, at, packet))
                .or_else(|| due(down, now).map(|(at, packet)| (Direction::Down, at, packet))),
            Self::Cell { cell, up, .. } => {
                let at = cell.poll_timeout().filter(|at| *at <= now)?;
                let (member, packet) = cell.poll_packet(now)?;
                let direction = if member == *up { Direction::Up } else { Direction::Down };
                Some((direction, at, packet))
            }
        }
    }

    /// Has the links keep what they drop, for [`poll_dropped`](Self::poll_dropped).
    pub(super) fn keep_dropped(&mut self) {
        match self {
            Self::Apart { up, down } => [up, down].into_iter().for_each(|link| link.keep_dropped()),
            Self::Cell { cell, up, down } => {
                [*up, *down].into_iter().for_each(|way| cell.keep_dropped(way));
            }
        }
    }

    /// The next packet that was dropped either way, and why.
    pub(super) fn poll_dropped(&mut self) -> Option<(Direction, DropCause, Packet)> {
        match self {
            Self::Apart { up, down } => {
                let up = up.poll_dropped().map(|(cause, packet)| (Direction::Up, cause, packet));
                up.or_else(|| {
                    let (cause, packet) = down.poll_dropped()?;
                    Some((Direction::Down, cause, packet))
                })
            }
            Self::Cell { cell, up, .. } => {
                let (member, cause, packet) = cell.poll_dropped()?;
                let direction = if member == *up { Direction::Up } else { Direction::Down };
                Some((direction, cause, packet))
            }
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::Apart { up, down } => {
                up.poll_timeout().into_iter().chain(down.poll_timeout()).min()
            }
            Self::Cell { cell, .. } => cell.poll_timeout(),
        }
    }

    pub(super) fn reconfigure(&mut self, now: Time, direction: Direction, config: LinkConfig) {
        match (self, direction) {
            (Self::Apart { up, .. }, Direction::Up) => up.reconfigure(now, config),
            (Self::Apart { down, .. }, Direction::Down) => down.reconfigure(now, config),
            (Self::Cell { cell, up, .. }, Direction::Up) => cell.reconfigure(now, *up, config),
            (Self::Cell { cell, down, .. }, Direction::Down) => {
                cell.reconfigure(now, *down, config);
            }
        }
    }

    pub(super) fn cut(&mut self, now: Time) {
        match self {
            Self::Apart { up, down } => [up, down].map(|link| link.cut(now)),
            Self::Cell { cell, up, down } => [*up, *down].map(|way| cell.cut(now, way)),
        };
    }

    pub(super) fn restore(&mut self) {
        match self {
            Self::Apart { up, down } => [up, down].map(|link| link.restore()),
            Self::Cell { cell, up, down } => [*up, *down].map(|way| cell.restore(way)),
        };
    }
}

/// The next packet that is due to leave the link, and since when.
fn due(link: &mut Link, now: Time) -> Option<(Time, Packet)> {
    let at = link.poll_timeout().filter(|at| *at <= now)?;
    Some((at, link.poll_packet(now)?))
}
