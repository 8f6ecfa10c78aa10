//! [`Thinning`]: what a viewer does without whose network carries less than the channel.

use std::time::Duration;

use anabranch_media::{Class, Layer};
use anabranch_sansio::Time;

use crate::channel::Part;

/// After a step up, what is already under way may take so long to make room.
const STEP_PAUSE: Duration = Duration::from_millis(250);

/// How long all must go well before more is tried.
const RECOVERY: Duration = Duration::from_secs(1);

/// What was tried too early is tried again later and later, up to this.
const RECOVERY_MAX: Duration = Duration::from_secs(48);

/// What goes well for three times as long as was waited for it, or for so long, was not tried too
/// early: a network that lacks a tenth of the room fills up sooner.
const PROBATION: Duration = Duration::from_secs(6);

/// How long something must be left out, or not, before the viewer is told, and how long nothing
/// more is said after that: what passes by itself is not worth a word.
const NOTICE_AFTER: Duration = Duration::from_secs(1);
const NOTICE_PAUSE: Duration = Duration::from_secs(5);

/// How much is left out. Sound never is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    All,
    /// The base layer of each picture.
    Base,
    /// No picture that no other is predicted from.
    References,
    /// A slide show.
    Keys,
}

/// Leaves out enhancement first, then pictures, as long as a viewer falls behind.
///
/// Trouble is taken for a passing one at first: then all is tried again at once, and from the next
/// key frame on where only these were left. Where that fails, one step is tried at a time, and less
/// and less often.
#[derive(Debug)]
pub(super) struct Thinning {
    level: Level,
    /// When the level changed.
    since: Time,
    /// When the viewer was last behind.
    strained: Time,
    /// When more was last tried.
    tried: Option<Time>,
    recovery: Duration,
    /// Whether there is anything but base layers.
    is_layered: bool,
    /// What the viewer was last told, and when.
    noticed: (Level, Time),
}

impl Thinning {
    pub(super) const fn new(now: Time) -> Self {
        Self {
            level: Level::All,
            noticed: (Level::All, Time::ZERO),
            since: now,
            strained: now,
            tried: None,
            recovery: RECOVERY,
            is_layered: false,
        }
    }

    /// A part is about to be sent, `lag` after its turn for which the viewer is to blame; it has
    /// `budget` in all.
    pub(super) fn observe(&mut self, now: Time, part: &Part, lag: Duration, budget: Duration) {
        self.is_layered |= part.layer > Layer::BASE;
        let is_behind = lag > budget / 2;
        if is_behind {
            self.strained = now;
        }
        if is_behind && now.saturating_since(self.since) >= STEP_PAUSE {
            self.step_up(now);
        } else if !is_behind && self.level != Level::All && self.may_try(now, part) {
            self.step_down(now);
        }
    }

    /// Whether it is time to try more. Who got key frames only waits for the next one anyway.
    fn may_try(&self, now: Time, part: &Part) -> bool {
        let is_entry = part.class == Class::KeyFrame;
        let is_first = self.level == Level::Keys && self.recovery == RECOVERY;
        is_first && is_entry || now.saturating_since(self.strained) >= self.recovery
    }

    /// Whether the viewer does without a part.
    pub(super) fn skips(&self, part: &Part) -> bool {
        let is_enhancement = part.layer > Layer::BASE;
        match (part.class, self.level) {
            (Class::Audio, _) | (_, Level::All) => false,
            (_, Level::Base) => is_enhancement,
            (class, Level::References) => is_enhancement || class == Class::Disposable,
            (class, Level::Keys) => is_enhancement || class != Class::KeyFrame,
        }
    }

    /// What the viewer does without, in words.
    pub(super) const fn reduction(&self) -> Option<&'static str> {
        match self.level {
            Level::All => None,
            Level::Base => Some("pictures are less sharp"),
            Level::References => Some("some pictures are left out"),
            Level::Keys => Some("only a picture now and then is sent"),
        }
    }

    /// What the viewer is to be told of it.
    pub(super) fn poll_notice(&mut self, now: Time) -> Option<String> {
        let (level, at) = self.noticed;
        let is_lasting = now.saturating_since(self.since) >= NOTICE_AFTER;
        let may_speak = level == Level::All || now.saturating_since(at) >= NOTICE_PAUSE;
        if level == self.level || !is_lasting || !may_speak {
            return None;
        }
        self.noticed = (self.level, now);
        Some(match self.reduction() {
            Some(what) => format!(
                "Reduced quality: {what}, because the network takes less than this channel needs."
            ),
            None => "Full quality again.".to_owned(),
        })
    }

    fn step_up(&mut self, now: Time) {
        if let Some(tried) = self.tried.take() {
            let was_early = now.saturating_since(tried) < PROBATION.min(3 * self.recovery);
            self.recovery =
                if was_early { (2 * self.recovery).min(RECOVERY_MAX) } else { RECOVERY };
        }
        self.level = match self.level {
            Level::All if self.is_layered => Level::Base,
            Level::All | Level::Base => Level::References,
            Level::References | Level::Keys => Level::Keys,
        };
        self.since = now;
    }

    fn step_down(&mut self, now: Time) {
        self.level = match self.level {
            _ if self.recovery == RECOVERY => Level::All,
            Level::Keys => Level::References,
            Level::References if self.is_layered => Level::Base,
            Level::References | Level::Base | Level::All => Level::All,
        };
        (self.since, self.strained, self.tried) = (now, now, Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Duration = Duration::from_millis(300);
    const LATE: Duration = Duration::from_millis(200);

    fn part(class: Class, layer: u8) -> Part {
        Part::for_tests(class, Layer(layer), 0)
    }

    /// A picture of this layer that is no key frame.
    fn picture(layer: u8) -> Part {
        part(Class::Reference, layer)
    }

    fn after(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn the_viewer_is_told_what_lasts_and_that_it_is_over() {
        let mut thinning = Thinning::new(Time::ZERO);
        let picture = part(Class::Reference, 0);
        let mut said = Vec::new();
        for ms in (0..20_000).step_by(40) {
            let now = Time::from_millis(ms);
            let lag = if (2_000..9_000).contains(&ms) { LATE } else { Duration::ZERO };
            thinning.observe(now, &picture, lag, BUDGET);
            said.extend(thinning.poll_notice(now).map(|text| (ms, text)));
        }
        let texts: Vec<&str> = said.iter().map(|(_, text)| text.as_str()).collect();
        assert!(texts[0].starts_with("Reduced quality: "), "{said:?}");
        assert_eq!(texts.last(), Some(&"Full quality again."), "{said:?}");
        assert!(said.len() <= 4 && said[0].0 >= 3_000, "{said:?}");
        assert_eq!(thinning.reduction(), None);
    }

    #[test]
    fn enhancement_goes_first_then_pictures_and_sound_never() {
        let key = part(Class::KeyFrame, 0);
        let reference = part(Class::Reference, 0);
        let disposable = part(Class::Disposable, 0);
        let enhancement = part(Class::Disposable, 1);
        let sound = part(Class::Audio, 0);
        let parts = [&sound, &key, &reference, &disposable, &enhancement];
        let mut thinning = Thinning::new(Time::ZERO);
        for left in [5, 4, 3, 2, 2] {
            let sent = parts.map(|part| !thinning.skips(part));
            assert_eq!(sent, [0, 1, 2, 3, 4].map(|place| place < left), "{thinning:?}");
            thinning.observe(thinning.since + STEP_PAUSE, &enhancement, LATE, BUDGET);
        }
    }

    #[test]
    fn one_delay_costs_one_step() {
        let mut thinning = Thinning::new(Time::ZERO);
        for ms in 300..500 {
            thinning.observe(after(ms), &picture(1), LATE, BUDGET);
        }
        assert_eq!(thinning.level, Level::Base);
    }

    #[test]
    fn where_there_is_one_layer_pictures_go_at_once() {
        let mut thinning = Thinning::new(Time::ZERO);
        thinning.observe(after(300), &picture(0), LATE, BUDGET);
        assert_eq!(thinning.level, Level::References);
    }

    #[test]
    fn who_got_key_frames_only_gets_all_from_the_next_one_on_unless_that_failed() {
        let key = part(Class::KeyFrame, 0);
        let mut thinning = Thinning::new(Time::ZERO);
        for (begun, is_taken) in [(1_000, true), (3_000, false)] {
            for ms in [300, 600, 900] {
                thinning.observe(after(begun + ms), &picture(1), LATE, BUDGET);
            }
            assert_eq!(thinning.level, Level::Keys);
            thinning.observe(after(begun + 1_000), &key, Duration::ZERO, BUDGET);
            assert_eq!(thinning.level == Level::All, is_taken);
        }
    }

    #[test]
    fn regression_the_size_of_key_frames_kept_a_viewer_at_them() {
        let mut thinning = Thinning::new(Time::ZERO);
        thinning.level = Level::Keys;
        thinning.recovery = 4 * RECOVERY;
        for ms in (0..=4_000).step_by(20) {
            // What comes behind a key frame, every second, waits until that is gone.
            let lag = Duration::from_millis(if ms % 1_000 < 100 { 100 } else { 0 });
            thinning.observe(after(ms), &picture(0), lag, BUDGET);
        }
        assert_eq!(thinning.level, Level::References);
    }

    #[test]
    fn a_long_trouble_that_passes_leaves_nothing_out_a_second_later() {
        let mut thinning = Thinning::new(Time::ZERO);
        for ms in (0..5_000).step_by(10) {
            thinning.observe(after(ms), &picture(1), LATE, BUDGET);
        }
        assert_eq!(thinning.level, Level::Keys);
        for ms in (5_000..6_000).step_by(10) {
            thinning.observe(after(ms), &picture(1), Duration::ZERO, BUDGET);
        }
        assert_eq!(thinning.level, Level::All);
    }

    #[test]
    fn what_went_well_for_long_is_tried_again_as_soon_as_before_the_trouble() {
        let mut thinning = Thinning::new(Time::ZERO);
        let mut came_back = Vec::new();
        for ms in (0..200_000).step_by(10) {
            let is_bad =
                ms < 60_000 && thinning.level == Level::All || (150_000..152_000).contains(&ms);
            let before = thinning.level;
            thinning.observe(
                after(ms),
                &picture(1),
                if is_bad { LATE } else { Duration::ZERO },
                BUDGET,
            );
            if thinning.level == Level::All && before != Level::All {
                came_back.push(ms);
            }
        }
        let last = came_back.last().copied().unwrap();
        assert!((152_900..=153_000).contains(&last), "{came_back:?}");
    }

    #[test]
    fn what_was_left_out_comes_back_and_what_fails_is_tried_less_often() {
        let mut thinning = Thinning::new(Time::ZERO);
        let mut tried = Vec::new();
        // The network carries the base only.
        for ms in (0..120_000).step_by(10) {
            let lag = if thinning.level == Level::All { LATE } else { Duration::ZERO };
            let before = thinning.level;
            thinning.observe(after(ms), &picture(1), lag, BUDGET);
            if thinning.level < before {
                tried.push(ms / 1_000);
            }
        }
        let pauses: Vec<_> = tried.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(pauses.len() >= 3 && pauses.is_sorted(), "{tried:?}");
        assert!(pauses.last() >= Some(&24), "{tried:?}");
    }
}
