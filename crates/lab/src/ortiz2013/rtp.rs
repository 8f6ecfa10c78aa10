//! The strategies that send with RTP (RFC 3550) over UDP.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_netsim::{Pair, PathConfig, SimulationError};
use anabranch_sansio::{Datagram, FourTuple, Machine, Time, Transmit, Wakeup};
use rtp_types::{RtpPacket, RtpPacketBuilder};

use super::cell::{Cell, Setup};
use super::measure::{Arrivals, Delivery};
use super::strategy::RtpStrategy;
use super::values::MTU_MAX;
use super::watch::Watch;
use crate::svc::{Layer, VideoPacket};

/// The first dynamic payload type (RFC 3551 section 6).
const PAYLOAD_TYPE: u8 = 96;
/// Ticks of the timestamp in a second (RFC 6190 section 7.1).
const CLOCK_RATE: f64 = 90_000.0;
/// RTP's own (RFC 3551 section 8).
const PORT: u16 = 5_004;
const SSRC: u32 = 0x5356_4300;
/// How often the links are looked at, whether anything is still under way.
const UNDER_WAY: Duration = Duration::from_secs(1);

static PAYLOAD: [u8; MTU_MAX as usize] = [0x5a; MTU_MAX as usize];

pub(super) fn run(
    cell: &Cell,
    strategy: RtpStrategy,
    setup: &Setup,
    watch: &mut Watch,
) -> Result<Delivery, SimulationError> {
    let (values, start) = (setup.values(), setup.values().start());
    let mut pair = pair(cell, setup);
    watch.begin(cell, setup, &mut pair);
    let paths: Vec<FourTuple> = pair.paths().iter().map(|path| path.addresses).collect();
    let mut changes = cell.changes(setup.values()).into_iter().peekable();
    for (id, packet) in setup.packets.iter().enumerate() {
        let at = packet.sent_at(start);
        while let Some((when, path, links)) = changes.next_if(|(when, ..)| *when <= at) {
            pair.sim.run_to(when)?;
            pair.reconfigure(path, links);
        }
        pair.sim.run_to(at)?;
        let path = paths[link_of(strategy, packet.layer)];
        let bytes = rtp_packet(id, packet, setup.video.shown_s(packet.frame, values.frame_rate));
        pair.act_client(|host, _| host.to_send.push_back((path, bytes)))?;
    }
    pair.run_for(UNDER_WAY)?;
    let end = pair.now() + values.patience;
    while is_under_way(&pair) && pair.now() < end {
        pair.run_for(UNDER_WAY)?;
    }
    let arrivals = arrivals(setup.packets.len(), &pair.server().received);
    Ok(Delivery { arrivals, ..Delivery::default() })
}

fn pair(cell: &Cell, setup: &Setup) -> Pair<Host> {
    let links = cell.links(setup.values());
    let standard = links.into_iter().enumerate().map(|(n, links)| PathConfig::nth(n, links));
    let paths = standard.map(|path| {
        path.map(|mut path| {
            path.addresses.local.set_port(PORT);
            path.addresses.remote.set_port(PORT);
            path
        })
    });
    let paths: Result<Vec<_>, _> = paths.collect();
    paths
        .and_then(|paths| Pair::with_paths(cell.seed, &paths, |_, _, _| Host::default()))
        .expect("two standard paths make a pair")
}

fn is_under_way(pair: &Pair<Host>) -> bool {
    pair.sim.network().links().any(|(_, _, link)| link.stats().in_flight().packets > 0)
}

fn link_of(strategy: RtpStrategy, layer: Layer) -> usize {
    match (strategy, layer) {
        (RtpStrategy::Single, _) | (RtpStrategy::Multi, Layer::Base) => 0,
        (RtpStrategy::Multi, Layer::Enhancement) => 1,
    }
}

fn rtp_packet(id: usize, packet: &VideoPacket, shown_s: f64) -> Vec<u8> {
    RtpPacketBuilder::<&[u8], &[u8]>::new()
        .payload_type(PAYLOAD_TYPE)
        .sequence_number(id as u16)
        .timestamp((shown_s * CLOCK_RATE) as u32)
        .ssrc(SSRC)
        .payload(&PAYLOAD[..packet.len as usize])
        .write_vec()
        .expect("all fields are in their ranges")
}

/// Numbers the packets by their sequence numbers, which wrap (RFC 3550 appendix A.1). Both links
/// deliver in order, and differ by less than half a cycle.
fn arrivals(count: usize, received: &[(Time, u16)]) -> Arrivals {
    let mut arrivals = vec![None; count];
    let mut newest: usize = 0;
    for &(at, sequence) in received {
        let ahead = sequence.wrapping_sub(newest as u16) as i16;
        let Some(id) = newest.checked_add_signed(ahead.into()) else { continue };
        newest = newest.max(id);
        if let Some(arrival) = arrivals.get_mut(id) {
            *arrival = Some(at);
        }
    }
    arrivals
}

/// Sends what it is given at once, and notes what comes.
#[derive(Debug, Default)]
struct Host {
    to_send: VecDeque<(FourTuple, Vec<u8>)>,
    /// When which sequence number arrived.
    received: Vec<(Time, u16)>,
}

impl Machine for Host {
    type Event = ();

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        if let Ok(packet) = RtpPacket::parse(datagram.bytes)
            && packet.ssrc() == SSRC
        {
            self.received.push((now, packet.sequence_number()));
        }
    }

    fn handle_timeout(&mut self, _now: Time) {}

    fn poll_transmit(&mut self, _now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let (path, bytes) = self.to_send.pop_front()?;
        buf.extend_from_slice(&bytes);
        Some(Transmit::datagram(path))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        None
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svc::PAYLOAD_MAX;

    #[test]
    fn sequence_numbers_are_followed_around_their_wrap() {
        let at = Time::from_millis(1);
        let received: Vec<_> = (0..140_000_u32).map(|id| (at, id as u16)).collect();
        let numbered = received.iter().copied().enumerate();
        let kept: Vec<_> =
            numbered.filter(|(id, _)| id % 7 != 3).map(|(_, packet)| packet).collect();
        let arrivals = arrivals(140_000, &kept);
        assert!((0..140_000).all(|id| arrivals[id].is_some() == (id % 7 != 3)));
    }

    #[test]
    fn a_full_packet_has_1460_bytes() {
        let packet =
            VideoPacket { at: Duration::ZERO, frame: 3, layer: Layer::Base, len: PAYLOAD_MAX };
        let bytes = rtp_packet(70_000, &packet, 3.0 / 25.0);
        assert_eq!(bytes.len(), 1_460);
        let parsed = RtpPacket::parse(&bytes).unwrap();
        assert_eq!((parsed.sequence_number(), parsed.timestamp()), (4_464, 10_800));
    }
}
