//! [`Programme`]: what is on.

use std::sync::Arc;
use std::time::Duration;

use anabranch_media::broadcast::{BroadcastScreen, Formats};
use anabranch_media::decoding::{AccessUnit, MediaTrack, VideoFormat, VideoInfo};
use anabranch_media::playout::Released;
use anabranch_media::{Layer, Packetizer, Track, Unit};
use anabranch_sansio::Time;

use crate::scenario::film::Film;
use crate::scenario::options::Video;
use crate::scenario::stream::Stream;

/// A programme without an end.
#[derive(Debug, Clone)]
pub(in crate::scenario) enum Programme {
    /// Pictures that are made up or recorded.
    Pictures(Film),
    /// A film of the user's, as viewers get it.
    Units(Arc<Units>),
}

/// The pictures and the sound of a film that begins again at its end.
#[derive(Debug)]
pub(in crate::scenario) struct Units {
    formats: Formats,
    /// When each is ready, from the beginning.
    units: Vec<(Duration, AccessUnit)>,
    /// Of pictures and of sound in one round.
    counts: [u64; 2],
    /// From one beginning to the next.
    round: Duration,
    interval: Duration,
}

impl Programme {
    /// What becomes of a film.
    pub(in crate::scenario) fn of(video: &Video) -> Result<Self, String> {
        match video {
            Video::Pictures(film) => Ok(Self::Pictures(film.clone())),
            Video::Stream(stream) => Units::of(stream).map(Arc::new).map(Self::Units),
        }
    }

    /// How it is to be decoded.
    pub(super) fn formats(&self) -> Formats {
        match self {
            Self::Pictures(film) => {
                let header = film.header();
                let video = VideoInfo {
                    codec: header.video.codec,
                    format: VideoFormat::Vp9,
                    width: Some(header.video.width.into()),
                    height: Some(header.video.height.into()),
                    fps: Some(1.0 / film.interval.as_secs_f64()),
                };
                Formats { video: Some(video), audio: None }
            }
            Self::Units(units) => units.formats.clone(),
        }
    }

    /// Between two pictures.
    pub(super) fn interval(&self) -> Duration {
        match self {
            Self::Pictures(film) => film.interval,
            Self::Units(units) => units.interval,
        }
    }

    /// When the picture or frame of sound of this number is ready, from the beginning.
    pub(super) fn offset(&self, number: u64) -> Duration {
        match self {
            Self::Pictures(film) => film.interval.mul_f64(number as f64),
            Self::Units(units) => {
                let (round, place) = units.split(number);
                units.begun(round) + units.units[place].0
            }
        }
    }

    /// Its layers, ready at `at`.
    pub(super) fn units(&self, number: u64, at: Time) -> Vec<Unit> {
        match self {
            Self::Pictures(film) => film.picture(number, at),
            Self::Units(units) => units.layers(number, at),
        }
    }
}

impl Units {
    fn of(stream: &Stream) -> Result<Self, String> {
        let (mut packetizer, mut screen) = (Packetizer::new(0), BroadcastScreen::new());
        let mut units = Vec::new();
        let mut take = |packetizer: &mut Packetizer, screen: &mut BroadcastScreen, due| {
            while let Some(piece) = packetizer.poll_piece() {
                screen.on_released(&Released::uncrossed(piece));
            }
            while let Some(unit) = screen.poll_unit() {
                units.push((due, unit));
            }
        };
        for (due, packet) in stream.packets() {
            packetizer.handle_packet(Time::ZERO + *due, packet);
            take(&mut packetizer, &mut screen, *due);
        }
        packetizer.finish();
        take(&mut packetizer, &mut screen, stream.round());
        screen.finish();
        take(&mut packetizer, &mut screen, stream.round());
        let is_picture = |(_, unit): &&(_, AccessUnit)| unit.track == MediaTrack::Video;
        let pictures = units.iter().filter(is_picture).count();
        let formats = screen.formats().filter(|formats| formats.video.is_some() && pictures > 0);
        let formats = formats.ok_or_else(|| {
            "viewers decode none of its pictures: give a film in H.264 or AV1".to_owned()
        })?;
        let counts = [pictures as u64, (units.len() - pictures) as u64];
        let (round, interval) = (stream.round(), stream.interval());
        Ok(Self { formats, units, counts, round, interval })
    }

    fn split(&self, number: u64) -> (u64, usize) {
        let of = self.units.len() as u64;
        (number / of, (number % of) as usize)
    }

    fn begun(&self, round: u64) -> Duration {
        self.round * u32::try_from(round).unwrap_or(u32::MAX)
    }

    fn layers(&self, number: u64, at: Time) -> Vec<Unit> {
        let (round, place) = self.split(number);
        let unit = &self.units[place].1;
        let later_us = i64::try_from(self.begun(round).as_micros()).unwrap_or(i64::MAX);
        let layers = unit.layers.iter().enumerate().map(|(layer, part)| Unit {
            track: Track(unit.track as u16),
            class: part.class,
            layer: Layer(layer as u8),
            frame: u64::from(unit.frame) + round * self.counts[unit.track as usize],
            at,
            pts_us: unit.pts_us.saturating_add(later_us),
            last_layer: layer + 1 == unit.layers.len(),
            discontinuity: unit.discontinuity,
            bytes: part.bytes.clone(),
        });
        layers.collect()
    }
}
