//! [`Trace`]: when a link may send, as it was recorded from a real one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anabranch_sansio::Rate;
use thiserror::Error;

/// A trace has at most this many opportunities: more than three hours at 12 Mbit/s.
const MAX_OPPORTUNITIES: usize = 1 << 24;

/// When a link may send, as it was recorded from a real one: a trace of Mahimahi (Netravali et al.,
/// USENIX ATC 2015).
///
/// Each number is the millisecond of an opportunity to send [`BYTES`](Self::BYTES) bytes; equal
/// numbers are several. Packets that wait use them one after the other, byte by byte: a long packet
/// may need two, and short ones share one. What no packet waits for is lost. After the last
/// opportunity the trace begins anew.
///
/// ```
/// use std::time::Duration;
/// use anabranch_netsim::Trace;
///
/// let trace: Trace = "0\n5\n5\n20\n".parse()?;
/// assert_eq!(trace.period(), Duration::from_millis(20));
/// assert_eq!(trace.mean_rate().as_bps(), 4 * 1_500 * 8 * 50);
/// # Ok::<(), anabranch_netsim::TraceError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "Vec<u32>", into = "Vec<u32>")
)]
pub struct Trace(Arc<[u32]>);

/// Numbers, or a text, that are no [`Trace`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// There is no opportunity to send.
    #[error("a trace without a line lets nothing through: give at least one millisecond")]
    Empty,
    /// A line is not a number.
    #[error("line {line}: \"{text}\" is no millisecond: give a whole number from 0 to 4294967295")]
    Number {
        /// Counted from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// A line goes back in time.
    #[error("line {line}: {ms} is before {before}: give milliseconds in rising order")]
    Order {
        /// Counted from 1.
        line: usize,
        /// What stands there.
        ms: u32,
        /// What stands in the line before.
        before: u32,
    },
    /// The trace would repeat itself without end in no time.
    #[error("line {line}: a trace that ends at 0 lasts no time: let it end at 1 ms or later")]
    NoTime {
        /// The last one, counted from 1.
        line: usize,
    },
    /// There is more than can be kept.
    #[error("a trace of {lines} lines is too long: give at most {MAX_OPPORTUNITIES}")]
    TooLong {
        /// How many there are.
        lines: usize,
    },
}

impl Trace {
    /// What can be sent at an opportunity, in IP bytes.
    pub const BYTES: u64 = 1_500;

    /// A trace of these milliseconds.
    ///
    /// # Errors
    /// There are none or too many, they go back, or all are 0.
    pub fn new(milliseconds: Vec<u32>) -> Result<Self, TraceError> {
        let lines = milliseconds.len();
        if lines > MAX_OPPORTUNITIES {
            return Err(TraceError::TooLong { lines });
        }
        let pairs = milliseconds.iter().zip(milliseconds.iter().skip(1));
        for (line, (&before, &ms)) in (2..).zip(pairs) {
            if ms < before {
                return Err(TraceError::Order { line, ms, before });
            }
        }
        match milliseconds.last() {
            None => Err(TraceError::Empty),
            Some(0) => Err(TraceError::NoTime { line: lines }),
            Some(_) => Ok(Self(milliseconds.into())),
        }
    }

    /// After which time it begins anew.
    #[must_use]
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.period_ms())
    }

    /// What it carries on average.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        let bits = self.len() * Self::BYTES * 8;
        Rate::bps(bits.saturating_mul(1_000) / self.period_ms())
    }

    /// What it carries from one time since its beginning to another, in bytes.
    #[must_use]
    pub fn bytes_between(&self, from: Duration, to: Duration) -> u64 {
        (self.passed(to).saturating_sub(self.passed(from))).saturating_mul(Self::BYTES)
    }

    /// How many opportunities came up to this time since its beginning, this time included.
    pub(super) fn passed(&self, since: Duration) -> u64 {
        let ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let (rounds, rest) = (ms / self.period_ms(), ms % self.period_ms());
        let of_this_round = self.0.partition_point(|&at| u64::from(at) <= rest) as u64;
        rounds.saturating_mul(self.len()).saturating_add(of_this_round)
    }

    /// When an opportunity comes, counted from 0, since its beginning.
    pub(super) fn at(&self, nth: u64) -> Duration {
        let (rounds, index) = (nth / self.len(), (nth % self.len()) as usize);
        let ms = self.0.get(index).copied().map_or(0, u64::from);
        Duration::from_millis(rounds.saturating_mul(self.period_ms()).saturating_add(ms))
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn period_ms(&self) -> u64 {
        self.0.last().copied().map_or(1, u64::from)
    }
}

impl std::str::FromStr for Trace {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let milliseconds: Result<_, _> = (1..).zip(text.lines()).map(number).collect();
        Self::new(milliseconds?)
    }
}

fn number((line, text): (usize, &str)) -> Result<u32, TraceError> {
    text.trim().parse().map_err(|_| TraceError::Number { line, text: text.trim().to_owned() })
}

impl TryFrom<Vec<u32>> for Trace {
    type Error = TraceError;

    fn try_from(milliseconds: Vec<u32>) -> Result<Self, TraceError> {
        Self::new(milliseconds)
    }
}

impl From<Trace> for Vec<u32> {
    fn from(trace: Trace) -> Self {
        trace.0.to_vec()
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({} opportunities in {:?})", self.len(), self.period())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Trace, String> {
        text.parse().map_err(|error: TraceError| error.to_string())
    }

    #[test]
    fn opportunities_repeat_after_the_last() {
        let trace = parse("3\n3\r\n 10 \n").unwrap();
        let ms = Duration::from_millis;
        let times: Vec<_> = (0..7).map(|nth| trace.at(nth)).collect();
        assert_eq!(times, [3, 3, 10, 13, 13, 20, 23].map(ms));
        let passed = [0, 2, 3, 9, 10, 12, 13, 20].map(|at| trace.passed(ms(at)));
        assert_eq!(passed, [0, 0, 2, 2, 3, 3, 5, 6]);
        assert_eq!(trace.bytes_between(ms(3), ms(13)), 3 * Trace::BYTES);
    }

    #[test]
    fn an_opportunity_at_zero_comes_with_the_last_of_the_round_before() {
        let trace = parse("0\n4").unwrap();
        let ms = Duration::from_millis;
        assert_eq!([0, 1, 2, 3].map(|nth| trace.at(nth)), [0, 4, 4, 8].map(ms));
        assert_eq!([0, 3, 4, 8].map(|at| trace.passed(ms(at))), [1, 1, 3, 5]);
    }

    #[test]
    fn errors_name_the_line_and_say_what_would_be_right() {
        for (text, expected) in [
            ("", "without a line"),
            ("1\n\n2", "line 2: \"\" is no millisecond"),
            ("1\n2.5", "line 2: \"2.5\" is no millisecond: give a whole number"),
            ("-1", "line 1: \"-1\""),
            ("5\n7\n6", "line 3: 6 is before 7: give milliseconds in rising order"),
            ("0\n0", "line 2: a trace that ends at 0"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        let lines = MAX_OPPORTUNITIES + 1;
        assert_eq!(Trace::new(vec![1; lines]), Err(TraceError::TooLong { lines }));
    }
}
