//! [`Samples`]: where the samples of a track lie, and when they are decoded.

use mp4_atom::{Stbl, StszSamples};

use crate::packing::Damaged;

/// A sample: a picture, or a frame of sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    /// Where it begins in the file.
    pub(super) offset: u64,
    /// Its bytes.
    pub(super) size: u32,
    /// When it is decoded, in ticks of the track.
    pub(super) dts: i64,
    /// How much later it is shown.
    pub(super) delay: i64,
    /// Whether decoding can begin with it.
    pub(super) is_sync: bool,
}

/// Walks through a track's tables (ISO/IEC 14496-12 sections 8.6 and 8.7), which are kept as short
/// as the file has them.
#[derive(Debug, Default)]
pub(super) struct Samples {
    number: u32,
    dts: i64,
    durations: Runs,
    delays: Runs,
    chunk: Chunk,
    /// Entries of the table of sync samples that are passed.
    syncs: usize,
}

impl Samples {
    /// Whether the tables have none.
    pub(super) fn is_empty(tables: &Stbl) -> bool {
        size_of(tables, 0).is_none()
    }

    /// The next sample, or none at the end.
    pub(super) fn next(&mut self, tables: &Stbl) -> Result<Option<Sample>, Damaged> {
        let Some(size) = size_of(tables, self.number) else { return Ok(None) };
        let offset = self.chunk.place(tables, size)?;
        let duration = self
            .durations
            .next(|nth| tables.stts.entries.get(nth).map(|it| (it.sample_count, it.sample_delta)))
            .ok_or(Damaged("not every sample has a duration"))?;
        let delay = match &tables.ctts {
            Some(ctts) => self
                .delays
                .next(|nth| ctts.entries.get(nth).map(|it| (it.sample_count, it.sample_offset)))
                .ok_or(Damaged("not every sample has a time of presentation"))?,
            None => 0,
        };
        let sample = Sample { offset, size, dts: self.dts, delay, is_sync: self.is_sync(tables) };
        self.number += 1;
        self.dts = self.dts.saturating_add(i64::from(duration));
        Ok(Some(sample))
    }

    /// ISO/IEC 14496-12 section 8.6.2.1: "If the SyncSampleBox is not present, every sample is a
    /// sync sample."
    fn is_sync(&mut self, tables: &Stbl) -> bool {
        let Some(stss) = &tables.stss else { return true };
        // Samples are counted from 1 there.
        let number = self.number.saturating_add(1);
        while stss.entries.get(self.syncs).is_some_and(|sync| *sync < number) {
            self.syncs += 1;
        }
        stss.entries.get(self.syncs) == Some(&number)
    }
}

fn size_of(tables: &Stbl, number: u32) -> Option<u32> {
    match &tables.stsz.samples {
        StszSamples::Identical { count, size } => (number < *count).then_some(*size),
        StszSamples::Different { sizes } => sizes.get(number as usize).copied(),
    }
}

/// Where in a table of runs somebody is.
#[derive(Debug, Default)]
struct Runs {
    nth: usize,
    used: u32,
}

impl Runs {
    /// The next value of runs that are so long each.
    fn next<T>(&mut self, run: impl Fn(usize) -> Option<(u32, T)>) -> Option<T> {
        loop {
            let (len, value) = run(self.nth)?;
            if self.used < len {
                self.used += 1;
                return Some(value);
            }
            (self.nth, self.used) = (self.nth + 1, 0);
        }
    }
}

/// Samples that follow each other in the file.
#[derive(Debug, Default)]
struct Chunk {
    /// Chunks that were begun.
    number: u32,
    /// The run of the table of chunks that it belongs to.
    run: usize,
    left: u32,
    next_offset: u64,
}

impl Chunk {
    /// Where the next sample begins.
    fn place(&mut self, tables: &Stbl, size: u32) -> Result<u64, Damaged> {
        while self.left == 0 {
            self.begin_next(tables)?;
        }
        self.left -= 1;
        let offset = self.next_offset;
        self.next_offset = offset.saturating_add(u64::from(size));
        Ok(offset)
    }

    fn begin_next(&mut self, tables: &Stbl) -> Result<(), Damaged> {
        let nth = self.number as usize;
        let small =
            tables.stco.as_ref().and_then(|it| it.entries.get(nth).map(|at| u64::from(*at)));
        let large = || tables.co64.as_ref().and_then(|it| it.entries.get(nth).copied());
        self.next_offset =
            small.or_else(large).ok_or(Damaged("it has more samples than places for them"))?;
        self.number += 1;
        let runs = &tables.stsc.entries;
        while runs.get(self.run + 1).is_some_and(|run| run.first_chunk <= self.number) {
            self.run += 1;
        }
        let run = runs.get(self.run).ok_or(Damaged("its chunks have no sizes"))?;
        self.left = run.samples_per_chunk;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mp4_atom::{Ctts, CttsEntry, Stco, Stsc, StscEntry, Stss, Stsz, Stts, SttsEntry};

    use super::*;

    /// Five samples in three chunks: two, two and one.
    fn tables() -> Stbl {
        let chunk = |first_chunk, samples_per_chunk| StscEntry {
            first_chunk,
            samples_per_chunk,
            sample_description_index: 1,
        };
        let lasting = |sample_count, sample_delta| SttsEntry { sample_count, sample_delta };
        let delayed = |sample_count, sample_offset| CttsEntry { sample_count, sample_offset };
        Stbl {
            stsz: Stsz { samples: StszSamples::Different { sizes: vec![10, 20, 30, 40, 50] } },
            stsc: Stsc { entries: vec![chunk(1, 2), chunk(3, 1)] },
            stco: Some(Stco { entries: vec![1_000, 2_000, 3_000] }),
            stts: Stts { entries: vec![lasting(2, 100), lasting(0, 7), lasting(3, 200)] },
            ctts: Some(Ctts { entries: vec![delayed(4, 100), delayed(1, -100)] }),
            stss: Some(Stss { entries: vec![1, 4] }),
            ..Stbl::default()
        }
    }

    fn all(tables: &Stbl) -> Result<Vec<Sample>, Damaged> {
        let mut samples = Samples::default();
        std::iter::from_fn(|| samples.next(tables).transpose()).take(100).collect()
    }

    #[test]
    fn samples_follow_each_other_in_their_chunks_with_their_times() {
        let sample =
            |offset, size, dts, delay, is_sync| Sample { offset, size, dts, delay, is_sync };
        let expected = [
            sample(1_000, 10, 0, 100, true),
            sample(1_010, 20, 100, 100, false),
            sample(2_000, 30, 200, 100, false),
            sample(2_030, 40, 400, 100, true),
            sample(3_000, 50, 600, -100, false),
        ];
        assert_eq!(all(&tables()).unwrap(), expected);
        let every = Stbl { stss: None, ctts: None, ..tables() };
        assert!(all(&every).unwrap().iter().all(|it| it.is_sync && it.delay == 0));
    }

    #[test]
    fn tables_that_contradict_each_other_are_refused_in_words() {
        let cases = [
            (Stbl { stco: None, ..tables() }, "more samples than places"),
            (Stbl { stsc: Stsc::default(), ..tables() }, "chunks have no sizes"),
            (Stbl { stts: Stts::default(), ..tables() }, "not every sample has a duration"),
            (Stbl { ctts: Some(Ctts::default()), ..tables() }, "time of presentation"),
        ];
        for (tables, words) in cases {
            let error = all(&tables).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn chunks_without_samples_end_with_the_table_of_chunks() {
        let mut tables = tables();
        tables.stsc.entries.iter_mut().for_each(|run| run.samples_per_chunk = 0);
        assert!(all(&tables).is_err());
    }
}
