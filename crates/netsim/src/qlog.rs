//! [`QlogFile`]: one JSON object for a file, and one for each record
//! (draft-ietf-quic-qlog-main-schema), as text sequences (RFC 7464).

use std::io::{self, Write};

use anabranch_sansio::{TraceRecord, TraceValue};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::json;

/// RFC 7464 section 2.2: each text is preceded by this and followed by a line feed.
const RECORD_SEPARATOR: u8 = 0x1e;

/// Where our names of events are explained.
const SCHEMAS: [&str; 3] = [
    "urn:anabranch:qlog:events:sctp",
    "urn:anabranch:qlog:events:media",
    "urn:anabranch:qlog:events:television",
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
        let mut reference_time = json!({ "clock_type": "monotonic", "epoch": "unknown" });
        if let Some(began) = began {
            reference_time["wall_clock_time"] = began.into();
        }
        let head = json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": title,
            "trace": {
                "common_fields": {
                    "time_format": "relative_to_epoch",
                    "reference_time": reference_time,
                },
                "vantage_point": { "type": "unknown" },
                "event_schemas": SCHEMAS,
            },
        });
        write(&mut out, &head)?;
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

struct Event<'a> {
    label: &'a str,
    record: &'a TraceRecord,
}

impl Serialize for Event<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { label, record } = self;
        let mut event = to.serialize_map(None)?;
        event.serialize_entry("time", &(record.at.as_nanos() as f64 / 1e6))?;
        event.serialize_entry("name", record.name)?;
        match record.connection {
            Some(id) if label.is_empty() => {
                event.serialize_entry("group_id", &format_args!("{id}"))?;
            }
            Some(id) => event.serialize_entry("group_id", &format_args!("{label} {id}"))?,
            None if label.is_empty() => {}
            None => event.serialize_entry("group_id", label)?,
        }
        event.serialize_entry("data", &Data(record))?;
        event.end()
    }
}

struct Data<'a>(&'a TraceRecord);

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut data = to.serialize_map(Some(self.0.fields.len()))?;
        for (name, value) in &self.0.fields {
            match value {
                TraceValue::Count(count) => data.serialize_entry(name, count)?,
                TraceValue::Number(measure) => data.serialize_entry(name, measure)?,
                TraceValue::Flag(flag) => data.serialize_entry(name, flag)?,
                TraceValue::Word(word) => data.serialize_entry(name, word)?,
                TraceValue::Text(text) => data.serialize_entry(name, text)?,
            }
        }
        data.end()
    }
}

fn write(out: &mut impl Write, json: &impl Serialize) -> io::Result<()> {
    out.write_all(&[RECORD_SEPARATOR])?;
    serde_json::to_writer(&mut *out, json)?;
    out.write_all(b"\n")
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
}
