//! [`Film`]: a file in another container, read as the transport stream that it would be.

use std::io::{self, Read};

use super::again::Again;
use super::demuxer::MATROSKA_MAGIC;
use super::matroska::Matroska;
use super::mp4::{Mp4, is_mp4};
use super::sound::BareSound;

/// Bytes of a file that tell what container it is.
const HEAD_LEN: u64 = 8;

/// Whether a file that begins so is in a foreign container, which says of itself what is to be
/// believed or not.
#[must_use]
pub fn is_foreign(head: &[u8]) -> bool {
    is_mp4(head) || head.starts_with(&MATROSKA_MAGIC)
}

/// A film, or sound alone: MP4 and QuickTime, Matroska and WebM, MP3 and AAC without a container.
/// It is read as a transport stream, within bounds, whatever the file says of itself.
#[derive(Debug)]
pub struct Film<S: Again>(Kind<S>);

#[derive(Debug)]
enum Kind<S: Again> {
    Mp4(Box<Mp4<S>>),
    Matroska(Box<Matroska<S>>),
    Sound(Box<BareSound<S>>),
}

impl<S: Again> Film<S> {
    /// Reads what the file says of itself; none if it is of no kind that this knows.
    ///
    /// # Errors
    /// In words, if it cannot be read, or has nothing that a transport stream can carry.
    pub fn open(file: &S) -> Result<Option<Self>, String> {
        let again = || file.again().map_err(|error| error.to_string());
        let mut head = Vec::new();
        again()?.take(HEAD_LEN).read_to_end(&mut head).map_err(|error| error.to_string())?;
        if is_mp4(&head) {
            return Ok(Some(Self(Kind::Mp4(Box::new(Mp4::open(again()?)?)))));
        }
        if head.starts_with(&MATROSKA_MAGIC) {
            return Ok(Some(Self(Kind::Matroska(Box::new(Matroska::open(again()?)?)))));
        }
        let sound = BareSound::open(again()?).map_err(|error| error.to_string())?;
        Ok(sound.map(|sound| Self(Kind::Sound(Box::new(sound)))))
    }

    /// Goes back to its beginning.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn rewind(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::Mp4(film) => film.rewind(),
            Kind::Matroska(film) => film.rewind(),
            Kind::Sound(sound) => sound.rewind(),
        }
    }
}

impl<S: Again> Read for Film<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Mp4(film) => film.read(buf),
            Kind::Matroska(film) => film.read(buf),
            Kind::Sound(sound) => sound.read(buf),
        }
    }
}
