//! Multipath DCCP (RFC 9897): several paths as one connection.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use anabranch_dccp::wire::{ResetCode, ServiceCode};
use anabranch_dccp::{
    Ccid, CloseReason, Config, EndpointConfig, Multipath, MultipathConfig, MultipathEvent,
    MultipathId, SubflowId,
};
use anabranch_netsim::{Pair, Side};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time};
use bytes::Bytes;

use crate::harness::{PORTS, SERVICE, link};

/// One way, on each path.
const DELAY: Duration = Duration::from_millis(25);

/// What becomes of a packet: it may be altered; false: it is lost.
type Tap = Box<dyn FnMut(usize, FourTuple, &mut Vec<u8>) -> bool>;

/// A client and a server with two paths between them, which a test can tamper with.
struct Wire {
    /// The client, and the server.
    ends: [Multipath; 2],
    now: Time,
    under_way: BTreeMap<(Time, u64), (usize, FourTuple, Vec<u8>)>,
    count: u64,
    tap: Tap,
    events: [Vec<MultipathEvent>; 2],
    received: [Vec<(Time, Bytes)>; 2],
    /// Whether what arrives is read.
    reads: bool,
    id: MultipathId,
}

/// Times that ends may be woken at one instant.
const WAKEUPS_MAX: u32 = 1_000;

fn paths() -> [FourTuple; 2] {
    [1, 2].map(|n| FourTuple::new(([10, 0, n, 1], 9).into(), ([10, 0, n, 2], 9).into()))
}

fn config(ccid: Ccid) -> MultipathConfig {
    MultipathConfig { connection: Config::with_ccid(ccid), ..MultipathConfig::default() }
}

impl Wire {
    fn new(ccid: Ccid, paths: &[FourTuple]) -> Self {
        Self::configured(config(ccid), paths)
    }

    fn configured(config: MultipathConfig, paths: &[FourTuple]) -> Self {
        let end =
            |seed| Multipath::new(EndpointConfig::default(), config.clone(), Rng::from_u64(seed));
        let mut ends = [end(1), end(2)];
        ends[1].listen(PORTS.1, vec![SERVICE]);
        let id = ends[0].connect(Time::ZERO, paths, PORTS, SERVICE).expect("a connection");
        let (events, received) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        let under_way = BTreeMap::new();
        let tap: Tap = Box::new(|_, _, _| true);
        let now = Time::ZERO;
        Self { ends, now, under_way, count: 0, tap, events, received, reads: true, id }
    }

    /// Both paths are there.
    fn connected(ccid: Ccid) -> Self {
        let mut wire = Self::new(ccid, &paths());
        wire.run_for(Duration::from_secs(1));
        assert_eq!(wire.joined(0), [SubflowId(0), SubflowId(1)]);
        assert_eq!(wire.joined(1), [SubflowId(0), SubflowId(1)]);
        wire
    }

    fn joined(&self, end: usize) -> Vec<SubflowId> {
        let joined = self.events[end].iter().filter_map(|event| {
            let MultipathEvent::Joined(subflow) = event else { return None };
            Some(*subflow)
        });
        joined.collect()
    }

    fn closed(&self, end: usize) -> Option<CloseReason> {
        self.events[end].iter().find_map(|event| {
            let MultipathEvent::Closed(reason) = event else { return None };
            Some(*reason)
        })
    }

    fn id_of(&self, end: usize) -> MultipathId {
        let server = || self.ends[1].connections().next().expect("a connection");
        if end == 0 { self.id } else { server() }
    }

    fn send(&mut self, end: usize, data: u64) {
        let id = self.id_of(end);
        let data = Bytes::from(data.to_be_bytes().to_vec());
        self.ends[end].send(self.now, id, data).expect("room");
    }

    /// What an end received: numbers.
    fn numbers(&self, end: usize) -> Vec<u64> {
        let number = |data: &Bytes| u64::from_be_bytes(*data.first_chunk().expect("a number"));
        self.received[end].iter().map(|(_, data)| number(data)).collect()
    }

    fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        let mut wakeups = 0;
        loop {
            self.attend();
            let arrival = self.under_way.keys().next().map(|(at, _)| *at);
            let timers = self.ends.iter().filter_map(|it| Some(it.poll_timeout()?.at));
            let next = timers.chain(arrival).min().filter(|at| *at <= end);
            let Some(next) = next else { break };
            wakeups = if next > self.now { 0 } else { wakeups + 1 };
            assert!(wakeups < WAKEUPS_MAX, "{:?}", self.ends.each_ref().map(Machine::poll_timeout));
            self.now = self.now.max(next);
            if arrival == Some(next) {
                let (_, (to, path, bytes)) = self.under_way.pop_first().expect("just seen");
                let path = path.reversed();
                let datagram = Datagram { path, ecn: None, bytes: &bytes };
                self.ends[to].handle_datagram(self.now, datagram);
            } else {
                self.ends.iter_mut().for_each(|it| it.handle_timeout(self.now));
            }
        }
        self.now = end;
        self.ends.iter_mut().for_each(|it| it.handle_timeout(end));
        self.attend();
    }

    /// Takes all that the ends have to say.
    fn attend(&mut self) {
        for end in [0, 1] {
            let mut bytes = Vec::new();
            while let Some(transmit) = self.ends[end].poll_transmit(self.now, &mut bytes) {
                let mut packet = std::mem::take(&mut bytes);
                if (self.tap)(end, transmit.path, &mut packet) {
                    let key = (self.now + DELAY, self.count);
                    self.under_way.insert(key, (1 - end, transmit.path, packet));
                    self.count += 1;
                }
            }
            while let Some((id, event)) = self.ends[end].poll_event() {
                self.events[end].push(event);
                if self.reads {
                    self.read(end, id);
                }
            }
        }
    }

    fn read(&mut self, end: usize, id: MultipathId) {
        while let Some(data) = self.ends[end].receive(id) {
            self.received[end].push((self.now, data));
        }
    }

    /// Datagrams that each path of an end has sent.
    fn sent(&self, end: usize) -> Vec<u64> {
        let subflows = self.ends[end].subflows(self.id_of(end));
        subflows.map(|(_, _, stats)| stats.datagrams_sent).collect()
    }
}

/// Where an option of this MP_OPT with this length stands.
fn option_at(packet: &[u8], length: u8, kind: u8) -> Option<usize> {
    packet.windows(3).position(|bytes| bytes == [46, length, kind])
}

/// Change R of Multipath Capable, version 0.
const CAPABLE: [u8; 4] = [34, 4, 10, 0];

const JOIN: (u8, u8) = (12, 1);
const NUMBER: (u8, u8) = (9, 4);
const HMAC: (u8, u8) = (23, 5);
const ADDRESS: (u8, u8) = (12, 7);
const PRIORITY: (u8, u8) = (4, 9);
const RTT: (u8, u8) = (12, 6);
const CLOSE: (u8, u8) = (11, 10);
const FAST_CLOSE: (u8, u8) = (11, 2);

#[test]
fn paths_join_and_carry_datagrams_in_both_directions_in_order() {
    for ccid in [Ccid::TcpLike, Ccid::Tfrc] {
        let mut wire = Wire::connected(ccid);
        assert!(wire.events[0].contains(&MultipathEvent::Connected { is_multipath: true }));
        for number in 0..200 {
            wire.send(0, number);
            wire.send(1, number);
            wire.run_for(Duration::from_millis(10));
        }
        wire.run_for(Duration::from_secs(1));
        let all: Vec<u64> = (0..200).collect();
        assert_eq!(wire.numbers(0), all, "{ccid:?}");
        assert_eq!(wire.numbers(1), all, "{ccid:?}");
        wire.ends[0].close(wire.now, wire.id);
        wire.run_for(Duration::from_secs(2));
        assert_eq!(wire.closed(0), Some(CloseReason::Finished), "{ccid:?}");
        assert_eq!(wire.closed(1), Some(CloseReason::Finished), "{ccid:?}");
    }
}

#[test]
fn two_paths_carry_what_both_carry() {
    for (ccid, least) in [(Ccid::TcpLike, 5.0), (Ccid::Tfrc, 4.5)] {
        let links = [link(4.0, 40, 0.0).into(), link(2.0, 80, 0.0).into()];
        let mut pair = Pair::new(7, &links, |side, _, rng| {
            let mut end = Multipath::new(EndpointConfig::default(), config(ccid), rng);
            if side == Side::Server {
                end.listen(PORTS.1, vec![SERVICE]);
            }
            end
        });
        let paths: Vec<FourTuple> = pair.paths().iter().map(|path| path.addresses).collect();
        let connect = |client: &mut Multipath, now| client.connect(now, &paths, PORTS, SERVICE);
        let id = pair.act_client(connect).expect("machines that behave").expect("a connection");
        let mut bytes = 0;
        for step in 0..2_000 {
            let fill = |client: &mut Multipath, now: Time| {
                while client.send(now, id, Bytes::from(vec![0x5a; 1_200])).is_ok() {}
            };
            pair.act_client(fill).expect("machines that behave");
            pair.run_for(Duration::from_millis(10)).expect("machines that behave");
            let read = |server: &mut Multipath, _| {
                let id = server.connections().next();
                let read = || id.and_then(|id| server.receive(id));
                std::iter::from_fn(read).map(|data| data.len() as u64).sum::<u64>()
            };
            let read = pair.act_server(read).expect("machines that behave");
            bytes += if step < 1_000 { 0 } else { read };
        }
        let mbps = bytes as f64 * 8.0 / 10.0 / 1e6;
        assert!((least..6.0).contains(&mbps), "{ccid:?}: {mbps}");
    }
}

#[test]
fn regression_what_waits_goes_as_soon_as_a_rate_allows_it() {
    // Nobody was woken for it where no path held a datagram of its own.
    let mut wire = Wire::connected(Ccid::Tfrc);
    let id = wire.id;
    for _ in 0..200 {
        let data = Bytes::from(vec![0x5a; 1_200]);
        wire.ends[0].send(wire.now, id, data).expect("room");
    }
    // Two slow starts, from some 4 packets in 50 ms each.
    wire.run_for(Duration::from_millis(600));
    assert_eq!(wire.received[1].len(), 200);
}

#[test]
fn a_path_that_goes_silent_is_left_within_a_fifth_of_a_second_and_comes_back() {
    let enough = Duration::from_millis(200);
    for ccid in [Ccid::TcpLike, Ccid::Tfrc] {
        let mut wire = Wire::connected(ccid);
        let (cut, back) = (wire.now + Duration::from_secs(2), wire.now + Duration::from_secs(4));
        for number in 0..1_200 {
            let (is_cut, is_left) = (wire.now >= cut, wire.now >= cut + enough);
            let is_back = wire.now >= back;
            wire.tap = Box::new(move |from, path, packet| {
                let has_data = from == 0 && option_at(packet, NUMBER.0, NUMBER.1).is_some();
                assert!(is_back || !is_left || !is_first(path) || !has_data, "it is silent");
                !is_first(path) || !is_cut || is_back
            });
            wire.send(0, number);
            wire.run_for(Duration::from_millis(5));
        }
        let before = wire.sent(0)[0];
        for number in 1_200..1_400 {
            wire.send(0, number);
            wire.run_for(Duration::from_millis(5));
        }
        wire.run_for(Duration::from_secs(1));
        // What was sent on it in a fifth of a second is lost, and nothing else.
        let missing = 1_400 - wire.numbers(1).len();
        assert!((1..=40).contains(&missing), "{ccid:?}: {missing}");
        assert!(wire.numbers(1).is_sorted(), "{ccid:?}");
        assert!(wire.sent(0)[0] > before, "{ccid:?}: it is used again");
    }
}

/// Whether it is the first path, as one of the ends sees it.
fn is_first(path: FourTuple) -> bool {
    path == paths()[0] || path == paths()[0].reversed()
}

#[test]
fn a_join_with_a_wrong_proof_is_refused_and_the_connection_goes_on() {
    // The answer of the server, and the proof of the client.
    for forger in [1, 0] {
        let mut wire = Wire::new(Ccid::Tfrc, &paths());
        wire.tap = Box::new(move |from, _, packet| {
            if let Some(at) = option_at(packet, HMAC.0, HMAC.1).filter(|_| from == forger) {
                packet[at + 5] ^= 1;
            }
            true
        });
        wire.run_for(Duration::from_secs(2));
        assert_eq!(wire.joined(0), [SubflowId(0)], "forged by {forger}");
        assert_eq!(wire.joined(1), [SubflowId(0)], "forged by {forger}");
        let end = 1 - forger;
        let stats = wire.ends[end].stats(wire.id_of(end)).expect("a connection");
        assert!(stats.unproved > 0, "{stats:?}");
        wire.send(0, 7);
        wire.run_for(Duration::from_secs(1));
        assert_eq!(wire.numbers(1), [7]);
    }
}

#[test]
fn a_join_of_an_unknown_connection_is_refused() {
    let mut wire = Wire::new(Ccid::Tfrc, &paths());
    wire.tap = Box::new(|from, path, packet| {
        if let Some(at) = option_at(packet, JOIN.0, JOIN.1).filter(|_| from == 0) {
            assert!(!is_first(path));
            packet[at + 4] ^= 1;
        }
        true
    });
    wire.run_for(Duration::from_secs(2));
    let refused = CloseReason::Reset(ResetCode::OPTION_ERROR);
    assert!(wire.events[0].contains(&MultipathEvent::Left(SubflowId(1), refused)));
    assert_eq!(wire.joined(1), [SubflowId(0)]);
}

#[test]
fn a_join_that_does_not_say_it_is_capable_is_refused_and_the_connection_goes_on() {
    let mut wire = Wire::new(Ccid::Tfrc, &paths());
    wire.tap = Box::new(|from, path, packet| {
        let at = packet.windows(4).position(|bytes| bytes == CAPABLE);
        if let Some(at) = at.filter(|_| from == 0 && !is_first(path)) {
            assert!(option_at(packet, JOIN.0, JOIN.1).is_some());
            packet[at..at + 4].fill(0);
        }
        true
    });
    wire.run_for(Duration::from_secs(2));
    let refused = CloseReason::Reset(ResetCode::OPTION_ERROR);
    assert!(wire.events[0].contains(&MultipathEvent::Left(SubflowId(1), refused)));
    assert_eq!(wire.joined(1), [SubflowId(0)]);
    wire.send(0, 7);
    wire.run_for(Duration::from_secs(1));
    assert_eq!(wire.numbers(1), [7]);
}

#[test]
fn who_knows_nothing_of_several_paths_gets_one() {
    // Multipath Capable does not reach the server, or the key does not.
    for (what, with) in [(CAPABLE, [0; 4]), ([46, 17, 3, 0], [0, 17, 3, 0])] {
        let mut wire = Wire::new(Ccid::Tfrc, &paths());
        wire.tap = Box::new(move |from, _, packet| {
            let at = packet.windows(4).position(|bytes| bytes == what).filter(|_| from == 0);
            if let Some(at) = at {
                packet[at..at + 4].copy_from_slice(&with);
            }
            true
        });
        wire.run_for(Duration::from_secs(1));
        for end in [0, 1] {
            let events = &wire.events[end];
            let plain = MultipathEvent::Connected { is_multipath: false };
            assert!(events.contains(&plain), "{what:?} {end}: {events:?}");
        }
        assert!(!wire.ends[0].add_path(wire.now, wire.id, paths()[1]));
        wire.send(0, 7);
        wire.send(1, 8);
        wire.run_for(Duration::from_secs(1));
        assert_eq!((wire.numbers(0), wire.numbers(1)), (vec![8], vec![7]));
    }
}

#[test]
fn an_address_is_told_until_it_is_confirmed_and_not_believed_if_it_was_changed() {
    let mut wire = Wire::connected(Ccid::Tfrc);
    let told = |packet: &[u8]| option_at(packet, ADDRESS.0, ADDRESS.1);
    let mut times = 0;
    wire.tap = Box::new(move |from, _, packet| {
        let Some(at) = told(packet).filter(|_| from == 1) else { return true };
        times += 1;
        if times == 2 {
            // Another address than the proof is of.
            packet[at + 11] ^= 1;
        }
        times > 1
    });
    let ip = [10, 0, 3, 2].into();
    let id = wire.id_of(1);
    let name = wire.ends[1].announce(wire.now, id, ip, None).expect("a name");
    let added = MultipathEvent::AddressAdded { id: name, ip, port: None };
    wire.run_for(Duration::from_millis(1_400));
    assert!(
        !wire.events[0].iter().any(|event| matches!(event, MultipathEvent::AddressAdded { .. }))
    );
    assert_eq!(wire.ends[0].stats(wire.id).expect("a connection").unproved, 1);
    wire.run_for(Duration::from_secs(3));
    assert!(wire.events[0].contains(&added), "{:?}", wire.events[0]);
    // It is confirmed: nothing is said again.
    wire.tap = Box::new(move |_, _, packet| {
        assert_eq!(told(packet), None);
        true
    });
    wire.run_for(Duration::from_secs(20));
}

/// Found by fuzzing: a DataAck that also told of an address had two numbers, and the receiver put
/// its data in the place of the option.
#[test]
fn what_is_told_beside_data_has_a_packet_and_a_number_of_its_own() {
    for ccid in [Ccid::TcpLike, Ccid::Tfrc] {
        let mut wire = Wire::connected(ccid);
        wire.tap = Box::new(|_, _, packet| {
            let numbers = packet.windows(3).filter(|bytes| *bytes == [46, NUMBER.0, NUMBER.1]);
            assert!(numbers.count() <= 1, "{packet:?}");
            true
        });
        wire.send(0, 0);
        wire.run_for(Duration::from_secs(1));
        let (now, id) = (wire.now, wire.id);
        for number in 1..100 {
            wire.send(0, number);
        }
        // A path whose window is full says this with the next data that may go.
        wire.ends[0].announce(now, id, [10, 0, 3, 1].into(), None).expect("a name");
        assert!(wire.ends[0].set_priority(now, id, SubflowId(0), 4));
        assert!(wire.ends[0].set_priority(now, id, SubflowId(1), 4));
        wire.run_for(Duration::from_secs(3));
        assert_eq!(wire.numbers(1), (0..100).collect::<Vec<_>>(), "{ccid:?}");
    }
}

#[test]
fn who_finishes_leaves_a_silent_path_and_wakes_nobody_for_what_is_not_confirmed() {
    for ccid in [Ccid::TcpLike, Ccid::Tfrc] {
        let mut wire = Wire::connected(ccid);
        // The second path is cut, and what is told of an address gets lost.
        wire.tap = Box::new(|_, path, packet| {
            is_first(path) && option_at(packet, ADDRESS.0, ADDRESS.1).is_none()
        });
        let (now, id) = (wire.now, wire.id);
        wire.ends[0].announce(now, id, [10, 0, 3, 1].into(), None).expect("a name");
        for number in 0..200_u64 {
            let data = [&number.to_be_bytes()[..], &[0; 1_000]].concat();
            wire.ends[0].send(now, id, data.into()).expect("room");
        }
        wire.ends[0].close(now, id);
        wire.run_for(Duration::from_secs(20));
        let missing = 200 - wire.numbers(1).len();
        assert!(missing <= 40, "{ccid:?}: {missing}");
        // Where the second path is back, its Close arrives.
        wire.tap = Box::new(|_, _, _| true);
        wire.run_for(Duration::from_secs(120));
        assert!(wire.closed(0).is_some() && wire.closed(1).is_some(), "{ccid:?}");
    }
}

#[test]
fn who_does_not_read_is_not_woken_for_a_gap_and_misses_nothing_later() {
    let config = MultipathConfig { receive_buffer: 400, ..config(Ccid::TcpLike) };
    let mut wire = Wire::configured(config, &paths());
    wire.run_for(Duration::from_secs(1));
    wire.reads = false;
    let mut count = 0;
    wire.tap = Box::new(move |from, _, packet| {
        let has_data = from == 0 && option_at(packet, NUMBER.0, NUMBER.1).is_some();
        count += u32::from(has_data);
        !(has_data && count == 13)
    });
    for number in 0..20 {
        wire.send(0, number);
        wire.run_for(Duration::from_millis(20));
    }
    wire.run_for(Duration::from_secs(1));
    let id = wire.id_of(1);
    wire.read(1, id);
    assert_eq!(wire.numbers(1), (0..20).filter(|n| *n != 12).collect::<Vec<_>>());
}

/// Has the client send 100 datagrams in 2 s, of which one is lost, and `late` is under way for
/// 150 ms longer; `tap` may alter what its packets say of round-trip times, from behind the
/// option's type. How long the next one waited for the lost one at the server, and the options that
/// were said.
fn held_up(
    paths: &[FourTuple],
    late: Option<u64>,
    mut tap: impl FnMut(&mut [u8]) + 'static,
) -> (Duration, Vec<Vec<u8>>) {
    let mut wire = Wire::new(Ccid::Tfrc, paths);
    wire.run_for(Duration::from_secs(1));
    let (mut count, said) = (0, Rc::new(RefCell::new(Vec::new())));
    let seen = Rc::clone(&said);
    wire.tap = Box::new(move |from, _, packet| {
        if let Some(at) = option_at(packet, RTT.0, RTT.1).filter(|_| from == 0) {
            seen.borrow_mut().push(packet[at + 3..at + 12].to_vec());
            tap(&mut packet[at + 3..at + 12]);
        }
        let has_data = from == 0 && option_at(packet, NUMBER.0, NUMBER.1).is_some();
        count += u32::from(has_data);
        !(has_data && count == 80)
    });
    let mut sent = Vec::new();
    for number in 0..100 {
        sent.push(wire.now);
        wire.send(0, number);
        if late == Some(number) {
            wire.run_for(Duration::ZERO);
            let ((at, count), packet) = wire.under_way.pop_last().expect("what was just sent");
            wire.under_way.insert((at + DELAY * 6, count), packet);
        }
        wire.run_for(Duration::from_millis(20));
    }
    wire.run_for(Duration::from_secs(1));
    let expected: Vec<_> = (0..100).filter(|n| *n != 79 && late != Some(*n)).collect();
    assert_eq!(wire.numbers(1), expected);
    let (at, _) = wire.received[1][if late.is_some() { 78 } else { 79 }];
    let said = said.borrow().clone();
    (at - (sent[80] + DELAY), said)
}

#[test]
fn what_is_lost_is_waited_for_as_long_as_the_paths_told_differ() {
    let (held_up_for, said) = held_up(&paths(), None, |_| {});
    // Both have 50 ms; a datagram may wait for its window, and queues may grow.
    assert_eq!(held_up_for.as_millis(), 100);
    // Each of two paths once a second, smoothed; the second carries nothing, and has grown old.
    assert_eq!(said.len(), 6, "{said:?}");
    for option in said {
        let [kind, rest @ ..] = &option[..] else { panic!("{option:?}") };
        let [rtt, age] = [&rest[..4], &rest[4..]]
            .map(|word| u32::from_be_bytes(word.try_into().expect("four bytes")));
        assert!(*kind == 3 && (50..53).contains(&rtt) && age < 4_000, "{option:?}");
    }
}

#[test]
fn a_lie_about_the_paths_is_believed_up_to_what_is_waited_for_without() {
    let (held_up_for, _) = held_up(&paths(), None, |option| option[1..5].fill(0xff));
    assert_eq!(held_up_for.as_millis(), 200);
    // What was measured long ago says nothing, and neither does the least ever.
    for alter in [|option: &mut [u8]| option[5..9].fill(0xff), |option: &mut [u8]| option[0] = 1] {
        assert_eq!(held_up(&paths(), None, alter).0.as_millis(), 200);
    }
}

#[test]
fn where_something_came_too_late_it_is_waited_for_as_long_as_without_round_trips() {
    assert_eq!(held_up(&paths(), Some(60), |_| {}).0.as_millis(), 200);
}

#[test]
fn one_path_alone_is_not_told_of() {
    let (held_up_for, said) = held_up(&paths()[..1], None, |_| {});
    assert_eq!((held_up_for.as_millis(), said.len()), (200, 0));
}

#[test]
fn an_address_that_is_gone_takes_its_paths_with_it() {
    let mut wire = Wire::connected(Ccid::Tfrc);
    let (now, id) = (wire.now, wire.id);
    assert!(wire.ends[0].withdraw(now, id, 1));
    wire.run_for(Duration::from_secs(2));
    assert!(wire.events[1].contains(&MultipathEvent::AddressRemoved(1)), "{:?}", wire.events[1]);
    for end in [0, 1] {
        let left = MultipathEvent::Left(SubflowId(1), CloseReason::Finished);
        assert!(wire.events[end].contains(&left), "{end}: {:?}", wire.events[end]);
    }
    wire.send(0, 7);
    wire.run_for(Duration::from_secs(1));
    assert_eq!(wire.numbers(1), [7]);
    assert!(!wire.ends[0].withdraw(wire.now, id, 1), "the name is free again");
}

#[test]
fn a_path_is_used_as_the_peer_asks_for() {
    for (priority, share) in [(0, 0.0..=0.0), (1, 0.0..=0.0), (3, 0.2..=1.0)] {
        let mut wire = Wire::connected(Ccid::TcpLike);
        let (now, id) = (wire.now, wire.id_of(1));
        // The server would rather not be sent to over the second path; one word is lost.
        let mut lost = 0;
        wire.tap = Box::new(move |from, _, packet| {
            let is_told = from == 1 && option_at(packet, PRIORITY.0, PRIORITY.1).is_some();
            lost += u32::from(is_told);
            !(is_told && lost == 1)
        });
        assert!(wire.ends[1].set_priority(now, id, SubflowId(1), priority));
        wire.run_for(Duration::from_secs(2));
        assert!(wire.events[0].contains(&MultipathEvent::Prioritized(SubflowId(1), priority)));
        let before = wire.sent(0);
        for number in 0..1_000 {
            wire.send(0, number);
            if number % 10 == 0 {
                wire.run_for(Duration::from_millis(10));
            }
        }
        wire.run_for(Duration::from_secs(2));
        let sent: Vec<u64> =
            wire.sent(0).iter().zip(before).map(|(now, then)| now - then).collect();
        let second = sent[1] as f64 / 1_000.0;
        assert!(share.contains(&second), "{priority}: {sent:?}");
        if priority == 1 {
            // The other one is gone: now the one that stands by is used.
            let before = wire.sent(0)[1];
            wire.tap = Box::new(|_, path, _| !is_first(path));
            for number in 1_000..1_200 {
                wire.send(0, number);
                wire.run_for(Duration::from_millis(10));
            }
            assert!(wire.sent(0)[1] > before + 100, "{:?}", wire.sent(0));
        }
    }
}

#[test]
fn a_fast_close_ends_all_paths_at_once_and_only_by_the_key() {
    let reason = CloseReason::Reset(ResetCode::ABRUPT_MULTIPATH_TERMINATION);
    for is_forged in [false, true] {
        let mut wire = Wire::connected(Ccid::Tfrc);
        // Of the Resets, the first path's alone arrives.
        wire.tap = Box::new(move |from, path, packet| {
            let at = option_at(packet, FAST_CLOSE.0, FAST_CLOSE.1).filter(|_| from == 1);
            if let Some(at) = at.filter(|_| is_forged) {
                packet[at + 3] ^= 1;
            }
            at.is_none() || is_first(path)
        });
        let (now, id) = (wire.now, wire.id_of(1));
        wire.ends[1].abort(now, id);
        wire.run_for(Duration::from_millis(30));
        assert_eq!(wire.closed(1), Some(CloseReason::Aborted));
        assert_eq!(wire.closed(0), (!is_forged).then_some(reason));
        let left = MultipathEvent::Left(SubflowId(0), reason);
        assert_eq!(wire.events[0].contains(&left), is_forged, "one path alone");
    }
}

#[test]
fn a_close_without_the_key_closes_one_path_alone() {
    let mut wire = Wire::connected(Ccid::Tfrc);
    // Of the closes, the first path's alone arrives, with another key.
    wire.tap = Box::new(|_, path, packet| match option_at(packet, CLOSE.0, CLOSE.1) {
        Some(at) if is_first(path) => {
            packet[at + 3] ^= 1;
            true
        }
        Some(_) => false,
        None => true,
    });
    wire.ends[0].close(wire.now, wire.id);
    wire.run_for(Duration::from_millis(200));
    assert_eq!(wire.closed(1), None, "{:?}", wire.events[1]);
    let left = MultipathEvent::Left(SubflowId(0), CloseReason::Finished);
    assert!(wire.events[1].contains(&left), "{:?}", wire.events[1]);
    assert_eq!(wire.ends[1].stats(wire.id_of(1)).expect("a connection").unproved, 1);
}

#[test]
fn more_paths_than_there_may_be_are_turned_away() {
    let mut wire = Wire::new(Ccid::Tfrc, &paths());
    let narrow = MultipathConfig { subflows_max: 1, ..config(Ccid::Tfrc) };
    wire.ends[1] = Multipath::new(EndpointConfig::default(), narrow, Rng::from_u64(2));
    wire.ends[1].listen(PORTS.1, vec![SERVICE]);
    wire.run_for(Duration::from_secs(2));
    let busy = CloseReason::Reset(ResetCode::TOO_BUSY);
    assert!(wire.events[0].contains(&MultipathEvent::Left(SubflowId(1), busy)));
    assert!(wire.closed(0).is_none(), "section 3.5: existing subflows go on");
    let service: ServiceCode = SERVICE;
    let three = [paths()[0]; 3];
    let mut host = Multipath::new(
        EndpointConfig::default(),
        MultipathConfig { subflows_max: 2, ..config(Ccid::Tfrc) },
        Rng::from_u64(3),
    );
    assert!(host.connect(Time::ZERO, &three, PORTS, service).is_err());
}
