//! [`Film`]: a WebM or Matroska file that is being read, as what browsers decode.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anabranch_films::READER_FAILED;
use anabranch_media::broadcast::Formats;
use tokio::sync::{mpsc, oneshot};

use crate::input::{
    Frame, InputError, ReaderProcess, Readers, Timed, UnitReader, Wanted, is_matroska,
};

/// Units that are read ahead.
const UNITS_MAX: usize = 16;

/// A film that is being read.
#[derive(Debug)]
pub(super) struct Film {
    pub(super) formats: Formats,
    pub(super) units: mpsc::Receiver<Result<Timed, InputError>>,
}

impl Film {
    /// Opens a file; none if it is something else, or has what must become a transport stream for
    /// browsers to decode it, or cannot be read.
    pub(super) async fn open(path: &Path, readers: Readers) -> Option<Self> {
        let name = path.display().to_string();
        let mut file = File::open(path).ok()?;
        if !file.metadata().ok()?.is_file() || !is_matroska(&mut file).ok()? {
            return None;
        }
        let (told, formats) = oneshot::channel();
        let (sender, units) = mpsc::channel(UNITS_MAX);
        std::thread::spawn(move || {
            let reading = || -> io::Result<()> {
                let Some((source, formats)) = Source::open(file, readers)? else { return Ok(()) };
                // If nobody listens any more, the channel is gone.
                _ = told.send(formats);
                source.read(&sender)
            };
            let read = catch_unwind(AssertUnwindSafe(reading));
            if let Err(error) = read.unwrap_or_else(|_| Err(io::Error::other(READER_FAILED))) {
                _ = sender.blocking_send(Err(InputError::broken(&name, &error)));
            }
        });
        Some(Self { formats: formats.await.ok()?, units })
    }
}

/// What units come from.
enum Source {
    Within(Box<UnitReader>),
    Apart(ReaderProcess),
}

impl Source {
    /// None if browsers do not decode it.
    fn open(file: File, readers: Readers) -> io::Result<Option<(Self, Formats)>> {
        if readers == Readers::Within {
            let units = UnitReader::open(file);
            return Ok(units.map(|units| {
                let formats = units.formats();
                (Self::Within(Box::new(units)), formats)
            }));
        }
        let mut process = ReaderProcess::start(file, Wanted::Units, false)?;
        let Frame::Units(formats) = process.next()? else { return Ok(None) };
        Ok(Some((Self::Apart(process), formats)))
    }

    /// Hands all units on, until nobody listens any more.
    fn read(mut self, sender: &mpsc::Sender<Result<Timed, InputError>>) -> io::Result<()> {
        while let Some(timed) = self.next()? {
            if sender.blocking_send(Ok(timed)).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn next(&mut self) -> io::Result<Option<Timed>> {
        match self {
            Self::Within(units) => units.next().map_err(io::Error::other),
            Self::Apart(process) => {
                let Frame::Unit(timed) = process.next()? else { return Ok(None) };
                Ok(Some(timed))
            }
        }
    }
}
