//! [`Answers`]: whether the peer answers, and what may go out while it does not.

use std::time::Duration;

use anabranch_sansio::Time;

use crate::SentData;

/// When the peer answers, if it does.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Bytes that an answer is awaited for.
    awaited: usize,
    /// Since when those are more than a control message would be.
    awaited_since: Option<Time>,
    flow: Flow,
}

/// Whether answers come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// They do.
    #[default]
    Steady,
    /// They have not come for longer than there may be a queue.
    Stopped {
        /// What the path carried before in a round trip with as much of a queue as there may be.
        carried: usize,
        /// How long they have not come.
        lasts: Duration,
    },
    /// They come again, and none is to what was sent since.
    Resumed {
        at: Time,
        carried: usize,
        /// Bytes acknowledged since.
        acked: usize,
    },
}

impl Answers {
    /// A packet goes out. Whether answers to more than `least` bytes have been awaited for longer
    /// than `patience`.
    #[must_use]
    pub(super) fn on_sent(&mut self, sent: &SentData, least: usize, patience: Duration) -> bool {
        if sent.flight == 0 {
            (self.awaited, self.awaited_since) = (0, None);
        }
        self.awaited = self.awaited.saturating_add(sent.bytes);
        if self.awaited <= least {
            return false;
        }
        let since = *self.awaited_since.get_or_insert(sent.now);
        sent.now.saturating_since(since) > patience
    }

    /// Whether answers to more than `least` bytes are awaited.
    pub(super) const fn awaits_more_than(&self, least: usize) -> bool {
        self.awaited > least
    }

    /// Answers stay away; `carried` tells what the path carried before a time.
    pub(super) fn stop(&mut self, now: Time, carried: impl FnOnce(Time) -> usize) {
        let since = self.awaited_since.unwrap_or(now);
        let carried = match self.flow {
            Flow::Stopped { carried, .. } => carried,
            Flow::Steady | Flow::Resumed { .. } => carried(since),
        };
        self.flow = Flow::Stopped { carried, lasts: now.saturating_since(since) };
    }

    /// `acked` bytes are acknowledged, or a heartbeat is; more than `least` bytes in flight await
    /// the next answer.
    pub(super) fn on_answer(&mut self, now: Time, acked: usize, in_flight: usize, least: usize) {
        self.awaited = in_flight;
        self.awaited_since = (in_flight > least).then_some(now);
        match &mut self.flow {
            Flow::Steady => {}
            Flow::Stopped { carried, .. } => {
                self.flow = Flow::Resumed { at: now, carried: *carried, acked };
            }
            Flow::Resumed { acked: before, .. } => *before = before.saturating_add(acked),
        }
    }

    /// Whether what was answered now, `rtt` after it was sent, tells how long packets take. What
    /// was sent before answers came again has waited for that.
    pub(super) fn takes(&mut self, now: Time, rtt: Duration) -> bool {
        match self.flow {
            Flow::Steady => true,
            Flow::Stopped { .. } => false,
            Flow::Resumed { at, .. } => {
                let is_fresh = now.saturating_since(at) >= rtt;
                if is_fresh {
                    self.flow = Flow::Steady;
                }
                is_fresh
            }
        }
    }

    /// What may go out in a round trip, of what the path carried, while answers stay away: the
    /// longer they do, the less. All of it together grows with the logarithm of the time only. With
    /// its square it would not grow beyond `patience`; but answers may be all that is lost, and a
    /// burst of losses comes to its end by what is sent.
    pub(super) fn trickle(&self, patience: Duration) -> Option<usize> {
        let Flow::Stopped { carried, lasts } = self.flow else { return None };
        let share = patience.as_secs_f64() / lasts.max(patience).as_secs_f64().max(1e-6);
        Some((carried as f64 * share) as usize)
    }

    /// What may be in flight until it is known how long packets take again: what the path carried
    /// before, or as in slow start, with what was acknowledged since on top of `least`.
    pub(super) fn window(&self, least: usize) -> Option<usize> {
        let Flow::Resumed { carried, acked, .. } = self.flow else { return None };
        Some(carried.max(least.saturating_add(acked)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(200);
    const LEAST: usize = 2_000;

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    /// Sends 1,000 bytes behind so many; whether answers have been awaited for too long.
    fn sent(answers: &mut Answers, at: u64, flight: usize) -> bool {
        let sent = SentData { now: ms(at), bytes: 1_000, flight, is_app_limited: true };
        answers.on_sent(&sent, LEAST, PATIENCE)
    }

    #[test]
    fn answers_to_a_control_message_may_stay_away() {
        let mut answers = Answers::default();
        assert!(!sent(&mut answers, 0, 0) && !sent(&mut answers, 500, 1_000));
        assert!(!sent(&mut answers, 600, 2_000), "the third packet is more than that");
        assert!(!sent(&mut answers, 800, 3_000) && sent(&mut answers, 801, 4_000));
        assert!(!sent(&mut answers, 900, 0), "nothing is awaited that counts as in flight");
    }

    #[test]
    fn each_answer_renews_the_patience() {
        let mut answers = Answers::default();
        (0..4).for_each(|n| assert!(!sent(&mut answers, 0, 1_000 * n)));
        answers.on_answer(ms(150), 1_000, 3_000, LEAST);
        assert!(!sent(&mut answers, 350, 3_000) && sent(&mut answers, 351, 4_000));
    }

    #[test]
    fn while_answers_stay_away_less_and_less_goes_out() {
        let mut answers = Answers::default();
        (0..3).for_each(|n| assert!(!sent(&mut answers, 0, 1_000 * n)));
        assert_eq!(answers.trickle(PATIENCE), None);
        let at = |answers: &mut Answers, millis| {
            answers.stop(ms(millis), |_| 8_000);
            answers.trickle(PATIENCE)
        };
        assert_eq!(at(&mut answers, 100), Some(8_000));
        assert_eq!(at(&mut answers, 400), Some(4_000));
        assert_eq!(at(&mut answers, 1_600), Some(1_000));
    }

    #[test]
    fn until_something_sent_since_is_answered_no_more_is_in_flight_than_was_carried() {
        let mut answers = Answers::default();
        answers.stop(ms(0), |_| 5_000);
        assert!(!answers.takes(ms(100), Duration::from_millis(50)));
        answers.on_answer(ms(1_000), 1_000, 9_000, LEAST);
        assert!(!answers.takes(ms(1_000), Duration::from_millis(1_000)), "it stood in the queue");
        assert_eq!(answers.window(LEAST), Some(5_000));
        answers.on_answer(ms(1_010), 6_000, 3_000, LEAST);
        assert_eq!(answers.window(LEAST), Some(9_000));
        assert!(answers.takes(ms(1_060), Duration::from_millis(60)));
        assert_eq!(answers.window(LEAST), None);
    }
}
