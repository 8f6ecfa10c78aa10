//! [`RangeSet`]: a set of sequence numbers kept as disjoint ranges.

use std::ops::RangeInclusive;

/// Sequence numbers as sorted, disjoint, non-adjacent inclusive ranges.
///
/// Adding to the end, the usual case, costs a comparison; adding anywhere else a binary search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RangeSet {
    ranges: Vec<(u64, u64)>,
}

impl RangeSet {
    /// Adds `range`, and calls `on_new` for each number that was not in the set before.
    pub(crate) fn insert(&mut self, range: RangeInclusive<u64>, mut on_new: impl FnMut(u64)) {
        let (mut start, mut end) = range.into_inner();
        if start > end {
            return;
        }
        // The ranges that overlap or touch the new one.
        let first = self.ranges.partition_point(|&(_, last)| last.saturating_add(1) < start);
        let after = first
            + self.ranges[first..].partition_point(|&(begin, _)| begin <= end.saturating_add(1));
        let mut next = start;
        for &(begin, last) in &self.ranges[first..after] {
            (next..begin.min(end.saturating_add(1))).for_each(&mut on_new);
            next = next.max(last.saturating_add(1));
        }
        (next..=end).for_each(&mut on_new);
        if let Some(&(begin, _)) = self.ranges[first..after].first() {
            start = start.min(begin);
        }
        if let Some(&(_, last)) = self.ranges[first..after].last() {
            end = end.max(last);
        }
        if after == first + 1 {
            self.ranges[first] = (start, end);
        } else {
            self.ranges.splice(first..after, [(start, end)]);
        }
    }

    /// Removes every number up to and including `last`.
    pub(crate) fn remove_through(&mut self, last: u64) {
        let gone = self.ranges.partition_point(|&(_, end)| end <= last);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.0 = first.0.max(last + 1);
        }
    }

    /// Removes every number from `first` to `last`.
    pub(crate) fn remove(&mut self, first: u64, last: u64) {
        let from = self.ranges.partition_point(|&(_, end)| end < first);
        let to = self.ranges.partition_point(|&(start, _)| start <= last);
        let Some((&(start, _), &(_, end))) = self.ranges.get(from).zip(self.ranges[..to].last())
        else {
            return;
        };
        let before = (start < first).then(|| (start, first - 1));
        let behind = (end > last).then(|| (last + 1, end));
        self.ranges.splice(from..to.max(from), before.into_iter().chain(behind));
    }

    /// Removes the lowest range if it contains `number`, and returns its end.
    pub(crate) fn take_first_if_at(&mut self, number: u64) -> Option<u64> {
        let &(start, end) = self.ranges.first()?;
        if !(start..=end).contains(&number) {
            return None;
        }
        self.ranges.remove(0);
        Some(end)
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.range_of(number).is_some()
    }

    /// The range that `number` is in.
    pub(crate) fn range_of(&self, number: u64) -> Option<(u64, u64)> {
        let index = self.ranges.partition_point(|&(_, end)| end < number);
        self.ranges.get(index).copied().filter(|&(start, _)| start <= number)
    }

    pub(crate) fn highest(&self) -> Option<u64> {
        self.ranges.last().map(|&(_, end)| end)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The ranges in rising order, as (first, last).
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use anabranch_sansio::Rng;

    use super::*;

    #[test]
    fn agrees_with_a_plain_set_over_random_operations() {
        let mut rng = Rng::from_u64(3);
        let (mut ranges, mut plain) = (RangeSet::default(), BTreeSet::new());
        for _ in 0..5_000 {
            if rng.chance(0.05) {
                let last = rng.range(0..120);
                ranges.remove_through(last);
                plain.retain(|&number| number > last);
                continue;
            }
            if rng.chance(0.2) {
                let first = rng.range(0..200);
                let last = first + rng.range(0..12);
                ranges.remove(first, last);
                plain.retain(|number| !(first..=last).contains(number));
                continue;
            }
            let start = rng.range(0..200);
            let range = start..=start + rng.range(0..12);
            let mut reported = Vec::new();
            ranges.insert(range.clone(), |number| reported.push(number));
            let fresh: Vec<_> = range.filter(|&number| plain.insert(number)).collect();
            assert_eq!(reported, fresh, "each new number is reported once, in order");
            let listed: Vec<_> = ranges.iter().flat_map(|(first, last)| first..=last).collect();
            assert_eq!(listed, plain.iter().copied().collect::<Vec<_>>());
            let apart = ranges.ranges.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0);
            assert!(apart, "ranges are disjoint and do not touch: {ranges:?}");
        }
    }

    #[test]
    fn taking_the_first_range_needs_the_number_inside() {
        let mut ranges = RangeSet::default();
        ranges.insert(5..=7, |_| ());
        assert_eq!(ranges.take_first_if_at(4), None);
        assert_eq!(ranges.take_first_if_at(5), Some(7));
        assert!(ranges.is_empty());
    }
}
