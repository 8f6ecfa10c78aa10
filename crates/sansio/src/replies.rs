//! [`Replies`]: answers to packets that belong to nobody.

use std::collections::VecDeque;

use crate::{FourTuple, Time};

/// Answers to packets that belong to no association or connection: a bounded queue behind a token
/// bucket of one second's worth. Each costs no state, and their rate is limited, so that forged
/// packets are not reflected in bulk.
#[derive(Debug)]
pub struct Replies {
    waiting: VecDeque<(FourTuple, Vec<u8>)>,
    waiting_max: usize,
    per_second: u32,
    tokens: f64,
    filled_at: Time,
}

impl Replies {
    /// At most `per_second` of them in the mean, of which at most `waiting_max` wait to be sent.
    #[must_use]
    pub fn new(per_second: u32, waiting_max: usize) -> Self {
        let tokens = f64::from(per_second);
        let waiting = VecDeque::new();
        Self { waiting, waiting_max, per_second, tokens, filled_at: Time::ZERO }
    }

    /// Whether the rate and the queue allow an answer.
    pub fn has_room(&mut self, now: Time) -> bool {
        let elapsed = now.saturating_since(self.filled_at);
        self.filled_at = self.filled_at.max(now);
        let limit = f64::from(self.per_second);
        self.tokens = (self.tokens + limit * elapsed.as_secs_f64()).min(limit);
        self.tokens >= 1.0 && self.waiting.len() < self.waiting_max
    }

    /// Adds an answer; false if there is no room for it.
    pub fn push(&mut self, now: Time, path: FourTuple, packet: Vec<u8>) -> bool {
        let has_room = self.has_room(now);
        if has_room {
            self.tokens -= 1.0;
            self.waiting.push_back((path, packet));
        }
        has_room
    }

    /// The next answer.
    pub fn pop(&mut self) -> Option<(FourTuple, Vec<u8>)> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn path() -> FourTuple {
        FourTuple::new(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into())
    }

    #[test]
    fn answers_are_limited_per_second() {
        let mut replies = Replies::new(100, 128);
        let push = |replies: &mut Replies, ms| {
            let now = Time::ZERO + Duration::from_millis(ms);
            let taken = (0..1_000).filter(|_| replies.push(now, path(), vec![0])).count();
            while replies.pop().is_some() {}
            taken
        };
        assert_eq!(push(&mut replies, 0), 100);
        assert_eq!(push(&mut replies, 0), 0);
        assert_eq!(push(&mut replies, 500), 50);
        assert_eq!(push(&mut replies, 100_000), 100, "no more than a second's");
    }

    #[test]
    fn as_many_wait_as_may() {
        let mut replies = Replies::new(1_000, 64);
        let taken = (0..500).filter(|_| replies.push(Time::ZERO, path(), Vec::new())).count();
        assert_eq!(taken, 64);
        while replies.pop().is_some() {}
        assert!(replies.push(Time::ZERO, path(), Vec::new()));
    }
}
