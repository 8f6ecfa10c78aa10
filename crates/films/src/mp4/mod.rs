//! [`Mp4`]: an MP4 file (ISO/IEC 14496-12), read as the transport stream that it would be.

mod boxes;
mod edits;
mod fragments;
mod samples;
mod track;

use std::io::{self, Read, Seek, SeekFrom};

use mp4_atom::{Atom as _, DecodeAtom as _, Header, Moov, ReadFrom as _, Trak};

use super::mux::{CLOCK_HZ, Muxer, Unit};
use fragments::Fragments;
use track::{Kind, Track};

/// ISO/IEC 14496-12 section 4.3: a file begins with a box of this type, behind the box's size.
const FILE_TYPE: &[u8] = b"ftyp";

/// Boxes of a file that are looked at.
const BOXES_MAX: usize = 10_000;

/// The largest description of a film that is read; it is held in memory. Ten hours of 60 pictures
/// a second have 40 MiB.
const MOOV_BYTES_MAX: usize = 64 << 20;

/// The largest picture that is read.
const SAMPLE_BYTES_MAX: u32 = 64 << 20;

/// No film has more pictures and frames of sound in a second, nor so many more at any instant.
const SAMPLES_PER_SECOND_MAX: u64 = 10_000;

/// A film: its picture, its sound, or both.
#[derive(Debug)]
pub(super) struct Mp4<S> {
    source: S,
    /// Bytes of the file.
    len: u64,
    tracks: Vec<Track>,
    /// The time that the stream counts from.
    start: i64,
    muxer: Muxer,
    sample: Vec<u8>,
    unit: Vec<u8>,
    /// Samples that were taken since the beginning.
    count: u64,
    /// Where the film goes on behind its tables.
    fragments: Option<Fragments>,
}

/// Whether a file that begins so is one.
pub(super) fn is_mp4(head: &[u8]) -> bool {
    head.get(4..).is_some_and(|rest| rest.starts_with(FILE_TYPE))
}

impl<S: Read + Seek> Mp4<S> {
    /// Reads what the file says of itself.
    ///
    /// # Errors
    /// In words, if it cannot be read, or has nothing that a transport stream can carry.
    pub(super) fn open(mut source: S) -> Result<Self, String> {
        let len = source.seek(SeekFrom::End(0)).map_err(|error| error.to_string())?;
        let moov = read_moov(&mut source, len)?;
        let fragments = moov.mvex.as_ref().map(|mvex| Fragments::new(mvex, len));
        let mut tracks = tracks_of(moov)?;
        if fragments.is_some() {
            tracks.iter_mut().for_each(Track::expect_fragments);
        }
        if tracks.is_empty() {
            return Err("it has neither a picture nor sound".to_owned());
        }
        let muxer =
            Muxer::new(&tracks.iter().map(|track| track.stream.clone()).collect::<Vec<_>>());
        let mut film = Self {
            source,
            len,
            tracks,
            start: 0,
            muxer,
            sample: Vec::new(),
            unit: Vec::new(),
            count: 0,
            fragments,
        };
        film.rewind().map_err(|error| error.to_string())?;
        if film.tracks.iter().all(|track| track.next_dts().is_none()) {
            return Err("there is nothing in it".to_owned());
        }
        Ok(film)
    }

    pub(super) fn rewind(&mut self) -> io::Result<()> {
        self.muxer.begin_again();
        self.count = 0;
        for track in &mut self.tracks {
            track.rewind().map_err(io::Error::other)?;
        }
        if let Some(fragments) = &mut self.fragments {
            fragments.rewind();
            fragments.fill(&mut self.source, &mut self.tracks)?;
            self.tracks.iter_mut().for_each(Track::settle);
        }
        self.start = self.tracks.iter().filter_map(Track::next_dts).min().unwrap_or_default();
        Ok(())
    }

    /// Makes packets of the sample that is decoded next; false at the end.
    fn make_more(&mut self) -> io::Result<bool> {
        let tracks = self.tracks.iter_mut().enumerate();
        let Some((stream, track)) = tracks
            .filter(|(_, track)| track.next_dts().is_some())
            .min_by_key(|(_, it)| it.next_dts())
        else {
            return Ok(false);
        };
        let Some(due) = track.take_next().map_err(io::Error::other)? else { return Ok(false) };
        let elapsed = (due.dts - self.start).unsigned_abs() / CLOCK_HZ.unsigned_abs();
        if self.count > SAMPLES_PER_SECOND_MAX.saturating_mul(elapsed + 1) {
            return Err(io::Error::other("its time does not pass: it is damaged"));
        }
        self.count += 1;
        if due.place.size > SAMPLE_BYTES_MAX {
            return Err(io::Error::other("it has a picture of more than 64 MiB: it is damaged"));
        }
        if due.place.offset.saturating_add(u64::from(due.place.size)) > self.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.sample.resize(due.place.size as usize, 0);
        self.source.seek(SeekFrom::Start(due.place.offset))?;
        self.source.read_exact(&mut self.sample)?;
        self.unit.clear();
        let packed = track.packing.pack(&self.sample, due.place.is_sync, &mut self.unit);
        packed.map_err(io::Error::other)?;
        let unit = Unit {
            stream,
            pts: due.pts - self.start,
            dts: due.dts - self.start,
            is_key: due.place.is_sync,
            bytes: &self.unit,
        };
        self.muxer.push(&unit)?;
        if let Some(fragments) = &mut self.fragments {
            fragments.fill(&mut self.source, &mut self.tracks)?;
        }
        Ok(true)
    }
}

impl<S: Read + Seek> Read for Mp4<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.muxer.is_empty() {
            if !self.make_more()? {
                return Ok(0);
            }
        }
        Ok(self.muxer.take(buf))
    }
}

fn read_moov(source: &mut (impl Read + Seek), len: u64) -> Result<Moov, String> {
    let failed = |error: &dyn std::fmt::Display| format!("it is damaged: {error}");
    source.rewind().map_err(|error| error.to_string())?;
    for _ in 0..BOXES_MAX {
        let header = Option::<Header>::read_from(source).map_err(|error| failed(&error))?;
        let Some(Header { kind, size: Some(size) }) = header else { break };
        if kind == Moov::KIND {
            return decode_moov(&read_body(source, len, size, MOOV_BYTES_MAX)?);
        }
        let size = i64::try_from(size).map_err(|error| failed(&error))?;
        source.seek(SeekFrom::Current(size)).map_err(|error| failed(&error))?;
    }
    Err(cut_short())
}

/// The body of a box of this size, if the file has it and it is no longer than that.
fn read_body(
    source: &mut (impl Read + Seek),
    len: u64,
    size: usize,
    bytes_max: usize,
) -> Result<Vec<u8>, String> {
    if size > bytes_max {
        let what =
            format!("it describes itself in more than {} MiB: it is damaged", bytes_max >> 20);
        return Err(what);
    }
    let at = source.stream_position().map_err(|error| error.to_string())?;
    if size as u64 > len.saturating_sub(at) {
        return Err(cut_short());
    }
    let mut body = vec![0; size];
    source.read_exact(&mut body).map_err(|error| error.to_string())?;
    Ok(body)
}

fn decode_moov(body: &[u8]) -> Result<Moov, String> {
    let kept = boxes::pruned(body).map_err(|error| error.to_string())?;
    let header = Header { kind: Moov::KIND, size: Some(kept.len()) };
    Moov::decode_atom(&header, &mut kept.as_slice())
        .map_err(|error| format!("it is damaged: {error}"))
}

fn cut_short() -> String {
    "it is cut short: what describes it is missing, as when its recording broke off".to_owned()
}

/// The first picture and the first sound.
fn tracks_of(mut moov: Moov) -> Result<Vec<Track>, String> {
    let mut tracks = Vec::new();
    for kind in [Kind::Video, Kind::Audio] {
        if let Some(nth) = moov.trak.iter().position(|trak| Kind::of(trak) == Some(kind)) {
            let trak: Trak = moov.trak.remove(nth);
            tracks.push(Track::new(trak, kind, moov.mvhd.timescale)?);
        }
    }
    Ok(tracks)
}

#[cfg(test)]
mod tests;
