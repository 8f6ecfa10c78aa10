//! The default for media: BBR's model, which distinguishes random loss from congestion.

use std::time::Duration;

use anabranch_sansio::{Rate, Rng, Time};

use crate::bbr::{Bbr, Parameters, State};
use crate::{Ack, CongestionController, ControllerMetrics, LostChunk, RateSample, SentData};

/// How much longer than the lowest round trip one may be without a queue: radio links and delayed
/// SACKs take that much, and a queue that a loss-based flow fills holds several times more.
const INFLATION: (f64, Duration) = (0.25, Duration::from_millis(5));

/// A round trip this much above the lowest one renews it: the queue is empty although the window
/// was not cut, so that a picture need not wait for ProbeRTT.
const MIN_RTT_TOLERANCE: f64 = 17.0 / 16.0;

/// A queue is there for a round trip where all its samples tell of one, and there are so many: one
/// alone, as of the first data after a pause, tells of an end that was busy as well.
const QUEUE_SAMPLES_MIN: u32 = 3;

/// A burst of losses this long leaves the window open for what follows it.
const PATIENCE: Duration = Duration::from_millis(100);

/// Data in flight, in packets, below which the delay of a SACK looks like one of the path.
const FLIGHT_MIN: usize = 4;

/// A path on which nothing speaks for congestion for so long is tried out anew, if its source has a
/// rate of its own, and no queue has shown that the path carries no more.
const CALM: Duration = Duration::from_millis(700);

/// A live source that the model has held up for so long, without any queue, probes for bandwidth at
/// once: what it tried so far was its own rate, and the draft would wait for up to three seconds.
/// Where that brought nothing, as losses of a burst end a probe, the next one waits for twice as
/// long.
const HELD_UP: Duration = Duration::from_millis(250);

/// A queue shows what the path carries, as long as the model does not let this much less through.
const SLUMP: f64 = 0.7;

/// What each round trip leaves of those before in the estimate of the background.
const BACKGROUND_DECAY: f64 = 7.0 / 8.0;

/// Packets that the estimate of the background takes at least.
const BACKGROUND_PACKETS_MIN: usize = 100;

/// The share of a round trip that is lost with all its copies and opens the circuit breaker, and
/// the one that closes it.
const BREAKER: (f64, f64) = (0.2, 0.1);

/// Round trips in a row with that much loss.
const BREAKER_ROUNDS: u32 = 3;

/// BBR for links that lose packets without being full.
///
/// BBR's draft cuts its rate when more than 2 % of a round trip's data is lost, wherever that
/// happened: a radio link at 5 % carries a fraction of what it could. Here a loss counts as
/// congestion only where rate or delay speak for it:
///
/// - While the round trip is near its lowest and no more is sent than the path delivers, there is
///   no queue that could overflow. Losses are then the path's *background*: they are averaged, and
///   the model never hears of them. The pace makes up for them: what arrives is the model's rate.
/// - While the round trip is longer, or bandwidth is probed by sending more than the path delivers,
///   the model hears of what exceeds the background by more than chance would have it. From there
///   on it does as the draft says; a loss-based flow on the same bottleneck, which keeps its queue
///   long, gets its share.
/// - A circuit breaker: when a fifth of the data is lost in each of three round trips, every loss
///   counts until fewer than a tenth are. No link is worth that much repetition, and no estimate is
///   to be trusted then. What a second copy makes up for is not repeated and does not count here:
///   media sent over two paths at once is still whole where either loses a third.
///
/// What comes at a rate of its own, as live media does, starts at it: where there is a rate to
/// start at, the window holds that much from the first packet on, and Startup ends only when a
/// queue lasts for a round trip or the circuit breaker speaks for a full path, since a rate that
/// grows no more is the source's. A timeout that had little to answer, as that of a control message
/// on an idle path, says nothing about the path; any other one halves what may go out until there
/// is an answer.
///
/// Such a source is slowed down by no mistake for long: where nothing speaks for congestion, and
/// the model lets less through than there was when a queue was seen last, by its rate or by a bound
/// that losses left behind, the path is tried out anew after less than a second, from that rate.
///
/// The round trip is that of the path without queues for longer than in the draft: it is renewed
/// whenever the queue empties by itself, instead of by cutting the window twice in ten seconds.
///
/// Known limits: beyond 20 % of random loss goodput falls further than by what is lost. A queue
/// shorter than the threshold of the round trip (5 ms, or a quarter of it) is seen by its losses
/// only while bandwidth is probed. Where the delay varies by more than that without a queue, losses
/// count as in BBR.
#[derive(Debug)]
pub struct Media {
    model: Bbr,
    judge: Judge,
    /// Whether the source has a rate of its own.
    is_live: bool,
    /// Since when nothing speaks for congestion.
    calm_since: Option<Time>,
    /// Since when the model holds the source up.
    held_up_since: Option<Time>,
    /// For how long the model may do so before bandwidth is probed for that.
    patience: Duration,
    /// The model's rate when there was a queue last; 0 if there was none.
    full_at: f64,
}

impl Media {
    /// A controller for a path whose DATA chunks have at most `pmdcs` bytes, and which may begin at
    /// `start_rate`.
    #[must_use]
    pub fn new(pmdcs: usize, start_rate: Option<Rate>, rng: Rng) -> Self {
        let parameters = Parameters {
            min_rtt_tolerance: MIN_RTT_TOLERANCE,
            start_rate: start_rate.map_or(0.0, |rate| rate.as_bps() as f64 / 8.0),
            patience: PATIENCE,
            forgives_timeouts: true,
        };
        Self {
            model: Bbr::with_parameters(pmdcs, rng, parameters),
            judge: Judge::new(pmdcs),
            is_live: start_rate.is_some(),
            calm_since: None,
            held_up_since: None,
            patience: HELD_UP,
            full_at: 0.0,
        }
    }

    /// The model's rate in bytes per second; 0 before it has one.
    fn rate(&self) -> f64 {
        self.model.bandwidth().map_or(0.0, |rate| rate.as_bps() as f64 / 8.0)
    }

    /// What the model lets through: its rate, or what the bounds that losses left allow in a round
    /// trip. A window of half of what the path holds is half of its rate, whatever the model knows.
    fn let_through(&self) -> f64 {
        let bounded = self.model.lowest_rtt().map_or(f64::INFINITY, |rtt| {
            self.model.inflight_bound() as f64 / rtt.as_secs_f64().max(1e-6)
        });
        self.rate().min(bounded)
    }

    /// Ends Startup by what the judge says, or begins it again.
    fn follow_judge(&mut self, now: Time) {
        let is_queued = std::mem::take(&mut self.judge.was_queued);
        if is_queued {
            self.model.end_startup();
            self.full_at = self.rate();
        }
        if is_queued || self.judge.is_open || !self.model.is_pipe_full() {
            self.calm_since = None;
        }
        let since = *self.calm_since.get_or_insert(now);
        let is_slump = self.full_at == 0.0 || self.let_through() < SLUMP * self.full_at;
        if self.is_live && is_slump && self.model.is_pipe_full() && now - since >= CALM {
            self.model.begin_anew();
        }
    }

    /// Probes for bandwidth where a source waits for nothing but the model; less and less often,
    /// until it had what it wanted, as a path that carries no more is not asked again and again.
    fn follow_source(&mut self, now: Time, is_app_limited: bool) {
        if is_app_limited {
            self.held_up_since = None;
            self.patience = HELD_UP;
            return;
        }
        let since = *self.held_up_since.get_or_insert(now);
        let is_calm = self.calm_since.is_some_and(|calm| now - calm.max(since) >= self.patience);
        if self.is_live && is_calm && self.model.probe_now() {
            self.held_up_since = Some(now);
            self.patience = self.patience.saturating_mul(2);
        }
    }

    /// What goes out for one byte that arrives, as far as the path loses without congestion.
    fn repetition(&self) -> f64 {
        let lost = if self.judge.is_open { 0.0 } else { self.judge.background().min(BREAKER.0) };
        1.0 / (1.0 - lost)
    }
}

/// Decides which losses the model hears of.
#[derive(Debug)]
struct Judge {
    smss: usize,
    /// Bytes sent, and lost, in the last round trips without congestion.
    sent: f64,
    lost: f64,
    /// Whether the last round trip was longer than one without a queue.
    is_inflated: bool,
    /// How many of the round trip's samples tell of a queue, as far as all do.
    queued_samples: Option<u32>,
    /// Whether the last round trip's told of one.
    was_queued: bool,
    /// What was sent while bandwidth was probed is judged until this is delivered.
    probed_until: u64,
    /// What must be delivered for the round trip to end.
    round_end: u64,
    round_begin: u64,
    lost_in_round: u64,
    /// Of these, what has to be sent again.
    missing_in_round: u64,
    /// Whether rate and delay spoke for congestion at some time of the round trip.
    is_suspicious_round: bool,
    heavy_rounds: u32,
    is_open: bool,
}

impl Judge {
    const fn new(smss: usize) -> Self {
        Self {
            smss,
            sent: 0.0,
            lost: 0.0,
            is_inflated: false,
            queued_samples: Some(0),
            was_queued: false,
            probed_until: 0,
            round_end: 0,
            round_begin: 0,
            lost_in_round: 0,
            missing_in_round: 0,
            is_suspicious_round: false,
            heavy_rounds: 0,
            is_open: false,
        }
    }

    /// A SACK came while the model was in `state` and knew this lowest round trip.
    fn on_ack(&mut self, ack: &Ack, sample: &RateSample, state: State, lowest: Option<Duration>) {
        let is_telling = sample.in_flight >= FLIGHT_MIN * self.smss;
        if let (Some(rtt), Some(lowest), true) = (sample.rtt, lowest, is_telling) {
            let (share, least) = INFLATION;
            self.is_inflated = rtt > lowest + lowest.mul_f64(share).max(least);
            let queued = self.queued_samples.filter(|_| self.is_inflated);
            self.queued_samples = queued.map(|count| count + 1);
        }
        if state == State::Up {
            self.probed_until = ack.delivered + ack.flight as u64;
        }
        self.is_suspicious_round |= self.is_suspicious(ack.delivered);
        if sample.prior_delivered >= self.round_end {
            self.end_round(ack);
        }
    }

    /// Whether rate or delay speak for congestion.
    const fn is_suspicious(&self, delivered: u64) -> bool {
        self.is_inflated || delivered < self.probed_until
    }

    fn end_round(&mut self, ack: &Ack) {
        let delivered = ack.delivered - self.round_begin;
        let sent = (self.lost_in_round + delivered).max(1) as f64;
        let missing = self.missing_in_round as f64 / sent;
        if !self.is_suspicious_round && !self.is_open {
            self.sent = self.sent * BACKGROUND_DECAY + sent;
            self.lost = self.lost * BACKGROUND_DECAY + self.lost_in_round as f64;
        }
        self.heavy_rounds = if missing > BREAKER.0 { self.heavy_rounds + 1 } else { 0 };
        self.is_open = match self.is_open {
            false => self.heavy_rounds >= BREAKER_ROUNDS,
            true => missing > BREAKER.1,
        };
        let queued = self.queued_samples.replace(0);
        self.was_queued = queued.is_some_and(|count| count >= QUEUE_SAMPLES_MIN);
        self.round_begin = ack.delivered;
        self.round_end = ack.delivered;
        self.lost_in_round = 0;
        self.missing_in_round = 0;
        self.is_suspicious_round = false;
    }

    /// The share of data that is lost without congestion: the less was sent, the less is said.
    fn background(&self) -> f64 {
        self.lost / self.sent.max((BACKGROUND_PACKETS_MIN * self.smss) as f64)
    }

    /// What the model hears of `lost` bytes out of a flight.
    fn congestive(&self, lost: u64, in_flight: usize, delivered: u64) -> u64 {
        if self.is_open {
            return lost;
        }
        if !self.is_suspicious(delivered) {
            return 0;
        }
        lost.saturating_sub(self.expected(in_flight))
    }

    /// What the background takes of a flight, with four standard deviations of it: a false alarm
    /// costs a cycle of seconds, an overflowing queue loses many times more.
    fn expected(&self, in_flight: usize) -> u64 {
        let mean = self.background() * in_flight as f64;
        (mean + 4.0 * (mean * self.smss as f64).sqrt()) as u64
    }
}

impl CongestionController for Media {
    fn window(&self) -> usize {
        self.model.window()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let pace = |rate: Rate| Rate::bps((rate.as_bps() as f64 * self.repetition()) as u64);
        self.model.pacing_rate().map(pace)
    }

    fn bandwidth(&self) -> Option<Rate> {
        self.model.bandwidth()
    }

    fn on_sent(&mut self, sent: &SentData) {
        self.model.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let mut ack = *ack;
        if let Some(mut sample) = ack.sample {
            self.judge.on_ack(&ack, &sample, self.model.state(), self.model.lowest_rtt());
            sample.lost = self.judge.congestive(sample.lost, sample.in_flight, ack.delivered);
            ack.sample = Some(sample);
            self.model.set_below_capacity(!self.judge.is_inflated && !self.judge.is_open);
            self.follow_judge(ack.now);
            self.follow_source(ack.now, sample.is_app_limited);
        }
        self.model.on_ack(&ack);
    }

    fn on_loss(&mut self, now: Time) {
        self.model.on_loss(now);
    }

    /// Nothing came back for a whole timeout: that is no background.
    fn on_timeout(&mut self, now: Time) {
        self.model.on_timeout(now);
        self.calm_since = None;
    }

    fn on_chunk_lost(&mut self, now: Time, lost: &LostChunk) {
        let judge = &mut self.judge;
        judge.lost_in_round += lost.size as u64;
        if !lost.is_covered {
            judge.missing_in_round += lost.size as u64;
        }
        let congestive = judge.congestive(lost.lost_since_sent, lost.in_flight, lost.delivered);
        if congestive > 0 {
            self.model.on_chunk_lost(now, &LostChunk { lost_since_sent: congestive, ..*lost });
        }
    }

    fn undo_loss(&mut self, now: Time) {
        self.model.undo_loss(now);
    }

    fn on_idle(&mut self, periods: u32) {
        self.model.on_idle(periods);
    }

    fn on_mtu(&mut self, pmdcs: usize) {
        self.model.on_mtu(pmdcs);
        self.judge.smss = pmdcs;
    }

    fn metrics(&self) -> ControllerMetrics {
        self.model.metrics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::{Pipe, SMSS};

    impl Media {
        /// In bytes per second.
        fn pace(&self) -> f64 {
            self.pacing_rate().map_or(0.0, |rate| rate.as_bps() as f64 / 8.0)
        }
    }

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    /// Four chunks a millisecond, 50 ms, after ten seconds with this loss.
    fn pipe(loss_every: u64) -> Pipe<Media> {
        let mut pipe = Pipe::new(Media::new(SMSS, None, Rng::from_u64(1)), 4.0, 50);
        pipe.loss_every = loss_every;
        pipe.run_for(secs(10));
        pipe
    }

    /// The share of the link that is delivered in ten seconds.
    fn share<C: CongestionController>(pipe: &mut Pipe<C>) -> f64 {
        let before = pipe.delivered;
        pipe.run_for(secs(10));
        (pipe.delivered - before) as f64 / 10.0 / pipe.rate
    }

    #[test]
    fn loss_that_delay_does_not_explain_costs_no_more_than_itself() {
        for (loss_every, least) in [(100, 0.975), (20, 0.935), (10, 0.885)] {
            let media = share(&mut pipe(loss_every));
            assert!(media > least, "{media} with every {loss_every}th chunk lost");
        }
        let mut bbr = Pipe::new(Bbr::new(SMSS, Rng::from_u64(1)), 4.0, 50);
        bbr.loss_every = 20;
        bbr.run_for(secs(10));
        assert!(share(&mut bbr) < 0.8, "what the draft makes of 5 %");
    }

    #[test]
    fn the_background_is_learnt_where_the_queue_is_empty() {
        let background = pipe(20).controller.judge.background();
        assert!((0.04..0.06).contains(&background), "{background}");
    }

    #[test]
    fn the_background_is_known_after_a_few_round_trips() {
        let mut pipe = live(Some(Rate::mbps(30)));
        pipe.loss_every = 20;
        pipe.run_for(secs(1));
        let background = pipe.controller.judge.background();
        assert!((0.045..0.055).contains(&background), "{background}");
    }

    #[test]
    fn a_round_trip_of_a_few_packets_is_no_background() {
        let mut judge = Judge::new(SMSS);
        judge.lost_in_round = 2 * SMSS as u64;
        judge.end_round(&crate::testing::ack(Time::from_secs(1), SMSS, SMSS));
        let background = judge.background();
        assert!(background < 0.03, "{background}");
    }

    #[test]
    fn with_a_long_queue_what_exceeds_the_background_counts() {
        let mut judge = Judge::new(SMSS);
        (judge.sent, judge.lost) = (1e6, 0.05e6);
        let flight = 200 * SMSS;
        assert_eq!(judge.congestive(60_000, flight, 0), 0, "no queue");
        judge.is_inflated = true;
        assert_eq!(
            judge.congestive(15_000, flight, 0),
            0,
            "5 % of 200, and less than four deviations"
        );
        // 10 chunks, and 4 * sqrt(10)
        assert_eq!(judge.congestive(60_000, flight, 0), 60_000 - 22_649);
    }

    #[test]
    fn what_was_sent_while_probing_counts_without_a_queue_too() {
        let mut judge = Judge::new(SMSS);
        judge.probed_until = 5_000;
        assert_eq!(judge.congestive(1_000, 10_000, 4_999), 1_000);
        assert_eq!(judge.congestive(1_000, 10_000, 5_000), 0);
    }

    #[test]
    fn three_round_trips_of_heavy_loss_open_the_breaker_and_a_light_one_closes_it() {
        let mut pipe = pipe(0);
        pipe.loss_every = 4;
        pipe.run_for(Duration::from_millis(100));
        assert!(!pipe.controller.judge.is_open);
        pipe.run_until(secs(2), |pipe| pipe.controller.judge.is_open);
        pipe.run_for(secs(1));
        let pace = pipe.controller.pace();
        assert!(pace < 0.7 * pipe.rate, "{pace} of {}", pipe.rate);
        pipe.loss_every = 0;
        pipe.run_until(secs(2), |pipe| !pipe.controller.judge.is_open);
    }

    #[test]
    fn what_a_second_copy_makes_up_for_opens_no_breaker() {
        let mut pipe = pipe(0);
        pipe.loss_every = 3;
        pipe.is_covered = true;
        pipe.run_for(secs(5));
        assert!(!pipe.controller.judge.is_open);
        pipe.is_covered = false;
        pipe.run_until(secs(2), |pipe| pipe.controller.judge.is_open);
    }

    /// A path of 20 Mbit/s and 100 ms, and a source of half of it.
    fn live(start_rate: Option<Rate>) -> Pipe<Media> {
        let controller = Media::new(SMSS, start_rate, Rng::from_u64(1));
        let mut pipe = Pipe::new(controller, 2.5, 100);
        pipe.app_rate = pipe.rate / 2.0;
        pipe
    }

    #[test]
    fn a_source_with_a_rate_of_its_own_is_sent_at_it_from_the_first_packet_on() {
        let sent_in_first_round = |start_rate| {
            let mut pipe = live(start_rate);
            pipe.run_for(Duration::from_millis(100));
            pipe.flight as f64 / (pipe.app_rate * 0.1)
        };
        assert!(sent_in_first_round(Some(Rate::mbps(30))) > 0.98);
        assert!(sent_in_first_round(None) < 0.2, "slow start from the initial window");
    }

    #[test]
    fn a_narrow_link_ends_the_start_by_its_queue() {
        let mut pipe = live(Some(Rate::mbps(30)));
        pipe.app_rate = f64::INFINITY;
        pipe.run_until(secs(2), |pipe| pipe.controller.model.state() != State::Startup);
        let share = share(&mut pipe);
        assert!(share > 0.94, "{share}");
    }

    #[test]
    fn a_rate_that_does_not_grow_ends_no_start_without_a_queue() {
        let mut pipe = live(Some(Rate::mbps(30)));
        pipe.loss_every = 8;
        pipe.run_for(secs(10));
        assert_eq!(pipe.controller.model.state(), State::Startup);
        assert!(pipe.controller.window() as f64 > 1.5 * pipe.bdp());
    }

    #[test]
    fn a_slump_that_no_queue_explains_ends_within_two_seconds() {
        let mut pipe = live(Some(Rate::mbps(30)));
        pipe.loss_every = 3;
        pipe.run_until(secs(10), |pipe| pipe.controller.pace() < pipe.app_rate);
        pipe.loss_every = 0;
        pipe.run_until(secs(2), |pipe| pipe.controller.pace() > pipe.app_rate);
    }

    /// A link of 8 Mbit/s whose queue the model has met. A source that stood still loses the
    /// beginning of what had gathered while the model probes for more: little was in flight then,
    /// and the bound that this leaves is one of neither a queue nor a link.
    #[test]
    fn regression_a_bound_from_losses_that_outlived_its_reason_ends_within_a_second() {
        let mut pipe = Pipe::new(Media::new(SMSS, Some(Rate::mbps(30)), Rng::from_u64(1)), 1.0, 50);
        pipe.run_for(secs(6));
        pipe.run_until(secs(5), |pipe| pipe.controller.model.state() == State::Up);
        pipe.app_rate = 0.0;
        pipe.run_for(Duration::from_millis(100));
        (pipe.app_rate, pipe.loss_every) = (f64::INFINITY, 2);
        pipe.run_until(secs(1), |pipe| pipe.controller.model.state() != State::Up);
        (pipe.app_rate, pipe.loss_every) = (pipe.rate / 2.0, 0);
        let bound = pipe.controller.model.inflight_bound();
        assert!((bound as f64) < 0.7 * pipe.bdp(), "a slump: {bound}");
        pipe.run_for(secs(1));
        assert!(pipe.controller.window() as f64 > pipe.bdp(), "{:?}", pipe.controller);
    }

    #[test]
    fn what_a_control_message_measures_ends_no_start() {
        let mut judge = Judge::new(SMSS);
        let ack = crate::testing::ack(Time::from_secs(1), SMSS, SMSS);
        let lowest = Some(Duration::from_millis(50));
        judge.on_ack(&ack, &late_sample(SMSS, 0), State::Startup, lowest);
        assert!(!judge.is_inflated && !judge.was_queued, "its SACK was delayed");
        judge.on_ack(&ack, &late_sample(10 * SMSS, 0), State::Startup, lowest);
        assert!(judge.is_inflated);
    }

    /// 12 Mbit/s, 50 ms, 5 % loss and a source of 10. The stall of a busy machine looks like a
    /// queue and ends the start, when nothing but the source's own rate is known, less the losses.
    #[test]
    fn regression_a_source_was_held_for_seconds_to_what_it_had_tried_itself() {
        for seed in 0..20 {
            let media = Media::new(SMSS, Some(Rate::mbps(30)), Rng::from_u64(seed));
            let mut pipe = Pipe::new(media, 1.5, 50);
            (pipe.app_rate, pipe.loss_every) = (1.25e6, 20);
            pipe.run_for(secs(1));
            pipe.controller.model.end_startup();
            pipe.run_for(Duration::from_millis(200));
            assert!(pipe.controller.pace() < pipe.app_rate, "{}", pipe.controller.pace());
            pipe.run_for(HELD_UP + Duration::from_millis(150));
            assert!(pipe.controller.pace() > pipe.app_rate, "{:?}", pipe.controller);
        }
    }

    #[test]
    fn a_source_of_more_than_the_path_carries_is_probed_for_once() {
        let probes = |start_rate| {
            let mut pipe = Pipe::new(Media::new(SMSS, start_rate, Rng::from_u64(1)), 1.0, 50);
            pipe.run_for(secs(3));
            let (mut probes, mut was_up) = (0, false);
            for _ in 0..20_000 {
                pipe.run_for(Duration::from_millis(1));
                let is_up = pipe.controller.model.state() == State::Up;
                probes += u32::from(is_up && !was_up);
                was_up = is_up;
            }
            probes
        };
        let (live, bulk) = (probes(Some(Rate::mbps(30))), probes(None));
        assert!(live <= bulk + 1, "{live} and {bulk}");
    }

    /// A sample of a round trip of 70 ms.
    fn late_sample(in_flight: usize, prior_delivered: u64) -> RateSample {
        RateSample {
            delivered: SMSS as u64,
            prior_delivered,
            send_elapsed: Duration::ZERO,
            ack_elapsed: Duration::from_millis(70),
            is_reliable: true,
            is_app_limited: true,
            in_flight,
            lost: 0,
            rtt: Some(Duration::from_millis(70)),
        }
    }

    #[test]
    fn regression_one_late_answer_ended_the_start_of_a_stream() {
        let lowest = Some(Duration::from_millis(50));
        let was_queued = |samples: u64| {
            let mut judge = Judge::new(SMSS);
            let ack = |delivered| Ack { delivered, ..crate::testing::ack(Time::ZERO, SMSS, SMSS) };
            // The first one ends the round trip before, in which nothing was sent.
            for nth in 1..=samples {
                let prior = if nth == 1 { 0 } else { 999 };
                let sample = late_sample(10 * SMSS, prior);
                judge.on_ack(&ack(1_000 * nth), &sample, State::Startup, lowest);
            }
            let sample = late_sample(10 * SMSS, 1_000);
            judge.on_ack(&ack(50_000), &sample, State::Startup, lowest);
            judge.was_queued
        };
        assert!(!was_queued(1));
        assert!(was_queued(3));
    }

    #[test]
    fn a_timeout_halves_what_may_go_out_until_there_is_an_answer() {
        let mut pipe = live(Some(Rate::mbps(30)));
        pipe.run_for(secs(2));
        let window = pipe.controller.window();
        pipe.controller.on_timeout(pipe.now);
        assert_eq!(pipe.controller.window(), window, "next to nothing is unanswered");
        let now = pipe.now;
        let sent = SentData { now, bytes: 20_000, flight: 0, is_app_limited: true };
        pipe.controller.on_sent(&sent);
        pipe.controller.on_timeout(pipe.now);
        pipe.controller.on_timeout(pipe.now);
        assert_eq!(pipe.controller.window(), window / 4);
        pipe.run_for(Duration::from_millis(10));
        assert!(pipe.controller.window() >= window);
    }
}
