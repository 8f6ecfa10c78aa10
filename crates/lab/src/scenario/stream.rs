//! [`Stream`]: a film of the user's, as the transport stream that `anabranch send` sends of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Cursor, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anabranch_films::{Film, READER_FAILED};
use anabranch_media::piece::Header;
use anabranch_media::ts::{Pacer, Packet, PesHeader, Pid, Reader};
use anabranch_media::{Class, Layer, Packetizer, Track};
use anabranch_sansio::Time;
use sha2::{Digest as _, Sha256};

use super::stillness::Stillness;

/// The longest file that is read, and the longest stream that one becomes: it is held in memory.
const FILM_BYTES_MAX: u64 = 1 << 30;

/// A shorter one would begin again too often.
const ROUND_MIN: Duration = Duration::from_millis(40);

/// Ticks of a second of presentation times, which have 33 bits (ISO/IEC 13818-1 section 2.4.3.7).
const PTS_HZ: u64 = 90_000;
const PTS_WRAP: i64 = 1 << 33;

/// A layer of a unit: its track and its number there.
pub(super) type UnitKey = (Track, u64, Layer);

/// A transport stream that begins again at its end, with the units that it consists of.
#[derive(Debug)]
pub(super) struct Stream {
    /// When each packet is due, from the beginning of the film.
    packets: Vec<(Duration, Packet)>,
    /// Pictures, sound and data; tables and null packets belong to none.
    units: Vec<StreamUnit>,
    by_key: BTreeMap<UnitKey, usize>,
    /// Units of each track in one round.
    numbers: BTreeMap<Track, u64>,
    /// The pictures of the track that has most, in the order of decoding.
    pictures: Vec<Picture>,
    /// From one beginning to the next.
    round: Duration,
    /// Between two pictures.
    interval: Duration,
    /// Of the file.
    pub(super) digest: [u8; 32],
}

/// What one loss should hit at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamUnit {
    pub(super) key: UnitKey,
    pub(super) class: Class,
    /// Packets of it.
    pub(super) packets: u64,
    /// Bytes that these carry.
    payload: usize,
    /// The numbers of the first and the last of them.
    first: usize,
    last: usize,
    /// Its number among the pictures, if it is the base layer of one.
    picture: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Picture {
    class: Class,
    /// When the last packet of it is due.
    ready: Duration,
    /// When it is shown, after the first one.
    shown: Duration,
}

impl Stream {
    /// Reads a file: a transport stream, or what becomes one.
    pub(super) fn read(file: &[u8]) -> Result<Self, String> {
        let packets = paced(&transport_stream(file)?)?;
        let mut units = units(&packets);
        let pictures = pictures(&packets, &mut units)?;
        let by_key = units.iter().enumerate().map(|(n, unit)| (unit.key, n)).collect();
        let mut numbers = BTreeMap::new();
        for StreamUnit { key: (track, number, _), .. } in &units {
            let known: &mut u64 = numbers.entry(*track).or_default();
            *known = (*known).max(number + 1);
        }
        let span = packets.last().map_or(Duration::ZERO, |(due, _)| *due);
        // As far from the last packet to the first as packets are from each other.
        let round = span + span / u32::try_from(packets.len()).unwrap_or(u32::MAX);
        if round < ROUND_MIN {
            return Err(format!("it lasts {round:?}: give a film of {ROUND_MIN:?} at least"));
        }
        let interval = interval(&pictures);
        let digest = Sha256::digest(file).into();
        Ok(Self { packets, units, by_key, numbers, pictures, round, interval, digest })
    }

    /// Its packets in one round, each with its time.
    pub(super) fn packets(&self) -> &[(Duration, Packet)] {
        &self.packets
    }

    /// From one beginning to the next.
    pub(super) const fn round(&self) -> Duration {
        self.round
    }

    /// Between two pictures.
    pub(super) const fn interval(&self) -> Duration {
        self.interval
    }

    /// A packet by its number since the film began, and when it is due.
    pub(super) fn packet(&self, number: u64) -> (Duration, &Packet) {
        let (round, place) = self.split(number, self.packets.len());
        let (due, packet) = &self.packets[place];
        (self.begun(round) + *due, packet)
    }

    /// The unit whose last packet this is, by its number since the film began.
    pub(super) fn ended_by(&self, packet: u64) -> Option<StreamUnit> {
        let (round, place) = self.split(packet, self.packets.len());
        let unit = self.units.binary_search_by_key(&place, |unit| unit.last).ok()?;
        Some(self.in_round(round, unit))
    }

    /// A unit, and the number of the picture that it is the base layer of.
    pub(super) fn unit(
        &self,
        (track, number, layer): UnitKey,
    ) -> Option<(StreamUnit, Option<u64>)> {
        let count = *self.numbers.get(&track)?;
        let (round, number) = (number / count, number % count);
        let unit = self.in_round(round, *self.by_key.get(&(track, number, layer))?);
        let earlier = round * self.pictures.len() as u64;
        Some((unit, unit.picture.map(|picture| earlier + picture as u64)))
    }

    /// How long a film of which so much was sent stood still, and how often, if these pictures came
    /// whole.
    pub(super) fn stillness(&self, span: Duration, whole: &BTreeSet<u64>) -> Stillness {
        let (mut shown, mut end) = (Vec::new(), Duration::ZERO);
        let mut has_references = false;
        for number in 0.. {
            let (round, place) = self.split(number, self.pictures.len());
            let (picture, begun) = (self.pictures[place], self.begun(round));
            if begun + picture.ready >= span {
                break;
            }
            let came = whole.contains(&number);
            if picture.class == Class::KeyFrame {
                has_references = came;
            } else if picture.class == Class::Reference {
                has_references &= came;
            }
            end = end.max(begun + picture.shown);
            if came && has_references {
                shown.push(begun + picture.shown);
            }
        }
        // Pictures are decoded before others that are shown before them.
        shown.sort_unstable();
        let mut stillness = Stillness::new(self.interval);
        shown.into_iter().for_each(|at| stillness.on_shown(Time::ZERO + at));
        stillness.on_end(Time::ZERO + end + self.interval);
        stillness
    }

    fn split(&self, number: u64, of: usize) -> (u64, usize) {
        (number / of as u64, (number % of as u64) as usize)
    }

    fn begun(&self, round: u64) -> Duration {
        self.round * u32::try_from(round).unwrap_or(u32::MAX)
    }

    fn in_round(&self, round: u64, unit: usize) -> StreamUnit {
        let mut unit = self.units[unit];
        unit.key.1 += round * self.numbers.get(&unit.key.0).copied().unwrap_or_default();
        unit
    }
}

/// A picture or a frame of sound of a film.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilmUnit {
    /// When its first packet is due, and its last one, from the beginning.
    pub(crate) due: (Duration, Duration),
    /// When it is shown, after the first one, if it is a picture of the track that has most.
    pub(crate) shown: Option<Duration>,
    pub(crate) class: Class,
    pub(crate) bytes: usize,
}

/// The units of a film, in the order of their last packets, and how long the film takes.
pub(crate) fn film_units(file: &Path) -> Result<(Vec<FilmUnit>, Duration), String> {
    let stream = Stream::read(&read(file)?)?;
    let unit = |unit: &StreamUnit| FilmUnit {
        due: (stream.packets[unit.first].0, stream.packets[unit.last].0),
        shown: unit.picture.map(|picture| stream.pictures[picture].shown),
        class: unit.class,
        bytes: unit.payload,
    };
    Ok((stream.units.iter().map(unit).collect(), stream.round))
}

/// A file as it stands, but for what is behind the longest film.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let read = file.take(FILM_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// The stream that a file is, or becomes if it is a film in another container.
fn transport_stream(file: &[u8]) -> Result<Vec<u8>, String> {
    let too_long = || Err("it is longer than 1 GiB: give a shorter one".to_owned());
    if file.len() as u64 > FILM_BYTES_MAX {
        return too_long();
    }
    let converted = || -> Result<Option<Vec<u8>>, String> {
        let Some(film) = Film::open(&Cursor::new(Arc::<[u8]>::from(file)))? else {
            return Ok(None);
        };
        let mut stream = Vec::new();
        let read = film.take(FILM_BYTES_MAX + 1).read_to_end(&mut stream);
        read.map_err(|error| error.to_string())?;
        Ok(Some(stream))
    };
    let converted = catch_unwind(AssertUnwindSafe(converted));
    let stream = converted.unwrap_or_else(|_| Err(READER_FAILED.to_owned()))?;
    match stream {
        Some(stream) if stream.len() as u64 > FILM_BYTES_MAX => too_long(),
        Some(stream) => Ok(stream),
        None => Ok(file.to_vec()),
    }
}

/// Its packets, each with its time. What comes of a track before its first unit begins, nobody can
/// decode: it is left out, so that every round has the same units.
fn paced(stream: &[u8]) -> Result<Vec<(Duration, Packet)>, String> {
    let (mut reader, mut pacer) = (Reader::new(), Pacer::by_clock());
    let (mut packets, mut begun) = (Vec::new(), BTreeSet::new());
    let mut take = |pacer: &mut Pacer| {
        while let Some((due, packet)) = pacer.poll_packet() {
            let pid = packet.pid();
            if packet.payload_unit_start() || pid == Pid::NULL || !packet.has_payload() {
                begun.insert(pid);
            }
            if begun.contains(&pid) {
                packets.push((due, packet));
            }
        }
    };
    reader.push(stream).map_err(|error| error.to_string())?;
    reader.finish().map_err(|error| error.to_string())?;
    while let Some(packet) = reader.poll_packet() {
        pacer.push(packet).map_err(|error| error.to_string())?;
        take(&mut pacer);
    }
    pacer.finish().map_err(|error| error.to_string())?;
    take(&mut pacer);
    Ok(packets)
}

/// What a sender makes of them, in the order of their last packets.
fn units(packets: &[(Duration, Packet)]) -> Vec<StreamUnit> {
    let mut packetizer = Packetizer::new(0);
    let mut units: BTreeMap<UnitKey, StreamUnit> = BTreeMap::new();
    let mut take = |packetizer: &mut Packetizer| {
        while let Some(piece) = packetizer.poll_piece() {
            if counts(piece.header.class) {
                add(&mut units, &piece.header, packets);
            }
        }
    };
    for (due, packet) in packets {
        packetizer.handle_packet(Time::ZERO + *due, packet);
        take(&mut packetizer);
    }
    packetizer.finish();
    take(&mut packetizer);
    let mut units: Vec<StreamUnit> = units.into_values().collect();
    units.sort_by_key(|unit| unit.last);
    units
}

/// Whether it is media: of tables and null packets nobody sees or hears what became.
pub(super) const fn counts(class: Class) -> bool {
    !matches!(class, Class::Tables | Class::Padding)
}

fn add(units: &mut BTreeMap<UnitKey, StreamUnit>, header: &Header, packets: &[(Duration, Packet)]) {
    let key = (header.track, header.frame, header.layer);
    for run in &header.runs {
        let (first, count) = (run.position as usize, run.count as usize);
        let last = first + count - 1;
        let class = header.class;
        let new = StreamUnit { key, class, packets: 0, payload: 0, first, last, picture: None };
        let unit = units.entry(key).or_insert(new);
        unit.packets += u64::from(run.count);
        let carried = packets[first..=last].iter().map(|(_, packet)| packet.payload().len());
        unit.payload += carried.sum::<usize>();
        unit.first = unit.first.min(first);
        unit.last = unit.last.max(last);
    }
}

/// The pictures of the track that has most.
fn pictures(
    packets: &[(Duration, Packet)],
    units: &mut [StreamUnit],
) -> Result<Vec<Picture>, String> {
    let is_picture = |unit: &StreamUnit| {
        matches!(unit.class, Class::KeyFrame | Class::Reference | Class::Disposable)
            && unit.key.2 == Layer::BASE
    };
    let mut counts: BTreeMap<Track, usize> = BTreeMap::new();
    for unit in units.iter().filter(|unit| is_picture(unit)) {
        *counts.entry(unit.key.0).or_default() += 1;
    }
    let none = || {
        "there is no picture in it: give a film in MPEG-2, H.264, H.265 or AV1, in a transport \
         stream, MP4 or Matroska"
            .to_owned()
    };
    let (track, _) = counts.into_iter().max_by_key(|(_, count)| *count).ok_or_else(none)?;
    let of_track = units.iter_mut().filter(|unit| is_picture(unit) && unit.key.0 == track);
    let (mut pictures, mut first, mut times) = (Vec::new(), None, Vec::new());
    for unit in of_track {
        unit.picture = Some(pictures.len());
        let pes = PesHeader::parse(packets[unit.first].1.payload());
        let pts = pes.and_then(|pes| pes.pts).unwrap_or_default() as i64;
        // It wraps after 26.5 hours.
        let after = (pts - *first.get_or_insert(pts)).rem_euclid(PTS_WRAP);
        times.push(if after < PTS_WRAP / 2 { after } else { after - PTS_WRAP });
        let ready = packets[unit.last].0;
        pictures.push(Picture { class: unit.class, ready, shown: Duration::ZERO });
    }
    let first = times.iter().copied().min().unwrap_or_default();
    for (picture, time) in pictures.iter_mut().zip(times) {
        let ticks = u64::try_from(time - first).unwrap_or_default();
        picture.shown = Duration::from_nanos(ticks * 1_000_000_000 / PTS_HZ);
    }
    Ok(pictures)
}

/// The usual time between two pictures: what half of them do not exceed.
fn interval(pictures: &[Picture]) -> Duration {
    let mut shown: Vec<Duration> = pictures.iter().map(|picture| picture.shown).collect();
    shown.sort_unstable();
    let mut between: Vec<Duration> = shown.windows(2).map(|pair| pair[1] - pair[0]).collect();
    between.sort_unstable();
    between.get(between.len() / 2).copied().unwrap_or(Duration::from_millis(40))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 s of 75 pictures, some of which need others that are shown later, and sound.
    const FILM: &[u8] = include_bytes!("../../../media/tests/fixtures/h264_aac.ts");
    const FRAME: Duration = Duration::from_millis(40);

    fn frozen(stream: &Stream, lost: &[u64]) -> (u64, u128) {
        let whole: BTreeSet<u64> = (0..150).filter(|number| !lost.contains(number)).collect();
        let stillness = stream.stillness(stream.round * 2, &whole);
        (stillness.freezes, stillness.frozen.as_millis())
    }

    #[test]
    fn each_round_has_the_units_that_a_sender_makes_of_it() {
        let stream = Stream::read(FILM).unwrap();
        assert_eq!((stream.pictures.len(), stream.interval), (75, FRAME));
        let mut sender = Packetizer::new(0);
        let mut made = BTreeMap::new();
        let mut ended = BTreeMap::new();
        for number in 0..3 * stream.packets.len() as u64 {
            let (due, packet) = stream.packet(number);
            sender.handle_packet(Time::ZERO + due, packet);
            ended.extend(stream.ended_by(number).map(|unit| (unit.key, unit.packets)));
        }
        sender.finish();
        while let Some(piece) = sender.poll_piece() {
            let Header { track, frame, layer, class, .. } = piece.header;
            if counts(class) {
                *made.entry((track, frame, layer)).or_insert(0) += piece.header.items();
            }
        }
        assert_eq!(made, ended);
        assert!(made.iter().all(|(key, _)| stream.unit(*key).unwrap().0.key == *key));
        let pictures = made.keys().filter_map(|key| stream.unit(*key).unwrap().1);
        assert_eq!(pictures.collect::<Vec<_>>(), (0..225).collect::<Vec<_>>());
    }

    #[test]
    fn a_lost_reference_freezes_a_film_until_the_next_key_picture_and_others_do_not() {
        let stream = Stream::read(FILM).unwrap();
        assert_eq!(frozen(&stream, &[]), (0, 0));
        let numbers = |class| -> Vec<u64> {
            (75..150).filter(|n| stream.pictures[*n as usize - 75].class == class).collect()
        };
        let (keys, lost) = (numbers(Class::KeyFrame), numbers(Class::Disposable));
        assert_eq!(frozen(&stream, &lost[..1]), (0, 0));
        let (freezes, ms) = frozen(&stream, &keys[..1]);
        let until_next = (keys[1] - keys[0]) as u128 * FRAME.as_millis();
        assert!(freezes == 1 && ms.abs_diff(until_next) < 200, "{ms} of {until_next} ms");
    }

    #[test]
    fn what_is_no_film_is_refused_in_words() {
        let refused = |file: &[u8]| Stream::read(file).unwrap_err();
        assert!(refused(b"<html>").contains("not an MPEG transport stream"));
        assert!(refused(&[]).contains("not an MPEG transport stream"));
        let film = include_bytes!("../../../media/tests/fixtures/h264_aac.mp4");
        assert!(!refused(&film[..500]).is_empty());
        let sound: Vec<u8> = [&[0xff, 0xfb, 0x90, 0][..], &[0; 413]].concat().repeat(20);
        assert!(refused(&sound).starts_with("there is no picture in it"), "{}", refused(&sound));
    }
}
