//! What media is read from: files, pipes, UDP, and what can be wrong with them.
//!
//! An [`Input`] names it; a feed reads it in batches with the time of each packet, whatever
//! container it is in.

mod apart;
mod cutter;
mod feed;
mod udp;
mod units;

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use anabranch_media::clip::ClipError;
use anabranch_media::ts::{PaceError, ReadError};
use anabranch_sansio::Rate;
use thiserror::Error;

use crate::url::{UdpUrl, UrlError};
pub(crate) use apart::{Frame, ReaderProcess};
pub use apart::{LOOPED, READ_FILM, READER_BYTES_MAX, Readers, Wanted, read_film};
pub(crate) use cutter::{Batch, Item, Media, PacketCutter, Reading};
pub(crate) use feed::Feed;
pub use feed::Timing;
pub(crate) use units::{Timed, UnitReader, is_matroska};

/// Where media comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A transport stream, an MP4 file or a clip, by its path.
    File(PathBuf),
    /// A transport stream on standard input: `-`.
    Stdin,
    /// A transport stream in UDP datagrams.
    Udp(UdpUrl),
    /// A transport stream in RTP (RFC 2250).
    Rtp(UdpUrl),
}

/// What ffmpeg reads by these, and passes on as it is.
const BY_FFMPEG: [&str; 8] = ["http", "https", "rtsp", "rtsps", "rtmp", "rtmps", "srt", "rist"];

impl FromStr for Input {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        if text == "-" {
            return Ok(Self::Stdin);
        }
        if UdpUrl::is_meant_by(text) {
            return Ok(Self::Udp(text.parse()?));
        }
        if text.starts_with("rtp://") {
            return Ok(Self::Rtp(UdpUrl::parse(text, "rtp")?));
        }
        if let Some((scheme, _)) = text.split_once("://").filter(|it| BY_FFMPEG.contains(&it.0)) {
            return Err(UrlError::ByFfmpeg { scheme: scheme.to_owned(), url: text.to_owned() });
        }
        if text.contains("://") {
            return Err(UrlError::Scheme { url: text.to_owned(), scheme: "udp" });
        }
        Ok(Self::File(text.into()))
    }
}

/// How the input is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InputOptions {
    /// The one program to send.
    pub program: Option<u16>,
    /// Whether a file begins again when it ends.
    pub looped: bool,
    /// What gives its packets their times.
    pub pace: Pace,
    /// Where it is read if it is a film in a foreign container.
    pub readers: Readers,
}

/// What gives packets their times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// Files: their own clock. Pipes and UDP: when they come.
    #[default]
    Auto,
    /// Their own clock (PCR), also on standard input.
    Clock,
    /// So many bits per second, for streams without a clock.
    Bitrate(Rate),
    /// As fast as the network takes them.
    Fast,
}

/// What is wrong with an input.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InputError {
    /// It cannot be opened.
    #[error("cannot read {name}: {message}")]
    Open {
        /// Its name.
        name: String,
        /// The system's words.
        message: String,
    },
    /// It is not the kind of thing that can be read.
    #[error("cannot read {name}: it is a directory, give a file in it")]
    Directory {
        /// Its name.
        name: String,
    },
    /// It is no transport stream, or not the right one.
    #[error("{name}: {source}")]
    Read {
        /// Its name.
        name: String,
        /// What is wrong.
        source: ReadError,
    },
    /// It has no times.
    #[error("{name}: {source}")]
    Pace {
        /// Its name.
        name: String,
        /// What is wrong.
        source: PaceError,
    },
    /// It is a clip, but a damaged one.
    #[error("{name}: {source}")]
    Clip {
        /// Its name.
        name: String,
        /// What is wrong.
        source: ClipError,
    },
    /// An option that has no meaning for it.
    #[error("{name}: {what}")]
    Option {
        /// Its name.
        name: String,
        /// What makes no sense, and what would.
        what: &'static str,
    },
    /// A name where only an address can be.
    #[error(
        "{host}: give an address of this machine, a multicast group, or none at all to take \
         packets at any address"
    )]
    UdpHost {
        /// What was given.
        host: String,
    },
    /// The port or the group cannot be had.
    #[error("cannot receive at {ip}:{port}: {message}")]
    UdpBind {
        /// The address.
        ip: IpAddr,
        /// The port.
        port: u16,
        /// The system's words, and what would be right.
        message: String,
    },
    /// It broke while it was being read.
    #[error("{name} broke off: {message}")]
    Broken {
        /// Its name.
        name: String,
        /// The system's words.
        message: String,
    },
}

impl InputError {
    /// Whether another input or option would be right, rather than another try.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        !matches!(self, Self::Broken { .. })
    }

    pub(crate) fn open(name: &str, error: &io::Error) -> Self {
        Self::Open { name: name.to_owned(), message: error.to_string() }
    }

    pub(crate) fn broken(name: &str, error: &io::Error) -> Self {
        Self::Broken { name: name.to_owned(), message: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_pipes_and_udp_are_told_apart() {
        assert_eq!("-".parse(), Ok(Input::Stdin));
        assert_eq!("a b.ts".parse(), Ok(Input::File("a b.ts".into())));
        assert!(matches!("udp://@:1234".parse(), Ok(Input::Udp(_))));
        assert!(matches!("rtp://@239.1.2.3:5004".parse(), Ok(Input::Rtp(_))));
        let error = "tcp://h:1".parse::<Input>().unwrap_err();
        assert_eq!(error.to_string(), "\"tcp://h:1\" is no udp URL: it must begin with udp://");
        let error = "rtsp://camera/1".parse::<Input>().unwrap_err().to_string();
        let line = "ffmpeg -i 'rtsp://camera/1' -c copy -f mpegts 'udp://127.0.0.1:5000";
        assert!(error.starts_with("rtsp:// is not read here: ") && error.contains(line), "{error}");
    }
}
