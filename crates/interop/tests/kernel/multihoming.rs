//! Two networks, one of which fails and comes back.

use anabranch_sctp::{PathId, PathReport, PathState};
use libtest_mimic::Trial;

use crate::kernel::{Message, Policy};
use crate::pair::{Addresses, Caller, IPV6, MIXED, Pair, TWO_PATHS, message};
use crate::trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(both_ends_confirm_both_paths_when_we_call),
        trial(both_ends_confirm_both_paths_when_the_kernel_calls),
        trial(both_ends_confirm_both_paths_over_ipv6),
        trial(both_ends_confirm_a_path_of_each_family),
        trial(a_cut_primary_loses_nothing_and_gets_its_data_back_when_we_call),
        trial(a_cut_primary_loses_nothing_and_gets_its_data_back_when_the_kernel_calls),
        trial(an_unplugged_interface_of_the_kernel_loses_nothing),
        trial(a_transfer_goes_on_while_its_path_is_cut),
    ]
}

async fn both_ends_confirm_both_paths_when_we_call() {
    both_ends_confirm_both_paths(Caller::We, TWO_PATHS).await;
}

async fn both_ends_confirm_both_paths_when_the_kernel_calls() {
    both_ends_confirm_both_paths(Caller::Kernel, TWO_PATHS).await;
}

async fn both_ends_confirm_both_paths_over_ipv6() {
    both_ends_confirm_both_paths(Caller::Kernel, IPV6).await;
}

async fn both_ends_confirm_a_path_of_each_family() {
    both_ends_confirm_both_paths(Caller::We, MIXED).await;
}

async fn both_ends_confirm_both_paths(caller: Caller, addresses: Addresses) {
    let mut pair = Pair::connected(caller, addresses).await;
    pair.confirmed().await;
    let active = |address: &&str| format!("{address}=active");
    let expected: Vec<String> = addresses.ours.iter().map(active).collect();
    assert_eq!(pair.kernel.paths().await, expected);
    let stats = pair.host.stats();
    let pairs = stats.paths.iter().map(|path| (path.tuple.local.ip(), path.tuple.remote.ip()));
    let parse = |text: &str| text.parse().expect("an address");
    let expected = addresses.ours.iter().zip(addresses.kernels).map(|(a, b)| (parse(a), parse(b)));
    assert!(pairs.eq(expected), "each address with its neighbour: {stats:#?}");
}

async fn a_cut_primary_loses_nothing_and_gets_its_data_back_when_we_call() {
    a_cut_primary_loses_nothing_and_gets_its_data_back(Caller::We).await;
}

async fn a_cut_primary_loses_nothing_and_gets_its_data_back_when_the_kernel_calls() {
    a_cut_primary_loses_nothing_and_gets_its_data_back(Caller::Kernel).await;
}

async fn a_cut_primary_loses_nothing_and_gets_its_data_back(caller: Caller) {
    let mut pair = Pair::connected(caller, TWO_PATHS).await;
    pair.confirmed().await;
    let mut talk = Talk::default();
    assert_eq!(talk.turn(&mut pair).await, PathId(0));

    pair.network.cut(0).await;
    talk.until(&mut pair, PathState::Inactive, "10.77.1.1=inactive").await;
    assert_eq!(talk.turn(&mut pair).await, PathId(1), "the kernel's data takes the other path");
    assert!(pair.host.stats().paths[1].is_current, "and so does ours");

    pair.network.restore(0).await;
    talk.until(&mut pair, PathState::Active, "10.77.1.1=active").await;
    assert_eq!(talk.turn(&mut pair).await, PathId(0), "the kernel's data is back");
    assert!(pair.host.stats().paths[0].is_current, "and so is ours");
}

/// The kernel itself knows that the interface is down. Its data stays on the other path then, also
/// when the interface is up again.
async fn an_unplugged_interface_of_the_kernel_loses_nothing() {
    let mut pair = Pair::connected(Caller::Kernel, TWO_PATHS).await;
    pair.confirmed().await;
    let mut talk = Talk::default();
    talk.turn(&mut pair).await;

    pair.network.unplug(0).await;
    while !pair.host.stats().paths[1].is_current {
        talk.turn(&mut pair).await;
    }
    assert_eq!(talk.turn(&mut pair).await, PathId(1));

    pair.network.restore(0).await;
    while !pair.host.stats().paths[0].is_current {
        talk.turn(&mut pair).await;
    }
    talk.turn(&mut pair).await;
}

/// Windows full of data are in flight when the primary goes.
async fn a_transfer_goes_on_while_its_path_is_cut() {
    let mut pair = Pair::connected(Caller::We, TWO_PATHS).await;
    pair.confirmed().await;
    let all: Vec<Message> = (0..200).map(|number| message(0, number, 10_000)).collect();
    let (before, after) = all.split_at(100);
    let (at_kernel, at_us) = pair.exchange(before, before).await;
    assert!(at_kernel == before && at_us == before, "all of it, in order");
    for message in after {
        pair.kernel.begin_send(message, Policy::Reliable).await;
        pair.host.send(message.into()).await;
    }
    pair.network.cut(0).await;
    for message in after {
        pair.kernel.sent().await;
        assert!(Message::from(pair.host.receive().await) == *message, "in order, to us");
    }
    for message in after {
        assert!(pair.kernel.receive().await == *message, "in order, to the kernel");
    }
}

/// Both ends say a word in turn, and each waits until it has heard the other's.
#[derive(Debug, Default)]
struct Talk {
    words: u32,
}

impl Talk {
    /// Returns the path on which the kernel's word came.
    async fn turn(&mut self, pair: &mut Pair) -> PathId {
        let word = message(0, self.words, 2_000);
        self.words += 1;
        pair.host.send((&word).into()).await;
        pair.kernel.send(&word, Policy::Reliable).await;
        assert_eq!(pair.kernel.receive().await, word, "the kernel hears each word once");
        let heard = pair.host.receive().await;
        let path = heard.path;
        assert_eq!(Message::from(heard), word, "we hear each word once");
        path
    }

    /// Talks until both ends see the first path in a state.
    async fn until(&mut self, pair: &mut Pair, ours: PathState, kernels: &str) {
        let is_so = |paths: &[PathReport]| paths[0].state == ours;
        while !is_so(&pair.host.stats().paths) || pair.kernel.paths().await[0] != kernels {
            self.turn(pair).await;
        }
    }
}
