//! [`Forwarding`]: pieces of media over one connection, as much of them as its network takes.

use anabranch_call::treatment::{CLASSES, lifetime, priority};
use anabranch_media::Layer;
use anabranch_sansio::{PathId, Time, TraceLog};
use anabranch_session::dropping::{Dropping, LackOfRoom, Prospect, UnitKey, Verdict};
use anabranch_session::treatment::MediaClass;
use anabranch_transport::{Connection, Outgoing, PathPreference, Reliability, StreamId};

use crate::lacking::Lacking;
use crate::protocol::{FILES_STREAM, Forwarded, PPID_BINARY};

/// Bytes that may wait before no picture is added, whoever sends it: there is room for voice behind
/// that.
const PICTURES_WAITING_MAX: usize = 128 << 10;

/// What of media goes last.
const MEDIA_PRIORITY_LAST: u16 = priority(MediaClass::Disposable);

/// What of pieces is sent: all of a picture or nothing, and what a decoder can do without is left
/// out where it would wait for too long.
#[derive(Debug)]
pub(crate) struct Forwarding {
    dropping: Dropping,
    pub(crate) lacking: Lacking,
    /// Whether voice takes two paths while there are two: where one dies, no frame is missing.
    pub(crate) voice_twice: bool,
    /// The path that pictures take while it stands, if one was chosen.
    pub(crate) primary: Option<PathId>,
}

impl Forwarding {
    pub(crate) fn new() -> Self {
        let mut dropping = Dropping::new(false);
        // What comes before a key picture is of no use.
        dropping.break_off();
        Self { dropping, lacking: Lacking::new(), voice_twice: true, primary: None }
    }

    /// Nothing goes before the next key pictures: something was lost here.
    pub(crate) fn break_off(&mut self) {
        self.dropping.break_off();
    }

    /// Pictures that the network did not take.
    pub(crate) fn left_out(&self) -> u64 {
        [MediaClass::Reference, MediaClass::Disposable]
            .map(|class| self.dropping.left_out(class))
            .iter()
            .sum()
    }

    /// A second is over.
    pub(crate) fn tick(&mut self, now: Time) {
        // What is left out shows in the counters.
        let _notices = self.dropping.tick(now);
    }

    /// Hands a piece over, or leaves it out.
    pub(crate) fn forward(
        &mut self,
        now: Time,
        piece: Forwarded,
        connection: &mut dyn Connection,
        records: &mut TraceLog,
    ) {
        let class = piece.class;
        if class != MediaClass::Audio && media_queued(connection) > PICTURES_WAITING_MAX {
            self.dropping.break_off();
            return;
        }
        if !self.goes(now, &piece, connection, records) {
            connection.note_left_out(now);
            return;
        }
        let path = match (class, self.primary) {
            (MediaClass::Audio, _) if self.voice_twice => PathPreference::Two,
            (MediaClass::Audio, _) | (_, None) => PathPreference::Any,
            (_, Some(path)) => PathPreference::Prefer(path),
        };
        let message = Outgoing {
            ordered: false,
            reliability: Reliability::Lifetime(lifetime(class)),
            level: class.level(),
            path,
            ..Outgoing::new(class.stream(), PPID_BINARY, piece.bytes)
        };
        if connection.send(now, message).is_err()
            && matches!(class, MediaClass::KeyFrame | MediaClass::Reference)
        {
            self.dropping.break_off();
        }
    }

    /// Whether a piece is sent.
    fn goes(
        &mut self,
        now: Time,
        piece: &Forwarded,
        connection: &dyn Connection,
        records: &mut TraceLog,
    ) -> bool {
        let Forwarded { class, track, frame, .. } = *piece;
        self.dropping.offer(class, piece.bytes.len());
        let signal = connection.rate().filter(|signal| !signal.is_at_least);
        let goes_before = |other| priority(other) < priority(class);
        let carries = signal.map(|it| self.dropping.left_beside(it.carries, goes_before));
        let ahead = connection.queued_at(priority(class)) + piece.bytes.len();
        let prospect = carries
            .map(|rate| Prospect { wait: rate.time_for(ahead as u64), lifetime: lifetime(class) });
        let unit = UnitKey { track, layer: Layer::BASE, frame };
        let verdict = self.dropping.decide(now, unit, class, || prospect);
        self.lacking.note(now, piece.member(), class, verdict);
        if let Verdict::LacksRoom { next_key } = verdict {
            let lack = LackOfRoom { class, unit, prospect, next_key, carries, ahead };
            records.push(|| lack.record(now));
        }
        verdict == Verdict::Goes
    }
}

/// Bytes that wait, but for files.
pub(crate) fn media_queued(connection: &dyn Connection) -> usize {
    connection.queued_at(MEDIA_PRIORITY_LAST)
}

/// Media by what it is worth, and files behind all of it.
pub(crate) fn set_priorities(connection: &mut dyn Connection) {
    for (class, priority) in CLASSES {
        connection.set_stream_priority(class.stream(), priority);
    }
    connection.set_stream_priority(StreamId(FILES_STREAM), MEDIA_PRIORITY_LAST + 1);
}
