//! [`Broadcast`]: sources of channels.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_media::decoding::{AudioFormat, AudioInfo, VideoFormat, VideoInfo};
use anabranch_media::{Class, Layer, Track, Unit};
use anabranch_sansio::Time;
use anabranch_television::Television;
use anabranch_television::channel::{ChannelId, Label};

/// Between two pictures.
const PICTURE: Duration = Duration::from_millis(40);
/// Pictures of a group.
const GROUP: u32 = 50;
/// Between two frames of sound.
const SOUND: Duration = Duration::from_millis(20);

/// What a channel sends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Programming {
    /// Bytes of the base layer of a key frame, and of another picture.
    pub(crate) key: usize,
    pub(crate) base: usize,
    /// Of the enhancement.
    pub(crate) enhancement: usize,
}

/// 3 Mbit/s: a key frame of 100 kB every two seconds.
pub(crate) const THREE_MBPS: Programming =
    Programming { key: 100_000, base: 12_500, enhancement: 0 };
/// 1 Mbit/s and 2 Mbit/s more.
pub(crate) const LAYERED: Programming =
    Programming { key: 40_000, base: 4_000, enhancement: 10_000 };

/// Channels that are on air, and what they have sent.
#[derive(Debug)]
pub(crate) struct Broadcast {
    programming: BTreeMap<ChannelId, Programming>,
    begun: Time,
    pictures: u32,
    sounds: u32,
}

impl Broadcast {
    pub(crate) const fn new(begun: Time) -> Self {
        Self { programming: BTreeMap::new(), begun, pictures: 0, sounds: 0 }
    }

    /// A channel that is on air.
    pub(crate) fn add(
        &mut self,
        television: &mut Television,
        number: u32,
        programming: Programming,
    ) -> ChannelId {
        let name = format!("Channel {number}");
        let id = television.add_channel(Label { number, name, group: None, open: true });
        self.begin(television, id, programming);
        id
    }

    /// The source of a channel begins, or begins anew.
    pub(crate) fn begin(
        &mut self,
        television: &mut Television,
        id: ChannelId,
        programming: Programming,
    ) {
        let video = VideoInfo {
            codec: "avc1.42E01E".to_owned(),
            format: VideoFormat::AnnexB,
            width: None,
            height: None,
            fps: None,
        };
        let audio = AudioInfo {
            codec: "opus".to_owned(),
            format: AudioFormat::Opus,
            sample_rate: 48_000,
            channels: 2,
        };
        television.begin(id, Some(video), Some(audio));
        self.programming.insert(id, programming);
    }

    /// The source of a channel falls silent.
    pub(crate) fn silence(&mut self, id: ChannelId) {
        self.programming.remove(&id);
    }

    /// Whether the sources have something new.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        let elapsed = now - self.begun;
        PICTURE * self.pictures <= elapsed || SOUND * self.sounds <= elapsed
    }

    /// Pushes what the sources have until now.
    pub(crate) fn send_due(&mut self, now: Time, television: &mut Television) {
        let elapsed = now - self.begun;
        while PICTURE * self.pictures <= elapsed {
            let at = self.begun + PICTURE * self.pictures;
            for (id, programming) in &self.programming {
                self.push_picture(television, *id, *programming, at);
            }
            self.pictures += 1;
        }
        while SOUND * self.sounds <= elapsed {
            let at = self.begun + SOUND * self.sounds;
            let sound = unit(Class::Audio, 0, self.sounds, at, 160);
            self.programming.keys().for_each(|id| television.push(*id, &sound));
            self.sounds += 1;
        }
    }

    fn push_picture(
        &self,
        television: &mut Television,
        id: ChannelId,
        programming: Programming,
        at: Time,
    ) {
        // The channels' groups begin at different times.
        let place = (self.pictures + 17 * id.0) % GROUP;
        let bytes = if place == 0 { programming.key } else { programming.base };
        let class = match place {
            0 => Class::KeyFrame,
            _ if place.is_multiple_of(2) => Class::Reference,
            _ => Class::Disposable,
        };
        let mut base = unit(class, 0, self.pictures, at, bytes);
        base.last_layer = programming.enhancement == 0;
        television.push(id, &base);
        if programming.enhancement > 0 {
            let len = programming.enhancement;
            television.push(id, &unit(Class::Disposable, 1, self.pictures, at, len));
        }
    }
}

fn unit(class: Class, layer: u8, frame: u32, at: Time, len: usize) -> Unit {
    Unit {
        track: Track((class == Class::Audio).into()),
        class,
        layer: Layer(layer),
        frame: frame.into(),
        at,
        pts_us: at.as_micros() as i64,
        last_layer: true,
        discontinuity: false,
        bytes: vec![frame as u8; len].into(),
    }
}
