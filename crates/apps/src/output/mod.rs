//! What media is written to: an [`Output`] names it.

mod clip;
mod udp;

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anabranch_media::playout::Released;
use anabranch_session::SourceFormat;
use thiserror::Error;
use tokio::fs::File;
use tokio::io::{AsyncWriteExt as _, BufWriter, Stdout};

use crate::url::{UdpUrl, UrlError};
use clip::ClipWriter;
use udp::UdpSink;

/// Bytes gathered before a file is written to.
const BUFFER_LEN: usize = 256 << 10;

/// Where media goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// A file, created when the first media comes; one that exists is replaced then.
    File(PathBuf),
    /// Standard output: `-`.
    Stdout,
    /// UDP datagrams, with the spacing that the packets had at the sender.
    Udp(UdpUrl),
}

impl FromStr for Output {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        if text == "-" {
            return Ok(Self::Stdout);
        }
        if UdpUrl::is_meant_by(text) {
            return Ok(Self::Udp(text.parse()?));
        }
        if text.contains("://") {
            return Err(UrlError::Scheme { url: text.to_owned(), scheme: "udp" });
        }
        Ok(Self::File(text.into()))
    }
}

/// Why media cannot be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OutputError {
    /// There is no place for the file.
    #[error("cannot write {}: there is no directory {}", .path.display(), .parent.display())]
    NoDirectory {
        /// The file.
        path: PathBuf,
        /// Where it would be.
        parent: PathBuf,
    },
    /// It is a directory.
    #[error("cannot write {}: it is a directory, give a file in it", .path.display())]
    IsDirectory {
        /// What was given.
        path: PathBuf,
    },
    /// The URL leads nowhere.
    #[error("cannot send to udp://{host}: {message}")]
    Udp {
        /// Its host and port.
        host: String,
        /// The system's words, and what would be right.
        message: String,
    },
    /// Writing failed.
    #[error("cannot write {name}: {message}")]
    Failed {
        /// The output.
        name: String,
        /// The system's words.
        message: String,
    },
    /// The sender's media has no form there.
    #[error(
        "the sender sends the units of a clip, which have no place in {name}: give a file, or \
         --page"
    )]
    NoForm {
        /// The output.
        name: String,
    },
}

impl OutputError {
    /// Whether another argument would be right.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        match self {
            Self::NoDirectory { .. } | Self::IsDirectory { .. } | Self::Udp { .. } => true,
            Self::Failed { .. } | Self::NoForm { .. } => false,
        }
    }

    /// What the sender is told: not where the media would have gone.
    pub(crate) fn to_the_sender(&self) -> String {
        match self {
            Self::Failed { message, .. } | Self::Udp { message, .. } => {
                format!("the receiver cannot write what it gets: {message}")
            }
            Self::NoForm { .. } => {
                "the receiver's output takes no clip: send a transport stream".to_owned()
            }
            Self::NoDirectory { .. } | Self::IsDirectory { .. } => {
                "the receiver has no place for what it gets".to_owned()
            }
        }
    }
}

/// An output that is being written to.
#[derive(Debug)]
pub(crate) struct Sink {
    name: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Nothing came yet.
    NotYet(PathBuf),
    File(BufWriter<File>),
    Stdout(Stdout),
    Udp(UdpSink),
    Clip(Box<ClipWriter>),
}

impl Sink {
    /// Checks all that can be known before media comes; writes nothing.
    pub(crate) async fn open(output: &Output) -> Result<Self, OutputError> {
        let (name, kind) = match output {
            Output::File(path) => {
                check_place(path)?;
                (path.display().to_string(), Kind::NotYet(path.clone()))
            }
            Output::Stdout => ("standard output".to_owned(), Kind::Stdout(tokio::io::stdout())),
            Output::Udp(url) => {
                let refused = |message| OutputError::Udp { host: host_of(url), message };
                let sink = UdpSink::open(url).await.map_err(refused)?;
                (format!("udp://{}", host_of(url)), Kind::Udp(sink))
            }
        };
        Ok(Self { name, kind })
    }

    /// The sender said what it sends.
    pub(crate) async fn begin(&mut self, format: &SourceFormat) -> Result<(), OutputError> {
        match (format, &mut self.kind) {
            (SourceFormat::Clip(header), Kind::NotYet(path)) => {
                let writer = ClipWriter::new(path.clone(), header.clone());
                self.kind = Kind::Clip(Box::new(writer));
                Ok(())
            }
            // The same clip again: a sender that came back.
            (SourceFormat::Clip(_), Kind::Clip(_)) | (SourceFormat::MpegTs, _) => Ok(()),
            (SourceFormat::Clip(_), Kind::File(_) | Kind::Stdout(_) | Kind::Udp(_)) => {
                Err(OutputError::NoForm { name: self.name.clone() })
            }
        }
    }

    pub(crate) async fn write(&mut self, released: &Released) -> Result<(), OutputError> {
        if let Kind::NotYet(path) = &self.kind {
            let file = File::create(path).await;
            let file = file.map_err(|error| failed(&self.name, &error))?;
            self.kind = Kind::File(BufWriter::with_capacity(BUFFER_LEN, file));
        }
        let bytes = &released.bytes;
        let written = match &mut self.kind {
            Kind::NotYet(_) => Ok(()),
            Kind::File(file) => file.write_all(bytes).await,
            Kind::Stdout(stdout) => stdout.write_all(bytes).await,
            Kind::Udp(udp) => udp.write(bytes).await,
            Kind::Clip(clip) => {
                clip.take(released);
                Ok(())
            }
        };
        written.map_err(|error| failed(&self.name, &error))
    }

    /// Nothing more is due now: what was gathered leaves where others wait for it.
    pub(crate) async fn flush(&mut self) -> Result<(), OutputError> {
        let flushed = match &mut self.kind {
            Kind::NotYet(_) | Kind::File(_) | Kind::Clip(_) => Ok(()),
            Kind::Stdout(stdout) => stdout.flush().await,
            Kind::Udp(udp) => udp.flush().await,
        };
        flushed.map_err(|error| failed(&self.name, &error))
    }

    /// A second has passed: what was gathered is written, for those who read along, and so that a
    /// crash costs no more.
    pub(crate) async fn write_gathered(&mut self) -> Result<(), OutputError> {
        let Kind::File(file) = &mut self.kind else { return Ok(()) };
        file.flush().await.map_err(|error| failed(&self.name, &error))
    }

    /// All has come: it is written before the sender hears so.
    pub(crate) async fn keep(&mut self) -> Result<(), OutputError> {
        self.write_gathered().await?;
        if let Kind::Clip(clip) = &mut self.kind {
            clip.finish().await.map_err(|error| failed(&self.name, &error))?;
        }
        Ok(())
    }

    /// Writes what was gathered. Returns what people should know about it.
    pub(crate) async fn finish(&mut self) -> Result<Option<String>, OutputError> {
        match &mut self.kind {
            Kind::NotYet(path) => {
                let text = format!("no media came: {} was not written", path.display());
                return Ok(Some(text));
            }
            Kind::File(file) => {
                file.flush().await.map_err(|error| failed(&self.name, &error))?;
            }
            Kind::Clip(clip) => {
                let written = clip.finish().await.map_err(|error| failed(&self.name, &error));
                return written.map(Some);
            }
            Kind::Stdout(_) | Kind::Udp(_) => self.flush().await?,
        }
        Ok(None)
    }
}

fn check_place(path: &Path) -> Result<(), OutputError> {
    if path.is_dir() {
        return Err(OutputError::IsDirectory { path: path.to_owned() });
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    match parent {
        Some(parent) if !parent.is_dir() => {
            Err(OutputError::NoDirectory { path: path.to_owned(), parent: parent.to_owned() })
        }
        _ => Ok(()),
    }
}

fn failed(name: &str, error: &io::Error) -> OutputError {
    OutputError::Failed { name: name.to_owned(), message: error.to_string() }
}

fn host_of(url: &UdpUrl) -> String {
    match &url.host {
        Some(host) if host.contains(':') => format!("[{host}]:{}", url.port),
        Some(host) => format!("{host}:{}", url.port),
        None => format!(":{}", url.port),
    }
}
