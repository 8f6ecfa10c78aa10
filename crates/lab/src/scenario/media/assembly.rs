//! [`Assembly`]: what is handed on, as whole units and as a picture that stands still or not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anabranch_media::Layer;
use anabranch_media::cutter::UnitJoiner;
use anabranch_media::playout::Released;
use anabranch_media::ts::PACKET_LEN;
use anabranch_sansio::Time;

use crate::scenario::judge::Judge;
use crate::scenario::options::Video;
use crate::scenario::stillness::Stillness;
use crate::scenario::stream::{Stream, UnitKey, counts};

/// Puts units together.
#[derive(Debug)]
pub(super) enum Assembly {
    /// Of pictures, which come in their order.
    Pictures { joiner: UnitJoiner, judge: Judge },
    /// Of a transport stream.
    Packets {
        stream: Arc<Stream>,
        /// When the film began, on the sender's clock.
        begun: Option<Time>,
        /// Packets of each unit so far.
        came: BTreeMap<UnitKey, u64>,
        /// Pictures that came whole.
        pictures: BTreeSet<u64>,
    },
}

/// A unit, all of which was handed on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole {
    pub(super) key: UnitKey,
    pub(super) bytes: u64,
}

impl Assembly {
    pub(super) fn new(video: &Video) -> Self {
        match video {
            Video::Pictures(film) => {
                Self::Pictures { joiner: UnitJoiner::new(), judge: Judge::new(film.clone()) }
            }
            Video::Stream(stream) => Self::Packets {
                stream: Arc::clone(stream),
                begun: None,
                came: BTreeMap::new(),
                pictures: BTreeSet::new(),
            },
        }
    }

    /// Takes what is handed on; answers with the unit that is whole with it.
    pub(super) fn take(&mut self, now: Time, released: &Released) -> Option<Whole> {
        match self {
            Self::Pictures { joiner, judge } => {
                let unit = joiner.push(released)?;
                if unit.layer == Layer::BASE {
                    judge.on_picture(now, unit.frame);
                }
                let key = (unit.track, unit.frame, unit.layer);
                Some(Whole { key, bytes: unit.bytes.len() as u64 })
            }
            Self::Packets { stream, begun, came, pictures } => {
                let (offset, _) = stream.packet(released.position);
                let since = released.sent.saturating_since(Time::ZERO + offset);
                begun.get_or_insert(Time::ZERO + since);
                let key = (released.track, released.frame, released.layer);
                if !counts(released.class) {
                    return None;
                }
                let (unit, picture) = stream.unit(key)?;
                let so_far = came.entry(key).or_default();
                *so_far += released.items;
                if *so_far < unit.packets {
                    return None;
                }
                forget_to(came, key);
                pictures.extend(picture);
                Some(Whole { key, bytes: unit.packets * PACKET_LEN as u64 })
            }
        }
    }

    /// How the film was seen, which ended at `stop`, and whose end was to be seen `latency` later.
    pub(super) fn stillness(&mut self, stop: Time, latency: Duration) -> Stillness {
        match self {
            Self::Pictures { judge, .. } => judge.on_end(stop + latency),
            Self::Packets { stream, begun, pictures, .. } => {
                let span = begun.map(|begun| stop.saturating_since(begun));
                stream.stillness(span.unwrap_or_default(), pictures)
            }
        }
    }
}

/// Forgets a unit and those before it on its track, which were given up.
pub(super) fn forget_to<T>(units: &mut BTreeMap<UnitKey, T>, key: UnitKey) {
    let first = (key.0, 0, Layer::BASE);
    while let Some(known) = units.range(first..=key).next().map(|(known, _)| *known) {
        units.remove(&known);
    }
}
