//! [`Capture`]: a run as a pcapng file.

mod file;
mod ip;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anabranch_sansio::Time;

use crate::{ElementId, HostId, LinkId, Network, Observer, Packet, Sighting};
pub use file::{Note, PacketFile};

const APPLICATION: &str = concat!("anabranch-netsim ", env!("CARGO_PKG_VERSION"));

/// What a capture records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaptureScope {
    /// Every link that the network has when the capture begins: see [`Links`](Self::Links).
    AllLinks,
    /// The far ends of these links, one interface each. A packet is recorded when it leaves the
    /// link; one that the link drops, when that happens, with the reason as the packet's comment.
    /// So each packet is there once per link.
    Links(Vec<LinkId>),
    /// What a host sends and receives, when it does, as a capture on that host would: one interface
    /// for each of its addresses. It does not show what becomes of packets that were sent.
    Host(HostId),
}

/// A capture under way: [`Simulation::capture`](crate::Simulation::capture) begins it.
///
/// The file holds IP packets with right checksums at nanosecond resolution; time zero of the
/// simulation is 1970. Wireshark reads SCTP at UDP port 9899 (RFC 6951) by itself.
#[derive(Debug)]
pub struct Capture<W: Write>(Arc<Mutex<Option<Recorder<W>>>>);

impl<W: Write> Capture<W> {
    /// Ends the capture and gives the writer back.
    ///
    /// # Errors
    /// The first error of the writer, after which nothing was written any more.
    pub fn finish(self) -> io::Result<W> {
        let recorder = self.lock().take().ok_or_else(|| io::Error::other("finished already"))?;
        match recorder.error {
            Some(error) => Err(error),
            None => recorder.file.finish(),
        }
    }

    pub(crate) fn begin(
        network: &Network,
        scope: CaptureScope,
        comment: &str,
        writer: W,
    ) -> io::Result<Self> {
        let mut file = PacketFile::new(writer, APPLICATION, comment)?;
        let points = match scope {
            CaptureScope::AllLinks => {
                let links = network.links().map(|(link, _, _)| link).collect();
                Points::of_links(network, links, &mut file)?
            }
            CaptureScope::Links(links) => Points::of_links(network, links, &mut file)?,
            CaptureScope::Host(host) => Points::Host { host, interfaces: BTreeMap::new() },
        };
        let recorder = Recorder { file, points, error: None };
        Ok(Self(Arc::new(Mutex::new(Some(recorder)))))
    }

    /// A second hand on the same capture.
    pub(crate) fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Recorder<W>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> Observer for Capture<W> {
    fn observe(&mut self, now: Time, sighting: Sighting<'_>) {
        if let Some(recorder) = &mut *self.lock() {
            recorder.observe(now, sighting);
        }
    }
}

#[derive(Debug)]
struct Recorder<W: Write> {
    file: PacketFile<W>,
    points: Points,
    error: Option<io::Error>,
}

/// Where the capture listens, with the interface numbers in the file.
#[derive(Debug)]
enum Points {
    Links(BTreeMap<ElementId, u32>),
    Host { host: HostId, interfaces: BTreeMap<IpAddr, u32> },
}

impl Points {
    fn of_links<W: Write>(
        network: &Network,
        links: Vec<LinkId>,
        file: &mut PacketFile<W>,
    ) -> io::Result<Self> {
        let mut interfaces = BTreeMap::new();
        for link in links {
            interfaces.insert(link.into(), file.interface(network.name(link))?);
        }
        Ok(Self::Links(interfaces))
    }
}

impl<W: Write> Recorder<W> {
    fn observe(&mut self, now: Time, sighting: Sighting<'_>) {
        if self.error.is_some() {
            return;
        }
        if let Err(error) = self.record(now, sighting) {
            self.error = Some(error);
        }
    }

    fn record(&mut self, now: Time, sighting: Sighting<'_>) -> io::Result<()> {
        match sighting {
            Sighting::Sent { host, packet } => {
                self.record_at_host(now, host, packet.path.local.ip(), Note::Sent, packet)
            }
            Sighting::Received { host, packet } => {
                self.record_at_host(now, host, packet.path.remote.ip(), Note::Received, packet)
            }
            Sighting::Passed { element, packet } => {
                self.record_at_link(now, element, Note::None, packet)
            }
            Sighting::Dropped { element, cause, packet } => {
                self.record_at_link(now, element, Note::Comment(cause.as_str()), packet)
            }
            Sighting::Unrouted { .. } => Ok(()),
        }
    }

    fn record_at_link(
        &mut self,
        now: Time,
        element: ElementId,
        note: Note<'_>,
        packet: &Packet,
    ) -> io::Result<()> {
        let Points::Links(interfaces) = &self.points else { return Ok(()) };
        let Some(interface) = interfaces.get(&element) else { return Ok(()) };
        self.file.packet(*interface, since_1970(now), note, packet)
    }

    fn record_at_host(
        &mut self,
        now: Time,
        at: HostId,
        address: IpAddr,
        note: Note<'_>,
        packet: &Packet,
    ) -> io::Result<()> {
        let Points::Host { host, interfaces } = &mut self.points else { return Ok(()) };
        if *host != at {
            return Ok(());
        }
        let interface = match interfaces.get(&address) {
            Some(interface) => *interface,
            None => {
                let interface = self.file.interface(&address.to_string())?;
                interfaces.insert(address, interface);
                interface
            }
        };
        self.file.packet(interface, since_1970(now), note, packet)
    }
}

/// Where the simulation's time zero is 1970.
fn since_1970(now: Time) -> Duration {
    now - Time::ZERO
}
