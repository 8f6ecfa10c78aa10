//! [`Show`]: the receiver's side of the demo, and what it is worth to a viewer.

use std::time::Duration;

use anabranch_media::Layer;
use anabranch_media::clip::{ClipHeader, Picture, Shown, VIDEO_TRACK};
use anabranch_media::decoding::AccessUnit;
use anabranch_media::psnr::{PsnrScore, PsnrTable};
use anabranch_sansio::Time;
use anabranch_session::{Arrival, Receiver};

use super::delay::DelayMeter;
use super::handoff::GapMeter;
use super::report::FramesReport;
use crate::page::screen::{ClipScreen, Played, not_before};

/// Plays what the receiver hands on, and measures it.
#[derive(Debug)]
pub(super) struct Show {
    screen: ClipScreen,
    scores: &'static PsnrTable,
    /// The highest layer there is.
    full: Layer,
    score: PsnrScore,
    full_score: PsnrScore,
    pub(super) gaps: GapMeter,
    pub(super) delays: DelayMeter,
    newest_arrival: Option<Time>,
    last_played: Option<Time>,
}

impl Show {
    pub(super) fn new(header: &ClipHeader, scores: &'static PsnrTable) -> Self {
        Self {
            screen: ClipScreen::new(header),
            scores,
            full: Layer(header.video.layers.saturating_sub(1)),
            score: PsnrScore::default(),
            full_score: PsnrScore::default(),
            gaps: GapMeter::default(),
            delays: DelayMeter::default(),
            newest_arrival: None,
            last_played: None,
        }
    }

    /// Takes what has come, and plays what is due; `last` is when the last picture came to the
    /// sender. Returns what is to be seen and heard.
    pub(super) fn take(
        &mut self,
        receiver: &mut Receiver,
        now: Time,
        last: Option<Time>,
    ) -> Vec<AccessUnit> {
        let mut units = Vec::new();
        while let Some(arrival) = receiver.poll_arrival() {
            self.on_arrival(&arrival);
        }
        while let Some(released) = receiver.poll_release(now) {
            units.extend(self.screen.on_released(&released).map(|sound| not_before(sound, now)));
        }
        while let Some(played) = self.screen.play_due(receiver, now, last) {
            self.measure(&played, now);
            units.extend(played.unit.map(|picture| not_before(picture, now)));
        }
        units
    }

    /// When [`take`](Self::take) must be called again for a picture of which something is missing.
    pub(super) fn next_at(&self, receiver: &Receiver, last: Option<Time>) -> Option<Time> {
        last.and_then(|last| self.screen.next_at(receiver, Some(last)))
    }

    /// Pictures by what became of them.
    pub(super) fn frames(&self) -> FramesReport {
        self.screen.counts().into()
    }

    /// The mean PSNR-Y of what was on the screen, and what it would be had everything come.
    pub(super) fn psnr_y_db(&self) -> (Option<f64>, Option<f64>) {
        (self.score.mean_db(), self.full_score.mean_db())
    }

    /// How much media waits for its time.
    pub(super) fn buffered(&self) -> Option<Duration> {
        Some(self.newest_arrival? - self.last_played?)
    }

    fn on_arrival(&mut self, arrival: &Arrival) {
        self.newest_arrival = self.newest_arrival.max(Some(arrival.sent));
        let Some(complete) = self.screen.on_arrival(arrival) else { return };
        // Both ends run in this program, on one clock.
        if complete.track == VIDEO_TRACK && complete.in_time {
            self.delays.on_layer(complete.frame, complete.at - complete.sent);
        }
    }

    fn measure(&mut self, played: &Played, now: Time) {
        let frame = played.frame;
        self.last_played = self.screen.next_sent();
        self.score.add(self.scores, frame, played.shown.picture());
        self.full_score.add(self.scores, frame, Some(Picture { frame, layer: self.full }));
        let is_new = matches!(played.shown, Shown::New(_));
        self.delays.on_played(now, frame, is_new);
        if is_new {
            self.gaps.on_shown(now);
        }
    }
}
