//! [`Fragments`]: samples that are described beside them, fragment by fragment (ISO/IEC 14496-12
//! section 8.8), as cameras and browsers record.

use std::io::{self, Read, Seek, SeekFrom};

use mp4_atom::{
    Atom as _, DecodeAtom as _, Header, Moof, Mvex, ReadFrom as _, Traf, Trex, TrunEntry,
};

use super::samples::Sample;
use super::track::Track;
use super::{boxes, read_body};
use crate::packing::Damaged;

/// The largest description of a fragment that is read; it is held in memory.
const MOOF_BYTES_MAX: usize = 16 << 20;

/// ISO/IEC 14496-12 section 8.8.3.1: `sample_is_non_sync_sample`.
const IS_NON_SYNC: u32 = 0x1_0000;

/// Where in the fragments of a film somebody is.
#[derive(Debug)]
pub(super) struct Fragments {
    defaults: Vec<Trex>,
    /// Bytes of the file.
    len: u64,
    /// Where the next box begins.
    next_box: u64,
    is_over: bool,
}

impl Fragments {
    pub(super) fn new(mvex: &Mvex, len: u64) -> Self {
        Self { defaults: mvex.trex.clone(), len, next_box: 0, is_over: false }
    }

    pub(super) const fn rewind(&mut self) {
        (self.next_box, self.is_over) = (0, false);
    }

    /// Reads on until each track knows its next sample, or there are no more.
    pub(super) fn fill(
        &mut self,
        source: &mut (impl Read + Seek),
        tracks: &mut [Track],
    ) -> io::Result<()> {
        let is_waited_for = |tracks: &[Track]| {
            tracks.iter().any(|track| track.next_dts().is_none())
                && tracks.iter().all(Track::has_room_ahead)
        };
        while !self.is_over && is_waited_for(tracks) {
            self.read_box(source, tracks)?;
            for track in &mut *tracks {
                track.refill().map_err(io::Error::other)?;
            }
        }
        Ok(())
    }

    fn read_box(
        &mut self,
        source: &mut (impl Read + Seek),
        tracks: &mut [Track],
    ) -> io::Result<()> {
        let start = self.next_box;
        source.seek(SeekFrom::Start(start))?;
        let header = Option::<Header>::read_from(source).map_err(io::Error::other)?;
        // The last box may go on to the end.
        let Some(Header { kind, size: Some(size) }) = header else {
            self.is_over = true;
            return Ok(());
        };
        self.next_box = source.stream_position()?.saturating_add(size as u64);
        if kind != Moof::KIND {
            return Ok(());
        }
        let body = read_body(source, self.len, size, MOOF_BYTES_MAX).map_err(io::Error::other)?;
        let kept = boxes::pruned_fragment(&body).map_err(io::Error::other)?;
        let header = Header { kind, size: Some(kept.len()) };
        let moof = Moof::decode_atom(&header, &mut kept.as_slice()).map_err(io::Error::other)?;
        let mut end = start;
        for traf in &moof.traf {
            self.take(traf, start, &mut end, tracks).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Takes the samples of one track; `end` is where those of the one before ended.
    fn take(
        &self,
        traf: &Traf,
        moof_at: u64,
        end: &mut u64,
        tracks: &mut [Track],
    ) -> Result<(), Damaged> {
        let id = traf.tfhd.track_id;
        let Some(track) = tracks.iter_mut().find(|track| track.id == id) else { return Ok(()) };
        let usual = Usual::of(traf, self.defaults.iter().find(|trex| trex.track_id == id));
        // ISO/IEC 14496-12 section 8.8.7.1: without a base, the first track counts from the box,
        // the others from the end of the one before.
        let base = match traf.tfhd.base_data_offset {
            Some(base) => base,
            None if traf.tfhd.default_base_is_moof => moof_at,
            None => *end,
        };
        let mut dts = match &traf.tfdt {
            Some(tfdt) => i64::try_from(tfdt.base_media_decode_time)
                .map_err(|_| Damaged("a fragment begins after the end of time"))?,
            None => track.ahead_until,
        };
        let mut offset = base;
        for trun in &traf.trun {
            if let Some(from_base) = trun.data_offset {
                offset = base.saturating_add_signed(from_base.into());
            }
            for entry in &trun.samples {
                let (sample, duration) = usual.sample(&entry, offset, dts);
                offset = offset.saturating_add(sample.size.into());
                dts = dts.saturating_add(duration.into());
                track.push_ahead(sample, self.len)?;
            }
        }
        track.ahead_until = dts;
        *end = offset;
        Ok(())
    }
}

/// What holds of a fragment's samples that say nothing of their own.
struct Usual {
    duration: u32,
    size: u32,
    flags: u32,
}

impl Usual {
    fn of(traf: &Traf, trex: Option<&Trex>) -> Self {
        let (tfhd, trex) = (&traf.tfhd, trex.cloned().unwrap_or_default());
        Self {
            duration: tfhd.default_sample_duration.unwrap_or(trex.default_sample_duration),
            size: tfhd.default_sample_size.unwrap_or(trex.default_sample_size),
            flags: tfhd.default_sample_flags.unwrap_or(trex.default_sample_flags),
        }
    }

    /// A sample and how long it lasts.
    fn sample(&self, entry: &TrunEntry, offset: u64, dts: i64) -> (Sample, u32) {
        let flags = entry.flags.unwrap_or(self.flags);
        let sample = Sample {
            offset,
            size: entry.size.unwrap_or(self.size),
            dts,
            delay: entry.cts.unwrap_or_default(),
            is_sync: flags & IS_NON_SYNC == 0,
        };
        (sample, entry.duration.unwrap_or(self.duration))
    }
}
