//! What levels alone come to: the waits of a reader that always takes what matters most.

use std::collections::VecDeque;

use anabranch_sansio::Time;
use anabranch_sctp::Level;

use super::measure::Read;

/// The mean waits of each level, in milliseconds, had the same messages come to a reader that takes
/// them strictly by level, and takes the same times one after the other.
///
/// It finishes what it began, so no order of reading can have the most important one wait less, nor
/// the two most important ones together.
pub(super) fn waits_ms(reads: &[Read]) -> [f64; Level::ALL.len()] {
    let mut arrivals: Vec<_> = reads.iter().map(|read| (read.arrived, read.level)).collect();
    arrivals.sort_by_key(|(arrived, _)| *arrived);
    let mut arrivals = arrivals.into_iter().peekable();
    let mut lines: [VecDeque<Time>; Level::ALL.len()] = Default::default();
    let mut waits = [(0.0, 0_u32); Level::ALL.len()];
    let mut free_at = Time::ZERO;
    for read in reads {
        if lines.iter().all(VecDeque::is_empty)
            && let Some((next, _)) = arrivals.peek()
        {
            free_at = free_at.max(*next);
        }
        while let Some((arrived, level)) = arrivals.next_if(|(arrived, _)| *arrived <= free_at) {
            lines[level.index()].push_back(arrived);
        }
        let turn = lines.iter_mut().zip(&mut waits).find(|(line, _)| !line.is_empty());
        let Some((arrived, (total_ms, count))) =
            turn.and_then(|(line, wait)| Some((line.pop_front()?, wait)))
        else {
            break;
        };
        *total_ms += free_at.saturating_since(arrived).as_secs_f64() * 1e3;
        *count += 1;
        free_at += read.takes;
    }
    waits.map(|(total_ms, count)| total_ms / f64::from(count.max(1)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn waits_are_those_by_hand() {
        // Level and arrival; each takes 10 ms. The first is begun before the others come.
        let came = [(3, 0), (3, 1), (2, 2), (1, 3), (1, 50)];
        let reads = came.map(|(level, at)| Read {
            ready: Time::ZERO,
            arrived: Time::from_millis(at),
            read: Time::from_millis(100),
            takes: Duration::from_millis(10),
            level: Level::ALL[level],
            kind: level as u8,
        });
        // Read at 0 (3), 10 (1), 20 (2), 30 (3), 50 (1).
        let waits = waits_ms(&reads).map(|ms| (ms * 10.0).round() / 10.0);
        assert_eq!(waits, [0.0, 3.5, 18.0, 14.5]);
    }

    #[test]
    fn nothing_that_was_read_is_no_wait() {
        assert_eq!(waits_ms(&[]), [0.0; Level::ALL.len()]);
    }
}
