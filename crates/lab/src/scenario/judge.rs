//! [`Judge`]: which pictures of a film can be shown as they come.

use anabranch_media::Class;
use anabranch_sansio::Time;

use super::film::Film;
use super::stillness::Stillness;

/// Follows the pictures of a film as they come.
#[derive(Debug)]
pub(super) struct Judge {
    film: Film,
    /// The picture that is expected next.
    next: u64,
    /// All that the next pictures refer to was there.
    is_whole: bool,
    stillness: Stillness,
}

impl Judge {
    pub(super) const fn new(film: Film) -> Self {
        let stillness = Stillness::new(film.interval);
        Self { film, next: 0, is_whole: false, stillness }
    }

    /// The base layer of a picture is there and to be shown now.
    pub(super) fn on_picture(&mut self, now: Time, number: u64) {
        let needed = |number: u64| self.film.class(number) != Class::Disposable;
        if (self.next..number).any(needed) {
            self.is_whole = false;
        }
        self.next = number + 1;
        self.is_whole |= self.film.class(number) == Class::KeyFrame;
        if self.is_whole {
            self.stillness.on_shown(now);
        }
    }

    /// The film has ended: what was to be shown last was to be shown at `end`.
    pub(super) fn on_end(&mut self, end: Time) -> Stillness {
        self.stillness.on_end(end);
        self.stillness
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anabranch_sansio::Rate;

    use super::*;

    /// Shows these pictures of groups of ten at 25 a second, until picture 40 was to be shown.
    fn judge(pictures: impl IntoIterator<Item = u64>) -> (u64, u128) {
        let interval = Duration::from_millis(40);
        let mut judge = Judge::new(Film::synthetic(Rate::mbps(1), interval, 10));
        pictures.into_iter().for_each(|n| judge.on_picture(Time::from_millis(40 * n), n));
        let stillness = judge.on_end(Time::from_millis(40 * 40));
        (stillness.freezes, stillness.frozen.as_millis())
    }

    #[test]
    fn what_no_other_needs_may_be_missing() {
        assert_eq!(judge(0..40), (0, 0));
        assert_eq!(judge((0..40).filter(|n| *n != 5)), (0, 0));
    }

    #[test]
    fn a_lost_reference_freezes_the_picture_until_the_next_key_picture() {
        // From picture 11 to 20: 360 ms instead of 40.
        assert_eq!(judge((0..40).filter(|n| *n != 12)), (1, 320));
        assert_eq!(judge((0..40).filter(|n| *n != 19 && *n != 18)), (0, 0), "120 ms are none");
    }

    #[test]
    fn a_film_that_stops_early_is_frozen_to_its_end() {
        assert_eq!(judge(0..20), (1, 21 * 40 - 40));
        assert_eq!(judge([]), (0, 0));
    }
}
