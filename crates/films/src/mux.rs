//! [`Muxer`]: units with their times in, a transport stream out.

use std::io;

use mpeg2ts::Result;
use mpeg2ts::es::{StreamId, StreamType};
use mpeg2ts::pes::PesHeader;
use mpeg2ts::time::{ClockReference, Timestamp};
use mpeg2ts::ts::payload::{Bytes, Pat, Pes, Pmt};
use mpeg2ts::ts::{
    AdaptationField, ContinuityCounter, Descriptor, EsInfo, Pid, ProgramAssociation,
    TransportScramblingControl, TsHeader, TsPacket, TsPacketWriter, TsPayload, VersionNumber,
    WriteTsPacket as _,
};

/// Ticks of a second of presentation times (ISO/IEC 13818-1 section 2.4.3.7).
pub(super) const CLOCK_HZ: i64 = 90_000;

/// Ticks of the program clock in one of those.
const PCR_TICKS: u64 = 300;

/// Times are counted modulo that.
const WRAP: i64 = 1 << 33;

/// How long before it is decoded a unit begins to arrive.
const LEAD: i64 = CLOCK_HZ / 5;

/// ISO/IEC 13818-1 section 2.7.2 wants the program clock at least every 0.1 s.
const CLOCK_INTERVAL: i64 = CLOCK_HZ * 9 / 100;

/// How often it is said what the stream consists of.
const TABLES_INTERVAL: i64 = CLOCK_HZ / 10;

/// Nothing in a sound file is decoded so much later than what is in front of it.
const PAUSE_MAX: i64 = CLOCK_HZ * 3_600;

/// No film begins or ends so far from its beginning: a century.
pub(super) const TIME_MAX: i64 = CLOCK_HZ * 3_600 * 24 * 365 * 100;

const PROGRAM: u16 = 1;
const PMT_PID: u16 = 0x1000;
const FIRST_PID: u16 = 0x100;

/// Bytes of a packet behind its header.
const ROOM: usize = TsPacket::SIZE - 4;

/// Bytes of an adaptation field with a program clock.
const CLOCK_LEN: usize = 8;

/// Bytes of a PES header without times, and of each time.
const PES_LEN: usize = 9;
const STAMP_LEN: usize = 5;

/// What a track is in the stream.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    pub(super) stream_type: StreamType,
    pub(super) is_video: bool,
    /// What the stream's map says of it beside its type, as tags with their data.
    pub(super) descriptors: Vec<(u8, Vec<u8>)>,
}

impl Stream {
    /// ISO/IEC 13818-1 table 2-22: what has no number of its own is private stream 1.
    fn id(&self) -> StreamId {
        StreamId::new(if self.stream_type == StreamType::Mpeg2PacketizedData {
            StreamId::PRIVATE_STREAM_1
        } else if self.is_video {
            StreamId::VIDEO_MIN
        } else {
            StreamId::AUDIO_MIN
        })
    }
}

/// A picture, or a frame of sound, with its times in ticks since the beginning.
#[derive(Debug)]
pub(super) struct Unit<'a> {
    /// The number of its stream.
    pub(super) stream: usize,
    /// When it is shown.
    pub(super) pts: i64,
    /// When it is decoded.
    pub(super) dts: i64,
    /// Whether decoding can begin with it.
    pub(super) is_key: bool,
    pub(super) bytes: &'a [u8],
}

/// Writes a transport stream of one program, whose first stream carries the program's clock.
#[derive(Debug)]
pub(super) struct Muxer {
    streams: Vec<Stream>,
    /// Of the streams, then of the two tables.
    counters: Vec<ContinuityCounter>,
    /// When the tables were written last.
    tables_at: Option<i64>,
    /// When the clock was written last.
    clock_at: Option<i64>,
    made: Vec<u8>,
    /// How much of that was taken.
    taken: usize,
}

impl Muxer {
    pub(super) fn new(streams: &[Stream]) -> Self {
        Self {
            streams: streams.to_vec(),
            counters: vec![ContinuityCounter::new(); streams.len() + 2],
            tables_at: None,
            clock_at: None,
            made: Vec::new(),
            taken: 0,
        }
    }

    /// Times begin from nothing.
    pub(super) fn begin_again(&mut self) {
        (self.tables_at, self.clock_at) = (None, None);
        self.made.clear();
        self.taken = 0;
    }

    /// Whether all that was made is taken.
    pub(super) fn is_empty(&self) -> bool {
        self.taken == self.made.len()
    }

    /// Takes of the packets that were made as much as there is room for.
    pub(super) fn take(&mut self, buf: &mut [u8]) -> usize {
        let rest = self.made.get(self.taken..).unwrap_or_default();
        let len = rest.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..len), rest.get(..len)) {
            to.copy_from_slice(from);
        }
        self.taken += len;
        len
    }

    /// Makes packets of a unit; units come in the order of their decoding.
    pub(super) fn push(&mut self, unit: &Unit<'_>) -> io::Result<()> {
        if self.is_empty() {
            self.made.clear();
            self.taken = 0;
        }
        if unit.dts.unsigned_abs().max(unit.pts.unsigned_abs()) > TIME_MAX.unsigned_abs() {
            return Err(io::Error::other("its times are beyond all bounds: it is damaged"));
        }
        if self.clock_at.is_some_and(|at| unit.dts - at > PAUSE_MAX) {
            return Err(io::Error::other("it stands still for more than an hour: it is damaged"));
        }
        self.write_all(unit).map_err(io::Error::other)
    }

    fn write_all(&mut self, unit: &Unit<'_>) -> Result<()> {
        self.write_clocks_until(unit.dts)?;
        let begins = unit.is_key && self.streams.get(unit.stream).is_some_and(|it| it.is_video);
        if begins || self.tables_at.is_none_or(|at| unit.dts - at >= TABLES_INTERVAL) {
            self.tables_at = Some(unit.dts);
            self.write_tables()?;
        }
        self.write_unit(unit)
    }

    /// Pictures may come more seldom than the clock must.
    fn write_clocks_until(&mut self, dts: i64) -> Result<()> {
        while let Some(at) = self.clock_at.map(|at| at + CLOCK_INTERVAL).filter(|at| *at < dts) {
            let field = AdaptationField { pcr: Some(clock(at)?), ..no_field() };
            self.write(0, FIRST_PID, Some(field), None)?;
            self.clock_at = Some(at);
        }
        Ok(())
    }

    fn write_tables(&mut self) -> Result<()> {
        let pat = Pat {
            transport_stream_id: 1,
            version_number: VersionNumber::new(),
            table: vec![ProgramAssociation {
                program_num: PROGRAM,
                program_map_pid: Pid::new(PMT_PID)?,
            }],
        };
        let descriptor = |(tag, data): &(u8, Vec<u8>)| Descriptor { tag: *tag, data: data.clone() };
        let stream = |(nth, stream): (usize, &Stream)| {
            Ok(EsInfo {
                stream_type: stream.stream_type,
                elementary_pid: Pid::new(FIRST_PID + nth as u16)?,
                descriptors: stream.descriptors.iter().map(descriptor).collect(),
            })
        };
        let pmt = Pmt {
            program_num: PROGRAM,
            pcr_pid: Some(Pid::new(FIRST_PID)?),
            version_number: VersionNumber::new(),
            program_info: Vec::new(),
            es_info: self.streams.iter().enumerate().map(stream).collect::<Result<_>>()?,
        };
        let count = self.streams.len();
        self.write(count, Pid::PAT, None, Some(TsPayload::Pat(pat)))?;
        self.write(count + 1, PMT_PID, None, Some(TsPayload::Pmt(pmt)))
    }

    fn write_unit(&mut self, unit: &Unit<'_>) -> Result<()> {
        let Some(stream) = self.streams.get(unit.stream) else { return Ok(()) };
        let (is_video, stream_id) = (stream.is_video, stream.id());
        let carries_clock = unit.stream == 0;
        if carries_clock {
            self.clock_at = Some(unit.dts);
        }
        let field = (carries_clock || unit.is_key).then_some(AdaptationField {
            pcr: if carries_clock { Some(clock(unit.dts)?) } else { None },
            random_access_indicator: unit.is_key,
            ..no_field()
        });
        let dts = (unit.dts != unit.pts).then(|| stamp(unit.dts)).transpose()?;
        let header_len = PES_LEN + STAMP_LEN + if dts.is_some() { STAMP_LEN } else { 0 };
        let field_len = match &field {
            Some(field) if field.pcr.is_some() => CLOCK_LEN,
            Some(_) => 2,
            None => 0,
        };
        let header = PesHeader {
            stream_id,
            priority: false,
            data_alignment_indicator: true,
            copyright: false,
            original_or_copy: false,
            pts: Some(stamp(unit.pts)?),
            dts,
            escr: None,
        };
        // Of pictures the length may be left out, which fits in 16 bits of sound only.
        let pes_packet_len = if is_video {
            0
        } else {
            u16::try_from(header_len - 6 + unit.bytes.len()).unwrap_or(0)
        };
        let room = ROOM - field_len - header_len;
        let (first, rest) = unit.bytes.split_at(room.min(unit.bytes.len()));
        let data = Bytes::new(first)?;
        let pes = TsPayload::PesStart(Pes { header, pes_packet_len, data });
        let pid = FIRST_PID + unit.stream as u16;
        self.write(unit.stream, pid, field, Some(pes))?;
        for part in rest.chunks(ROOM) {
            let payload = TsPayload::PesContinuation(Bytes::new(part)?);
            self.write(unit.stream, pid, None, Some(payload))?;
        }
        Ok(())
    }

    fn write(
        &mut self,
        counter: usize,
        pid: u16,
        adaptation_field: Option<AdaptationField>,
        payload: Option<TsPayload>,
    ) -> Result<()> {
        let Some(counter) = self.counters.get_mut(counter) else { return Ok(()) };
        // ISO/IEC 13818-1 section 2.4.3.3: the counter counts packets with a payload.
        if payload.is_some() {
            counter.increment();
        }
        let header = TsHeader {
            transport_error_indicator: false,
            transport_priority: false,
            pid: Pid::new(pid)?,
            transport_scrambling_control: TransportScramblingControl::NotScrambled,
            continuity_counter: *counter,
        };
        let packet = TsPacket { header, adaptation_field, payload };
        TsPacketWriter::new(&mut self.made).write_ts_packet(&packet)
    }
}

const fn no_field() -> AdaptationField {
    AdaptationField {
        discontinuity_indicator: false,
        random_access_indicator: false,
        es_priority_indicator: false,
        pcr: None,
        opcr: None,
        splice_countdown: None,
        transport_private_data: Vec::new(),
        extension: None,
    }
}

fn clock(time: i64) -> Result<ClockReference> {
    ClockReference::new(time.rem_euclid(WRAP).unsigned_abs() * PCR_TICKS)
}

fn stamp(time: i64) -> Result<Timestamp> {
    Timestamp::new((time + LEAD).rem_euclid(WRAP).unsigned_abs())
}
