//! Messages arrive: all of them, whole, on their stream and in its order.

use anabranch_sctp::{
    AssociationConfig, Level, LevelStats, OutgoingMessage, PathReport, PathState, ReceiveOrder,
};
use libtest_mimic::Trial;

use crate::host::{Host, watchful};
use crate::kernel::{KernelSocket, Message};
use crate::network::Network;
use crate::pair::{Addresses, Caller, IPV6, MIXED, ONE_PATH, Pair, TWO_PATHS};
use crate::pair::{fresh_ports, message};
use crate::trial;

/// Bytes of most messages here: several packets each.
const SIZE: usize = 10_000;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(a_megabyte_goes_each_way_when_we_call),
        trial(a_megabyte_goes_each_way_when_the_kernel_calls),
        trial(a_megabyte_goes_each_way_over_ipv6),
        trial(a_megabyte_goes_each_way_with_a_path_of_each_family),
        trial(a_megabyte_goes_each_way_over_a_network_that_loses),
        trial(a_megabyte_goes_each_way_when_our_timers_are_those_for_media),
        trial(a_kernel_that_is_offered_marks_of_importance_gets_messages_as_ever),
        trial(messages_of_every_size_arrive_whole),
        trial(each_stream_keeps_its_own_order),
        trial(unordered_messages_arrive_and_are_marked),
        trial(a_kernel_that_does_not_read_holds_us_up_and_is_not_given_up),
    ]
}

async fn a_megabyte_goes_each_way_when_we_call() {
    a_megabyte_goes_each_way(Caller::We, ONE_PATH).await;
}

async fn a_megabyte_goes_each_way_when_the_kernel_calls() {
    a_megabyte_goes_each_way(Caller::Kernel, TWO_PATHS).await;
}

async fn a_megabyte_goes_each_way_over_ipv6() {
    a_megabyte_goes_each_way(Caller::We, IPV6).await;
}

async fn a_megabyte_goes_each_way_with_a_path_of_each_family() {
    a_megabyte_goes_each_way(Caller::Kernel, MIXED).await;
}

async fn a_megabyte_goes_each_way(caller: Caller, addresses: Addresses) {
    let mut pair = Pair::connected(caller, addresses).await;
    let (from_us, from_kernel) = megabytes();
    let (at_kernel, at_us) = pair.exchange(&from_us, &from_kernel).await;
    assert!(at_kernel == from_us, "the kernel got every byte in order");
    assert!(at_us == from_kernel, "we got every byte in order");
}

async fn a_megabyte_goes_each_way_over_a_network_that_loses() {
    let mut pair = Pair::connected(Caller::We, ONE_PATH).await;
    pair.network.lose_one_in(0, 50).await;
    let (from_us, from_kernel) = megabytes();
    let (at_kernel, at_us) = pair.exchange(&from_us, &from_kernel).await;
    assert!(at_kernel == from_us, "the kernel got every byte in order");
    assert!(at_us == from_kernel, "we got every byte in order");
    let stats = pair.host.stats();
    assert!(stats.streams.chunks_retransmitted > 0, "some of ours was lost: {stats:#?}");
}

/// It skips the parameter, answers without it, and sees none.
async fn a_kernel_that_is_offered_marks_of_importance_gets_messages_as_ever() {
    for caller in [Caller::We, Caller::Kernel] {
        let network = Network::undisturbed().await;
        let ports = fresh_ports();
        let Addresses { ours, kernels } = ONE_PATH;
        let config = watchful().with(|config| {
            config.extensions.level_marks = true;
            config.buffers.receive_order = ReceiveOrder::PRIORITY;
        });
        let mut host = Host::configured(ours, caller == Caller::Kernel, config);
        let mut kernel = KernelSocket::bound(ports.1, kernels).await;
        if caller == Caller::We {
            kernel.listen().await;
            host.call(ours, kernels, ports);
            host.connected().await;
            kernel.notified("association", "up").await;
        } else {
            assert_eq!(kernel.connect(ports.0, &ours[..1]).await, Ok(()));
            host.connected().await;
        }
        let all: Vec<Message> = (0..40).map(|number| message(1, number, SIZE)).collect();
        for (number, outgoing) in all.iter().enumerate() {
            let level = Level::ALL[number % Level::ALL.len()];
            host.send(OutgoingMessage { level, ..outgoing.into() }).await;
        }
        for expected in &all {
            assert_eq!(kernel.receive().await, *expected);
        }
        let mut pair = Pair { host, kernel, network, ports };
        let (_, at_us) = pair.exchange(&[], &all).await;
        assert!(at_us == all, "in order of arrival");
        let levels = pair.host.stats().levels;
        assert_eq!(levels, <[LevelStats; 4]>::default(), "marks were not agreed upon");
    }
}

/// They are faster than the kernel's delayed SACKs, which then look like losses.
async fn a_megabyte_goes_each_way_when_our_timers_are_those_for_media() {
    let network = Network::undisturbed().await;
    let ports = fresh_ports();
    let Addresses { ours, kernels } = TWO_PATHS;
    let kernel = KernelSocket::listening(ports.1, kernels).await;
    let mut host = Host::configured(ours, false, AssociationConfig::media());
    host.call(ours, kernels, ports);
    host.connected().await;
    let mut pair = Pair { host, kernel, network, ports };
    pair.kernel.notified("association", "up").await;
    let (from_us, from_kernel) = megabytes();
    let (at_kernel, at_us) = pair.exchange(&from_us, &from_kernel).await;
    assert!(at_kernel == from_us, "the kernel got every byte in order");
    assert!(at_us == from_kernel, "we got every byte in order");
    let word = [message(0, 0, 100)];
    for _ in 0..20 {
        let (at_kernel, _) = pair.exchange(&word, &[]).await;
        assert_eq!(at_kernel, word, "one small message at a time, each SACK delayed");
    }
    pair.confirmed().await;
}

async fn messages_of_every_size_arrive_whole() {
    let mut pair = Pair::connected(Caller::We, ONE_PATH).await;
    let sizes = [1, 2, 3, 4, 5, 1_324, 1_325, 1_452, 1_453, 65_535, 65_536, 262_144];
    let all: Vec<Message> =
        (0..).zip(sizes).map(|(number, size)| message(0, number, size)).collect();
    let (at_kernel, at_us) = pair.exchange(&all, &all).await;
    assert_eq!(at_kernel.iter().map(|m| m.payload.len()).collect::<Vec<_>>(), sizes);
    assert!(at_kernel == all, "every byte as it was");
    assert!(at_us == all, "every byte as it was");
}

async fn each_stream_keeps_its_own_order() {
    let mut pair = Pair::connected(Caller::Kernel, TWO_PATHS).await;
    pair.network.lose_one_in(0, 10).await;
    let streams = 8_u16;
    let all: Vec<Message> =
        (0..160_u32).map(|number| message(number as u16 % streams, number, 2_000)).collect();
    let (at_kernel, at_us) = pair.exchange(&all, &all).await;
    for stream in 0..streams {
        let of_stream = |all: &[Message]| {
            all.iter().filter(|message| message.stream == stream).cloned().collect::<Vec<_>>()
        };
        assert!(of_stream(&at_kernel) == of_stream(&all), "stream {stream} at the kernel");
        assert!(of_stream(&at_us) == of_stream(&all), "stream {stream} at us");
    }
}

async fn unordered_messages_arrive_and_are_marked() {
    let mut pair = Pair::connected(Caller::We, ONE_PATH).await;
    pair.network.lose_one_in(0, 10).await;
    let all: Vec<Message> =
        (0..100).map(|number| Message { ordered: false, ..message(1, number, 3_000) }).collect();
    let (mut at_kernel, mut at_us) = pair.exchange(&all, &all).await;
    at_kernel.sort_by_key(|message| message.ppid);
    at_us.sort_by_key(|message| message.ppid);
    assert!(at_kernel == all, "each once, at the kernel");
    assert!(at_us == all, "each once, at us");
}

/// Its window closes, and we ask now and then whether it opened. It answers, so nothing has failed.
async fn a_kernel_that_does_not_read_holds_us_up_and_is_not_given_up() {
    let mut pair = Pair::connected(Caller::Kernel, TWO_PATHS).await;
    pair.confirmed().await;
    let all: Vec<Message> = (0..50).map(|number| message(0, number, SIZE)).collect();
    for message in &all {
        pair.host.send(message.into()).await;
    }
    let asked = |path: &PathReport| path.counters.timeouts;
    pair.host.until(|stats| stats.paths.iter().map(asked).sum::<u64>() >= 4).await;
    let stats = pair.host.stats();
    let is_active = |path: &PathReport| path.state == PathState::Active;
    assert!(stats.paths.iter().all(is_active), "no path failed: {stats:#?}");
    for message in &all {
        assert!(pair.kernel.receive().await == *message, "every byte in order");
    }
}

fn megabytes() -> (Vec<Message>, Vec<Message>) {
    let from_us = (0..100).map(|number| message(0, number, SIZE)).collect();
    let from_kernel = (100..200).map(|number| message(0, number, SIZE)).collect();
    (from_us, from_kernel)
}
