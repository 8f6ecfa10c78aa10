//! [`Viewer`]: the other end.

mod assembler;
mod native;
mod playout;

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_media::Piece;
use anabranch_media::decoding::MediaTrack;
use anabranch_sansio::Time;
use anabranch_transport::{Connection, Incoming, Outgoing, SendError, StreamId};
use bytes::Bytes;

use crate::channel::ChannelId;
use crate::protocol::{
    ChannelEntry, Description, FromServer, FromViewer, PPID_BINARY, PPID_TEXT, PROTOCOL_VERSION,
    Programme, Report, STREAMS, Slot, Still, StreamRole, Urgent, decode_media,
};
use assembler::Assembler;
pub use assembler::{PictureOrder, ReceivedUnit};
pub use native::{NativeEvent, NativeViewer};
pub use playout::{Playout, PlayoutCounts};

/// Events that wait for the user; media beyond is dropped.
const EVENTS_MAX: usize = 4_096;

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum ViewerEvent {
    /// The server let us in.
    Welcome {
        /// Its program.
        program: String,
        /// What its clock showed when it said so.
        now: Time,
        /// The latency budget in force.
        budget: Duration,
        /// What there is to watch.
        channels: Vec<ChannelEntry>,
    },
    /// There is something else to watch.
    Channels(Vec<ChannelEntry>),
    /// What follows of the channel is to be decoded so.
    Description(Box<Description>),
    /// The channel that is watched is lost.
    OffAir {
        /// Which.
        channel: ChannelId,
        /// Why, in words.
        text: String,
    },
    /// Another programme began.
    Programme {
        /// Where.
        channel: ChannelId,
        /// Now and next.
        programme: Programme,
    },
    /// A layer of a picture, or a frame of sound, of the channel that is watched is whole.
    Unit(ReceivedUnit),
    /// To be shown at once, and then to be [acknowledged](Viewer::seen).
    Urgent(Urgent),
    /// A picture of a channel that is not watched, which was [asked for](Viewer::ask_still).
    Still {
        /// Which, and how to decode it. Without that there is no picture.
        still: Still,
        /// The media.
        bytes: Bytes,
    },
    /// An urgent message holds no more.
    Over {
        /// Which.
        id: u32,
    },
    /// Something to show.
    Guidance(String),
    /// A request cannot be met.
    Error(String),
    /// The server ends the session.
    Bye(String),
}

/// Counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ViewerStats {
    /// Units that were whole.
    pub units: u64,
    /// Units of which some parts never came.
    pub incomplete: u64,
    /// Messages of a channel that is no longer watched.
    pub stray: u64,
    /// Messages that broke the protocol.
    pub malformed: u64,
    /// From the last request for a channel to its first picture, or sound where it has none.
    pub zap: Option<Duration>,
}

/// Watches one channel at a time over a connection.
#[derive(Debug)]
pub struct Viewer {
    slot: Slot,
    channel: Option<ChannelId>,
    /// When it was asked for, until it is there.
    asked: Option<Time>,
    /// Where what is watched can be entered.
    entry: Option<MediaTrack>,
    assembler: Assembler,
    /// The one that follows, and its parts.
    still: Option<(Still, Assembler)>,
    outbox: VecDeque<(StreamId, Bytes)>,
    events: VecDeque<ViewerEvent>,
    stats: ViewerStats,
}

impl Viewer {
    /// A viewer that says hello as soon as there is a connection.
    #[must_use]
    pub fn new(program: String, token: Option<String>, budget: Duration) -> Self {
        let mut viewer = Self {
            slot: Slot::default(),
            channel: None,
            asked: None,
            entry: None,
            assembler: Assembler::default(),
            still: None,
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            stats: ViewerStats::default(),
        };
        let latency_ms = u32::try_from(budget.as_millis()).unwrap_or(u32::MAX);
        let hello = FromViewer::Hello { protocol: PROTOCOL_VERSION, program, token, latency_ms };
        viewer.say(StreamRole::Control, &hello);
        viewer
    }

    /// How many streams the connection must have.
    #[must_use]
    pub const fn streams() -> u16 {
        STREAMS
    }

    /// Watches a channel, and nothing else any more.
    pub fn tune(&mut self, now: Time, channel: ChannelId) {
        self.slot = self.slot.next();
        self.leave(Some(channel));
        self.asked = Some(now);
        self.say(StreamRole::Data(self.slot), &FromViewer::Tune { channel });
    }

    /// Watches nothing.
    pub fn stop(&mut self) {
        self.leave(None);
        self.say(StreamRole::Data(self.slot), &FromViewer::Stop);
    }

    /// Asks for a picture of a channel that is not watched.
    pub fn ask_still(&mut self, channel: ChannelId) {
        self.say(StreamRole::Still, &FromViewer::Still { channel });
    }

    /// Asks for another latency budget.
    pub fn set_budget(&mut self, budget: Duration) {
        let latency_ms = u32::try_from(budget.as_millis()).unwrap_or(u32::MAX);
        self.say(StreamRole::Control, &FromViewer::Latency { latency_ms });
    }

    /// Tells the server what is experienced.
    pub fn report(&mut self, report: Report) {
        self.say(StreamRole::Control, &FromViewer::Report(report));
    }

    /// An urgent message is on the screen.
    pub fn seen(&mut self, id: u32) {
        self.say(StreamRole::Urgent, &FromViewer::Seen { id });
    }

    /// Hands the connection what is to be said.
    pub fn serve(&mut self, now: Time, connection: &mut dyn Connection) {
        while let Some((stream, payload)) = self.outbox.front() {
            let message = Outgoing::new(*stream, PPID_TEXT, payload.clone());
            match connection.send(now, message) {
                Err(SendError::Full) => return,
                // Whatever else stands against it: the connection is ending.
                Ok(()) | Err(_) => self.outbox.pop_front(),
            };
        }
    }

    /// Takes what the server sent.
    pub fn handle_message(&mut self, now: Time, message: &Incoming) {
        let Some(role) = StreamRole::of(message.stream) else {
            self.stats.malformed += 1;
            return;
        };
        if message.payload_id == PPID_BINARY {
            self.on_media(now, role, message.payload.clone());
        } else if let Ok(text) = FromServer::decode(&message.payload) {
            self.on_text(now, role, text);
        } else {
            self.stats.malformed += 1;
        }
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<ViewerEvent> {
        self.events.pop_front()
    }

    /// What is watched.
    #[must_use]
    pub const fn channel(&self) -> Option<ChannelId> {
        self.channel
    }

    /// Counters.
    #[must_use]
    pub const fn stats(&self) -> ViewerStats {
        ViewerStats { incomplete: self.assembler.given_up(), ..self.stats }
    }

    fn say(&mut self, role: StreamRole, message: &FromViewer) {
        self.outbox.push_back((role.stream(), message.encode()));
    }

    /// What arrived of the channel that was watched is not handed out any more.
    fn leave(&mut self, next: Option<ChannelId>) {
        self.channel = next;
        (self.asked, self.entry) = (None, None);
        self.assembler.clear();
        self.events.retain(|event| !matches!(event, ViewerEvent::Unit(_)));
    }

    fn tell(&mut self, event: ViewerEvent) {
        let is_media = matches!(event, ViewerEvent::Unit(_));
        if self.events.len() < EVENTS_MAX || !is_media {
            self.events.push_back(event);
        }
    }

    fn on_text(&mut self, now: Time, role: StreamRole, text: FromServer) {
        let is_stale = matches!(role, StreamRole::Data(slot) if slot != self.slot);
        if is_stale {
            self.stats.stray += 1;
            return;
        }
        let event = match text {
            FromServer::Welcome { program, latency_ms, now_us, channels, .. } => {
                let budget = Duration::from_millis(latency_ms.into());
                let now = Time::from_micros(now_us);
                ViewerEvent::Welcome { program, now, budget, channels }
            }
            FromServer::Channels { channels } => ViewerEvent::Channels(channels),
            FromServer::Guidance { text } => ViewerEvent::Guidance(text),
            FromServer::Error { text } => ViewerEvent::Error(text),
            FromServer::Bye { text } => ViewerEvent::Bye(text),
            FromServer::Urgent(urgent) => ViewerEvent::Urgent(urgent),
            FromServer::Over { id } => ViewerEvent::Over { id },
            FromServer::OffAir { channel, text } => ViewerEvent::OffAir { channel, text },
            FromServer::Programme { channel, programme } => {
                ViewerEvent::Programme { channel, programme }
            }
            FromServer::Description(description) => {
                self.assembler.begin(description.session);
                self.entry = Some(match &description.video {
                    Some(_) => MediaTrack::Video,
                    None => MediaTrack::Audio,
                });
                ViewerEvent::Description(description)
            }
            FromServer::Still(still) => return self.on_still(still),
            FromServer::Unknown => return,
        };
        self.tell(event);
        self.release(now);
    }

    fn on_media(&mut self, now: Time, role: StreamRole, payload: Bytes) {
        let is_current = match role {
            StreamRole::Base(slot) | StreamRole::Enhancement(slot) | StreamRole::Audio(slot) => {
                slot == self.slot
            }
            StreamRole::Control | StreamRole::Urgent | StreamRole::Data(_) | StreamRole::Still => {
                false
            }
        };
        let Ok(piece) = decode_media(payload) else {
            self.stats.malformed += 1;
            return;
        };
        if role == StreamRole::Still {
            return self.on_still_part(piece);
        }
        if !is_current || self.channel.is_none() {
            self.stats.stray += 1;
            return;
        }
        self.assembler.push(piece);
        self.release(now);
    }

    fn on_still(&mut self, still: Still) {
        if still.video.is_none() {
            self.still = None;
            return self.tell(ViewerEvent::Still { still, bytes: Bytes::new() });
        }
        let mut assembler = Assembler::default();
        assembler.begin(still.session);
        self.still = Some((still, assembler));
    }

    fn on_still_part(&mut self, piece: Piece) {
        let Some((still, assembler)) = &mut self.still else {
            self.stats.stray += 1;
            return;
        };
        if piece.header.frame == still.frame {
            assembler.push(piece);
        }
        if let Some(unit) = assembler.poll() {
            let still = still.clone();
            self.still = None;
            self.tell(ViewerEvent::Still { still, bytes: unit.unit.bytes });
        }
    }

    fn release(&mut self, now: Time) {
        while let Some(unit) = self.assembler.poll() {
            self.stats.units += 1;
            let is_entry = unit.is_key() && Some(unit.kind()) == self.entry;
            if is_entry && let Some(asked) = self.asked.take() {
                self.stats.zap = Some(now.saturating_since(asked));
            }
            self.tell(ViewerEvent::Unit(unit));
        }
    }
}
