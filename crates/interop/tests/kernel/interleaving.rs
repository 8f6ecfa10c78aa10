//! Messages in I-DATA chunks (RFC 8260), each of one fragment.
//!
//! The kernel does not count fragments as others do. RFC 8260 section 2.1 says of the first one
//! that "the FSN is implicitly considered to be 0", and of all that they are enumerated "starting
//! from 0 and incremented by 1"; but it gives the second one FSN 0, too, and waits for that from
//! its peer.

use libtest_mimic::Trial;

use crate::host::{Host, watchful};
use crate::kernel::{KernelSocket, Message};
use crate::network::Network;
use crate::pair::{Caller, ONE_PATH, Pair, fresh_ports, message};
use crate::trial;

/// Less than a packet.
const SIZE: usize = 1_000;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(messages_go_each_way_in_i_data_when_we_call),
        trial(messages_go_each_way_in_i_data_when_the_kernel_calls),
        trial(a_kernel_that_was_not_asked_to_interleave_gets_data),
    ]
}

async fn messages_go_each_way_in_i_data_when_we_call() {
    messages_go_each_way_in_i_data(Caller::We).await;
}

async fn messages_go_each_way_in_i_data_when_the_kernel_calls() {
    messages_go_each_way_in_i_data(Caller::Kernel).await;
}

/// On four streams, over a network that loses.
async fn messages_go_each_way_in_i_data(caller: Caller) {
    let mut pair = connected(caller, true).await;
    assert!(pair.host.with(|association, _| association.interleaves_messages()));
    pair.network.lose_one_in(0, 50).await;
    let all: Vec<Message> =
        (0..160_u32).map(|number| message(number as u16 % 4, number, SIZE)).collect();
    let (at_kernel, at_us) = pair.exchange(&all, &all).await;
    for stream in 0..4 {
        let of_stream = |all: &[Message]| {
            all.iter().filter(|message| message.stream == stream).cloned().collect::<Vec<_>>()
        };
        assert!(of_stream(&at_kernel) == of_stream(&all), "stream {stream} at the kernel");
        assert!(of_stream(&at_us) == of_stream(&all), "stream {stream} at us");
    }
}

async fn a_kernel_that_was_not_asked_to_interleave_gets_data() {
    let mut pair = connected(Caller::We, false).await;
    assert!(!pair.host.with(|association, _| association.interleaves_messages()));
    let messages = [message(0, 1, SIZE)];
    let (at_kernel, at_us) = pair.exchange(&messages, &messages).await;
    assert_eq!((&at_kernel[..], &at_us[..]), (&messages[..], &messages[..]));
}

async fn connected(caller: Caller, kernel_interleaves: bool) -> Pair {
    let network = Network::undisturbed().await;
    let ports = fresh_ports();
    let config = watchful().with(|config| config.extensions.message_interleaving = true);
    let mut host = Host::configured(ONE_PATH.ours, caller == Caller::Kernel, config);
    let mut kernel = KernelSocket::bound(ports.1, ONE_PATH.kernels).await;
    if kernel_interleaves {
        kernel.interleave().await;
    }
    if caller == Caller::We {
        kernel.listen().await;
        host.call(ONE_PATH.ours, ONE_PATH.kernels, ports);
        host.connected().await;
        kernel.notified("association", "up").await;
    } else {
        assert_eq!(kernel.connect(ports.0, &ONE_PATH.ours[..1]).await, Ok(()));
        host.connected().await;
    }
    Pair { host, kernel, network, ports }
}
