//! Whether there is room for a picture, and what is told of those that were left out.

use std::time::Duration;

use anabranch_media::Piece;
use anabranch_media::piece::Header;
use anabranch_sansio::{Rate, Time, TraceRecord};
use anabranch_transport::Reliability;

use super::super::gate::Gate;
use super::super::{Event, REPORT_INTERVAL};
use super::Sender;
use crate::treatment::MediaClass;

/// How long room must lack before pictures are left out. Data that goes over to another path, since
/// the one it took died, lacks it for less.
const PATIENCE: Duration = Duration::from_millis(250);

/// How long it must lack for reference pictures: what can be spared goes first.
const PATIENCE_WITH_REFERENCES: Duration = Duration::from_secs(1);

/// The share of its lifetime that a disposable picture may wait while such are left out: a short
/// queue is what keeps references in time.
const THINNED_SHARE: u32 = 5;

/// Room that was there for so long is there to stay.
const RELIEF: Duration = Duration::from_secs(2);

/// While more and more is left out, it is told so often.
const TOLD_EVERY: Duration = Duration::from_secs(5);

/// The classes whose pictures may be left out.
const SPARED: [MediaClass; 3] =
    [MediaClass::Reference, MediaClass::Disposable, MediaClass::Enhancement];

/// How long a class has lacked room.
#[derive(Debug, Clone, Copy, Default)]
struct Shortage {
    /// Since when, without a unit that found room.
    since: Option<Time>,
    /// Since when, without a unit that found a short queue.
    queued: Option<Time>,
    /// When one last had to be left out, if that is not long ago.
    thinned: Option<Time>,
}

/// What a unit finds that comes to be sent.
#[derive(Debug, Clone, Copy)]
struct Prospect {
    /// How long it would wait.
    wait: Duration,
    /// How long it may.
    lifetime: Duration,
    /// How long it is until the next key frame, if that is known.
    next_key: Option<Duration>,
}

impl Shortage {
    /// Whether a unit goes. A reference picture does unless it would come too late, or hold up the
    /// next key frame; of what can be spared a third of its time is for repetitions.
    fn admits(&mut self, now: Time, class: MediaClass, prospect: Prospect) -> bool {
        let Prospect { wait, lifetime, .. } = prospect;
        let (most, patience) = if class == MediaClass::Reference {
            if self.holds_up_key_frame(now, prospect) {
                return false;
            }
            (lifetime, PATIENCE_WITH_REFERENCES)
        } else {
            (lifetime * 2 / 3, PATIENCE)
        };
        self.thinned = self.thinned.filter(|last| now - *last < RELIEF);
        let most = match self.thinned {
            Some(_) if class == MediaClass::Disposable => lifetime / THINNED_SHARE,
            Some(_) | None => most,
        };
        if wait <= most {
            self.since = None;
            return true;
        }
        let since = *self.since.get_or_insert(now);
        if self.thinned.is_none() && now - since < patience {
            return true;
        }
        self.thinned = Some(now);
        false
    }

    /// Whether the next key frame is near, what waits would still be waiting then, and has been for
    /// long. Left out a moment before it, references cost that moment; left waiting, they make
    /// those late that follow it, and of these the first one costs all to the next key frame.
    fn holds_up_key_frame(&mut self, now: Time, prospect: Prospect) -> bool {
        let Prospect { wait, lifetime, next_key } = prospect;
        if wait <= lifetime / THINNED_SHARE {
            self.queued = None;
            return false;
        }
        let since = *self.queued.get_or_insert(now);
        now - since >= PATIENCE && next_key.is_some_and(|left| left < wait.min(lifetime))
    }
}

/// What is offered and left out, second by second.
#[derive(Debug)]
pub(super) struct Room {
    gate: Gate,
    shortages: [Shortage; MediaClass::ALL.len()],
    /// Bytes that came to be sent since the last second began, and in the one before.
    offered: [(u64, u64); MediaClass::ALL.len()],
    /// Pictures left out at the last second.
    left_out: [u64; MediaClass::ALL.len()],
    /// Seconds since something was left out, by class, if it was told.
    told: [Option<Told>; MediaClass::ALL.len()],
}

#[derive(Debug, Clone, Copy)]
struct Told {
    at: Time,
    left_out: u64,
    /// When something was last left out.
    last: Time,
}

impl Room {
    pub(super) fn new(enhances_alone: bool) -> Self {
        Self {
            gate: Gate::new(enhances_alone),
            shortages: Default::default(),
            offered: Default::default(),
            left_out: Default::default(),
            told: Default::default(),
        }
    }

    pub(super) const fn left_out(&self, class: MediaClass) -> u64 {
        self.gate.left_out(class)
    }

    /// The rate at which a class was offered in the last whole second.
    fn offered(&self, class: MediaClass) -> Rate {
        Rate::of(self.offered[class.index()].1, REPORT_INTERVAL)
    }

    /// A second is over: tells of what was left out in it.
    fn tick(&mut self, now: Time) -> Vec<Event> {
        for (current, before) in &mut self.offered {
            *before = std::mem::take(current);
        }
        SPARED.into_iter().filter_map(|class| self.tell(now, class)).collect()
    }

    fn tell(&mut self, now: Time, class: MediaClass) -> Option<Event> {
        let left_out = self.gate.left_out(class);
        let before = std::mem::replace(&mut self.left_out[class.index()], left_out);
        let told = &mut self.told[class.index()];
        match told {
            None if left_out > before => {
                *told = Some(Told { at: now, left_out, last: now });
                Some(Event::LeftOut { class, pictures: left_out - before, span: REPORT_INTERVAL })
            }
            None => None,
            Some(known) if left_out > before => {
                known.last = now;
                if now - known.at < TOLD_EVERY {
                    return None;
                }
                let (pictures, span) = (left_out - known.left_out, now - known.at);
                (known.at, known.left_out) = (now, left_out);
                Some(Event::LeftOut { class, pictures, span })
            }
            Some(known) if now - known.last >= RELIEF => {
                *told = None;
                Some(Event::WholeAgain { class })
            }
            Some(_) => None,
        }
    }
}

/// The first picture that is left out for lack of room; those that need it follow unsaid.
fn left_out(now: Time, header: &Header, class: MediaClass) -> TraceRecord {
    let record = TraceRecord::new(now, "media:picture_left_out").with("class", class.name());
    record.with("track", header.track.0).with("frame", header.frame)
}

impl Sender {
    /// Whether a piece goes, of whose unit `len` bytes are known. While a unit waits, what is sent
    /// before it goes on to come: it has only what is left of the rate.
    pub(super) fn admits(
        &mut self,
        now: Time,
        piece: &Piece,
        class: MediaClass,
        len: usize,
    ) -> bool {
        let rate = self.room_for(class);
        let Self { room, link, treatments, latency, backlog, records, .. } = self;
        let Room { gate, shortages, offered, .. } = room;
        offered[class.index()].0 += piece.payload.len() as u64;
        let treatment = treatments.treatment(class);
        let reliability = treatment.reliability.resolve(*latency, Duration::ZERO);
        let Reliability::Lifetime(lifetime) = reliability else { return true };
        let Some(connection) = link.connection() else { return true };
        gate.passes(&piece.header, class, now, |next_key| {
            let ahead = connection.queued_at(treatment.priority.into());
            let ahead = ahead + backlog.bytes() + len;
            let wait = rate.map(|rate| rate.time_for(ahead as u64));
            let shortage = &mut shortages[class.index()];
            let prospect = |wait| Prospect { wait, lifetime, next_key };
            let admits = wait.is_none_or(|wait| shortage.admits(now, class, prospect(wait)));
            if !admits {
                // With no rate at all it would wait for ever.
                let wait = wait.filter(|wait| *wait < Duration::MAX);
                let picture = || left_out(now, &piece.header, class);
                records.push(|| {
                    let record = picture().with_some("wait_ms", wait).with("lifetime_ms", lifetime);
                    let next_key = next_key.filter(|_| class == MediaClass::Reference);
                    let record = record.with_some("next_key_ms", next_key);
                    record.with_some("carries_bps", rate).with("ahead_bytes", ahead)
                });
            }
            admits
        })
    }

    /// What the network carries beside all that goes before a class, if it is known.
    pub(super) fn room_for(&self, class: MediaClass) -> Option<Rate> {
        let signal = self.link.connection()?.rate().filter(|signal| !signal.is_at_least)?;
        let priority = self.treatments.treatment(class).priority;
        let before = self.treatments.iter().filter(|(_, other)| other.priority < priority);
        let before = before.map(|(other, _)| self.room.offered(other).as_bps());
        let taken = before.fold(0, u64::saturating_add);
        Some(Rate::bps(signal.carries.as_bps().saturating_sub(taken)))
    }

    /// A second is over.
    pub(super) fn tell_what_was_left_out(&mut self, now: Time) {
        for event in self.room.tick(now) {
            self.link.tell(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFETIME: Duration = Duration::from_millis(100);

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn admits(shortage: &mut Shortage, at: u64, class: MediaClass, wait_ms: u64) -> bool {
        let wait = Duration::from_millis(wait_ms);
        let prospect = Prospect { wait, lifetime: LIFETIME, next_key: None };
        shortage.admits(ms(at), class, prospect)
    }

    #[test]
    fn a_short_lack_leaves_nothing_out() {
        let mut shortage = Shortage::default();
        let mut goes = |at, wait| admits(&mut shortage, at, MediaClass::Enhancement, wait);
        assert!(goes(0, 90) && goes(100, 90) && goes(240, 90), "not for long");
        assert!(goes(260, 66), "there is room");
        assert!(goes(270, 67) && !goes(520, 67), "it begins anew");
        assert!(goes(560, 60) && !goes(600, 70), "at once now");
        assert!(goes(700, 60) && goes(2_700, 70), "two seconds later");
    }

    #[test]
    fn disposable_pictures_wait_for_a_short_queue_once_some_were_left_out() {
        let mut shortage = Shortage::default();
        let mut goes = |at, wait| admits(&mut shortage, at, MediaClass::Disposable, wait);
        assert!(goes(0, 60) && goes(10, 70) && !goes(300, 70));
        assert!(!goes(400, 60), "references would wait behind it");
        assert!(goes(500, 20));
        assert!(goes(2_500, 60), "two seconds later");
    }

    #[test]
    fn references_go_last_and_only_where_they_would_be_late() {
        let first_left_out = |class, wait_ms| {
            let mut shortage = Shortage::default();
            let mut at = (0..20).map(|n| 100 * n);
            at.find(|at| !admits(&mut shortage, *at, class, wait_ms))
        };
        assert_eq!(first_left_out(MediaClass::Disposable, 101), Some(300));
        assert_eq!(first_left_out(MediaClass::Reference, 101), Some(1_000));
        assert_eq!(first_left_out(MediaClass::Reference, 100), None, "just in time");
    }

    #[test]
    fn references_that_would_hold_up_the_next_key_frame_are_left_out_before_it() {
        let mut shortage = Shortage::default();
        let mut goes = |at, wait_ms, until_key_ms| {
            let (wait, next_key) =
                (Duration::from_millis(wait_ms), Duration::from_millis(until_key_ms));
            let prospect = Prospect { wait, lifetime: LIFETIME, next_key: Some(next_key) };
            shortage.admits(ms(at), MediaClass::Reference, prospect)
        };
        assert!(goes(0, 60, 50), "not for long");
        assert!(goes(300, 60, 70), "gone before it comes");
        assert!(!goes(320, 60, 50));
        assert!(goes(360, 20, 10), "a short queue is no harm");
        assert!(goes(400, 60, 50), "it begins anew");
    }
}
