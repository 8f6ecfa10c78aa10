//! What it costs a receiver to read what matters most first, beside reading in order of arrival.

use std::fmt;
use std::io;
use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time};
use anabranch_sctp::{
    AssociationConfig, AssociationId, CongestionControl, Endpoint, EndpointConfig, Level,
    OutgoingMessage, ReceiveOrder,
};
use anabranch_wire::StreamId;
use bytes::Bytes;

use crate::cpu;

/// Student's t for the 95 % interval of the mean of [`PAIRS`] values.
const T: f64 = 1.984;
/// Runs of each order.
const PAIRS: usize = 100;
/// Messages that are sent, and then read, together.
const BATCH: usize = 64;
/// Bytes of the messages that wait.
const SHORT: usize = 16;
/// Messages that are read while so many others wait.
const READ_WHILE_WAITING: usize = 200_000;
/// What an association may keep for a message beside its bytes, and then some.
const COST_OF_MESSAGE: usize = 512;

/// What is measured.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Sizes of the messages.
    pub(crate) sizes: Vec<usize>,
    /// Payload per run.
    pub(crate) bytes: usize,
    /// Messages that wait while others come and are read.
    pub(crate) waiting: [usize; 2],
    /// Runs with each number of these, of which the best counts.
    pub(crate) runs: u32,
}

/// Measures, and reports each line as it is known.
pub(crate) fn measure(plan: &Plan, mut tell: impl FnMut(&str) -> io::Result<()>) -> io::Result<()> {
    tell("CPU time of the receiver: what matters most first, beside order of arrival")?;
    for &size in &plan.sizes {
        let messages = plan.bytes.div_ceil(size).next_multiple_of(BATCH);
        let gigabytes = (messages * size) as f64 / 1e9;
        let recording = Recording::of(size, messages, 0)?;
        let mut pairs = Vec::new();
        for pair in 0..PAIRS {
            pairs.push(both_orders(pair, &recording)?.map(|it| it.as_secs_f64() / gigabytes));
        }
        tell(&format!("messages of {size} bytes: {}", Paired::of(&pairs)))?;
    }
    let mut best = [[Duration::MAX; 2]; 2];
    for (at, waiting) in plan.waiting.into_iter().enumerate() {
        let recording = Recording::of(SHORT, READ_WHILE_WAITING, waiting)?;
        for _ in 0..plan.runs {
            for (best, order) in best.iter_mut().zip(ORDERS) {
                best[at] = recording.receive(order)?.min(best[at]);
            }
        }
    }
    for (name, best) in ["by arrival", "by importance"].into_iter().zip(best) {
        let ns = best.map(|cpu| cpu.as_secs_f64() * 1e9 / READ_WHILE_WAITING as f64);
        let [few, many] = plan.waiting;
        tell(&format!(
            "{name}: {:.0} ns a message while {few} wait, {:.0} ns while {many} wait: {:.2} times",
            ns[0],
            ns[1],
            ns[1] / ns[0]
        ))?;
    }
    Ok(())
}

const ORDERS: [ReceiveOrder; 2] = [ReceiveOrder::Arrival, ReceiveOrder::PRIORITY];

/// By arrival, by importance; which goes first changes from pair to pair.
fn both_orders(pair: usize, recording: &Recording) -> io::Result<[Duration; 2]> {
    let mut spent = [Duration::ZERO; 2];
    for turn in 0..2 {
        let which = (pair + turn) % 2;
        spent[which] = recording.receive(ORDERS[which])?;
    }
    Ok(spent)
}

/// The ratios of pairs of runs.
struct Paired {
    means: [f64; 2],
    ratio: f64,
    /// Half of its 95 % interval.
    margin: f64,
}

impl Paired {
    fn of(pairs: &[[f64; 2]]) -> Self {
        let count = pairs.len() as f64;
        let mean = |of: &dyn Fn(&[f64; 2]) -> f64| pairs.iter().map(of).sum::<f64>() / count;
        let ratio = mean(&|pair| pair[1] / pair[0]);
        let variance = mean(&|pair| (pair[1] / pair[0] - ratio).powi(2)) * count / (count - 1.0);
        let means = [mean(&|pair| pair[0]), mean(&|pair| pair[1])];
        Self { means, ratio, margin: T * (variance / count).sqrt() }
    }
}

impl fmt::Display for Paired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { means: [arrival, importance], ratio, margin } = self;
        let (low, high) = (ratio - margin, ratio + margin);
        write!(f, "{importance:.3} beside {arrival:.3} s/GB; ")?;
        write!(f, "ratio {ratio:.3} in {PAIRS} pairs, 95 % {low:.3} to {high:.3}")
    }
}

const NOW: Time = Time::from_millis(1);

/// What a receiver got, packet by packet, from a sender that it answered.
///
/// It is played to receivers that are measured. So they work alone: what a sender leaves behind in
/// the allocator and in caches is none of their cost, and all get the same.
struct Recording {
    /// What connects.
    handshake: Vec<Round>,
    /// Batches that come while nothing is read, and those of which each is read.
    batches: [Vec<Vec<Round>>; 2],
    buffer: usize,
}

/// Packets that come together.
type Round = Vec<Packet>;

/// A packet, and the path that it left on.
type Packet = (FourTuple, Vec<u8>);

impl Recording {
    /// So many messages that are read, while so many others wait.
    fn of(size: usize, messages: usize, waiting: usize) -> io::Result<Self> {
        let buffer = (waiting + 4 * BATCH) * (size + COST_OF_MESSAGE);
        let buffer = buffer.max(4 << 20);
        let (mut ends, handshake) = Ends::connected(buffer)?;
        let mut batches = |messages: usize, read: usize| {
            (0..messages.div_ceil(BATCH)).map(|_| ends.exchange(size, read)).collect()
        };
        let waiting: io::Result<Vec<_>> = batches(waiting, 0);
        let batches = [waiting?, batches(messages, BATCH)?];
        Ok(Self { handshake, batches, buffer })
    }

    /// What a receiver takes for the messages that it reads.
    fn receive(&self, order: ReceiveOrder) -> io::Result<Duration> {
        let mut receiver = Receiver::new(order, self.buffer);
        receiver.take(&self.handshake, 0)?;
        let [waiting, read] = &self.batches;
        for rounds in waiting {
            receiver.take(rounds, 0)?;
        }
        let mut spent = Duration::ZERO;
        for rounds in read {
            let start = cpu::of_thread();
            receiver.take(rounds, BATCH)?;
            spent += cpu::of_thread() - start;
        }
        Ok(spent)
    }
}

fn config(order: ReceiveOrder, buffer: usize) -> AssociationConfig {
    AssociationConfig::default().with(|config| {
        config.extensions.level_marks = true;
        config.buffers.receive_order = order;
        config.buffers.receive_buffer = buffer;
        config.buffers.send_buffer = 64 << 20;
        config.window.congestion_control = CongestionControl::Fixed { window: 1 << 20 };
        config.window.max_burst = None;
    })
}

/// The end that is measured.
struct Receiver {
    endpoint: Endpoint,
    /// Messages that it is still to read.
    unread: usize,
}

impl Receiver {
    /// All of them draw the same random numbers: so they answer the same sender.
    fn new(order: ReceiveOrder, buffer: usize) -> Self {
        let association = config(order, buffer);
        let config = EndpointConfig { accept: true, association, ..EndpointConfig::default() };
        Self { endpoint: Endpoint::new(config, Rng::from_u64(2)), unread: 0 }
    }

    /// Takes packets, and reads so many messages, as soon as they are there.
    fn take(&mut self, rounds: &[Round], read: usize) -> io::Result<()> {
        self.unread += read;
        rounds.iter().for_each(|round| drop(self.answer(round)));
        self.is_done()
    }

    fn is_done(&self) -> io::Result<()> {
        match self.unread {
            0 => Ok(()),
            unread => Err(io::Error::other(format!("{unread} messages never came"))),
        }
    }

    fn answer(&mut self, round: &[Packet]) -> Vec<Packet> {
        round.iter().for_each(|packet| hand_over(&mut self.endpoint, packet));
        let association = self.endpoint.associations().next();
        if let Some(association) = association.and_then(|id| self.endpoint.association_mut(id)) {
            while self.unread > 0 && association.receive().is_some() {
                self.unread -= 1;
            }
        }
        packets_of(&mut self.endpoint)
    }
}

/// A sender, and the receiver that answers it; no time passes between them.
struct Ends {
    sender: Endpoint,
    outgoing: AssociationId,
    receiver: Receiver,
    sent: usize,
}

impl Ends {
    fn connected(buffer: usize) -> io::Result<(Self, Vec<Round>)> {
        let mut sender = Endpoint::new(EndpointConfig::default(), Rng::from_u64(1));
        let path = FourTuple::new(([10, 0, 0, 1], 9_899).into(), ([10, 0, 0, 2], 9_899).into());
        let config = config(ReceiveOrder::Arrival, buffer);
        let called = sender.connect(NOW, &[path], (5_000, 5_000), config);
        let outgoing = called.map_err(io::Error::other)?;
        let receiver = Receiver::new(ReceiveOrder::Arrival, buffer);
        let mut ends = Self { sender, outgoing, receiver, sent: 0 };
        let handshake = ends.carry();
        Ok((ends, handshake))
    }

    /// Sends a batch and reads so many messages; what the receiver got.
    fn exchange(&mut self, size: usize, read: usize) -> io::Result<Vec<Round>> {
        let payload = Bytes::from(vec![0x5a; size]);
        let association = self.sender.association_mut(self.outgoing);
        let association = association.ok_or(io::ErrorKind::NotConnected)?;
        for _ in 0..BATCH {
            let level = Level::ALL[self.sent % Level::ALL.len()];
            let stream = StreamId(level.index() as u16);
            let message =
                OutgoingMessage { level, ..OutgoingMessage::new(stream, payload.clone()) };
            association.send(NOW, message).map_err(io::Error::other)?;
            self.sent += 1;
        }
        self.receiver.unread += read;
        let rounds = self.carry();
        self.receiver.is_done()?;
        Ok(rounds)
    }

    /// Carries packets to and fro until there are none; what the receiver got.
    fn carry(&mut self) -> Vec<Round> {
        let mut rounds = Vec::new();
        loop {
            let round = packets_of(&mut self.sender);
            if round.is_empty() {
                return rounds;
            }
            let answers = self.receiver.answer(&round);
            answers.iter().for_each(|packet| hand_over(&mut self.sender, packet));
            rounds.push(round);
        }
    }
}

fn packets_of(from: &mut Endpoint) -> Vec<Packet> {
    let mut packets = Vec::new();
    let mut bytes = Vec::new();
    while let Some(transmit) = from.poll_transmit(NOW, &mut bytes) {
        packets.push((transmit.path, std::mem::take(&mut bytes)));
    }
    packets
}

fn hand_over(to: &mut Endpoint, (path, bytes): &Packet) {
    to.handle_datagram(NOW, Datagram { path: path.reversed(), ecn: None, bytes });
    while to.poll_event().is_some() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_messages_are_read_whatever_waits() {
        for (size, waiting) in [(1_000, 0), (16 << 10, 0), (SHORT, 1_000)] {
            let recording = Recording::of(size, 640, waiting).unwrap();
            for order in ORDERS {
                assert!(recording.receive(order).unwrap() > Duration::ZERO);
            }
        }
    }

    #[test]
    fn the_interval_of_a_ratio_is_that_by_hand() {
        let pairs = [[1.0, 1.0], [1.0, 1.2], [2.0, 2.2]];
        let Paired { means, ratio, margin } = Paired::of(&pairs);
        assert!((means[0] - 4.0 / 3.0).abs() < 1e-9 && (ratio - 1.1).abs() < 1e-9);
        assert!((margin - T * 0.1 / 3.0_f64.sqrt()).abs() < 1e-9, "{margin}");
    }
}
