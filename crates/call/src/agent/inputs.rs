//! What the link hands on, and what is done ten times a second.

use std::time::Duration;

use anabranch_sansio::{PathId, Rate, Time};
use anabranch_transport::{Incoming, PathEvent, PathReport, PathState, RateSignal};

use super::watch::Watch;
use super::{Agent, KEY_EVERY, REPORT_EVERY, TICK};
use crate::config::{SILENCE_MAX, SILENCE_NOTICED};
use crate::link::Input;
use crate::losses::Losses;
use crate::message::Message;
use crate::outgoing::media_queued;
use crate::playout::Playout;
use crate::{Device, End, EndReason, Event, LogKind, LogLine, Peer};

impl Agent {
    /// Does what any input may have made possible.
    pub(super) fn turn(&mut self, now: Time) {
        while let Some(input) = self.link.poll_input() {
            match input {
                Input::Began(peer) => self.on_began(now, peer),
                Input::Control(message, incoming) => self.on_control(now, *message, &incoming),
                Input::Media(incoming) => {
                    self.playout.push(incoming.completed_at.min(now), incoming.payload);
                }
                Input::Block(payload) => self.on_block(now, &payload),
                Input::Path(event) => self.on_path(now, &event),
                Input::Ended(end) => self.on_ended(end),
            }
        }
        self.link.flush(now);
        self.flush_exchange(now);
    }

    fn on_began(&mut self, now: Time, peer: Box<Peer>) {
        if let Some(connection) = self.link.connection_mut() {
            self.outgoing.begin(&mut self.rng, connection);
        }
        self.playout = Playout::new();
        self.paths.begin();
        self.rate.begin(now);
        self.losses = Losses::default();
        (self.ticks, self.next_tick) = (0, Some(now + TICK));
        (self.silent_since, self.key_asked, self.theirs) = (None, None, None);
        self.key_wanted = false;
        self.watch = self.threshold.map(|silence| Watch::new(silence, now, &self.reports()));
        self.mute_with(&peer.media.microphone, 0);
        self.begin_exchange(now, &peer);
        self.link.tell(Event::Began(peer));
        // Devices may be known only after the greeting has left.
        if self.link.takes_back_greeting() {
            let (media, voice_frames) = (self.link.media.clone(), self.outgoing.voice_frames());
            self.link.send(now, &Message::Media { media, voice_frames });
        }
        self.follow_rate(now);
        self.ask_encoder(now);
    }

    fn on_control(&mut self, now: Time, message: Message, incoming: &Incoming) {
        match message {
            Message::Media { media, voice_frames } => {
                self.mute_with(&media.microphone, voice_frames);
                self.link.tell(Event::PeerMedia(media));
            }
            Message::WantKey => {
                self.key_wanted = true;
                self.ask_encoder(now);
            }
            Message::Path { r#use, local, remote } => {
                let Some(connection) = self.link.connection_mut() else { return };
                let which = ((local.as_str(), remote.as_str()), incoming.path);
                self.paths.on_peer_use(now, r#use, which, connection);
            }
            Message::Report(report) => self.theirs = Some(report),
            Message::Text { .. }
            | Message::OfferFile { .. }
            | Message::WithdrawFile { .. }
            | Message::FileRefused { .. } => self.on_words(now, &message),
            Message::Call(_)
            | Message::Answer(_)
            | Message::Refuse(_)
            | Message::Bye { .. }
            | Message::Unknown => {}
        }
    }

    fn on_path(&mut self, now: Time, event: &PathEvent) {
        let paths = self.reports();
        let mut log = Vec::new();
        self.paths.on_event(now, event, (&paths, &self.playout), &mut log);
        log.into_iter().for_each(|line| self.link.tell(Event::Log(line)));
        self.link.tell(Event::PathsChanged);
    }

    fn on_ended(&mut self, end: End) {
        self.next_tick = None;
        self.ledger = None;
        self.link.tell(Event::Encode(Rate::ZERO));
        self.link.tell(Event::Ended(end));
    }

    pub(super) fn tick(&mut self, now: Time) {
        self.ticks += 1;
        self.next_tick = Some(now + TICK);
        self.follow_rate(now);
        self.ask_encoder(now);
        self.ask_peer(now);
        self.playout.set_way_difference(way_difference(&self.reports()));
        let mut log = Vec::new();
        if let Some(connection) = self.link.connection_mut() {
            self.paths.tick(now, &self.playout, connection, &mut log);
        }
        log.into_iter().for_each(|line| self.link.tell(Event::Log(line)));
        if self.ticks.is_multiple_of(REPORT_EVERY) {
            self.outgoing.tick(now);
            self.outgoing.repeats_voice = self.losses.call_for_repeats(&self.reports());
            let report = self.report();
            self.link.send(now, &Message::Report(report));
        }
        if !self.leave_silent_path(now) {
            self.listen(now);
        }
    }

    /// Notices when nothing is heard on any path, and ends the call when that lasts.
    fn listen(&mut self, now: Time) {
        let heard = self.link.connection().and_then(|connection| connection.last_heard());
        let Some(heard) = heard else { return };
        let silence = now - heard;
        if silence >= SILENCE_MAX {
            let seconds = SILENCE_MAX.as_secs();
            let text = format!("No network for {seconds} s: the call is over.");
            return self.link.end(now, End { why: EndReason::NoPath, text });
        }
        match self.silent_since {
            None if silence >= SILENCE_NOTICED => {
                self.silent_since = Some(heard);
                let text = "Nothing is heard on any path; the call waits for a network.";
                self.log(now, LogKind::NoPath, None, text.to_owned());
                self.link.tell(Event::NoPath);
            }
            Some(since) if silence < SILENCE_NOTICED => {
                self.silent_since = None;
                let after = heard - since;
                let text = format!("Heard again after {:.1} s.", after.as_secs_f64());
                self.log(now, LogKind::PathsBack, None, text);
                self.link.tell(Event::PathsBack { after });
            }
            Some(_) | None => {}
        }
    }

    fn follow_rate(&mut self, now: Time) {
        let connection = self.link.connection();
        // What the signal counts is as old as the last answer: on a path that fell silent, too old.
        let signal = connection.and_then(|connection| {
            // Words and files are behind pictures: what waits of them is in nobody's way.
            Some(RateSignal { queued: media_queued(connection), ..connection.rate()? })
        });
        if let Some(rate) = self.rate.follow(now, signal) {
            self.link.tell(Event::Encode(rate));
        }
    }

    /// Asks our encoder for a key picture, if the peer needs one.
    pub(super) fn ask_encoder(&mut self, now: Time) {
        let is_due = self.key_asked.is_none_or(|at| now - at >= KEY_EVERY);
        let is_needed = self.key_wanted || self.outgoing.lacks_key();
        if !is_needed || !is_due || self.link.media.camera != Device::On {
            return;
        }
        self.key_asked = Some(now);
        self.key_wanted = false;
        self.link.tell(Event::KeyWanted);
    }

    /// Asks the peer for a key picture, if we need one.
    pub(super) fn ask_peer(&mut self, now: Time) {
        if self.link.is_active() && self.playout.take_key_wanted(now) {
            self.link.send(now, &Message::WantKey);
        }
    }

    pub(super) fn log(&mut self, at: Time, kind: LogKind, path: Option<PathId>, text: String) {
        self.link.tell(Event::Log(LogLine { at, kind, path, text }));
    }

    pub(super) fn reports(&self) -> Vec<PathReport> {
        self.link.connection().map(|connection| connection.stats().paths).unwrap_or_default()
    }

    const fn mute_with(&mut self, microphone: &Device, voice_frames: u64) {
        if !matches!(microphone, Device::On) {
            self.playout.mute_from(voice_frames);
        }
    }
}

/// How much longer the slowest of the paths takes that carry data, one way.
fn way_difference(paths: &[PathReport]) -> Duration {
    let stands = |path: &&PathReport| path.state == PathState::Active && !path.is_spared;
    let ways = || paths.iter().filter(stands).filter_map(|path| path.srtt);
    let (fastest, slowest) = (ways().min().unwrap_or_default(), ways().max().unwrap_or_default());
    (slowest - fastest) / 2
}
