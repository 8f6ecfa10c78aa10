//! Authenticated chunks (RFC 4895), and addresses that change by request (RFC 5061).

use anabranch_sctp::{AssociationConfig, Authentication, PathState, Protection, SharedKey};
use libtest_mimic::Trial;

use crate::host::{Host, watchful};
use crate::kernel::KernelSocket;
use crate::network::Network;
use crate::pair::{Addresses, Caller, ONE_PATH, Pair, TWO_PATHS, fresh_ports, message};
use crate::trial;

const SECRET: &str = "a-secret-of-two-kernels";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(everything_crosses_signed_when_we_call),
        trial(everything_crosses_signed_when_the_kernel_calls),
        trial(a_kernel_with_another_key_is_refused),
        trial(an_address_that_the_kernel_adds_and_deletes_is_a_path_meanwhile),
        trial(an_address_that_we_add_and_leave_is_a_path_of_the_kernels_meanwhile),
    ]
}

async fn everything_crosses_signed_when_we_call() {
    everything_crosses_signed(Caller::We).await;
}

async fn everything_crosses_signed_when_the_kernel_calls() {
    everything_crosses_signed(Caller::Kernel).await;
}

/// The kernel wants our data signed, and we want everything signed.
async fn everything_crosses_signed(caller: Caller) {
    let config = keyed(SECRET, Protection::Everything);
    let mut pair = connected(caller, ONE_PATH, config).await;
    let messages: Vec<_> = (0..20).map(|number| message(1, number, 3_000)).collect();
    let (at_kernel, at_us) = pair.exchange(&messages, &messages).await;
    assert_eq!((&at_kernel, &at_us), (&messages, &messages));
    assert_eq!(pair.host.stats().unauthenticated, 0);
}

async fn a_kernel_with_another_key_is_refused() {
    let _network = Network::undisturbed().await;
    let ports = fresh_ports();
    let config = keyed("what-the-kernel-does-not-know", Protection::Everything);
    let _host = Host::configured(ONE_PATH.ours, true, config);
    let mut kernel = KernelSocket::bound(ports.1, ONE_PATH.kernels).await;
    kernel.authenticate(SECRET).await;
    let refused = kernel.connect(ports.0, &ONE_PATH.ours[..1]).await;
    assert!(refused.is_err(), "within its patience, and with an error");
}

async fn an_address_that_the_kernel_adds_and_deletes_is_a_path_meanwhile() {
    let first = Addresses { ours: TWO_PATHS.ours, kernels: &TWO_PATHS.kernels[..1] };
    let config = keyed(SECRET, Protection::Addresses);
    let mut pair = connected(Caller::Kernel, first, config).await;
    let second = TWO_PATHS.kernels[1];
    let leads_there = |path: &anabranch_sctp::PathReport, state: PathState| {
        path.tuple.remote.ip().to_string() == second && path.state == state
    };
    pair.kernel.add_address(pair.ports.1, second).await;
    let is_active = |path: &anabranch_sctp::PathReport| leads_there(path, PathState::Active);
    pair.host.until(|stats| stats.paths.iter().any(is_active)).await;
    pair.kernel.delete_address(pair.ports.1, second).await;
    let is_gone = |path: &anabranch_sctp::PathReport| leads_there(path, PathState::Inactive);
    pair.host.until(|stats| stats.paths.iter().any(is_gone)).await;
    let messages = [message(0, 1, 1_000)];
    let (at_kernel, at_us) = pair.exchange(&messages, &messages).await;
    assert_eq!((&at_kernel[..], &at_us[..]), (&messages[..], &messages[..]));
}

async fn an_address_that_we_add_and_leave_is_a_path_of_the_kernels_meanwhile() {
    let first = Addresses { ours: &TWO_PATHS.ours[..1], kernels: TWO_PATHS.kernels };
    let config = keyed(SECRET, Protection::Addresses);
    let mut pair = connected(Caller::We, first, config).await;
    let second = TWO_PATHS.ours[1];
    pair.host.join(second, TWO_PATHS.kernels[1]);
    let is_active = |path: &String| path.contains(second) && path.ends_with("=active");
    pair.kernel.until_paths(|paths| paths.iter().any(is_active)).await;
    pair.network.cut(0).await;
    let messages = [message(0, 1, 1_000)];
    let (at_kernel, at_us) = pair.exchange(&messages, &messages).await;
    assert_eq!((&at_kernel[..], &at_us[..]), (&messages[..], &messages[..]));
    pair.network.restore(0).await;
    pair.host.leave(second);
    pair.kernel.until_paths(|paths| !paths.iter().any(|path| path.contains(second))).await;
}

fn keyed(secret: &str, protection: Protection) -> AssociationConfig {
    let keys = vec![SharedKey::new(1, secret.as_bytes())];
    let authentication = Authentication::new(keys, protection).expect("a sound key");
    watchful().with(|config| config.extensions.authentication = Some(authentication))
}

async fn connected(caller: Caller, addresses: Addresses, config: AssociationConfig) -> Pair {
    let network = Network::undisturbed().await;
    let Addresses { ours, kernels } = addresses;
    let ports = fresh_ports();
    let mut host = Host::configured(ours, caller == Caller::Kernel, config);
    let mut kernel = KernelSocket::bound(ports.1, kernels).await;
    kernel.authenticate(SECRET).await;
    if caller == Caller::We {
        kernel.listen().await;
        host.call(ours, kernels, ports);
        host.connected().await;
        kernel.notified("association", "up").await;
    } else {
        assert_eq!(kernel.connect(ports.0, &ours[..1]).await, Ok(()));
        host.connected().await;
    }
    Pair { host, kernel, network, ports }
}
