//! Checks of `anabranch-call`: whatever others say on the control stream of a call, whatever the
//! network takes and whenever they come and go, an end has one call at a time, each of which begins
//! and ends once; what it shows to people is safe to print, and it says nothing that is too long.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anabranch_call::{
    Agent, CallConfig, Device, Event, Media, Picture, PictureFormat, PictureKind, VIDEO_RATE_MAX,
    VideoFormat, VoiceFormat,
};
use anabranch_sansio::{Datagram, FourTuple, Machine, PathId, Rate, Rng, Time, Transmit, Wakeup};
use anabranch_transport::{
    CloseReason, ConnectError, Connection, ConnectionId, ConnectionStats, Event as Transported,
    Incoming, Outgoing, PathReport, PayloadId, RateSignal, SendError, StreamId, Transport,
};
use bytes::Bytes;

use crate::script::Script;

/// Connections that there are at once, of those who call and of those who are called.
const LINES_MAX: usize = 24;

/// Streams that a call needs.
const STREAMS: u16 = 64;

/// The longest control message (`docs/call.md`).
const CONTROL_LEN_MAX: usize = 16 << 10;

/// What an end may say, and some that it may not.
const WORDS: [&str; 16] = [
    r#"{"type":"call","version":1,"program":"a check","name":"Alice"}"#,
    r#"{"type":"answer","version":1,"program":"a check","name":"Bob"}"#,
    r#"{"type":"call","version":2,"program":"a check"}"#,
    r#"{"type":"answer","version":2,"program":"a check"}"#,
    r#"{"type":"refuse","code":"busy","text":"busy\u001b[2J"}"#,
    r#"{"type":"media","media":{"voice":null,"video":null,"microphone":"muted"}}"#,
    r#"{"type":"media","media":{"voice":null,"video":null},"voice_frames":18446744073709551615}"#,
    r#"{"type":"want_key"}"#,
    r#"{"type":"path","use":"spare","local":"192.0.2.2:9","remote":"192.0.2.1:9"}"#,
    r#"{"type":"path","use":"never","local":"192.0.2.3:9","remote":"192.0.2.1:9"}"#,
    r#"{"type":"path","use":"use","local":"","remote":"\u001b"}"#,
    concat!(
        r#"{"type":"report","voice_frames":9,"concealed":1,"late":1,"pictures":3,"#,
        r#""pictures_lost":1,"delay_ms":1e300}"#
    ),
    r#"{"type":"bye","reason":"hung_up","text":"\u001b[2JAlice\nhung up."}"#,
    r#"{"type":"wave"}"#,
    r#"{"type":"call","version":1,"program":"\u0007","name":"\u009b\u0000"}"#,
    r#"[]"#,
];

/// Two pieces of an end: a key picture and a frame of voice.
const PICTURE: &[u8] =
    &[0x21, 0xa1, 2, 1, 0, 0, 0, 1, 7, 0, 0, 1, 0x80, 0x89, 0x0f, 0, 0xc0, 0xc4, 7, 1, 1, 2, 3];
const VOICE: &[u8] =
    &[0x21, 0xa2, 2, 1, 0, 1, 0, 1, 7, 0, 0, 0, 0x80, 0x89, 0x0f, 0, 0xc0, 0xc4, 7, 1, 1, 2, 3];

/// Plays `bytes` as a script: who calls, says what, and goes, and how time passes.
pub fn control(bytes: &[u8]) {
    let mut script = Script(bytes);
    let mut play = Play::new();
    while !script.0.is_empty() {
        play.step(&mut script);
        play.check();
    }
}

/// One connection, which takes what its network takes.
#[derive(Debug)]
struct Line {
    path: FourTuple,
    inbox: VecDeque<Incoming>,
    sent: VecDeque<Outgoing>,
    heard: Time,
    is_connected: bool,
    is_full: bool,
    is_parting: bool,
    is_aborted: bool,
    carries: Option<Rate>,
}

impl Line {
    const fn new(now: Time, path: FourTuple) -> Self {
        Self {
            path,
            inbox: VecDeque::new(),
            sent: VecDeque::new(),
            heard: now,
            is_connected: false,
            is_full: false,
            is_parting: false,
            is_aborted: false,
            carries: None,
        }
    }
}

impl Connection for Line {
    fn send(&mut self, _: Time, message: Outgoing) -> Result<(), SendError> {
        if self.is_parting || self.is_aborted {
            return Err(SendError::Refused("it ends".to_owned()));
        }
        if self.is_full {
            return Err(SendError::Full);
        }
        self.sent.push_back(message);
        Ok(())
    }

    fn receive(&mut self) -> Option<Incoming> {
        self.inbox.pop_front()
    }

    fn rate(&self) -> Option<RateSignal> {
        self.carries.map(|carries| RateSignal { carries, is_at_least: false, queued: 0 })
    }

    fn queued(&self) -> usize {
        if self.is_full { 1 << 16 } else { 0 }
    }

    fn bytes_acked(&self) -> u64 {
        0
    }

    fn is_drained(&self) -> bool {
        !self.is_full
    }

    fn last_heard(&self) -> Option<Time> {
        Some(self.heard)
    }

    fn whole_message_max(&self) -> usize {
        1_000
    }

    fn stats(&self) -> ConnectionStats {
        let paths = vec![PathReport::new(PathId(0), self.path)];
        ConnectionStats { paths, ..ConnectionStats::default() }
    }

    fn shutdown(&mut self, _: Time) {
        self.is_parting = true;
    }

    fn abort(&mut self, _: &str) {
        self.is_aborted = true;
    }
}

/// What a datagram to [`Lines`] does to a line, by its first byte; the second is its place.
const COMES: u8 = 0;
const ANSWERS: u8 = 1;
const SAYS: u8 = 2;
const GOES: u8 = 3;
const BEGINS_ANEW: u8 = 4;
const CHANGES: u8 = 5;

/// A transport whose datagrams are what others do.
#[derive(Debug, Default)]
struct Lines {
    lines: BTreeMap<ConnectionId, Line>,
    next: u64,
    events: VecDeque<(ConnectionId, Transported)>,
}

impl Lines {
    fn open(&mut self, now: Time, path: FourTuple) -> ConnectionId {
        self.next += 1;
        let id = ConnectionId(self.next);
        self.lines.insert(id, Line::new(now, path));
        id
    }

    fn connected(&mut self, id: ConnectionId, incoming: bool, streams: u16) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        if !std::mem::replace(&mut line.is_connected, true) {
            let event = Transported::Connected { incoming, streams, partial_reliability: true };
            self.events.push_back((id, event));
        }
    }

    fn close(&mut self, id: ConnectionId, reason: CloseReason) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        line.is_aborted = true;
        let stats = Box::new(line.stats());
        self.events.push_back((id, Transported::Closed { reason, stats }));
    }

    fn say(&mut self, now: Time, id: ConnectionId, stream: u16, payload: &[u8]) {
        let Some(line) = self.lines.get_mut(&id).filter(|line| line.is_connected) else { return };
        line.heard = now;
        line.inbox.push_back(Incoming {
            stream: StreamId(stream),
            payload_id: PayloadId(0),
            payload: Bytes::copy_from_slice(payload),
            completed_at: now,
            path: PathId(0),
            fills_gap: false,
        });
        self.events.push_back((id, Transported::Readable));
    }

    /// Connections that have ended are forgotten when that was told.
    fn settle(&mut self) {
        let over = self.lines.iter().filter(|(_, line)| line.is_aborted);
        for id in over.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.close(id, CloseReason::Aborted);
            self.lines.remove(&id);
        }
    }
}

impl Machine for Lines {
    type Event = (ConnectionId, Transported);

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        let &[what, at, how, ref rest @ ..] = datagram.bytes else { return };
        if what == COMES && self.lines.len() < LINES_MAX {
            let id = self.open(now, datagram.path);
            return self.connected(id, true, if how == 255 { 1 } else { STREAMS });
        }
        let count = self.lines.len().max(1);
        let Some((&id, line)) = self.lines.iter_mut().nth(usize::from(at) % count) else { return };
        match what {
            ANSWERS => self.connected(id, false, if how == 255 { 1 } else { STREAMS }),
            SAYS => self.say(now, id, how.into(), rest),
            GOES => {
                let reason = String::from_utf8_lossy(rest).into_owned();
                self.close(id, CloseReason::PeerLeft { reason });
            }
            BEGINS_ANEW if line.is_connected => {
                let event = Transported::Restarted { partial_reliability: true };
                self.events.push_back((id, event));
            }
            CHANGES => {
                line.is_full = how & 1 != 0;
                line.carries = (how & 2 != 0).then(|| Rate::kbps(1 << (how >> 4)));
                self.events.push_back((id, Transported::Writable));
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_transmit(&mut self, _: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let line = self.lines.values_mut().find(|line| !line.sent.is_empty())?;
        let message = line.sent.pop_front()?;
        buf.push(u8::from(message.stream.0 == 0));
        buf.extend_from_slice(&message.payload);
        Some(Transmit::datagram(line.path))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        None
    }

    fn poll_event(&mut self) -> Option<Self::Event> {
        if self.events.is_empty() {
            self.settle();
        }
        self.events.pop_front()
    }
}

impl Transport for Lines {
    fn connect(&mut self, now: Time, paths: &[FourTuple]) -> Result<ConnectionId, ConnectError> {
        let full = || ConnectError { reason: "too many".to_owned() };
        let path = paths.first().filter(|_| self.lines.len() < LINES_MAX).ok_or_else(full)?;
        Ok(self.open(now, *path))
    }

    fn connection(&self, id: ConnectionId) -> Option<&dyn Connection> {
        self.lines.get(&id).map(|line| line as &dyn Connection)
    }

    fn connection_mut(&mut self, id: ConnectionId) -> Option<&mut dyn Connection> {
        self.lines.get_mut(&id).map(|line| line as &mut dyn Connection)
    }

    fn forget(&mut self, id: ConnectionId) {
        self.lines.remove(&id);
    }

    fn connections(&self) -> usize {
        self.lines.len()
    }
}

fn path() -> FourTuple {
    let address = |host| SocketAddr::from((Ipv4Addr::new(192, 0, 2, host), 9));
    FourTuple::new(address(1), address(2))
}

fn media() -> Media {
    let video = VideoFormat {
        codec: "vp8".to_owned(),
        format: PictureFormat::Vp8,
        width: Some(640),
        height: Some(360),
        fps: None,
    };
    Media {
        voice: Some(VoiceFormat::opus()),
        video: Some(video),
        microphone: Device::On,
        camera: Device::On,
    }
}

struct Play {
    agent: Agent,
    now: Time,
    /// Calls of ours that have not ended, and whether one has begun.
    called: usize,
    is_in_call: bool,
}

impl Play {
    fn new() -> Self {
        let config = CallConfig { media: media(), ..CallConfig::new(true) };
        let agent = Agent::over(Box::new(Lines::default()), config, Rng::from_u64(1));
        Self { agent, now: Time::ZERO, called: 0, is_in_call: false }
    }

    fn step(&mut self, script: &mut Script<'_>) {
        let what = script.byte();
        let at = what >> 4;
        match what % 12 {
            0 => self.tell(COMES, at, script.byte(), &[]),
            1 => self.call(),
            2 => self.tell(ANSWERS, at, script.byte(), &[]),
            3 => self.tell(SAYS, at, 0, script.bytes()),
            4 => self.tell(SAYS, at, 0, WORDS[usize::from(script.byte()) % WORDS.len()].as_bytes()),
            5 => self.say_altered(at, script),
            6 => self.tell(SAYS, at, 2, PICTURE),
            7 => self.tell(SAYS, at, script.byte() % 8, VOICE),
            8 => self.pass(Duration::from_millis(1 << (script.byte() % 16))),
            9 => self.tell(CHANGES, at, script.byte(), &[]),
            10 => self.part(at, script),
            _ => self.act(script),
        }
    }

    fn tell(&mut self, what: u8, at: u8, how: u8, rest: &[u8]) {
        let bytes = [&[what, at, how], rest].concat();
        self.agent.handle_datagram(self.now, Datagram { path: path(), ecn: None, bytes: &bytes });
    }

    fn call(&mut self) {
        let may_call = !self.agent.has_peer();
        let called = self.agent.connect(self.now, &[path()]).is_ok();
        assert!(may_call || !called, "a second call");
        self.called += usize::from(called);
    }

    /// Words of which some byte is another one.
    fn say_altered(&mut self, at: u8, script: &mut Script<'_>) {
        let mut words = WORDS[usize::from(script.byte()) % WORDS.len()].as_bytes().to_vec();
        let place = usize::from(script.byte()) % words.len();
        words[place] = script.byte();
        self.tell(SAYS, at, 0, &words);
    }

    fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        // A machine that nobody woke in time has to bear that, too.
        for _ in 0..64 {
            let due = self.agent.poll_timeout().filter(|wakeup| wakeup.at <= end);
            let Some(wakeup) = due else { break };
            self.now = self.now.max(wakeup.at);
            self.agent.handle_timeout(self.now);
        }
        self.now = end;
        self.agent.handle_timeout(self.now);
    }

    fn part(&mut self, at: u8, script: &mut Script<'_>) {
        match script.byte() % 3 {
            0 => self.tell(GOES, at, 0, script.bytes()),
            1 => self.tell(BEGINS_ANEW, at, 0, &[]),
            _ => self.agent.hang_up(self.now, "enough"),
        }
    }

    /// This end does something.
    fn act(&mut self, script: &mut Script<'_>) {
        let kinds = [PictureKind::Key, PictureKind::Reference, PictureKind::Disposable];
        let (now, what, how) = (self.now, script.byte(), script.byte());
        match what % 4 {
            0 => self.agent.push_voice(now, now, Bytes::from(vec![how; 80])),
            1 => {
                let (kind, bytes) = (kinds[usize::from(how) % 3], Bytes::from(vec![how; 2_500]));
                self.agent.push_picture(now, Picture { at: now, kind, bytes });
            }
            2 => {
                let microphone = if how & 1 == 0 { Device::On } else { Device::Muted };
                let camera = if how & 2 == 0 { Device::On } else { Device::None };
                self.agent.set_media(now, Media { microphone, camera, ..media() });
            }
            _ => self.agent.want_key(now),
        }
    }

    fn check(&mut self) {
        self.check_sent();
        while let Some(event) = self.agent.poll_event() {
            self.check_event(&event);
        }
        assert_eq!(self.is_in_call, self.agent.is_in_call(), "begun, and not ended");
        assert!(self.agent.video_rate() <= VIDEO_RATE_MAX);
        let mut playbacks = 0;
        while self.agent.poll_playback(self.now).is_some() {
            playbacks += 1;
            assert!(playbacks < 1 << 12, "a playout that never comes to rest");
        }
        _ = self.agent.stats();
    }

    fn check_sent(&mut self) {
        let mut buf = Vec::new();
        while self.agent.poll_transmit(self.now, &mut buf).is_some() {
            if let Some((1, words)) = buf.split_first() {
                assert!(words.len() <= CONTROL_LEN_MAX, "{} bytes of words", words.len());
                assert!(words.starts_with(br#"{"type":""#) && words.ends_with(b"}"));
            }
            buf.clear();
        }
    }

    fn check_event(&mut self, event: &Event) {
        match event {
            Event::Began(peer) => {
                assert!(!self.is_in_call, "a call began in the middle of another one");
                self.is_in_call = true;
                assert_printable(&peer.program);
                assert_printable(peer.name.as_deref().unwrap_or_default());
                check_media(&peer.media);
            }
            Event::PeerMedia(media) => check_media(media),
            Event::TurnedAway { refusal, .. } => assert_printable(&refusal.text),
            Event::Encode(rate) => assert!(*rate <= VIDEO_RATE_MAX),
            Event::Log(line) => assert_printable(&line.text),
            Event::Ended(end) => {
                assert!(self.is_in_call || self.called > 0, "a call that never was");
                (self.is_in_call, self.called) = (false, 0);
                assert_printable(&end.text);
            }
            Event::KeyWanted
            | Event::NoPath
            | Event::PathsBack { .. }
            | Event::Exchanged(_)
            | Event::PathsChanged => {}
        }
    }
}

fn check_media(media: &Media) {
    let codecs = media.voice.iter().map(|voice| &voice.codec);
    codecs.chain(media.video.iter().map(|video| &video.codec)).for_each(|it| assert_printable(it));
}

fn assert_printable(text: &str) {
    assert!(!text.chars().any(char::is_control), "{text:?} acts on a terminal");
}
