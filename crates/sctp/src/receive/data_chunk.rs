//! [`DataChunk`]: what receiving needs of a DATA or an I-DATA chunk.

use anabranch_wire::{Data, FragmentPlace, Fsn, IData, Level, Mid, Ppid, StreamId, Tsn};

/// A DATA or I-DATA chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DataChunk<'a> {
    pub(crate) tsn: Tsn,
    pub(crate) stream: StreamId,
    /// Of a DATA chunk, its SSN.
    pub(crate) mid: Mid,
    /// The fragment's number within its message; in a DATA chunk the TSN counts.
    pub(crate) fsn: Option<Fsn>,
    /// Only that of the first fragment counts.
    pub(crate) ppid: Ppid,
    pub(crate) unordered: bool,
    pub(crate) beginning: bool,
    pub(crate) ending: bool,
    pub(crate) immediate: bool,
    /// Without meaning unless both ends announced that they mark levels.
    pub(crate) level: Level,
    pub(crate) payload: &'a [u8],
}

impl<'a> From<&Data<'a>> for DataChunk<'a> {
    fn from(data: &Data<'a>) -> Self {
        Self {
            tsn: data.tsn,
            stream: data.stream,
            mid: Mid(data.ssn.0.into()),
            fsn: None,
            ppid: data.ppid,
            unordered: data.unordered,
            beginning: data.beginning,
            ending: data.ending,
            immediate: data.immediate,
            level: data.level,
            payload: data.payload,
        }
    }
}

impl<'a> From<&IData<'a>> for DataChunk<'a> {
    fn from(data: &IData<'a>) -> Self {
        // RFC 8260 section 2.1: with the B bit "the FSN is implicitly considered to be 0."
        let (beginning, ppid, fsn) = match data.fragment {
            FragmentPlace::First(ppid) => (true, ppid, Fsn(0)),
            FragmentPlace::Later(fsn) => (false, Ppid(0), fsn),
        };
        Self {
            tsn: data.tsn,
            stream: data.stream,
            mid: data.mid,
            fsn: Some(fsn),
            ppid,
            unordered: data.unordered,
            beginning,
            ending: data.ending,
            immediate: data.immediate,
            level: data.level,
            payload: data.payload,
        }
    }
}
