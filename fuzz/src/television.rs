//! Checks of `anabranch-television`: whatever a viewer says, its server comes to rest, speaks as
//! the document has it and keeps to its limits; whatever a server says, a viewer does.

use std::time::Duration;

use anabranch_media::decoding::{VideoFormat, VideoInfo};
use anabranch_media::piece::{Header, Presentation, References, Run};
use anabranch_media::{Class, Layer, Piece, Track, Unit};
use anabranch_sansio::{Datagram, FourTuple, Machine, PathId, Rng, Time};
use anabranch_sctp::{Association, AssociationId, Endpoint, EndpointConfig, Event};
use anabranch_television::channel::{ChannelId, Label};
use anabranch_television::protocol::{
    Description, FromServer, FromViewer, PPID_BINARY, PPID_TEXT, PROTOCOL_VERSION, Programme,
    Report, Slot, StreamRole, TEXT_CHARS_MAX, UrgentLevel, decode_media,
};
use anabranch_television::{
    OpenToAll, SCTP_PORT, Server, ServerConfig, Television, TelevisionConfig, Viewer, ViewerEvent,
    between_server_and_viewer,
};
use anabranch_transport::{Connection, Incoming, Outgoing, PayloadId, SctpConfig, StreamId};
use bytes::Bytes;

use crate::script::Script;

/// Datagrams and timers that one step may cause.
const EVENTS_MAX: u32 = 20_000;

/// What waits for one viewer, and one message more.
const QUEUED_MAX: usize = (64 << 10) + (256 << 10);

/// Plays `bytes` as a script: what a viewer says, what becomes of the channels, how time passes.
pub fn server(bytes: &[u8]) {
    let mut script = Script(bytes);
    let mut play = Play::new();
    while !script.0.is_empty() {
        play.step(&mut script);
        play.settle();
        play.check();
    }
}

/// A server, and the association of a viewer that says anything.
struct Play {
    server: Server,
    viewer: Endpoint,
    id: AssociationId,
    now: Time,
    frames: u64,
}

impl Play {
    fn new() -> Self {
        let config = TelevisionConfig { viewers_max: 2, ..TelevisionConfig::default() };
        let mut television = Television::new(config, Box::new(OpenToAll));
        for number in 1..=3 {
            let name = format!("Channel {number}");
            let label = Label { number, name, group: None, open: number != 3 };
            let id = television.add_channel(label);
            television.begin(id, Some(picture()), None);
        }
        let server = Server::new(television, ServerConfig::default(), Rng::from_u64(1));
        let server = server.expect("a certificate");
        let mut viewer = Endpoint::new(EndpointConfig::default(), Rng::from_u64(2));
        let ports = (SCTP_PORT, SCTP_PORT);
        let config = between_server_and_viewer(SctpConfig::media()).association;
        let called = viewer.connect(Time::ZERO, &[path()], ports, config);
        let id = called.expect("nothing stands against it");
        let mut play = Self { server, viewer, id, now: Time::ZERO, frames: 0 };
        play.settle();
        play
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.byte() % 8 {
            0 => {
                let (stream, ppid) = (script.byte(), script.byte());
                self.say(
                    StreamId(stream.into()),
                    PayloadId(ppid.into()),
                    script.bytes().to_vec().into(),
                );
            }
            1 | 2 => {
                let (stream, request) = request(script);
                self.say(stream, PPID_TEXT, request.encode());
            }
            3 => self.now += Duration::from_millis(1 << (script.byte() % 16)),
            4 | 5 => self.push(script),
            _ => self.change(script),
        }
    }

    fn say(&mut self, stream: StreamId, payload_id: PayloadId, payload: Bytes) {
        if let Some(association) = self.viewer.association_mut(self.id) {
            // A stream that is not there and a message of no bytes are refused: an answer, too.
            let message = Outgoing::new(stream, payload_id, payload);
            let _taken = Connection::send(association, self.now, message);
        }
    }

    /// The source of a channel goes on.
    fn push(&mut self, script: &mut Script<'_>) {
        let (what, size) = (script.byte(), script.byte());
        self.frames += 1;
        let is_sound = what & 4 != 0;
        let class = match (is_sound, what & 16 != 0, what & 32 != 0) {
            (true, ..) => Class::Audio,
            (false, true, _) => Class::KeyFrame,
            (false, false, true) => Class::Reference,
            (false, false, false) => Class::Disposable,
        };
        let unit = Unit {
            track: Track(is_sound.into()),
            class,
            layer: Layer(u8::from(what & 8 != 0)),
            frame: self.frames,
            at: self.now,
            pts_us: self.frames as i64 * 40_000,
            last_layer: what & 64 != 0,
            discontinuity: what & 128 != 0,
            bytes: vec![size; usize::from(size) << 10].into(),
        };
        let channel = ChannelId(u32::from(what & 3));
        self.server.act(|television| television.push(channel, &unit));
    }

    /// The operator does something.
    fn change(&mut self, script: &mut Script<'_>) {
        let (what, now) = (script.byte(), self.now);
        let text = String::from_utf8_lossy(script.bytes()).into_owned();
        let channel = ChannelId(u32::from(what >> 4 & 3));
        self.server.act(|television| match what % 10 {
            0 => television.begin(channel, (what >> 4 > 0).then(picture), None),
            1 => television.lose(channel, text),
            2 => television.cannot_be_played(channel, text),
            3 => {
                let programme = Programme { now: Some(text), next: None };
                television.set_programme(channel, programme);
            }
            4 => television.guide(&text),
            5 => _ = television.urgent(UrgentLevel::Alarm, &text, None),
            6 => _ = television.urgent(UrgentLevel::Notice, &text, Some(channel)),
            7 => television.end_urgent(u32::from(what >> 4)),
            8 => television.remove_channel(channel),
            _ => {
                let viewer = television.viewers().next();
                viewer
                    .into_iter()
                    .for_each(|viewer| television.dismiss(now, viewer.id, text.clone()));
            }
        });
    }

    /// Hands over all that both have to send, and fires what is due.
    fn settle(&mut self) {
        let mut buf = Vec::new();
        for _ in 0..EVENTS_MAX {
            let is_due = |wakeup: Option<anabranch_sansio::Wakeup>| {
                wakeup.is_some_and(|wakeup| wakeup.at <= self.now)
            };
            if is_due(self.server.poll_timeout()) {
                self.server.handle_timeout(self.now);
            }
            if is_due(self.viewer.poll_timeout()) {
                self.viewer.handle_timeout(self.now);
            }
            let said = carry(self.now, &mut self.viewer, &mut self.server, &mut buf);
            let answered = carry(self.now, &mut self.server, &mut self.viewer, &mut buf);
            if !said && !answered && !self.listen() {
                return;
            }
        }
        panic!("server and viewer do not come to rest");
    }

    /// Reads what the viewer got; whether there was anything.
    fn listen(&mut self) -> bool {
        let event = self.viewer.poll_event();
        if let Some((id, Event::Readable)) = event {
            while let Some(message) = self.viewer.association_mut(id).and_then(Association::receive)
            {
                check_message(message.into());
            }
        }
        event.is_some()
    }

    fn check(&self) {
        let viewers: Vec<_> = self.server.television().viewers().collect();
        assert!(viewers.len() <= 2);
        for viewer in viewers {
            let network = self.server.network(viewer.id).expect("a viewer has an association");
            assert!(network.queued <= QUEUED_MAX, "{} bytes wait", network.queued);
        }
    }
}

fn picture() -> VideoInfo {
    let (codec, format) = ("avc1.42E01E".to_owned(), VideoFormat::AnnexB);
    VideoInfo { codec, format, width: None, height: None, fps: None }
}

fn path() -> FourTuple {
    FourTuple::new(([10, 0, 0, 2], 40_000).into(), ([10, 0, 0, 1], 9_000).into())
}

/// A request that can be read.
fn request(script: &mut Script<'_>) -> (StreamId, FromViewer) {
    let (what, value) = (script.byte(), script.byte());
    let slot = Slot::new(u16::from(what >> 5)).unwrap_or_default();
    let (role, request) = match what % 8 {
        0 | 1 => {
            let program = String::from_utf8_lossy(script.bytes()).into_owned();
            let latency_ms = u32::from(value) << 4;
            let hello =
                FromViewer::Hello { protocol: PROTOCOL_VERSION, program, token: None, latency_ms };
            (StreamRole::Control, hello)
        }
        2 => (StreamRole::Control, FromViewer::Latency { latency_ms: u32::from(value) << 24 }),
        3 => (StreamRole::Control, FromViewer::Report(Report::default())),
        4 => (StreamRole::Urgent, FromViewer::Seen { id: value.into() }),
        5 => (StreamRole::Data(slot), FromViewer::Stop),
        6 => {
            (StreamRole::Data(slot), FromViewer::Tune { channel: ChannelId(u32::from(value) % 5) })
        }
        _ => (StreamRole::Still, FromViewer::Still { channel: ChannelId(u32::from(value) % 5) }),
    };
    (role.stream(), request)
}

fn carry<A: Machine, B: Machine>(now: Time, from: &mut A, to: &mut B, buf: &mut Vec<u8>) -> bool {
    buf.clear();
    let Some(sent) = from.poll_transmit(now, buf) else { return false };
    let path = FourTuple::new(sent.path.remote, sent.path.local);
    for bytes in buf.chunks(sent.segment_size.unwrap_or(buf.len()).max(1)) {
        to.handle_datagram(now, Datagram { path, ecn: sent.ecn, bytes });
    }
    true
}

/// What a server says is as the document has it.
fn check_message(message: Incoming) {
    let role = StreamRole::of(message.stream).expect("a stream of the protocol");
    if message.payload_id == PPID_BINARY {
        let media = decode_media(message.payload).expect("media");
        let is_base = media.header.layer == Layer::BASE;
        let is_right = match role {
            StreamRole::Audio(_) => media.header.class == Class::Audio,
            StreamRole::Base(_) | StreamRole::Still => {
                is_base && media.header.class != Class::Audio
            }
            StreamRole::Enhancement(_) => !is_base,
            StreamRole::Urgent | StreamRole::Control | StreamRole::Data(_) => false,
        };
        assert!(is_right, "{:?} on {role:?}", media.header);
        return;
    }
    assert_eq!(message.payload_id, PPID_TEXT);
    match FromServer::decode(&message.payload).expect("a text") {
        FromServer::Bye { text } | FromServer::Error { text } | FromServer::Guidance { text } => {
            assert!(text.chars().count() <= TEXT_CHARS_MAX, "{text}");
        }
        FromServer::Urgent(urgent) => assert!(urgent.text.chars().count() <= TEXT_CHARS_MAX),
        FromServer::Unknown => panic!("a server of this version knows what it says"),
        FromServer::Welcome { .. }
        | FromServer::Channels { .. }
        | FromServer::Over { .. }
        | FromServer::Description(_)
        | FromServer::OffAir { .. }
        | FromServer::Programme { .. }
        | FromServer::Still(_) => {}
    }
}

/// Plays `bytes` as a script: what a server says, and what is watched.
pub fn viewer(bytes: &[u8]) {
    let mut script = Script(bytes);
    let mut viewer = Viewer::new("fuzz".to_owned(), None, Duration::from_millis(300));
    let (mut now, mut slot, mut session) = (Time::ZERO, Slot::default(), None);
    while !script.0.is_empty() {
        let what = script.byte();
        now += Duration::from_millis(what.into());
        match what % 8 {
            0 => {
                let channel = ChannelId(u32::from(script.byte() & 1));
                viewer.tune(now, channel);
                (slot, session) = (slot.next(), None);
            }
            1 => viewer.stop(),
            2 | 3 => {
                let (stream, ppid) = (script.byte(), script.byte());
                let payload = script.bytes().to_vec();
                viewer.handle_message(now, &message(stream.into(), ppid.into(), payload.into()));
            }
            4 => {
                let (channel, of) = (script.byte(), u16::from(script.byte() & 3));
                let description = description(ChannelId(u32::from(channel & 1)), of);
                let stream = StreamRole::Data(slot).stream().0;
                viewer.handle_message(now, &message(stream, PPID_TEXT.0, description.encode()));
            }
            _ => {
                let media = media(&mut script).encode().into();
                let stream = StreamRole::Base(slot).stream().0;
                viewer.handle_message(now, &message(stream, PPID_BINARY.0, media));
            }
        }
        while let Some(event) = viewer.poll_event() {
            check_event(&event, viewer.channel(), &mut session);
        }
    }
}

/// What is shown is of a channel that is watched, and was described.
fn check_event(event: &ViewerEvent, watched: Option<ChannelId>, session: &mut Option<u16>) {
    if let ViewerEvent::Description(description) = event {
        *session = Some(description.session);
    } else if let ViewerEvent::Unit(unit) = event {
        assert!(watched.is_some(), "a unit of no channel");
        assert_eq!(Some(unit.session), *session);
    }
}

fn message(stream: u16, payload_id: u32, payload: Bytes) -> Incoming {
    Incoming {
        stream: StreamId(stream),
        payload_id: PayloadId(payload_id),
        payload,
        completed_at: Time::ZERO,
        path: PathId(0),
        fills_gap: false,
    }
}

fn description(channel: ChannelId, session: u16) -> FromServer {
    let description =
        Description { channel, session, video: None, audio: None, bits_per_second: 0 };
    FromServer::Description(Box::new(description))
}

fn media(script: &mut Script<'_>) -> Piece {
    let (what, parts) = (script.byte(), script.byte());
    let presentation = Presentation {
        pts_us: 0,
        references: References(parts.into()),
        last_layer: what & 128 != 0,
        discontinuity: false,
    };
    let class = match (what & 8 != 0, what & 32 != 0, what & 64 != 0) {
        (true, ..) => Class::Audio,
        (false, true, _) => Class::KeyFrame,
        (false, false, true) => Class::Reference,
        (false, false, false) => Class::Disposable,
    };
    let header = Header {
        presentation: Some(presentation),
        session: u16::from(what & 7),
        track: Track((what >> 3 & 1).into()),
        layer: Layer(what >> 4 & 1),
        class,
        frame: u64::from(script.byte()) << (20 * (parts & 1)),
        index: u64::from(parts & 15),
        sequence: 0,
        last: parts & 15 == parts >> 4,
        nulls: false,
        runs: vec![Run { position: 0, count: 1, at_us: 0, step: 0 }],
    };
    Piece { header, payload: script.bytes().to_vec().into() }
}
