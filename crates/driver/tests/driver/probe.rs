//! A machine that does what a test tells it, and a peer that is a plain socket.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use anabranch_driver::{Driver, Handle, SocketSet};
use anabranch_sansio::{Datagram, Ecn, FourTuple, Machine, Time, Transmit, Wakeup};

/// Far longer than anything here takes: a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends what its outbox holds, tells what arrived, and answers if it is told to.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    pub(crate) outbox: VecDeque<(Transmit, Vec<u8>)>,
    pub(crate) arrived: VecDeque<Arrived>,
    pub(crate) answers: bool,
    pub(crate) wakeups: Vec<Wakeup>,
    /// A defect: the timers stay due.
    pub(crate) stuck: bool,
    /// How long it lets what arrives gather.
    pub(crate) rest: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Arrived {
    Datagram { path: FourTuple, ecn: Option<Ecn>, bytes: Vec<u8> },
    Timeout { why: &'static str },
}

impl Probe {
    pub(crate) fn send(&mut self, local: SocketAddr, remote: SocketAddr, bytes: &[u8]) {
        self.send_segments(local, remote, bytes, None);
    }

    pub(crate) fn send_segments(
        &mut self,
        local: SocketAddr,
        remote: SocketAddr,
        bytes: &[u8],
        segment_size: Option<usize>,
    ) {
        let path = FourTuple::new(local, remote);
        self.outbox
            .push_back((Transmit { segment_size, ..Transmit::datagram(path) }, bytes.to_vec()));
    }
}

impl Machine for Probe {
    type Event = Arrived;

    fn handle_datagram(&mut self, _: Time, Datagram { path, ecn, bytes }: Datagram<'_>) {
        if bytes == b"panic" {
            panic!("told to");
        }
        if self.answers {
            self.outbox.push_back((Transmit { ecn, ..Transmit::datagram(path) }, bytes.to_vec()));
        }
        self.arrived.push_back(Arrived::Datagram { path, ecn, bytes: bytes.to_vec() });
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.stuck {
            return;
        }
        self.wakeups.sort();
        let due = self.wakeups.partition_point(|wakeup| wakeup.at <= now);
        if due == 0 {
            self.arrived.push_back(Arrived::Timeout { why: "nothing was due" });
        }
        for Wakeup { why, .. } in self.wakeups.drain(..due) {
            self.arrived.push_back(Arrived::Timeout { why });
        }
    }

    fn poll_transmit(&mut self, _: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let (transmit, bytes) = self.outbox.pop_front()?;
        buf.extend(bytes);
        Some(transmit)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.wakeups.iter().min().copied()
    }

    fn poll_event(&mut self) -> Option<Arrived> {
        self.arrived.pop_front()
    }

    fn rest(&self) -> Duration {
        self.rest
    }
}

pub(crate) fn addr(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// A running probe on the given addresses, and the addresses with their ports.
pub(crate) fn probe(locals: &[&str]) -> (Handle<Probe>, Vec<SocketAddr>) {
    let mut sockets = SocketSet::new();
    let bound =
        locals.iter().map(|local| sockets.bind(addr(local)).expect("a bindable address")).collect();
    (Driver::spawn(Probe::default(), sockets).expect("a driver"), bound)
}

/// A probe that sends back what it gets, on the path that it came on.
pub(crate) fn echo(locals: &[&str]) -> (Handle<Probe>, Vec<SocketAddr>) {
    let (handle, bound) = probe(locals);
    handle.with(|machine, _| machine.answers = true);
    (handle, bound)
}

/// Waits, but not for ever.
pub(crate) async fn soon<F: Future>(what: F) -> F::Output {
    tokio::time::timeout(PATIENCE, what).await.expect("nothing happened")
}

/// Waits until `check` holds.
pub(crate) async fn until(mut check: impl FnMut() -> bool) {
    soon(async {
        while !check() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

/// Waits until a port can be bound again.
pub(crate) async fn is_free(bound: SocketAddr) {
    until(|| std::net::UdpSocket::bind(bound).is_ok()).await;
}

/// The next datagram that arrived.
pub(crate) async fn datagram(handle: &Handle<Probe>) -> (FourTuple, Vec<u8>) {
    match soon(handle.next_event()).await {
        Some(Arrived::Datagram { path, bytes, .. }) => (path, bytes),
        other => panic!("not a datagram: {other:?}"),
    }
}
