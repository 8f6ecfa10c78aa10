//! [`Pictures`]: parts of pictures in as they come, whole pictures out in decoding order.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_media::Piece;
use anabranch_media::piece::{MAX_UNIT_PIECES, References};
use anabranch_sansio::Time;
use bytes::{Bytes, BytesMut};

use super::voice::Local;
use crate::{PictureKind, Playback, Played};

/// How long after its time a picture is waited for that others need: its parts are sent again for
/// so long.
const PATIENCE: Duration = Duration::from_millis(600);

/// How long it is until a key picture is asked for instead: what was lost once comes again sooner.
const ASK_AFTER: Duration = Duration::from_millis(250);

/// How often it is asked for.
const ASK_EVERY: Duration = Duration::from_millis(300);

/// Pictures that may be incomplete or wait for their time, and their bytes.
const OPEN_MAX: usize = 64;
const BYTES_MAX: usize = 8 << 20;

/// What became of the pictures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PictureCounts {
    /// Pictures that were handed on.
    pub shown: u64,
    /// Pictures that did not come, or in vain because one that they need did not.
    pub lost: u64,
}

/// A picture of which something came.
#[derive(Debug)]
struct Open {
    at: Time,
    kind: PictureKind,
    references: References,
    parts: BTreeMap<u64, Bytes>,
    /// How many parts there are, once the last one came.
    count: Option<u64>,
}

impl Open {
    fn is_whole(&self) -> bool {
        self.count.is_some_and(|count| self.parts.len() as u64 == count)
    }

    fn len(&self) -> usize {
        self.parts.values().map(Bytes::len).sum()
    }

    fn bytes(mut self) -> Bytes {
        if self.parts.len() == 1
            && let Some((_, whole)) = self.parts.pop_first()
        {
            return whole;
        }
        let mut bytes = BytesMut::with_capacity(self.len());
        self.parts.values().for_each(|part| bytes.extend_from_slice(part));
        bytes.freeze()
    }
}

/// The pictures of one sender.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    open: BTreeMap<u64, Open>,
    bytes: usize,
    /// Behind the last picture that was handed on: its number, and how many references came.
    shown: Option<(u64, References)>,
    /// Only a key picture helps.
    is_broken: bool,
    asked: Option<Time>,
    wants_key: bool,
    counts: PictureCounts,
}

/// Whether a picture can be decoded now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// What it needs was shown.
    Fits,
    /// Something that it needs may still come.
    Lacks,
    /// It is of no use without a key picture.
    Useless,
}

impl Pictures {
    pub(super) const fn counts(&self) -> PictureCounts {
        self.counts
    }

    /// The sender's clock or its numbers began anew.
    pub(super) fn restart(&mut self) {
        let counts = self.counts;
        *self = Self { counts, ..Self::default() };
    }

    /// The decoder lost track, whatever came.
    pub(super) const fn break_off(&mut self) {
        self.is_broken = true;
        self.wants_key = true;
    }

    /// Whether a key picture is to be asked for. Said once each time.
    pub(super) fn take_key_wanted(&mut self, now: Time) -> bool {
        let is_due = self.asked.is_none_or(|at| now - at >= ASK_EVERY);
        if !self.wants_key || !is_due {
            return false;
        }
        self.asked = Some(now);
        true
    }

    /// A part of a picture came.
    pub(super) fn push(&mut self, piece: Piece, kind: PictureKind) {
        let header = &piece.header;
        let is_past = self.shown.is_some_and(|(number, _)| header.frame < number);
        if is_past || header.index >= MAX_UNIT_PIECES {
            return;
        }
        let references = header.presentation.unwrap_or_default().references;
        let open = self.open.entry(header.frame).or_insert_with(|| Open {
            at: header.first_at(),
            kind,
            references,
            parts: BTreeMap::new(),
            count: None,
        });
        if header.last {
            open.count = Some(header.index + 1);
        }
        let len = piece.payload.len();
        let before = open.parts.insert(header.index, piece.payload);
        self.bytes += len;
        self.bytes -= before.map_or(0, |before| before.len());
        while self.open.len() > OPEN_MAX || self.bytes > BYTES_MAX {
            self.give_up_first();
        }
    }

    /// The next picture that can be decoded, if its time has come. `delay` is how long voice waits.
    pub(super) fn poll(
        &mut self,
        now: Time,
        delay: Duration,
        local: Local<'_>,
    ) -> Option<Playback> {
        while let Some((number, due)) = self.first(delay, local) {
            let open = self.open.get(&number)?;
            let is_ready = open.is_whole() && self.fit(number, open) == Fit::Fits;
            if is_ready && due <= now {
                return self.show(number, due.max(now));
            }
            if is_ready || due > now {
                return None;
            }
            if let Some(key) = self.whole_key_behind(number) {
                self.skip_to(key);
                continue;
            }
            let is_hopeless = self.fit(number, open) == Fit::Useless;
            if !is_hopeless && now - due < self.patience(number) {
                self.wants_key |= now - due >= ASK_AFTER;
                return None;
            }
            self.give_up_first();
        }
        None
    }

    /// When [`poll`](Self::poll) has something to do next.
    pub(super) fn due(&self, now: Time, delay: Duration, local: Local<'_>) -> Option<Time> {
        let (number, due) = self.first(delay, local)?;
        if due > now {
            return Some(due);
        }
        let asks = due + ASK_AFTER;
        Some(if asks > now { asks } else { due + self.patience(number) })
    }

    fn first(&self, delay: Duration, local: Local<'_>) -> Option<(u64, Time)> {
        let (number, open) = self.open.first_key_value()?;
        Some((*number, local(open.at) + delay))
    }

    /// How long a picture is waited for beyond its time.
    fn patience(&self, number: u64) -> Duration {
        let is_reference = self.open.get(&number).is_some_and(|open| open.kind.is_reference());
        let blocks = self.open.range(number + 1..).next().is_some();
        // What nothing needs holds up nothing: it is waited for until the next one is there.
        if blocks && !is_reference { Duration::ZERO } else { PATIENCE }
    }

    fn fit(&self, number: u64, open: &Open) -> Fit {
        if open.kind == PictureKind::Key {
            return Fit::Fits;
        }
        if self.is_broken {
            return Fit::Useless;
        }
        match self.shown {
            None => Fit::Useless,
            Some((next, references)) if next == number || open.references == references => {
                Fit::Fits
            }
            Some(_) => Fit::Lacks,
        }
    }

    fn whole_key_behind(&self, number: u64) -> Option<u64> {
        let mut behind = self.open.range(number + 1..);
        let key = behind.find(|(_, open)| open.kind == PictureKind::Key && open.is_whole());
        key.map(|(number, _)| *number)
    }

    fn skip_to(&mut self, key: u64) {
        while self.open.first_key_value().is_some_and(|(number, _)| *number < key) {
            self.remove_first();
        }
    }

    fn show(&mut self, number: u64, play_at: Time) -> Option<Playback> {
        let open = self.open.remove(&number)?;
        self.bytes -= open.len();
        let discontinuity = self.shown.is_some_and(|(next, _)| next != number) || self.is_broken;
        let next = self.shown.map_or(number, |(next, _)| next);
        self.counts.lost += number.saturating_sub(next);
        self.counts.shown += 1;
        self.shown =
            Some((number.saturating_add(1), open.references.after(open.kind.is_reference())));
        if open.kind == PictureKind::Key {
            (self.is_broken, self.wants_key) = (false, false);
        }
        let (kind, captured_us) = (open.kind, open.at.as_micros());
        let what = Played::Picture { kind, discontinuity, bytes: open.bytes() };
        Some(Playback { play_at, captured_us, frame: number, what })
    }

    /// The first picture does not come any more, or is of no use.
    fn give_up_first(&mut self) {
        let Some((_, open)) = self.remove_first() else { return };
        if open.kind.is_reference() {
            self.break_off();
        }
    }

    fn remove_first(&mut self) -> Option<(u64, Open)> {
        let (number, open) = self.open.pop_first()?;
        self.bytes -= open.len();
        Some((number, open))
    }
}
