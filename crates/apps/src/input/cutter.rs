//! [`PacketCutter`]: bytes of a transport stream to packets with times, in batches.

use anabranch_driver::Clock;
use anabranch_media::Unit;
use anabranch_media::ts::{Pacer, Packet, Reader};
use anabranch_sansio::Time;

use super::{InputError, InputOptions, Pace, Timing};

/// Packets or units of one batch.
pub(crate) const BATCH_ITEMS_MAX: usize = 256;

/// A packet or a unit.
#[derive(Debug)]
pub(crate) enum Media {
    Packet(Packet),
    Unit(Unit),
}

/// Media and its time.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) at: Time,
    pub(crate) media: Media,
}

/// What reading brought.
#[derive(Debug)]
pub(crate) enum Reading {
    /// Media.
    Items(Vec<Item>),
    /// Something that people should know.
    Note(String),
}

pub(crate) type Batch = Result<Reading, InputError>;

/// Bytes in, packets with times out.
pub(crate) struct PacketCutter {
    pub(super) name: String,
    reader: Reader,
    times: Times,
    items: Vec<Item>,
}

enum Times {
    Pacer(Box<Pacer>),
    Clock(Clock),
    None,
}

impl PacketCutter {
    pub(crate) fn new(
        name: String,
        options: InputOptions,
        timing: Timing,
        clock: Clock,
    ) -> Result<Self, InputError> {
        let reader = options.program.map_or_else(Reader::new, Reader::of_program);
        let times = match (timing, options.pace) {
            (Timing::Media, Pace::Bitrate(rate)) => {
                let failed = |source| InputError::Pace { name: name.clone(), source };
                Times::Pacer(Box::new(Pacer::by_bitrate(rate).map_err(failed)?))
            }
            (Timing::Media, _) => Times::Pacer(Box::new(Pacer::by_clock())),
            (Timing::Arrival, _) => Times::Clock(clock),
            (Timing::None, _) => Times::None,
        };
        Ok(Self { name, reader, times, items: Vec::new() })
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), InputError> {
        let read = self.reader.push(bytes);
        self.take_packets()?;
        read.map_err(|source| InputError::Read { name: self.name.clone(), source })
    }

    pub(crate) fn finish(&mut self) -> Result<(), InputError> {
        let read = self.reader.finish();
        self.take_packets()?;
        read.map_err(|source| InputError::Read { name: self.name.clone(), source })?;
        if let Times::Pacer(pacer) = &mut self.times {
            let paced = pacer.finish();
            paced.map_err(|source| InputError::Pace { name: self.name.clone(), source })?;
            self.take_paced();
        }
        Ok(())
    }

    /// Items that wait to be taken.
    pub(crate) const fn waiting(&self) -> usize {
        self.items.len()
    }

    /// The items were read together, and came one portion after the other between two times: up to
    /// the last of them evenly. `ends` says how many items there were after each portion.
    pub(crate) fn spread(&mut self, from: Time, to: Time, ends: &[usize]) {
        let mut begin = 0;
        for (portion, &end) in (1_u32..).zip(ends) {
            let share = f64::from(portion) / ends.len() as f64;
            let at = from + (to - from).mul_f64(share);
            let items = self.items.get_mut(begin..end).unwrap_or_default();
            items.iter_mut().for_each(|item| item.at = at);
            begin = end;
        }
    }

    pub(crate) fn take_batch(&mut self) -> Option<Vec<Item>> {
        if self.items.is_empty() {
            return None;
        }
        if self.items.len() > BATCH_ITEMS_MAX {
            let rest = self.items.split_off(BATCH_ITEMS_MAX);
            return Some(std::mem::replace(&mut self.items, rest));
        }
        // The next batch is likely to be as large.
        let next = Vec::with_capacity(self.items.len());
        Some(std::mem::replace(&mut self.items, next))
    }

    /// What is to be said of all that was read.
    pub(super) fn note(&self) -> Option<String> {
        let skipped = self.reader.stats().skipped_bytes;
        (skipped > 0).then(|| {
            let name = &self.name;
            format!(
                "{skipped} bytes of {name} belong to no packet and were left out: it is damaged"
            )
        })
    }

    fn take_packets(&mut self) -> Result<(), InputError> {
        let now = match &self.times {
            Times::Clock(clock) => clock.now(),
            Times::Pacer(_) | Times::None => Time::ZERO,
        };
        while let Some(packet) = self.reader.poll_packet() {
            if let Times::Pacer(pacer) = &mut self.times {
                let pushed = pacer.push(packet);
                pushed.map_err(|source| InputError::Pace { name: self.name.clone(), source })?;
            } else {
                self.items.push(Item { at: now, media: Media::Packet(packet) });
            }
        }
        self.take_paced();
        Ok(())
    }

    fn take_paced(&mut self) {
        let Times::Pacer(pacer) = &mut self.times else { return };
        while let Some((due, packet)) = pacer.poll_packet() {
            self.items.push(Item { at: Time::ZERO + due, media: Media::Packet(packet) });
        }
    }
}
