//! Spawning, events, timers, closing, panics.

use std::time::Duration;

use crate::probe::{Arrived, Probe, addr, datagram, echo, is_free, probe, soon, until};
use anabranch_driver::{
    BindError, Clock, Driver, DriverError, SocketSet, SpawnError, rest_before_park,
};
use anabranch_sansio::{Time, Wakeup};

#[tokio::test]
async fn a_timer_fires_once_and_never_before_its_time() {
    let (handle, _) = probe(&[]);
    handle.with(|machine, now| {
        for (delay_ms, why) in [(3, "second"), (1, "first")] {
            machine.wakeups.push(Wakeup { at: now + Duration::from_millis(delay_ms), why });
        }
    });
    for expected in ["first", "second"] {
        let event = soon(handle.next_event()).await;
        assert_eq!(event, Some(Arrived::Timeout { why: expected }));
    }
    assert_eq!(handle.with(|machine, _| machine.arrived.len()), 0);
}

#[tokio::test]
async fn a_timer_in_the_past_fires_at_once() {
    let (handle, _) = probe(&[]);
    handle.with(|machine, _| machine.wakeups.push(Wakeup { at: Time::ZERO, why: "overdue" }));
    assert!(matches!(soon(handle.next_event()).await, Some(Arrived::Timeout { .. })));
}

#[tokio::test]
async fn a_timer_that_is_always_due_is_noticed_and_does_not_stop_the_traffic() {
    let (handle, at) = echo(&["127.0.0.1:0"]);
    handle.with(|machine, _| {
        machine.stuck = true;
        machine.wakeups.push(Wakeup { at: Time::ZERO, why: "stuck" });
    });
    until(|| handle.stats().busy_loops > 2).await;
    handle.with(|machine, _| machine.send(at[0], at[0], b"alive"));
    assert_eq!(datagram(&handle).await.1, b"alive");
}

#[tokio::test]
async fn each_event_goes_to_one_of_the_tasks_that_wait() {
    let (handle, at) = probe(&["127.0.0.1:0"]);
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let handle = handle.clone();
            tokio::spawn(async move { datagram(&handle).await.1 })
        })
        .collect();
    let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for nth in 0..3_u8 {
        peer.send_to(&[nth], at[0]).unwrap();
    }
    let mut got = Vec::new();
    for task in tasks {
        got.extend(soon(task).await.unwrap());
    }
    got.sort();
    assert_eq!(got, [0, 1, 2]);
}

#[tokio::test]
async fn closing_sends_the_last_words_and_frees_the_port() {
    let (server, at) = probe(&["127.0.0.1:0"]);
    let (client, locals) = probe(&["127.0.0.1:0"]);
    client.with(|machine, _| machine.send(locals[0], at[0], b"farewell"));
    client.close();
    assert_eq!(soon(client.closed()).await, Ok(()));
    assert_eq!(datagram(&server).await.1, b"farewell");
    is_free(locals[0]).await;
    assert_eq!(soon(client.next_event()).await, None);
    assert_eq!(client.bind(addr("127.0.0.1:0")), Err(BindError::Closed));
    assert_eq!(client.with(|machine, _| machine.outbox.len()), 0, "can still be asked");
}

#[tokio::test]
async fn events_that_wait_outlive_the_driver() {
    let (handle, at) = probe(&["127.0.0.1:0"]);
    let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    peer.send_to(b"one", at[0]).unwrap();
    peer.send_to(b"two", at[0]).unwrap();
    until(|| handle.stats().total.rx.datagrams == 2).await;
    handle.close();
    soon(handle.closed()).await.unwrap();
    assert_eq!(datagram(&handle).await.1, b"one");
    assert_eq!(datagram(&handle).await.1, b"two");
    assert_eq!(soon(handle.next_event()).await, None);
}

#[tokio::test]
async fn the_last_handle_takes_the_driver_with_it() {
    let (handle, at) = echo(&["127.0.0.1:0"]);
    let other = handle.clone();
    drop(handle);
    other.with(|machine, _| machine.send(at[0], at[0], b"alive"));
    assert_eq!(datagram(&other).await.1, b"alive");
    drop(other);
    is_free(at[0]).await;
}

#[tokio::test]
async fn a_panic_of_the_machine_reaches_everyone_as_an_error() {
    let (handle, at) = probe(&["127.0.0.1:0"]);
    let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let waiting = tokio::spawn({
        let handle = handle.clone();
        async move { handle.next_event().await }
    });
    peer.send_to(b"panic", at[0]).unwrap();
    let expected = DriverError::MachinePanicked { message: "told to".to_owned() };
    assert_eq!(soon(handle.closed()).await, Err(expected.clone()));
    assert_eq!(handle.try_with(|_, _| ()), Err(expected));
    assert_eq!(soon(waiting).await.unwrap(), None);
}

#[tokio::test]
async fn a_panic_within_with_ends_the_driver() {
    let (handle, _) = probe(&["127.0.0.1:0"]);
    let other = handle.clone();
    let panicked = tokio::spawn(async move { other.with(|_, _| panic!("told to")) }).await;
    assert!(panicked.is_err());
    let error = soon(handle.closed()).await.unwrap_err();
    assert!(matches!(error, DriverError::MachinePanicked { .. }), "{error}");
}

#[test]
fn a_runtime_that_stops_is_reported() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let handle = runtime.block_on(async { probe(&["127.0.0.1:0"]).0 });
    drop(runtime);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(handle.closed()), Err(DriverError::RuntimeStopped));
}

#[test]
fn without_a_runtime_spawning_is_refused_in_words() {
    let refused = Driver::spawn(Probe::default(), SocketSet::new());
    assert!(matches!(refused, Err(SpawnError::NoRuntime)));
}

#[tokio::test]
async fn a_driver_apart_takes_what_keeps_coming_in_lots() {
    const DATAGRAMS: u64 = 300;
    let mut sockets = SocketSet::new();
    let at = sockets.bind(addr("127.0.0.1:0")).unwrap();
    let handle = Driver::spawn_apart(Probe::default(), sockets).unwrap();
    let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let before = handle.stats().turns;
    for _ in 0..DATAGRAMS {
        peer.send_to(b"one of many", at).unwrap();
        std::thread::sleep(Duration::from_micros(100));
    }
    until(|| handle.stats().total.rx.datagrams == DATAGRAMS).await;
    let turns = handle.stats().turns - before;
    assert!(turns < DATAGRAMS / 2, "{turns} turns");
}

#[test]
fn a_resting_driver_takes_what_keeps_coming_in_lots_and_lets_others_have_their_turn() {
    const DATAGRAMS: u64 = 300;
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().on_thread_park(rest_before_park).build().unwrap();
    runtime.block_on(async {
        let mut sockets = SocketSet::new();
        let at = sockets.bind(addr("127.0.0.1:0")).unwrap();
        let probe = Probe { rest: Duration::from_millis(2), ..Probe::default() };
        let handle = Driver::spawn_resting(probe, sockets, Clock::start()).unwrap();
        let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let sending = std::thread::spawn(move || {
            for _ in 0..DATAGRAMS {
                peer.send_to(b"one of many", at).unwrap();
                std::thread::sleep(Duration::from_micros(100));
            }
        });
        let mut turns_of_others = 0;
        while handle.stats().total.rx.datagrams < DATAGRAMS {
            turns_of_others += 1;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        sending.join().unwrap();
        let stats = handle.stats();
        let calls = stats.total.rx.calls;
        assert!(calls < DATAGRAMS / 2, "{calls} calls");
        assert!(turns_of_others > 3, "{turns_of_others} turns of others");
        handle.close();
        handle.closed().await.unwrap();
    });
}

#[test]
fn a_driver_apart_needs_no_runtime_and_ends_with_its_last_handle() {
    let mut sockets = SocketSet::new();
    let at = sockets.bind(addr("127.0.0.1:0")).unwrap();
    let handle = Driver::spawn_apart(Probe::default(), sockets).unwrap();
    handle.with(|machine, _| machine.answers = true);
    let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    peer.send_to(b"hello", at).unwrap();
    let mut buf = [0; 8];
    assert_eq!(peer.recv(&mut buf).unwrap(), 5);
    drop(handle);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(is_free(at));
}
