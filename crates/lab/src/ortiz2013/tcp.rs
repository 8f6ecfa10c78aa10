//! The strategy that sends with TCP, over the first link.

use std::time::Duration;

use anabranch_netsim::{Carrier, Pair, SERVER, Side, SimulationError};
use anabranch_sansio::{FourTuple, Time};
use anabranch_tcp::{Config, CongestionControl, Connection};
use bytes::Bytes;

use super::cell::{Cell, Setup};
use super::measure::{Arrivals, Delivery};
use super::sensitivity::Variation;
use super::values::{MTU_MAX, Values};
use super::watch::Watch;
use crate::svc::VideoPacket;

static PAYLOAD: [u8; MTU_MAX as usize] = [0x5a; MTU_MAX as usize];

pub(super) fn run(
    cell: &Cell,
    variation: Variation,
    setup: &Setup,
    watch: &mut Watch,
) -> Result<Delivery, SimulationError> {
    let config = variation.apply_to_tcp(ns2(setup.values()));
    let start = setup.values().start();
    let mut session = Session::connect(cell, &config, setup, watch)?;
    let mut changes = cell.changes(setup.values()).into_iter().peekable();
    for packet in &setup.packets {
        let at = packet.sent_at(start);
        while let Some((when, path, links)) = changes.next_if(|(when, ..)| *when <= at) {
            session.run_to(when)?;
            session.pair.reconfigure(path, links);
        }
        session.run_to(at)?;
        session.send(packet)?;
    }
    session.drain(setup.values().patience)?;
    Ok(session.into_delivery())
}

/// What ns-2's FullTCP does by default: recovery without selective acknowledgments, an
/// acknowledgment for each segment, Nagle's algorithm, an initial window of two segments, an RTO of
/// 3 s at first and of 0.2 s at least. Recovery is NewReno's here; plain Reno's, which the paper's
/// values speak for, is a [`Variation`].
///
/// Two of its defaults cannot have been the paper's. A window of 20 segments carries 23 Mbit/s at
/// best, and the delay without loss would be 10 s at each rate; segments of 536 bytes would bring
/// 74 s at 60 Mbit/s and 1 % of loss, where the paper has 24. Segments fill the MTU here, and the
/// window is as large as that of the paper's SCTP.
fn ns2(values: &Values) -> Config {
    Config {
        mtu: values.mtu().into(),
        // The encoder does not wait for the network.
        send_buffer: usize::MAX >> 1,
        receive_buffer: values.tcp_buffer,
        sack: false,
        congestion_control: CongestionControl::Reno,
        initial_window: 2,
        nagle: true,
        segments_per_ack: 1,
        ack_delay: Duration::from_millis(100),
        rto_initial: Duration::from_secs(3).max(values.tcp_rto_min),
        rto_min: values.tcp_rto_min,
        ..Config::default()
    }
}

/// The two hosts with their connection.
struct Session {
    pair: Pair<Connection>,
    reader: Reader,
}

/// Tells the packets in the stream of bytes apart: a packet has arrived when its last byte has.
struct Reader {
    /// Where in the stream each packet ends.
    ends: Vec<u64>,
    read: u64,
    arrivals: Arrivals,
    /// The first packet that is not all there.
    next: usize,
}

impl Session {
    fn connect(
        cell: &Cell,
        config: &Config,
        setup: &Setup,
        watch: &mut Watch,
    ) -> Result<Self, SimulationError> {
        let on = |paths: &[FourTuple]| paths[0];
        let mut pair =
            Pair::new(cell.seed, &cell.links(setup.values()), |side, paths, rng| match side {
                Side::Client => Connection::client(config.clone(), on(paths), rng),
                Side::Server => Connection::listener(config.clone(), on(paths), rng),
            });
        pair.set_carrier(Carrier::Tcp);
        watch.begin(cell, setup, &mut pair);
        pair.act_client(|client, now| client.connect(now))?;
        let mut session = Self { pair, reader: Reader::new(&setup.packets) };
        session.run_to(setup.values().start())?;
        Ok(session)
    }

    fn send(&mut self, packet: &VideoPacket) -> Result<(), SimulationError> {
        let data = Bytes::from_static(&PAYLOAD).slice(..packet.len as usize);
        // A connection that was given up takes nothing any more: its packets do not arrive.
        let _ = self.pair.act_client(|client, now| client.send(now, data))?;
        Ok(())
    }

    /// Waits for what is still under way.
    fn drain(&mut self, patience: Duration) -> Result<(), SimulationError> {
        let end = self.pair.now() + patience;
        while self.pair.now() < end && self.pair.client().buffered() > 0 {
            self.run_to(self.pair.now() + Duration::from_millis(100))?;
        }
        Ok(())
    }

    fn into_delivery(self) -> Delivery {
        let stats = self.pair.client().stats();
        Delivery {
            arrivals: self.reader.arrivals,
            retransmissions: stats.segments_retransmitted,
            timeouts: stats.timeouts,
            ..Delivery::default()
        }
    }

    fn run_to(&mut self, end: Time) -> Result<(), SimulationError> {
        let reader = &mut self.reader;
        let mut failed = Ok(());
        self.pair.sim.run_to_with(end, |sim, host, _| {
            if host == SERVER {
                failed = sim.act(host, |server, now| {
                    while let Some(data) = server.receive(now) {
                        reader.take(now, data.len());
                    }
                });
            }
        })?;
        failed
    }
}

impl Reader {
    fn new(packets: &[VideoPacket]) -> Self {
        let ends = packets.iter().scan(0, |end, packet| {
            *end += u64::from(packet.len);
            Some(*end)
        });
        Self { ends: ends.collect(), read: 0, arrivals: vec![None; packets.len()], next: 0 }
    }

    fn take(&mut self, now: Time, len: usize) {
        self.read += len as u64;
        while self.ends.get(self.next).is_some_and(|end| *end <= self.read) {
            self.arrivals[self.next] = Some(now);
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svc::Layer;

    #[test]
    fn a_packet_has_arrived_with_its_last_byte() {
        let packet = |len| VideoPacket { at: Duration::ZERO, frame: 0, layer: Layer::Base, len };
        let mut reader = Reader::new(&[packet(10), packet(5), packet(7)]);
        let [early, late] = [1, 2].map(Time::from_millis);
        reader.take(early, 14);
        reader.take(late, 8);
        assert_eq!(reader.arrivals, [Some(early), Some(late), Some(late)]);
    }
}
