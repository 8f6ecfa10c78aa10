//! [`Watch`]: what goes by on the links of a cell.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use anabranch_netsim::{DropCause, ElementId, Observer, Packet, Pair, Sighting};
use anabranch_sansio::{Machine, Time};

use super::cell::{Cell, Setup};
use super::values::FILM_TIME_MAX;
use crate::recording::{RecordTo, Recording};

/// Seconds that are counted; what comes later adds to the last one. No film takes longer with the
/// paper's patience, which ends after five minutes.
const SECONDS_MAX: usize = FILM_TIME_MAX.as_secs() as usize + 300;

/// What one link did in one second, towards the receiver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LinkSecond {
    /// IP bytes that it carried, those of lost packets included.
    pub(super) bytes: u64,
    /// Packets that were lost on the way.
    pub(super) lost: u32,
    /// Packets that its queue had no room for.
    pub(super) refused: u32,
}

/// Each link, second by second from the beginning of the video.
pub(super) type LinkSeconds = [Vec<LinkSecond>; 2];

/// Counts what goes by on both links, and records it where a capture is wanted.
#[derive(Debug)]
pub(super) struct Watch {
    links: Arc<Mutex<LinkSeconds>>,
    recording: Recording,
}

impl Watch {
    pub(super) fn new(to: RecordTo) -> Self {
        Self { links: Arc::default(), recording: Recording::new(to) }
    }

    /// Begins, before the first packet is sent.
    pub(super) fn begin<M: Machine>(&mut self, cell: &Cell, setup: &Setup, pair: &mut Pair<M>) {
        pair.sim.limit_steps(setup.values().steps_max);
        self.recording.begin(&setup.title(cell), pair);
        let forward = pair.paths().iter().map(|path| path.links.forward.into()).collect();
        let start = setup.values().start();
        let counter = Counter { start, forward, links: Arc::clone(&self.links) };
        pair.sim.network_mut().add_observer(counter);
    }

    /// Ends what is recorded, and tells what was counted.
    pub(super) fn end(self) -> io::Result<LinkSeconds> {
        self.recording.end()?;
        Ok(self.links.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

struct Counter {
    /// When the video begins.
    start: Time,
    forward: Vec<ElementId>,
    links: Arc<Mutex<LinkSeconds>>,
}

impl Counter {
    fn count(&self, now: Time, element: ElementId, add: impl FnOnce(&mut LinkSecond)) {
        let Some(link) = self.forward.iter().position(|forward| *forward == element) else {
            return;
        };
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(seconds) = links.get_mut(link) else { return };
        let second = now.saturating_since(self.start).as_secs() as usize;
        let second = second.min(SECONDS_MAX - 1);
        if seconds.len() <= second {
            seconds.resize(second + 1, LinkSecond::default());
        }
        add(&mut seconds[second]);
    }
}

impl Observer for Counter {
    fn observe(&mut self, now: Time, sighting: Sighting<'_>) {
        let bytes = |packet: &Packet| packet.ip_len() as u64;
        match sighting {
            Sighting::Passed { element, packet } => {
                self.count(now, element, |second| second.bytes += bytes(packet));
            }
            Sighting::Dropped { element, cause: DropCause::Loss, packet } => {
                self.count(now, element, |second| {
                    second.bytes += bytes(packet);
                    second.lost += 1;
                });
            }
            Sighting::Dropped { element, .. } => {
                self.count(now, element, |second| second.refused += 1);
            }
            Sighting::Sent { .. } | Sighting::Received { .. } | Sighting::Unrouted { .. } => {}
        }
    }
}
