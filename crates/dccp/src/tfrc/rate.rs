//! [`RateControl`]: the data sender of RFC 5348 section 4.

use std::time::Duration;

use anabranch_sansio::Time;

use super::packets_per_round_trip;

/// RFC 5348 section 4.3: "t_mbi: the maximum backoff interval of 64 seconds."
const BACKOFF_MAX: f64 = 64.0;

/// RFC 5348 section 4.3: "TFRC is not sensitive to the precise value for the filter constant q, but
/// a default value of 0.9 is RECOMMENDED." Section 4.5 says the same of q2.
const FILTER: f64 = 0.9;

/// RFC 5348 section 8.2.2: "it is sufficient to limit X_recv_set to at most N=3 elements."
const RECEIVE_RATES_MAX: usize = 3;

/// RFC 5348 section 4.2: "the nofeedback timer is set to expire after two seconds".
const FIRST_NOFEEDBACK: Duration = Duration::from_secs(2);

/// How much unused time may be made up for at once, so that late timers do not lower the rate. RFC
/// 5348 section 4.6 allows a round-trip time: this is less where that is longer.
const CREDIT_MAX: Duration = Duration::from_millis(10);

/// How long packets gather that may leave one by one, so that they do in few system calls: a stream
/// of 10 Mbit/s has one in four such times.
const GATHER: Duration = Duration::from_micros(250);

/// Round-trip times of which it is known what was sent in them: a report comes that late where a
/// queue has grown.
const SENT_RATES: usize = 8;

/// Which packet size the equation is fed with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PacketSize {
    /// The mean of what was sent: RFC 5348 section 4.1.
    #[default]
    Mean,
    /// Each packet's own, so that a large one goes out as soon as a small one: what Almajeed 2011,
    /// section 3.2, chose for video.
    Actual,
    /// That of the largest packet, for every one: RFC 4342 section 5.3.
    Maximum,
}

/// How fast a sender begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FirstRate {
    /// An initial window in the first round trip that is known, by the handshake or by feedback:
    /// RFC 5348 section 4.2.
    #[default]
    Window,
    /// A packet a second until the first feedback, and then one in a round trip: RFC 3448 sections
    /// 4.2 and 4.3, which RFC 5348 replaced.
    Packet,
}

/// How a rate control behaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateControlConfig {
    /// Which packet size the equation is fed with. Default: [`PacketSize::Mean`].
    pub packet_size: PacketSize,
    /// Bytes of data in the largest packet. Default: 1,460.
    pub packet_size_max: usize,
    /// Whether the rate gives way when the round-trip time grows (RFC 5348 section 4.5). Default:
    /// yes.
    pub oscillation_reduction: bool,
    /// How fast it begins. Default: [`FirstRate::Window`].
    pub first_rate: FirstRate,
    /// Whether a sender that was idle may come back to its old rate faster, as the draft
    /// draft-ietf-dccp-tfrc-faster-restart-06 has it: by four times each round-trip time, from
    /// twice the initial rate on. The old rate is the greatest that arrived since the last loss
    /// event, and counts half after each such span. Default: no.
    pub faster_restart: Option<Duration>,
}

impl Default for RateControlConfig {
    fn default() -> Self {
        Self {
            packet_size: PacketSize::Mean,
            packet_size_max: 1_460,
            oscillation_reduction: true,
            first_rate: FirstRate::Window,
            faster_restart: None,
        }
    }
}

/// What a receiver reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Feedback {
    /// How long the last packet and this report took, without what the receiver waited.
    pub rtt: Duration,
    /// X_recv: bytes of data per second that arrived.
    pub receive_rate: f64,
    /// p: 0 before the first loss event.
    pub loss_event_rate: f64,
    /// Whether there was a loss event since the report before.
    pub is_new_loss: bool,
    /// When the packet was sent that the report answers.
    pub answered: Time,
}

/// How fast a sender may send.
#[derive(Debug)]
pub struct RateControl {
    config: RateControlConfig,
    /// s when the mean counts.
    mean_size: f64,
    /// The round-trip time, once it was measured.
    rtt: Option<Rtt>,
    /// X.
    rate: f64,
    loss_event_rate: f64,
    /// X_recv_set.
    receive_rates: Vec<(Time, f64)>,
    /// What X_recv_set allows.
    receive_limit: f64,
    /// X_fast_max: the greatest receive rate since the last loss event, when it was noted. It is
    /// for a faster restart.
    fast_max: (Time, f64),
    sent: SentRates,
    /// tld: when slow start last doubled the rate.
    doubled_at: Option<Time>,
    had_feedback: bool,
    nofeedback_at: Option<Time>,
    /// Whether anything was sent since the nofeedback timer was set.
    was_idle: bool,
    /// NotLimited1 and NotLimited2, and t_new and t_next: RFC 5348 section 8.2.1.
    not_limited: [Time; 2],
    answered: Time,
    answer_next: Time,
    /// Packets that may go out in a round trip, whatever the rate.
    packets_max: Option<u32>,
    last: Last,
    /// When the next packet may go out.
    next_at: Time,
}

/// The last packet that was sent.
#[derive(Debug, Clone, Copy)]
struct Last {
    at: Time,
    /// Its nominal time: t_i.
    nominal: Time,
    /// Bytes of data; 0 for none yet.
    len: usize,
    /// Whether more data were at hand.
    is_waiting: bool,
}

#[derive(Debug, Clone, Copy)]
struct Rtt {
    /// R.
    span: Duration,
    /// R, in seconds.
    mean: f64,
    /// R_sqmean.
    root_mean: f64,
    /// The root of R_sample.
    root_last: f64,
}

impl RateControl {
    /// A sender that has not sent anything yet.
    #[must_use]
    pub fn new(now: Time, config: RateControlConfig) -> Self {
        let size = config.packet_size_max as f64;
        Self {
            config,
            mean_size: size,
            rtt: None,
            // RFC 5348 section 4.2: "If the sender is ready to send data when it does not yet have
            // a round-trip sample, the value of X is set to s bytes per second".
            rate: size,
            loss_event_rate: 0.0,
            // RFC 5348 section 4.3: "X_recv_set is first initialized to contain a single item, with
            // value Infinity."
            receive_rates: vec![(now, f64::INFINITY)],
            receive_limit: f64::INFINITY,
            fast_max: (now, 0.0),
            sent: SentRates::new(now),
            doubled_at: None,
            had_feedback: false,
            nofeedback_at: None,
            was_idle: true,
            not_limited: [Time::ZERO; 2],
            answered: Time::ZERO,
            answer_next: Time::ZERO,
            packets_max: None,
            last: Last { at: now, nominal: now, len: 0, is_waiting: false },
            next_at: now,
        }
    }

    /// The round-trip time was measured otherwise than by feedback, as by the handshake.
    pub fn on_rtt(&mut self, now: Time, rtt: Duration) {
        if self.rtt.is_none() {
            self.measure(rtt);
            match self.config.first_rate {
                FirstRate::Window => self.begin(now),
                FirstRate::Packet => {}
            }
        }
    }

    /// R: the round-trip time.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.map(|rtt| rtt.span)
    }

    /// X_inst: how many bytes of data a sender may send in a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.instantaneous(self.rate, self.size(None)) / self.counted()
    }

    /// p: what the last report said.
    #[must_use]
    pub const fn loss_event_rate(&self) -> f64 {
        self.loss_event_rate
    }

    /// s, as the equation is fed with it.
    #[must_use]
    pub fn segment_size(&self) -> f64 {
        self.size(None)
    }

    /// When the next packet may go out.
    #[must_use]
    pub const fn next_at(&self) -> Time {
        self.next_at
    }

    /// When to see to it that packets go out: of a high rate, several gather until then. What they
    /// waited is made up for, as it is less than the time that may be.
    #[must_use]
    pub fn wakes_at(&self) -> Time {
        if self.last.len == 0 {
            return self.next_at;
        }
        self.next_at.max(self.last.at + GATHER.min(self.credit() / 2))
    }

    /// How much unused time may be made up for.
    fn credit(&self) -> Duration {
        self.rtt().unwrap_or_default().min(CREDIT_MAX)
    }

    /// From now on no more than `packets` go out in a round trip, however high the rate is.
    pub fn limit_packets(&mut self, packets: u32) {
        self.packets_max = Some(packets.max(1));
    }

    /// A packet with `len` bytes of data was sent. `is_waiting`: more data are at hand, so that the
    /// rate, not the application, decides when the next one is.
    pub fn on_sent(&mut self, now: Time, len: usize, is_waiting: bool) {
        let len = len.max(1);
        if self.had_feedback || self.rtt.is_some() || !self.was_idle {
            // A mean over some tens of packets, which are more than the four loss intervals of RFC
            // 5348 section 4.1 at high loss, and fewer at low loss.
            self.mean_size += (len as f64 - self.mean_size) / 32.0;
        } else {
            self.mean_size = len as f64;
        }
        if self.nofeedback_at.is_none() {
            self.nofeedback_at = Some(now + self.nofeedback_interval());
        }
        self.was_idle = false;
        let period = self.rtt().unwrap_or(FIRST_NOFEEDBACK);
        self.sent.on_sent(now, period, len as f64);
        let credit = self.credit();
        // The first packet after a pause did not wait for the rate: up to then there was nothing to
        // send, which the report that it brings about must not say of the network.
        let has_waited = self.last.is_waiting && self.last.at < now;
        if has_waited && now <= self.next_at + credit {
            self.note_not_limited(now);
        }
        let nominal = self.next_at.min(now).max(now.saturating_sub(credit));
        self.last = Last { at: now, nominal, len, is_waiting };
        self.next_at = self.following();
    }

    /// RFC 5348 section 4.6: "t_(i+1) = t_i + t_ipi", by the rate of now.
    fn following(&self) -> Time {
        let fitting = self.rtt().zip(self.packets_max).map(|(rtt, packets)| rtt / packets);
        self.last.nominal + self.gap(self.last.len).max(fitting.unwrap_or_default())
    }

    /// Has a higher rate show at once: one that was low for a moment holds nothing back any longer.
    fn hasten(&mut self) {
        if self.last.len > 0 {
            self.next_at = self.next_at.min(self.following());
        }
    }

    /// RFC 5348 section 4.3.
    pub fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        let is_first_rtt = self.rtt.is_none();
        self.measure(feedback.rtt);
        let is_data_limited = self.was_data_limited(now, feedback);
        let old_loss_event_rate = self.loss_event_rate;
        self.loss_event_rate = feedback.loss_event_rate;
        let receive_rate = self.plausible(feedback.receive_rate) * self.counted();
        if is_data_limited {
            if feedback.is_new_loss || feedback.loss_event_rate > old_loss_event_rate {
                self.receive_rates.iter_mut().for_each(|(_, rate)| *rate /= 2.0);
                self.maximize_receive_rates(now, 0.85 * receive_rate);
                self.receive_limit = self.receive_rate_max();
            } else {
                self.maximize_receive_rates(now, receive_rate);
                self.receive_limit = 2.0 * self.receive_rate_max();
            }
        } else {
            self.update_receive_rates(now, receive_rate);
            self.receive_limit = 2.0 * self.receive_rate_max();
        }
        self.restart_faster(now, receive_rate, feedback.is_new_loss);
        if is_first_rtt {
            // RFC 5348 section 4.2: "For responding to the initial feedback packet, this replaces
            // step (4) of Section 4.3".
            self.begin(now);
        }
        if !is_first_rtt || self.loss_event_rate > 0.0 {
            self.recalculate(now);
        }
        self.had_feedback = true;
        self.restart_nofeedback(now);
        self.hasten();
    }

    /// A receiver that is slow, or has dropped data, limits the rate to this one for a round-trip
    /// time: X_drop of RFC 4342 section 5.2.
    pub fn limit(&mut self, now: Time, rate: f64) {
        let rate = rate * self.counted();
        self.receive_rates = vec![(now, rate / 2.0)];
        self.receive_limit = rate;
        self.recalculate(now);
        self.rate = self.rate.min(rate.max(self.least()));
        self.hasten();
    }

    /// When the nofeedback timer expires.
    #[must_use]
    pub const fn nofeedback_at(&self) -> Option<Time> {
        self.nofeedback_at
    }

    /// Does what is due: RFC 5348 section 4.4.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.nofeedback_at.is_none_or(|at| at > now) {
            return;
        }
        let size = self.size(None);
        let receive_rate = self.receive_rate_max();
        let p = self.loss_event_rate;
        let is_fast = self.config.faster_restart.is_some();
        let recover_rate = if is_fast { 2.0 } else { 1.0 } * self.initial_rate();
        let halved = (self.rate / 2.0).max(self.least());
        match self.rtt {
            // "We do not have X_Bps or recover_rate yet. Halve the allowed sending rate."
            None if !self.was_idle => self.rate = halved,
            None => {}
            // "Don't halve the allowed sending rate."
            Some(_)
                if self.was_idle
                    && (p > 0.0 && receive_rate < recover_rate
                        || p == 0.0 && self.rate < 2.0 * recover_rate) => {}
            Some(_) if p == 0.0 => self.rate = halved,
            Some(rtt) => {
                let equation = size * packets_per_round_trip(p) / rtt.mean;
                let limit =
                    if equation > 2.0 * receive_rate { receive_rate } else { equation / 2.0 };
                // Update_Limits.
                self.receive_rates = vec![(now, limit.max(self.least()) / 2.0)];
                self.receive_limit = 2.0 * self.receive_rate_max();
                self.recalculate(now);
            }
        }
        self.restart_nofeedback(now);
        self.hasten();
    }

    /// The first round-trip time is known.
    fn begin(&mut self, now: Time) {
        self.rate = self.initial_rate();
        self.doubled_at = Some(now);
        self.hasten();
    }

    /// RFC 5348 section 4.2: "initial_rate = W_init/R; W_init = min(4*MSS, max(2*MSS, 4380))."
    fn initial_rate(&self) -> f64 {
        let size = self.size(None);
        let window = match self.config.first_rate {
            FirstRate::Window => (4.0 * size).min((2.0 * size).max(4_380.0)),
            FirstRate::Packet => size,
        };
        self.rtt.map_or(size, |rtt| window / rtt.mean)
    }

    /// "The term s/t_mbi limits the backoff to one packet every 64 seconds."
    fn least(&self) -> f64 {
        self.size(None) / BACKOFF_MAX
    }

    /// s, of a packet with `len` bytes if each counts by itself.
    fn size(&self, len: Option<usize>) -> f64 {
        match (self.config.packet_size, len) {
            (PacketSize::Actual, Some(len)) => len as f64,
            (PacketSize::Mean | PacketSize::Actual, _) => self.mean_size,
            (PacketSize::Maximum, _) => self.config.packet_size_max as f64,
        }
    }

    /// What a byte of data counts as in X and X_recv.
    ///
    /// RFC 4342 section 5.3, where s is the MSS: "Each packet transmitted then counts as one MSS,
    /// regardless of the actual segment size". A receiver reports what came in bytes of data.
    fn counted(&self) -> f64 {
        match self.config.packet_size {
            PacketSize::Mean | PacketSize::Actual => 1.0,
            PacketSize::Maximum => self.size(None) / self.mean_size,
        }
    }

    /// Step (4) of RFC 5348 section 4.3.
    fn recalculate(&mut self, now: Time) {
        let Some(rtt) = self.rtt else { return };
        if self.loss_event_rate > 0.0 {
            self.rate = self.equation_rate(rtt, self.size(None));
            return;
        }
        // Initial slow-start.
        if self.doubled_at.is_none_or(|at| now - at >= rtt.span) {
            let factor = if self.rate < self.fast_max_at(now) { 4.0 } else { 2.0 };
            self.rate = (factor * self.rate).min(self.receive_limit).max(self.initial_rate());
            self.doubled_at = Some(now);
        }
    }

    /// "X = max(min(X_Bps, recv_limit), s/t_mbi)".
    fn equation_rate(&self, rtt: Rtt, size: f64) -> f64 {
        let equation = size * packets_per_round_trip(self.loss_event_rate) / rtt.mean;
        equation.min(self.receive_limit).max(size / BACKOFF_MAX)
    }

    /// RFC 5348 section 4.5: "X_inst = X * R_sqmean / sqrt(R_sample)".
    fn instantaneous(&self, rate: f64, size: f64) -> f64 {
        match self.rtt {
            Some(rtt) if self.config.oscillation_reduction => {
                (rate * rtt.root_mean / rtt.root_last).max(size / BACKOFF_MAX)
            }
            _ => rate,
        }
    }

    /// t_ipi: how long after a packet with `len` bytes the next one may go.
    fn gap(&self, len: usize) -> Duration {
        let size = self.size(Some(len));
        let rate = match (self.config.packet_size, self.rtt) {
            (PacketSize::Actual, Some(rtt)) if self.loss_event_rate > 0.0 => {
                self.equation_rate(rtt, size)
            }
            _ => self.rate,
        };
        let bytes = match self.config.packet_size {
            PacketSize::Mean | PacketSize::Actual => len as f64,
            PacketSize::Maximum => size,
        };
        Duration::from_secs_f64((bytes / self.instantaneous(rate, size)).min(BACKOFF_MAX))
    }

    /// What a receiver may have got, if it says that it got so much. RFC 5348 section 10 expects "a
    /// greedy receiver that wishes to receive more than its fair share of network bandwidth".
    ///
    /// What arrived was sent; a queue may let go at once what came to it in twice the time. So
    /// whatever reports say, X is at most four times what was sent in one of the last round trips.
    fn plausible(&self, receive_rate: f64) -> f64 {
        let sent = self.sent.greatest(self.rtt().unwrap_or(FIRST_NOFEEDBACK));
        receive_rate.min(2.0 * sent.max(self.initial_rate() / self.counted()))
    }

    fn measure(&mut self, sample: Duration) {
        let last = sample.as_secs_f64().max(1e-6);
        let root_last = last.sqrt();
        let (mean, root_mean) = match self.rtt.filter(|_| self.had_feedback) {
            None => (last, root_last),
            Some(Rtt { mean, root_mean, .. }) => (
                FILTER * mean + (1.0 - FILTER) * last,
                FILTER * root_mean + (1.0 - FILTER) * root_last,
            ),
        };
        self.rtt = Some(Rtt { span: Duration::from_secs_f64(mean), mean, root_mean, root_last });
    }

    /// Has `recv_limit` be what a faster restart allows, if that is more.
    fn restart_faster(&mut self, now: Time, rate: f64, is_new_loss: bool) {
        if self.config.faster_restart.is_none() {
            return;
        }
        if is_new_loss {
            self.fast_max = (now, rate);
            return;
        }
        if rate > self.fast_max_at(now) {
            self.fast_max = (now, rate);
        }
        let fast = (4.0 * self.receive_rate_max()).min(self.fast_max_at(now));
        self.receive_limit = self.receive_limit.max(fast);
    }

    /// X_fast_max, less what it has lost by now.
    fn fast_max_at(&self, now: Time) -> f64 {
        let Some(half_life) = self.config.faster_restart else { return 0.0 };
        let (at, rate) = self.fast_max;
        let half_lives = (now - at).as_secs_f64() / half_life.as_secs_f64().max(1e-3);
        rate * 0.5_f64.powf(half_lives)
    }

    fn receive_rate_max(&self) -> f64 {
        self.receive_rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }

    /// RFC 5348 section 4.3: "The procedure for maximizing X_recv_set keeps a single value, the
    /// largest value from X_recv_set and the new X_recv."
    fn maximize_receive_rates(&mut self, now: Time, receive_rate: f64) {
        let known = self.receive_rates.iter().map(|(_, rate)| *rate);
        let largest = known.filter(|rate| rate.is_finite()).fold(receive_rate, f64::max);
        self.receive_rates = vec![(now, largest)];
    }

    /// RFC 5348 section 4.3: "Delete from X_recv_set values older than two round-trip times."
    fn update_receive_rates(&mut self, now: Time, receive_rate: f64) {
        let age_max = self.rtt().unwrap_or_default() * 2;
        self.receive_rates.retain(|(at, _)| now - *at <= age_max);
        self.receive_rates.push((now, receive_rate));
        let surplus = self.receive_rates.len().saturating_sub(RECEIVE_RATES_MAX);
        self.receive_rates.drain(..surplus);
    }

    /// "RTO = max(4*R, 2*s/X)".
    fn nofeedback_interval(&self) -> Duration {
        let Some(rtt) = self.rtt else { return FIRST_NOFEEDBACK };
        Duration::from_secs_f64((4.0 * rtt.mean).max(2.0 * self.size(None) / self.rate))
    }

    fn restart_nofeedback(&mut self, now: Time) {
        let interval = match self.rtt {
            Some(_) => self.nofeedback_interval(),
            None => Duration::from_secs_f64((2.0 * self.size(None) / self.rate).max(2.0)),
        };
        self.nofeedback_at = Some(now + interval);
        self.was_idle = true;
    }

    /// RFC 5348 section 8.2.1: "Sender is not data-limited at this instant."
    fn note_not_limited(&mut self, now: Time) {
        if self.not_limited[0] <= self.answered {
            self.not_limited[0] = now;
        } else if self.not_limited[1] <= self.answer_next {
            self.not_limited[1] = now;
        }
    }

    /// RFC 5348 section 8.2.1: "determining if the sender was data-limited over the entire interval
    /// covered in a feedback packet".
    fn was_data_limited(&mut self, now: Time, feedback: &Feedback) -> bool {
        let new = feedback.answered;
        let old = new.saturating_sub(self.rtt().unwrap_or_default());
        self.answered = new;
        self.answer_next = now;
        let is_within = |at: Time| old < at && at <= new;
        let was_limited = !self.not_limited.into_iter().any(is_within);
        if self.not_limited[0] <= new && self.not_limited[1] > new {
            self.not_limited[0] = self.not_limited[1];
        }
        // RFC 5348 section 4.3: "If the feedback packet reports a receive rate X_recv of zero
        // (i.e., the first feedback packet), the sender does not consider that the entire interval
        // covered by the feedback packet was a data-limited interval."
        was_limited && feedback.receive_rate > 0.0
    }
}

/// How fast data were sent in each of the last round-trip times.
#[derive(Debug)]
struct SentRates {
    /// When the present one began, and bytes since then.
    since: Time,
    bytes: f64,
    /// Bytes per second, the oldest first.
    rates: [f64; SENT_RATES],
}

impl SentRates {
    const fn new(now: Time) -> Self {
        Self { since: now, bytes: 0.0, rates: [0.0; SENT_RATES] }
    }

    fn on_sent(&mut self, now: Time, period: Duration, len: f64) {
        let passed = now - self.since;
        if passed >= period {
            self.rates.rotate_left(1);
            self.rates[SENT_RATES - 1] = self.bytes / passed.as_secs_f64().max(1e-6);
            (self.since, self.bytes) = (now, 0.0);
        }
        self.bytes += len;
    }

    fn greatest(&self, period: Duration) -> f64 {
        let present = self.bytes / period.as_secs_f64().max(1e-6);
        self.rates.into_iter().fold(present, f64::max)
    }
}

#[cfg(test)]
mod tests;
