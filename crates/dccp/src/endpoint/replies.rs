//! [`Replies`]: answers to packets that belong to no connection.

use std::collections::VecDeque;

use anabranch_sansio::{FourTuple, Time};

/// Answers that wait to be sent.
const WAITING_MAX: usize = 64;

/// Answers to packets that belong to no connection, all of one kind: Resets, or Responses with a
/// cookie.
///
/// RFC 4340 section 8.1.3: "The server SHOULD limit the rate at which it generates these resets;
/// for example, to not more than 1024 per second."
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

    /// Whether the rate and the queue allow an answer.
    pub(super) fn has_room(&mut self, now: Time) -> bool {
        let elapsed = now - self.filled_at;
        self.filled_at = self.filled_at.max(now);
        let limit = f64::from(self.per_second);
        self.tokens = (self.tokens + limit * elapsed.as_secs_f64()).min(limit);
        self.tokens >= 1.0 && self.waiting.len() < WAITING_MAX
    }

    /// Adds an answer; false if there is no room for it.
    pub(super) fn push(&mut self, now: Time, path: FourTuple, packet: Vec<u8>) -> bool {
        if !self.has_room(now) {
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
        let mut replies = Replies::new(10);
        let mut now = Time::from_secs(1);
        assert_eq!((0..50).filter(|_| replies.push(now, path, Vec::new())).count(), 10);
        now += Duration::from_millis(500);
        assert_eq!((0..50).filter(|_| replies.push(now, path, Vec::new())).count(), 5);
        let mut replies = Replies::new(1_000);
        assert_eq!((0..500).filter(|_| replies.push(now, path, Vec::new())).count(), WAITING_MAX);
        while replies.pop().is_some() {}
        assert!(replies.push(now, path, Vec::new()));
    }
}
