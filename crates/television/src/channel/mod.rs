//! [`Channel`]: one programme, read once, whatever the number of its viewers.

mod history;
mod still;

use anabranch_media::cutter::UnitCutter;
use anabranch_media::decoding::{AudioInfo, VideoInfo};
use anabranch_media::{Class, Layer, Unit};
use bytes::Bytes;

pub use crate::protocol::ChannelId;
use crate::protocol::{ChannelEntry, Description, Playable, Programme};
pub use history::Part;
use history::{Parts, Rate};
pub use still::Picture;

/// What people see of a channel before they watch it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The key to press.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Channels of one group are shown together.
    pub group: Option<String>,
    /// Whether everyone may watch it, or only who has a token for it.
    pub open: bool,
}

/// One programme with its last group of pictures, as messages that only need to be sent.
#[derive(Debug)]
pub struct Channel {
    id: ChannelId,
    label: Label,
    programme: Programme,
    /// The servers that its media passes, this one last.
    through: Vec<String>,
    playable: Playable,
    state: State,
    /// The server's number of this start of the source.
    session: u16,
    video: Option<VideoInfo>,
    audio: Option<AudioInfo>,
    cutter: UnitCutter,
    parts: Parts,
    rate: Rate,
    oversized: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    OnAir,
    /// Why, in words.
    OffAir(String),
}

impl Channel {
    /// A channel whose source has not come yet.
    #[must_use]
    pub fn new(id: ChannelId, label: Label) -> Self {
        Self {
            id,
            label,
            programme: Programme::default(),
            through: Vec::new(),
            playable: Playable::Unknown,
            state: State::OffAir("its source has not come yet".to_owned()),
            session: 0,
            video: None,
            audio: None,
            cutter: UnitCutter::new(0),
            parts: Parts::default(),
            rate: Rate::default(),
            oversized: 0,
        }
    }

    /// What the list says of it.
    #[must_use]
    pub fn entry(&self) -> ChannelEntry {
        ChannelEntry {
            id: self.id,
            number: self.label.number,
            name: self.label.name.clone(),
            group: self.label.group.clone(),
            on_air: self.is_on_air(),
            playable: self.playable.clone(),
            programme: self.programme.clone(),
            through: self.through.clone(),
        }
    }

    /// What people see of it.
    #[must_use]
    pub const fn label(&self) -> &Label {
        &self.label
    }

    /// What is on.
    #[must_use]
    pub const fn programme(&self) -> &Programme {
        &self.programme
    }

    /// Another programme began.
    pub fn set_programme(&mut self, programme: Programme) {
        self.programme = programme;
    }

    /// Its media passes these servers, this one last.
    pub fn set_through(&mut self, through: Vec<String>) {
        self.through = through;
    }

    /// The source begins, or begins anew: what was kept of it is void. No other start of any of the
    /// server's channels had this number lately.
    pub fn begin(&mut self, session: u16, video: Option<VideoInfo>, audio: Option<AudioInfo>) {
        self.state = State::OnAir;
        self.playable = Playable::Yes;
        self.session = session;
        (self.video, self.audio) = (video, audio);
        self.cutter = UnitCutter::new(session);
        self.parts.clear();
    }

    /// The source is there, and no viewer can decode it.
    pub fn cannot_be_played(&mut self, text: String) {
        self.state = State::OnAir;
        self.playable = Playable::No { text };
        (self.video, self.audio) = (None, None);
        self.parts.clear();
    }

    /// The source is lost.
    pub fn lose(&mut self, text: String) {
        self.state = State::OffAir(text);
        self.parts.clear();
    }

    /// Takes the next unit of the source, in decoding order. One that is longer than
    /// [`UNIT_LEN_MAX`](anabranch_media::cutter::UNIT_LEN_MAX) is dropped.
    pub fn push(&mut self, unit: &Unit) {
        self.rate.count(unit.at, unit.bytes.len());
        // Sound alone can be entered anywhere.
        let is_entry = match unit.class {
            Class::KeyFrame => unit.layer == Layer::BASE,
            Class::Audio => self.video.is_none(),
            Class::Tables | Class::Reference | Class::Data | Class::Disposable | Class::Padding => {
                false
            }
        };
        let messages: Vec<Bytes> =
            self.cutter.cut(unit).map(|piece| piece.encode().into()).collect();
        if messages.is_empty() {
            self.oversized += 1;
            return;
        }
        self.parts.push(Part {
            at: unit.at,
            class: unit.class,
            layer: unit.layer,
            frame: unit.frame,
            is_entry,
            bytes: messages.iter().map(Bytes::len).sum(),
            messages,
        });
    }

    /// Whether its source is there.
    #[must_use]
    pub fn is_on_air(&self) -> bool {
        self.state == State::OnAir
    }

    /// What keeps it from being watched, in words.
    #[must_use]
    pub fn obstacle(&self) -> Option<&str> {
        match (&self.state, &self.playable) {
            (State::OffAir(text), _) | (State::OnAir, Playable::No { text }) => Some(text),
            (State::OnAir, Playable::Yes | Playable::Unknown) => None,
        }
    }

    /// What a decoder must know.
    #[must_use]
    pub fn description(&self) -> Description {
        Description {
            channel: self.id,
            session: self.session,
            video: self.video.clone(),
            audio: self.audio.clone(),
            bits_per_second: self.bits_per_second(),
        }
    }

    /// The server's number of this start of the source.
    #[must_use]
    pub const fn session(&self) -> u16 {
        self.session
    }

    /// The average rate.
    #[must_use]
    pub fn bits_per_second(&self) -> u64 {
        self.rate.bits_per_second()
    }

    /// Bytes of the last key frame that is kept.
    #[must_use]
    pub fn key_bytes(&self) -> usize {
        self.part(self.entry_point()).map_or(0, |part| part.bytes)
    }

    /// Units that were too long.
    #[must_use]
    pub const fn oversized(&self) -> u64 {
        self.oversized
    }

    /// Where a new viewer begins: the last key frame that is kept, or what comes next.
    #[must_use]
    pub fn entry_point(&self) -> u64 {
        self.parts.entry_point()
    }

    /// The number that the next part will have.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.parts.end()
    }

    /// A part by its number, if it came and is still kept.
    #[must_use]
    pub fn part(&self, number: u64) -> Option<&Part> {
        self.parts.get(number)
    }

    /// The last key picture that is kept, for who does not watch the channel. None where there is
    /// none, or where it is larger than that is worth.
    #[must_use]
    pub fn still(&self) -> Option<Picture> {
        let part = self.part(self.entry_point())?;
        (part.class != Class::Audio).then(|| Picture::of(part))?
    }

    /// The number of the oldest part that is kept.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.parts.start()
    }
}
