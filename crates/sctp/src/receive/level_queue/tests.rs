//! Each rule by itself, then random operations against a model that looks at all that waits.

use anabranch_sansio::Rng;
use anabranch_wire::{Ppid, Ssn, StreamId};
use bytes::Bytes;

use super::*;
use crate::path_name::PathId;

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
fn slots_are_used_again_while_one_message_waits_and_others_pass_it() {
    let mut queue = LevelQueue::new(Duration::MAX);
    let mut slots = Vec::new();
    let mut push = |queue: &mut LevelQueue, number, level, stream| {
        let ready = Ready { message: message(number, level, Some(stream)), since: at(0) };
        let Place { slot, .. } = queue.push(ready);
        if !slots.contains(&slot) {
            slots.push(slot);
        }
    };
    push(&mut queue, 0, Level::Low, 1);
    for number in 1..10_000 {
        push(&mut queue, number, Level::High, 2);
        assert_eq!(pop(&mut queue, at(0)), Some(number));
    }
    for number in 0..10_000 {
        push(&mut queue, number, Level::Low, 3);
        push(&mut queue, number, Level::Urgent, 3);
        assert_eq!(queue.len(), 3);
        assert_eq!([pop(&mut queue, at(0)), pop(&mut queue, at(0))], [Some(number); 2]);
    }
    assert_eq!((queue.len(), slots.len()), (1, 3));
}

#[test]
fn the_highest_stream_has_a_line_too() {
    let mut queue = LevelQueue::new(WAIT_MAX);
    push(&mut queue, at(0), 0, Level::Low, Some(u16::MAX));
    push(&mut queue, at(0), 1, Level::High, Some(u16::MAX));
    assert_eq!(queue.streams.len(), 1 << 16);
    assert_eq!(drain(&mut queue, at(0)), [0, 1]);
}

/// What waits.
#[derive(Clone, Copy)]
struct Waiting {
    since: Time,
    number: u32,
    level: Level,
    stream: Option<u16>,
    place: Place,
}

/// All that waits, in order of arrival; each look goes through all of it.
#[derive(Default)]
struct Model(Vec<Waiting>);

impl Model {
    fn pop(&mut self, now: Time) -> Option<u32> {
        let turn = if self.0.first()?.since + WAIT_MAX <= now {
            0
        } else {
            let most = self.0.iter().map(|waiting| waiting.level).min()?;
            self.0.iter().position(|waiting| waiting.level == most)?
        };
        let stream = self.0[turn].stream;
        let first = match stream {
            Some(_) => self.0.iter().position(|waiting| waiting.stream == stream)?,
            None => turn,
        };
        Some(self.0.remove(first).number)
    }

    fn take_first(&mut self, is_meant: impl Fn(u32) -> bool) -> Option<u32> {
        let first = self.0.iter().position(|waiting| is_meant(waiting.number))?;
        Some(self.0.remove(first).number)
    }

    /// Takes a message if it is unordered, whichever it is.
    fn remove(&mut self, at: usize) -> Option<u32> {
        self.0[at].stream.is_none().then(|| self.0.remove(at).number)
    }
}

fn number_of(ready: Option<Ready>) -> Option<u32> {
    ready.map(|ready| ready.message.ppid.0)
}

/// Does what fate has it do, to both; what each of them took, if something was to be taken.
fn step(
    (queue, model): (&mut LevelQueue, &mut Model),
    rng: &mut Rng,
    share_in: f64,
    (now, number): (Time, u32),
) -> [Option<u32>; 2] {
    if rng.chance(share_in) {
        let level = Level::ALL[rng.range(0..4) as usize];
        let stream = rng.chance(0.7).then(|| rng.range(0..4) as u16);
        let ready = Ready { message: message(number, level, stream), since: now };
        let place = queue.push(ready);
        model.0.push(Waiting { since: now, number, level, stream, place });
        return [None; 2];
    }
    match rng.range(0..10) {
        0 => {
            let kind = number % 7;
            let taken = queue.take_first(|message| message.ppid.0 % 7 == kind);
            [number_of(taken), model.take_first(|number| number % 7 == kind)]
        }
        1 if !model.0.is_empty() => {
            let at = rng.range(0..model.0.len() as u64) as usize;
            let place = model.0[at].place;
            [number_of(queue.remove(place)), model.remove(at)]
        }
        _ => [pop(queue, now), model.pop(now)],
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
            let both = (&mut queue, &mut model);
            let [taken, meant] = step(both, &mut rng, share_in, (now, number));
            assert_eq!(taken, meant, "seed {seed}, step {number}");
            assert_eq!(queue.len(), model.0.len());
        }
        let rest: Vec<_> = std::iter::from_fn(|| model.pop(now)).collect();
        assert_eq!(drain(&mut queue, now), rest, "seed {seed}");
        let mut lines = queue.levels.iter().chain(&queue.streams);
        assert!(lines.all(|line| *line == Line::default()), "seed {seed}");
    }
}

/// A reader that keeps up is to find what arrived in the order in which it arrived, not scattered.
#[test]
fn once_nothing_waits_slots_are_taken_from_the_first_one_on() {
    let mut queue = LevelQueue::new(WAIT_MAX);
    let mut slots = || {
        let levels = [Level::Low, Level::High, Level::Normal, Level::High];
        let kept: Vec<_> = (0..)
            .zip(levels)
            .map(|(number, level)| {
                let message = message(number, level, Some(level.index() as u16));
                queue.push(Ready { message, since: at(0) }).slot
            })
            .collect();
        assert_eq!(drain(&mut queue, at(0)), [1, 3, 2, 0]);
        kept
    };
    assert_eq!(slots(), slots());
}
