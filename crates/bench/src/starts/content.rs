//! [`Content`]: the pictures and the sound that a stream's packets carry.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use anabranch_media::ts::Packet;
use anabranch_media::{Class, Packetizer};
use anabranch_sansio::Time;

/// What packets carry, by their positions in the stream.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// In the order of decoding.
    pictures: Vec<Picture>,
    sound: Vec<Range<usize>>,
}

#[derive(Debug)]
struct Picture {
    class: Class,
    /// When its first packet is due.
    at: Duration,
    packets: Vec<Range<usize>>,
}

/// What could be shown of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shown {
    /// Pictures whole with all that they are predicted from, of how many.
    pub(super) pictures: (usize, usize),
    /// The longest time from one such picture to the next.
    pub(super) freeze: Duration,
    /// Packets of sound, of how many.
    pub(super) sound: (usize, usize),
}

impl Content {
    /// Reads packets and when they are due.
    pub(super) fn of(packets: &[(Duration, Packet)]) -> Self {
        let mut packetizer = Packetizer::new(0);
        for (at, packet) in packets {
            packetizer.handle_packet(Time::ZERO + *at, packet);
        }
        packetizer.finish();
        let mut content = Self::default();
        let mut known = BTreeMap::new();
        while let Some(piece) = packetizer.poll_piece() {
            let header = piece.header;
            let runs = header.runs.iter().map(|run| run.position as usize..run.end() as usize);
            match header.class {
                Class::KeyFrame | Class::Reference | Class::Disposable => {
                    let next = content.pictures.len();
                    let nth = *known.entry((header.track, header.frame)).or_insert(next);
                    if nth == next {
                        let at = header.first_at() - Time::ZERO;
                        content.pictures.push(Picture {
                            class: header.class,
                            at,
                            packets: Vec::new(),
                        });
                    }
                    content.pictures[nth].packets.extend(runs);
                }
                Class::Audio => content.sound.extend(runs),
                Class::Tables | Class::Data | Class::Padding => {}
            }
        }
        content
    }

    /// The class of each picture, when it is due, and where its packets are.
    pub(super) fn pictures(&self) -> impl Iterator<Item = (Class, Duration, &[Range<usize>])> {
        self.pictures.iter().map(|picture| (picture.class, picture.at, picture.packets.as_slice()))
    }

    /// Where packets of sound are.
    pub(super) fn sound(&self) -> &[Range<usize>] {
        &self.sound
    }

    /// What can be shown where these packets came in time.
    pub(super) fn shown(&self, is_in_time: impl Fn(usize) -> bool) -> Shown {
        let is_whole =
            |packets: &[Range<usize>]| packets.iter().cloned().flatten().all(&is_in_time);
        let (mut follows, mut intact) = (false, 0);
        let (mut freeze, mut last) = (Duration::ZERO, Duration::ZERO);
        for picture in &self.pictures {
            let is_whole = is_whole(&picture.packets);
            match picture.class {
                Class::KeyFrame => follows = is_whole,
                Class::Reference => follows &= is_whole,
                Class::Disposable | Class::Tables | Class::Audio | Class::Data | Class::Padding => {
                }
            }
            if follows && is_whole {
                intact += 1;
                freeze = freeze.max(picture.at.saturating_sub(last));
                last = picture.at;
            }
        }
        let end = self.pictures.last().map_or(Duration::ZERO, |picture| picture.at);
        let sound = self.sound.iter().cloned().flatten();
        Shown {
            pictures: (intact, self.pictures.len()),
            freeze: freeze.max(end.saturating_sub(last)),
            sound: (sound.clone().filter(|n| is_in_time(*n)).count(), sound.count()),
        }
    }
}
