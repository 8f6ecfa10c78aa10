//! Ours against each foreign stack over networks that lose, repeat, reorder and damage packets, on
//! virtual time, each calling the other.

use std::time::Duration;

use anabranch_netsim::{DuplexConfig, Hostility, LinkConfig, Loss, Pair, Probability, Side};
use anabranch_peers::{Config, Event, Message, Peer, Reliability, Stack, State, Treatment};
use anabranch_sansio::{Rate, Time};

type Ends = Pair<Box<dyn Peer>>;

/// From nothing at all to the limit.
const SIZES: [usize; 9] = [0, 1, 3, 1_000, 1_163, 1_200, 16_384, 65_536, 262_144];

/// As long as any of them may take, in virtual time.
const PATIENCE: Duration = Duration::from_secs(3_600);

#[test]
fn messages_of_every_size_arrive_in_order_without_loss() {
    for_each_call(|_, ends| everything_arrives(ends, 0.0, Hostility::default()));
}

#[test]
fn messages_of_every_size_arrive_in_order_at_ten_percent_loss() {
    for_each_call(|_, ends| everything_arrives(ends, 0.1, Hostility::default()));
}

#[test]
fn reordering_duplication_and_damage_change_nothing() {
    let hostility = Hostility {
        duplicate: Probability::saturating(0.05),
        reorder: Probability::saturating(0.1),
        hold_max: Duration::from_millis(30),
        corrupt: Probability::saturating(0.02),
    };
    for_each_call(|_, ends| everything_arrives(ends, 0.02, hostility));
}

/// dcsctp 0.1.16 takes part as a receiver only. As a sender it fails towards itself as well: it
/// abandons some of the messages that it should deliver, and names too low an SSN in FORWARD TSN.
#[test]
fn what_may_be_abandoned_never_holds_up_what_may_not() {
    for reliability in
        [Reliability::Lifetime(Duration::from_millis(150)), Reliability::Retransmissions(1)]
    {
        for_each_call(|caller, mut ends| {
            if caller == Stack::Dcsctp {
                return;
            }
            connect(&mut ends);
            ends.reconfigure(0, link(0.1));
            let limited = Treatment { reliability, ..Treatment::default() };
            for number in 0..200_u32 {
                let treatment = if is_reliable(number) { Treatment::default() } else { limited };
                send(&mut ends, &numbered(number), treatment);
                ends.run_for(Duration::from_millis(5)).expect("comes to rest");
            }
            ends.reconfigure(0, link(0.0));
            send(&mut ends, &numbered(200), Treatment::default());
            let arrived = receive_until(&mut ends, |arrived| arrived.contains(&200));
            assert!(arrived.is_sorted(), "in order");
            let reliable = arrived.iter().filter(|number| is_reliable(**number)).count();
            assert_eq!(reliable, 51, "all of them");
        });
    }
}

const fn is_reliable(number: u32) -> bool {
    number.is_multiple_of(4)
}

/// A message of three packets.
fn numbered(number: u32) -> Message {
    Message::new(0, number.to_be_bytes().repeat(700))
}

/// Calls `test` with ours calling each foreign stack, and each calling ours.
#[expect(clippy::print_stdout, reason = "names the pair that failed")]
fn for_each_call(test: impl Fn(Stack, Ends)) {
    for foreign in Stack::FOREIGN {
        for (caller, called) in [(Stack::Anabranch, foreign), (foreign, Stack::Anabranch)] {
            println!("{caller} calls {called}");
            let links: [DuplexConfig; 1] = [link(0.0).into()];
            let ends = Pair::new(7, &links, |side, paths, mut rng| {
                let config = Config { path: paths[0], ..Config::default() };
                let stack = if side == Side::Client { caller } else { called };
                stack.peer(&config, rng.next_u64())
            });
            test(caller, ends);
        }
    }
}

fn link(loss: f64) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::mbps(20)),
        delay: Duration::from_millis(10),
        loss: Loss::uniform(loss),
        ..LinkConfig::default()
    }
}

fn everything_arrives(mut ends: Ends, loss: f64, hostility: Hostility) {
    connect(&mut ends);
    ends.reconfigure(0, link(loss));
    ends.harass(0, hostility);
    let messages = SIZES.map(|size| Message::new(1, vec![size as u8; size]));
    for message in &messages {
        send(&mut ends, message, Treatment::default());
    }
    let mut arrived = Vec::new();
    let end = ends.now() + PATIENCE;
    while arrived.len() < messages.len() && ends.now() < end {
        ends.run_for(Duration::from_millis(50)).expect("comes to rest");
        let read = |server: &mut Box<dyn Peer>, _: Time| {
            std::iter::from_fn(|| server.receive()).collect::<Vec<_>>()
        };
        arrived.extend(ends.act_server(read).expect("comes to rest"));
    }
    assert_eq!(arrived, messages);
}

fn connect(ends: &mut Ends) {
    ends.act_client(|client, now| client.connect(now)).expect("comes to rest");
    ends.run_until(
        |client, server| client.state() == State::Connected && server.state() == State::Connected,
        10_000,
    )
    .expect("connects");
    let events: Vec<Event> =
        std::iter::from_fn(|| ends.sim.poll_event()).map(|(_, event)| event).collect();
    assert_eq!(events, [Event::Connected, Event::Connected]);
}

/// Hands a message over, and waits while there is no room for it.
fn send(ends: &mut Ends, message: &Message, treatment: Treatment) {
    for _ in 0..1_000 {
        let sent = ends.act_client(|client, now| client.send(now, message, treatment));
        if sent.expect("comes to rest").is_ok() {
            return;
        }
        ends.run_for(Duration::from_millis(50)).expect("comes to rest");
    }
    panic!("a message of {} bytes is never taken", message.bytes.len());
}

/// Reads message numbers until `done`.
fn receive_until(ends: &mut Ends, done: impl Fn(&[u32]) -> bool) -> Vec<u32> {
    let mut arrived: Vec<u32> = Vec::new();
    let end = ends.now() + PATIENCE;
    while !done(&arrived) {
        if ends.now() >= end {
            let events: Vec<_> = std::iter::from_fn(|| ends.sim.poll_event()).collect();
            panic!("only {} messages arrived; {events:?}", arrived.len());
        }
        ends.run_for(Duration::from_millis(20)).expect("comes to rest");
        let read = |server: &mut Box<dyn Peer>, _: Time| {
            std::iter::from_fn(|| server.receive()).collect::<Vec<_>>()
        };
        let messages = ends.act_server(read).expect("comes to rest");
        let number = |m: &Message| u32::from_be_bytes(m.bytes[..4].try_into().expect("4 bytes"));
        arrived.extend(messages.iter().map(number));
    }
    arrived
}
