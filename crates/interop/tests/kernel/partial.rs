//! Partial reliability (RFC 3758): what one end gives up, the other skips.

use std::collections::BTreeSet;
use std::time::Duration;

use anabranch_sctp::{OutgoingMessage, Reliability};
use libtest_mimic::Trial;

use crate::kernel::{Message, Policy};
use crate::pair::{Caller, ONE_PATH, Pair, TWO_PATHS, message};
use crate::trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(what_we_give_up_after_its_lifetime_the_kernel_skips),
        trial(what_the_kernel_gives_up_after_its_lifetime_we_skip),
        trial(what_we_do_not_retransmit_the_kernel_skips),
        trial(what_the_kernel_does_not_retransmit_we_skip),
    ]
}

/// During a cut, messages outlive their time. What is reliable and comes behind them on the same
/// stream has to get through then.
async fn what_we_give_up_after_its_lifetime_the_kernel_skips() {
    let mut pair = Pair::connected(Caller::We, TWO_PATHS).await;
    pair.confirmed().await;
    pair.network.cut(0).await;
    pair.network.cut(1).await;
    let lifetime = Reliability::Lifetime(Duration::from_millis(200));
    for number in 0..20 {
        let outgoing = OutgoingMessage::from(&message(0, number, 3_000));
        pair.host.send(OutgoingMessage { reliability: lifetime, ..outgoing }).await;
    }
    pair.host.until(|stats| stats.streams.abandoned() == 20).await;
    let last = message(0, 20, 3_000);
    pair.host.send((&last).into()).await;
    pair.network.restore(0).await;
    pair.network.restore(1).await;
    assert_eq!(pair.kernel.receive().await, last, "nothing else comes, and nothing holds it up");
    assert!(pair.host.stats().forward_tsns_sent > 0, "some had been sent: they need FORWARD TSN");
}

async fn what_the_kernel_gives_up_after_its_lifetime_we_skip() {
    let mut pair = Pair::connected(Caller::Kernel, TWO_PATHS).await;
    pair.confirmed().await;
    pair.network.cut(0).await;
    pair.network.cut(1).await;
    for number in 0..20 {
        pair.kernel.send(&message(0, number, 3_000), Policy::LifetimeMs(200)).await;
    }
    // The kernel notices that a message is too old when it is about to send it, not before.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let last = message(0, 20, 3_000);
    pair.kernel.send(&last, Policy::Reliable).await;
    pair.network.restore(0).await;
    pair.network.restore(1).await;
    assert_eq!(Message::from(pair.host.receive().await), last);
}

async fn what_we_do_not_retransmit_the_kernel_skips() {
    let mut pair = Pair::connected(Caller::Kernel, ONE_PATH).await;
    pair.network.lose_one_in(0, 10).await;
    let all: Vec<Message> = (0..300).map(|number| message(0, number, 1_000)).collect();
    for message in &all {
        let reliability = Reliability::MaxRetransmissions(0);
        pair.host.send(OutgoingMessage { reliability, ..message.into() }).await;
    }
    let last = message(0, 300, 1_000);
    pair.host.send((&last).into()).await;
    let mut arrived = Vec::new();
    while arrived.last() != Some(&last) {
        arrived.push(pair.kernel.receive().await);
    }
    arrived.pop();
    let abandoned = pair.host.stats().streams.abandoned();
    assert!(abandoned > 0, "one packet in ten is lost");
    assert_partial(&all, &arrived, abandoned as usize);
}

async fn what_the_kernel_does_not_retransmit_we_skip() {
    let mut pair = Pair::connected(Caller::We, ONE_PATH).await;
    pair.network.lose_one_in(0, 10).await;
    let all: Vec<Message> = (0..300).map(|number| message(0, number, 1_000)).collect();
    let last = message(0, 300, 1_000);
    let Pair { host, kernel, .. } = &mut pair;
    let kernels_part = async {
        for message in &all {
            kernel.send(message, Policy::Retransmissions(0)).await;
        }
        kernel.send(&last, Policy::Reliable).await;
    };
    let our_part = async {
        let mut arrived = Vec::new();
        while arrived.last() != Some(&last) {
            arrived.push(Message::from(host.receive().await));
        }
        arrived.pop();
        arrived
    };
    let ((), arrived) = tokio::join!(kernels_part, our_part);
    assert!(arrived.len() < all.len(), "one packet in ten is lost");
    assert_partial(&all, &arrived, all.len() - arrived.len());
}

/// What arrived is in order, as it was sent, and complete but for what was abandoned. Some of that
/// may have arrived: a SACK can be lost, too.
fn assert_partial(all: &[Message], arrived: &[Message], abandoned: usize) {
    let ppids: Vec<u32> = arrived.iter().map(|message| message.ppid).collect();
    assert!(ppids.is_sorted(), "in order: {ppids:?}");
    let distinct: BTreeSet<u32> = ppids.iter().copied().collect();
    assert_eq!(distinct.len(), arrived.len(), "each at most once");
    assert!(arrived.iter().all(|message| all.contains(message)), "none was changed");
    let missing = all.len() - arrived.len();
    assert!(missing <= abandoned, "{missing} are missing, {abandoned} were abandoned");
}
