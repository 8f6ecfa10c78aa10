//! [`Run`]: where items stood in the source and when they came, a few bytes for many items.

use anabranch_sansio::Time;

use super::{DecodeError, MAX_ITEMS, varint};

/// Items in a row, evenly spaced in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Number of the first item in the source.
    pub position: u64,
    /// Number of items, at least 1.
    pub count: u32,
    /// When the first item came: microseconds of the sender's clock.
    pub at_us: u64,
    /// Time from one item to the next, in 1/256 microsecond.
    pub step: u32,
}

impl Run {
    /// When item `i` of the run came, on the sender's clock, to the microsecond below.
    #[must_use]
    pub fn time_of(&self, i: u32) -> Time {
        Time::from_micros(self.at_us.saturating_add(u64::from(i) * u64::from(self.step) / 256))
    }

    /// When the last item came.
    #[must_use]
    pub fn last_at(&self) -> Time {
        self.time_of(self.count.saturating_sub(1))
    }

    /// The position after the last item.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.position.saturating_add(self.count as u64)
    }

    /// The run without its first `n` items, which must be fewer than all.
    pub(crate) fn without_first(&self, n: u32) -> Self {
        debug_assert!(n < self.count, "{n} of {} items taken", self.count);
        // The fraction of a microsecond that the new start loses is below what the source resolves.
        let skipped = u64::from(n) * u64::from(self.step) / 256;
        Self {
            position: self.position + u64::from(n),
            count: self.count.saturating_sub(n),
            at_us: self.at_us + skipped,
            step: self.step,
        }
    }
}

/// Most bytes that one run takes in a header.
pub(super) const MAX_RUN_LEN: usize = 4 * varint::MAX_LEN;

/// Collects the positions and times of a piece's items into as few runs as hold each time to
/// within a microsecond, which is an order below what any timer of ours resolves.
#[derive(Debug, Default)]
pub(crate) struct RunBuilder {
    closed: Vec<Run>,
    open: Option<OpenRun>,
    /// Bytes of `closed` in a header.
    encoded_len: usize,
}

impl RunBuilder {
    /// Adds an item. Positions rise from call to call, times do not fall.
    pub(crate) fn push(&mut self, position: u64, at: Time) {
        let mut at_us = at.as_micros();
        if let Some(open) = &mut self.open {
            if open.extend(position, at_us) {
                return;
            }
            let run = open.run();
            self.encoded_len += encoded_len(self.closed.last(), &run);
            at_us = at_us.max(run.last_at().as_micros());
            self.closed.push(run);
        }
        self.open = Some(OpenRun::new(position, at_us));
    }

    /// The runs so far.
    pub(crate) fn finish(mut self) -> Vec<Run> {
        self.closed.extend(self.open.map(|open| open.run()));
        self.closed
    }

    /// Bytes that the runs take in a header.
    pub(crate) fn encoded_len(&self) -> usize {
        let open = self.open.map(|open| encoded_len(self.closed.last(), &open.run()));
        self.encoded_len + open.unwrap_or(0)
    }

    /// Bytes that they take at most once an item more was added.
    pub(crate) const fn encoded_len_max(&self) -> usize {
        self.encoded_len + 2 * MAX_RUN_LEN
    }

    /// Bytes that they take once this item was added, too.
    pub(crate) fn encoded_len_with(&self, position: u64, at: Time) -> usize {
        let at_us = at.as_micros();
        let Some(mut open) = self.open else {
            return encoded_len(None, &OpenRun::new(position, at_us).run());
        };
        if open.extend(position, at_us) {
            return self.encoded_len + encoded_len(self.closed.last(), &open.run());
        }
        let run = open.run();
        let next = OpenRun::new(position, at_us.max(run.last_at().as_micros())).run();
        self.encoded_len() + encoded_len(Some(&run), &next)
    }
}

/// A run that may still grow, with the steps that fit all its items: `step_min..=step_max`.
#[derive(Debug, Clone, Copy)]
struct OpenRun {
    position: u64,
    count: u32,
    at_us: u64,
    step_min: u64,
    step_max: u64,
}

impl OpenRun {
    const fn new(position: u64, at_us: u64) -> Self {
        Self { position, count: 1, at_us, step_min: 0, step_max: u32::MAX as u64 }
    }

    /// Takes the item in if it follows the last one and a common step still exists.
    fn extend(&mut self, position: u64, at_us: u64) -> bool {
        let i = u64::from(self.count);
        if position != self.position + i || i >= MAX_ITEMS || at_us < self.at_us {
            return false;
        }
        // The time restored is floor(i * step / 256); it may be 1 us off.
        let delay = at_us - self.at_us;
        let min = (delay.saturating_sub(1).saturating_mul(256)).div_ceil(i).max(self.step_min);
        let max = ((delay + 2).saturating_mul(256) - 1) / i;
        let max = max.min(self.step_max);
        if min > max {
            return false;
        }
        (self.step_min, self.step_max) = (min, max);
        self.count += 1;
        true
    }

    fn run(&self) -> Run {
        let step = if self.step_min == 0 { 0 } else { self.step_min.midpoint(self.step_max) };
        Run {
            position: self.position,
            count: self.count,
            at_us: self.at_us,
            step: u32::try_from(step).unwrap_or(u32::MAX),
        }
    }
}

pub(super) fn encode(runs: &[Run], out: &mut Vec<u8>) {
    let mut previous = None;
    for run in runs {
        let (gap, delay) = distance(previous, run);
        varint::encode(gap, out);
        varint::encode(delay, out);
        varint::encode(u64::from(run.count), out);
        if run.count > 1 {
            varint::encode(u64::from(run.step), out);
        }
        previous = Some(run);
    }
}

/// Bytes that [`encode`] writes.
pub(super) fn encoded_len_of_all(runs: &[Run]) -> usize {
    let before = std::iter::once(None).chain(runs.iter().map(Some));
    before.zip(runs).map(|(previous, run)| encoded_len(previous, run)).sum()
}

/// Bytes that [`encode`] writes for a run.
fn encoded_len(previous: Option<&Run>, run: &Run) -> usize {
    let (gap, delay) = distance(previous, run);
    let step = if run.count > 1 { varint::len(u64::from(run.step)) } else { 0 };
    varint::len(gap) + varint::len(delay) + varint::len(u64::from(run.count)) + step
}

/// Positions and microseconds from the end of the run before, or from zero.
fn distance(previous: Option<&Run>, run: &Run) -> (u64, u64) {
    let (end, last_us) = previous.map_or((0, 0), |run| (run.end(), run.last_at().as_micros()));
    (run.position.saturating_sub(end), run.at_us.saturating_sub(last_us))
}

pub(super) fn decode(count: u8, bytes: &mut &[u8]) -> Result<Vec<Run>, DecodeError> {
    let mut runs: Vec<Run> = Vec::with_capacity(usize::from(count));
    let mut items = 0_u64;
    for _ in 0..count {
        let position = varint::decode(bytes)?;
        let time = varint::decode(bytes)?;
        let count = varint::decode(bytes)?;
        let step = if count > 1 { varint::decode(bytes)? } else { 0 };
        items = items.saturating_add(count);
        if count == 0 || items > MAX_ITEMS {
            return Err(DecodeError::ItemCount { count: items, limit: MAX_ITEMS });
        }
        let (base, base_us) =
            runs.last().map_or((0, 0), |run| (run.end(), run.last_at().as_micros()));
        let run = Run {
            position: base.checked_add(position).ok_or(DecodeError::NumberTooLarge)?,
            count: u32::try_from(count).map_err(|_| DecodeError::NumberTooLarge)?,
            at_us: base_us.checked_add(time).ok_or(DecodeError::NumberTooLarge)?,
            step: u32::try_from(step).map_err(|_| DecodeError::NumberTooLarge)?,
        };
        if run.position > POSITION_MAX || run.at_us > TIME_MAX_US {
            return Err(DecodeError::NumberTooLarge);
        }
        runs.push(run);
    }
    Ok(runs)
}

/// Above any position that a source reaches: 2^48 packets are 167 years at 80 Mbit/s.
const POSITION_MAX: u64 = 1 << 48;

/// Above any time since a start: 2^48 microseconds are 8.9 years.
const TIME_MAX_US: u64 = 1 << 48;

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_sansio::Rng;

    fn build(items: &[(u64, u64)]) -> Vec<Run> {
        let mut builder = RunBuilder::default();
        for &(position, at_us) in items {
            builder.push(position, Time::from_micros(at_us));
        }
        builder.finish()
    }

    fn restored(runs: &[Run]) -> Vec<(u64, u64)> {
        let items = |run: Run| {
            (0..run.count).map(move |i| (run.position + u64::from(i), run.time_of(i).as_micros()))
        };
        runs.iter().copied().flat_map(items).collect()
    }

    /// What is foretold before the last item is added.
    fn foretold_len(items: &[(u64, u64)]) -> usize {
        let (&(position, at_us), before) = items.split_last().expect("an item");
        let mut builder = RunBuilder::default();
        for &(position, at_us) in before {
            builder.push(position, Time::from_micros(at_us));
        }
        let len = builder.encoded_len_with(position, Time::from_micros(at_us));
        assert!(len <= builder.encoded_len_max());
        len
    }

    #[test]
    fn packets_of_one_datagram_are_one_run_with_the_exact_time() {
        let items: Vec<_> = (0..7).map(|i| (100 + i, 5_000)).collect();
        let runs = build(&items);
        assert_eq!(runs, [Run { position: 100, count: 7, at_us: 5_000, step: 0 }]);
    }

    #[test]
    fn evenly_spaced_packets_are_one_run_to_the_microsecond() {
        // 188 bytes at 5 Mbit/s: 300.8 us, with every phase of the first.
        for phase in 0..10 {
            let items: Vec<_> = (0..80).map(|i| (i, (phase * 100 + i * 300_800) / 1_000)).collect();
            let runs = build(&items);
            assert_eq!(runs.len(), 1, "phase {phase}");
            for (was, is) in items.iter().zip(restored(&runs)) {
                assert!(was.0 == is.0 && was.1.abs_diff(is.1) <= 1, "{was:?} became {is:?}");
            }
        }
    }

    #[test]
    fn any_spacing_is_restored_to_the_microsecond() {
        let mut rng = Rng::from_u64(3);
        for _ in 0..200 {
            let (mut position, mut at) = (rng.range(0..1_000), rng.range(0..1_000_000));
            let mut items = Vec::new();
            for _ in 0..rng.range(1..60) {
                items.push((position, at));
                position += 1 + if rng.chance(0.1) { rng.range(0..100) } else { 0 };
                at += if rng.chance(0.7) { 250 } else { rng.range(0..3_000) };
            }
            let runs = build(&items);
            let mut bytes = Vec::new();
            encode(&runs, &mut bytes);
            let decoded = decode(runs.len() as u8, &mut bytes.as_slice());
            assert_eq!(decoded.as_ref(), Ok(&runs));
            assert_eq!(foretold_len(&items), bytes.len());
            for (was, is) in items.iter().zip(restored(&runs)) {
                assert!(was.0 == is.0 && was.1.abs_diff(is.1) <= 1, "{was:?} became {is:?}");
            }
        }
    }
}
