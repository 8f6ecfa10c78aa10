//! What a driver counts: plain structs, totals since its start.

use std::io;
use std::net::SocketAddr;

use rustix::io::Errno;

/// The counters of a driver.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DriverStats {
    /// The sum over all sockets, those that were removed included, plus the datagrams that no
    /// socket could be found for.
    pub total: Counters,
    /// The sockets that are open, in the order of their binding.
    pub sockets: Vec<SocketStats>,
    /// How often the driver's task ran.
    pub turns: u64,
    /// How often the machine's timers were run.
    pub timeouts: u64,
    /// How often the machine was found in a busy loop: a timer that is due again and again, with
    /// nothing sent or received. It is then run once a millisecond.
    pub busy_loops: u64,
}

/// The counters of one socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketStats {
    /// The address that the socket was bound to.
    pub bound: SocketAddr,
    /// How many datagrams one system call can send; 1 where segmentation offload is missing.
    pub gso_segments: usize,
    /// Datagrams that wait for room in the kernel's send buffer.
    pub queued: usize,
    /// What went through.
    pub counters: Counters,
}

/// Traffic in both directions and what became of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Received.
    pub rx: Traffic,
    /// Sent: accepted by the kernel.
    pub tx: Traffic,
    /// Not sent.
    pub lost: Losses,
    /// Receive calls that failed. They cost no datagram.
    pub rx_errors: u64,
}

impl Counters {
    pub(crate) fn add(&mut self, other: &Self) {
        self.rx.add(&other.rx);
        self.tx.add(&other.tx);
        self.lost.add(&other.lost);
        self.rx_errors += other.rx_errors;
    }
}

/// Datagrams of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Datagrams.
    pub datagrams: u64,
    /// Bytes of UDP payload.
    pub bytes: u64,
    /// System calls that carried them.
    pub calls: u64,
}

impl Traffic {
    pub(crate) fn add(&mut self, other: &Self) {
        self.datagrams += other.datagrams;
        self.bytes += other.bytes;
        self.calls += other.calls;
    }
}

/// Datagrams that could not be sent, by reason. To the protocol each is a loss like any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// No socket is bound to the path's local address (any more).
    pub no_socket: u64,
    /// The path makes no sense: port 0, a multicast source, IPv4 towards IPv6.
    pub bad_path: u64,
    /// Larger than the interface's MTU (EMSGSIZE).
    pub too_large: u64,
    /// No route, or the interface or its address is gone (ENETUNREACH and its kin).
    pub unreachable: u64,
    /// The peer's host reported a closed port (ECONNREFUSED).
    pub refused: u64,
    /// A firewall or policy of this machine forbids it (EPERM, EACCES).
    pub not_permitted: u64,
    /// The send queue was full.
    pub queue_full: u64,
    /// Any other error.
    pub other: u64,
}

impl Losses {
    /// All of them.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.no_socket
            + self.bad_path
            + self.too_large
            + self.unreachable
            + self.refused
            + self.not_permitted
            + self.queue_full
            + self.other
    }

    fn add(&mut self, other: &Self) {
        self.no_socket += other.no_socket;
        self.bad_path += other.bad_path;
        self.too_large += other.too_large;
        self.unreachable += other.unreachable;
        self.refused += other.refused;
        self.not_permitted += other.not_permitted;
        self.queue_full += other.queue_full;
        self.other += other.other;
    }

    /// The counter that a failed send belongs to.
    pub(crate) fn by_error(&mut self, error: &io::Error) -> &mut u64 {
        match Errno::from_io_error(error).unwrap_or(Errno::IO) {
            Errno::MSGSIZE => &mut self.too_large,
            // EINVAL, too: so the kernel answers to an IPv6 source address that is gone.
            Errno::NETUNREACH
            | Errno::HOSTUNREACH
            | Errno::NETDOWN
            | Errno::ADDRNOTAVAIL
            | Errno::INVAL => &mut self.unreachable,
            Errno::CONNREFUSED => &mut self.refused,
            Errno::PERM | Errno::ACCESS => &mut self.not_permitted,
            Errno::NOBUFS | Errno::AGAIN => &mut self.queue_full,
            _ => &mut self.other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_of_the_kernel_has_its_counter() {
        let mut lost = Losses::default();
        for errno in [Errno::MSGSIZE, Errno::NETUNREACH, Errno::CONNREFUSED, Errno::PERM] {
            *lost.by_error(&errno.into()) += 1;
        }
        *lost.by_error(&io::Error::other("not of the kernel")) += 1;
        let Losses { too_large, unreachable, refused, not_permitted, other, .. } = lost;
        assert_eq!([too_large, unreachable, refused, not_permitted, other], [1; 5]);
        assert_eq!(lost.sum(), 5);
    }

    #[test]
    fn a_total_is_the_sum_of_every_field() {
        let lost = Losses {
            no_socket: 1,
            bad_path: 2,
            too_large: 4,
            unreachable: 8,
            refused: 16,
            not_permitted: 32,
            queue_full: 64,
            other: 128,
        };
        let mut total = lost;
        total.add(&lost);
        assert_eq!((lost.sum(), total.sum()), (255, 510));
    }
}
