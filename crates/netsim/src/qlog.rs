//! [`QlogFile`]: one JSON object for a file, and one for each record
//! (draft-ietf-quic-qlog-main-schema), as text sequences (RFC 7464).

use std::fmt;
use std::io::{self, Write};

use anabranch_sansio::{TraceRecord, TraceValue};

/// RFC 7464 section 2.2: each text is preceded by this and followed by a line feed.
const RECORD_SEPARATOR: u8 = 0x1e;

/// Where our names of events are explained.
const SCHEMAS: [&str; 5] = [
    "urn:anabranch:qlog:events:sctp",
    "urn:anabranch:qlog:events:dccp",
    "urn:anabranch:qlog:events:media",
    "urn:anabranch:qlog:events:television",
    "urn:anabranch:qlog:events:link",
];

/// What machines did and why, as a file. `docs/trace.md` lists the records.
#[derive(Debug)]
pub struct QlogFile<W> {
    out: W,
}

impl<W: Write> QlogFile<W> {
    /// Begins a file. Its times count from `began`, which is as RFC 3339 has it; where time is
    /// virtual, from nowhere.
    ///
    /// # Errors
    /// The writer's.
    pub fn new(mut out: W, title: &str, began: Option<&str>) -> io::Result<Self> {
        write(&mut out, &Head { title, began })?;
        Ok(Self { out })
    }

    /// Writes a record of the machine with this label, which may be empty.
    ///
    /// # Errors
    /// The writer's.
    pub fn record(&mut self, label: &str, record: &TraceRecord) -> io::Result<()> {
        write(&mut self.out, &Event { label, record })
    }

    /// Hands all that was written to where it goes.
    ///
    /// # Errors
    /// The writer's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

struct Head<'a> {
    title: &'a str,
    began: Option<&'a str>,
}

impl fmt::Display for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",")?;
        f.write_str("\"serialization_format\":\"application/qlog+json-seq\",")?;
        write!(f, "\"title\":{},\"trace\":{{\"common_fields\":{{", Text(self.title))?;
        f.write_str("\"time_format\":\"relative_to_epoch\",\"reference_time\":{")?;
        f.write_str("\"clock_type\":\"monotonic\",\"epoch\":\"unknown\"")?;
        if let Some(began) = self.began {
            write!(f, ",\"wall_clock_time\":{}", Text(began))?;
        }
        f.write_str("}},\"vantage_point\":{\"type\":\"unknown\"},\"event_schemas\":[")?;
        for (nth, schema) in SCHEMAS.into_iter().enumerate() {
            write!(f, "{}{}", if nth > 0 { "," } else { "" }, Text(schema))?;
        }
        f.write_str("]}}")
    }
}

struct Event<'a> {
    label: &'a str,
    record: &'a TraceRecord,
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { label, record } = self;
        let time = Number(record.at.as_nanos() as f64 / 1e6);
        write!(f, "{{\"time\":{time},\"name\":{},", Text(record.name))?;
        match record.connection {
            Some(id) if label.is_empty() => write!(f, "\"group_id\":\"{id}\",")?,
            Some(id) => write!(f, "\"group_id\":{},", Text(&format!("{label} {id}")))?,
            None if label.is_empty() => {}
            None => write!(f, "\"group_id\":{},", Text(label))?,
        }
        f.write_str("\"data\":{")?;
        for (n, (name, value)) in record.fields.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            write!(f, "{comma}{}:", Text(name))?;
            match value {
                TraceValue::Count(count) => write!(f, "{count}"),
                TraceValue::Number(measure) => write!(f, "{}", Number(*measure)),
                TraceValue::Flag(flag) => write!(f, "{flag}"),
                TraceValue::Word(word) => write!(f, "{}", Text(word)),
                TraceValue::Text(text) => write!(f, "{}", Text(text)),
            }?;
        }
        f.write_str("}}")
    }
}

/// A string as JSON has it.
struct Text<'a>(&'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for part in self.0.split_inclusive(|c: char| c < ' ' || c == '"' || c == '\\') {
            match part.char_indices().next_back() {
                Some((end, c @ ('"' | '\\'))) => write!(f, "{}\\{c}", &part[..end])?,
                Some((end, c)) if c < ' ' => {
                    write!(f, "{}\\u{:04x}", &part[..end], u32::from(c))?;
                }
                _ => f.write_str(part)?,
            }
        }
        f.write_str("\"")
    }
}

/// A number as JSON has it: there is none for what is not finite.
struct Number(f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_finite() { write!(f, "{:?}", self.0) } else { f.write_str("null") }
    }
}

fn write(out: &mut impl Write, json: &impl fmt::Display) -> io::Result<()> {
    out.write_all(&[RECORD_SEPARATOR])?;
    writeln!(out, "{json}")
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::Time;

    use super::*;

    #[test]
    fn a_record_is_a_text_of_a_json_sequence_with_its_fields_in_order() {
        let record = TraceRecord {
            connection: Some(3),
            ..TraceRecord::new(Time::from_micros(1_500), "sctp:data_sent")
                .with("tsn", 7_u32)
                .with("retransmission", false)
                .with("srtt_ms", std::time::Duration::from_micros(20_250))
                .with("why", "lifetime")
                .with("remote", "[::1]:9 \"x\"".to_owned())
        };
        let mut file = QlogFile::new(Vec::new(), "a test", None).unwrap();
        let head = file.out.len();
        file.record("sender", &record).unwrap();
        let text = "\x1e{\"time\":1.5,\"name\":\"sctp:data_sent\",\"group_id\":\"sender 3\",\
                    \"data\":{\"tsn\":7,\"retransmission\":false,\"srtt_ms\":20.25,\
                    \"why\":\"lifetime\",\"remote\":\"[::1]:9 \\\"x\\\"\"}}\n";
        assert_eq!(String::from_utf8(file.out.split_off(head)).unwrap(), text);
    }

    #[test]
    fn whatever_a_record_says_is_json() {
        let odd = "\u{0}\t\n\r\u{1f}\" \\ / \u{7f} \u{2028} ä 🎬\\";
        for number in [0.0, -0.0, 1.5, 1e-9, 0.1 + 0.2, 1e16, 1e300, f64::MAX, f64::MIN_POSITIVE] {
            let read: f64 = serde_json::from_str(&Number(number).to_string()).unwrap();
            assert_eq!(read, number);
        }
        assert_eq!([f64::NAN, f64::INFINITY].map(|n| Number(n).to_string()), ["null", "null"]);
        for text in ["", "plain", odd, "\"", "\\\"x"] {
            let read: String = serde_json::from_str(&Text(text).to_string()).unwrap();
            assert_eq!(read, text);
        }
        let head = Head { title: odd, began: Some("2026-01-01T00:00:00Z") }.to_string();
        let head: serde_json::Value = serde_json::from_str(&head).unwrap();
        assert_eq!(head["title"], odd);
        let reference = &head["trace"]["common_fields"]["reference_time"];
        assert_eq!(reference["wall_clock_time"], "2026-01-01T00:00:00Z");
        assert_eq!(head["trace"]["event_schemas"], serde_json::json!(SCHEMAS));
    }
}
