//! [`ReplayWindow`]: which records of an epoch were received (RFC 9147 section 4.5.1).

/// Records behind the newest one that are told apart. A number has 16 bits on the wire: what lies
/// farther behind could not be told from what is ahead. At 250 Mbit/s, packets of 1,200 bytes that
/// take a second longer over one path than over another are 26,042 behind.
const WINDOW: u64 = 1 << 15;
const WORDS: usize = (WINDOW / 64) as usize;

/// The records of one epoch that were received.
#[derive(Debug)]
pub(super) struct ReplayWindow {
    /// One above the greatest number that was received.
    expected: u64,
    /// A bit for each number, at its place modulo the window.
    received: Box<[u64; WORDS]>,
}

impl ReplayWindow {
    pub(super) fn new() -> Self {
        Self { expected: 0, received: Box::new([0; WORDS]) }
    }

    /// One above the greatest number that was received.
    pub(super) const fn expected(&self) -> u64 {
        self.expected
    }

    /// Whether a number was not received before. What is too old to say counts as received.
    pub(super) fn is_new(&self, number: u64) -> bool {
        if number >= self.expected {
            return true;
        }
        let (word, bit) = place(number);
        number + WINDOW >= self.expected && self.received[word] & bit == 0
    }

    /// Notes a number whose record was opened.
    ///
    /// RFC 9147 section 4.5.1: "The window MUST NOT be updated due to a received record until that
    /// record has been deprotected successfully."
    pub(super) fn note(&mut self, number: u64) {
        if number >= self.expected {
            self.forget_from(number);
            self.expected = number + 1;
        }
        let (word, bit) = place(number);
        self.received[word] |= bit;
    }

    /// Makes the places of the numbers up to `number` that are ahead blank.
    fn forget_from(&mut self, number: u64) {
        if number - self.expected >= WINDOW {
            self.received.fill(0);
            return;
        }
        let mut next = self.expected;
        while next <= number {
            let (word, bit) = place(next);
            if next.is_multiple_of(64) && number - next >= 63 {
                self.received[word] = 0;
                next += 64;
            } else {
                self.received[word] &= !bit;
                next += 1;
            }
        }
    }
}

/// Where the bit of a number stands.
const fn place(number: u64) -> (usize, u64) {
    ((number % WINDOW / 64) as usize, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use anabranch_sansio::Rng;

    use super::*;

    #[test]
    fn a_number_is_new_once() {
        let mut window = ReplayWindow::new();
        for number in [0, 1, 5, 3, 100, 99, 40_000, 39_999] {
            assert!(window.is_new(number), "{number}");
            window.note(number);
            assert!(!window.is_new(number), "{number} again");
        }
        assert!(window.is_new(2) == (40_001 <= 2 + WINDOW), "too old to say");
        assert_eq!(window.expected(), 40_001);
    }

    #[test]
    fn what_comes_a_second_later_at_250_mbit_per_second_is_still_told_apart() {
        let mut window = ReplayWindow::new();
        window.note(26_042);
        assert!(window.is_new(0));
    }

    #[test]
    fn random_numbers_are_told_as_a_set_tells_them() {
        let mut rng = Rng::from_u64(7);
        let (mut window, mut set, mut base) = (ReplayWindow::new(), BTreeSet::new(), 0_u64);
        for _ in 0..20_000 {
            let reach = if rng.chance(0.01) { 80_000 } else { 300 };
            base += u64::from(rng.next_u32()) % 8;
            let number = base.saturating_sub(reach / 2) + u64::from(rng.next_u32()) % reach;
            let newest = set.last().map_or(0, |last| last + 1);
            let is_old = number + WINDOW < newest;
            assert_eq!(window.is_new(number), !is_old && !set.contains(&number), "{number}");
            if !is_old {
                window.note(number);
                set.insert(number);
            }
        }
    }
}
