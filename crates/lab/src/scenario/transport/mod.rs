//! What carries the messages of a flow: the real stacks, behind one trait.

mod dccp;
mod quic;
mod sctp;
mod tcp;
mod udp;

use anabranch_sansio::{Machine, Time};
use bytes::Bytes;

use super::sink::Sink;

pub(super) use dccp::dccp;
pub(super) use quic::QuicTransport;
pub(super) use sctp::SctpTransport;
pub(super) use tcp::TcpTransport;
pub(super) use udp::UdpTransport;

/// One end of what carries messages.
pub(super) trait Transport: Machine<Event = Change> {
    /// Calls the other end; the one that is called does nothing.
    fn open(&mut self, now: Time);

    /// Sends a message. False: there is no room now; [`Change::Ready`] reports when there is.
    fn send(&mut self, now: Time, message: Bytes) -> bool;

    /// Hands on what has arrived.
    fn receive(&mut self, now: Time, sink: &mut Sink);

    /// What was counted so far.
    fn counters(&self) -> Counters;
}

/// What a transport reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// Messages can be sent, or again.
    Ready,
    /// It is over, and why.
    Ended(String),
    /// Anything else: something may have arrived.
    Other,
}

/// What a transport counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// Packets' worth of data that was sent again.
    pub(super) retransmitted: u64,
    /// Messages that were given up.
    pub(super) given_up: u64,
    /// Of a transport that sends each message once and may lose it: those that have left.
    pub(super) sent_once: Option<u64>,
}
