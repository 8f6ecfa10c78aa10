//! [`Broadcast`]: units for a channel out of the packets of a transport stream, or out of a film.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_media::broadcast::{BroadcastScreen, Formats};
use anabranch_media::clip::{AUDIO_TRACK, VIDEO_TRACK};
use anabranch_media::codec::Codec;
use anabranch_media::decoding::{AccessUnit, MediaTrack};
use anabranch_media::packetizer::Notice;
use anabranch_media::playout::Released;
use anabranch_media::ts::Packet;
use anabranch_media::{Class, Layer, Packetizer, Unit};
use anabranch_sansio::Time;

use super::SourceEvent;
use super::timeline::Timeline;

/// Units that wait until it is known what there is to see and hear: ten seconds of both.
const WAITING_MAX: usize = 1_024;

/// The sound of a file may last a little longer than its pictures: that much of the next round's is
/// left out.
const OVERLAP_MAX_US: i64 = 100_000;

/// Of sound alone, players can begin so often.
const SOUND_ENTRY_INTERVAL: Duration = Duration::from_secs(1);

/// The first picture and the first sound that browsers decode, out of packets as they come.
#[derive(Debug)]
pub(super) struct Broadcast {
    packetizer: Packetizer,
    screen: BroadcastScreen,
    timeline: Timeline,
    known: Option<Formats>,
    /// Said to be what browsers do not decode.
    refused: Vec<Codec>,
    /// Numbers of the first picture and the first frame of sound of this round, and of the next.
    frames: [Numbers; 2],
    /// Whether nothing tells what its packets are.
    lacks_tables: bool,
    /// When players could begin last, of sound without a picture.
    entry_at: Option<Time>,
    packets: u64,
    /// Packets before this round.
    packets_before: u64,
    last_sound_us: Option<i64>,
    waiting: VecDeque<Unit>,
    events: VecDeque<SourceEvent>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    base: u64,
    next: u64,
}

impl Broadcast {
    /// Waits for the first packet.
    pub(super) fn new() -> Self {
        Self {
            packetizer: Packetizer::new(0),
            screen: BroadcastScreen::new(),
            timeline: Timeline::default(),
            known: None,
            refused: Vec::new(),
            frames: [Numbers::default(); 2],
            lacks_tables: false,
            entry_at: None,
            packets: 0,
            packets_before: 0,
            last_sound_us: None,
            waiting: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The next packet came at `at`, which must not fall.
    pub(super) fn handle_packet(&mut self, at: Time, packet: &Packet) {
        self.packets += 1;
        let known = self.packetizer.tables().changes();
        self.packetizer.handle_packet(at, packet);
        // Packets of a file come in lots of one time, of which the pieces of a large picture leave
        // at once, and tables wait for more.
        if self.packetizer.tables().changes() != known {
            self.packetizer.flush_tables();
        }
        self.take_pieces(at);
    }

    /// The next unit of a film came at `at`, which must not fall.
    pub(super) fn handle_unit(&mut self, at: Time, unit: AccessUnit) {
        self.take_unit(at, unit);
        self.events.extend(self.waiting.drain(..).map(SourceEvent::Unit));
    }

    /// Nothing came for a while.
    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.packetizer.handle_timeout(now);
        self.take_pieces(now);
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.packetizer.poll_timeout().map(|wakeup| wakeup.at)
    }

    /// The media ends, and other media follows right behind it, or the same once more. Its packets
    /// took `length`; answers with what its pictures take, which may be a little more.
    pub(super) fn end_round(&mut self, now: Time, length: Duration) -> Duration {
        self.packetizer.finish();
        self.take_pieces(now);
        self.screen.finish();
        self.take_units(now);
        self.packetizer = Packetizer::new(0);
        self.screen = BroadcastScreen::new();
        self.packets_before = self.packets;
        self.frames = self.frames.map(|numbers| Numbers { base: numbers.next, ..numbers });
        self.timeline.end_round(length)
    }

    /// Whether players could make nothing of the packets, either.
    pub(super) const fn lacks_tables(&self) -> bool {
        self.lacks_tables
    }

    /// The next thing to tell.
    pub(super) fn poll(&mut self) -> Option<SourceEvent> {
        self.events.pop_front()
    }

    fn take_pieces(&mut self, now: Time) {
        self.look_for_tables();
        while let Some(piece) = self.packetizer.poll_piece() {
            if piece.header.nulls {
                continue;
            }
            if piece.header.index == 0 && self.is_entry(now, piece.header.class) {
                let first = piece.header.runs.first().map_or(0, |run| run.position);
                self.events.push_back(SourceEvent::Entry(self.packets_before + first));
            }
            self.screen.on_released(&Released::uncrossed(piece));
        }
        self.take_units(now);
    }

    fn look_for_tables(&mut self) {
        if self.packetizer.tables().programs().is_some() {
            self.lacks_tables = false;
        }
        while let Some(notice) = self.packetizer.poll_notice() {
            if notice == Notice::NoTables {
                self.lacks_tables = true;
                self.events.push_back(SourceEvent::Lost(notice.to_string()));
            }
        }
    }

    /// Whether players can begin with a unit of this class: a key frame, or, where there is no
    /// picture, a frame of sound, of which one a second does.
    fn is_entry(&mut self, now: Time, class: Class) -> bool {
        if class == Class::KeyFrame {
            return true;
        }
        let is_due = self.entry_at.is_none_or(|last| now >= last + SOUND_ENTRY_INTERVAL);
        let is_entry = class == Class::Audio && is_due && !self.packetizer.tables().has_video();
        if is_entry {
            self.entry_at = Some(now);
        }
        is_entry
    }

    fn take_units(&mut self, now: Time) {
        let mut has_units = false;
        while let Some(unit) = self.screen.poll_unit() {
            has_units = true;
            self.take_unit(now, unit);
        }
        if has_units || self.known.is_none() {
            self.look_at_formats();
        }
        if self.known.is_some() {
            self.events.extend(self.waiting.drain(..).map(SourceEvent::Unit));
        }
    }

    fn take_unit(&mut self, now: Time, unit: AccessUnit) {
        let pts_us = self.timeline.place(unit.track, unit.pts_us, now);
        let numbers = &mut self.frames[unit.track as usize];
        if unit.track == MediaTrack::Audio {
            let behind_us = self.last_sound_us.map_or(-1, |last| last - pts_us);
            if (0..OVERLAP_MAX_US).contains(&behind_us) {
                numbers.base = numbers.base.wrapping_sub(1);
                return;
            }
            self.last_sound_us = Some(pts_us);
        }
        let frame = numbers.base.wrapping_add(unit.frame.into());
        numbers.next = frame.wrapping_add(1);
        let Some(layer) = unit.layers.into_iter().next() else { return };
        if self.waiting.len() == WAITING_MAX {
            self.waiting.pop_front();
        }
        let (track, class) = match (unit.track, layer.class) {
            (MediaTrack::Audio, _) => (AUDIO_TRACK, Class::Audio),
            (MediaTrack::Video, class @ (Class::KeyFrame | Class::Disposable)) => {
                (VIDEO_TRACK, class)
            }
            (MediaTrack::Video, _) => (VIDEO_TRACK, Class::Reference),
        };
        self.waiting.push_back(Unit {
            track,
            class,
            layer: Layer::BASE,
            frame,
            at: now,
            pts_us,
            last_layer: true,
            discontinuity: unit.discontinuity,
            bytes: layer.bytes,
        });
    }

    /// Says what there is to see and hear once it is known, and when it changes.
    fn look_at_formats(&mut self) {
        let Some(formats) = self.screen.formats() else { return };
        let not_played = self.screen.not_played();
        let lacks_picture = formats.video.is_none() && not_played.iter().any(|it| it.is_video());
        if lacks_picture || formats == (Formats { video: None, audio: None }) {
            self.waiting.clear();
            if !not_played.is_empty() && self.refused != not_played {
                self.refused = not_played.to_vec();
                self.events.push_back(SourceEvent::NotDecodable(self.refused.clone()));
            }
            return;
        }
        if self.known.as_ref() != Some(&formats) {
            let sound =
                not_played.iter().find(|it| it.is_audio()).filter(|_| formats.audio.is_none());
            let note = sound.map(|codec| {
                let text = format!(
                    "its sound is sent as {codec}, which browsers do not decode: they show the \
                     picture without; a command in channels.toml can convert it"
                );
                SourceEvent::Note(text)
            });
            self.begin(formats);
            self.events.extend(note);
        }
    }

    /// Says what there is to see and hear from here on, unless it is known.
    pub(super) fn begin(&mut self, formats: Formats) {
        if self.known.as_ref() != Some(&formats) {
            let Formats { video, audio } = formats.clone();
            self.known = Some(formats);
            self.events.push_back(SourceEvent::Begin { video, audio });
        }
    }
}

#[cfg(test)]
mod tests {
    use anabranch_media::ts::{Pacer, Reader};

    use super::*;

    /// Two seconds of H.264 and AAC.
    const STREAM: &[u8] = include_bytes!("../../../../media/tests/fixtures/h264_aac.ts");

    fn packets(stream: &[u8]) -> Vec<(Duration, Packet)> {
        let (mut reader, mut pacer) = (Reader::new(), Pacer::by_clock());
        reader.push(stream).unwrap();
        reader.finish().unwrap();
        std::iter::from_fn(|| reader.poll_packet()).for_each(|it| pacer.push(it).unwrap());
        pacer.finish().unwrap();
        std::iter::from_fn(|| pacer.poll_packet()).collect()
    }

    fn play(broadcast: &mut Broadcast, start: Time, packets: &[(Duration, Packet)]) -> Time {
        let mut length = Duration::ZERO;
        for (at, packet) in packets {
            length = *at;
            broadcast.handle_packet(start + length, packet);
        }
        start + broadcast.end_round(start + length, length)
    }

    fn units(events: &[SourceEvent], track: MediaTrack) -> Vec<&Unit> {
        let found = events.iter().filter_map(|event| {
            let SourceEvent::Unit(unit) = event else { return None };
            (MediaTrack::of(unit.class) == track).then_some(unit)
        });
        found.collect()
    }

    #[test]
    fn a_file_in_a_loop_is_one_stream_without_a_seam() {
        let packets = packets(STREAM);
        let mut broadcast = Broadcast::new();
        let mut start = Time::from_secs(1);
        for _ in 0..3 {
            start = play(&mut broadcast, start, &packets);
        }
        let events: Vec<_> = std::iter::from_fn(|| broadcast.poll()).collect();
        let begun = events.iter().filter(|it| matches!(it, SourceEvent::Begin { .. })).count();
        assert_eq!(begun, 1, "the same description holds");

        let pictures = units(&events, MediaTrack::Video);
        assert_eq!(pictures[0].class, Class::KeyFrame);
        assert_eq!(pictures.len() % 3, 0);
        let frames: Vec<_> = pictures.iter().map(|unit| unit.frame).collect();
        assert_eq!(frames, (0..frames.len() as u64).collect::<Vec<_>>());
        let mut times: Vec<_> = pictures.iter().map(|unit| unit.pts_us).collect();
        times.sort_unstable();
        let steps = times.windows(2).map(|two| two[1] - two[0]);
        let uneven: Vec<_> = steps.filter(|step| !(39_999..=40_001).contains(step)).collect();
        assert_eq!(uneven, Vec::<i64>::new());
        assert!(!pictures.iter().any(|unit| unit.discontinuity));

        let sound = units(&events, MediaTrack::Audio);
        assert!(sound.windows(2).all(|two| two[1].frame == two[0].frame + 1));
        assert!(sound.windows(2).all(|two| two[1].pts_us > two[0].pts_us));
    }

    #[test]
    fn regression_the_first_pictures_of_a_round_were_lost_when_its_packets_came_in_lots() {
        let in_lots = |(at, packet): &(Duration, Packet)| {
            (Duration::from_millis(at.as_millis() as u64 / 50 * 50), *packet)
        };
        let packets: Vec<_> = packets(STREAM).iter().map(in_lots).collect();
        let mut broadcast = Broadcast::new();
        let middle = play(&mut broadcast, Time::ZERO, &packets);
        play(&mut broadcast, middle, &packets);
        let events: Vec<_> = std::iter::from_fn(|| broadcast.poll()).collect();
        let frames = units(&events, MediaTrack::Video).into_iter().map(|unit| unit.frame);
        assert_eq!(frames.collect::<Vec<_>>(), (0..150).collect::<Vec<_>>());
    }

    #[test]
    fn entries_are_the_packets_where_key_frames_begin() {
        let packets = packets(STREAM);
        let mut broadcast = Broadcast::new();
        let middle = play(&mut broadcast, Time::ZERO, &packets);
        play(&mut broadcast, middle, &packets);
        let entries = std::iter::from_fn(|| broadcast.poll()).filter_map(|event| {
            let SourceEvent::Entry(number) = event else { return None };
            Some(number as usize)
        });
        let entries: Vec<_> = entries.collect();
        let starts = (0..2 * packets.len()).filter(|number| {
            let packet = packets[number % packets.len()].1;
            packet.payload_unit_start() && packet.random_access() && packet.pcr().is_some()
        });
        assert_eq!(entries, starts.collect::<Vec<_>>());
    }

    #[test]
    fn a_stream_without_tables_is_off_air_in_words_until_they_come() {
        let is_told = |(_, packet): &(Duration, Packet)| packet.pid().as_u16() == 0;
        let untold: Vec<_> = packets(STREAM).into_iter().filter(|it| !is_told(it)).collect();
        let mut broadcast = Broadcast::new();
        let start = play(&mut broadcast, Time::ZERO, &untold);
        assert!(broadcast.lacks_tables());
        let lost = std::iter::from_fn(|| broadcast.poll()).find_map(|event| {
            let SourceEvent::Lost(reason) = event else { return None };
            Some(reason)
        });
        assert!(lost.unwrap().contains("no program association table (PAT)"));
        play(&mut broadcast, start, &packets(STREAM));
        assert!(!broadcast.lacks_tables());
    }
}
