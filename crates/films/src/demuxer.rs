//! [`Demuxer`]: the frames of a Matroska file, within bounds.

use std::io::{self, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use matroska_demuxer::{DemuxError, Frame, MatroskaFile, TrackEntry};

use super::READER_FAILED;

/// RFC 8794 section 11.2.1: the EBML header's identifier.
pub const MATROSKA_MAGIC: [u8; 4] = [0x1a, 0x45, 0xdf, 0xa3];

/// The largest frame that is taken.
const FRAME_BYTES_MAX: usize = 16 << 20;

/// What a file may say of itself: the demuxer keeps up to twenty times as much of it in memory.
const HEADER_BYTES_MAX: u64 = 8 << 20;

/// A file, and how far its frames were read.
#[derive(Debug)]
pub struct Demuxer<S: Read + Seek> {
    film: MatroskaFile<Source<S>>,
}

impl<S: Read + Seek> Demuxer<S> {
    /// Reads what the file says of itself.
    ///
    /// # Errors
    /// In words, if it cannot be read, or says more than is taken.
    pub fn open(file: S) -> Result<Self, String> {
        let budget = Arc::new(AtomicU64::new(HEADER_BYTES_MAX));
        let source = Source { file, budget: budget.clone() };
        let film = catch_unwind(AssertUnwindSafe(|| MatroskaFile::open(source)))
            .map_err(|_| READER_FAILED.to_owned())?
            .map_err(|error| sentence_of(&error))?;
        // What follows is read frame by frame.
        budget.store(u64::MAX, Ordering::Relaxed);
        Ok(Self { film })
    }

    /// Its tracks.
    #[must_use]
    pub fn tracks(&self) -> &[TrackEntry] {
        self.film.tracks()
    }

    /// Nanoseconds of a tick.
    #[must_use]
    pub fn timestamp_scale(&self) -> u64 {
        self.film.info().timestamp_scale().get()
    }

    /// Reads the next frame; false at the end.
    ///
    /// # Errors
    /// In words, if it cannot be read, or is longer than is taken.
    pub fn next_frame(&mut self, frame: &mut Frame) -> Result<bool, String> {
        let read = catch_unwind(AssertUnwindSafe(|| self.film.next_frame(frame)))
            .map_err(|_| READER_FAILED.to_owned())?;
        if !read.map_err(|error| sentence_of(&error))? {
            return Ok(false);
        }
        if frame.data.len() > FRAME_BYTES_MAX {
            return Err("it has a frame of more than 16 MiB: it is damaged".to_owned());
        }
        Ok(true)
    }
}

/// The demuxer does not put what the file's reader says.
fn sentence_of(error: &DemuxError) -> String {
    if let DemuxError::IoError(error) = error { error.to_string() } else { error.to_string() }
}

/// A file of which only so much more is read.
#[derive(Debug)]
struct Source<S> {
    file: S,
    budget: Arc<AtomicU64>,
}

impl<S: Read> Read for Source<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read(buf)?;
        let left = self.budget.load(Ordering::Relaxed);
        let Some(left) = left.checked_sub(len as u64) else {
            let what = "it describes itself in more than 8 MiB: it is damaged";
            return Err(io::Error::other(what));
        };
        self.budget.store(left, Ordering::Relaxed);
        Ok(len)
    }
}

impl<S: Seek> Seek for Source<S> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// An element of EBML: its identifier, its length in eight bytes, its content.
    fn element(id: &[u8], content: &[u8]) -> Vec<u8> {
        let len = (1_u64 << 56) | content.len() as u64;
        [id, &len.to_be_bytes(), content].concat()
    }

    #[test]
    fn a_file_that_says_too_much_of_itself_is_refused_before_it_fills_the_memory() {
        let versions = [element(&[0x42, 0x87], &[2]), element(&[0x42, 0x85], &[2])].concat();
        let head = element(&MATROSKA_MAGIC, &[element(&[0x42, 0x82], b"webm"), versions].concat());
        // Five million elements (Void) in the segment's description.
        let info = element(&[0x15, 0x49, 0xa9, 0x66], &[0xec, 0x80].repeat(5 << 20));
        let cluster = element(&[0x1f, 0x43, 0xb6, 0x75], &[]);
        let segment = element(&[0x18, 0x53, 0x80, 0x67], &[info, cluster].concat());
        let error = Demuxer::open(Cursor::new([head, segment].concat())).unwrap_err();
        assert!(error.contains("more than 8 MiB"), "{error}");
    }
}
