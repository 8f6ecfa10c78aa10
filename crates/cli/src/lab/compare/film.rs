//! [`Film`]: pictures and sound as an encoder sends them, and what of them arrives whole.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anabranch_media::ts::{PACKET_LEN, Packet, Pid};
use serde::Serialize;
use tokio::process::Command;

use super::stream::{DATAGRAM, PACKETS_PER_DATAGRAM, Stream};
use crate::failure::Failure;

/// Where ffmpeg is told to put pictures and sound.
const PICTURES: Pid = Pid::new(0x100);
const SOUND: Pid = Pid::new(0x101);
const SOUND_KBPS: u32 = 64;
/// Of the whole, what is left to the pictures beside the sound: headers take the rest.
const PICTURES_SHARE: f64 = 0.9;
/// From one picture to the next.
pub(super) const FRAME_TIME: Duration = Duration::from_millis(40);

/// A transport stream of H.264 and AAC.
#[derive(Debug)]
pub(super) struct Film {
    packets: Vec<Packet>,
    /// From one datagram to the next.
    interval: Duration,
    units: Vec<Kind>,
    /// To which unit each packet belongs, if to any.
    unit_of: Vec<Option<usize>>,
    /// Where a packet stands that is like no other.
    place_of: HashMap<[u8; PACKET_LEN], usize>,
}

/// What can be lost at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A picture that decoding can begin with.
    Key,
    /// A picture that later ones need.
    Reference,
    /// A picture that no other needs.
    Disposable,
    Sound,
}

impl Film {
    /// Has ffmpeg encode it: test pictures with noise, so that they have the rate, two pictures in
    /// three disposable, a key frame every two seconds.
    pub(super) async fn encode(mbps: u32, span: Duration) -> Result<Self, Failure> {
        let pictures_kbps = f64::from(mbps * 1_000) * PICTURES_SHARE - f64::from(SOUND_KBPS);
        let rate = format!("{pictures_kbps:.0}k");
        let (buffer, sound) = (format!("{:.0}k", pictures_kbps / 2.0), format!("{SOUND_KBPS}k"));
        let (seconds, mux) = (span.as_secs().to_string(), format!("{mbps}M"));
        let pid = format!("{:#x}", PICTURES.as_u16());
        let [picture, noise] = ["testsrc2=size=640x360:rate=25,noise=alls=20:allf=t", "anoisesrc"];
        let mut command = Command::new("ffmpeg");
        command.args(["-nostdin", "-v", "error", "-f", "lavfi", "-i", picture]);
        command.args(["-f", "lavfi", "-i", noise, "-t", &seconds, "-pix_fmt", "yuv420p"]);
        command.args(["-c:v", "libx264", "-preset", "veryfast", "-g", "50", "-bf", "2"]);
        command.args(["-x264-params", "b-pyramid=none:open-gop=0:scenecut=0"]);
        command.args(["-b:v", &rate, "-maxrate", &rate, "-bufsize", &buffer]);
        command.args(["-c:a", "aac", "-b:a", &sound, "-f", "mpegts"]);
        command.args(["-mpegts_start_pid", &pid, "-muxrate", &mux, "-"]);
        let output = command.stdin(Stdio::null()).output().await.map_err(|error| {
            Failure::failed(format!("ffmpeg makes the pictures, and cannot be started: {error}"))
        })?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            return Err(Failure::failed(format!("ffmpeg makes no pictures: {reason}")));
        }
        let interval = Duration::from_nanos(DATAGRAM as u64 * 8_000 / u64::from(mbps));
        Ok(Self::new(&output.stdout, interval))
    }

    fn new(stream: &[u8], interval: Duration) -> Self {
        let (chunks, _) = stream.as_chunks::<PACKET_LEN>();
        let packets: Vec<_> = chunks.iter().filter_map(|bytes| Packet::new(*bytes)).collect();
        let mut units = Vec::new();
        let mut unit_of = Vec::new();
        let mut open = HashMap::new();
        for packet in &packets {
            let pid = packet.pid().as_u16();
            let is_media = packet.pid() == PICTURES || packet.pid() == SOUND;
            if is_media && packet.payload_unit_start() {
                let kind = if packet.pid() == SOUND { Kind::Sound } else { Kind::Disposable };
                open.insert(pid, units.len());
                units.push(kind);
            }
            let unit = open.get(&pid).copied();
            if let Some(kind) = unit.and_then(|unit| units.get_mut(unit))
                && *kind == Kind::Disposable
                && let Some(found) = kind_of_slice(packet.payload())
            {
                *kind = found;
            }
            unit_of.push(unit);
        }
        let place_of = places(&packets);
        Self { packets, interval, units, unit_of, place_of }
    }
}

/// Where each packet stands, without those that there are several of.
fn places(packets: &[Packet]) -> HashMap<[u8; PACKET_LEN], usize> {
    let mut places = HashMap::new();
    for (place, packet) in packets.iter().enumerate() {
        places.entry(*packet.bytes()).and_modify(|it| *it = None).or_insert(Some(place));
    }
    places.into_iter().filter_map(|(bytes, place)| Some((bytes, place?))).collect()
}

/// What the first slice in it says of its picture; a slice begins in the picture's first packets.
fn kind_of_slice(payload: &[u8]) -> Option<Kind> {
    let mut headers = payload.windows(4).filter(|it| it.starts_with(&[0, 0, 1])).map(|it| it[3]);
    // ITU-T H.264 table 7-1: 1 is a slice of another picture, 5 one of an IDR picture. Section
    // 7.4.1: nal_ref_idc is 0 where no other picture is predicted from it.
    headers.find(|header| matches!(header & 0x1f, 1 | 5)).map(|header| match header & 0x1f {
        5 => Kind::Key,
        _ if header & 0x60 != 0 => Kind::Reference,
        _ => Kind::Disposable,
    })
}

/// A film on its way: when each packet was sent, and when it came.
#[derive(Debug)]
pub(super) struct Screening {
    film: Arc<Film>,
    /// When each datagram was sent.
    sent: Vec<Duration>,
    /// When each packet came.
    came: Vec<Option<Duration>>,
    /// The first datagram that counts.
    from: usize,
}

/// What could be seen and heard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct Shown {
    /// Pictures that came in time and whole, as did all that they need.
    pub(super) pictures_percent: f64,
    /// Pieces of sound that came in time and whole.
    pub(super) sound_percent: f64,
    /// The longest time without such a picture, where the network could carry some.
    pub(super) longest_freeze_s: f64,
}

impl Screening {
    pub(super) fn new(film: Arc<Film>) -> Self {
        let came = vec![None; film.packets.len()];
        Self { film, sent: Vec::new(), came, from: 0 }
    }

    /// What could be seen and heard, if packets may be under way for `limit`. Pictures sent when
    /// the network carried too little (`is_carried` says no) make a freeze no longer.
    pub(super) fn judge(&self, limit: Duration, is_carried: impl Fn(Duration) -> bool) -> Shown {
        let units = self.units(limit);
        let (mut pictures, mut shown, mut sounds, mut heard) = (0_u32, 0_u32, 0_u32, 0_u32);
        let (mut freeze, mut longest) = (0_u32, 0_u32);
        // Nothing can be decoded before a key frame came.
        let mut is_broken = true;
        for unit in units {
            if unit.kind == Kind::Sound {
                sounds += u32::from(unit.counts);
                heard += u32::from(unit.counts && unit.is_whole);
                continue;
            }
            is_broken = unit.breaks(is_broken);
            let is_shown = unit.is_whole && !is_broken;
            if !unit.counts {
                continue;
            }
            pictures += 1;
            shown += u32::from(is_shown);
            freeze = if is_shown { 0 } else { freeze + u32::from(is_carried(unit.sent)) };
            longest = longest.max(freeze);
        }
        let percent = |part, whole: u32| 100.0 * f64::from(part) / f64::from(whole.max(1));
        Shown {
            pictures_percent: percent(shown, pictures),
            sound_percent: percent(heard, sounds),
            longest_freeze_s: (FRAME_TIME * longest).as_secs_f64(),
        }
    }

    /// The units of which all was sent, in order.
    fn units(&self, limit: Duration) -> Vec<UnitCame> {
        let mut units: Vec<Option<UnitCame>> = vec![None; self.film.units.len()];
        let numbered = self.film.packets.iter().zip(&self.film.unit_of).zip(&self.came);
        for (place, ((packet, unit), came)) in numbered.enumerate() {
            let datagram = place / PACKETS_PER_DATAGRAM;
            let Some(&sent) = self.sent.get(datagram) else { break };
            let Some(unit) = *unit else { continue };
            let (Some(slot), Some(&kind)) = (units.get_mut(unit), self.film.units.get(unit)) else {
                continue;
            };
            let counts = datagram >= self.from;
            let unit = slot.get_or_insert(UnitCame { kind, counts, sent, is_whole: true });
            let is_known = self.film.place_of.contains_key(packet.bytes());
            let is_in_time = came.is_some_and(|came| came.saturating_sub(sent) <= limit);
            unit.is_whole &= is_in_time || !is_known;
        }
        units.into_iter().flatten().collect()
    }
}

/// What became of a unit.
#[derive(Debug, Clone, Copy)]
struct UnitCame {
    kind: Kind,
    counts: bool,
    /// When its first packet was sent.
    sent: Duration,
    is_whole: bool,
}

impl UnitCame {
    /// Whether pictures lack something after this one, if they did so before it.
    fn breaks(self, was_broken: bool) -> bool {
        match self.kind {
            Kind::Key => !self.is_whole,
            Kind::Reference => was_broken || !self.is_whole,
            Kind::Disposable | Kind::Sound => was_broken,
        }
    }
}

impl Stream for Screening {
    fn next_at(&self) -> Option<Duration> {
        let next = self.sent.len();
        let is_over = (next + 1) * PACKETS_PER_DATAGRAM > self.film.packets.len();
        (!is_over).then(|| self.film.interval * (next as u32 + 1))
    }

    fn send(&mut self, now: Duration) -> Vec<u8> {
        let first = self.sent.len() * PACKETS_PER_DATAGRAM;
        self.sent.push(now);
        let packets = self.film.packets.iter().skip(first).take(PACKETS_PER_DATAGRAM);
        packets.flat_map(|packet| *packet.bytes()).collect()
    }

    fn take(&mut self, now: Duration, datagram: &[u8]) {
        let (packets, _) = datagram.as_chunks::<PACKET_LEN>();
        for bytes in packets {
            let place = self.film.place_of.get(bytes);
            if let Some(slot) = place.and_then(|place| self.came.get_mut(*place)) {
                slot.get_or_insert(now);
            }
        }
    }

    fn begin(&mut self) {
        self.from = self.sent.len();
    }

    fn has_any(&self) -> bool {
        self.came.iter().any(Option::is_some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDR: u8 = 0x65;
    const REFERENCE: u8 = 0x41;
    const DISPOSABLE: u8 = 0x01;
    const MS: Duration = Duration::from_millis(1);

    /// A packet with a number, which begins a unit with this slice, or of sound.
    fn packet(pid: Pid, number: u8, slice: Option<u8>) -> [u8; PACKET_LEN] {
        let [high, low] = pid.as_u16().to_be_bytes();
        let start = if slice.is_some() { 0x40 } else { 0 };
        let mut bytes = [0xff; PACKET_LEN];
        bytes[..5].copy_from_slice(&[0x47, start | high, low, 0x10, number]);
        bytes[5..9].copy_from_slice(&[0, 0, 1, slice.unwrap_or(0xff)]);
        bytes
    }

    /// Each picture is a datagram of six packets and one of sound.
    fn film(slices: &[u8]) -> Arc<Film> {
        let datagrams = (0_u8..).zip(slices).flat_map(|(n, slice)| {
            let rest = (1..6).map(move |part| packet(PICTURES, 7 * n + part, None));
            let first = [packet(PICTURES, 7 * n, Some(*slice))];
            first.into_iter().chain(rest).chain([packet(SOUND, 7 * n + 6, Some(0xc0))])
        });
        let bytes: Vec<u8> = datagrams.flatten().collect();
        Arc::new(Film::new(&bytes, MS))
    }

    /// Sends all of it; a datagram comes after as many milliseconds as stand at its number.
    fn screen(film: &Arc<Film>, delays: &[Option<u32>]) -> Screening {
        let mut screening = Screening::new(film.clone());
        let mut sent = Vec::new();
        while let Some(at) = screening.next_at() {
            sent.push((at, screening.send(at)));
        }
        for ((at, datagram), delay) in sent.iter().zip(delays) {
            let Some(delay) = delay else { continue };
            screening.take(*at + MS * *delay, datagram);
        }
        screening
    }

    #[test]
    fn a_picture_needs_its_references_and_disposable_ones_are_needed_by_none() {
        let film = film(&[IDR, DISPOSABLE, REFERENCE, DISPOSABLE, REFERENCE, IDR]);
        let judged = |lost: usize| {
            let delays: Vec<_> = (0..6).map(|n| (n != lost).then_some(5)).collect();
            screen(&film, &delays).judge(MS * 10, |_| true)
        };
        let shown = |lost| (judged(lost).pictures_percent * 6.0 / 100.0).round() as u32;
        assert_eq!([0, 1, 2, 4, 6].map(shown), [1, 5, 3, 5, 6]);
        assert_eq!(judged(2).longest_freeze_s, 0.12);
        assert!((judged(1).sound_percent - 500.0 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn what_comes_late_is_missing_and_a_freeze_counts_where_the_network_carries() {
        let film = film(&[IDR, REFERENCE, REFERENCE, REFERENCE, IDR]);
        let screening = screen(&film, &[Some(5), Some(11), Some(5), Some(5), Some(5)]);
        let all = screening.judge(MS * 10, |_| true);
        assert_eq!((all.pictures_percent, all.longest_freeze_s), (40.0, 0.12));
        let carried = screening.judge(MS * 10, |sent| sent >= MS * 3);
        assert_eq!(carried.longest_freeze_s, 0.08, "the picture of 2 ms is left out");
    }

    #[test]
    fn what_was_sent_before_and_what_there_is_twice_do_not_count() {
        let film = film(&[IDR, IDR]);
        let mut screening = Screening::new(film.clone());
        let first = screening.send(MS);
        screening.begin();
        let second = screening.send(MS * 2);
        screening.take(MS * 3, &second);
        assert_eq!(screening.judge(MS * 10, |_| true).pictures_percent, 100.0);
        screening.take(MS * 30, &first);
        assert_eq!(screening.judge(MS * 10, |_| true).pictures_percent, 100.0);

        let twice = [first.clone(), first].concat();
        let film = Arc::new(Film::new(&twice, MS));
        assert!(film.place_of.is_empty() && film.units.len() == 4);
    }
}
