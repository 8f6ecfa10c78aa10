//! [`Outcome`]: what a cell measures.

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_sctp::Level;
use serde::{Deserialize, Serialize};

use super::method::Method;
use super::passed::{self, Passed};
use super::strict;
use super::values::Values;

/// A message that was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    /// When it was handed to the sender's transport.
    pub(super) ready: Time,
    /// When the last of it arrived.
    pub(super) arrived: Time,
    pub(super) read: Time,
    /// How long the reader was busy with it.
    pub(super) takes: Duration,
    /// As it was marked: [`Urgent`](Level::Urgent) if it was sent again.
    pub(super) level: Level,
    /// The level that its sender gave it.
    pub(super) kind: u8,
}

/// A run that is over.
pub(super) struct Ended<'a> {
    pub(super) start: Time,
    pub(super) method: Method,
    pub(super) values: &'a Values,
    pub(super) sent: usize,
    pub(super) reads: Vec<Read>,
    pub(super) lost: u64,
    pub(super) chunks_repeated: u64,
}

/// The results of one cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Chunks by level as the reader saw it: what was sent again, I, P and B.
    pub levels: [LevelOutcome; Level::ALL.len()],
    /// The paper's equation 3: all that waited, added up, in seconds.
    pub total_queue_s: f64,
    /// Chunks that were handed over.
    pub sent: usize,
    /// Those that were read.
    pub received: usize,
    /// Of these, those that were read after one of their kind that was sent later.
    pub out_of_order: usize,
    /// Packets that the links lost.
    pub lost_on_links: u64,
    /// Chunks that were sent again.
    pub retransmissions: u64,
    /// The stream, second by second.
    pub seconds: Vec<Second>,
    /// How long it took in all, in seconds.
    pub duration_s: usize,
}

/// The chunks of a level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LevelOutcome {
    /// Chunks that were read.
    pub chunks: usize,
    /// Mean time from their arrival until they were read.
    pub queue_ms: f64,
    /// What 99 of 100 of them waited at most.
    pub queue_p99_ms: f64,
    /// The longest of these times.
    pub queue_max_ms: f64,
    /// What their mean were if nothing but levels decided.
    pub strict_ms: f64,
    /// Mean time from the sending program to the reading one.
    pub delay_ms: f64,
    /// Mean difference of that time between one chunk and the next (RFC 3393).
    pub ipdv_ms: f64,
    /// Mean distance of that time from its mean over the level.
    pub jitter_ms: f64,
    /// Chunks that one of them goes past on its way into the queue, on average.
    pub passed: f64,
    /// The most of them.
    pub passed_max: f64,
}

/// What was sent in one second: means of each level, if there was any of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// By level.
    pub levels: [Option<Means>; Level::ALL.len()],
    /// All queue delays until then, added up, in seconds.
    pub total_queue_s: f64,
    /// Chunks until then that were read.
    pub received: usize,
}

/// The means of one second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Means {
    /// As in [`LevelOutcome`].
    pub queue_ms: f64,
    /// As in [`LevelOutcome`].
    pub ipdv_ms: f64,
    /// As in [`LevelOutcome`].
    pub jitter_ms: f64,
}

impl Outcome {
    pub(super) fn of(ended: &Ended<'_>) -> Self {
        let Ended { start, method, values, sent, reads, lost, chunks_repeated } = ended;
        let mut outcome = Self {
            total_queue_s: reads.iter().map(Read::queue_ms).sum::<f64>() / 1e3,
            sent: *sent,
            received: reads.len(),
            out_of_order: out_of_order(reads),
            lost_on_links: *lost,
            retransmissions: *chunks_repeated,
            duration_s: values.duration.as_secs_f64().ceil() as usize,
            ..Self::default()
        };
        outcome.seconds = vec![Second::default(); outcome.duration_s];
        let second = |read: &Read| read.ready.saturating_since(*start).as_secs() as usize;
        for read in reads {
            if let Some(second) = outcome.seconds.get_mut(second(read)) {
                second.total_queue_s += read.queue_ms() / 1e3;
                second.received += 1;
            }
        }
        for at in 1..outcome.seconds.len() {
            outcome.seconds[at].total_queue_s += outcome.seconds[at - 1].total_queue_s;
            outcome.seconds[at].received += outcome.seconds[at - 1].received;
        }
        let strict = strict::waits_ms(reads);
        let passed = passed::by_level(*method, reads);
        for level in Level::ALL {
            let mut of_level: Vec<_> = reads.iter().filter(|read| read.level == level).collect();
            of_level.sort_by_key(|read| read.ready);
            let chunks = variations(&of_level);
            outcome.levels[level.index()] = LevelOutcome {
                strict_ms: strict[level.index()],
                ..level_outcome(&of_level, &chunks, passed[level.index()])
            };
            let by_second = chunks.chunk_by(|a, b| second(a.read) == second(b.read));
            for group in by_second {
                if let Some(kept) = outcome.seconds.get_mut(second(group[0].read)) {
                    kept.levels[level.index()] = Some(means(group));
                }
            }
        }
        outcome
    }
}

impl Outcome {
    /// Chunks that one goes past on its way into the queue, on average.
    pub(super) fn passed(&self) -> f64 {
        let total: f64 = self.levels.iter().map(|level| level.passed * level.chunks as f64).sum();
        total / self.received.max(1) as f64
    }

    /// The most of them.
    pub(super) fn passed_max(&self) -> f64 {
        self.levels.iter().map(|level| level.passed_max).fold(0.0, f64::max)
    }
}

impl Read {
    fn queue_ms(&self) -> f64 {
        self.read.saturating_since(self.arrived).as_secs_f64() * 1e3
    }

    fn delay_ms(&self) -> f64 {
        self.read.saturating_since(self.ready).as_secs_f64() * 1e3
    }
}

/// A chunk, and how its delay differs from the others'.
struct Varied<'a> {
    read: &'a Read,
    ipdv_ms: f64,
    jitter_ms: f64,
}

/// Of the chunks of a level, in the order of sending.
fn variations<'a>(reads: &[&'a Read]) -> Vec<Varied<'a>> {
    let mean_ms = mean(reads.iter().map(|read| read.delay_ms()));
    let mut before_ms = reads.first().map_or(0.0, |read| read.delay_ms());
    let mut varied = Vec::with_capacity(reads.len());
    for &read in reads {
        let delay_ms = read.delay_ms();
        let ipdv_ms = (delay_ms - before_ms).abs();
        varied.push(Varied { read, ipdv_ms, jitter_ms: (delay_ms - mean_ms).abs() });
        before_ms = delay_ms;
    }
    varied
}

fn means(chunks: &[Varied<'_>]) -> Means {
    Means {
        queue_ms: mean(chunks.iter().map(|it| it.read.queue_ms())),
        ipdv_ms: mean(chunks.iter().map(|it| it.ipdv_ms)),
        jitter_ms: mean(chunks.iter().map(|it| it.jitter_ms)),
    }
}

fn level_outcome(reads: &[&Read], chunks: &[Varied<'_>], passed: Passed) -> LevelOutcome {
    let mut waits: Vec<_> = reads.iter().map(|read| read.queue_ms()).collect();
    waits.sort_by(f64::total_cmp);
    let at = |index: usize| waits.get(index).copied().unwrap_or_default();
    let Means { queue_ms, ipdv_ms, jitter_ms } = means(chunks);
    LevelOutcome {
        chunks: reads.len(),
        queue_ms,
        queue_p99_ms: at(waits.len() * 99 / 100),
        queue_max_ms: at(waits.len().saturating_sub(1)),
        strict_ms: 0.0,
        delay_ms: mean(reads.iter().map(|read| read.delay_ms())),
        ipdv_ms,
        jitter_ms,
        passed: passed.total as f64 / reads.len().max(1) as f64,
        passed_max: passed.most as f64,
    }
}

/// Zero for none.
fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    // The sum of nothing is -0.
    (values.sum::<f64>() + 0.0) / count
}

/// Chunks that were read after one of their kind that was sent later.
fn out_of_order(reads: &[Read]) -> usize {
    let mut latest = [Time::ZERO; Level::ALL.len()];
    let mut late = 0;
    for read in reads {
        let Some(latest) = latest.get_mut(usize::from(read.kind)) else { continue };
        late += usize::from(read.ready < *latest);
        *latest = read.ready.max(*latest);
    }
    late
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(ready_ms: u64, arrived_ms: u64, read_ms: u64, level: Level) -> Read {
        let [ready, arrived, read] = [ready_ms, arrived_ms, read_ms].map(Time::from_millis);
        let takes = Duration::ZERO;
        Read { ready, arrived, read, takes, level, kind: level.index() as u8 }
    }

    fn outcome(reads: Vec<Read>) -> Outcome {
        let values = &Values::default();
        let (start, sent, method) = (Time::from_secs(1), reads.len(), Method::Sctp);
        Outcome::of(&Ended { start, method, values, sent, reads, lost: 0, chunks_repeated: 0 })
    }

    #[test]
    fn delays_are_those_by_hand() {
        let high = Level::High;
        let reads = [(1_000, 1_010, 1_012), (1_100, 1_110, 1_116), (2_000, 2_010, 2_014)]
            .map(|(ready, arrived, at)| read(ready, arrived, at, high));
        let outcome = outcome(reads.to_vec());
        let LevelOutcome { chunks, queue_ms, queue_max_ms, delay_ms, ipdv_ms, jitter_ms, .. } =
            outcome.levels[high.index()];
        let shown = [queue_ms, queue_max_ms, delay_ms, ipdv_ms].map(|ms| ms.round() as u32);
        assert_eq!((chunks, shown), (3, [4, 6, 14, 2]));
        assert!((jitter_ms - 4.0 / 3.0).abs() < 1e-9, "{jitter_ms}");
        assert!((outcome.total_queue_s - 0.012).abs() < 1e-9);
        let [first, second] = [0, 1].map(|at| outcome.seconds[at]);
        assert_eq!((first.received, second.received), (2, 3), "until then");
        assert_eq!(first.levels[high.index()].map(|it| it.queue_ms.round() as u32), Some(4));
        assert_eq!(first.levels[0], None);
    }

    #[test]
    fn regression_a_level_without_chunks_had_delays_of_minus_zero() {
        let LevelOutcome { queue_ms, delay_ms, ipdv_ms, .. } = outcome(Vec::new()).levels[0];
        assert!([queue_ms, delay_ms, ipdv_ms].iter().all(|ms| ms.is_sign_positive()));
    }

    #[test]
    fn a_chunk_is_out_of_order_behind_a_later_one_of_its_kind() {
        let read = |ready, level| read(ready, 2_000, 2_000, level);
        let (high, low) = (Level::High, Level::Low);
        let reads = [read(1_000, low), read(1_002, high), read(1_001, high), read(1_003, low)];
        assert_eq!(outcome(reads.to_vec()).out_of_order, 1);
    }
}
