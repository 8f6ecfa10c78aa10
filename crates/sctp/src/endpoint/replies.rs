//! [`Replies`]: answers to packets that belong to no association. Each costs no state, and their
//! rate is limited, so that forged packets are not reflected in bulk.

use std::collections::VecDeque;

use anabranch_sansio::{FourTuple, Time};

/// Answers that may wait to be sent.
const WAITING_MAX: usize = 128;

/// A bounded queue of packets behind a token bucket of one second's worth.
#[derive(Debug)]
pub(super) struct Replies {
    waiting: VecDeque<(FourTuple, Vec<u8>)>,
    per_second: u32,
    tokens: f64,
    filled_at: Time,
}

impl Replies {
    pub(super) fn new(per_second: u32) -> Self {
        let tokens = f64::from(per_second);
        Self { waiting: VecDeque::new(), per_second, tokens, filled_at: Time::ZERO }
    }

    /// Adds an answer; false if the rate or the queue does not allow it.
    pub(super) fn push(&mut self, now: Time, path: FourTuple, packet: Vec<u8>) -> bool {
        let elapsed = now - self.filled_at;
        self.filled_at = self.filled_at.max(now);
        let limit = f64::from(self.per_second);
        self.tokens = (self.tokens + limit * elapsed.as_secs_f64()).min(limit);
        if self.tokens < 1.0 || self.waiting.len() >= WAITING_MAX {
            return false;
        }
        self.tokens -= 1.0;
        self.waiting.push_back((path, packet));
        true
    }

    pub(super) fn pop(&mut self) -> Option<(FourTuple, Vec<u8>)> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn answers_are_limited_per_second_and_in_number() {
        let path = FourTuple::new("10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap());
        let mut replies = Replies::new(100);
        let push = |replies: &mut Replies, now| {
            let taken = (0..1_000).filter(|_| replies.push(now, path, vec![0])).count();
            while replies.pop().is_some() {}
            taken
        };
        assert_eq!(push(&mut replies, Time::ZERO), 100);
        assert_eq!(push(&mut replies, Time::ZERO), 0);
        assert_eq!(push(&mut replies, Time::ZERO + Duration::from_millis(500)), 50);
        assert_eq!(
            push(&mut replies, Time::ZERO + Duration::from_secs(100)),
            100,
            "no more than a second's"
        );
        let mut replies = Replies::new(1_000);
        let taken = (0..1_000).filter(|_| replies.push(Time::ZERO, path, vec![0])).count();
        assert_eq!(taken, WAITING_MAX);
    }
}
