//! [`Trace`]: sizes and errors of an encoded video.

use serde::Deserialize;
use thiserror::Error;

/// Slices of a picture, in each layer.
pub(super) const SLICES: usize = 4;
/// How far back the frames lie that are shown instead: the columns `fz1` to `fz25`.
const REPEAT_DISTANCES: [u32; 9] = [1, 2, 3, 4, 6, 8, 12, 16, 25];

const JSVM_720P25: &[u8] = include_bytes!("../../data/svc-720p25-intra.csv");

/// A video of two layers, frame by frame. Every frame can be decoded by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The frames, in the order they are shown in.
    pub frames: Vec<Frame>,
}

/// What an encoder made of one picture, and what is seen where something of it is missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Bytes of the base layer's slices.
    pub base: [u32; SLICES],
    /// Bytes of the enhancement layer's slices.
    pub enhancement: [u32; SLICES],
    /// Luma sum of squared errors with the base layer alone.
    pub base_error: f64,
    /// The same with both layers.
    pub full_error: f64,
    /// The same if nothing is shown but black.
    pub black_error: f64,
    /// The same if an earlier frame of the segment is shown: how many frames before this one, and
    /// the error. By distance; empty where a segment begins.
    pub repeat_errors: Vec<(u32, f64)>,
}

/// A table that is no trace.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// Not the table that it should be.
    #[error("not a trace of layered video: {0}")]
    Table(#[from] csv::Error),
    /// There is no frame in it.
    #[error("the trace has no frames: give at least one line below the header")]
    Empty,
    /// An error of zero, which no lossy encoder makes, has no PSNR.
    #[error("frame {frame} has a luma error of zero: every error is at least 1")]
    NoError {
        /// The frame's number.
        frame: usize,
    },
}

impl Trace {
    /// The trace that comes with this crate: 2116 frames of 1280x720 at 25 frames/s, base layer
    /// 6.79 Mbit/s, both layers 21.77 Mbit/s and 34.563 dB.
    ///
    /// # Panics
    /// Never: the tests read it.
    #[must_use]
    pub fn jsvm_720p25() -> Self {
        Self::from_csv(JSVM_720P25).expect("the committed table is a trace")
    }

    /// Reads a table of the form that `data/README.md` describes.
    ///
    /// # Errors
    /// Says which line or value is wrong.
    pub fn from_csv(bytes: &[u8]) -> Result<Self, TraceError> {
        let mut frames = Vec::new();
        for row in csv::Reader::from_reader(bytes).into_deserialize::<Row>() {
            let frame = Frame::from(&row?);
            let errors = [frame.base_error, frame.full_error, frame.black_error];
            if errors.iter().any(|error| *error < 1.0) {
                return Err(TraceError::NoError { frame: frames.len() });
            }
            frames.push(frame);
        }
        if frames.is_empty() {
            return Err(TraceError::Empty);
        }
        Ok(Self { frames })
    }
}

impl Frame {
    /// Bytes of both layers.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.base.iter().chain(&self.enhancement).sum()
    }

    /// Whether there is nothing to send of it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it begins a segment: nothing before it resembles it.
    #[must_use]
    pub fn begins_segment(&self) -> bool {
        self.repeat_errors.is_empty()
    }
}

/// A line of the table.
#[derive(Debug, Deserialize)]
struct Row {
    b0: u32,
    b1: u32,
    b2: u32,
    b3: u32,
    e0: u32,
    e1: u32,
    e2: u32,
    e3: u32,
    sseb0: u64,
    sseb1: u64,
    sseb2: u64,
    sseb3: u64,
    ssef0: u64,
    ssef1: u64,
    ssef2: u64,
    ssef3: u64,
    ssek0: u64,
    ssek1: u64,
    ssek2: u64,
    ssek3: u64,
    fz1: Option<u64>,
    fz2: Option<u64>,
    fz3: Option<u64>,
    fz4: Option<u64>,
    fz6: Option<u64>,
    fz8: Option<u64>,
    fz12: Option<u64>,
    fz16: Option<u64>,
    fz25: Option<u64>,
}

impl From<&Row> for Frame {
    fn from(row: &Row) -> Self {
        let sum = |errors: [u64; SLICES]| errors.iter().sum::<u64>() as f64;
        let repeats =
            [row.fz1, row.fz2, row.fz3, row.fz4, row.fz6, row.fz8, row.fz12, row.fz16, row.fz25];
        let repeats = REPEAT_DISTANCES.into_iter().zip(repeats);
        Self {
            base: [row.b0, row.b1, row.b2, row.b3],
            enhancement: [row.e0, row.e1, row.e2, row.e3],
            base_error: sum([row.sseb0, row.sseb1, row.sseb2, row.sseb3]),
            full_error: sum([row.ssef0, row.ssef1, row.ssef2, row.ssef3]),
            black_error: sum([row.ssek0, row.ssek1, row.ssek2, row.ssek3]),
            repeat_errors: repeats
                .filter_map(|(distance, error)| Some((distance, error? as f64)))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_trace_is_what_its_description_says() {
        let trace = Trace::jsvm_720p25();
        assert_eq!(trace.frames.len(), 2_116);
        let first = &trace.frames[0];
        assert_eq!((first.base[0], first.enhancement[3]), (15_408, 40_228));
        assert_eq!(trace.frames[3].repeat_errors[2], (3, 3_730_222_015.0));
        let begins: Vec<usize> =
            (0..2_116).filter(|frame| trace.frames[*frame].begins_segment()).collect();
        assert_eq!(begins, [0, 529, 1_058, 1_587]);
        let bytes: u64 = trace.frames.iter().map(|frame| u64::from(frame.len())).sum();
        let mbps = bytes as f64 * 8.0 / (2_116.0 / 25.0) / 1e6;
        assert!((mbps - 21.77).abs() < 0.01, "{mbps} Mbit/s");
    }

    #[test]
    fn what_is_no_trace_is_refused_in_words() {
        let header = "frame,b0\n";
        let error = Trace::from_csv(format!("{header}0,1\n").as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with("not a trace of layered video"), "{error}");
        assert!(matches!(Trace::from_csv(header.as_bytes()), Err(TraceError::Empty)));
        let text = String::from_utf8(JSVM_720P25.to_vec()).unwrap();
        let first_two: String = text.lines().take(2).flat_map(|line| [line, "\n"]).collect();
        let zeros = first_two.replace("10587289,11059006,9703107,10638201", "0,0,0,0");
        assert!(matches!(Trace::from_csv(zeros.as_bytes()), Err(TraceError::NoError { frame: 0 })));
    }
}
