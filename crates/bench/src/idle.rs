//! What an association costs while nothing happens on it.

use std::fmt;
use std::fs;
use std::io;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, Endpoint, EndpointConfig, OutgoingMessage,
};
use anabranch_wire::StreamId;
use bytes::Bytes;

/// Associations, each with both its ends in this process.
const ASSOCIATIONS: u16 = 2_000;
/// What each end sends before it rests.
const MESSAGE: usize = 64 << 10;

/// What a run came to.
pub(crate) struct Idle {
    ends: u64,
    kib_fresh: f64,
    kib_used: f64,
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ends, kib_fresh, kib_used } = self;
        writeln!(f, "resident memory of one end of an idle association, mean of {ends}")?;
        writeln!(f, "after the handshake: {kib_fresh:.1} KiB")?;
        write!(f, "after {} KiB each way: {kib_used:.1} KiB", MESSAGE >> 10)
    }
}

/// Makes many associations, and uses each once.
pub(crate) fn measure() -> io::Result<Idle> {
    let limits = EndpointConfig {
        accept: true,
        association: AssociationConfig::media(),
        associations_max: ASSOCIATIONS.into(),
        stateless_replies_per_second: u32::MAX,
        ..EndpointConfig::default()
    };
    let mut ends = Ends {
        client: Endpoint::new(EndpointConfig { accept: false, ..limits.clone() }, Rng::from_u64(1)),
        server: Endpoint::new(limits, Rng::from_u64(2)),
    };
    let before = resident_kib()?;
    for port in 0..ASSOCIATIONS {
        let path = FourTuple::new(([10, 0, 0, 1], port).into(), ([10, 0, 0, 2], 9_899).into());
        let called = ends.client.connect(NOW, &[path], (5_000, 5_000), AssociationConfig::media());
        called.map_err(io::Error::other)?;
        ends.carry();
    }
    let fresh = resident_kib()?;
    for id in ends.client.associations().collect::<Vec<_>>() {
        send(&mut ends.client, id)?;
        ends.carry();
    }
    for id in ends.server.associations().collect::<Vec<_>>() {
        send(&mut ends.server, id)?;
        ends.carry();
    }
    let used = resident_kib()?;
    let count = ends.client.associations().count() + ends.server.associations().count();
    let each = |kib: u64| kib.saturating_sub(before) as f64 / count as f64;
    Ok(Idle { ends: count as u64, kib_fresh: each(fresh), kib_used: each(used) })
}

const NOW: Time = Time::from_millis(1);

/// Both endpoints; no time passes between them.
struct Ends {
    client: Endpoint,
    server: Endpoint,
}

impl Ends {
    /// Carries packets to and fro until there are none, and reads what they brought.
    fn carry(&mut self) {
        let mut bytes = Vec::new();
        loop {
            let to_server = self.client.poll_transmit(NOW, &mut bytes);
            let to_client = match to_server {
                Some(transmit) => {
                    hand_over(&mut self.server, transmit, &bytes);
                    None
                }
                None => self.server.poll_transmit(NOW, &mut bytes),
            };
            if let Some(transmit) = to_client {
                hand_over(&mut self.client, transmit, &bytes);
            } else if to_server.is_none() {
                return;
            }
            bytes.clear();
        }
    }
}

fn hand_over(to: &mut Endpoint, transmit: Transmit, bytes: &[u8]) {
    to.handle_datagram(NOW, Datagram { path: transmit.path.reversed(), ecn: None, bytes });
    while let Some((id, _)) = to.poll_event() {
        if let Some(association) = to.association_mut(id) {
            read(association);
        }
    }
}

fn read(association: &mut Association) {
    while association.receive().is_some() {}
}

fn send(endpoint: &mut Endpoint, id: AssociationId) -> io::Result<()> {
    let Some(association) = endpoint.association_mut(id) else { return Ok(()) };
    let message = OutgoingMessage::new(StreamId(0), Bytes::from_static(&[0x5a; MESSAGE]));
    association.send(NOW, message).map_err(io::Error::other)
}

/// What this process has in memory.
fn resident_kib() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kib.ok_or_else(|| io::Error::other("/proc/self/status does not say VmRSS"))
}
