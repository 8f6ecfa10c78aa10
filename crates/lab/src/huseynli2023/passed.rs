//! What it takes to put a chunk into the queue: how many others it goes past.

use anabranch_sansio::Time;
use anabranch_sctp::Level;

use super::measure::Read;
use super::method::Method;

/// How many chunks those of a level went past on their way into the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) total: u64,
    pub(super) most: u64,
}

/// By level, of chunks that were read.
pub(super) fn by_level(method: Method, reads: &[Read]) -> [Passed; Level::ALL.len()] {
    match method {
        // Behind the last one of its line, however many wait.
        Method::Sctp | Method::Anabranch => Default::default(),
        Method::SctpPq => by_list(reads),
    }
}

/// Huseynli 2023, section 3.3: "If the priority value equals "00", which indicates the data chunks
/// are retransmitted, SCTP-PQ adds the incoming data chunk to the head of the buffer. If the
/// priority value is other than from "00", the correct location in the buffer is found and the data
/// chunk is inserted." An insertion sort goes past all that matter as much, or more.
fn by_list(reads: &[Read]) -> [Passed; Level::ALL.len()] {
    let mut arrivals: Vec<_> = reads.iter().map(|read| (read.arrived, read.level)).collect();
    arrivals.sort_by_key(|(arrived, _)| *arrived);
    let mut leaving = reads.iter().map(|read| (read.read, read.level)).peekable();
    let mut waiting = [0_u64; Level::ALL.len()];
    let mut passed = [Passed::default(); Level::ALL.len()];
    for (arrived, level) in arrivals {
        let is_gone = |(read, _): &(Time, Level)| *read < arrived;
        while let Some((_, level)) = leaving.next_if(is_gone) {
            waiting[level.index()] -= 1;
        }
        if level != Level::Urgent {
            let goes_past = waiting[..=level.index()].iter().sum();
            let of_level = &mut passed[level.index()];
            of_level.total += goes_past;
            of_level.most = of_level.most.max(goes_past);
        }
        waiting[level.index()] += 1;
    }
    passed
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Level, arrival and reading, in the order of reading.
    const CAME: [(usize, u64, u64); 6] =
        [(3, 0, 1), (0, 5, 20), (1, 3, 30), (2, 2, 40), (2, 4, 50), (3, 6, 60)];

    fn reads() -> Vec<Read> {
        let read = |(level, arrived, read)| Read {
            ready: Time::ZERO,
            arrived: Time::from_millis(arrived),
            read: Time::from_millis(read),
            takes: Duration::ZERO,
            level: Level::ALL[level],
            kind: level as u8,
        };
        CAME.map(read).to_vec()
    }

    #[test]
    fn the_list_goes_past_what_matters_as_much_or_more() {
        let [again, i, p, b] = by_level(Method::SctpPq, &reads());
        assert_eq!((again, i), (Passed::default(), Passed::default()), "each goes to the head");
        assert_eq!(p, Passed { total: 2, most: 2 }, "the second goes past I and the first");
        assert_eq!(b, Passed { total: 4, most: 4 }, "the first was read before others came");
    }

    #[test]
    fn a_queue_with_a_line_for_each_level_goes_past_nothing() {
        for method in [Method::Sctp, Method::Anabranch] {
            assert_eq!(by_level(method, &reads()), [Passed::default(); 4], "{method}");
        }
    }
}
