//! What an agent measured.

use std::time::Duration;

use anabranch_sansio::Rate;
use anabranch_session::treatment::MediaClass;
use anabranch_transport::{PathReport, RateSignal, StreamStats};

use super::Agent;
use crate::heard::VoiceCounts;
use crate::message::Report;
use crate::paths::PathNote;
use crate::playout::PictureCounts;

/// How a call stands.
#[derive(Debug, Clone, PartialEq)]
pub struct CallStats {
    /// What became of the peer's voice.
    pub voice: VoiceCounts,
    /// How long it waits beside the way.
    pub delay: Duration,
    /// How long it should.
    pub target: Duration,
    /// What became of the peer's pictures.
    pub pictures: PictureCounts,
    /// Our pictures that were left out since the network does not carry them.
    pub left_out: u64,
    /// Messages of the peer's that are nothing of a call.
    pub malformed: u64,
    /// Whether our voice takes two paths while there are two.
    pub voice_twice: bool,
    /// What our encoder of pictures is asked for.
    pub video_rate: Rate,
    /// What the association carries, once it is known.
    pub rate: Option<RateSignal>,
    /// Our voice on its way.
    pub sent_voice: StreamStats,
    /// The paths.
    pub paths: Vec<CallPath>,
    /// What the peer heard of us, once it said so.
    pub theirs: Option<Report>,
}

/// A path of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallPath {
    /// What people call it.
    pub name: String,
    /// How it is used.
    pub note: PathNote,
    /// What the transport says of it.
    pub report: PathReport,
}

impl Agent {
    /// Counters, and where the call stands.
    #[must_use]
    pub fn stats(&self) -> CallStats {
        let (delay, target) = self.playout.delay();
        let connection = self.link.connection();
        let paths = self.reports().into_iter().map(|report| CallPath {
            name: self.paths.name(report.id, report.tuple),
            note: self.paths.note(report.id),
            report,
        });
        CallStats {
            voice: self.playout.voice_counts(),
            delay,
            target,
            pictures: self.playout.picture_counts(),
            left_out: self.outgoing.left_out(),
            malformed: self.playout.malformed() + self.words_refused(),
            voice_twice: self.outgoing.voice_twice,
            video_rate: self.video_rate(),
            rate: connection.and_then(|connection| connection.rate()),
            sent_voice: connection
                .map(|connection| connection.stream_stats(MediaClass::Audio.stream()))
                .unwrap_or_default(),
            paths: paths.collect(),
            theirs: self.theirs,
        }
    }

    pub(super) fn report(&self) -> Report {
        let (voice, pictures) = (self.playout.voice_counts(), self.playout.picture_counts());
        let (delay, _) = self.playout.delay();
        Report {
            voice_frames: voice.heard,
            concealed: voice.concealed,
            late: voice.late,
            pictures: pictures.shown,
            pictures_lost: pictures.lost,
            delay_ms: delay.as_secs_f64() * 1e3,
        }
    }
}
