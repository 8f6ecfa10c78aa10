//! A sender and a receiver with some paths between them, and a transport stream to send.

use std::ops::Range;
use std::time::Duration;

use anabranch_media::playout::Released;
use anabranch_media::ts::{Pacer, Packet, Reader};
use anabranch_netsim::{
    DuplexConfig, LinkConfig, Loss, Pair, QueueLimit, Side, machine_of_several,
};
use anabranch_sansio::{FourTuple, Rate, Time};
use anabranch_transport::{Connections, DccpConfig};

use super::plain::Plain;
use crate::treatment::Preset;
use crate::{Event, Receiver, ReceiverConfig, Sender, SenderConfig, SessionConfig, SourceFormat};

/// Two seconds of H.264 and AAC.
pub(super) const STREAM: &[u8] = include_bytes!("../../../media/tests/fixtures/h264_aac.ts");

/// One machine for either end, so that one simulation runs both.
#[derive(Debug)]
pub(super) enum Party {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
}

impl Party {
    pub(super) fn sender(&self) -> &Sender {
        match self {
            Self::Sender(sender) => sender,
            Self::Receiver(_) => panic!("a receiver"),
        }
    }

    pub(super) fn sender_mut(&mut self) -> &mut Sender {
        match self {
            Self::Sender(sender) => sender,
            Self::Receiver(_) => panic!("a receiver"),
        }
    }

    pub(super) fn receiver(&self) -> &Receiver {
        match self {
            Self::Receiver(receiver) => receiver,
            Self::Sender(_) => panic!("a sender"),
        }
    }

    pub(super) fn receiver_mut(&mut self) -> &mut Receiver {
        match self {
            Self::Receiver(receiver) => receiver,
            Self::Sender(_) => panic!("a sender"),
        }
    }

    fn connect(&mut self, now: Time, paths: &[FourTuple]) {
        match self {
            Self::Sender(sender) => sender.connect(now, paths),
            Self::Receiver(receiver) => receiver.connect(now, paths),
        }
        .expect("a call");
    }
}

machine_of_several!(Party: Event {
    Sender(sender) => sender.poll_event(),
    Receiver(receiver) => receiver.poll_event(),
});

/// How a studio is set up.
pub(super) struct Setup {
    pub(super) seed: u64,
    pub(super) links: Vec<DuplexConfig>,
    pub(super) preset: Preset,
    /// Which end calls.
    pub(super) caller: Caller,
    pub(super) sender: SessionConfig,
    pub(super) receiver: SessionConfig,
    pub(super) stream: Stream,
    /// Whether it is over a [`Plain`] transport instead of SCTP.
    pub(super) plain: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    Sender,
    Receiver,
}

impl Setup {
    /// The sender calls, both want the same latency.
    pub(super) fn new(links: &[LinkConfig], preset: Preset, latency_ms: u64) -> Self {
        let latency = Duration::from_millis(latency_ms);
        Self {
            seed: 1,
            links: links.iter().map(|link| link.clone().into()).collect(),
            preset,
            caller: Caller::Sender,
            sender: SessionConfig::new(false, latency),
            receiver: SessionConfig::new(true, latency),
            stream: Stream::fixture(),
            plain: false,
        }
    }

    /// Over so many DCCP connections on each path, with half a second of latency.
    pub(super) fn over_dccp(
        links: &[LinkConfig],
        preset: Preset,
        connections: Connections,
    ) -> Self {
        let mut setup = Self::new(links, preset, 500);
        for end in [&mut setup.sender, &mut setup.receiver] {
            end.dccp = Some(DccpConfig { connections, ..DccpConfig::default() });
        }
        setup
    }

    pub(super) fn build(self) -> Studio {
        let Self { seed, links, preset, caller, mut sender, mut receiver, stream, plain } = self;
        sender.listen = caller == Caller::Receiver;
        receiver.listen = caller == Caller::Sender;
        let (treatments, format) = (preset.table(), stream.format);
        let sender = SenderConfig { treatments, format, ..SenderConfig::mpeg_ts(sender) };
        let receiver = ReceiverConfig { arrivals_max: 1 << 16, ..ReceiverConfig::new(receiver) };
        let mut paths = Vec::new();
        let pair = Pair::new(seed, &links, |side, seen, rng| match side {
            Side::Client => {
                paths = seen.to_vec();
                Party::Sender(Box::new(match plain {
                    true => Sender::over(Box::new(Plain::default()), sender.clone(), 1),
                    false => Sender::new(sender.clone(), rng),
                }))
            }
            Side::Server => Party::Receiver(Box::new(match plain {
                true => Receiver::over(Box::new(Plain::default()), receiver.clone()),
                false => Receiver::new(receiver.clone(), rng),
            })),
        });
        Studio {
            pair,
            paths,
            caller,
            out: Vec::new(),
            output_rate: None,
            busy_until: Time::ZERO,
            written: Vec::new(),
            skips: Vec::new(),
            schedule: stream.schedule,
            next: 0,
            start: None,
        }
    }
}

/// Both ends, and the stream on its way.
pub(super) struct Studio {
    pub(super) pair: Pair<Party>,
    /// As the sender sees them.
    pub(super) paths: Vec<FourTuple>,
    caller: Caller,
    /// What the receiver handed on.
    pub(super) out: Vec<u8>,
    /// What the output takes; all at once if it is `None`, nothing if it is zero.
    pub(super) output_rate: Option<Rate>,
    busy_until: Time,
    /// The packets that were handed on, and when the output had written them.
    pub(super) written: Vec<(Range<u64>, Time)>,
    /// The packets that it left out.
    pub(super) skips: Vec<Range<u64>>,
    pub(super) schedule: Vec<(Duration, Packet)>,
    pub(super) next: usize,
    pub(super) start: Option<Time>,
}

impl Studio {
    pub(super) fn sender(&self) -> &Sender {
        self.pair.client().sender()
    }

    pub(super) fn receiver(&self) -> &Receiver {
        self.pair.server().receiver()
    }

    /// Begins the call.
    pub(super) fn call(&mut self) {
        let paths = self.paths.clone();
        match self.caller {
            Caller::Sender => self.act_sender(|sender, now| {
                sender.connect(now, &paths).expect("a call");
            }),
            Caller::Receiver => {
                let paths: Vec<_> = paths.iter().map(|path| path.reversed()).collect();
                self.pair.act_server(|party, now| party.connect(now, &paths)).expect("quiet");
            }
        }
    }

    /// Calls, again and again if need be, and waits until media may flow.
    pub(super) fn connect(&mut self) {
        let end = self.pair.now() + Duration::from_secs(60);
        while !(self.sender().is_connected() && self.receiver().is_connected()) {
            assert!(self.pair.now() < end, "no connection");
            let is_calling = match self.caller {
                Caller::Sender => self.sender().has_peer(),
                Caller::Receiver => self.receiver().has_peer(),
            };
            if !is_calling {
                self.call();
            }
            self.step();
        }
    }

    pub(super) fn act_sender<T>(&mut self, act: impl FnOnce(&mut Sender, Time) -> T) -> T {
        self.pair.act_client(|party, now| act(party.sender_mut(), now)).expect("quiet")
    }

    pub(super) fn act_receiver<T>(&mut self, act: impl FnOnce(&mut Receiver, Time) -> T) -> T {
        self.pair.act_server(|party, now| act(party.receiver_mut(), now)).expect("quiet")
    }

    /// Lets a millisecond pass: pushes what is due once the stream was started, takes what is
    /// released.
    pub(super) fn step(&mut self) {
        self.pair.run_for(Duration::from_millis(1)).expect("a network at peace");
        if let Some(start) = self.start {
            let now = self.pair.now();
            let due = self.schedule[self.next..].iter();
            let due: Vec<_> = due.take_while(|(at, _)| start + *at <= now).cloned().collect();
            self.next += due.len();
            self.act_sender(|sender, now| {
                for (at, packet) in due {
                    sender.push_packet(now, start + at, &packet).expect("open");
                }
            });
        }
        while let Some(items) = self.next_released() {
            let Released { position, items, skipped, bytes, .. } = items;
            self.out.extend_from_slice(&bytes);
            if skipped > 0 {
                self.skips.push(position - skipped..position);
            }
            let now = self.pair.now();
            self.busy_until = match self.output_rate {
                Some(rate) => self.busy_until.max(now) + rate.time_for(bytes.len() as u64),
                None => now,
            };
            self.written.push((position..position + items, self.busy_until));
        }
    }

    /// What the output takes next, once it has written what it took before.
    fn next_released(&mut self) -> Option<Released> {
        let is_free = self.busy_until <= self.pair.now() && self.output_rate != Some(Rate::ZERO);
        is_free.then(|| self.act_receiver(|receiver, now| receiver.poll_release(now)))?
    }

    pub(super) fn run_for(&mut self, span: Duration) {
        let end = self.pair.now() + span;
        while self.pair.now() < end {
            self.step();
        }
    }

    /// Runs until `is_done`.
    pub(super) fn run_until(&mut self, at_most: Duration, is_done: impl Fn(&Self) -> bool) {
        let end = self.pair.now() + at_most;
        while !is_done(self) {
            assert!(self.pair.now() < end, "not done after {at_most:?}");
            self.step();
        }
    }

    /// Sends the stream in its own time from now on.
    pub(super) fn start_stream(&mut self) {
        self.start = Some(self.pair.now());
    }

    pub(super) fn stream_is_pushed(&self) -> bool {
        self.next == self.schedule.len()
    }

    /// Ends the stream and waits until both ends know and all was handed on.
    pub(super) fn finish(&mut self) {
        self.act_sender(Sender::finish);
        self.run_until(Duration::from_secs(120), |studio| {
            !studio.sender().has_peer() && !studio.receiver().has_peer()
        });
        self.run_until(Duration::from_secs(10), |studio| studio.receiver().is_drained());
    }

    /// Connects, sends all of the stream and ends.
    pub(super) fn transfer(&mut self) {
        self.connect();
        self.start_stream();
        self.run_until(Duration::from_secs(120), Self::stream_is_pushed);
        self.finish();
    }

    pub(super) fn events(&mut self, side: Side) -> Vec<Event> {
        let host = match side {
            Side::Client => anabranch_netsim::CLIENT,
            Side::Server => anabranch_netsim::SERVER,
        };
        self.pair.sim.take_events(host)
    }
}

/// What is sent: packets, and when each is due.
pub(super) struct Stream {
    pub(super) schedule: Vec<(Duration, Packet)>,
    pub(super) format: SourceFormat,
}

impl Stream {
    pub(super) fn mpeg_ts(schedule: Vec<(Duration, Packet)>) -> Self {
        Self { schedule, format: SourceFormat::MpegTs }
    }

    /// [`STREAM`] in its own time.
    fn fixture() -> Self {
        Self::mpeg_ts(fixture())
    }

    /// 10 Mbit/s of one track for so many seconds, in datagrams of seven packets.
    pub(super) fn broadcast(seconds: u64) -> Self {
        Self::mpeg_ts(broadcast(seconds))
    }
}

fn broadcast(seconds: u64) -> Vec<(Duration, Packet)> {
    let interval = Duration::from_nanos(DATAGRAM * 188 * 8 * 100);
    let mut packet = [0xff; 188];
    packet[..4].copy_from_slice(&[0x47, 0x01, 0x23, 0x10]);
    let mut reader = Reader::new();
    let datagrams = Duration::from_secs(seconds).as_nanos() / interval.as_nanos();
    let packets = 0..datagrams as u64 * DATAGRAM;
    packets.clone().for_each(|_| reader.push(&packet).expect("a transport stream"));
    reader.finish().expect("a transport stream");
    let due = packets.map(|n| interval * (n / DATAGRAM) as u32);
    due.zip(std::iter::from_fn(|| reader.poll_packet())).collect()
}

/// Packets that programs put into one datagram.
const DATAGRAM: u64 = 7;

/// When each packet of the fixture is due.
fn fixture() -> Vec<(Duration, Packet)> {
    let mut reader = Reader::new();
    reader.push(STREAM).expect("a transport stream");
    reader.finish().expect("a transport stream");
    let mut pacer = Pacer::by_clock();
    while let Some(packet) = reader.poll_packet() {
        pacer.push(packet).expect("a clock");
    }
    pacer.finish().expect("a clock");
    std::iter::from_fn(|| pacer.poll_packet()).collect()
}

/// A link with this rate, delay and loss.
pub(super) fn link(mbps: u64, delay_ms: u64, loss: f64) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::mbps(mbps)),
        delay: Duration::from_millis(delay_ms),
        loss: if loss > 0.0 { Loss::uniform(loss) } else { Loss::None },
        ..LinkConfig::default()
    }
}

/// 20 Mbit/s with a round trip of 50 ms, and a queue of 100 ms.
pub(super) fn wide(loss: f64) -> LinkConfig {
    let queue = QueueLimit::lasting(Duration::from_millis(100), Rate::mbps(20));
    LinkConfig { queue, ..link(20, 25, loss) }
}
