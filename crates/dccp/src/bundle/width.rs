//! [`Width`]: how many connections side by side, chosen as they go.
//!
//! On a radio link, losses come by chance, whoever sends how much: a TFRC connection takes each for
//! congestion, and n of them carry n times as much until the link is full. So as many as fill it
//! are right, and one where losses are those of a queue that is full. What distinguishes both is,
//! as in MULTFRC (Chen and Zakhor, INFOCOM 2004), that the round-trip time grows before a queue
//! loses packets; and, where queues are too short for that, that one more connection no longer
//! brings its share of rate, or loses more.
//!
//! 1. Time is cut into spans. Five round-trip times let what has changed settle; what follows is
//!    measured, for as long again and until four loss events are to be expected, 5 s at most. A
//!    span begins anew when data waits for the first time in it, and while connections are still
//!    being opened, for 4 s at most: one whose Request is lost comes a second later. Until the
//!    second or the third rule has applied, three quarters of them are enough to go on with; and
//!    where the round-trip time keeps still, within 8 % of the lowest one ever or 2 ms, one loss
//!    event in 80 packets or more is, and the loss event rate is what it is in the end.
//! 2. Where the mean round-trip time of a span is a quarter above that of the best span, and 5 ms,
//!    a quarter of the connections rest, one at least, and no more are tried for 8 s. Until this or
//!    the third rule has applied, more connections have 2 s: those that are new have lost little,
//!    and will send less.
//! 3. For each number of connections, means of rate and loss are kept, for a minute, or for 5 s
//!    where fewer than four loss events were seen. The rate is what was sent; where the application
//!    left something out for lack of room in most of a span, it is what the connections were
//!    allowed to send. Where the present number brings less than half of what it should bring
//!    beyond one that is two thirds of it at most, or loses twice as much by its loss event rate
//!    and by the losses that were counted, that one is gone back to, and no more are tried for 8 s,
//!    then 16 s, up to 64 s. With few loss events seen at the present number, rates are not
//!    compared; with few seen at the other one, a quarter is enough; with either, losses must be
//!    three times as many, or six times where hardly any were seen.
//! 4. Else, where data waited or was left out for most of the span, something was lost, and the
//!    round-trip time is within a tenth of the best, there are twice as many; once the second or
//!    the third rule has applied, a quarter more, one at least. From then on, and where losses are
//!    so rare that they may well be a queue's, the present number must have been seen for long.
//!    Where the round-trip time kept still, losses are no queue's if one packet in 200 is lost, or
//!    in 500 by a single connection, which is followed by three more: beside a TCP, the queue comes
//!    and goes.
//!
//! A TCP in the same queue fills it, or loses so little that a second connection must show that it
//! brings half as much again: beside one TCP it brings a third. Among three TCPs and more behind a
//! queue too short to be noticed, there may be more than one.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_sansio::Time;

/// Connections that there may be side by side.
pub const CONNECTIONS_MAX: usize = 32;

/// How often to look at the connections.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// How long a change settles, and how long is measured at least, in round-trip times; how long
/// both take at least, and how long is measured at most.
const SETTLE_RTTS: u32 = 5;
const SETTLE_MIN: Duration = Duration::from_millis(250);
const MEASURE_MAX: Duration = Duration::from_secs(5);

/// How long connections may take to come: RFC 4340 section 8.1.1 has a Request go again after 1 s,
/// and once more after 3 s.
const OPENING_MAX: Duration = Duration::from_secs(4);

/// Loss events that are to be expected in what is measured.
const EVENTS_MIN: f64 = 4.0;

/// The same in the beginning, where the round-trip time keeps still, and packets in which they are
/// expected: of a few, losses that came by chance seem frequent.
const EVENTS_MIN_STILL: f64 = 1.0;
const PACKETS_MIN_STILL: u64 = 80;

/// A loss event rate that a queue shared with few others does not have, for it has room for more
/// than a dozen packets of each.
const LOSS_FREQUENT: f64 = 0.005;

/// The same of the first connection where the round-trip time keeps still. What it has seen is
/// little, and begins with an interval that is reckoned from its rate (RFC 5348 section 6.3.1).
const LOSS_FREQUENT_FIRST: f64 = 0.002;

/// How many connections there are to be after the first, where the round-trip time keeps still.
const SECOND_WIDTH: usize = 4;

/// How long new connections may send too much, for they have lost little yet.
const OVERSHOOT_MAX: Duration = Duration::from_secs(2);

/// How long what was measured is of use.
const MEMORY: Duration = Duration::from_secs(60);

/// The same where hardly any loss events were seen: of a connection that has just begun, the rate
/// is too high.
const MEMORY_BRIEF: Duration = Duration::from_secs(5);

/// What the latest span counts in a mean, at least.
const MEAN_WEIGHT_MIN: f64 = 0.25;

/// By how much the mean round-trip time is greater than the least one where a queue grows.
const DELAY_FACTOR: f64 = 1.25;
const DELAY_MIN_S: f64 = 0.005;

/// By how much it may be greater where no queue is.
const CALM_FACTOR: f64 = 1.1;
const CALM_MIN_S: f64 = 0.002;

/// By how much it is ever greater than the lowest one where nobody else fills a queue.
const STILL_FACTOR: f64 = 1.08;
const STILL_MIN_S: f64 = 0.002;

/// The part of its share of rate that a connection must bring; and where what fewer brought was
/// measured for a short time only.
const GAIN_MIN: f64 = 0.5;
const GAIN_MIN_UNSURE: f64 = 0.25;

/// By how much the loss event rate may grow, by the loss events that both rates were measured by:
/// of four, twice or half as many are nothing unusual.
const fn loss_factor(events: f64) -> f64 {
    if events >= EVENTS_COMPARED {
        2.0
    } else if events >= 2.0 * EVENTS_MIN {
        3.0
    } else {
        6.0
    }
}

/// Loss events that two means must have seen to be compared.
const EVENTS_COMPARED: f64 = 24.0;

/// How long to wait with more connections after some were in vain, and after many were.
const PAUSE_FIRST: Duration = Duration::from_secs(8);
const PAUSE_MAX: Duration = Duration::from_secs(64);

/// How many connections there are side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connections {
    /// So many; 0 counts as 1.
    Fixed(usize),
    /// As many as bring rate without delay: see [`Width`]. From one to [`CONNECTIONS_MAX`].
    Auto,
}

impl Connections {
    /// How many to begin with.
    #[must_use]
    pub fn first(self) -> usize {
        match self {
            Self::Fixed(count) => count.clamp(1, usize::from(u16::MAX)),
            Self::Auto => 1,
        }
    }
}

/// What the connections that are in use look like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// How many of them are connected.
    pub connections: usize,
    /// Their smoothed round-trip time, once measured.
    pub rtt: Option<Duration>,
    /// The mean of their loss event rates, of those that lost something.
    pub loss_event_rate: f64,
    /// Loss events that all connections have seen. They never go down.
    pub loss_events: u64,
    /// Bytes of data that were sent in all, and in how many packets. They never go down.
    pub bytes: u64,
    /// The packets.
    pub packets: u64,
    /// Whether more waits to be sent than they take, or has lately been left out for that.
    pub is_limited: bool,
    /// Bytes of data per second that they may send, where something has lately been left out: what
    /// is sent then says little of what they carry.
    pub allowed_rate: Option<f64>,
}

/// Chooses how many connections are used.
///
/// It is told how they look and answers how many there should be; who begins them, or has them
/// rest, is the caller.
#[derive(Debug)]
pub struct Width {
    target: usize,
    /// The least mean of a span, in seconds.
    least_rtt: Option<f64>,
    /// The lowest one that was seen in a look.
    lowest_rtt: Option<f64>,
    look_at: Time,
    span: Option<Span>,
    /// By number of connections.
    means: BTreeMap<usize, Mean>,
    /// Whether no connections were in vain, and none made way.
    is_doubling: bool,
    /// When more may be tried, and how long the last pause was.
    more_at: Time,
    pause: Duration,
    /// Since when there should be as many.
    wider_since: Time,
}

/// A span of time, and what was seen in it once it had settled.
#[derive(Debug)]
struct Span {
    measured_from: Time,
    /// When it may end, and when it does.
    until: Time,
    until_max: Time,
    /// When the measurement began, and what was seen then.
    first: Option<(Time, Look)>,
    looks: u32,
    limited: u32,
    rtt_sum: f64,
    rtt_max: f64,
    loss_sum: f64,
    /// Looks with an allowed rate, and the sum of these.
    allowed: (u32, f64),
}

/// What a number of connections has brought.
#[derive(Debug, Clone, Copy)]
struct Mean {
    at: Time,
    spans: u32,
    events: f64,
    rate: f64,
    loss: f64,
    /// Loss events and packets that were counted.
    counted: (f64, f64),
}

/// What a span showed.
#[derive(Debug)]
struct Seen {
    rtt: f64,
    loss: f64,
    events: f64,
    /// Loss events and packets that were counted.
    counted: (f64, f64),
    rate: f64,
    is_limited: bool,
    /// Whether it is of the beginning, and the round-trip time kept still.
    is_still: bool,
}

impl Width {
    /// One connection.
    #[must_use]
    pub const fn new(now: Time) -> Self {
        Self {
            target: 1,
            least_rtt: None,
            lowest_rtt: None,
            look_at: now,
            span: None,
            means: BTreeMap::new(),
            is_doubling: true,
            more_at: now,
            pause: Duration::ZERO,
            wider_since: now,
        }
    }

    /// How many connections there should be in use.
    #[must_use]
    pub const fn target(&self) -> usize {
        self.target
    }

    /// When to look again.
    #[must_use]
    pub const fn look_at(&self) -> Time {
        self.look_at
    }

    /// Takes a look, if it is time for one.
    pub fn look(&mut self, now: Time, look: &Look) {
        if now < self.look_at {
            return;
        }
        self.look_at = now + LOOK_INTERVAL;
        let Some(rtt) = look.rtt else { return };
        let enough = if self.is_doubling { self.target * 3 / 4 } else { self.target };
        if look.connections < enough && self.is_opening(now) {
            self.span = None;
            return;
        }
        let rtt_s = rtt.as_secs_f64();
        let lowest = self.lowest_rtt.map_or(rtt_s, |lowest| lowest.min(rtt_s));
        self.lowest_rtt = Some(lowest);
        // What is measured while little waits says nothing of what the connections carry.
        self.span.take_if(|span| look.is_limited && span.was_never_limited());
        let span = self.span.get_or_insert_with(|| Span::new(now, rtt));
        span.note(now, look, rtt_s);
        let is_still = self.is_doubling && span.is_still(lowest);
        if let Some(seen) = span.seen(now, look, is_still) {
            self.span = None;
            self.decide(now, look, &seen);
        }
    }

    /// Whether connections may still come.
    fn is_opening(&self, now: Time) -> bool {
        now - self.wider_since < OPENING_MAX
    }

    fn decide(&mut self, now: Time, look: &Look, seen: &Seen) {
        let least = self.least_rtt.map_or(seen.rtt, |least| least.min(seen.rtt));
        self.least_rtt = Some(least);
        if seen.is_delayed(least) {
            self.make_way(now);
            return;
        }
        // Where little waits, what is sent is what there is to send.
        if !seen.is_limited || seen.loss <= 0.0 {
            return;
        }
        let is_short = look.connections < self.target && !self.is_opening(now);
        if let Some(fewer) = self.fewer_do(now, seen).or(is_short.then_some(look.connections)) {
            self.target = fewer.max(1);
            self.is_doubling = false;
            self.pause = (self.pause * 2).clamp(PAUSE_FIRST, PAUSE_MAX);
            self.more_at = now + self.pause;
        } else if self.more_at <= now && seen.is_calm(least) && self.is_sure(seen) {
            self.target = self.next(seen).min(CONNECTIONS_MAX);
            self.wider_since = now;
        }
    }

    /// A queue grows: a part of the connections is to rest.
    fn make_way(&mut self, now: Time) {
        let is_new = self.target > 1 && now - self.wider_since < OVERSHOOT_MAX;
        if self.is_doubling && is_new {
            return;
        }
        self.target -= (self.target / 4).max(1).min(self.target - 1);
        (self.is_doubling, self.more_at) = (false, now + PAUSE_FIRST);
    }

    /// How many connections to try where more are needed.
    fn next(&self, seen: &Seen) -> usize {
        match self.target {
            1 if self.is_clear(seen) => SECOND_WIDTH,
            many if self.is_doubling => 2 * many,
            many => many + (many / 4).max(1),
        }
    }

    /// Whether the losses of a span were frequent and no queue's: nobody filled one.
    fn is_clear(&self, seen: &Seen) -> bool {
        let frequent = if self.target == 1 { LOSS_FREQUENT_FIRST } else { LOSS_FREQUENT };
        seen.is_still && seen.loss >= frequent
    }

    /// Whether what the present number brings is known well; or, at first, losses are so frequent
    /// that they are hardly those of a queue.
    fn is_sure(&self, seen: &Seen) -> bool {
        let events = self.means.get(&self.target).map_or(0.0, |mean| mean.events);
        let fewest = self.means.first_key_value().map_or(0.0, |(_, mean)| mean.loss);
        let is_frequent = self.is_doubling && fewest >= LOSS_FREQUENT;
        is_frequent || self.is_clear(seen) || events >= EVENTS_COMPARED
    }

    /// Notes what the present number brings, and says how many would do as well.
    fn fewer_do(&mut self, now: Time, seen: &Seen) -> Option<usize> {
        self.means.retain(|_, mean| now - mean.at < mean.memory());
        let Seen { rate, loss, .. } = *seen;
        let new = Mean { at: now, spans: 0, events: 0.0, rate, loss, counted: (0.0, 0.0) };
        let mean = self.means.entry(self.target).or_insert(new);
        mean.add(now, seen);
        let mean = *mean;
        let others = self.means.range(..=self.target * 2 / 3).rev();
        let mut others =
            others.map(|(fewer, before)| (*fewer, mean.compare(self.target, before, *fewer)));
        others.find(|(_, is_as_good)| *is_as_good).map(|(fewer, _)| fewer)
    }
}

impl Seen {
    /// Whether a queue grows.
    fn is_delayed(&self, least: f64) -> bool {
        self.rtt > (DELAY_FACTOR * least).max(least + DELAY_MIN_S)
    }

    /// Whether there is none.
    fn is_calm(&self, least: f64) -> bool {
        self.rtt <= (CALM_FACTOR * least).max(least + CALM_MIN_S)
    }
}

impl Mean {
    /// How long it is of use.
    fn memory(&self) -> Duration {
        if self.events < EVENTS_MIN { MEMORY_BRIEF } else { MEMORY }
    }

    /// Whether fewer connections do as well as those that this is the mean of.
    fn compare(&self, connections: usize, before: &Self, fewer: usize) -> bool {
        let share = connections as f64 / fewer as f64 - 1.0;
        let events = self.events.min(before.events);
        let gain = if events >= EVENTS_COMPARED { GAIN_MIN } else { GAIN_MIN_UNSURE };
        let is_known = self.events >= EVENTS_COMPARED;
        let is_vain = is_known && self.rate < before.rate * (1.0 + gain * share);
        let seems_to = self.loss > loss_factor(events) * before.loss;
        is_vain || seems_to && self.counts_more_than(before)
    }

    /// Whether much more of what it sends was counted as lost. The loss event rate of a connection
    /// that has seen few losses is mostly what was reckoned from its rate (RFC 5348 section 6.3.1),
    /// a half or a tenth of what the network loses; and few that are counted come by chance.
    fn counts_more_than(&self, before: &Self) -> bool {
        let ((events, packets), (events_before, packets_before)) = (self.counted, before.counted);
        let loss_before = events_before.max(1.0) / packets_before;
        events / packets > loss_factor(events.min(events_before)) * loss_before
    }

    fn add(&mut self, now: Time, seen: &Seen) {
        (self.at, self.spans) = (now, self.spans + 1);
        let weight = (1.0 / f64::from(self.spans)).max(MEAN_WEIGHT_MIN);
        self.rate += weight * (seen.rate - self.rate);
        self.loss += weight * (seen.loss - self.loss);
        self.events += seen.events;
        let past = 1.0 - weight;
        let (events, packets) = seen.counted;
        self.counted = (self.counted.0 * past + events, self.counted.1 * past + packets);
    }
}

impl Span {
    fn new(now: Time, rtt: Duration) -> Self {
        let part = (rtt * SETTLE_RTTS).max(SETTLE_MIN).min(MEASURE_MAX);
        Self {
            measured_from: now + part,
            until: now + 2 * part,
            until_max: now + part + MEASURE_MAX,
            first: None,
            looks: 0,
            limited: 0,
            rtt_sum: 0.0,
            rtt_max: 0.0,
            loss_sum: 0.0,
            allowed: (0, 0.0),
        }
    }

    fn note(&mut self, now: Time, look: &Look, rtt_s: f64) {
        if now < self.measured_from {
            return;
        }
        self.first.get_or_insert((now, *look));
        self.looks += 1;
        self.limited += u32::from(look.is_limited);
        self.rtt_sum += rtt_s;
        self.rtt_max = self.rtt_max.max(rtt_s);
        self.loss_sum += look.loss_event_rate;
        if let Some(rate) = look.allowed_rate {
            self.allowed = (self.allowed.0 + 1, self.allowed.1 + rate);
        }
    }

    /// Whether it was looked at, and nothing waited each time.
    const fn was_never_limited(&self) -> bool {
        self.looks > 0 && self.limited == 0
    }

    /// Whether the round-trip time was near the lowest one all the time.
    fn is_still(&self, lowest: f64) -> bool {
        self.rtt_max <= (STILL_FACTOR * lowest).max(lowest + STILL_MIN_S)
    }

    /// What it showed, if it is over.
    fn seen(&self, now: Time, look: &Look, is_still: bool) -> Option<Seen> {
        let (from, first) = self.first.filter(|_| self.until <= now)?;
        let looks = f64::from(self.looks);
        let loss = self.loss_sum / looks;
        let packets = look.packets.saturating_sub(first.packets);
        let lost = look.loss_events.saturating_sub(first.loss_events);
        let events = packets as f64 * loss;
        let (allowed, sum) = self.allowed;
        let is_thinned = 2 * allowed > self.looks;
        let is_clear = is_still && packets >= PACKETS_MIN_STILL;
        let events_min = if is_clear { EVENTS_MIN_STILL } else { EVENTS_MIN };
        if from == now || events < events_min && now < self.until_max {
            return None;
        }
        let sent = look.bytes.saturating_sub(first.bytes) as f64 / (now - from).as_secs_f64();
        Some(Seen {
            rtt: self.rtt_sum / looks,
            loss: if is_still { look.loss_event_rate } else { loss },
            events,
            counted: (lost as f64, packets as f64),
            rate: if is_thinned { sum / f64::from(allowed) } else { sent },
            is_limited: 2 * self.limited > self.looks,
            is_still,
        })
    }
}

#[cfg(test)]
mod tests;
