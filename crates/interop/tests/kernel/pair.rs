//! [`Pair`]: an association between us and the kernel.

use std::sync::atomic::{AtomicU16, Ordering};

use anabranch_sansio::Rng;
use anabranch_sctp::{IncomingMessage, OutgoingMessage, PathReport, PathState};
use anabranch_wire::{Ppid, StreamId};

use crate::host::Host;
use crate::kernel::{KernelSocket, Message, Policy};
use crate::network::Network;

/// Who calls whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    We,
    Kernel,
}

/// The addresses of both ends; those at the same place of both lists are on one network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addresses {
    pub(crate) ours: &'static [&'static str],
    pub(crate) kernels: &'static [&'static str],
}

/// One path.
pub(crate) const ONE_PATH: Addresses = Addresses { ours: &["10.77.1.1"], kernels: &["10.77.1.2"] };
/// Two paths over separate networks.
pub(crate) const TWO_PATHS: Addresses =
    Addresses { ours: &["10.77.1.1", "10.77.2.1"], kernels: &["10.77.1.2", "10.77.2.2"] };
/// Two paths, both IPv6.
pub(crate) const IPV6: Addresses =
    Addresses { ours: &["fd77:1::1", "fd77:2::1"], kernels: &["fd77:1::2", "fd77:2::2"] };
/// One path of each family.
pub(crate) const MIXED: Addresses =
    Addresses { ours: &["10.77.1.1", "fd77:2::1"], kernels: &["10.77.1.2", "fd77:2::2"] };

/// An association between us and the kernel, on networks of which nothing else makes use.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) host: Host,
    pub(crate) kernel: KernelSocket,
    pub(crate) network: Network,
    /// SCTP's ports: ours, the kernel's.
    pub(crate) ports: (u16, u16),
}

impl Pair {
    /// Both ends say that they are connected.
    pub(crate) async fn connected(caller: Caller, addresses: Addresses) -> Self {
        let network = Network::undisturbed().await;
        let Addresses { ours, kernels } = addresses;
        let ports = fresh_ports();
        let (host, kernel) = match caller {
            Caller::We => {
                let mut kernel = KernelSocket::listening(ports.1, kernels).await;
                let mut host = Host::at(ours, false);
                host.call(ours, kernels, ports);
                host.connected().await;
                kernel.notified("association", "up").await;
                (host, kernel)
            }
            Caller::Kernel => {
                let mut host = Host::at(ours, true);
                let mut kernel = KernelSocket::bound(ports.1, kernels).await;
                assert_eq!(kernel.connect(ports.0, &ours[..1]).await, Ok(()));
                host.connected().await;
                (host, kernel)
            }
        };
        Self { host, kernel, network, ports }
    }

    /// Waits until both ends have confirmed all paths.
    pub(crate) async fn confirmed(&mut self) {
        let is_active = |path: &PathReport| path.state == PathState::Active;
        self.host.until(|stats| stats.paths.iter().all(is_active)).await;
        self.kernel.until_paths(|paths| paths.iter().all(|path| path.ends_with("=active"))).await;
    }

    /// Both ends send at once, as much as the other takes. Returns what arrived at the kernel, and
    /// what at us.
    pub(crate) async fn exchange(
        &mut self,
        from_us: &[Message],
        from_kernel: &[Message],
    ) -> (Vec<Message>, Vec<Message>) {
        let Self { host, kernel, .. } = self;
        let kernels_part = async {
            for message in from_kernel {
                kernel.begin_send(message, Policy::Reliable).await;
            }
            for _ in from_kernel {
                kernel.sent().await;
            }
            let mut received = Vec::new();
            for _ in from_us {
                received.push(kernel.receive().await);
            }
            received
        };
        let our_part = async {
            for message in from_us {
                host.send(message.into()).await;
            }
            let mut received = Vec::new();
            for _ in from_kernel {
                received.push(Message::from(host.receive().await));
            }
            received
        };
        tokio::join!(kernels_part, our_part)
    }
}

/// SCTP ports that no other test used. Tshark takes none of them for another protocol's.
pub(crate) fn fresh_ports() -> (u16, u16) {
    static NEXT: AtomicU16 = AtomicU16::new(42_000);
    let ours = NEXT.fetch_add(2, Ordering::Relaxed);
    (ours, ours + 1)
}

/// Payload protocol identifiers from here on are nobody's (RFC 9260 section 15.4): tshark does not
/// look into the payload.
const PPID_BASE: u32 = 0x4000_0000;

/// An ordered message; the number decides its bytes and its identifier, so that no two are alike.
pub(crate) fn message(stream: u16, number: u32, len: usize) -> Message {
    let mut payload = vec![0; len];
    Rng::from_u64(u64::from(number)).fill(&mut payload);
    Message { stream, ppid: PPID_BASE + number, ordered: true, payload: payload.into() }
}

impl From<&Message> for OutgoingMessage {
    fn from(message: &Message) -> Self {
        Self {
            ppid: Ppid(message.ppid),
            ordered: message.ordered,
            ..Self::new(StreamId(message.stream), message.payload.clone())
        }
    }
}

impl From<IncomingMessage> for Message {
    fn from(message: IncomingMessage) -> Self {
        Self {
            stream: message.stream.0,
            ppid: message.ppid.0,
            ordered: message.ordered,
            payload: message.payload,
        }
    }
}
