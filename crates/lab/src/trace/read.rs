//! Reads a qlog file as `--trace` writes it: JSON text sequences (RFC 7464), record by record.

use std::io::{self, BufRead};

use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

/// RFC 7464 section 2.2: each text is preceded by this.
const RECORD_SEPARATOR: u8 = 0x1e;

/// The longest record: ours have some hundred bytes.
const RECORD_MAX: usize = 1 << 20;

/// One record.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Event {
    /// Milliseconds since the machine's time began.
    pub time: f64,
    /// What happened, as `sctp:packet_sent`.
    pub name: String,
    /// Which machine, and which of its connections.
    #[serde(default)]
    pub group_id: String,
    /// The rest.
    #[serde(default)]
    pub data: Map<String, Value>,
}

impl Event {
    pub(super) fn number(&self, field: &str) -> Option<f64> {
        self.data.get(field)?.as_f64()
    }

    pub(super) fn word(&self, field: &str) -> &str {
        self.data.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn flag(&self, field: &str) -> bool {
        self.data.get(field).and_then(Value::as_bool).unwrap_or_default()
    }
}

/// A file that is no trace, or ends in the midst of one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// Something else.
    #[error("it is no qlog file of JSON text sequences: give one that --trace wrote")]
    NoTrace,
    /// A record is damaged.
    #[error("record {record} cannot be read: {reason}")]
    Record {
        /// Which, from 1; the file's head is 0.
        record: u64,
        /// What the parser says.
        reason: String,
    },
    /// A record without an end.
    #[error("record {record} is longer than {RECORD_MAX} bytes")]
    TooLong {
        /// Which, from 1; the file's head is 0.
        record: u64,
    },
}

#[derive(Deserialize)]
struct Head {
    file_schema: String,
}

/// Hands each record of a file to `take`. What a run that was killed wrote last, and not to its
/// end, is left out.
///
/// # Errors
/// Says what is wrong, and with which record.
pub fn read(mut file: impl BufRead, mut take: impl FnMut(Event)) -> Result<(), ReadError> {
    let mut text = Vec::new();
    let mut record = 0;
    if next(&mut file, &mut text, record)? == 0 || text != [RECORD_SEPARATOR] {
        return Err(ReadError::NoTrace);
    }
    while next(&mut file, &mut text, record)? > 0 {
        let is_last = text.last() != Some(&RECORD_SEPARATOR);
        let json = text.strip_suffix(&[RECORD_SEPARATOR]).unwrap_or(&text);
        if record == 0 {
            let head: Head = serde_json::from_slice(json).map_err(|_| ReadError::NoTrace)?;
            if !head.file_schema.starts_with("urn:ietf:params:qlog:file:") {
                return Err(ReadError::NoTrace);
            }
        } else {
            match serde_json::from_slice(json) {
                Ok(event) => take(event),
                Err(_) if is_last && json.last() != Some(&b'\n') => return Ok(()),
                Err(error) => return Err(ReadError::Record { record, reason: error.to_string() }),
            }
        }
        record += 1;
    }
    Ok(())
}

/// Reads up to the next separator, that included.
fn next(file: &mut impl BufRead, text: &mut Vec<u8>, record: u64) -> Result<usize, ReadError> {
    text.clear();
    let len = io::Read::take(file, RECORD_MAX as u64).read_until(RECORD_SEPARATOR, text)?;
    if len == RECORD_MAX { Err(ReadError::TooLong { record }) } else { Ok(len) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "\x1e{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\"}\n";

    fn events(text: &str) -> Result<Vec<Event>, ReadError> {
        let mut events = Vec::new();
        read(text.as_bytes(), |event| events.push(event))?;
        Ok(events)
    }

    #[test]
    fn what_a_killed_run_left_is_read_up_to_its_last_whole_record() {
        let whole = "\x1e{\"time\":1.5,\"name\":\"a:b\",\"data\":{\"n\":2,\"is\":true}}\n";
        let found = events(&format!("{HEAD}{whole}\x1e{{\"time\":2.5,\"na")).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].time, found[0].number("n"), found[0].flag("is")),
            (1.5, Some(2.0), true)
        );
    }

    #[test]
    fn what_is_no_trace_is_refused_with_the_record() {
        for text in ["", "{}", "\x1e{}\n", "\x1e{\"file_schema\":\"urn:other\"}\n"] {
            assert!(matches!(events(text), Err(ReadError::NoTrace)), "{text}");
        }
        let broken = format!("{HEAD}\x1e{{\"time\":\"now\"}}\n\x1e{{}}\n");
        assert!(matches!(events(&broken), Err(ReadError::Record { record: 1, .. })));
        let endless = format!("{HEAD}\x1e\"{}", "x".repeat(RECORD_MAX));
        assert!(matches!(events(&endless), Err(ReadError::TooLong { record: 1 })));
    }
}
