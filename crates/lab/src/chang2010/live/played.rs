//! [`Played`]: a line of what an agent recorded of a call (`played.csv` of `call --record`).

use serde::Deserialize;
use thiserror::Error;

use super::super::media::Kind;

/// A frame that was played out, or was to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Played {
    pub(super) kind: Kind,
    /// Its number, of its kind.
    pub(super) frame: u64,
    /// On the clock of who captured it, in microseconds.
    pub(super) captured_us: i64,
    /// On the clock of who played it, in microseconds; none if it was concealed.
    pub(super) played_us: Option<i64>,
    pub(super) bytes: u64,
}

/// What is no record of a call.
#[derive(Debug, Error)]
pub enum PlayedError {
    /// It is no such table.
    #[error("this is no record of a call: {0}")]
    Table(#[from] csv::Error),
    /// A line is of something else.
    #[error("line {line} of the record is of \"{media}\": it can be voice, concealed or picture")]
    Media {
        /// From 1 on, the header included.
        line: usize,
        /// What it says.
        media: String,
    },
}

#[derive(Deserialize)]
struct Line {
    media: String,
    frame: u64,
    captured_us: i64,
    played_us: i64,
    bytes: u64,
}

impl Played {
    /// Reads a record.
    ///
    /// # Errors
    /// It is none.
    pub fn read(table: &str) -> Result<Vec<Self>, PlayedError> {
        let mut reader = csv::Reader::from_reader(table.as_bytes());
        let lines = reader.deserialize::<Line>().zip(2..);
        lines.map(|(line, number)| Self::of(line?, number)).collect()
    }

    fn of(line: Line, number: usize) -> Result<Self, PlayedError> {
        let Line { media, frame, captured_us, played_us, bytes } = line;
        let (kind, is_heard) = match media.as_str() {
            "voice" => (Kind::Voice, true),
            "concealed" => (Kind::Voice, false),
            "picture" => (Kind::Video, true),
            _ => return Err(PlayedError::Media { line: number, media }),
        };
        Ok(Self { kind, frame, captured_us, played_us: is_heard.then_some(played_us), bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "media,frame,captured_us,played_us,bytes\n";

    #[test]
    fn a_record_is_read() {
        let table = format!("{HEADER}voice,7,1000,2000,80\nconcealed,8,1020,2020,0\n");
        let frame = |frame, captured_us, played_us, bytes| Played {
            kind: Kind::Voice,
            frame,
            captured_us,
            played_us,
            bytes,
        };
        let expected = [frame(7, 1_000, Some(2_000), 80), frame(8, 1_020, None, 0)];
        assert_eq!(Played::read(&table).unwrap(), expected);
        assert_eq!(Played::read(HEADER).unwrap(), []);
    }

    #[test]
    fn what_is_no_record_is_refused_in_words() {
        for (text, words) in [
            (
                format!("{HEADER}voice,1,2,3,4\ntext,1,2,3,4\n"),
                "line 3 of the record is of \"text\"",
            ),
            (format!("{HEADER}voice,one,2,3,4\n"), "this is no record of a call"),
            ("voice,frame\nvoice,1\n".to_owned(), "this is no record of a call"),
        ] {
            let error = Played::read(&text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
