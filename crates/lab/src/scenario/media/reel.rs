//! [`Reel`]: what of a film is sent next.

use std::sync::Arc;
use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_session::{PushError, Sender, SourceFormat};

use crate::scenario::film::Film;
use crate::scenario::frames::{FlowFrames, Offered};
use crate::scenario::options::Video;
use crate::scenario::stream::Stream;

/// A film, and how far it was sent.
#[derive(Debug)]
pub(super) enum Reel {
    /// The number of the next picture.
    Pictures(Film, u64),
    /// The number of the next packet.
    Packets(Arc<Stream>, u64),
}

impl Reel {
    pub(super) fn new(video: &Video) -> Self {
        match video {
            Video::Pictures(film) => Self::Pictures(film.clone(), 0),
            Video::Stream(stream) => Self::Packets(Arc::clone(stream), 0),
        }
    }

    /// What a session says of it.
    pub(super) fn format(&self) -> SourceFormat {
        match self {
            Self::Pictures(film, _) => SourceFormat::Clip(film.header()),
            Self::Packets(..) => SourceFormat::MpegTs,
        }
    }

    /// From the beginning of the film to what comes next.
    pub(super) fn next_offset(&self) -> Duration {
        match self {
            Self::Pictures(film, next) => film.interval.mul_f64(*next as f64),
            Self::Packets(stream, next) => stream.packet(*next).0,
        }
    }

    /// Sends what comes next, which is ready at `at`, and tells the units that are whole with it.
    pub(super) fn send(
        &mut self,
        now: Time,
        at: Time,
        sender: &mut Sender,
        frames: Option<&FlowFrames>,
    ) -> (u64, Result<(), PushError>) {
        match self {
            Self::Pictures(film, next) => {
                let units = film.picture(*next, at);
                *next += 1;
                let mut sent = Ok(());
                for unit in &units {
                    frames.inspect(|frames| frames.on_ready(Offered::unit(unit)));
                    sent = sent.and(sender.push_unit(now, unit));
                }
                (units.len() as u64, sent)
            }
            Self::Packets(stream, next) => {
                let sent = sender.push_packet(now, at, stream.packet(*next).1);
                let ended = stream.ended_by(*next);
                if let (Some(unit), Some(frames)) = (ended, frames) {
                    frames.on_ready(Offered::of_stream(&unit, at));
                }
                *next += 1;
                (u64::from(ended.is_some()), sent)
            }
        }
    }
}
