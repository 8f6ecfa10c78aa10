//! [`BroadcastScreen`]: what a viewer sees and hears of a transport stream that arrives.
//!
//! Browsers decode H.264, AV1, AAC, MP3 and Opus. The first track of each kind is shown; a picture
//! or a frame of sound of which something is missing is left out.

mod adts;
mod av1;
mod avc;
mod elementary;
mod mpeg_audio;
pub(crate) mod opus;
mod picture;
mod sound;
#[cfg(test)]
mod tests;
mod timing;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use anabranch_sansio::Time;
use bytes::Bytes;

use crate::codec::Codec;
use crate::decoding::{AccessUnit, AudioInfo, LayerUnit, MediaTrack, VideoInfo};
use crate::playout::{Released, Timeliness};
use crate::ts::{PACKET_LEN, Packet, Pid, Role, Tables};
use crate::{Class, Track};
use elementary::{Elementary, PesUnit};
use picture::{Pictures, Taken};
use sound::Sound;
use timing::{PictureTimes, PresentationClock};

/// Pictures whose loss is remembered, in case that they come late.
const LOST_KEPT: usize = 1_024;

/// A gap of more pictures is another stream, not so many lost ones.
const GAP_MAX: u64 = 250;

/// So long a picture without sound, or what no page plays, is taken for all that there is.
const PATIENCE: Duration = Duration::from_secs(1);

/// So long sound waits for a picture that is there: its decoder's parameters come with a key frame.
const KEY_FRAME_PATIENCE: Duration = Duration::from_secs(12);

/// More codecs than a program has are not named.
const NOT_PLAYED_MAX: usize = 16;

/// A frame of sound as its header describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BareFrame {
    /// Its bytes, header included.
    pub len: usize,
    /// Samples of each channel.
    pub samples: u32,
    /// Samples in a second.
    pub sample_rate: u32,
}

/// The frame of MP3 that the bytes begin with; it may be longer than they are.
#[must_use]
pub fn mp3_frame(bytes: &[u8]) -> Option<BareFrame> {
    let (format, len) = mpeg_audio::parse(bytes)?;
    Some(BareFrame { len, samples: format.samples, sample_rate: format.sample_rate })
}

/// The frame of AAC, with its ADTS header, that the bytes begin with; it may be longer than they
/// are.
#[must_use]
pub fn adts_frame(bytes: &[u8]) -> Option<BareFrame> {
    let (format, len) = adts::parse(bytes)?;
    Some(BareFrame { len, samples: adts::SAMPLES, sample_rate: format.sample_rate })
}

/// Turns packets of a transport stream into pictures and sound.
#[derive(Debug, Default)]
pub struct BroadcastScreen {
    tables: Tables,
    picture: Option<(Pictures, Elementary)>,
    sound: Option<(Sound, Elementary)>,
    /// Sound that turned out to be what no page plays.
    mute: BTreeSet<Pid>,
    /// Codecs that no page plays.
    not_played: Vec<Codec>,
    /// When the first packet of a track was due, and the last one.
    span: Option<(Time, Time)>,
    audio: Option<AudioInfo>,
    times: PictureTimes,
    clock: PresentationClock,
    counts: PictureCounts,
    lost: BTreeSet<u64>,
    last_picture: Option<u64>,
    /// Access units that are not shown: they have no number of their own.
    kept: u64,
    /// A picture that the next one may refer to was left out.
    is_broken: bool,
    sounds: u32,
    ready: VecDeque<AccessUnit>,
}

/// Pictures whose time has come, each shown or lost. No count ever falls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PictureCounts {
    /// Released in time.
    pub shown: u64,
    /// Of those lost, arrived after their deadline.
    pub late: u64,
    /// Not whole at their time.
    pub lost: u64,
}

/// What is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Formats {
    /// The picture.
    pub video: Option<VideoInfo>,
    /// The sound.
    pub audio: Option<AudioInfo>,
}

impl BroadcastScreen {
    /// Waits for the first tables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The time of some packets has come.
    pub fn on_released(&mut self, released: &Released) {
        for bytes in released.bytes.as_chunks::<PACKET_LEN>().0 {
            if let Some(packet) = Packet::new(*bytes) {
                self.on_packet(&packet, released);
            }
        }
        if released.last {
            self.on_end(released.track);
        }
    }

    /// The stream has ended: so have the units that are open.
    pub fn finish(&mut self) {
        let picture = self.picture.as_ref().map(|(_, track)| track);
        let open = [picture, self.sound.as_ref().map(|(_, track)| track)];
        open.map(|it| it.map(Elementary::pid))
            .into_iter()
            .flatten()
            .for_each(|pid| self.on_end(track(pid)));
    }

    /// A piece of a unit arrived. A picture that comes after its time was lost, and counts as late
    /// too.
    pub fn on_arrival(&mut self, of: Track, frame: u64, timeliness: Timeliness) {
        let is_picture = self.picture.as_ref().is_some_and(|(_, it)| track(it.pid()) == of);
        let is_late = is_picture && timeliness == Timeliness::Late;
        if is_late && self.lost.remove(&frame) {
            self.counts.late += 1;
        }
    }

    /// The next picture or frame of sound, in decoding order.
    pub fn poll_unit(&mut self) -> Option<AccessUnit> {
        self.ready.pop_front()
    }

    /// What is shown, once there is little hope for more: each change makes the page begin anew.
    #[must_use]
    pub fn formats(&self) -> Option<Formats> {
        let video = self.picture.as_ref().and_then(|(pictures, _)| pictures.info());
        let patience = match (&video, &self.audio) {
            (Some(_), Some(_)) => Duration::ZERO,
            (None, Some(_)) if self.picture.is_some() => KEY_FRAME_PATIENCE,
            (Some(_), None) | (None, Some(_)) => PATIENCE,
            (None, None) if self.picture.is_some() || self.sound.is_some() => return None,
            (None, None) => PATIENCE,
        };
        let (first, last) = self.span?;
        let is_known = last - first >= patience;
        is_known.then(|| Formats { video, audio: self.audio.clone() })
    }

    /// Codecs of pictures and sound that no page plays, in the order in which they came.
    #[must_use]
    pub fn not_played(&self) -> &[Codec] {
        &self.not_played
    }

    /// Pictures by what became of them.
    #[must_use]
    pub const fn counts(&self) -> PictureCounts {
        self.counts
    }

    fn on_packet(&mut self, packet: &Packet, from: &Released) {
        self.tables.handle_packet(packet);
        let pid = packet.pid();
        if let Role::Stream(codec) = self.tables.role(pid) {
            self.take_up(pid, codec);
            let first = self.span.map_or(from.due, |(first, _)| first);
            self.span = Some((first, from.due.max(first)));
        }
        if let Some((_, picture)) = self.picture.as_mut().filter(|(_, it)| it.pid() == pid) {
            let ended = picture.push(packet, from);
            ended.into_iter().flatten().for_each(|unit| self.on_picture(unit));
        } else if let Some((sound, track)) = self.sound.as_mut().filter(|(_, it)| it.pid() == pid) {
            let (sound, ended) = (*sound, track.push(packet, from));
            ended.into_iter().flatten().for_each(|unit| self.on_sound(sound, &unit));
        }
    }

    /// Shows a track if it is the first of its kind, and one that browsers decode.
    fn take_up(&mut self, pid: Pid, codec: Codec) {
        if let Some(pictures) = Pictures::of(codec) {
            self.picture.get_or_insert_with(|| (pictures, Elementary::new(pid)));
        } else if let Some(sound) = Sound::of(codec) {
            if !self.mute.contains(&pid) {
                self.sound.get_or_insert_with(|| (sound, Elementary::new(pid)));
            }
        } else if codec.is_video() || codec.is_audio() {
            self.refuse(codec);
        }
    }

    fn refuse(&mut self, codec: Codec) {
        if !self.not_played.contains(&codec) && self.not_played.len() < NOT_PLAYED_MAX {
            self.not_played.push(codec);
        }
    }

    /// A unit of a track has ended.
    fn on_end(&mut self, ended: Track) {
        if let Some((_, it)) = self.picture.as_mut().filter(|(_, it)| track(it.pid()) == ended) {
            let unit = it.finish();
            unit.into_iter().for_each(|unit| self.on_picture(unit));
        } else if let Some((sound, it)) =
            self.sound.as_mut().filter(|(_, it)| track(it.pid()) == ended)
        {
            let (sound, unit) = (*sound, it.finish());
            unit.into_iter().for_each(|unit| self.on_sound(sound, &unit));
        }
    }

    fn on_picture(&mut self, unit: PesUnit) {
        let is_next = self.last_picture.is_none_or(|last| unit.frame == last.saturating_add(1));
        let Some((pictures, _)) = &mut self.picture else { return };
        if !is_next {
            pictures.miss(&[]);
        }
        let taken = if unit.is_whole {
            pictures.take(unit.data)
        } else {
            pictures.miss(&unit.data);
            Taken::Nothing
        };
        let is_known = pictures.info().is_some();
        if is_known {
            self.count_missing(unit.frame);
        }
        if matches!(taken, Taken::Kept) {
            self.kept += 1;
            return;
        }
        let time = self.times.place(unit.pts, unit.dts);
        if !is_known {
            return;
        }
        let Taken::Shown { data, is_key } = taken else { return self.lose(unit.frame) };
        self.counts.shown += 1;
        let class = match (is_key, unit.class) {
            (true, _) => Class::KeyFrame,
            (false, Class::Disposable) => Class::Disposable,
            (false, _) => Class::Reference,
        };
        // A stream that never says when to show something is shown as it comes.
        let time = time.unwrap_or_else(|| unit.due.as_micros() * 9 / 100);
        let (pts_us, play_at) = self.clock.place(time, unit.due);
        self.ready.push_back(AccessUnit {
            track: MediaTrack::Video,
            frame: unit.frame.saturating_sub(self.kept) as u32,
            pts_us,
            play_at,
            discontinuity: std::mem::take(&mut self.is_broken),
            layers: vec![LayerUnit { class, delay: None, bytes: data.into() }],
        });
    }

    /// Pictures between the last one and this one never came.
    fn count_missing(&mut self, frame: u64) {
        let Some(last) = self.last_picture.replace(frame) else { return };
        let missing = frame.saturating_sub(last.saturating_add(1));
        if missing <= GAP_MAX {
            (last.saturating_add(1)..frame).for_each(|frame| self.lose(frame));
        }
    }

    fn lose(&mut self, frame: u64) {
        self.is_broken = true;
        self.counts.lost += 1;
        self.lost.insert(frame);
        if self.lost.len() > LOST_KEPT {
            self.lost.pop_first();
        }
    }

    /// A PES packet may hold several frames.
    fn on_sound(&mut self, sound: Sound, unit: &PesUnit) {
        let Some(pts) = unit.pts.filter(|_| unit.is_whole) else { return };
        if let Some(codec) = sound.obstacle(&unit.data) {
            // Another track may be one that is played.
            let refused = self.sound.take();
            self.mute.extend(refused.map(|(_, track)| track.pid()));
            return self.refuse(codec);
        }
        for frame in sound.frames(&unit.data) {
            let (pts_us, play_at) = self.clock.place(pts.wrapping_add(frame.ticks), unit.due);
            self.audio = Some(frame.info);
            self.ready.push_back(AccessUnit {
                track: MediaTrack::Audio,
                frame: self.sounds,
                pts_us,
                play_at,
                discontinuity: false,
                layers: vec![LayerUnit {
                    class: Class::Audio,
                    delay: None,
                    bytes: Bytes::copy_from_slice(frame.bytes),
                }],
            });
            self.sounds = self.sounds.wrapping_add(1);
        }
    }
}

/// The session numbers the tracks of a transport stream by their PIDs.
fn track(pid: Pid) -> Track {
    Track(pid.as_u16())
}
