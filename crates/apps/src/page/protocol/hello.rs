//! [`Hello`]: what there is to see and to control.

use anabranch_media::clip::ClipHeader;
use anabranch_media::decoding::{AudioFormat, AudioInfo, VideoFormat, VideoInfo};
use serde::{Deserialize, Serialize};

use super::PROTOCOL_VERSION;

/// What there is to see and to control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// The program's name and version.
    pub program: String,
    /// Which command serves the page.
    pub mode: Mode,
    /// What is played.
    pub title: Option<String>,
    /// The program's clock. The server sets it when it sends the message.
    pub now_us: u64,
    /// The play-out latency in force.
    pub latency_ms: f64,
    /// The picture.
    pub video: Option<VideoInfo>,
    /// The sound.
    pub audio: Option<AudioInfo>,
    /// Names of what else the stream has, and no page plays.
    pub not_played: Vec<String>,
    /// Whom to name.
    pub attribution: Option<Attribution>,
    /// The paths known now.
    pub paths: Vec<PathInfo>,
    /// The rows of the statistics by layer, in the order of display.
    pub layers: Vec<Named>,
    /// The rows of the treatment table, in the order of display.
    pub classes: Vec<Named>,
    /// What the page may change.
    pub controls: Controls,
}

impl Hello {
    /// Nothing to see yet, and nothing to control.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self {
            protocol: PROTOCOL_VERSION,
            program: concat!("anabranch ", env!("CARGO_PKG_VERSION")).to_owned(),
            mode,
            title: None,
            now_us: 0,
            latency_ms: 0.0,
            video: None,
            audio: None,
            not_played: Vec::new(),
            attribution: None,
            paths: Vec::new(),
            layers: Vec::new(),
            classes: Vec::new(),
            controls: Controls::default(),
        }
    }

    /// Says what a decoder of a clip must know, and whom to name.
    pub fn describe_clip(&mut self, header: &ClipHeader) {
        let ClipHeader { title, video, audio, attribution, .. } = header;
        self.title = Some(title.clone());
        self.video = Some(VideoInfo {
            codec: video.codec.clone(),
            format: VideoFormat::Vp9,
            width: Some(video.width.into()),
            height: Some(video.height.into()),
            fps: Some(video.fps()),
        });
        self.audio = Some(AudioInfo {
            codec: audio.codec.clone(),
            format: AudioFormat::Opus,
            sample_rate: audio.sample_rate,
            channels: audio.channels.into(),
        });
        self.attribution = Some(Attribution {
            text: format!("{title}, {}", attribution.text),
            url: Some(attribution.url.clone()),
            license: attribution.license.clone(),
            license_url: Some(attribution.license_url.clone()),
        });
    }
}

/// Which command serves the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// `anabranch demo`.
    Demo,
    /// `anabranch recv --page`.
    Recv,
    /// `anabranch watch`.
    Watch,
}

/// Whom to name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribution {
    /// The line to show.
    pub text: String,
    /// Where the work is found.
    pub url: Option<String>,
    /// The licence's name.
    pub license: String,
    /// Where the licence's text is found.
    pub license_url: Option<String>,
}

/// A path by its number, name and addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathInfo {
    /// The number that requests and statistics name it by.
    pub id: u32,
    /// What people call it.
    pub name: Option<String>,
    /// This end.
    pub local: String,
    /// The other end.
    pub remote: String,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// What messages call it.
    pub id: String,
    /// What people call it.
    pub name: String,
}

/// What the page may change; null: nothing of that kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Controls {
    /// The emulated links.
    pub links: Option<LinkRanges>,
    /// The treatment of each class.
    pub treatments: Option<TreatmentRanges>,
    /// The play-out latency.
    pub latency_ms: Option<Range>,
    /// Whether there are channels to choose from.
    pub channels: bool,
}

/// The smallest and the largest value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Range(pub f64, pub f64);

impl Range {
    /// Whether `value` lies within.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        (self.0..=self.1).contains(&value)
    }
}

/// What an emulated link can be set to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkRanges {
    /// kbit/s.
    pub rate_kbps: Range,
    /// One way.
    pub delay_ms: Range,
    /// Share of the packets.
    pub loss_percent: Range,
}

/// What a treatment can be set to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TreatmentRanges {
    /// 0 goes first.
    pub priority: Range,
    /// From when the media came to the sender.
    pub lifetime_ms: Range,
    /// After the first transmission.
    pub max_retransmissions: Range,
}
