//! [`Link`]: one direction of a wire or radio link.

mod config;
#[cfg(feature = "serde")]
mod data;
mod in_cell;
mod loss;
mod preset;
mod queue;
mod sending;
mod stats;
mod trace;

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::{Rng, Time};

pub use config::{LinkConfig, QueueLimit};
#[cfg(feature = "serde")]
pub use data::LinkConfigError;
pub use loss::Loss;
pub use preset::Preset;
pub use stats::{Drops, LinkStats};
pub use trace::{Trace, TraceError};

use crate::{DropCause, Element, Journey, Packet, Probability, Traffic};
use loss::LossModel;
use queue::DropTail;
use sending::{Pace, Sending, Used};

/// A link holds at most this many packets in queue and on the wire together, whatever its limits
/// say; more are dropped as by a full queue. 1 Gbit/s times 1 s of full packets is a third of it.
pub const MAX_PACKETS_HELD: usize = 1 << 18;

/// At most this many dropped packets wait to be polled, all that a cut can drop; the oldest is
/// forgotten first.
const MAX_DROPPED_KEPT: usize = MAX_PACKETS_HELD + 1;

/// One direction of a wire or radio link.
///
/// A packet waits in a drop-tail queue, is sent at the link's rate, travels for its delay, and is
/// lost or delivered at the far end: a lost packet has used its share of the rate. Packets never
/// overtake each other, whatever is changed while they travel, but for those that the configuration
/// wants held back.
///
/// A link that is to be in a [`Cell`](crate::Cell) must be made by that cell, or by a
/// [`Network`](crate::Network): one made here has its own `rate` for itself.
///
/// ```
/// use anabranch_netsim::{Carrier, Element, Link, LinkConfig, Packet};
/// use anabranch_sansio::{FourTuple, Rng, Time};
///
/// let mut link = Link::new(LinkConfig::mobile(), Rng::from_u64(7));
/// let path = FourTuple::new("10.0.0.1:9899".parse()?, "10.0.0.2:9899".parse()?);
/// let (carrier, bytes) = (Carrier::Udp, vec![0; 1_200]);
/// link.handle_packet(Time::ZERO, Packet::new(path, carrier, bytes));
/// while let Some(at) = link.poll_timeout() {
///     if let Some(packet) = link.poll_packet(at) {
///         println!("{at}: {} bytes on {}", packet.bytes.len(), packet.path);
///     }
/// }
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Debug)]
pub struct Link {
    config: LinkConfig,
    /// How fast it sends; `None` is unlimited.
    pace: Option<Pace>,
    is_up: bool,
    queue: DropTail,
    sending: Option<Sending>,
    /// Whether a cell's medium sends instead, by [`Link::take_waiting`].
    is_in_cell: bool,
    /// What that medium holds.
    on_air: Traffic,
    /// By time of arrival.
    wire: VecDeque<Arrival>,
    /// When the last packet arrives that is not held back.
    last_arrival: Time,
    loss: LossModel,
    /// Draws jitter, and which packets are held back for how long.
    rng: Rng,
    stats: LinkStats,
    dropped: Option<VecDeque<(DropCause, Packet)>>,
}

impl Link {
    /// A link that is up and empty. All its randomness comes from `rng`. A trace begins at
    /// [`Time::ZERO`].
    #[must_use]
    pub fn new(config: LinkConfig, mut rng: Rng) -> Self {
        Self {
            pace: Pace::new(&config, Time::ZERO),
            is_up: true,
            queue: DropTail::default(),
            sending: None,
            is_in_cell: false,
            on_air: Traffic::default(),
            wire: VecDeque::new(),
            last_arrival: Time::ZERO,
            loss: LossModel::new(config.loss, rng.fork()),
            rng,
            stats: LinkStats::default(),
            dropped: None,
            config,
        }
    }

    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Changes everything that is configured, at `now`.
    ///
    /// What has been sent of the current packet stays sent; the rest goes at the new rate. Packets
    /// on the wire keep their time of arrival, and later ones arrive after them. The new loss model
    /// starts afresh and meets packets on the wire too. A shorter queue drops nothing that waits.
    /// Another trace begins now; the same one goes on. The link stays in its cell, or in none.
    pub fn reconfigure(&mut self, now: Time, config: LinkConfig) {
        self.advance(now);
        if (&self.config.rate, &self.config.trace) != (&config.rate, &config.trace) {
            let pace = Pace::new(&config, now);
            if let Some(sending) = &mut self.sending {
                sending.change_pace(now, self.pace.as_ref(), pace.as_ref());
            }
            self.pace = pace;
        }
        if self.config.loss != config.loss {
            self.loss.reconfigure(config.loss);
        }
        self.config = config;
        self.advance(now);
    }

    /// Takes the link down: what waits, is being sent or travels is lost, and so is all that comes
    /// until [`restore`](Self::restore). What has arrived by `now` can still be polled.
    pub fn cut(&mut self, now: Time) {
        self.advance(now);
        self.is_up = false;
        self.last_arrival = now;
        let arrived = self.wire.iter().take_while(|arrival| arrival.at <= now).count();
        let travelling = self.wire.split_off(arrived);
        self.stats.on_wire = Traffic::default();
        for arrival in &self.wire {
            self.stats.on_wire.add(&arrival.packet);
        }
        for arrival in travelling {
            self.drop_packet(DropCause::Cut, arrival.packet);
        }
        if let Some(sending) = self.sending.take() {
            self.drop_packet(DropCause::Cut, sending.packet);
        }
        while let Some(packet) = self.queue.pop(now) {
            self.drop_packet(DropCause::Cut, packet);
        }
    }

    /// Brings the link up again, empty.
    pub fn restore(&mut self) {
        self.is_up = true;
    }

    /// False between [`cut`](Self::cut) and [`restore`](Self::restore).
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.is_up
    }

    /// What went in and what became of it, as of the last call with a time.
    #[must_use]
    pub fn stats(&self) -> LinkStats {
        LinkStats {
            queued: self.queue.held(),
            sending: self.sending.as_ref().map_or(self.on_air, Sending::traffic),
            ..self.stats
        }
    }

    /// How many bytes waited in the queue on average, from the beginning to `now`.
    #[must_use]
    pub fn mean_queue_bytes(&self, now: Time) -> f64 {
        self.queue.mean_bytes(now)
    }

    /// The most that ever waited in the queue, packets and bytes each for themselves.
    #[must_use]
    pub fn longest_queue(&self) -> Traffic {
        self.queue.most()
    }

    /// Keeps dropped packets for [`Element::poll_dropped`].
    pub fn keep_dropped(&mut self) {
        self.dropped.get_or_insert_default();
    }

    fn enqueue(&mut self, now: Time, packet: Packet) {
        if self.is_in_cell {
            return self.queue_up(now, packet);
        }
        let Some(pace) = &self.pace else {
            return self.travel(now, packet);
        };
        if self.sending.is_none() {
            self.sending = Some(Sending::start(now, packet, pace));
            return;
        }
        self.queue_up(now, packet);
    }

    fn queue_up(&mut self, now: Time, packet: Packet) {
        if let Err(packet) = self.queue.push(now, packet, self.config.queue) {
            self.drop_packet(DropCause::Queue, packet);
        }
    }

    /// Moves on to the wire whatever has been sent by `now`.
    fn advance(&mut self, now: Time) {
        while let Some(sending) = self.sending.take_if(|sending| sending.done_at <= now) {
            let (done_at, packet, used) = sending.finish();
            self.travel(done_at, packet);
            let Some(next) = self.queue.pop(done_at) else { return };
            self.send_next(done_at, used, next);
        }
    }

    /// Sends the first that waited.
    fn send_next(&mut self, now: Time, used: Used, next: Packet) {
        match &self.pace {
            Some(pace) => self.sending = Some(Sending::follow(now, used, next, pace)),
            None => self.flush(now, next),
        }
    }

    /// Sends what waited for a rate that is now unlimited.
    fn flush(&mut self, now: Time, first: Packet) {
        self.travel(now, first);
        while let Some(packet) = self.queue.pop(now) {
            self.travel(now, packet);
        }
    }

    fn travel(&mut self, now: Time, packet: Packet) {
        let in_order = (now + self.config.delay + self.draw_jitter()).max(self.last_arrival);
        let hold = self.draw_hold();
        if hold.is_zero() {
            self.last_arrival = in_order;
        }
        self.stats.on_wire.add(&packet);
        let at = in_order + hold;
        let place = self.wire.partition_point(|other| other.at <= at);
        self.wire.insert(place, Arrival { at, packet });
    }

    fn draw_jitter(&mut self) -> Duration {
        if self.config.jitter.is_zero() {
            return Duration::ZERO;
        }
        Duration::from_nanos(self.rng.range(0..nanos(self.config.jitter).saturating_add(1)))
    }

    /// For how long the packet is held back, if it is.
    fn draw_hold(&mut self) -> Duration {
        let share = self.config.reorder;
        if share == Probability::NEVER || !self.rng.chance(share.as_f64()) {
            return Duration::ZERO;
        }
        Duration::from_nanos(self.rng.range(0..nanos(self.config.hold_max)) + 1)
    }

    fn drop_packet(&mut self, cause: DropCause, packet: Packet) {
        self.stats.dropped.count(cause, &packet);
        let Some(dropped) = &mut self.dropped else { return };
        if dropped.len() == MAX_DROPPED_KEPT {
            dropped.pop_front();
        }
        dropped.push_back((cause, packet));
    }
}

impl Element for Link {
    fn handle_packet(&mut self, now: Time, mut packet: Packet) {
        packet.journey = Journey { entered: now, left_queue: now, ..packet.journey };
        self.stats.offered.add(&packet);
        if !self.is_up {
            return self.drop_packet(DropCause::Cut, packet);
        }
        if packet.ip_len() > usize::from(self.config.mtu) && !packet.may_fragment {
            return self.drop_packet(DropCause::Mtu, packet);
        }
        self.advance(now);
        if self.wire.len() + self.queue.len() >= MAX_PACKETS_HELD {
            return self.drop_packet(DropCause::Queue, packet);
        }
        self.enqueue(now, packet);
    }

    fn poll_packet(&mut self, now: Time) -> Option<Packet> {
        self.advance(now);
        loop {
            let arrival = self.wire.pop_front_if(|arrival| arrival.at <= now)?;
            self.stats.on_wire.remove(&arrival.packet);
            // In a cell, frames are lost on the air.
            if !self.is_in_cell && self.loss.loses_next(now) {
                self.drop_packet(DropCause::Loss, arrival.packet);
                continue;
            }
            self.stats.delivered.add(&arrival.packet);
            return Some(arrival.packet);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        if let Some(arrival) = self.wire.front() {
            return Some(arrival.at);
        }
        let sending = self.sending.as_ref()?;
        let at = sending.done_at + self.config.delay;
        (at < Time::MAX).then_some(at)
    }

    fn poll_dropped(&mut self) -> Option<(DropCause, Packet)> {
        self.dropped.as_mut()?.pop_front()
    }
}

/// A packet on its way over the wire.
#[derive(Debug)]
struct Arrival {
    at: Time,
    packet: Packet,
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
