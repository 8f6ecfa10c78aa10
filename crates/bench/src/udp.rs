//! Each end in a thread of its own, on a UDP socket of the loopback interface: one system call
//! per packet, as these stacks' users do it.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anabranch_peers::{Message, Peer, State, Treatment};
use anabranch_sansio::{FourTuple, Time};
use bytes::Bytes;
use socket2::SockRef;

use crate::entrants::Entrant;
use crate::{Outcome, Workload, cpu};

/// How long an end sleeps at most: timers are looked at after that, and the other end's progress.
const NAP: Duration = Duration::from_millis(2);

/// How long a transfer may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Room for what may be in flight; loopback drops what finds none.
pub(crate) const SOCKET_BUFFER_BYTES: usize = 4 << 20;

/// Larger than any datagram.
const DATAGRAM_BYTES_MAX: usize = 1 << 16;

/// Sends the workload from one end to the other; returns the CPU time of both.
pub(crate) fn measure(entrant: Entrant, workload: &Workload, seed: u64) -> io::Result<Outcome> {
    let [a, b] = [socket()?, socket()?];
    a.connect(b.local_addr()?)?;
    b.connect(a.local_addr()?)?;
    let progress = Arc::new(Progress::default());
    let start = cpu::of_process();
    let (job, shared) = (*workload, Arc::clone(&progress));
    let receiver =
        thread::spawn(move || End::new(entrant, b, &job, 2 * seed + 1)?.receive(&job, &shared));
    let sent = End::new(entrant, a, workload, 2 * seed)?.send(workload, &progress);
    let received = receiver.join().map_err(|_| io::Error::other("the receiver panicked"))?;
    sent.and(received)?;
    Ok(Outcome { cpu: cpu::of_process() - start, packets_in_flight: None })
}

/// What the receiver got, for the sender to know how much to hand over.
#[derive(Default)]
struct Progress {
    messages: AtomicU64,
}

pub(crate) fn socket() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(NAP))?;
    SockRef::from(&socket).set_recv_buffer_size(SOCKET_BUFFER_BYTES)?;
    Ok(socket)
}

struct End {
    peer: Box<dyn Peer>,
    socket: UdpSocket,
    path: FourTuple,
    start: Instant,
    buf: Vec<u8>,
}

impl End {
    fn new(
        entrant: Entrant,
        socket: UdpSocket,
        workload: &Workload,
        seed: u64,
    ) -> io::Result<Self> {
        let path = FourTuple::new(socket.local_addr()?, socket.peer_addr()?);
        let config = anabranch_peers::Config { path, ..workload.config };
        Ok(Self {
            peer: (entrant.peer)(&config, seed),
            socket,
            path,
            start: Instant::now(),
            buf: vec![0; DATAGRAM_BYTES_MAX],
        })
    }

    fn send(mut self, workload: &Workload, progress: &Progress) -> io::Result<()> {
        self.peer.connect(self.now());
        let message = Message::new(0, vec![0x5a; workload.message]);
        let mut sent = 0;
        loop {
            let received = progress.messages.load(Ordering::Relaxed);
            if received == workload.messages {
                return Ok(());
            }
            if self.start.elapsed() > PATIENCE {
                let stuck = format!("stuck after {received} messages");
                return Err(io::Error::new(ErrorKind::TimedOut, stuck));
            }
            let allowed = workload.messages.min(received + workload.ahead);
            while self.peer.state() == State::Connected && sent < allowed {
                self.peer
                    .send(self.now(), &message, Treatment::default())
                    .map_err(io::Error::other)?;
                sent += 1;
            }
            self.turn()?;
        }
    }

    fn receive(mut self, workload: &Workload, progress: &Progress) -> io::Result<()> {
        while progress.messages.load(Ordering::Relaxed) < workload.messages
            && self.start.elapsed() < PATIENCE
        {
            self.turn()?;
            while self.peer.receive().is_some() {
                progress.messages.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Sends what there is to send, then takes a datagram or a nap.
    fn turn(&mut self) -> io::Result<()> {
        let now = self.now();
        if self.peer.poll_timeout().is_some_and(|wakeup| wakeup.at <= now) {
            self.peer.handle_timeout(now);
        }
        while let Some(packet) = self.peer.poll_packet(now) {
            self.socket.send(&packet)?;
        }
        match self.socket.recv(&mut self.buf) {
            Ok(len) => {
                let packet = Bytes::copy_from_slice(&self.buf[..len]);
                self.peer.handle_packet(self.now(), self.path, packet);
                Ok(())
            }
            Err(error) if is_nap(error.kind()) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn now(&self) -> Time {
        Time::ZERO + self.start.elapsed()
    }
}

/// Nothing came, or the other end is not there yet or any more.
fn is_nap(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::ConnectionRefused)
}
