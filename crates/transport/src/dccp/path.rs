//! [`Path`]: one pair of addresses, over which several DCCP connections may run.

use std::time::Duration;

use anabranch_dccp::Width;
use anabranch_sansio::{FourTuple, PathId, Time};

use crate::{PathReport, PathState};

/// How long an acknowledgement waits for more to acknowledge.
pub(super) const ACK_DELAY: Duration = Duration::from_millis(10);

/// A path on which nothing else was sent for so long is asked whether it answers.
const KEEPALIVE: Duration = Duration::from_secs(1);

/// How long a path that is silent may stay so before it is opened anew.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// So many datagrams in a row are not lost by chance.
const ASKED_ENOUGH: u32 = 4;

/// The time for an answer before any was measured.
const TIMEOUT_INITIAL: Duration = Duration::from_millis(500);

/// What may come on top of a measured round trip.
const TIMEOUT_SLACK: Duration = Duration::from_millis(20);

/// The shortest time that datagrams may overtake each other by.
const REORDERING_MIN: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) struct Path {
    pub(super) tuple: FourTuple,
    /// How often it was opened anew.
    pub(super) generation: u32,
    pub(super) state: PathState,
    rtt: Option<(Duration, Duration)>,
    /// Since when an answer is waited for.
    waiting_since: Option<Time>,
    /// Datagrams that ask for one, since the last one came.
    asked: u32,
    /// When it was opened, or last answered.
    pub(super) answered_at: Time,
    /// When something was last sent that asks for an answer.
    pub(super) asked_at: Time,
    /// When what has arrived is acknowledged, if there is something.
    pub(super) ack_due: Option<Time>,
    /// How many of its connections take data, where that is chosen as they go.
    pub(super) width: Width,
    /// How many the peer would have.
    pub(super) peer_wants: usize,
    /// When the peer is told again how many we would have.
    pub(super) want_at: Time,
    /// The number of the last connection that takes data.
    pub(super) last_used: u32,
    pub(super) counters: Counters,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    pub(super) packets_sent: u64,
    pub(super) bytes_sent: u64,
    pub(super) packets_received: u64,
    pub(super) bytes_received: u64,
    pub(super) chunks_sent: u64,
    pub(super) chunks_again: u64,
    pub(super) chunks_copied: u64,
    pub(super) chunks_lost: u64,
    pub(super) loss_events: u64,
    pub(super) timeouts: u64,
}

impl Path {
    pub(super) fn new(now: Time, tuple: FourTuple) -> Self {
        Self {
            tuple,
            generation: 0,
            state: PathState::Unconfirmed,
            rtt: None,
            waiting_since: None,
            asked: 0,
            answered_at: now,
            asked_at: now,
            ack_due: None,
            width: Width::new(now),
            peer_wants: 0,
            want_at: now,
            last_used: u32::MAX,
            counters: Counters::default(),
        }
    }

    /// Something was sent that is to be answered.
    pub(super) fn on_asked(&mut self, now: Time) {
        self.waiting_since.get_or_insert(now);
        self.asked += 1;
        self.asked_at = now;
    }

    /// Something that we sent was answered; `is_waiting`: there is more under way.
    pub(super) fn on_answer(&mut self, now: Time, sample: Option<Duration>, is_waiting: bool) {
        if let Some(sample) = sample {
            self.measure(sample);
        }
        self.answered_at = now;
        self.asked = 0;
        self.waiting_since = is_waiting.then_some(now);
    }

    /// It begins anew, with nothing under way.
    pub(super) fn reopen(&mut self, now: Time) {
        self.generation += 1;
        (self.width, self.peer_wants) = (Width::new(now), 0);
        (self.asked, self.waiting_since) = (0, None);
        (self.answered_at, self.asked_at) = (now, now);
    }

    /// RFC 6298 section 2.
    fn measure(&mut self, sample: Duration) {
        self.rtt = Some(match self.rtt {
            None => (sample, sample / 2),
            Some((mean, variation)) => {
                let difference = mean.abs_diff(sample);
                ((mean * 7 + sample) / 8, (variation * 3 + difference) / 4)
            }
        });
    }

    pub(super) fn srtt(&self) -> Option<Duration> {
        self.rtt.map(|(mean, _)| mean)
    }

    /// How long an answer may take.
    pub(super) fn timeout(&self) -> Duration {
        let Some((mean, variation)) = self.rtt else { return TIMEOUT_INITIAL };
        mean + (variation * 4).max(ACK_DELAY) + ACK_DELAY + TIMEOUT_SLACK
    }

    /// How long after another one a datagram may arrive that was sent before it.
    pub(super) fn reordering(&self) -> Duration {
        self.srtt().map_or(TIMEOUT_INITIAL, |srtt| srtt / 4).max(REORDERING_MIN)
    }

    /// When it is silent, if it goes on like this. That one datagram is lost, or its answer, is no
    /// silence: where few were sent, another one goes first.
    pub(super) fn silent_at(&self) -> Option<Time> {
        let since = self.waiting_since.filter(|_| self.state == PathState::Active)?;
        let timeouts = if self.asked >= ASKED_ENOUGH { 1 } else { 2 };
        Some(since + self.timeout() * timeouts)
    }

    /// When it is asked next whether it answers.
    pub(super) fn ping_at(&self) -> Time {
        let waits_for_few = self.waiting_since.is_some() && self.asked < ASKED_ENOUGH;
        match self.state == PathState::Active && !waits_for_few {
            true => self.asked_at + KEEPALIVE,
            false => self.asked_at + self.timeout(),
        }
    }

    /// When it has been silent for too long.
    pub(super) fn reopen_at(&self) -> Option<Time> {
        let patience = match self.rtt {
            Some((mean, _)) => SILENCE_MAX.max(mean * 3),
            None => SILENCE_MAX * 3,
        };
        (self.state != PathState::Active).then(|| self.answered_at + patience)
    }

    pub(super) fn report(&self, id: u16) -> PathReport {
        let counters = &self.counters;
        PathReport {
            state: self.state,
            srtt: self.rtt.map(|(mean, _)| mean),
            rttvar: self.rtt.map(|(_, variation)| variation),
            rto: self.timeout(),
            packets_sent: counters.packets_sent,
            bytes_sent: counters.bytes_sent,
            packets_received: counters.packets_received,
            bytes_received: counters.bytes_received,
            chunks_sent: counters.chunks_sent,
            chunks_retransmitted: counters.chunks_again,
            chunks_copied: counters.chunks_copied,
            chunks_lost: counters.chunks_lost,
            chunks_lost_in_error: 0,
            timeouts: counters.timeouts,
            is_primary: false,
            is_current: false,
            ..PathReport::new(PathId(id.into()), self.tuple)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> Path {
        let tuple = FourTuple::new(([192, 0, 2, 1], 1).into(), ([192, 0, 2, 2], 2).into());
        Path { state: PathState::Active, ..Path::new(Time::ZERO, tuple) }
    }

    #[test]
    fn a_path_is_silent_a_round_trip_and_its_variation_after_a_question() {
        let mut path = path();
        for n in 0..20 {
            path.on_asked(Time::from_millis(100 * n));
            let at = Time::from_millis(100 * n + 50);
            path.on_answer(at, Some(Duration::from_millis(50)), false);
        }
        assert_eq!(path.silent_at(), None, "nothing is asked");
        path.on_asked(Time::from_secs(9));
        assert_eq!(path.ping_at(), Time::from_secs(9) + path.timeout());
        assert_eq!(path.silent_at(), Some(Time::from_secs(9) + path.timeout() * 2));
        for _ in 1..ASKED_ENOUGH {
            path.on_asked(Time::from_millis(9_010));
        }
        assert_eq!(path.silent_at(), Some(Time::from_secs(9) + path.timeout()));
        assert!(path.timeout() < Duration::from_millis(100), "{:?}", path.timeout());
    }

    #[test]
    fn what_is_still_under_way_is_waited_for_from_the_last_answer_on() {
        let mut path = path();
        path.on_asked(Time::ZERO);
        path.on_answer(Time::from_millis(400), None, true);
        assert_eq!(path.silent_at(), Some(Time::from_millis(1_400)));
    }
}
