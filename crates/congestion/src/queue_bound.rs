//! [`QueueBound`]: a window that keeps the queues in the network short.

mod answers;
mod delivery;

use std::time::Duration;

use anabranch_sansio::{Rate, Time};

use crate::{Ack, CongestionController, ControllerMetrics, LostChunk, RateSample, SentData};
use answers::Answers;
use delivery::Delivery;

/// How long a lowest round-trip time is believed in, half of it at least.
const BASE_LIFE: Duration = Duration::from_secs(20);

/// Packets that may be in flight however long they wait: one to be on its way, one to be answered.
const PACKETS_MIN: usize = 2;

/// After so long in which heartbeats alone tell how long packets take, they count as data does.
/// Until then they may be what a link held back that stood still.
const HEARTBEATS_ALONE: Duration = Duration::from_secs(1);

/// Answers may stay away for so much longer than the lowest round trip, or for the bound if that is
/// more, before less goes out: most bursts of losses are shorter.
const PATIENCE_MIN: Duration = Duration::from_millis(150);

/// Another controller, and a ceiling on its window while packets wait in the network for longer
/// than they should.
///
/// A controller that goes by losses fills the queue in front of the bottleneck before it learns of
/// any. What waits there is served in turn, whatever its priority and its lifetime; what waits at
/// the sender can be overtaken and given up. So a delay beyond the bound lowers the ceiling to what
/// would have stayed within it, once per round trip, and a shorter one lifts it again.
///
/// A path that stands still has no queue of ours, and must get none: while answers stay away, what
/// is sent would wait in turn once it goes on. So data trickles out, more and more slowly, and
/// waits here instead; and when answers come again, no more is in flight than the path carried
/// before, until something that was sent since tells how long packets take.
///
/// The queuing delay is that of RFC 6817 (LEDBAT): a round-trip time less the lowest one lately.
/// Two things keep that base true: while the ceiling holds, the queue is drained once per half of
/// `BASE_LIFE`; and what is still measured at the smallest window is no queue of ours, but a
/// longer way or the queue of others, and becomes the base.
#[derive(Debug)]
pub struct QueueBound {
    inner: Box<dyn CongestionController>,
    bound: Duration,
    /// What the source sends at most, if that is known.
    rate_max: Option<Rate>,
    pmdcs: usize,
    base: Base,
    ceiling: Option<usize>,
    /// When the ceiling was lowered last; until `settled_at`, samples tell of what was sent under
    /// the one before.
    lowered_at: Time,
    settled_at: Time,
    /// Since when all packets have waited for more than half of the bound.
    queued_since: Option<Time>,
    /// Since when heartbeats have, and nothing else told how long packets take.
    answers_late_since: Option<Time>,
    silence: Option<Silence>,
    answers: Answers,
    delivery: Delivery,
    /// Bytes acknowledged since the ceiling was last lifted.
    partial_bytes_acked: usize,
}

/// A timeout passed, and no answer since tells whether a queue was its reason.
#[derive(Debug)]
struct Silence {
    ceiling_before: Option<usize>,
}

impl QueueBound {
    /// Bounds the queuing delay of what `inner` sends.
    #[must_use]
    pub fn new(inner: Box<dyn CongestionController>, bound: Duration, pmdcs: usize) -> Self {
        Self {
            inner,
            bound,
            rate_max: None,
            pmdcs,
            base: Base::default(),
            ceiling: None,
            lowered_at: Time::ZERO,
            settled_at: Time::ZERO,
            queued_since: None,
            answers_late_since: None,
            silence: None,
            answers: Answers::default(),
            delivery: Delivery::default(),
            partial_bytes_acked: 0,
        }
    }

    /// The same for a source that never sends faster than `rate_max`, and whose data is worth
    /// nothing once it is late, as that of a call.
    ///
    /// It is paced at that rate, so that what another path left behind makes no queue on this one.
    /// What it has in flight is bounded before a queue shows, to what that rate sends in a round
    /// trip with half of the bound's queue: no more has to drain where the link's rate falls. And a
    /// timeout counts as a queue as long as nothing else is known: next to nothing goes out until
    /// there is an answer. If that came without delay, the path had stood still, and the window is
    /// the one of before.
    #[must_use]
    pub const fn for_rate(mut self, rate_max: Rate) -> Self {
        self.rate_max = Some(rate_max);
        self
    }

    /// What a source that sends at its highest rate has in flight while packets wait for half of
    /// the bound.
    fn needed(&self) -> usize {
        match (self.rate_max, self.base.halves) {
            (Some(rate), Some(_)) => {
                let bytes = rate.bytes_in(self.base.lowest().saturating_add(self.bound / 2));
                usize::try_from(bytes).unwrap_or(usize::MAX).max(self.floor())
            }
            _ => usize::MAX,
        }
    }

    /// A round trip with as much of a queue as there may be.
    fn longest(&self) -> Duration {
        self.base.lowest().saturating_add(self.bound)
    }

    fn is_beyond_bound(&self, rtt: Duration) -> bool {
        rtt > self.longest()
    }

    /// The first answer after a timeout of which it is known how long it took.
    fn end_silence(&mut self, rtt: Duration) {
        if let Some(Silence { ceiling_before }) = self.silence.take()
            && !self.is_beyond_bound(rtt)
        {
            self.ceiling = ceiling_before;
        }
    }

    fn on_rtt(&mut self, ack: &Ack, rtt: Duration) {
        if self.base.on_sample(ack.now, rtt) && self.ceiling.is_some() {
            return self.lower(ack.now, ack.flight_before, rtt, Duration::ZERO);
        }
        self.end_silence(rtt);
        self.answers_late_since = None;
        let is_queued = rtt > self.base.lowest().saturating_add(self.bound / 2);
        let since = is_queued.then(|| self.queued_since.unwrap_or(ack.now));
        self.queued_since = since;
        if !self.is_beyond_bound(rtt) {
            return;
        }
        if ack.now < self.settled_at {
            return self.lower_further(ack);
        }
        if self.may_be_jitter(ack.now) {
            return;
        }
        let in_flight = ack.sample.map_or(0, |sample| sample.in_flight).max(ack.flight_before);
        if in_flight <= self.floor() {
            self.base = Base::of(ack.now, rtt);
        } else {
            self.lower(ack.now, ack.flight_before, rtt, self.bound);
        }
    }

    /// Whether no packet waited half as long a round trip ago: a link that stands still for a
    /// moment and then brings all at once has no queue that lasts. Where a source's highest rate is
    /// known, there is no time to find that out.
    fn may_be_jitter(&self, now: Time) -> bool {
        let lasts = self.queued_since.is_some_and(|since| now >= since + self.base.lowest());
        self.rate_max.is_none() && !lasts
    }

    /// Lets in flight what would have waited for `queuing` only.
    fn lower(&mut self, now: Time, in_flight: usize, rtt: Duration, queuing: Duration) {
        let share = (self.base.lowest() + queuing).as_secs_f64() / rtt.as_secs_f64();
        let fitting = (in_flight as f64 * share.min(1.0)) as usize;
        self.ceiling = Some(fitting.max(self.carried(now, queuing)));
        (self.lowered_at, self.settled_at) = (now, now + rtt);
        self.partial_bytes_acked = 0;
    }

    /// What was sent before the ceiling was lowered shows all the same how long what was in flight
    /// then took.
    fn lower_further(&mut self, ack: &Ack) {
        if let (Some(ceiling), Some(fitting)) = (self.ceiling, self.fitting(ack)) {
            self.ceiling = Some(ceiling.min(fitting.max(self.carried(ack.now, self.bound))));
        }
    }

    /// Lifts a ceiling that is in the way: as in slow start while the queue is short, but no
    /// further than would let packets wait for the bound; and by a packet per window when it is
    /// not.
    fn lift(&mut self, ack: &Ack) {
        let Some(ceiling) = self.ceiling else { return };
        if ack.flight_before + self.pmdcs <= ceiling || ack.now < self.settled_at {
            return;
        }
        self.partial_bytes_acked += ack.acked;
        let latest = self.base.latest.saturating_sub(self.base.lowest());
        let lifted = if latest < self.bound / 2 {
            let room =
                self.fitting(ack).map_or(usize::MAX, |fitting| fitting.saturating_sub(ceiling));
            std::mem::take(&mut self.partial_bytes_acked).min(room)
        } else if self.partial_bytes_acked >= ceiling {
            self.partial_bytes_acked -= ceiling;
            self.pmdcs
        } else {
            0
        };
        let ceiling = ceiling + lifted;
        self.ceiling = (ceiling < self.inner.metrics().window).then_some(ceiling);
    }

    /// What may be in flight for packets to wait for the bound: so much as was there when the
    /// newest chunk was sent took its round trip.
    fn fitting(&self, ack: &Ack) -> Option<usize> {
        let sample = ack.sample?;
        let share = self.longest().as_secs_f64() / sample.rtt?.as_secs_f64();
        Some((sample.in_flight as f64 * share) as usize)
    }

    /// What the path has carried lately in a round trip with that much of a queue, and no less than
    /// the floor: a link that stands still for a moment, again and again, has a queue each time,
    /// and carries as much. Where a source's highest rate is known, there is no time to find out.
    fn carried(&self, now: Time, queuing: Duration) -> usize {
        match self.rate_max {
            Some(_) => self.floor(),
            None => self.delivery.in_span(now, self.base.lowest() + queuing).max(self.floor()),
        }
    }

    const fn floor(&self) -> usize {
        PACKETS_MIN * self.pmdcs
    }

    /// The window at most.
    fn ceiling(&self) -> usize {
        let ceiling = self.ceiling.unwrap_or(usize::MAX);
        self.answers.window(self.floor()).map_or(ceiling, |window| ceiling.min(window))
    }

    /// Whether a path that stands still is told from one with a queue: where a source's highest
    /// rate is known, next to nothing goes out in either case.
    const fn tells_standstills(&self) -> bool {
        self.base.halves.is_some() && self.rate_max.is_none()
    }

    /// Answers stay away.
    fn stop(&mut self, now: Time) {
        let round_trip = self.longest();
        let Self { answers, delivery, .. } = self;
        answers.stop(now, |since| delivery.in_span(since, round_trip));
    }

    /// How fast data goes out while answers stay away.
    fn trickle(&self) -> Option<Rate> {
        let bytes = self.answers.trickle(self.patience())?.max(self.floor());
        Some(Rate::of(bytes as u64, self.longest()))
    }

    /// How long answers may stay away.
    fn patience(&self) -> Duration {
        self.base.lowest().saturating_add(self.bound.max(PATIENCE_MIN))
    }

    /// The same acknowledgement, without how long what it acknowledges took, if that was sent
    /// before the path stood still.
    fn without_standstill(&mut self, ack: &Ack) -> Ack {
        let Some(rtt) = ack.sample.map_or(ack.rtt, |sample| sample.rtt) else { return *ack };
        if self.answers.takes(ack.now, rtt) {
            return *ack;
        }
        let sample = ack.sample.map(|sample| RateSample { rtt: None, ..sample });
        Ack { rtt: None, sample, ..*ack }
    }
}

impl CongestionController for QueueBound {
    fn window(&self) -> usize {
        self.inner.window().min(self.needed()).min(self.ceiling())
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let (pace, most) = (self.inner.pacing_rate(), self.rate_max);
        pace.into_iter().chain(most).chain(self.trickle()).min()
    }

    fn bandwidth(&self) -> Option<Rate> {
        self.inner.bandwidth()
    }

    fn on_sent(&mut self, sent: &SentData) {
        self.inner.on_sent(sent);
        let (least, patience) = (self.floor(), self.patience());
        if self.tells_standstills() && self.answers.on_sent(sent, least, patience) {
            self.stop(sent.now);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.answers.on_answer(ack.now, ack.acked, ack.flight, self.floor());
        self.delivery.on_ack(ack);
        let ack = &self.without_standstill(ack);
        self.inner.on_ack(ack);
        // The newest chunk's round trip: that of an older one counts the SACKs that were lost.
        if let Some(rtt) = ack.sample.map_or(ack.rtt, |sample| sample.rtt) {
            self.on_rtt(ack, rtt);
        }
        self.lift(ack);
    }

    fn on_loss(&mut self, now: Time) {
        self.inner.on_loss(now);
    }

    fn on_timeout(&mut self, now: Time) {
        self.inner.on_timeout(now);
        // What has next to nothing to answer proves nothing by a timeout.
        if self.tells_standstills() && self.answers.awaits_more_than(self.floor()) {
            self.stop(now);
        }
        if self.rate_max.is_some() {
            self.silence.get_or_insert(Silence { ceiling_before: self.ceiling });
            self.ceiling = Some(self.floor());
            self.settled_at = now;
            self.partial_bytes_acked = 0;
        }
    }

    fn on_chunk_lost(&mut self, now: Time, lost: &LostChunk) {
        self.inner.on_chunk_lost(now, lost);
    }

    fn undo_loss(&mut self, now: Time) {
        self.inner.undo_loss(now);
    }

    /// Data that is given up before it is answered, or repeated, measures nothing: where the queue
    /// is as long as that, heartbeats alone tell.
    fn on_heartbeat(&mut self, now: Time, rtt: Duration, in_flight: usize) {
        self.answers.on_answer(now, 0, in_flight, self.floor());
        self.inner.on_heartbeat(now, rtt, in_flight);
        self.end_silence(rtt);
        if self.base.halves.is_none() || !self.is_beyond_bound(rtt) {
            self.answers_late_since = None;
            return;
        }
        let since = *self.answers_late_since.get_or_insert(now);
        let is_lasting = now >= since + HEARTBEATS_ALONE;
        if is_lasting && in_flight > self.floor() && now >= self.lowered_at + rtt {
            self.lower(now, in_flight, rtt, self.bound);
        }
    }

    fn on_idle(&mut self, periods: u32) {
        self.inner.on_idle(periods);
    }

    fn on_mtu(&mut self, pmdcs: usize) {
        self.pmdcs = pmdcs;
        self.inner.on_mtu(pmdcs);
    }

    fn metrics(&self) -> ControllerMetrics {
        let inner = self.inner.metrics();
        let ceiling = self.ceiling().min(self.needed());
        if ceiling >= inner.window {
            return inner;
        }
        ControllerMetrics { window: ceiling, slow_start: false, ..inner }
    }
}

/// The lowest round-trip time of the current half of [`BASE_LIFE`] and of the one before.
#[derive(Debug, Default)]
struct Base {
    halves: Option<(Duration, Duration)>,
    began: Time,
    latest: Duration,
}

impl Base {
    fn of(now: Time, rtt: Duration) -> Self {
        Self { halves: Some((rtt, rtt)), began: now, latest: rtt }
    }

    /// Takes a sample; true if a new half began.
    fn on_sample(&mut self, now: Time, rtt: Duration) -> bool {
        self.latest = rtt;
        let Some((current, before)) = self.halves else {
            *self = Self::of(now, rtt);
            return false;
        };
        let is_over = now >= self.began + BASE_LIFE / 2;
        if is_over {
            self.began = now;
        }
        self.halves = Some(if is_over { (rtt, current) } else { (current.min(rtt), before) });
        is_over
    }

    fn lowest(&self) -> Duration {
        self.halves.map_or(Duration::ZERO, |(current, before)| current.min(before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FixedWindow, Rfc9260, testing};

    const PMDCS: usize = 1_000;
    const WINDOW: usize = 40_000;

    /// A window of 40 packets over a link that sends a packet in 10 ms and answers after 50 ms
    /// more, and what it measures of it.
    struct Link {
        controller: QueueBound,
        now: Time,
        /// Delay of the way, milliseconds.
        way: u64,
    }

    impl Link {
        fn new() -> Self {
            let inner = Box::new(FixedWindow::new(WINDOW));
            let bound = Duration::from_millis(50);
            Self { controller: QueueBound::new(inner, bound, PMDCS), now: Time::ZERO, way: 50 }
        }

        /// Fills the window for some round trips, each packet with its sample; returns the longest
        /// queuing delay of the last one.
        fn fill(&mut self, round_trips: usize) -> Duration {
            (0..round_trips).map(|_| self.round_trip(usize::MAX)).last().unwrap()
        }

        fn round_trip(&mut self, demand: usize) -> Duration {
            let flight = self.controller.window().min(demand);
            let sending = Duration::from_millis((flight / 100) as u64);
            let rtt = sending.max(Duration::from_millis(self.way + 10));
            let packets = (flight / PMDCS).max(1);
            for _ in 0..packets {
                self.now += rtt / packets as u32;
                let ack = testing::ack(self.now, PMDCS, flight);
                self.controller.on_ack(&Ack { rtt: Some(rtt), ..ack });
            }
            rtt - Duration::from_millis(self.way + 10)
        }
    }

    #[test]
    fn a_queue_beyond_the_bound_lowers_the_window_to_what_fits() {
        let mut link = Link::new();
        link.round_trip(PMDCS);
        assert_eq!(link.controller.window(), WINDOW);
        assert_eq!(link.fill(1), Duration::from_millis(340));
        link.fill(2);
        for round_trip in 3..2_000 {
            let queuing = link.fill(1);
            assert!(queuing <= Duration::from_millis(80), "{round_trip}: {queuing:?}");
        }
        assert!(link.now > Time::from_secs(100), "the base has lived many times");
        let window = link.controller.metrics().window;
        assert!((6_000..13_000).contains(&window), "still in use: {window}");
    }

    #[test]
    fn a_short_queue_lets_the_other_controller_decide() {
        let mut link = Link::new();
        link.round_trip(PMDCS);
        link.way = 140;
        link.round_trip(5 * PMDCS);
        assert!(link.controller.window() < WINDOW, "a spike of 80 ms");
        link.way = 50;
        let before = link.controller.window();
        // The demand stays below the bound, and is what the ceiling is measured by.
        for _ in 0..10 {
            link.round_trip(5 * PMDCS);
        }
        assert!(link.controller.window() > before);
        assert!(link.controller.window() >= 5 * PMDCS, "never in the way for long");
    }

    #[test]
    fn a_ceiling_rises_no_further_than_would_let_packets_wait_for_the_bound() {
        let mut link = Link::new();
        link.round_trip(PMDCS);
        link.fill(3);
        let held = link.controller.window();
        // Ten packets were in flight and took 70 ms: in 110 ms there is room for fifteen.
        let rtt = Duration::from_millis(70);
        for _ in 0..100 {
            link.now += Duration::from_millis(10);
            let ack = testing::ack_with_rtt(link.now, 0, 10 * PMDCS, rtt);
            link.controller.on_ack(&Ack { flight_before: WINDOW, ..ack });
        }
        let window = link.controller.window();
        assert!(held < window && window <= 16 * PMDCS, "{held}, then {window}");
    }

    #[test]
    fn a_way_that_became_longer_is_no_queue() {
        let mut link = Link::new();
        link.round_trip(PMDCS);
        link.way = 250;
        link.fill(20);
        assert!(link.controller.window() > 5 * PMDCS, "{}", link.controller.window());
        let base = link.controller.base.lowest();
        assert!(base >= Duration::from_millis(250), "{base:?}");
    }

    /// One more SACK of a chunk that was sent while so much was in flight and took so long; the
    /// window then.
    fn ack(link: &mut Link, in_flight: usize, rtt_ms: u64) -> usize {
        link.now += Duration::from_millis(10);
        let rtt = Duration::from_millis(rtt_ms);
        let ack = testing::ack_with_rtt(link.now, 0, in_flight, rtt);
        link.controller.on_ack(&Ack { flight_before: link.controller.window(), ..ack });
        link.controller.window()
    }

    #[test]
    fn regression_a_link_that_stood_still_for_a_moment_lowered_the_ceiling() {
        let mut link = Link::new();
        link.round_trip(PMDCS);
        for _ in 0..20 {
            // What waited for 50 ms comes at once, and what follows has no queue.
            for waited in [190, 180, 170, 160, 60] {
                assert_eq!(ack(&mut link, WINDOW, waited), WINDOW);
            }
        }
        let lasting = (0..7).map(|_| ack(&mut link, WINDOW, 160)).last();
        assert!(lasting < Some(WINDOW), "a whole round trip of it is a queue");
    }

    #[test]
    fn regression_data_given_up_before_its_answer_left_a_long_queue_unknown() {
        let mut link = Link::new();
        link.round_trip(PMDCS);
        let answer = |link: &mut Link, rtt_ms: u64| {
            link.now += Duration::from_millis(400);
            let rtt = Duration::from_millis(rtt_ms);
            link.controller.on_heartbeat(link.now, rtt, WINDOW);
            link.controller.window()
        };
        // Answers that a link held back while it stood still say nothing.
        assert_eq!([1_700, 1_300, 900, 70].map(|rtt| answer(&mut link, rtt)), [WINDOW; 4]);
        let windows = [3_000; 4].map(|rtt| answer(&mut link, rtt));
        assert_eq!(windows[..3], [WINDOW; 3]);
        assert!(windows[3] < WINDOW / 10, "{windows:?}");
        assert_eq!(answer(&mut link, 5_000), windows[3], "it was sent before");
    }

    /// SACKs for a round trip, of which the last one lowers the ceiling.
    fn lower(link: &mut Link, rtt_ms: u64) -> usize {
        (0..7).map(|_| ack(link, WINDOW, rtt_ms)).last().unwrap()
    }

    #[test]
    fn regression_a_ceiling_fell_no_further_while_its_queue_grew() {
        let mut link = Link::new();
        link.round_trip(PMDCS);
        let lowered = lower(&mut link, 200);
        let further = ack(&mut link, WINDOW, 800);
        assert!(further < lowered / 3, "{lowered}, then {further}");
        assert_eq!(ack(&mut link, WINDOW, 400), further, "it was shorter before");
    }

    #[test]
    fn regression_a_queue_of_ours_became_the_way_when_a_timeout_forgot_what_was_in_flight() {
        let mut link = Link::new();
        link.round_trip(PMDCS);
        let rtt = Duration::from_millis(500);
        let ack = testing::ack_with_rtt(link.now, 0, WINDOW, rtt);
        link.controller.on_ack(&Ack { flight_before: PMDCS, ..ack });
        assert!(link.controller.base.lowest() < Duration::from_millis(100));
    }

    /// A source of 1 Mbit/s over the same link: it needs 60 ms of that, and half of 50.
    fn for_rate() -> Link {
        let mut link = Link::new();
        link.controller = link.controller.for_rate(Rate::mbps(1));
        link.round_trip(PMDCS);
        link
    }

    #[test]
    fn of_what_sends_at_a_known_rate_no_more_is_in_flight_than_its_queue_may_hold() {
        let link = for_rate();
        assert_eq!(link.controller.pacing_rate(), Some(Rate::mbps(1)));
        assert_eq!(link.controller.window(), 125 * 85);
        assert_eq!(link.controller.metrics().window, 125 * 85);
    }

    #[test]
    fn after_a_timeout_next_to_nothing_goes_out_until_there_is_an_answer_without_delay() {
        let mut link = for_rate();
        let before = link.controller.window();
        link.controller.on_timeout(link.now);
        link.controller.on_timeout(link.now);
        assert_eq!(link.controller.window(), 2 * PMDCS);
        link.controller.on_heartbeat(link.now, Duration::from_millis(70), 0);
        assert_eq!(link.controller.window(), before, "the path had stood still");

        link.controller.on_timeout(link.now);
        link.controller.on_heartbeat(link.now, Duration::from_millis(900), 0);
        assert_eq!(link.controller.window(), 2 * PMDCS, "a queue was longer than the timeout");
        let later = ack(&mut link, PMDCS, 65);
        assert!(later < before, "{later}: it rises step by step");
    }

    /// Sends a packet each 10 ms that nobody answers, from the window's flight on.
    fn send_unanswered(link: &mut Link, packets: usize) {
        for _ in 0..packets {
            link.now += Duration::from_millis(10);
            let is_app_limited = false;
            let sent = SentData { now: link.now, bytes: PMDCS, flight: PMDCS, is_app_limited };
            link.controller.on_sent(&sent);
        }
    }

    /// A path that delivered 100,000 bytes a second.
    fn carrying() -> Link {
        let mut link = Link::new();
        for delivered in 1..=60 {
            link.now += Duration::from_millis(10);
            let rtt = Duration::from_millis(60);
            let delivered = delivered * PMDCS as u64;
            let ack = testing::ack_with_rtt(link.now, delivered, 6 * PMDCS, rtt);
            link.controller.on_ack(&ack);
        }
        link
    }

    #[test]
    fn regression_all_that_was_sent_into_a_standstill_waited_in_the_network_when_it_was_over() {
        let mut link = carrying();
        send_unanswered(&mut link, 20);
        assert_eq!(link.controller.pacing_rate(), None, "not for long");
        send_unanswered(&mut link, 24);
        let pace = |link: &Link| link.controller.pacing_rate().unwrap().as_bps();
        assert!((320_000..440_000).contains(&pace(&link)), "{}: a half", pace(&link));
        send_unanswered(&mut link, 300);
        assert!(pace(&link) < 160_000, "{}", pace(&link));
    }

    #[test]
    fn regression_what_waited_while_a_path_stood_still_looked_like_a_queue_later() {
        let mut link = carrying();
        send_unanswered(&mut link, 200);
        let answer = |link: &mut Link, rtt_ms: u64| {
            link.now += Duration::from_millis(5);
            let rtt = Duration::from_millis(rtt_ms);
            let ack = testing::ack_with_rtt(link.now, 60_000, 6 * PMDCS, rtt);
            link.controller.on_ack(&ack);
            link.controller.window()
        };
        let began = link.now;
        let windows: Vec<_> = [2_000; 11].map(|rtt| answer(&mut link, rtt)).into();
        assert_eq!(link.controller.pacing_rate(), None);
        assert!((8_000..=11_000).contains(&windows[0]), "{windows:?}: what it carried in 110 ms");
        let acked = windows.len() * PMDCS;
        assert_eq!(windows.last(), Some(&(acked + 2 * PMDCS)), "and then as in slow start");
        link.now = began + Duration::from_millis(70);
        assert_eq!(answer(&mut link, 60), WINDOW, "it had stood still");
    }

    #[test]
    fn regression_a_link_that_stands_still_again_and_again_was_given_a_fraction_of_what_it_carries()
    {
        let mut link = carrying();
        let mut delivered = 60 * PMDCS as u64;
        let mut lowest = WINDOW;
        for _ in 0..50 {
            // Nothing for 100 ms, and then ten packets in 70.
            link.now += Duration::from_millis(30);
            for waited in 0..10 {
                link.now += Duration::from_millis(7);
                delivered += PMDCS as u64;
                let rtt = Duration::from_millis(180 - 3 * waited);
                let ack = testing::ack_with_rtt(link.now, delivered, 10 * PMDCS, rtt);
                link.controller.on_ack(&ack);
                lowest = lowest.min(link.controller.window());
            }
        }
        assert!(lowest >= 9_000, "{lowest} of the 11,000 that it carries in a round trip");
    }

    #[test]
    fn losses_are_the_other_controllers_matter() {
        let inner = Box::new(Rfc9260::new(PMDCS));
        let mut controller = QueueBound::new(inner, Duration::from_millis(50), PMDCS);
        controller.on_timeout(Time::ZERO);
        assert_eq!((controller.window(), controller.metrics().window), (1, PMDCS));
    }
}
