//! usrsctp, the stack of Firefox and of FreeBSD, as our peer: a program in C that sends every
//! message back, over UDP encapsulation on real sockets.

mod host;
mod peer;

use std::time::Duration;

use anabranch_sctp::{
    AssociationConfig, CloseReason, IncomingMessage, Level, LevelStats, OutgoingMessage,
    ReceiveOrder, Reliability, StreamId,
};
use anabranch_wire::Ppid;

use host::Host;
use peer::{ABORT, Caller, Chunks, SHUT_DOWN};

/// Far longer than any test takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// PPIDs from here on mean nothing to the peer; each message has another.
const FIRST_PPID: u32 = 1_000;

async fn in_time<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, test).await.expect("an end within a minute")
}

fn message(number: u32, len: usize) -> OutgoingMessage {
    let stream = StreamId((number % 4) as u16);
    let payload: Vec<u8> = (0..len).map(|at| (at as u32 * 31 + number) as u8).collect();
    OutgoingMessage {
        ppid: Ppid(FIRST_PPID + number),
        ..OutgoingMessage::new(stream, payload.into())
    }
}

/// What tells messages apart.
fn essence(message: &IncomingMessage) -> (u32, u16, bool, Vec<u8>) {
    (message.ppid.0, message.stream.0, message.ordered, message.payload.to_vec())
}

fn sent(message: &OutgoingMessage) -> (u32, u16, bool, Vec<u8>) {
    (message.ppid.0, message.stream.0, message.ordered, message.payload.to_vec())
}

/// Sends messages of many sizes, which come back whole, those of a stream in their order; then
/// shuts down.
async fn messages_of_every_size_come_back(caller: Caller, chunks: Chunks) {
    let (mut host, mut peer) = Host::connected(caller, chunks, AssociationConfig::default()).await;
    let sizes = [1, 3, 100, 1_200, 1_452, 1_453, 5_000, 20_000, 100_000];
    let messages: Vec<_> = (0..90).map(|n| message(n, sizes[n as usize % sizes.len()])).collect();
    for message in &messages {
        host.send(message.clone()).await;
    }
    let back = host.receive(messages.len()).await;
    for stream in 0..4 {
        let came: Vec<_> = back.iter().filter(|m| m.stream.0 == stream).map(essence).collect();
        let went: Vec<_> = messages.iter().filter(|m| m.stream.0 == stream).map(sent).collect();
        assert!(came == went, "stream {stream} in order and whole");
    }
    host.shut_down();
    assert_eq!(host.closed().await, CloseReason::Shutdown);
    assert_eq!(peer.last_words().await, "shut down");
}

#[tokio::test]
async fn messages_of_every_size_come_back_when_we_call() {
    in_time(messages_of_every_size_come_back(Caller::We, Chunks::Data)).await;
}

#[tokio::test]
async fn messages_of_every_size_come_back_when_usrsctp_calls() {
    in_time(messages_of_every_size_come_back(Caller::Peer, Chunks::Data)).await;
}

#[tokio::test]
async fn messages_of_every_size_come_back_in_i_data_when_we_call() {
    in_time(messages_of_every_size_come_back(Caller::We, Chunks::IData)).await;
}

#[tokio::test]
async fn messages_of_every_size_come_back_in_i_data_when_usrsctp_calls() {
    in_time(messages_of_every_size_come_back(Caller::Peer, Chunks::IData)).await;
}

/// It skips the parameter, answers without it, and sends back what came, of whatever level it was.
async fn marks_of_importance_are_offered_and_messages_come_back_as_ever(caller: Caller) {
    let config = AssociationConfig::default().with(|config| {
        config.extensions.level_marks = true;
        config.buffers.receive_order = ReceiveOrder::PRIORITY;
    });
    for chunks in [Chunks::Data, Chunks::IData] {
        let (mut host, mut peer) = Host::connected(caller, chunks, config.clone()).await;
        let messages = (0..80).map(|number| OutgoingMessage {
            level: Level::ALL[number as usize / 4 % Level::ALL.len()],
            ..message(number, 3_000)
        });
        let messages: Vec<_> = messages.collect();
        for message in &messages {
            host.send(message.clone()).await;
        }
        let back = host.receive(messages.len()).await;
        for stream in 0..4 {
            let came: Vec<_> = back.iter().filter(|m| m.stream.0 == stream).map(essence).collect();
            let went: Vec<_> = messages.iter().filter(|m| m.stream.0 == stream).map(sent).collect();
            assert!(came == went, "stream {stream} in order and whole");
        }
        let levels = host.stats().levels;
        assert_eq!(levels, <[LevelStats; 4]>::default(), "marks were not agreed upon");
        host.shut_down();
        assert_eq!(host.closed().await, CloseReason::Shutdown);
        assert_eq!(peer.last_words().await, "shut down");
    }
}

#[tokio::test]
async fn marks_of_importance_are_offered_and_messages_come_back_when_we_call() {
    let test = marks_of_importance_are_offered_and_messages_come_back_as_ever(Caller::We);
    in_time(test).await;
}

#[tokio::test]
async fn marks_of_importance_are_offered_and_messages_come_back_when_usrsctp_calls() {
    let test = marks_of_importance_are_offered_and_messages_come_back_as_ever(Caller::Peer);
    in_time(test).await;
}

/// usrsctp aborts where fragments of an ordered and of an unordered message of one stream take
/// turns.
#[tokio::test]
async fn ordered_and_unordered_messages_of_one_stream_come_back_in_i_data() {
    in_time(async {
        let config = AssociationConfig::media();
        let (mut host, mut peer) = Host::connected(Caller::We, Chunks::IData, config).await;
        for number in 0..200 {
            let ordered = number % 2 == 0;
            let message = message(number, 20_000);
            host.send(OutgoingMessage { stream: StreamId(1), ordered, ..message }).await;
        }
        let back = host.receive(200).await;
        let ordered: Vec<u32> = back.iter().filter(|m| m.ordered).map(|m| m.ppid.0).collect();
        assert!(ordered.is_sorted() && ordered.len() == 100, "{ordered:?}");
        host.shut_down();
        assert_eq!(host.closed().await, CloseReason::Shutdown);
        assert_eq!(peer.last_words().await, "shut down");
    })
    .await;
}

/// A tenth of the packets is lost, and what is lost is given up: FORWARD TSN or I-FORWARD-TSN, on
/// ordered and unordered messages. The reliable one at the end comes back all the same.
async fn what_is_given_up_is_skipped(chunks: Chunks) {
    let config = AssociationConfig::media();
    let (mut host, mut peer) = Host::connected_over_loss(0.1, chunks, config).await;
    for number in 0..300 {
        let given_up = OutgoingMessage {
            ordered: number % 3 > 0,
            reliability: Reliability::MaxRetransmissions(0),
            ..message(number, 3_000)
        };
        host.send(given_up).await;
    }
    for stream in 0..4 {
        host.send(message(300 + stream, 10)).await;
    }
    let mut last = 0;
    while last < 4 {
        let message = host.receive(1).await.remove(0);
        last += u32::from(message.ppid.0 >= FIRST_PPID + 300);
    }
    let skipped = host.stats().forward_tsns_sent;
    assert!(skipped > 0, "something was given up");
    host.shut_down();
    assert_eq!(host.closed().await, CloseReason::Shutdown);
    assert_eq!(peer.last_words().await, "shut down");
}

#[tokio::test]
async fn what_is_given_up_in_data_is_skipped() {
    in_time(what_is_given_up_is_skipped(Chunks::Data)).await;
}

#[tokio::test]
async fn what_is_given_up_in_i_data_is_skipped() {
    in_time(what_is_given_up_is_skipped(Chunks::IData)).await;
}

#[tokio::test]
async fn usrsctp_ends_the_association_in_order() {
    in_time(async {
        let config = AssociationConfig::default();
        let (mut host, mut peer) = Host::connected(Caller::We, Chunks::Data, config).await;
        host.send(OutgoingMessage { ppid: Ppid(SHUT_DOWN), ..message(0, 10) }).await;
        assert_eq!(host.closed().await, CloseReason::Shutdown);
        assert_eq!(peer.last_words().await, "shut down");
    })
    .await;
}

#[tokio::test]
async fn an_abort_is_heard_at_either_end() {
    in_time(async {
        let config = AssociationConfig::default();
        let (mut host, mut peer) =
            Host::connected(Caller::Peer, Chunks::Data, config.clone()).await;
        host.send(message(0, 10)).await;
        host.receive(1).await;
        host.abort();
        assert_eq!(peer.last_words().await, "aborted");
        let (mut host, _peer) = Host::connected(Caller::We, Chunks::Data, config).await;
        host.send(OutgoingMessage { ppid: Ppid(ABORT), ..message(0, 10) }).await;
        assert!(matches!(host.closed().await, CloseReason::AbortedByPeer { .. }));
    })
    .await;
}
