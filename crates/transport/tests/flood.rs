//! What strangers cost a listener over DCCP.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_dccp::wire::{Kind, Options, Packet, Protection, SequenceNumber, ServiceCode};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time};
use anabranch_transport::{DCCP_PORT, DccpConfig, DccpTransport, Event, Transport as _};

/// Requests in a millisecond in the mean, each from another address: twice as many as are answered.
const PER_MILLISECOND: u64 = 2;

/// How long they come, in milliseconds.
const FLOOD: u32 = 8_000;

/// Responses in a second.
const RESPONSES: u64 = 1_024;

/// Those who mean it, and how many of them must get through: each asks three times.
const CALLERS: u8 = 16;
const CALLERS_MIN: usize = 12;

/// How long a packet is under way.
const DELAY: Duration = Duration::from_millis(10);

fn listener() -> DccpTransport {
    let config = DccpConfig { listen: true, ..DccpConfig::default() };
    DccpTransport::new(config, Rng::from_u64(1))
}

fn caller_path(n: u8) -> FourTuple {
    FourTuple::new(([10, 0, 1, n], 9_000).into(), ([10, 0, 0, 2], 9_000).into())
}

/// A Request of a stranger, who will not answer.
fn forged(n: u32) -> (FourTuple, Vec<u8>) {
    let request = Packet {
        source_port: 50_000,
        destination_port: DCCP_PORT,
        ccval: 0,
        checksum_coverage: 0,
        sequence_number: SequenceNumber::new(n.into()),
        is_short: false,
        kind: Kind::Request { service_code: ServiceCode(0x616e_6162) },
        options: Options::default(),
        data: &[],
    };
    let mut bytes = Vec::new();
    request.encode(Protection::Udp, &mut bytes);
    let address = (0x0b00_0000 + n).to_be_bytes();
    (FourTuple::new((address, 9_000).into(), ([10, 0, 0, 2], 9_000).into()), bytes)
}

/// Takes what a machine sends.
fn sent(machine: &mut impl Machine, now: Time) -> Vec<(FourTuple, Vec<u8>)> {
    let mut packets = Vec::new();
    let mut bytes = Vec::new();
    while let Some(transmit) = machine.poll_transmit(now, &mut bytes) {
        packets.push((transmit.path, std::mem::take(&mut bytes)));
    }
    packets
}

/// Hands a machine what another one sent.
fn deliver(machine: &mut impl Machine, now: Time, (path, bytes): &(FourTuple, Vec<u8>)) {
    machine.handle_datagram(now, Datagram { path: path.reversed(), ecn: None, bytes });
}

/// The listener, and those who mean it.
struct Scene {
    listener: DccpTransport,
    callers: Vec<DccpTransport>,
    under_way: VecDeque<(Time, (FourTuple, Vec<u8>))>,
    now: Time,
    connected: usize,
}

impl Scene {
    fn new() -> Self {
        let caller = |n| DccpTransport::new(DccpConfig::default(), Rng::from_u64(2 + u64::from(n)));
        Self {
            listener: listener(),
            callers: (0..CALLERS).map(caller).collect(),
            under_way: VecDeque::new(),
            now: Time::ZERO,
            connected: 0,
        }
    }

    fn call(&mut self, who: u8) {
        let caller = &mut self.callers[usize::from(who)];
        caller.connect(self.now, &[caller_path(who)]).unwrap();
    }

    fn deliver_due(&mut self) {
        while let Some((_, packet)) = self.under_way.pop_front_if(|(at, _)| *at <= self.now) {
            let to = packet.0.remote;
            if let Some(who) = (0..CALLERS).find(|who| caller_path(*who).local == to) {
                deliver(&mut self.callers[usize::from(who)], self.now, &packet);
            } else if to == caller_path(0).remote {
                deliver(&mut self.listener, self.now, &packet);
            }
        }
    }

    fn settle(&mut self) {
        for machine in self.callers.iter_mut().chain([&mut self.listener]) {
            if machine.poll_timeout().is_some_and(|wakeup| wakeup.at <= self.now) {
                machine.handle_timeout(self.now);
            }
            let arrives = self.now + DELAY;
            self.under_way.extend(sent(machine, self.now).into_iter().map(|it| (arrives, it)));
        }
        for caller in &mut self.callers {
            while let Some((_, event)) = caller.poll_event() {
                self.connected += usize::from(matches!(event, Event::Connected { .. }));
            }
        }
    }
}

#[test]
fn those_who_mean_it_get_in_while_a_flood_of_requests_takes_no_place() {
    let mut scene = Scene::new();
    let (mut rng, mut count) = (Rng::from_u64(9), 0);
    for ms in 0..FLOOD {
        scene.now = Time::from_millis(ms.into());
        // What the callers send comes somewhere between what strangers do.
        let strangers = rng.range(0..2 * PER_MILLISECOND + 1);
        let before = rng.range(0..strangers + 1);
        for n in 0..=strangers {
            if n == before {
                scene.deliver_due();
            } else {
                count += 1;
                deliver(&mut scene.listener, scene.now, &forged(count));
            }
        }
        let starts = (0..CALLERS).filter(|who| ms == 2_000 + 37 * u32::from(*who));
        starts.for_each(|who| scene.call(who));
        scene.settle();
    }
    let strangers = scene.listener.strangers();
    // A second's worth is there at the beginning.
    assert!(strangers.calls_answered <= RESPONSES * 9, "{strangers:?}");
    assert!(strangers.replies_suppressed >= 6_000, "{strangers:?}");
    assert!(scene.connected >= CALLERS_MIN, "{} of {CALLERS}", scene.connected);
    assert_eq!(scene.listener.connections(), scene.connected);
}
