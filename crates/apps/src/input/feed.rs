//! [`Feed`]: an input that is being read, in batches, with the time of each packet.

use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use anabranch_driver::Clock;
use anabranch_films::{Film, READER_FAILED, is_foreign};
use anabranch_media::clip::{Clip, ClipUnit};
use anabranch_sansio::Time;
use anabranch_session::SourceFormat;
use bytes::Bytes;
use tokio::sync::mpsc;

use super::apart::{Frame, ReaderProcess, Readers, Wanted};
use super::cutter::BATCH_ITEMS_MAX;
use super::udp::{self, Wrapping};
use super::{Batch, Input, InputError, InputOptions, Item, Media, Pace, PacketCutter, Reading};
use crate::url::UdpUrl;

/// Batches that are read ahead.
const BATCHES_MAX: usize = 64;

/// Bytes read at once.
const READ_LEN: usize = 64 << 10;

/// The largest clip that is read: it is held in memory.
const CLIP_BYTES_MAX: u64 = 1 << 30;

const CLIP_MAGIC: &[u8] = b"ANACLIP";

/// Bytes of a file that tell what it is.
const HEAD_LEN: u64 = 16;

/// What the times of a feed's items mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// Counted from the start of the media: the sender keeps them.
    Media,
    /// When they came, on the clock.
    Arrival,
    /// Nothing: they leave as fast as the network takes them.
    None,
}

/// An input that is being read.
#[derive(Debug)]
pub(crate) struct Feed {
    pub(crate) format: SourceFormat,
    pub(crate) timing: Timing,
    /// Whether it can be made to wait: a file or a pipe.
    pub(crate) can_wait: bool,
    batches: mpsc::Receiver<Batch>,
    first: Option<Batch>,
}

impl Feed {
    /// Opens an input. A file is looked into, so that what is wrong with it is known before
    /// anything else begins.
    pub(crate) async fn open(
        input: &Input,
        options: InputOptions,
        clock: Clock,
    ) -> Result<Self, InputError> {
        match input {
            Input::File(path) => Self::open_file(path, options, clock).await,
            Input::Stdin => Self::open_stdin(options, clock),
            Input::Udp(url) => Self::open_udp(url, Wrapping::None, options, clock),
            Input::Rtp(url) => Self::open_udp(url, Wrapping::Rtp, options, clock),
        }
    }

    /// The next items, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Batch> {
        match self.first.take() {
            Some(first) => Some(first),
            None => self.batches.recv().await,
        }
    }

    async fn open_file(
        path: &Path,
        options: InputOptions,
        clock: Clock,
    ) -> Result<Self, InputError> {
        let name = path.display().to_string();
        let mut file = File::open(path).map_err(|error| InputError::open(&name, &error))?;
        let metadata = file.metadata().map_err(|error| InputError::open(&name, &error))?;
        if metadata.is_dir() {
            return Err(InputError::Directory { name });
        }
        let is_pipe = !metadata.is_file();
        let timing = timing(options.pace, is_pipe);
        if is_pipe {
            refuse_file_options(&name, options)?;
            let batches = spawn_reader(|| Ok(file), name, options, timing, clock);
            return Ok(Self::mpeg_ts(timing, true, batches));
        }
        let head = head_of(&mut file).map_err(|error| InputError::open(&name, &error))?;
        if head.starts_with(CLIP_MAGIC) {
            return Self::open_clip(name, file, metadata.len(), options);
        }
        let (readers, looped) = (options.readers, options.looped);
        let is_apart = readers == Readers::Apart && is_foreign(&head);
        let open = {
            let name = name.clone();
            move || -> Result<Box<dyn Readable>, InputError> {
                if is_apart {
                    return Ok(Box::new(film_apart(file, &name, looped)?));
                }
                film_within(file, &name)
            }
        };
        let batches = spawn_reader(open, name, options, timing, clock);
        let mut feed = Self::mpeg_ts(timing, true, batches);
        feed.first = match feed.batches.recv().await {
            Some(Err(error)) => return Err(error),
            first => first,
        };
        Ok(feed)
    }

    fn open_udp(
        url: &UdpUrl,
        wrapping: Wrapping,
        options: InputOptions,
        clock: Clock,
    ) -> Result<Self, InputError> {
        let name = wrapping.scheme();
        refuse_file_options(name, options)?;
        if options.pace != Pace::Auto {
            let what = "packets from the network are sent as they come: leave the pace out";
            return Err(InputError::Option { name: name.to_owned(), what });
        }
        let batches = udp::spawn(url, wrapping, options.program, clock)?;
        Ok(Self::mpeg_ts(Timing::Arrival, false, batches))
    }

    /// What a program writes to a pipe.
    pub(crate) fn of_program(
        name: String,
        pipe: File,
        options: InputOptions,
        clock: Clock,
    ) -> Self {
        let timing = Timing::Arrival;
        let batches = spawn_reader(|| Ok(pipe), name, options, timing, clock);
        Self::mpeg_ts(timing, true, batches)
    }

    /// What another end of a session sends.
    pub(crate) const fn of_session(format: SourceFormat, batches: mpsc::Receiver<Batch>) -> Self {
        Self { format, timing: Timing::Arrival, can_wait: false, batches, first: None }
    }

    fn open_stdin(options: InputOptions, clock: Clock) -> Result<Self, InputError> {
        let name = "standard input".to_owned();
        refuse_file_options(&name, options)?;
        // A file that a shell opened for us is a file all the same.
        let is_file = stdin_is_file();
        let timing = timing(options.pace, !is_file);
        let batches = spawn_reader(|| Ok(Pipe(io::stdin())), name, options, timing, clock);
        Ok(Self::mpeg_ts(timing, true, batches))
    }

    fn open_clip(
        name: String,
        mut file: File,
        len: u64,
        options: InputOptions,
    ) -> Result<Self, InputError> {
        let refused = |what| Err(InputError::Option { name: name.clone(), what });
        if len > CLIP_BYTES_MAX {
            return refused("a clip of more than 1 GiB is not read: convert it to MPEG-TS");
        }
        if options.program.is_some() {
            return refused("program= is for transport streams, and this is a clip: leave it out");
        }
        if matches!(options.pace, Pace::Bitrate(_) | Pace::Fast) {
            return refused("a clip is sent in its own time: leave --fast and --bitrate out");
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| InputError::open(&name, &error))?;
        let clip = Clip::decode(&Bytes::from(bytes))
            .map_err(|source| InputError::Clip { name: name.clone(), source })?;
        let format = SourceFormat::Clip(clip.header().clone());
        let timing = Timing::Media;
        let batches = spawn_clip(clip, options.looped);
        Ok(Self { format, timing, can_wait: true, batches, first: None })
    }

    const fn mpeg_ts(timing: Timing, can_wait: bool, batches: mpsc::Receiver<Batch>) -> Self {
        Self { format: SourceFormat::MpegTs, timing, can_wait, batches, first: None }
    }
}

const fn timing(pace: Pace, is_pipe: bool) -> Timing {
    match pace {
        Pace::Auto if is_pipe => Timing::Arrival,
        Pace::Auto | Pace::Clock | Pace::Bitrate(_) => Timing::Media,
        Pace::Fast => Timing::None,
    }
}

fn refuse_file_options(name: &str, options: InputOptions) -> Result<(), InputError> {
    if options.looped {
        let what = "only a file can begin again: leave --loop out";
        return Err(InputError::Option { name: name.to_owned(), what });
    }
    Ok(())
}

/// What can be read, and maybe read again.
trait Readable: Read {
    fn begin_again(&mut self) -> io::Result<()>;
}

impl Readable for File {
    fn begin_again(&mut self) -> io::Result<()> {
        self.rewind()
    }
}

impl Readable for Film<File> {
    fn begin_again(&mut self) -> io::Result<()> {
        self.rewind()
    }
}

impl Readable for ReaderProcess {
    /// It goes on by itself.
    fn begin_again(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Readable for Box<dyn Readable> {
    fn begin_again(&mut self) -> io::Result<()> {
        self.as_mut().begin_again()
    }
}

struct Pipe(io::Stdin);

impl Read for Pipe {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.lock().read(buf)
    }
}

impl Readable for Pipe {
    fn begin_again(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

fn stdin_is_file() -> bool {
    use std::os::fd::AsFd as _;
    let descriptor = io::stdin().as_fd().try_clone_to_owned();
    descriptor.and_then(|fd| File::from(fd).metadata()).is_ok_and(|metadata| metadata.is_file())
}

fn head_of(file: &mut File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.by_ref().take(HEAD_LEN).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(head)
}

/// A file as a transport stream, which it may have to be made first.
fn film_within(mut file: File, name: &str) -> Result<Box<dyn Readable>, InputError> {
    let opened = catch_unwind(AssertUnwindSafe(|| Film::open(&file)));
    let opened = opened.unwrap_or_else(|_| Err(READER_FAILED.to_owned()));
    let failed = |message| InputError::Open { name: name.to_owned(), message };
    if let Some(film) = opened.map_err(failed)? {
        return Ok(Box::new(film));
    }
    file.rewind().map_err(|error| InputError::open(name, &error))?;
    Ok(Box::new(file))
}

/// The same, by a process of its own.
fn film_apart(file: File, name: &str, looped: bool) -> Result<ReaderProcess, InputError> {
    let mut process = ReaderProcess::start(file, Wanted::Stream, looped)
        .map_err(|error| InputError::broken(name, &error))?;
    match process.next() {
        Ok(Frame::Stream) => Ok(process),
        Ok(_) => Err(InputError::broken(name, &io::ErrorKind::InvalidData.into())),
        Err(error) => Err(InputError::open(name, &error)),
    }
}

/// Reads on a thread of its own: reading a pipe blocks, and must not keep the program from ending.
fn spawn_reader<R: Readable>(
    open: impl FnOnce() -> Result<R, InputError> + Send + 'static,
    name: String,
    options: InputOptions,
    timing: Timing,
    clock: Clock,
) -> mpsc::Receiver<Batch> {
    let (sender, batches) = mpsc::channel(BATCHES_MAX);
    std::thread::spawn(move || {
        let reading = || {
            let cutter = PacketCutter::new(name.clone(), options, timing, clock)?;
            read_all(open()?, options.looped, cutter, &sender)
        };
        let read = catch_unwind(AssertUnwindSafe(reading)).unwrap_or_else(|_| {
            Err(InputError::Broken { name: name.clone(), message: READER_FAILED.to_owned() })
        });
        if let Err(error) = read {
            // If nobody listens any more, the service has ended.
            _ = sender.blocking_send(Err(error));
        }
    });
    batches
}

fn read_all(
    mut source: impl Readable,
    looped: bool,
    mut cutter: PacketCutter,
    sender: &mpsc::Sender<Batch>,
) -> Result<(), InputError> {
    let mut buf = vec![0; READ_LEN];
    let mut bytes_of_round = 0;
    loop {
        let len = match source.read(&mut buf) {
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(InputError::broken(&cutter.name, &error)),
        };
        // A file that is empty now would be read for ever.
        if len == 0 && looped && bytes_of_round > 0 {
            source.begin_again().map_err(|error| InputError::broken(&cutter.name, &error))?;
            bytes_of_round = 0;
            continue;
        }
        bytes_of_round += len;
        let cut = if len == 0 {
            cutter.finish()
        } else {
            cutter.push(buf.get(..len).unwrap_or_default())
        };
        while let Some(batch) = cutter.take_batch() {
            if sender.blocking_send(Ok(Reading::Items(batch))).is_err() {
                return Ok(());
            }
        }
        cut?;
        if len == 0 {
            // If nobody listens any more, the service has ended.
            _ = cutter.note().map(|note| sender.blocking_send(Ok(Reading::Note(note))));
            return Ok(());
        }
    }
}

fn spawn_clip(clip: Clip, looped: bool) -> mpsc::Receiver<Batch> {
    let (sender, batches) = mpsc::channel(BATCHES_MAX);
    std::thread::spawn(move || {
        let rounds = if looped { usize::MAX } else { clip.units().len() };
        let mut units = clip.looped().take(rounds);
        let layers = clip.header().video.layers;
        loop {
            let item = |unit: ClipUnit| {
                let at = Time::ZERO + Duration::from_micros(unit.pts_us);
                Item { at, media: Media::Unit(unit.into_unit(at, layers)) }
            };
            let batch: Vec<Item> = units.by_ref().take(BATCH_ITEMS_MAX).map(item).collect();
            if batch.is_empty() || sender.blocking_send(Ok(Reading::Items(batch))).is_err() {
                return;
            }
        }
    });
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader with a defect.
    struct Defect;

    impl Read for Defect {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("a defect")
        }
    }

    impl Readable for Defect {
        fn begin_again(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn regression_a_reader_with_a_defect_looked_as_if_the_file_had_ended() {
        let (name, options) = ("a.ts".to_owned(), InputOptions::default());
        let mut batches = spawn_reader(|| Ok(Defect), name, options, Timing::None, Clock::start());
        let Some(Err(error)) = batches.recv().await else { panic!("no error") };
        let expected = "a.ts broke off: reading it failed by a defect of this program";
        assert_eq!(error.to_string(), expected);
    }
}
