//! [`Resets`]: answers to packets that belong to no connection.

use std::collections::VecDeque;

use anabranch_sansio::{FourTuple, Time};

/// Answers that wait to be sent.
const WAITING_MAX: usize = 64;

/// Answers to packets that belong to no connection: Resets, and Responses with a cookie.
///
/// RFC 4340 section 8.1.3: "The server SHOULD limit the rate at which it generates these resets;
/// for example, to not more than 1024 per second."
#[derive(Debug)]
pub(super) struct Resets {
    waiting: VecDeque<(FourTuple, Vec<u8>)>,
    per_second: u32,
    tokens: f64,
    filled_at: Time,
}

impl Resets {
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
        let path = FourTuple::new(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into());
        let mut resets = Resets::new(10);
        let mut now = Time::from_secs(1);
        assert_eq!((0..50).filter(|_| resets.push(now, path, Vec::new())).count(), 10);
        now += Duration::from_millis(500);
        assert_eq!((0..50).filter(|_| resets.push(now, path, Vec::new())).count(), 5);
        let mut resets = Resets::new(1_000);
        assert_eq!((0..500).filter(|_| resets.push(now, path, Vec::new())).count(), WAITING_MAX);
        while resets.pop().is_some() {}
        assert!(resets.push(now, path, Vec::new()));
    }
}
