//! How often keys are agreed on with those who call, how often a passphrase is tried, and how often
//! somebody may try to forge a packet.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_keys::TlsKeys;
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit};
use anabranch_sctp::{
    AssociationId, CloseReason, EncryptionPolicy, Endpoint, EndpointConfig, Event,
};
use anabranch_wire::Dtls;

use crate::pump::{CALLER, LISTENER, Wire, bytes_of, config, encrypted, keys, packet_of, path_at};

/// A listener, and callers at addresses of their own.
struct Listening {
    now: Time,
    listener: Endpoint,
    callers: Vec<Caller>,
}

struct Caller {
    endpoint: Endpoint,
    path: FourTuple,
    events: Vec<Event>,
}

impl Listening {
    fn new(keys: TlsKeys, per_second: u32) -> Self {
        let config = EndpointConfig {
            accept: true,
            association: config(Some(keys), EncryptionPolicy::Require),
            key_agreements_per_second: per_second,
            ..EndpointConfig::default()
        };
        let listener = Endpoint::new(config, Rng::from_u64(1));
        Self { now: Time::ZERO, listener, callers: Vec::new() }
    }

    /// Somebody calls from this address; returns his number.
    fn call(&mut self, from: &str, keys: TlsKeys) -> usize {
        let number = self.callers.len();
        let rng = Rng::from_u64(2 + number as u64);
        let mut endpoint = Endpoint::new(EndpointConfig::default(), rng);
        let local = SocketAddr::new(from.parse().unwrap(), 10_000 + number as u16);
        let path = FourTuple::new(local, ([192, 0, 2, 1], 9_899).into());
        let config = config(Some(keys), EncryptionPolicy::Require);
        let _id: AssociationId =
            endpoint.connect(self.now, &[path], (5_000, 5_001), config).unwrap();
        self.callers.push(Caller { endpoint, path, events: Vec::new() });
        number
    }

    /// Carries packets at once.
    fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            while self.carry() {}
            let ends = self.callers.iter().map(|caller| &caller.endpoint);
            let wakeups = ends.chain([&self.listener]).filter_map(Machine::poll_timeout);
            let Some(next) = wakeups.map(|wakeup| wakeup.at).min().filter(|at| *at <= end) else {
                break;
            };
            self.now = self.now.max(next);
            self.listener.handle_timeout(self.now);
            self.callers.iter_mut().for_each(|it| it.endpoint.handle_timeout(self.now));
        }
        self.now = end;
    }

    /// Whether anybody had anything to say.
    fn carry(&mut self) -> bool {
        let (now, mut buf, mut is_said) = (self.now, Vec::new(), false);
        for caller in &mut self.callers {
            while let Some(transmit) = caller.endpoint.poll_transmit(now, &mut buf) {
                deliver(&mut self.listener, now, transmit, &mut buf);
                is_said = true;
            }
        }
        while let Some(transmit) = self.listener.poll_transmit(now, &mut buf) {
            let back = transmit.path.reversed();
            match self.callers.iter_mut().find(|caller| caller.path == back) {
                Some(caller) => deliver(&mut caller.endpoint, now, transmit, &mut buf),
                None => buf.clear(),
            }
            is_said = true;
        }
        while self.listener.poll_event().is_some() {}
        for caller in &mut self.callers {
            let events = std::iter::from_fn(|| caller.endpoint.poll_event());
            caller.events.extend(events.map(|(_, event)| event));
        }
        is_said
    }

    fn is_connected(&self, caller: usize) -> bool {
        let is_meant = |event: &Event| matches!(event, Event::Connected { .. });
        self.callers[caller].events.iter().any(is_meant)
    }

    fn connected(&self) -> usize {
        (0..self.callers.len()).filter(|caller| self.is_connected(*caller)).count()
    }

    fn close_reason(&self, caller: usize) -> Option<&CloseReason> {
        self.callers[caller].events.iter().find_map(|event| {
            if let Event::Closed { reason, .. } = event { Some(reason) } else { None }
        })
    }
}

fn deliver(to: &mut Endpoint, now: Time, transmit: Transmit, buf: &mut Vec<u8>) {
    let path = transmit.path.reversed();
    for bytes in buf.chunks(transmit.segment_size.unwrap_or(buf.len()).max(1)) {
        to.handle_datagram(now, Datagram { path, ecn: None, bytes });
    }
    buf.clear();
}

#[test]
fn a_listener_agrees_on_keys_so_often_in_a_second_and_the_others_wait() {
    let mut listening = Listening::new(keys(), 5);
    for number in 0..12 {
        listening.call(&format!("198.51.100.{number}"), keys());
    }
    listening.run_for(Duration::from_millis(100));
    assert_eq!(listening.connected(), 5);
    assert!(listening.listener.stats().key_agreements_deferred >= 7);
    listening.run_for(Duration::from_secs(7));
    assert_eq!(listening.connected(), 12, "who was not answered asked again");
}

#[test]
fn a_passphrase_is_tried_ten_times_from_one_address_and_then_once_in_six_seconds() {
    let mut listening = Listening::new(keys().with_passphrase("the right one"), 500);
    for number in 0..12 {
        let caller = listening.call("198.51.100.7", keys().with_passphrase("a wrong one"));
        listening.run_for(Duration::from_millis(50));
        let words = listening.close_reason(caller).map(ToString::to_string);
        let is_answered = words.is_some_and(|words| words.contains("passphrases of both ends"));
        assert_eq!(is_answered, number < 10, "{number}");
    }
    assert!(listening.listener.stats().key_agreements_deferred >= 2);
    let other = listening.call("198.51.100.8", keys().with_passphrase("the right one"));
    listening.run_for(Duration::from_millis(50));
    assert!(listening.is_connected(other), "others need not wait");
}

/// Packets that seem to be sealed by the caller, and are not.
fn forge(wire: &mut Wire, count: usize) {
    let header = wire.header_to(LISTENER);
    // Of the first epoch, and then of the next ones.
    for bits in 0..4 {
        let record: Vec<u8> = [&[0x28 | bits][..], &[7; 40]].concat();
        let forged = packet_of(header, &bytes_of(&Dtls { restart: false, record: &record }));
        for _ in 0..count {
            wire.put(LISTENER, path_at(LISTENER, 0), &forged);
        }
    }
}

fn wire_with(limit: u64) -> Wire {
    let listener = config(Some(keys().with_forgeries_max(limit)), EncryptionPolicy::Require);
    let mut wire = Wire::new([encrypted(), listener], &[Duration::from_millis(50)], 7);
    wire.connect();
    wire
}

#[test]
fn keys_that_somebody_tries_to_forge_packets_of_are_renewed() {
    let mut wire = wire_with(100);
    for epochs in 2..5 {
        // Each is tried with two numbers.
        forge(&mut wire, 30);
        wire.assert_works();
        assert_eq!(wire.stats(LISTENER).epochs, epochs);
    }
    assert_eq!(wire.stats(CALLER).epochs, 4);
}

#[test]
fn an_association_ends_where_more_was_forged_than_keys_are_good_for() {
    let mut wire = wire_with(100);
    forge(&mut wire, 50);
    wire.send(CALLER, crate::pump::message(1, b"what is true"));
    wire.run(Duration::from_secs(1));
    let reason = wire.close_reason(LISTENER).unwrap().to_string();
    assert!(reason.contains("more packets were forged than keys are good for"), "{reason}");
    assert!(wire.close_reason(CALLER).is_some());
}
