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
const T: f64 = 2.045;
/// Runs of each order.
const PAIRS: usize = 30;
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

/// Measures, and tells each line as it is known.
pub(crate) fn measure(plan: &Plan, mut tell: impl FnMut(&str) -> io::Result<()>) -> io::Result<()> {
    tell("CPU time of the receiver: what matters most first, beside order of arrival")?;
    for &size in &plan.sizes {
        let messages = plan.bytes.div_ceil(size).next_multiple_of(BATCH);
        let gigabytes = (messages * size) as f64 / 1e9;
        let mut pairs = Vec::new();
        for pair in 0..PAIRS {
            pairs.push(both_orders(pair, size, messages)?.map(|it| it.as_secs_f64() / gigabytes));
        }
        tell(&format!("messages of {size} bytes: {}", Paired::of(&pairs)))?;
    }
    for order in [ReceiveOrder::Arrival, ReceiveOrder::PRIORITY] {
        let mut best = [Duration::MAX; 2];
        for _ in 0..plan.runs {
            for (best, waiting) in best.iter_mut().zip(plan.waiting) {
                *best = receive(order, SHORT, READ_WHILE_WAITING, waiting)?.min(*best);
            }
        }
        let name = if order == ReceiveOrder::Arrival { "by arrival" } else { "by importance" };
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

/// By arrival, by importance; which goes first changes from pair to pair.
fn both_orders(pair: usize, size: usize, messages: usize) -> io::Result<[Duration; 2]> {
    let by_arrival = || receive(ReceiveOrder::Arrival, size, messages, 0);
    let by_importance = || receive(ReceiveOrder::PRIORITY, size, messages, 0);
    if pair.is_multiple_of(2) {
        let arrival = by_arrival()?;
        Ok([arrival, by_importance()?])
    } else {
        let importance = by_importance()?;
        Ok([by_arrival()?, importance])
    }
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

/// What the receiver takes for so many messages, while so many others wait.
fn receive(
    order: ReceiveOrder,
    size: usize,
    messages: usize,
    waiting: usize,
) -> io::Result<Duration> {
    let mut ends = Ends::connected(order, (waiting + 4 * BATCH) * (size + COST_OF_MESSAGE))?;
    for _ in 0..waiting.div_ceil(BATCH) {
        ends.exchange(size, 0)?;
    }
    let mut spent = Duration::ZERO;
    for _ in 0..messages.div_ceil(BATCH) {
        spent += ends.exchange(size, BATCH)?;
    }
    Ok(spent)
}

const NOW: Time = Time::from_millis(1);

/// Both endpoints; no time passes between them.
struct Ends {
    sender: Endpoint,
    receiver: Endpoint,
    outgoing: AssociationId,
    incoming: AssociationId,
    sent: usize,
}

impl Ends {
    fn connected(order: ReceiveOrder, buffer: usize) -> io::Result<Self> {
        let association = AssociationConfig::default().with(|config| {
            config.extensions.level_marks = true;
            config.buffers.receive_order = order;
            config.buffers.receive_buffer = buffer.max(4 << 20);
            config.buffers.send_buffer = 64 << 20;
            config.window.congestion_control = CongestionControl::Fixed { window: 1 << 20 };
            config.window.max_burst = None;
        });
        let config = EndpointConfig {
            accept: true,
            association: association.clone(),
            ..EndpointConfig::default()
        };
        let mut sender = Endpoint::new(config.clone(), Rng::from_u64(1));
        let path = FourTuple::new(([10, 0, 0, 1], 9_899).into(), ([10, 0, 0, 2], 9_899).into());
        let called = sender.connect(NOW, &[path], (5_000, 5_000), association);
        let outgoing = called.map_err(io::Error::other)?;
        let receiver = Endpoint::new(config, Rng::from_u64(2));
        let mut ends = Self { sender, receiver, outgoing, incoming: outgoing, sent: 0 };
        ends.carry(0)?;
        let incoming = ends.receiver.associations().next();
        ends.incoming = incoming.ok_or(io::ErrorKind::NotConnected)?;
        Ok(ends)
    }

    /// Sends a batch, and reads so many messages; returns what the receiver took for it.
    fn exchange(&mut self, size: usize, read: usize) -> io::Result<Duration> {
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
        self.carry(read)
    }

    /// Carries packets to and fro until there are none.
    fn carry(&mut self, mut read: usize) -> io::Result<Duration> {
        let mut spent = Duration::ZERO;
        loop {
            let packets = packets_of(&mut self.sender);
            if packets.is_empty() && read == 0 {
                return Ok(spent);
            }
            let start = cpu::of_thread();
            packets.iter().for_each(|packet| hand_over(&mut self.receiver, packet));
            let before = read;
            if let Some(association) = self.receiver.association_mut(self.incoming) {
                while read > 0 && association.receive().is_some() {
                    read -= 1;
                }
            }
            let answers = packets_of(&mut self.receiver);
            spent += cpu::of_thread() - start;
            if packets.is_empty() && answers.is_empty() && read == before {
                return Err(io::Error::other("some messages never came"));
            }
            answers.iter().for_each(|packet| hand_over(&mut self.sender, packet));
        }
    }
}

/// A packet, and the path that it left on.
type Packet = (FourTuple, Vec<u8>);

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
        for order in [ReceiveOrder::Arrival, ReceiveOrder::PRIORITY] {
            for (size, waiting) in [(1_000, 0), (16 << 10, 0), (SHORT, 1_000)] {
                assert!(receive(order, size, 640, waiting).unwrap() > Duration::ZERO);
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
