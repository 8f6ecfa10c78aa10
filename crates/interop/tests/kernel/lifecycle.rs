//! How associations begin and end, other than by a plain call.

use anabranch_sctp::{CloseReason, Event, PeerCauses};
use libtest_mimic::Trial;

use crate::host::Host;
use crate::kernel::{KernelSocket, Message, Policy};
use crate::network::Network;
use crate::pair::{Caller, ONE_PATH, Pair, TWO_PATHS, fresh_ports, message};
use crate::trial;

/// What an abort says.
const REASON: &str = "the stream is over capacity";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(our_shutdown_delivers_everything_first),
        trial(the_kernels_shutdown_delivers_everything_first),
        trial(both_ends_shut_down_at_once),
        trial(our_abort_tells_the_kernel_why),
        trial(the_kernels_abort_tells_us_why),
        trial(a_port_where_the_kernel_does_not_listen_refuses_us),
        trial(we_refuse_the_kernel_where_we_do_not_listen),
        trial(calls_that_cross_become_one_association),
        trial(a_restarted_kernel_is_noticed_and_talked_to),
        trial(the_kernel_notices_that_we_restarted),
    ]
}

async fn our_shutdown_delivers_everything_first() {
    let mut pair = Pair::connected(Caller::We, ONE_PATH).await;
    let all: Vec<Message> = (0..50).map(|number| message(0, number, 10_000)).collect();
    for message in &all {
        pair.host.send(message.into()).await;
    }
    pair.host.with(|association, now| association.shutdown(now));
    for message in &all {
        assert!(pair.kernel.receive().await == *message, "delivered");
    }
    pair.kernel.notified("association", "shut-down").await;
    assert_eq!(pair.host.closed().await, CloseReason::Shutdown);
}

async fn the_kernels_shutdown_delivers_everything_first() {
    let mut pair = Pair::connected(Caller::Kernel, ONE_PATH).await;
    let all: Vec<Message> = (0..30).map(|number| message(0, number, 10_000)).collect();
    for message in &all {
        pair.kernel.send(message, Policy::Reliable).await;
    }
    pair.kernel.shutdown().await;
    for message in &all {
        assert!(Message::from(pair.host.receive().await) == *message, "delivered");
    }
    assert_eq!(pair.host.closed().await, CloseReason::Shutdown);
    pair.kernel.notified("association", "shut-down").await;
}

async fn both_ends_shut_down_at_once() {
    let mut pair = Pair::connected(Caller::We, ONE_PATH).await;
    pair.network.delay(0, 300).await;
    pair.kernel.shutdown().await;
    pair.host.with(|association, now| association.shutdown(now));
    assert_eq!(pair.host.closed().await, CloseReason::Shutdown);
    pair.kernel.notified("association", "shut-down").await;
}

async fn our_abort_tells_the_kernel_why() {
    let mut pair = Pair::connected(Caller::We, TWO_PATHS).await;
    pair.host.with(|association, _| association.abort(REASON));
    assert_eq!(pair.host.closed().await, CloseReason::Aborted);
    let notification = pair.kernel.notified("association", "lost").await;
    let contains = |bytes: &[u8]| bytes.windows(REASON.len()).any(|at| at == REASON.as_bytes());
    assert!(contains(&notification.bytes), "the ABORT with its cause: {notification:?}");
}

async fn the_kernels_abort_tells_us_why() {
    let mut pair = Pair::connected(Caller::Kernel, TWO_PATHS).await;
    pair.kernel.abort(REASON).await;
    let reason = pair.host.closed().await;
    let CloseReason::AbortedByPeer { causes } = &reason else { panic!("{reason}") };
    assert_eq!(causes.user_reason(), Some(REASON.as_bytes()), "{reason}");
}

async fn a_port_where_the_kernel_does_not_listen_refuses_us() {
    let _network = Network::undisturbed().await;
    let mut host = Host::at(ONE_PATH.ours, false);
    host.call(ONE_PATH.ours, ONE_PATH.kernels, fresh_ports());
    let reason = host.closed().await;
    assert_eq!(reason, CloseReason::AbortedByPeer { causes: PeerCauses::default() });
}

async fn we_refuse_the_kernel_where_we_do_not_listen() {
    let _network = Network::undisturbed().await;
    let (our_port, kernels_port) = fresh_ports();
    let _host = Host::at(ONE_PATH.ours, false);
    let mut kernel = KernelSocket::bound(kernels_port, ONE_PATH.kernels).await;
    let refused = kernel.connect(our_port, ONE_PATH.ours).await;
    assert_eq!(refused, Err("ECONNREFUSED".to_owned()));
}

/// What the kernel sends is delayed: it has called when our call reaches it, and we have called
/// when its call reaches us.
async fn calls_that_cross_become_one_association() {
    let mut network = Network::undisturbed().await;
    network.delay(0, 500).await;
    let ports = fresh_ports();
    let host = Host::at(ONE_PATH.ours, true);
    let mut kernel = KernelSocket::bound(ports.1, ONE_PATH.kernels).await;
    kernel.begin_connect(ports.0, ONE_PATH.ours).await;
    network.until_called_from(ports.1).await;
    let mut pair = Pair { host, kernel, network, ports };
    pair.host.call(ONE_PATH.ours, ONE_PATH.kernels, ports);
    pair.host.connected().await;
    assert_eq!(pair.kernel.connected().await, Ok(()));
    talk(&mut pair).await;
    assert_eq!(pair.host.associations(), 1);
}

/// The kernel loses its association while nobody hears it say so, and calls again from the same
/// port.
async fn a_restarted_kernel_is_noticed_and_talked_to() {
    let mut pair = Pair::connected(Caller::Kernel, TWO_PATHS).await;
    pair.confirmed().await;
    talk(&mut pair).await;
    pair.network.cut(0).await;
    pair.network.cut(1).await;
    pair.kernel.abort("unheard").await;
    pair.kernel.close().await;
    pair.kernel = KernelSocket::bound(pair.ports.1, TWO_PATHS.kernels).await;
    pair.kernel.begin_connect(pair.ports.0, TWO_PATHS.ours).await;
    // Before there is a call, the kernel would answer a heartbeat of ours with an ABORT, and what
    // comes after that is no restart.
    pair.network.until_called_from(pair.ports.1).await;
    pair.network.restore(0).await;
    pair.network.restore(1).await;
    assert_eq!(pair.kernel.connected().await, Ok(()));
    pair.host.event(|event| matches!(event, Event::Restarted)).await;
    talk(&mut pair).await;
    pair.confirmed().await;
}

async fn the_kernel_notices_that_we_restarted() {
    let mut pair = Pair::connected(Caller::We, TWO_PATHS).await;
    talk(&mut pair).await;
    pair.host.vanish().await;
    pair.host = Host::at(TWO_PATHS.ours, false);
    pair.host.call(TWO_PATHS.ours, TWO_PATHS.kernels, pair.ports);
    pair.host.connected().await;
    pair.kernel.notified("association", "restarted").await;
    talk(&mut pair).await;
    pair.confirmed().await;
}

/// A message each way.
async fn talk(pair: &mut Pair) {
    let word = [message(0, 0, 5_000)];
    let (at_kernel, at_us) = pair.exchange(&word, &word).await;
    assert_eq!((at_kernel.as_slice(), at_us.as_slice()), (&word[..], &word[..]));
}
