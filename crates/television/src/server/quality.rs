//! [`Quality`]: what a viewer is told of the pictures that it does without.

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_session::treatment::MediaClass;

/// How long something must be left out before the viewer is told, and how long nothing more is
/// said after that: what passes by itself is not worth a word.
const NOTICE_AFTER: Duration = Duration::from_secs(3);
const NOTICE_PAUSE: Duration = Duration::from_secs(5);

/// What a viewer does without, and what it was told of that.
#[derive(Debug)]
pub(super) struct Quality {
    /// The most important class of which something is left out, and since when.
    reduced: (Option<MediaClass>, Time),
    told: (Option<MediaClass>, Time),
}

impl Quality {
    pub(super) const fn new(now: Time) -> Self {
        Self { reduced: (None, now), told: (None, Time::ZERO) }
    }

    pub(super) fn set(&mut self, now: Time, reduced: Option<MediaClass>) {
        if self.reduced.0 != reduced {
            self.reduced = (reduced, now);
        }
    }

    /// In words.
    pub(super) fn reduction(&self) -> Option<&'static str> {
        self.reduced.0.map(|class| match class {
            MediaClass::Enhancement => "pictures are less sharp",
            MediaClass::Disposable => "some pictures are left out",
            MediaClass::Reference
            | MediaClass::KeyFrame
            | MediaClass::Audio
            | MediaClass::Control
            | MediaClass::Tables
            | MediaClass::Data
            | MediaClass::Padding => "the picture stands still now and then",
        })
    }

    /// What the viewer is to be told.
    pub(super) fn poll_notice(&mut self, now: Time) -> Option<String> {
        let ((reduced, since), (told, at)) = (self.reduced, self.told);
        let is_lasting = now.saturating_since(since) >= NOTICE_AFTER;
        let may_speak = told.is_none() || now.saturating_since(at) >= NOTICE_PAUSE;
        if told == reduced || !is_lasting || !may_speak {
            return None;
        }
        self.told = (reduced, now);
        Some(match self.reduction() {
            Some(what) => format!(
                "Reduced quality: {what}, because the network takes less than this channel needs."
            ),
            None => "Full quality again.".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_viewer_is_told_what_lasts_and_that_it_is_over() {
        let mut quality = Quality::new(Time::ZERO);
        let mut said = Vec::new();
        for ms in (0..30_000).step_by(40) {
            let now = Time::from_millis(ms);
            let reduced = match ms {
                1_000..3_000 => Some(MediaClass::Enhancement),
                4_000..10_000 => Some(MediaClass::Disposable),
                10_000..15_000 => Some(MediaClass::Reference),
                _ => None,
            };
            quality.set(now, reduced);
            said.extend(quality.poll_notice(now).map(|text| (ms / 1_000, text)));
        }
        let reduced = |what: &str| {
            format!(
                "Reduced quality: {what}, because the network takes less than this channel needs."
            )
        };
        let expected = [
            (7, reduced("some pictures are left out")),
            (13, reduced("the picture stands still now and then")),
            (18, "Full quality again.".to_owned()),
        ];
        assert_eq!(said, expected);
        assert_eq!(quality.reduction(), None);
    }
}
