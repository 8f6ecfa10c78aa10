//! [`Edits`]: which samples of a track are shown, and when (ISO/IEC 14496-12 section 8.6.6).

use mp4_atom::{Stbl, Trak};

use super::samples::{Sample, Samples};
use super::track::{Kind, TIME_BOUND, rescaled};
use crate::mux::CLOCK_HZ;
use crate::packing::Damaged;

/// Parts that a track is shown in: its samples are walked through anew for each.
const PARTS_MAX: usize = 64;

/// Parts of a second of sound before the beginning that are kept, for its decoder to warm up.
const WARM_UP: i64 = 10;

/// Samples that are passed by: two days of 60 pictures a second.
pub(super) const LEFT_OUT_MAX: u32 = 1 << 24;

/// A stretch of a track that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    /// When it begins, in ticks of the track.
    from: i64,
    /// When it ends.
    until: i64,
    /// What is added to its times on the stream's clock.
    shift: i64,
}

/// What becomes of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    LeftOut,
    /// With so much added to its times on the stream's clock.
    Shown(i64),
    /// It lies behind the part that is shown: the next part begins, or the track ends.
    Behind,
}

/// Which samples of a track are shown, and when.
///
/// A stream has no pictures that are decoded and not shown. So the first part begins with the
/// picture that decoding can begin with before it, and each further part with the first such
/// picture in it. A part has some pictures that are shown after its end where others, shown
/// before, may need them.
#[derive(Debug)]
pub(super) struct Edits {
    kind: Kind,
    /// Ticks of a second.
    timescale: i64,
    parts: Vec<Part>,
    /// When the picture is decoded that the first part begins with, if not the first of all.
    entry: Option<i64>,
    /// The part that is shown.
    nth: usize,
    /// Whether a sample of it was shown.
    entered: bool,
}

impl Edits {
    /// The edits of a track with these units of time.
    pub(super) fn new(
        trak: &Trak,
        kind: Kind,
        timescale: i64,
        movie_timescale: i64,
    ) -> Result<Self, Damaged> {
        let parts = parts_of(trak, timescale, movie_timescale)?;
        let first = parts.first();
        let entry = match (kind, first) {
            (Kind::Video, Some(first)) => entry_before(first.from, &trak.mdia.minf.stbl)?,
            (Kind::Audio, _) | (_, None) => None,
        };
        Ok(Self { kind, timescale, parts, entry, nth: 0, entered: false })
    }

    /// Lets the last part go on to the track's end: what fragments add was not known when the list
    /// was written.
    pub(super) fn leave_end_open(&mut self) {
        if let Some(last) = self.parts.last_mut() {
            last.until = i64::MAX;
        }
    }

    pub(super) fn rewind(&mut self) {
        (self.nth, self.entered) = (0, false);
    }

    /// Begins the next part; false if there is none.
    pub(super) fn next_part(&mut self) -> bool {
        let has_next = self.nth + 1 < self.parts.len();
        if has_next {
            (self.nth, self.entered) = (self.nth + 1, false);
        }
        has_next
    }

    /// Whether something was shown in a part before.
    pub(super) const fn has_parts_before(&self) -> bool {
        self.nth > 0
    }

    pub(super) fn fate(&mut self, sample: &Sample) -> Fate {
        let Some(&part) = self.parts.get(self.nth) else { return Fate::Shown(0) };
        let shown_at = sample.dts.saturating_add(sample.delay);
        let at = match self.kind {
            Kind::Video => sample.dts,
            Kind::Audio => shown_at,
        };
        if at >= part.until {
            return Fate::Behind;
        }
        self.entered |= match (self.kind, self.nth) {
            (Kind::Video, 0) => self.entry.is_none_or(|entry| sample.dts >= entry),
            (Kind::Video, _) => sample.is_sync && shown_at >= part.from,
            (Kind::Audio, 0) => shown_at >= part.from - self.timescale / WARM_UP,
            (Kind::Audio, _) => shown_at >= part.from,
        };
        if self.entered { Fate::Shown(part.shift) } else { Fate::LeftOut }
    }
}

/// The parts that a track is shown in; none: it is shown as it is.
fn parts_of(trak: &Trak, timescale: i64, movie_timescale: i64) -> Result<Vec<Part>, Damaged> {
    let edits = trak.edts.as_ref().and_then(|edts| edts.elst.as_ref());
    let mut parts = Vec::new();
    // On the stream's clock.
    let mut shown_until = 0_i64;
    for edit in edits.iter().flat_map(|elst| &elst.entries) {
        let duration = i64::try_from(edit.segment_duration).unwrap_or(i64::MAX);
        // Nothing is shown in an empty edit, and one picture all along at a rate of 0.
        let begin = edit.media_time.filter(|_| edit.media_rate.integer() != 0);
        if let Some(begin) = begin {
            if parts.len() == PARTS_MAX {
                return Err(Damaged("its edit list has more parts than any film"));
            }
            let from = i64::try_from(begin).unwrap_or(i64::MAX).min(TIME_BOUND);
            // "0" is said of what is as long as the film will be.
            let until = match duration {
                0 => i64::MAX,
                _ => from.saturating_add(rescaled(duration, movie_timescale, timescale)),
            };
            let shift = shown_until - rescaled(from, timescale, CLOCK_HZ);
            parts.push(Part { from, until, shift });
        }
        let shown_for = rescaled(duration, movie_timescale, CLOCK_HZ);
        shown_until = shown_until.saturating_add(shown_for).min(TIME_BOUND);
    }
    // What follows a part without an end would never be shown at its time.
    let last = parts.pop();
    parts.retain(|part: &Part| part.until < i64::MAX);
    parts.extend(last);
    if parts.is_empty() && shown_until > 0 {
        parts.push(Part { from: 0, until: i64::MAX, shift: shown_until });
    }
    Ok(parts)
}

/// When the last picture is decoded that decoding can begin with and that is shown by then; none:
/// there is no other than the first.
fn entry_before(from: i64, tables: &Stbl) -> Result<Option<i64>, Damaged> {
    let mut samples = Samples::default();
    let mut entry = None;
    for _ in 0..LEFT_OUT_MAX {
        let Some(sample) = samples.next(tables)? else { break };
        if sample.is_sync && sample.dts.saturating_add(sample.delay) <= from {
            entry = Some(sample.dts);
        }
        if sample.dts > from {
            break;
        }
    }
    Ok(entry)
}
