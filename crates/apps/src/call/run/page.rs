//! What the page brings, and what it is told when something happens.

use anabranch_call::exchange::Exchanged;
use anabranch_call::{Device, End, LogKind, LogLine, PathError, Picture};
use anabranch_keys::PublicKey;
use anabranch_media::playout::clock::PlayoutClock;
use anabranch_sansio::{PathId, Rate, Time};
use std::time::Duration;

use super::super::page::Brought;
use super::super::page::protocol::{
    Event, FromPage, Hello, Listeners, PROTOCOL, PageMedia, PageSends, PeerInfo, State, ToPage,
    exchange_message, micros,
};
use super::Run;
use crate::service::{Severity, url_of};

/// What an encoder of voice is asked for.
const VOICE_BPS: u64 = 32_000;

/// All times of a page are one path of its clock.
const PAGE: PathId = PathId(0);

impl Run<'_, '_> {
    pub(super) fn on_brought(&mut self, brought: Brought) {
        match brought {
            Brought::Opened => {
                self.page_clock = PlayoutClock::new(Duration::ZERO);
                self.greet_page();
                self.tell_exchange();
                self.ask_page_for_key();
            }
            Brought::Closed => {
                self.on_devices(Device::None, Device::None);
                // The files were the page's.
                self.handle.with(|agent, now| agent.withdraw_files(now));
            }
            Brought::Media(media) => self.on_page_media(media),
            Brought::Block(block) => self.handle.with(|agent, now| agent.push_block(now, &block)),
            Brought::Request(request) => self.on_request(request),
        }
    }

    fn on_page_media(&mut self, media: PageMedia) {
        let now = self.handle.clock().now();
        let captured = Time::from_micros(u64::try_from(media.captured_us).unwrap_or(0));
        self.page_clock.sample(now, Some(PAGE), captured);
        let at = self.page_clock.local(captured).min(now);
        let (video, voice) = self.page_sends;
        self.handle.with(|agent, now| match media.picture {
            Some(kind) if video => {
                agent.push_picture(now, Picture { at, kind, bytes: media.bytes });
            }
            None if voice => agent.push_voice(now, at, media.bytes),
            Some(_) | None => {}
        });
    }

    fn on_request(&mut self, request: FromPage) {
        let name = request.name();
        let done = match request {
            FromPage::Devices { microphone, camera, .. } => {
                self.on_devices(microphone, camera);
                Ok(())
            }
            FromPage::Sending { voice, video } => {
                let (sends_video, sends_voice) = self.page_sends;
                self.set_media(|media| {
                    if sends_video {
                        media.video = video;
                    }
                    if sends_voice {
                        media.voice = voice;
                    }
                });
                Ok(())
            }
            FromPage::PathUse { path, r#use } => {
                self.handle.with(|agent, now| agent.set_path_use(now, PathId(path), r#use))
            }
            FromPage::Primary { path } => {
                let known = self.handle.with(|agent, _| {
                    let path = PathId(path);
                    let is_there = agent.stats().paths.iter().any(|it| it.report.id == path);
                    if is_there {
                        agent.set_primary(Some(path));
                    }
                    is_there
                });
                if known { Ok(()) } else { Err(PathError::Unknown(PathId(path))) }
            }
            FromPage::Leave { path } => {
                self.handle.with(|agent, now| agent.leave_path(now, PathId(path)))
            }
            FromPage::VoiceTwice { on } => {
                self.handle.with(|agent, _| agent.set_voice_twice(on));
                Ok(())
            }
            FromPage::WantKey => {
                self.handle.with(|agent, now| agent.want_key(now));
                Ok(())
            }
            FromPage::Text { text } => return self.write(&text),
            FromPage::OfferFile { name, size, sha256 } => {
                self.handle.with(|agent, now| agent.offer_file(now, &name, size, sha256));
                Ok(())
            }
            FromPage::WithdrawFile { file } => {
                self.handle.with(|agent, now| agent.withdraw_file(now, file));
                Ok(())
            }
            FromPage::HangUp => {
                self.hang_up();
                Ok(())
            }
            FromPage::PageStats(stats) => {
                tracing::debug!(?stats, "the page");
                Ok(())
            }
        };
        if let Err(error) = done
            && let Some(page) = &self.page
        {
            page.refuse(name, &format!("{}.", capital(&error.to_string())));
        }
    }

    fn write(&self, text: &str) {
        let written = self.handle.with(|agent, now| agent.write(now, text));
        if let (Err(error), Some(page)) = (written, &self.page) {
            page.refuse("text", &format!("{}.", capital(&error.to_string())));
        }
    }

    /// What was written so far in this call, and which files there are.
    pub(super) fn tell_exchange(&self) {
        let view = self.handle.with(|agent, _| agent.exchange());
        if let (Some(page), Some(view)) = (&self.page, view) {
            page.say(&ToPage::Exchange(view.into()));
        }
    }

    /// Something was written, or is to be done about a file.
    pub(super) fn on_exchanged(&mut self, exchanged: Exchanged) {
        let you = self.handle.with(|agent, _| agent.exchange()).map(|view| view.you);
        if let (Exchanged::Text(line), None) = (&exchanged, &self.page)
            && you != Some(line.member)
        {
            let text = format!("{}: {}", line.name, line.text);
            return self.say(Severity::Info, &text);
        }
        let Some(page) = &self.page else { return };
        match exchange_message(exchanged) {
            Ok(message) => page.say(&message),
            Err(block) => page.bring(&block),
        }
    }

    /// Devices of the page; those that files are in place of are not its own.
    fn on_devices(&self, microphone: Device, camera: Device) {
        let (sends_video, sends_voice) = self.page_sends;
        self.set_media(|media| {
            if sends_video {
                media.camera = camera;
            }
            if sends_voice {
                media.microphone = microphone;
            }
        });
    }

    fn greet_page(&self) {
        let Some(page) = &self.page else { return };
        let heard_at = self.uplinks.plan().heard_at();
        let (video, voice) = self.page_sends;
        page.greet(Hello {
            protocol: PROTOCOL,
            program: concat!("anabranch ", env!("CARGO_PKG_VERSION")).to_owned(),
            mode: "call".to_owned(),
            now_us: micros(self.handle.clock().now()),
            name: self.name.clone(),
            link: heard_at.map(|place| url_of(place, self.secured.own_key())),
            page_sends: PageSends { voice, video },
            page_plays: true,
        });
    }

    pub(super) fn ask_page_for_key(&self) {
        if let Some(page) = &self.page {
            page.say(&ToPage::KeyWanted);
        }
    }

    pub(super) fn tell_encoder(&self, rate: Rate) {
        let Some(page) = &self.page else { return };
        let carries = self.handle.with(|agent, _| agent.stats().rate);
        let why = match carries {
            _ if rate == Rate::ZERO => "No call runs.".to_owned(),
            Some(signal) => {
                let least = if signal.is_at_least { "at least " } else { "" };
                format!("The networks carry {least}{:.1} Mbit/s.", signal.carries.as_mbps_f64())
            }
            None => "What the networks carry is not known yet.".to_owned(),
        };
        let voice_bps = if rate == Rate::ZERO { 0 } else { VOICE_BPS };
        page.say(&ToPage::Encode { video_bps: rate.as_bps(), voice_bps, why });
    }

    pub(super) fn set_state(&self, state: &str, text: &str) {
        self.say_state(state, text, None, self.handle.clock().now());
    }

    pub(super) fn tell_end(&self, end: &End) {
        let why = Some(end.why.name().to_owned());
        self.say_state("ended", &end.text, why, self.handle.clock().now());
        self.tell_event("info", "call_state", None, &end.text);
    }

    /// In the call, with whom and what comes of them.
    pub(super) fn tell_peer(&self) {
        let Some(peer) = &self.peer else { return };
        let who = peer.name.clone().unwrap_or_else(|| peer.path.remote.to_string());
        self.say_state("in_call", &format!("In a call with {who}."), None, self.began);
    }

    fn say_state(&self, state: &str, text: &str, why: Option<String>, since: Time) {
        let Some(page) = &self.page else { return };
        let peer = self.peer.as_ref().map(|peer| PeerInfo {
            name: peer.name.clone(),
            program: peer.program.clone(),
            key: peer.key.as_deref().and_then(PublicKey::from_bytes).map(|key| key.to_string()),
            media: peer.media.clone(),
        });
        let is_call = matches!(state, "in_call" | "no_path");
        let listeners = peer.as_ref().filter(|_| is_call).map(listeners);
        page.say(&ToPage::State(State {
            state: state.to_owned(),
            text: text.to_owned(),
            why,
            peer,
            since_us: micros(since),
            listeners,
        }));
    }

    pub(super) fn log(&mut self, line: &LogLine) {
        let (severity, kind) = match line.kind {
            LogKind::PathAdded => ("info", "path_added"),
            LogKind::PathFailed => ("warning", "path_failed"),
            LogKind::PathActive => ("good", "path_active"),
            LogKind::Handoff => ("good", "handoff"),
            LogKind::PathUse => ("info", "note"),
            LogKind::NoPath => ("bad", "no_path"),
            LogKind::PathsBack => ("good", "paths_back"),
        };
        let is_bad = matches!(severity, "warning" | "bad");
        self.say(if is_bad { Severity::Warning } else { Severity::Info }, &line.text);
        self.tell_event(severity, kind, line.path, &line.text);
    }

    /// A sentence for the page's log.
    fn tell_event(&self, severity: &str, kind: &str, path: Option<PathId>, text: &str) {
        let Some(page) = &self.page else { return };
        page.event(Event {
            id: 0,
            at_us: micros(self.handle.clock().now()),
            severity: severity.to_owned(),
            kind: kind.to_owned(),
            path: path.map(|path| path.0),
            text: text.to_owned(),
        });
    }
}

/// Who could listen.
fn listeners(peer: &PeerInfo) -> Listeners {
    let (is, text) = match peer.key {
        Some(_) => ("nobody", "Nobody can listen: the call is encrypted from end to end."),
        None => ("anyone_on_the_way", "encryption=off: who sees the packets can listen."),
    };
    Listeners { is: is.to_owned(), text: text.to_owned() }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
