//! [`Dropping`]: what is left out because the network does not carry it.
//!
//! Without a policy, pieces that do not fit expire one by one, and what was sent of their pictures
//! is wasted. So a picture that would wait for too long is left out as a whole, before its first
//! piece is handed over, and only where a decoder can go on: enhancement layers and pictures that
//! no other refers to at any time; a reference together with all that refers to it, up to the next
//! key frame.
//!
//! The policy is told what waits and what is carried, and knows nothing of who asks: a source that
//! comes as it likes, or one that is kept for viewers who are behind.

mod dependencies;
mod lack_of_room;
mod shortage;

use std::time::Duration;

use anabranch_media::{Layer, Track};
use anabranch_sansio::{Rate, Time};

use crate::REPORT_INTERVAL;
use crate::treatment::MediaClass;
use dependencies::Dependencies;
pub use lack_of_room::LackOfRoom;
use shortage::Shortage;

/// Room that was there for so long is there to stay.
const RELIEF: Duration = Duration::from_secs(2);

/// While more and more is left out, it is reported so often.
const REPORTED_EVERY: Duration = Duration::from_secs(5);

/// The classes whose pictures may be left out, the most important first.
const SPARED: [MediaClass; 3] =
    [MediaClass::Reference, MediaClass::Disposable, MediaClass::Enhancement];

const CLASSES: usize = MediaClass::ALL.len();

/// A picture, one layer of it, or a frame of sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitKey {
    /// Its track.
    pub track: Track,
    /// Its layer.
    pub layer: Layer,
    /// Its number in the track.
    pub frame: u64,
}

/// What a unit finds that comes to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prospect {
    /// How long it would wait.
    pub wait: Duration,
    /// How long it may.
    pub lifetime: Duration,
}

/// What becomes of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is sent.
    Goes,
    /// It is left out because it would wait for too long.
    LacksRoom {
        /// How long it is until the next key frame, if that is known.
        next_key: Option<Duration>,
    },
    /// It goes with what was left out before it.
    LacksReference,
}

/// What is left out lately, to be said in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Pictures of a class were.
    LeftOut {
        /// Which class.
        class: MediaClass,
        /// How many.
        pictures: u64,
        /// In how long.
        span: Duration,
    },
    /// None of a class were for a while.
    WholeAgain {
        /// Which class.
        class: MediaClass,
    },
}

/// Decides what is left out, for one receiver.
#[derive(Debug)]
pub struct Dropping {
    dependencies: Dependencies,
    /// Whether references make way for the key frame that follows them soon.
    yields_to_keys: bool,
    shortages: [Shortage; CLASSES],
    /// Bytes that came to be sent since the last second began, and in the one before.
    offered: [(u64, u64); CLASSES],
    /// Units that were left out, now and when the last second began.
    left_out: [(u64, u64); CLASSES],
    /// What was reported, until all goes again.
    reported: [Option<Reported>; CLASSES],
}

#[derive(Debug, Clone, Copy)]
struct Reported {
    at: Time,
    left_out: u64,
    /// When something was last left out.
    last: Time,
}

impl Dropping {
    /// Nothing was left out yet. `enhances_alone`: an enhancement is predicted from its own base
    /// picture only, as in a clip.
    #[must_use]
    pub fn new(enhances_alone: bool) -> Self {
        Self {
            dependencies: Dependencies::new(enhances_alone),
            yields_to_keys: true,
            shortages: Default::default(),
            offered: Default::default(),
            left_out: Default::default(),
            reported: Default::default(),
        }
    }

    /// The same for an output, to which nothing comes too late: a key frame that waits behind
    /// references is shown all the same.
    #[must_use]
    pub fn of_output(enhances_alone: bool) -> Self {
        Self { yields_to_keys: false, ..Self::new(enhances_alone) }
    }

    /// Another source begins, or the same one anew.
    pub fn begin(&mut self, enhances_alone: bool) {
        self.dependencies = Dependencies::new(enhances_alone);
    }

    /// Media of a class comes to be sent, whatever becomes of it.
    pub const fn offer(&mut self, class: MediaClass, bytes: usize) {
        self.offered[class.index()].0 += bytes as u64;
    }

    /// What is left of a rate beside the classes that go before: while a unit waits, what is sent
    /// before it goes on to come.
    #[must_use]
    pub fn left_beside(&self, carries: Rate, goes_before: impl Fn(MediaClass) -> bool) -> Rate {
        let before = MediaClass::ALL.into_iter().filter(|class| goes_before(*class));
        let offered = before.map(|class| {
            let (_, bytes) = self.offered[class.index()];
            Rate::of(bytes, REPORT_INTERVAL).as_bps()
        });
        let taken = offered.fold(0, u64::saturating_add);
        Rate::bps(carries.as_bps().saturating_sub(taken))
    }

    /// What becomes of a unit, of which this may be a further piece: all of it shares its fate.
    /// Where a decoder can follow, that is for `prospect` to say; `None` if nothing is known.
    pub fn decide(
        &mut self,
        now: Time,
        unit: UnitKey,
        class: MediaClass,
        prospect: impl FnOnce() -> Option<Prospect>,
    ) -> Verdict {
        let shortage = &mut self.shortages[class.index()];
        let yields_to_keys = self.yields_to_keys;
        let has_room = |next_key: Option<Duration>| {
            let next_key = next_key.filter(|_| yields_to_keys);
            prospect().is_none_or(|prospect| shortage.admits(now, class, prospect, next_key))
        };
        let (verdict, is_new) = self.dependencies.verdict(now, unit, class, has_room);
        self.left_out[class.index()].0 += u64::from(is_new && verdict != Verdict::Goes);
        verdict
    }

    /// Something was missed: all that may refer to it is left out, up to the next key frame.
    pub fn break_off(&mut self) {
        self.dependencies.break_off();
    }

    /// Units of a class that were left out.
    #[must_use]
    pub const fn left_out(&self, class: MediaClass) -> u64 {
        self.left_out[class.index()].0
    }

    /// The most important class of which something is left out lately.
    #[must_use]
    pub fn reduced(&self) -> Option<MediaClass> {
        SPARED.into_iter().find(|class| self.reported[class.index()].is_some())
    }

    /// A second is over: returns what is to be said of it.
    pub fn tick(&mut self, now: Time) -> Vec<Notice> {
        for (current, before) in &mut self.offered {
            *before = std::mem::take(current);
        }
        SPARED.into_iter().filter_map(|class| self.report(now, class)).collect()
    }

    fn report(&mut self, now: Time, class: MediaClass) -> Option<Notice> {
        let (left_out, before) = self.left_out[class.index()];
        self.left_out[class.index()].1 = left_out;
        let reported = &mut self.reported[class.index()];
        match reported {
            None if left_out > before => {
                *reported = Some(Reported { at: now, left_out, last: now });
                Some(Notice::LeftOut { class, pictures: left_out - before, span: REPORT_INTERVAL })
            }
            None => None,
            Some(known) if left_out > before => {
                known.last = now;
                if now - known.at < REPORTED_EVERY {
                    return None;
                }
                let (pictures, span) = (left_out - known.left_out, now - known.at);
                (known.at, known.left_out) = (now, left_out);
                Some(Notice::LeftOut { class, pictures, span })
            }
            Some(known) if now - known.last >= RELIEF => {
                *reported = None;
                Some(Notice::WholeAgain { class })
            }
            Some(_) => None,
        }
    }
}
