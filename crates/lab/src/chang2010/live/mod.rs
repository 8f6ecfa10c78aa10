//! The calls by round trip once more, for real: what two agents played, and what it says.

mod film;
mod played;

use std::time::Duration;

use super::cell::{Cell, Method, Place, cells};
use super::measure::{Counts, Outcome, WINDOW};
use super::media::Kind;
use super::network::{self, AFTER, AWAY, BEFORE, BETWEEN, CUTS};
use super::values::Values;
use crate::Parameters;
pub use film::film;
pub use played::{Played, PlayedError};

/// Cuts of a live call, unless another number is asked for: as many as in a simulated one.
pub const LIVE_CUTS: u32 = CUTS;

/// Frames count from so long before the first cut can come: an encoder's rate and a playout have
/// found their place by then.
const SETTLED: Duration = Duration::from_secs(3);

/// A film is that much longer than a call in which no path is slow to come back. Where even that
/// is not enough, it begins anew.
const SLOWER: Duration = Duration::from_secs(20);

/// When what happens in a live call, from its beginning on: as in the simulated one of this seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LivePlan {
    /// When a path goes down; the nth time no earlier than when both stand again.
    pub cuts: Vec<Duration>,
    /// How long before that it is left, if it is left on purpose.
    pub notice: Duration,
    /// For how long it stays down.
    pub away: Duration,
    /// Frames that are captured from here on count.
    pub settled: Duration,
    /// From the last cut to the end of the call.
    pub after: Duration,
    /// How long the film has to be.
    pub film: Duration,
    /// The links "wired" and "wireless", as a scenario of `anabranch emulate`.
    pub network: String,
}

impl LivePlan {
    /// Of a cell by round trip, with so many cuts.
    #[must_use]
    pub fn of(cell: &Cell, parameters: &Parameters<Values>, cuts: u32) -> Self {
        let begin = super::values::START;
        let cuts: Vec<_> = network::cuts(cell.seed, cuts).map(|at| at - begin).collect();
        let notice = match cell.method {
            Method::Planned => parameters.values().notice,
            Method::Sctp | Method::Timed(_) | Method::Usha | Method::Unplanned => Duration::ZERO,
        };
        let after = BETWEEN;
        let end = cuts.last().copied().unwrap_or_default() + after + AFTER;
        let film = end + SLOWER;
        let network = parameters.values().written(cell.place);
        Self { cuts, notice, away: AWAY, settled: BEFORE - SETTLED, after, film, network }
    }
}

/// The cells that can be run live: ours by round trip, with the seeds 1 to `seeds`.
#[must_use]
pub fn live_cells(seeds: u64) -> Vec<Cell> {
    cells(seeds).into_iter().filter(is_live).collect()
}

/// Whether it can be run live.
#[must_use]
pub const fn is_live(cell: &Cell) -> bool {
    matches!(cell.place, Place::Rtt(_)) && cell.method.is_ours()
}

/// A live call that is over. Times are of one clock, in microseconds.
#[derive(Debug, Clone)]
pub struct LiveCall {
    /// Which it is.
    pub cell: Cell,
    /// When each path was left: before it went down.
    pub left_us: Vec<i64>,
    /// Frames that were captured from here on count, up to the end.
    pub from_us: i64,
    /// The end of what counts.
    pub until_us: i64,
    /// What the called one played, and what the caller did.
    pub ends: [LiveEnd; 2],
}

/// What one end of a live call played.
#[derive(Debug, Clone)]
pub struct LiveEnd {
    /// As its record says.
    pub played: Vec<Played>,
    /// What leads from the clock of who captured it to the common one, in microseconds.
    pub captured_offset_us: i64,
    /// The same of the clock of who played it.
    pub played_offset_us: i64,
}

/// A frame on the common clock, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Heard {
    number: u64,
    captured_us: i64,
    /// None if it was concealed.
    played_us: Option<i64>,
    bytes: u64,
}

impl LiveEnd {
    /// Of this kind, in the order in which they were to be played.
    fn heard(&self, kind: Kind) -> Vec<Heard> {
        let of_kind = self.played.iter().filter(|it| it.kind == kind);
        let heard = of_kind.map(|it| Heard {
            number: it.frame,
            captured_us: it.captured_us + self.captured_offset_us,
            played_us: it.played_us.map(|at| at + self.played_offset_us),
            bytes: it.bytes,
        });
        heard.collect()
    }
}

impl LiveCall {
    /// What it says, both directions together. Late is what was *played* more than the one-way
    /// delay and the patience after its capture: a playout's wait is in it, unlike in a simulated
    /// call.
    #[must_use]
    pub fn outcome(&self, parameters: &Parameters<Values>) -> Outcome {
        let values = parameters.values();
        let late_after = values.delay(self.cell.place) + values.patience;
        let heard = |kind| [0, 1].map(|end: usize| self.ends[end].heard(kind));
        let [voice, video] = Kind::ALL.map(heard);
        let gaps = |of: &[Vec<Heard>; 2]| {
            let of_cut = |left: &i64| [0, 1].map(|end: usize| longest_gap_s(&of[end], *left));
            self.left_us.iter().flat_map(of_cut).collect()
        };
        let counts = |of: &[Vec<Heard>; 2]| {
            let both = [0, 1].map(|end: usize| self.count(&of[end], late_after));
            both[0].plus(both[1])
        };
        let span_s = micros_to_s(self.until_us - self.from_us);
        let kbytes = |of: &[Vec<Heard>; 2]| {
            let counted = of.iter().flatten().filter(|it| self.counts(it));
            counted.map(|it| it.bytes).sum::<u64>() as f64 / 2e3 / span_s.max(f64::MIN_POSITIVE)
        };
        Outcome {
            handoff_s: None,
            gave_up_s: None,
            voice_gaps_s: gaps(&voice),
            video_gaps_s: gaps(&video),
            voice: counts(&voice),
            video: counts(&video),
            kbytes_per_s: [kbytes(&voice), kbytes(&video)],
            // Nothing of it is.
            simulated_s: 0.0,
        }
    }

    const fn counts(&self, frame: &Heard) -> bool {
        frame.captured_us >= self.from_us && frame.captured_us < self.until_us
    }

    /// Frames are numbered without a gap: one that is not there was lost.
    fn count(&self, heard: &[Heard], late_after: Duration) -> Counts {
        let late_after_us = i64::try_from(late_after.as_micros()).unwrap_or(i64::MAX);
        let counted = || heard.iter().filter(|it| self.counts(it));
        let numbers = counted().map(|it| it.number);
        let (Some(first), Some(last)) = (numbers.clone().min(), numbers.max()) else {
            return Counts::default();
        };
        let played = counted().filter_map(|it| Some((it.captured_us, it.played_us?)));
        let late = played.clone().filter(|(captured, at)| at - captured > late_after_us);
        let (taken, played) = (last - first + 1, played.count() as u64);
        Counts { taken, lost: taken.saturating_sub(played), late: late.count() as u64 }
    }
}

/// The longest time in which nothing new was played, around a moment.
fn longest_gap_s(heard: &[Heard], left_us: i64) -> f64 {
    let window = WINDOW.as_micros() as i64;
    let end = left_us + window;
    let mut times: Vec<i64> = heard.iter().filter_map(|it| it.played_us).collect();
    times.retain(|at| *at <= end);
    times.sort_unstable();
    let first = times.partition_point(|at| *at < left_us).saturating_sub(1);
    times.push(end);
    let gaps = times[first..].windows(2).map(|pair| pair[1] - pair[0]);
    micros_to_s(gaps.max().unwrap_or(window))
}

fn micros_to_s(micros: i64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: Cell = Cell { place: Place::Rtt(20), method: Method::Unplanned, seed: 1 };

    /// Ten seconds of voice, captured each 20 ms and played 60 ms later but for what `at` changes,
    /// on clocks that differ.
    fn end(at: impl Fn(u64) -> Option<u64>) -> LiveEnd {
        let mut table = "media,frame,captured_us,played_us,bytes\n".to_owned();
        for n in 0..500 {
            let captured = 5_000_000 + n * 20_000;
            let line = match at(n) {
                Some(wait_us) => format!("voice,{n},{captured},{},80", captured + wait_us - 2_000),
                None => format!("concealed,{n},{captured},{captured},0"),
            };
            table.push_str(&line);
            table.push('\n');
        }
        let played = Played::read(&table).unwrap();
        LiveEnd { played, captured_offset_us: -5_000_000, played_offset_us: -4_998_000 }
    }

    fn call(ends: [LiveEnd; 2]) -> LiveCall {
        let (from_us, until_us) = (1_000_000, 9_000_000);
        LiveCall { cell: CELL, left_us: vec![3_000_000, 6_500_000], from_us, until_us, ends }
    }

    #[test]
    fn what_was_played_says_how_long_nothing_was_heard_and_what_was_lost_or_late() {
        let usual = |n: u64| match n {
            // Nothing was heard for 100 ms, at 3.06 s.
            151..=154 => None,
            // The one-way delay and 150 ms are just in time.
            330 => Some(160_000),
            331 => Some(160_001),
            _ => Some(60_000),
        };
        let outcome = call([end(usual), end(|_| Some(60_000))]).outcome(&Parameters::default());
        assert_eq!(outcome.voice, Counts { taken: 800, lost: 4, late: 1 });
        assert_eq!(outcome.voice_gaps_s, [0.1, 0.02, 0.06, 0.02]);
        assert_eq!(outcome.kbytes_per_s, [(800 - 4) as f64 * 80.0 / 2e3 / 8.0, 0.0]);
        assert_eq!((outcome.video.taken, outcome.video_gaps_s), (0, vec![3.0; 4]));
    }

    #[test]
    fn what_never_was_in_the_record_is_lost_too() {
        let mut silent = end(|_| Some(60_000));
        silent.played.retain(|it| !(200..210).contains(&it.frame));
        let outcome = call([silent, end(|_| Some(60_000))]).outcome(&Parameters::default());
        assert_eq!(outcome.voice, Counts { taken: 800, lost: 10, late: 0 });
    }

    #[test]
    fn a_live_call_is_cut_when_the_simulated_one_is() {
        let plan = LivePlan::of(&CELL, &Parameters::default(), 3);
        assert_eq!(plan, LivePlan::of(&CELL, &Parameters::default(), 3), "a seed decides");
        let other = Cell { seed: 2, ..CELL };
        assert_ne!(plan.cuts, LivePlan::of(&other, &Parameters::default(), 3).cuts);
        for (n, at) in (0..).zip(&plan.cuts) {
            let first = BEFORE + BETWEEN * n;
            assert!((first..first + Duration::from_secs(1)).contains(at), "{at:?}");
        }
        assert_eq!(plan.notice, Duration::ZERO);
        let planned = Cell { method: Method::Planned, ..CELL };
        let notice = LivePlan::of(&planned, &Parameters::default(), 3).notice;
        assert_eq!(notice, Duration::from_millis(500));
        assert!(plan.film > plan.cuts[2] + plan.after);
    }

    #[test]
    fn ours_by_round_trip_can_be_run_live_and_nothing_else() {
        let cells = live_cells(2);
        assert_eq!(cells.len(), 3 * 2 * 2);
        assert!(cells.iter().all(|cell| cell.method.is_ours()));
        let timed = Cell { method: Method::Timed(1_500), ..CELL };
        assert!(!is_live(&timed));
    }
}
