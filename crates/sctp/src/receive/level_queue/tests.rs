//! Each rule by itself, then random operations against a model that looks at all that waits.

use anabranch_sansio::Rng;
use anabranch_wire::{Ppid, Ssn};
use bytes::Bytes;

use super::*;
use crate::path::PathId;

const WAIT_MAX: Duration = Duration::from_millis(500);

/// A message on a stream of that number, or an unordered one.
fn message(number: u32, level: Level, stream: Option<u16>) -> IncomingMessage {
    IncomingMessage {
        stream: StreamId(stream.unwrap_or(0)),
        ppid: Ppid(number),
        ordered: stream.is_some(),
        ssn: Ssn(0),
        level,
        payload: Bytes::new(),
        completed_at: Time::ZERO,
        path: PathId(0),
        fills_gap: false,
    }
}

fn at(millis: u64) -> Time {
    Time::from_millis(millis)
}

fn push(queue: &mut LevelQueue, since: Time, number: u32, level: Level, stream: Option<u16>) {
    let _place = queue.push(Ready { message: message(number, level, stream), since });
}

fn pop(queue: &mut LevelQueue, now: Time) -> Option<u32> {
    queue.pop(now).map(|ready| ready.message.ppid.0)
}

fn drain(queue: &mut LevelQueue, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| pop(queue, now)).collect()
}

#[test]
fn what_matters_most_comes_first_and_equals_as_they_came() {
    let mut queue = LevelQueue::new(WAIT_MAX);
    let levels = [Level::Low, Level::High, Level::Urgent, Level::Normal, Level::High, Level::Low];
    for (number, level) in (0..).zip(levels) {
        push(&mut queue, at(0), number, level, None);
    }
    assert_eq!(queue.len(), 6);
    assert_eq!(drain(&mut queue, at(1)), [2, 1, 4, 3, 0, 5]);
    assert_eq!(queue.len(), 0);
}

#[test]
fn a_message_inherits_the_level_of_one_behind_it_in_its_stream() {
    let mut queue = LevelQueue::new(WAIT_MAX);
    push(&mut queue, at(0), 0, Level::Low, Some(1));
    push(&mut queue, at(0), 1, Level::Low, Some(2));
    push(&mut queue, at(0), 2, Level::Normal, Some(2));
    push(&mut queue, at(0), 3, Level::High, Some(1));
    push(&mut queue, at(0), 4, Level::Urgent, None);
    push(&mut queue, at(0), 5, Level::Low, Some(1));
    assert_eq!(drain(&mut queue, at(1)), [4, 0, 3, 1, 2, 5]);
}

#[test]
fn the_oldest_goes_before_newer_ones_once_it_waited_for_the_bound() {
    let mut queue = LevelQueue::new(WAIT_MAX);
    push(&mut queue, at(0), 0, Level::Low, Some(1));
    push(&mut queue, at(100), 1, Level::Low, None);
    push(&mut queue, at(200), 2, Level::High, None);
    push(&mut queue, at(200), 3, Level::High, None);
    assert_eq!(pop(&mut queue, at(499)), Some(2), "not yet");
    assert_eq!(pop(&mut queue, at(500)), Some(0));
    assert_eq!(pop(&mut queue, at(500)), Some(3), "the other low one waited for 400 ms only");
    assert_eq!(drain(&mut queue, at(500)), [1]);
}

#[test]
fn a_bound_that_is_never_reached_starves_nothing_that_is_alone() {
    let mut queue = LevelQueue::new(Duration::MAX);
    push(&mut queue, at(0), 0, Level::Low, None);
    push(&mut queue, at(0), 1, Level::High, None);
    assert_eq!(drain(&mut queue, at(1_000_000)), [1, 0]);
}

#[test]
fn what_is_removed_out_of_turn_is_passed_over_and_no_other_message_in_its_slot() {
    let mut queue = LevelQueue::new(WAIT_MAX);
    let ready =
        |number, stream| Ready { message: message(number, Level::Low, stream), since: at(0) };
    let first = queue.push(ready(0, None));
    let ordered = queue.push(ready(1, Some(1)));
    assert_eq!(queue.remove(ordered), None, "those behind it wait for it");
    assert_eq!(queue.remove(first).map(|ready| ready.message.ppid.0), Some(0));
    let again = queue.push(ready(2, None));
    assert_eq!((again.slot, queue.remove(first)), (first.slot, None));
    assert_eq!(drain(&mut queue, at(1)), [1, 2]);
}

#[test]
fn the_first_of_a_kind_is_found_in_the_midst_of_its_stream() {
    let mut queue = LevelQueue::new(WAIT_MAX);
    for number in 0..4 {
        push(&mut queue, at(0), number, Level::Low, Some(1));
    }
    let taken = queue.take_first(|message| message.ppid.0 >= 2);
    assert_eq!(taken.map(|ready| ready.message.ppid.0), Some(2));
    assert!(queue.take_first(|message| message.ppid.0 == 2).is_none());
    let last = queue.take_first(|message| message.ppid.0 == 3);
    assert_eq!(last.map(|ready| ready.message.ppid.0), Some(3));
    push(&mut queue, at(0), 4, Level::Low, Some(1));
    assert_eq!(drain(&mut queue, at(1)), [0, 1, 4]);
}

#[test]
fn lines_stay_short_while_one_message_waits_and_others_pass_it() {
    let mut queue = LevelQueue::new(Duration::MAX);
    push(&mut queue, at(0), 0, Level::Low, Some(1));
    for number in 1..10_000 {
        push(&mut queue, at(0), number, Level::High, Some(2));
        assert_eq!(pop(&mut queue, at(0)), Some(number));
    }
    assert_eq!((queue.len(), queue.slots.len()), (1, 2));
    assert!(queue.arrivals.len() <= 2 * queue.len() + GONE_MAX + 1, "{}", queue.arrivals.len());
    for number in 0..10_000 {
        push(&mut queue, at(0), number, Level::Low, Some(3));
        push(&mut queue, at(0), number, Level::Urgent, Some(3));
        assert_eq!(queue.len(), 3);
        pop(&mut queue, at(0));
        pop(&mut queue, at(0));
    }
    let low = queue.levels[Level::Low.index()].len();
    assert!(low <= 2 * queue.len() + GONE_MAX + 2, "{low}");
}

/// All that waits, in order of arrival; each look goes through all of it.
#[derive(Default)]
struct Model(Vec<(Time, u32, Level, Option<u16>)>);

impl Model {
    fn pop(&mut self, now: Time) -> Option<u32> {
        let &(since, ..) = self.0.first()?;
        let turn = if since + WAIT_MAX <= now {
            0
        } else {
            let most = self.0.iter().map(|waiting| waiting.2).min()?;
            self.0.iter().position(|waiting| waiting.2 == most)?
        };
        let stream = self.0[turn].3;
        let first = match stream {
            Some(_) => self.0.iter().position(|waiting| waiting.3 == stream)?,
            None => turn,
        };
        Some(self.0.remove(first).1)
    }
}

#[test]
fn random_operations_agree_with_a_queue_that_looks_at_all_messages() {
    for seed in 0..200 {
        let mut rng = Rng::from_u64(seed);
        let (mut queue, mut model) = (LevelQueue::new(WAIT_MAX), Model::default());
        let mut now = Time::ZERO;
        let share_in = 0.3 + 0.1 * rng.range(0..5) as f64;
        for number in 0..500 {
            now += Duration::from_millis(rng.range(0..40));
            if rng.chance(share_in) {
                let level = Level::ALL[rng.range(0..4) as usize];
                let stream = rng.chance(0.7).then(|| rng.range(0..4) as u16);
                push(&mut queue, now, number, level, stream);
                model.0.push((now, number, level, stream));
            } else {
                assert_eq!(pop(&mut queue, now), model.pop(now), "seed {seed}, step {number}");
            }
            assert_eq!(queue.len(), model.0.len());
        }
        let rest: Vec<_> = std::iter::from_fn(|| model.pop(now)).collect();
        assert_eq!(drain(&mut queue, now), rest, "seed {seed}");
        assert!(queue.streams.is_empty());
    }
}
