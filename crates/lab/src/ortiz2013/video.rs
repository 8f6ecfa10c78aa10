//! [`Video`]: what is sent, frame by frame.

use std::fs;
use std::iter;
use std::path::Path;
use std::time::Duration;

use anabranch_media::Class;

use super::measure::Arrivals;
use super::values::Values;
use crate::footage::{self, Footage, PICTURE};
use crate::scenario::FilmUnit;
use crate::svc::{Layer, Pictures, Trace, VideoPacket, packets};

/// A video of two layers.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Video {
    /// Frames with both layers, of which is known what is seen where something is missing.
    Layered(Trace),
    /// The pictures of a film, in the order of decoding. It is not scored.
    Film(Vec<Picture>),
}

/// A picture of a film: it is in one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Picture {
    /// Enhancement if no other picture refers to it.
    pub(super) layer: Layer,
    pub(super) bytes: usize,
    /// When its first packet goes out, and when that of the next picture does, which is later.
    due: (Duration, Duration),
    /// When it is shown, after the first one.
    shown: Duration,
}

impl Video {
    /// Reads a film or a table of pictures, or a table of layered frames, which is scored.
    pub(super) fn read(file: &str) -> Result<Self, String> {
        if footage::is_table(Path::new(file)) {
            let table = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
            if footage::is_layered(&table) {
                let trace = Trace::from_csv(&table).map_err(|error| format!("{file}: {error}"))?;
                return Ok(Self::Layered(trace));
            }
        }
        Ok(Self::Film(pictures(&Footage::read(file)?)))
    }

    /// Its pictures, if it is a film.
    pub(super) fn film(&self) -> Option<&[Picture]> {
        match self {
            Self::Layered(_) => None,
            Self::Film(pictures) => Some(pictures),
        }
    }

    pub(super) fn frames(&self) -> usize {
        match self {
            Self::Layered(trace) => trace.frames.len(),
            Self::Film(pictures) => pictures.len(),
        }
    }

    /// Only its beginning.
    pub(super) fn truncate(&mut self, frames: usize) {
        match self {
            Self::Layered(trace) => trace.frames.truncate(frames),
            Self::Film(pictures) => pictures.truncate(frames),
        }
    }

    /// The packets in the order they are sent in. Those of a picture are spread evenly over the
    /// time until the next one.
    pub(super) fn packets(&self, values: &Values) -> Vec<VideoPacket> {
        match self {
            Self::Layered(trace) => packets(trace, values.frame_time(), values.payload_max()),
            Self::Film(pictures) => {
                let of = |(frame, picture): (usize, &Picture)| {
                    picture.packets(frame, values.payload_max())
                };
                pictures.iter().enumerate().flat_map(of).collect()
            }
        }
    }

    /// Seconds in which it is sent, begun ones included.
    pub(super) fn seconds(&self, frame_time: Duration) -> usize {
        match self {
            Self::Layered(trace) => {
                let nanos = trace.frames.len() as u128 * frame_time.as_nanos();
                nanos.div_ceil(1_000_000_000) as usize
            }
            Self::Film(pictures) => end_of(pictures).as_nanos().div_ceil(1_000_000_000) as usize,
        }
    }

    /// When a frame is shown, in seconds after the first one.
    pub(super) fn shown_s(&self, frame: usize, frame_rate: u32) -> f64 {
        match self {
            Self::Layered(_) => frame as f64 / f64::from(frame_rate),
            Self::Film(pictures) => {
                pictures.get(frame).map_or(0.0, |picture| picture.shown.as_secs_f64())
            }
        }
    }

    /// What is seen of it if these packets arrived, however late: of a film each picture that is
    /// all there.
    pub(super) fn seen(&self, packets: &[VideoPacket], arrivals: &Arrivals) -> Pictures {
        match self {
            Self::Layered(trace) => Pictures::score(trace, packets, |id| arrivals[id].is_some()),
            Self::Film(pictures) => {
                let repeated = missing(packets, arrivals).len();
                Pictures { full: pictures.len() - repeated, repeated, ..Pictures::default() }
            }
        }
    }

    /// How many pictures of a film's base layer are not all there.
    pub(super) fn base_missing(
        &self,
        packets: &[VideoPacket],
        arrivals: &Arrivals,
    ) -> Option<usize> {
        let is_base = |layer: &&Layer| **layer == Layer::Base;
        self.film().map(|_| missing(packets, arrivals).iter().filter(is_base).count())
    }
}

impl Picture {
    fn packets(self, frame: usize, payload_max: u32) -> impl Iterator<Item = VideoPacket> {
        let Self { layer, bytes, due: (begin, end), .. } = self;
        let count = bytes.div_ceil(payload_max as usize) as u32;
        let rest = move |index: u32| bytes - index as usize * payload_max as usize;
        (0..count).map(move |index| VideoPacket {
            at: begin + (end - begin) * index / count,
            frame,
            layer,
            len: rest(index).min(payload_max as usize) as u32,
        })
    }
}

/// The layers of the pictures that are not all there.
fn missing(packets: &[VideoPacket], arrivals: &Arrivals) -> Vec<Layer> {
    let sent: Vec<_> = packets.iter().zip(arrivals).collect();
    let has_hole = |picture: &[(&VideoPacket, &Option<_>)]| {
        picture.iter().find(|(_, arrival)| arrival.is_none()).map(|(packet, _)| packet.layer)
    };
    sent.chunk_by(|(a, _), (b, _)| a.frame == b.frame).filter_map(has_hole).collect()
}

/// Its pictures, from the first one's first packet on.
fn pictures(film: &Footage) -> Vec<Picture> {
    const LEAST: Duration = Duration::from_nanos(1);
    let units: Vec<&FilmUnit> = film.pictures().collect();
    let begin = units.first().map_or(Duration::ZERO, |unit| unit.due.0);
    let ends = units.iter().skip(1).map(|next| next.due.0).chain(iter::once(end(&units)));
    let picture = |(unit, end): (&&FilmUnit, Duration)| Picture {
        layer: match unit.class == Class::Disposable {
            true => Layer::Enhancement,
            false => Layer::Base,
        },
        bytes: unit.bytes,
        due: (unit.due.0.saturating_sub(begin), end.max(unit.due.0 + LEAST).saturating_sub(begin)),
        shown: unit.shown.unwrap_or_default(),
    };
    units.iter().zip(ends).map(picture).collect()
}

/// When a picture after the last one would begin: the last one takes as long as the one before.
fn end(units: &[&FilmUnit]) -> Duration {
    match units {
        [.., before, last] => last.due.0 + last.due.0.saturating_sub(before.due.0),
        [only] => only.due.1.max(only.due.0 + PICTURE),
        [] => Duration::ZERO,
    }
}

/// When all of them are sent.
pub(super) fn end_of(pictures: &[Picture]) -> Duration {
    pictures.last().map_or(Duration::ZERO, |picture| picture.due.1)
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::Time;

    use super::*;
    use crate::footage::testing::{FILM, MP4, TABLE};

    fn of(file: &str) -> (Video, Vec<VideoPacket>) {
        let video = Video::read(file).unwrap();
        let packets = video.packets(&Values::default());
        (video, packets)
    }

    #[test]
    fn a_films_layers_are_what_its_classes_say() {
        for file in [FILM, MP4, TABLE] {
            let (footage, (video, packets)) = (Footage::read(file).unwrap(), of(file));
            let pictures = video.film().unwrap();
            assert_eq!(pictures.len(), footage.pictures().count(), "{file}");
            for (number, (picture, unit)) in pictures.iter().zip(footage.pictures()).enumerate() {
                let is_disposable = unit.class == Class::Disposable;
                assert_eq!(picture.layer == Layer::Enhancement, is_disposable, "{file} {number}");
                let its: Vec<_> = packets.iter().filter(|it| it.frame == number).collect();
                assert!(its.iter().all(|packet| packet.layer == picture.layer), "{file} {number}");
                let bytes: usize = its.iter().map(|packet| packet.len as usize).sum();
                assert_eq!(bytes, unit.bytes, "{file} {number}");
            }
            let of_base = pictures.iter().filter(|picture| picture.layer == Layer::Base).count();
            assert!((1..pictures.len()).contains(&of_base), "{file}: both layers");
        }
    }

    #[test]
    fn a_films_packets_go_out_at_its_own_times_and_evenly_until_the_next_picture() {
        let (video, packets) = of(TABLE);
        assert!(packets.is_sorted_by_key(|packet| packet.at));
        let first: Vec<_> = packets.iter().filter(|packet| packet.frame == 0).collect();
        let even = PICTURE / first.len() as u32;
        let gaps = first.windows(2).map(|pair| pair[1].at - pair[0].at);
        assert!(gaps.into_iter().all(|gap| gap.abs_diff(even) <= Duration::from_nanos(2)));
        assert_eq!((first.len(), packets[first.len()].at), (65, PICTURE));
        assert_eq!(video.seconds(PICTURE), 12);
        let (video, packets) = of(FILM);
        let footage = Footage::read(FILM).unwrap();
        let begin = footage.pictures().next().unwrap().due.0;
        for (number, unit) in footage.pictures().enumerate() {
            let first = packets.iter().find(|packet| packet.frame == number).unwrap();
            assert_eq!(first.at, unit.due.0 - begin, "{number}");
            assert!((video.shown_s(number, 1) - unit.shown.unwrap().as_secs_f64()).abs() < 1e-9);
        }
    }

    #[test]
    fn a_picture_with_a_hole_is_missing_and_has_no_score() {
        let (video, packets) = of(TABLE);
        let holes = [Layer::Base, Layer::Enhancement]
            .map(|layer| packets.iter().position(|packet| packet.layer == layer).unwrap());
        let arrived = |id| (!holes.contains(&id)).then_some(Time::ZERO);
        let arrivals = (0..packets.len()).map(arrived).collect();
        let seen = video.seen(&packets, &arrivals);
        let counts = (seen.full, seen.base, seen.repeated, seen.frames.len());
        assert_eq!(counts, (298, 0, 2, 0));
        assert_eq!(video.base_missing(&packets, &arrivals), Some(1));
    }
}
