//! People in one room of `anabranch meet`, as their browsers are: what they get of each other, and
//! what they cost the server.

use std::fmt::{self, Display, Formatter};
use std::io;
use std::time::Duration;

use anabranch_call::{Device, Media, PictureFormat, VideoFormat, VoiceFormat};
use anabranch_driver::{Clock, Driver, Handle, SocketSet};
use anabranch_media::cutter::UnitCutter;
use anabranch_media::{Class, Layer, Piece, Track, Unit};
use anabranch_rooms::protocol::{
    FromMember, FromRoom, PPID_BINARY, PPID_TEXT, PROTOCOL_VERSION, STREAMS,
};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rate, Rng, Time, Transmit, Wakeup};
use anabranch_session::treatment::MediaClass;
use anabranch_transport::{
    ConnectionId, Event, Outgoing, Reliability, SctpConfig, SctpTransport, StreamId, Transport,
};
use serde::Serialize;

use crate::browser::{Browser, INSIDE, Inside, PORT};
use crate::seat::local_towards;
use crate::server::{Server, Usage};

/// Of voice: a frame of Opus at 32 kbit/s.
const VOICE_EVERY: Duration = Duration::from_millis(20);
const VOICE_LEN: usize = 80;

const PICTURE_EVERY: Duration = Duration::from_millis(40);

/// Nothing is sent later than this after it was made.
const LIFETIME: Duration = Duration::from_millis(400);

/// The last to come may take so long.
const WELCOME_MAX: Duration = Duration::from_secs(15);

/// How long the last words may take.
const FAREWELL: Duration = Duration::from_millis(200);

/// Where a room is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    /// Host and port.
    pub(crate) http: String,
    path: String,
    token: String,
}

impl std::str::FromStr for Link {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("\"{text}\" is no link of a room: give http://127.0.0.1:8080/r/NAME#TOKEN");
        let rest = text.strip_prefix("http://").ok_or_else(wrong)?;
        let (place, token) = rest.split_once('#').ok_or_else(wrong)?;
        let (http, path) = place.split_once('/').ok_or_else(wrong)?;
        let (path, token) = (format!("/{path}"), token.to_owned());
        Ok(Self { http: http.to_owned(), path, token })
    }
}

/// Somebody who talks and is seen.
pub(crate) struct Talker {
    transport: SctpTransport,
    id: Option<ConnectionId>,
    name: String,
    cutter: UnitCutter,
    picture_len: usize,
    next_voice: Option<Time>,
    next_picture: Time,
    voice: u64,
    pictures: u64,
    closed: Option<String>,
    is_welcome: bool,
    /// Whether somebody cannot decode the next picture unless it is a key picture.
    is_key_wanted: bool,
    got: Got,
}

/// What somebody got of the others.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Got {
    voice: u64,
    pictures: u64,
    bytes: u64,
}

impl Talker {
    fn new(name: String, rate: Rate, rng: &mut Rng) -> Self {
        let config = SctpConfig::of(anabranch_rtc::association()).with_streams(STREAMS);
        let per_picture = rate.as_bps() as f64 * PICTURE_EVERY.as_secs_f64() / 8.0;
        Self {
            transport: SctpTransport::new(config, PORT, rng.fork()),
            id: None,
            name,
            cutter: UnitCutter::new(rng.next_u32() as u16),
            picture_len: per_picture as usize,
            next_voice: None,
            next_picture: Time::ZERO,
            voice: 0,
            pictures: 0,
            closed: None,
            is_welcome: false,
            is_key_wanted: true,
            got: Got::default(),
        }
    }

    fn say(&mut self, now: Time, message: &FromMember) {
        self.send(now, Outgoing::new(StreamId(0), PPID_TEXT, message.encode()));
    }

    fn send(&mut self, now: Time, message: Outgoing) {
        let Some(connection) = self.id.and_then(|id| self.transport.connection_mut(id)) else {
            return;
        };
        if let Err(error) = connection.send(now, message) {
            self.closed.get_or_insert(format!("our own end takes nothing: {error}"));
        }
    }

    fn take_events(&mut self, now: Time) {
        while let Some((id, event)) = self.transport.poll_event() {
            match event {
                Event::Connected { .. } => {
                    let hello = FromMember::Hello {
                        protocol: PROTOCOL_VERSION,
                        program: "anabranch-load".to_owned(),
                        name: self.name.clone(),
                        media: media(),
                        resume: None,
                    };
                    self.say(now, &hello);
                }
                Event::Readable => self.read(now, id),
                Event::Closed { reason, .. } => _ = self.closed.get_or_insert(reason.to_string()),
                Event::Restarted { .. }
                | Event::Writable
                | Event::Path(_)
                | Event::RateChanged(_)
                | _ => {}
            }
        }
    }

    fn read(&mut self, now: Time, id: ConnectionId) {
        loop {
            let connection = self.transport.connection_mut(id);
            let Some(message) = connection.and_then(|it| it.receive()) else { return };
            if message.payload_id == PPID_TEXT {
                self.on_text(now, &message.payload);
                continue;
            }
            self.got.bytes += message.payload.len() as u64;
            if let Ok(piece) = Piece::decode(message.payload)
                && piece.header.last
            {
                let is_voice = piece.header.class == Class::Audio;
                self.got.voice += u64::from(is_voice);
                self.got.pictures += u64::from(!is_voice);
            }
        }
    }

    fn on_text(&mut self, now: Time, text: &[u8]) {
        match FromRoom::decode(text) {
            Ok(FromRoom::Welcome { .. }) => {
                self.is_welcome = true;
                (self.next_voice, self.next_picture) = (Some(now), now);
            }
            Ok(FromRoom::WantKey) => self.is_key_wanted = true,
            Ok(FromRoom::Bye { text, .. }) => _ = self.closed.get_or_insert(text),
            Ok(_) => {}
            Err(error) => _ = self.closed.get_or_insert(error.to_string()),
        }
    }

    /// Sends what is due of voice and pictures.
    fn talk(&mut self, now: Time) {
        while let Some(at) = self.next_voice.filter(|at| *at <= now) {
            self.next_voice = Some(at + VOICE_EVERY);
            self.voice += 1;
            self.send_unit(now, Class::Audio, self.voice, VOICE_LEN);
        }
        while self.is_welcome && self.next_picture <= now {
            self.next_picture += PICTURE_EVERY;
            let class = match self.pictures {
                _ if std::mem::take(&mut self.is_key_wanted) => Class::KeyFrame,
                picture if picture.is_multiple_of(2) => Class::Reference,
                _ => Class::Disposable,
            };
            self.send_unit(now, class, self.pictures, self.picture_len);
            self.pictures += 1;
        }
    }

    fn send_unit(&mut self, now: Time, class: Class, frame: u64, len: usize) {
        let unit = Unit {
            track: Track(u16::from(class == Class::Audio)),
            class,
            layer: Layer::BASE,
            frame,
            at: now,
            pts_us: 0,
            last_layer: true,
            discontinuity: false,
            bytes: vec![0x5a; len].into(),
        };
        let stream = MediaClass::of(class, Layer::BASE).stream();
        for piece in self.cutter.cut(&unit).collect::<Vec<_>>() {
            let message = Outgoing {
                ordered: false,
                reliability: Reliability::Lifetime(LIFETIME),
                ..Outgoing::new(stream, PPID_BINARY, piece.encode().into())
            };
            self.send(now, message);
        }
    }
}

impl Inside for Talker {
    type News = std::convert::Infallible;

    fn begin(&mut self, now: Time) -> Result<(), String> {
        let called = self.transport.connect(now, &[INSIDE]);
        self.id = Some(called.map_err(|error| error.to_string())?);
        Ok(())
    }

    fn poll_news(&mut self) -> Option<Result<Self::News, String>> {
        None
    }
}

impl Machine for Talker {
    type Event = std::convert::Infallible;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.transport.handle_datagram(now, datagram);
        self.take_events(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.transport.handle_timeout(now);
        self.take_events(now);
        self.talk(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.transport.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let next = self.next_voice.map(|at| Wakeup { at: at.min(self.next_picture), why: "talk" });
        self.transport.poll_timeout().into_iter().chain(next).min()
    }

    fn poll_event(&mut self) -> Option<Self::Event> {
        None
    }
}

/// People in one room.
pub(crate) struct Meeting {
    clock: Clock,
    people: Vec<Handle<Browser<Talker>>>,
}

impl Meeting {
    /// So many people enter a room, each with pictures of this rate, and begin to talk.
    pub(crate) async fn gather(
        server: &Server,
        link: &Link,
        people: usize,
        rate: Rate,
    ) -> io::Result<Self> {
        let clock = Clock::start();
        let mut rng = Rng::from_u64(1);
        let mut meeting = Self { clock, people: Vec::new() };
        for number in 0..people {
            let mut sockets = SocketSet::new();
            let local = sockets.bind(local_towards(server.udp)?).map_err(io::Error::other)?;
            let path = FourTuple::new(local, server.udp);
            let talker = Talker::new(format!("Talker {number}"), rate, &mut rng);
            let mut browser = Browser::with(talker, path).map_err(io::Error::other)?;
            let (path, token) = (format!("{}/join", link.path), &link.token);
            let answer = server.post_offer_to(&path, Some(token), browser.offer()).await?;
            browser.take_answer(clock.now(), &answer).map_err(io::Error::other)?;
            let handle = Driver::spawn_with_clock(browser, sockets, clock);
            meeting.people.push(handle.map_err(io::Error::other)?);
        }
        meeting.settle().await?;
        Ok(meeting)
    }

    async fn settle(&self) -> io::Result<()> {
        let deadline = self.clock.now() + WELCOME_MAX;
        while !self.people.iter().all(|it| it.with(|browser, _| browser.inside.is_welcome)) {
            if let Some(reason) = self.out() {
                return Err(io::Error::other(format!("somebody was not let in: {reason}")));
            }
            if self.clock.now() > deadline {
                return Err(io::Error::other("the room let not all people in"));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Why somebody is out, if anybody is.
    fn out(&self) -> Option<String> {
        self.people.iter().find_map(|it| it.with(|browser, _| browser.inside.closed.clone()))
    }

    /// What everybody got so far.
    fn got(&self) -> Vec<Got> {
        self.people.iter().map(|it| it.with(|browser, _| browser.inside.got)).collect()
    }

    /// Lets them talk; returns what they got of each other meanwhile.
    pub(crate) async fn talk(&self, span: Duration) -> Talk {
        let before = self.got();
        tokio::time::sleep(span).await;
        let after = self.got();
        let out = self.out();
        for person in &self.people {
            person.with(|browser, now| browser.inside.say(now, &FromMember::Bye));
        }
        // What is said leaves with the next turn of each driver.
        tokio::time::sleep(FAREWELL).await;
        let got = after.iter().zip(&before).map(|(after, before)| Got {
            voice: after.voice - before.voice,
            pictures: after.pictures - before.pictures,
            bytes: after.bytes - before.bytes,
        });
        Talk { span, got: got.collect(), out }
    }
}

/// What people got of each other, and what that cost the server.
#[derive(Debug, Serialize)]
pub(crate) struct Talk {
    span: Duration,
    got: Vec<Got>,
    /// Why somebody is out, if anybody is.
    out: Option<String>,
}

impl Talk {
    /// Of the frames that the others sent, the share that whoever got least did.
    fn least(&self, every: Duration, count: impl Fn(&Got) -> u64) -> f64 {
        let others = self.got.len().saturating_sub(1) as f64;
        let sent = others * self.span.as_secs_f64() / every.as_secs_f64();
        let least = self.got.iter().map(count).min().unwrap_or(0);
        if sent > 0.0 { least as f64 / sent } else { 0.0 }
    }

    /// With what the server's process used meanwhile, where it is known.
    pub(crate) const fn with<'a>(&'a self, usages: &'a [Usage]) -> TalkReport<'a> {
        TalkReport { talk: self, usages }
    }
}

/// A talk, to be printed.
pub(crate) struct TalkReport<'a> {
    talk: &'a Talk,
    usages: &'a [Usage],
}

impl Display for TalkReport<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { talk, usages } = self;
        let gigabytes = talk.got.iter().map(|got| got.bytes).sum::<u64>() as f64 / 1e9;
        let people = talk.got.len();
        writeln!(
            f,
            "{people} people, {:.0} s: {gigabytes:.3} GB of media came",
            talk.span.as_secs_f64()
        )?;
        let voice = 100.0 * talk.least(VOICE_EVERY, |got| got.voice);
        let pictures = 100.0 * talk.least(PICTURE_EVERY, |got| got.pictures);
        writeln!(f, "who got least: {voice:.2} % of the voice, {pictures:.2} % of the pictures")?;
        if let Some(reason) = &talk.out {
            writeln!(f, "out: {reason}")?;
        }
        if let ([first, ..], Some(last)) = (usages, usages.last()) {
            let cpu = (last.cpu - first.cpu).as_secs_f64();
            let mib = |usage: &Usage| usage.resident_bytes as f64 / f64::from(1 << 20);
            writeln!(
                f,
                "server: {cpu:.2} CPU seconds, {:.2} a gigabyte; {:.1} MiB, {:.1} at the end",
                cpu / gigabytes,
                mib(first),
                mib(last)
            )?;
        }
        Ok(())
    }
}

fn media() -> Media {
    let video = VideoFormat {
        codec: "vp8".to_owned(),
        format: PictureFormat::Vp8,
        width: Some(640),
        height: Some(360),
        fps: Some(25.0),
    };
    Media {
        voice: Some(VoiceFormat::opus()),
        video: Some(video),
        microphone: Device::On,
        camera: Device::On,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_says_where_a_room_is_and_what_opens_it() {
        let link: Link = "http://127.0.0.1:8080/r/lab#0123".parse().unwrap();
        assert_eq!(link.http, "127.0.0.1:8080");
        assert_eq!((link.path.as_str(), link.token.as_str()), ("/r/lab", "0123"));
        for wrong in ["", "https://host/r/lab#0123", "http://host/r/lab", "http://host"] {
            assert!(
                wrong.parse::<Link>().unwrap_err().contains("give http://127.0.0.1:8080/r/NAME")
            );
        }
    }
}
