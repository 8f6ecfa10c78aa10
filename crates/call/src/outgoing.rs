//! [`Outgoing`]: our voice and pictures, cut into pieces and treated.

use anabranch_media::cutter::UnitCutter;
use anabranch_media::piece::{Header, MAX_MESSAGE};
use anabranch_media::{Piece, Unit};
use anabranch_sansio::{PathId, Rng, Time, TraceLog};
use anabranch_session::MEDIA;
use anabranch_session::dropping::{Dropping, LackOfRoom, Prospect, UnitKey, Verdict};
use anabranch_session::treatment::MediaClass;
use anabranch_transport::{Connection, Level, PathPreference, Reliability};
use bytes::Bytes;

use crate::Picture;
use crate::treatment::{BEHIND_MEDIA, CLASSES, lifetime, priority};
use crate::units::{picture_unit, voice_unit};

/// Pieces are one packet long, but no shorter: a picture would have too many.
const PIECE_LEN_MIN: usize = 1_000;

/// Bytes of control, voice and pictures that wait to be sent for the first time.
pub(crate) fn media_queued(connection: &dyn Connection) -> usize {
    let behind = BEHIND_MEDIA.map(|(_, priority)| connection.queued_at(priority));
    connection.queued().saturating_sub(behind.iter().sum())
}

/// Our voice and pictures on their way to a peer.
#[derive(Debug)]
pub(crate) struct Outgoing {
    cutter: UnitCutter,
    dropping: Dropping,
    voice_frames: u64,
    pictures: u64,
    /// Whether voice takes two paths while there are two.
    pub(crate) voice_twice: bool,
    /// Whether each frame of voice goes out once more with the one after it.
    pub(crate) repeats_voice: bool,
    last_voice: Vec<Piece>,
    /// The path that pictures take while it stands, if one was chosen.
    pub(crate) primary: Option<PathId>,
    /// Something that a decoder needs was left out or given up: only a key picture helps.
    lacks_key: bool,
    /// Pictures that were left out, for who asks why.
    pub(crate) records: TraceLog,
}

impl Outgoing {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        Self {
            cutter: UnitCutter::new(rng.next_u32() as u16),
            dropping: Dropping::new(false),
            voice_frames: 0,
            pictures: 0,
            voice_twice: true,
            repeats_voice: false,
            last_voice: Vec::new(),
            primary: None,
            lacks_key: false,
            records: TraceLog::default(),
        }
    }

    /// A call begins over this connection.
    pub(crate) fn begin(&mut self, rng: &mut Rng, connection: &mut dyn Connection) {
        let (voice_twice, len) = (self.voice_twice, connection.whole_message_max());
        let records = std::mem::take(&mut self.records);
        *self = Self { voice_twice, records, ..Self::new(rng) };
        let len = len.clamp(PIECE_LEN_MIN, MAX_MESSAGE);
        self.cutter = UnitCutter::with_pieces_of(rng.next_u32() as u16, len);
        // Decoding at the other end begins with a key picture.
        self.lacks_key = true;
        for (class, priority) in CLASSES {
            connection.set_stream_priority(class.stream(), priority);
        }
        for (stream, priority) in BEHIND_MEDIA {
            connection.set_stream_priority(stream, priority);
        }
    }

    /// Frames of voice so far.
    pub(crate) const fn voice_frames(&self) -> u64 {
        self.voice_frames
    }

    /// Pictures that were left out since the network does not carry them.
    pub(crate) fn left_out(&self) -> u64 {
        [MediaClass::Reference, MediaClass::Disposable]
            .map(|class| self.dropping.left_out(class))
            .iter()
            .sum()
    }

    /// Whether the encoder is to make a key picture: something was left out that others need.
    pub(crate) const fn lacks_key(&self) -> bool {
        self.lacks_key
    }

    /// A second is over.
    pub(crate) fn tick(&mut self, now: Time) {
        // What is left out shows in the counters.
        let _notices = self.dropping.tick(now);
    }

    pub(crate) fn push_voice(
        &mut self,
        now: Time,
        at: Time,
        bytes: Bytes,
        connection: &mut dyn Connection,
    ) {
        let Some(unit) = voice_unit(self.voice_frames, at, bytes) else { return };
        self.voice_frames += 1;
        self.dropping.offer(MediaClass::Audio, unit.bytes.len());
        let path = if self.voice_twice { PathPreference::Two } else { PathPreference::Any };
        let pieces: Vec<Piece> = self.cutter.cut(&unit).collect();
        let before = std::mem::take(&mut self.last_voice);
        let again = if self.repeats_voice { &before[..] } else { &[] };
        for piece in pieces.iter().chain(again) {
            self.send(now, MediaClass::Audio, piece, path, connection);
        }
        self.last_voice = pieces;
    }

    pub(crate) fn push_picture(
        &mut self,
        now: Time,
        picture: Picture,
        connection: &mut dyn Connection,
    ) {
        let Some(unit) = picture_unit(self.pictures, picture) else { return };
        let class = MediaClass::of(unit.class, unit.layer);
        self.pictures += 1;
        self.dropping.offer(class, unit.bytes.len());
        let pieces: Vec<Piece> = self.cutter.cut(&unit).collect();
        if !self.goes(now, &unit, class, connection) {
            return;
        }
        if class == MediaClass::KeyFrame {
            self.lacks_key = false;
        }
        let path = self.primary.map_or(PathPreference::Any, PathPreference::Prefer);
        for piece in pieces {
            self.send(now, class, &piece, path, connection);
        }
    }

    fn goes(
        &mut self,
        now: Time,
        unit: &Unit,
        class: MediaClass,
        connection: &mut dyn Connection,
    ) -> bool {
        let Unit { track, layer, frame, .. } = *unit;
        let signal = connection.rate().filter(|signal| !signal.is_at_least);
        let goes_before = |other| priority(other) < priority(class);
        let rate = signal.map(|signal| self.dropping.left_beside(signal.carries, goes_before));
        let ahead = connection.queued_at(priority(class)) + unit.bytes.len();
        let lifetime = lifetime(class);
        let prospect = rate.map(|rate| Prospect { wait: rate.time_for(ahead as u64), lifetime });
        let unit = UnitKey { track, layer, frame };
        let verdict = self.dropping.decide(now, unit, class, || prospect);
        if let Verdict::LacksRoom { next_key } = verdict {
            let lack = LackOfRoom { class, unit, prospect, next_key, carries: rate, ahead };
            self.records.push(|| lack.record(now));
        }
        if verdict != Verdict::Goes {
            connection.note_left_out(now);
            self.lacks_key |= class == MediaClass::Reference;
        }
        verdict == Verdict::Goes
    }

    fn send(
        &mut self,
        now: Time,
        class: MediaClass,
        piece: &Piece,
        path: PathPreference,
        connection: &mut dyn Connection,
    ) {
        let lifetime = lifetime(class).saturating_sub(now - Header::first_at(&piece.header));
        let message = anabranch_transport::Outgoing {
            ordered: false,
            reliability: Reliability::Lifetime(lifetime),
            path,
            level: if class == MediaClass::Audio { Level::Urgent } else { class.level() },
            ..anabranch_transport::Outgoing::new(class.stream(), MEDIA, piece.encode().into())
        };
        let is_taken = connection.send(now, message).is_ok();
        // No room for megabytes: the rest of the picture is of no use.
        self.lacks_key |=
            !is_taken && matches!(class, MediaClass::KeyFrame | MediaClass::Reference);
    }
}
