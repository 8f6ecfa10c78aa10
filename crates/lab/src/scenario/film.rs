//! [`Film`]: the pictures that a media session sends.

use std::sync::Arc;
use std::time::Duration;

use anabranch_media::clip::{Attribution, AudioFormat, ClipHeader, VideoFormat};
use anabranch_media::{Class, Layer, Track, Unit};
use anabranch_sansio::{Rate, Time};
use bytes::Bytes;

use crate::svc::Trace;

/// A key picture is as long as so many others.
const KEY_WEIGHT: u64 = 12;
/// A picture that others need is as long as so many that none needs, which weigh 1.
const REFERENCE_WEIGHT: u64 = 2;

/// Pictures without an end, each at its time.
#[derive(Debug, Clone)]
pub(super) struct Film {
    /// Between two pictures.
    pub(super) interval: Duration,
    pictures: Pictures,
}

#[derive(Debug, Clone)]
enum Pictures {
    /// Groups of a key picture and, in turn, one that no other needs and one that the next need.
    Groups {
        /// Pictures of each.
        len: u64,
        /// Bytes of a picture that no other needs.
        unit: u64,
    },
    /// Those of a recorded encoder, in a loop: each can be shown by itself, and has two layers.
    Recorded(Arc<Trace>),
}

impl Film {
    /// Made up: `len` pictures after one another are a group.
    pub(super) fn synthetic(rate: Rate, interval: Duration, len: u64) -> Self {
        let others = len - 1;
        let weight = KEY_WEIGHT + others.div_ceil(2) + others / 2 * REFERENCE_WEIGHT;
        let group = interval.mul_f64(len as f64);
        let unit = (rate.bytes_in(group) / weight).max(1);
        Self { interval, pictures: Pictures::Groups { len, unit } }
    }

    /// As an encoder made them.
    pub(super) fn recorded(trace: Trace, interval: Duration) -> Self {
        Self { interval, pictures: Pictures::Recorded(Arc::new(trace)) }
    }

    /// How much others need a picture.
    pub(super) fn class(&self, number: u64) -> Class {
        match &self.pictures {
            Pictures::Recorded(_) => Class::KeyFrame,
            Pictures::Groups { len, .. } => match number % len {
                0 => Class::KeyFrame,
                place if place.is_multiple_of(2) => Class::Reference,
                _ => Class::Disposable,
            },
        }
    }

    /// The units of a picture, which is ready at `at`.
    pub(super) fn picture(&self, number: u64, at: Time) -> Vec<Unit> {
        let class = self.class(number);
        let unit = |layer: u8, class: Class, len: u64, last_layer: bool| Unit {
            track: Track(0),
            class,
            layer: Layer(layer),
            frame: number,
            at,
            pts_us: i64::try_from(at.as_micros()).unwrap_or(i64::MAX),
            last_layer,
            discontinuity: false,
            bytes: Bytes::from(vec![0x5a; len as usize]),
        };
        match &self.pictures {
            Pictures::Groups { unit: len, .. } => {
                let weight = match (class == Class::KeyFrame, class == Class::Reference) {
                    (true, _) => KEY_WEIGHT,
                    (false, true) => REFERENCE_WEIGHT,
                    (false, false) => 1,
                };
                vec![unit(0, class, len * weight, true)]
            }
            Pictures::Recorded(trace) => {
                let frame = &trace.frames[number as usize % trace.frames.len()];
                let sum = |slices: &[u32]| slices.iter().map(|slice| u64::from(*slice)).sum();
                let base = unit(0, class, sum(&frame.base), false);
                vec![base, unit(1, Class::Disposable, sum(&frame.enhancement), true)]
            }
        }
    }

    /// What a session says of it.
    pub(super) fn header(&self) -> ClipHeader {
        let nobody = Attribution {
            text: String::new(),
            url: String::new(),
            license: String::new(),
            license_url: String::new(),
        };
        let video = VideoFormat {
            codec: "vp09.00.40.08".to_owned(),
            width: 1_280,
            height: 720,
            frame_rate_numerator: (1.0 / self.interval.as_secs_f64()).round() as u16,
            frame_rate_denominator: 1,
            layers: if matches!(self.pictures, Pictures::Recorded(_)) { 2 } else { 1 },
        };
        ClipHeader {
            title: "a film".to_owned(),
            video,
            audio: AudioFormat { codec: "opus".to_owned(), sample_rate: 48_000, channels: 2 },
            attribution: nobody,
            loop_duration_us: 10_000_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(40);

    #[test]
    fn a_film_has_its_rate_and_begins_each_group_with_a_key_picture() {
        let film = Film::synthetic(Rate::mbps(4), INTERVAL, 50);
        let group: Vec<Unit> = (50..100).flat_map(|n| film.picture(n, Time::ZERO)).collect();
        let bytes: usize = group.iter().map(|unit| unit.bytes.len()).sum();
        assert!((990_000..=1_000_000).contains(&bytes), "{bytes} bytes in two seconds");
        assert_eq!(group[0].class, Class::KeyFrame);
        assert_eq!([group[1].class, group[2].class], [Class::Disposable, Class::Reference]);
        assert_eq!(group.iter().filter(|unit| unit.class == Class::KeyFrame).count(), 1);
    }

    #[test]
    fn a_recorded_film_has_two_layers_and_begins_again_at_its_end() {
        let film = Film::recorded(Trace::jsvm_720p25(), INTERVAL);
        let [base, enhancement] = &film.picture(0, Time::ZERO)[..] else { panic!("two layers") };
        assert_eq!(base.bytes.len(), 15_408 + 17_812 + 12_233 + 15_529);
        assert!(!base.last_layer && enhancement.last_layer);
        assert_eq!(film.picture(2_116, Time::ZERO)[0].bytes.len(), base.bytes.len());
    }
}
