//! [`Voices`]: what came of the others' voice, and when.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anabranch_call::{Heard, VoiceCounts, longest_gap};
use anabranch_media::{Class, Piece, Track};
use anabranch_sansio::Time;
use bytes::Bytes;

/// Arrivals that are remembered: what a change of paths cost is known after a second.
const ARRIVALS_MAX: usize = 1_024;

/// Voices that are counted; a room has fewer at any time.
const VOICES_MAX: usize = 64;

/// What came of the others' voice.
#[derive(Debug, Default)]
pub(super) struct Voices {
    arrivals: VecDeque<Time>,
    voices: BTreeMap<Track, Voice>,
    /// Of voices that are not there any more.
    before: VoiceCounts,
}

/// Frames of one voice.
#[derive(Debug)]
struct Voice {
    session: u16,
    first: u64,
    last: u64,
    heard: u64,
}

impl Voices {
    /// A message of media came.
    pub(super) fn note(&mut self, now: Time, message: &Bytes) {
        let Ok(Piece { header, .. }) = Piece::decode(message.clone()) else { return };
        if header.class != Class::Audio {
            return;
        }
        if self.arrivals.len() >= ARRIVALS_MAX {
            self.arrivals.pop_front();
        }
        self.arrivals.push_back(now);
        let is_same = |voice: &Voice| voice.session == header.session;
        if !self.voices.get(&header.track).is_some_and(is_same) {
            self.begin(header.track, header.session, header.frame);
        }
        let Some(voice) = self.voices.get_mut(&header.track) else { return };
        voice.first = voice.first.min(header.frame);
        voice.last = voice.last.max(header.frame);
        voice.heard += 1;
    }

    fn begin(&mut self, track: Track, session: u16, frame: u64) {
        let last = if self.voices.len() < VOICES_MAX { None } else { self.voices.pop_first() };
        let gone = self.voices.remove(&track).into_iter().chain(last.map(|(_, voice)| voice));
        for voice in gone {
            self.before.heard += voice.heard;
            self.before.concealed += voice.missing();
        }
        let voice = Voice { session, first: frame, last: frame, heard: 0 };
        self.voices.insert(track, voice);
    }
}

impl Voice {
    /// Frames that did not come, those under way included.
    const fn missing(&self) -> u64 {
        (self.last - self.first + 1).saturating_sub(self.heard)
    }
}

impl Heard for Voices {
    fn voice_counts(&self) -> VoiceCounts {
        let VoiceCounts { heard, concealed, late } = self.before;
        let voices = self.voices.values();
        voices.fold(VoiceCounts { heard, concealed, late }, |sum, voice| VoiceCounts {
            heard: sum.heard + voice.heard,
            concealed: sum.concealed + voice.missing(),
            late,
        })
    }

    fn longest_gap_since(&self, since: Time) -> Option<Duration> {
        longest_gap(&self.arrivals, since)
    }
}
