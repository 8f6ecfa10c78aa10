//! [`Peer`]: server or client over one of the transports.

mod sctp;
mod tcp;
mod udp;

use anabranch_netsim::{Carrier as Protocol, HostId, Pair, Side, SimulationError};
use anabranch_sansio::{FourTuple, Machine, Rng, Time};

use super::message::Message;
use super::setup::Setup;

pub(super) use sctp::SctpPeer;
pub(super) use tcp::TcpPeer;
pub(super) use udp::UdpPeer;

/// Server or client over one of the transports. After each event of its machine it is asked for
/// what arrived, and acts itself where the transport needs it.
pub(super) trait Peer: Machine {
    /// What its packets are on the wire.
    const PROTOCOL: Protocol;

    fn new(side: Side, path: FourTuple, setup: &Setup, rng: Rng) -> Self;

    /// The client's first word.
    fn connect(&mut self, now: Time);

    /// The client asks for a channel, in the transport's way.
    fn request(&mut self, now: Time, channel: u16);

    /// The server sends a message to whom has asked last.
    fn send(&mut self, now: Time, message: Message);

    /// The next thing that arrived whole.
    fn receive(&mut self, now: Time) -> Option<Incoming>;

    /// Bytes that wait to be sent or acknowledged.
    fn buffered(&self) -> usize;

    fn counters(&self) -> Counters;
}

/// What arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Incoming {
    /// At the server: a request for this channel.
    Request(u16),
    /// At the client.
    Media(Message),
}

/// Runs up to and including `end`, and hands on all that arrives, each with where and when.
pub(super) fn run_to<P: Peer>(
    pair: &mut Pair<P>,
    end: Time,
    mut on_incoming: impl FnMut(HostId, &mut P, Time, Incoming),
) -> Result<(), SimulationError> {
    let mut failed = Ok(());
    pair.sim.run_to_with(end, |sim, host, _| {
        let read = sim.act(host, |peer, now| {
            while let Some(incoming) = peer.receive(now) {
                on_incoming(host, peer, now, incoming);
            }
        });
        if read.is_err() {
            failed = read;
        }
    })?;
    failed
}

/// What a transport counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// Packets of media that were sent again.
    pub(super) retransmissions: u64,
    /// Retransmission timers that expired.
    pub(super) timeouts: u64,
}
