//! [`Ranges`]: numbers that arrived.

use std::collections::VecDeque;

/// Numbers that arrived, as ranges without gaps, in ascending order.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    /// The first and the last number of each.
    ranges: VecDeque<(u64, u64)>,
}

impl Ranges {
    /// Takes a number. False: it was there.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        let above = self.ranges.partition_point(|(first, _)| *first <= number);
        let below = above.checked_sub(1).and_then(|at| self.ranges.get(at).copied());
        if below.is_some_and(|(_, last)| number <= last) {
            return false;
        }
        let joins_below = below.is_some_and(|(_, last)| last + 1 == number);
        let joins_above = self.ranges.get(above).is_some_and(|(first, _)| *first == number + 1);
        match (joins_below, joins_above) {
            (true, true) => {
                let joined = self.ranges.remove(above).map(|(_, last)| last);
                self.extend(above - 1, joined.unwrap_or(number));
            }
            (true, false) => self.extend(above - 1, number),
            (false, true) => {
                if let Some((first, _)) = self.ranges.get_mut(above) {
                    *first = number;
                }
            }
            (false, false) => self.ranges.insert(above, (number, number)),
        }
        true
    }

    fn extend(&mut self, at: usize, to: u64) {
        if let Some((_, last)) = self.ranges.get_mut(at) {
            *last = to;
        }
    }

    /// Keeps the latest ranges only.
    pub(super) fn truncate(&mut self, most: usize) {
        while self.ranges.len() > most {
            self.ranges.pop_front();
        }
    }

    /// How many ranges there are.
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The greatest number.
    pub(super) fn greatest(&self) -> Option<u64> {
        self.ranges.back().map(|(_, last)| *last)
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&number))
    }

    /// The latest ranges first.
    pub(super) fn latest(&self, most: usize) -> Vec<(u64, u64)> {
        self.ranges.iter().rev().take(most).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(numbers: &[u64]) -> Ranges {
        let mut ranges = Ranges::default();
        for number in numbers {
            ranges.insert(*number);
        }
        ranges
    }

    #[test]
    fn numbers_join_into_ranges_in_any_order() {
        assert_eq!(ranges(&[0, 1, 2]).latest(9), [(0, 2)]);
        assert_eq!(ranges(&[5, 3, 4, 9]).latest(9), [(9, 9), (3, 5)]);
        assert_eq!(ranges(&[7, 6, 1, 2]).latest(1), [(6, 7)]);
        let mut all = ranges(&[4, 0, 2, 3, 1]);
        assert_eq!((all.len(), all.greatest()), (1, Some(4)));
        assert!(!all.insert(2) && all.insert(6), "what comes twice is known");
    }

    #[test]
    fn the_oldest_go_first() {
        let mut ranges = ranges(&[0, 2, 4, 6]);
        ranges.truncate(2);
        assert_eq!(ranges.latest(9), [(6, 6), (4, 4)]);
        assert!(!ranges.contains(2) && ranges.contains(4));
    }
}
