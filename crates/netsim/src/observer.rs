//! [`Observer`]: who watches packets go by.

use std::sync::{Arc, Mutex, PoisonError};

use anabranch_sansio::Time;

use crate::{DropCause, ElementId, HostId, Packet};

/// Watches the packets of a simulation: a capture, or a test that waits for a certain packet.
///
/// To look at an observer while the simulation holds it, share it as an `Arc<Mutex<_>>`.
pub trait Observer {
    /// Takes note of a packet at `now`.
    fn observe(&mut self, now: Time, sighting: Sighting<'_>);
}

/// What happened to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sighting<'a> {
    /// A host sent it.
    Sent {
        /// Who.
        host: HostId,
        /// The packet.
        packet: &'a Packet,
    },
    /// A host received it.
    Received {
        /// Who.
        host: HostId,
        /// The packet.
        packet: &'a Packet,
    },
    /// It came out of an element.
    Passed {
        /// Which.
        element: ElementId,
        /// The packet.
        packet: &'a Packet,
    },
    /// An element dropped it.
    Dropped {
        /// Which.
        element: ElementId,
        /// Why.
        cause: DropCause,
        /// The packet.
        packet: &'a Packet,
    },
    /// There is no route for it, or nobody has its destination address or (any longer) its source
    /// address.
    Unrouted {
        /// The packet.
        packet: &'a Packet,
    },
}

impl<F: FnMut(Time, Sighting<'_>)> Observer for F {
    fn observe(&mut self, now: Time, sighting: Sighting<'_>) {
        self(now, sighting);
    }
}

impl<O: Observer> Observer for Arc<Mutex<O>> {
    fn observe(&mut self, now: Time, sighting: Sighting<'_>) {
        // A panic elsewhere does not stop the observer: its notes may explain the panic.
        self.lock().unwrap_or_else(PoisonError::into_inner).observe(now, sighting);
    }
}

/// All observers of a network.
#[derive(Default)]
pub(crate) struct Observers(Vec<Box<dyn Observer + Send>>);

impl Observers {
    pub(crate) fn add(&mut self, observer: impl Observer + Send + 'static) {
        self.0.push(Box::new(observer));
    }

    pub(crate) fn tell(&mut self, now: Time, sighting: Sighting<'_>) {
        for observer in &mut self.0 {
            observer.observe(now, sighting);
        }
    }
}
