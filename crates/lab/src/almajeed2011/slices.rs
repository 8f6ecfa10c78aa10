//! [`Video`]: a coded video slice by slice, and what a decoder is shown where slices are missing.

use std::ops::Range;
use std::time::Duration;

use anabranch_media::Class;

use crate::footage::Footage;

/// Macroblocks of a CIF picture, in a row and in all.
const MACROBLOCKS: u32 = 22 * 18;
/// Pictures in a group: Al-Majeed 2011, section 3.4.
const GROUP: usize = 15;
/// Pictures in a second.
const PICTURE_RATE: f64 = 30.0;
/// Bytes of the longest slice.
pub(super) const SLICE_MAX: usize = 888;

/// ISO/IEC 14496-10 table 7-1.
const NON_IDR: u8 = 1;
const IDR: u8 = 5;

/// The start code before each NAL unit of a byte stream (annex B).
const START_CODE: [u8; 4] = [0, 0, 0, 1];

/// `frame_num` has so many bits in the stream that comes with this crate.
const FRAME_NUM_BITS: u32 = 4;

/// A coded video in slices: H.264 Constrained Baseline, or a film of the user's.
#[derive(Debug)]
pub struct Video {
    /// Of a film, what stands for all its slices.
    stream: &'static [u8],
    /// Sequence and picture parameter set, which are known beforehand.
    parameter_sets: Vec<Range<usize>>,
    slices: Vec<Slice>,
    /// The slices of each picture.
    pictures: Vec<Range<usize>>,
    /// When each picture is shown, after the first one.
    shown: Vec<Duration>,
    /// The pictures that begin a group.
    groups: Vec<usize>,
    /// Of each picture, the luma sum of squared errors that coding it has cost.
    coding_errors: Vec<u32>,
}

#[derive(Debug, Clone)]
struct Slice {
    nal: Range<usize>,
    first_macroblock: u32,
    is_idr: bool,
    frame_num: u32,
}

impl Video {
    /// The one that comes with this crate: 1,065 pictures in CIF, a key picture every 15, QP 26,
    /// slices of at most 888 bytes.
    #[must_use]
    pub fn bunny() -> Self {
        let stream = include_bytes!("../../data/bunny-cif30-900.264");
        let errors = include_str!("../../data/bunny-cif30-900.csv");
        let coding_errors = errors.lines().skip(1).filter_map(|line| line.parse().ok()).collect();
        let mut video = Self {
            stream,
            parameter_sets: Vec::new(),
            slices: Vec::new(),
            pictures: Vec::new(),
            shown: Vec::new(),
            groups: Vec::new(),
            coding_errors,
        };
        for nal in nal_units(stream) {
            video.add(nal);
        }
        let pictures = 0..video.pictures.len();
        let shown = |picture| Duration::from_secs_f64(picture as f64 / PICTURE_RATE);
        video.shown = pictures.clone().map(shown).collect();
        video.groups = pictures.step_by(GROUP).collect();
        video
    }

    /// A film's pictures, each in slices as long as those of the one here, the last one excepted.
    /// No decoder knows what a lost one costs: it is not scored.
    pub(super) fn of_film(film: &Footage) -> Self {
        let mut video = Self {
            stream: &[0x5a; SLICE_MAX],
            parameter_sets: Vec::new(),
            slices: Vec::new(),
            pictures: Vec::new(),
            shown: Vec::new(),
            groups: Vec::new(),
            coding_errors: Vec::new(),
        };
        for picture in film.pictures() {
            let is_key = picture.class == Class::KeyFrame;
            if is_key || video.pictures.is_empty() {
                video.groups.push(video.pictures.len());
            }
            let first = video.slices.len();
            let lens = (0..picture.bytes).step_by(SLICE_MAX);
            let slice = |begin: usize| Slice {
                nal: 0..(picture.bytes - begin).min(SLICE_MAX),
                first_macroblock: 0,
                is_idr: is_key,
                frame_num: 0,
            };
            video.slices.extend(lens.map(slice));
            video.pictures.push(first..video.slices.len());
            video.shown.push(picture.shown.unwrap_or_default());
        }
        video
    }

    fn add(&mut self, nal: Range<usize>) {
        let bytes = &self.stream[nal.clone()];
        let Some(kind @ (NON_IDR | IDR)) = bytes.first().map(|byte| byte & 0x1f) else {
            return self.parameter_sets.push(nal);
        };
        let mut bits = Bits { bytes, at: 8 };
        let first_macroblock = bits.golomb();
        let _slice_type = bits.golomb();
        let _parameter_set = bits.golomb();
        let frame_num = bits.take(FRAME_NUM_BITS);
        let number = self.slices.len();
        if first_macroblock == 0 {
            self.pictures.push(number..number);
        }
        if let Some(picture) = self.pictures.last_mut() {
            picture.end = number + 1;
        }
        self.slices.push(Slice { nal, first_macroblock, is_idr: kind == IDR, frame_num });
    }

    /// How many slices it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slices.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slices.is_empty()
    }

    /// The bytes of all slices.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.slices.iter().map(|slice| slice.nal.len()).sum()
    }

    /// Only its first pictures.
    pub(super) fn truncate(&mut self, pictures: usize) {
        self.pictures.truncate(pictures);
        self.shown.truncate(pictures);
        self.groups.retain(|first| *first < pictures);
        self.slices.truncate(self.pictures.last().map_or(0, |slices| slices.end));
    }

    /// A slice as a NAL unit.
    pub(super) fn slice(&self, number: usize) -> &'static [u8] {
        &self.stream[self.slices[number].nal.clone()]
    }

    /// All slices, each with the number of its group.
    pub(super) fn in_groups(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        let groups = (0..).zip(self.groups());
        groups.flat_map(|(group, (_, slices))| slices.map(move |number| (group, number)))
    }

    /// Of each group when its first picture is shown, after the first of all, and its slices.
    pub(super) fn groups(&self) -> impl Iterator<Item = (Duration, Range<usize>)> + '_ {
        let ends = self.groups.iter().skip(1).copied().chain([self.pictures.len()]);
        self.groups.iter().zip(ends).map(|(first, end)| {
            (self.shown[*first], self.pictures[*first].start..self.pictures[end - 1].end)
        })
    }

    /// When a picture is shown, after the first one.
    pub(super) fn shown(&self, picture: usize) -> Duration {
        self.shown.get(picture).copied().unwrap_or_default()
    }

    /// The slices of each picture.
    pub(super) fn pictures(&self) -> &[Range<usize>] {
        &self.pictures
    }

    pub(super) fn coding_error(&self, picture: usize) -> u32 {
        self.coding_errors.get(picture).copied().unwrap_or_default()
    }

    /// A picture as a decoder gets it. What is missing of it is as in the picture before, and grey
    /// in the very first.
    pub(super) fn picture(&self, picture: usize, arrived: impl Fn(usize) -> bool) -> Vec<u8> {
        let mut stream = Vec::new();
        let mut add = |nal: &[u8]| {
            stream.extend(START_CODE);
            stream.extend_from_slice(nal);
        };
        let slices = self.pictures[picture].clone();
        if self.slices[slices.start].is_idr {
            self.parameter_sets.iter().for_each(|nal| add(&self.stream[nal.clone()]));
        }
        let mut missing = None;
        for number in slices.clone() {
            let slice = &self.slices[number];
            if !arrived(number) {
                missing = missing.or(Some(slice));
                continue;
            }
            if let Some(first) = missing.take() {
                add(&first.replacement(slice.first_macroblock));
            }
            add(self.slice(number));
        }
        if let Some(first) = missing {
            add(&first.replacement(MACROBLOCKS));
        }
        stream
    }
}

impl Slice {
    /// A slice that stands for this one and those that follow up to a macroblock: all of them
    /// skipped, which repeats the picture before (ISO/IEC 14496-10 section 8.4.1.1: their motion
    /// vectors are zero), or grey where there is none.
    fn replacement(&self, end: u32) -> Vec<u8> {
        let macroblocks = end - self.first_macroblock;
        let mut bits = BitWriter::default();
        // nal_ref_idc 3 or 2, as the encoder has it.
        bits.put(if self.is_idr { 0x65 } else { 0x41 }, 8);
        bits.put_golomb(self.first_macroblock);
        // slice_type: I or P; pic_parameter_set_id.
        bits.put_golomb(if self.is_idr { 2 } else { 0 });
        bits.put_golomb(0);
        bits.put(self.frame_num, FRAME_NUM_BITS);
        if self.is_idr {
            // idr_pic_id; no_output_of_prior_pics_flag and long_term_reference_flag.
            bits.put_golomb(0);
            bits.put(0, 2);
        } else {
            // No overriding of the number of references, no modification of their list, and no
            // marking but the usual.
            bits.put(0, 3);
        }
        // slice_qp_delta; no deblocking.
        bits.put_golomb(0);
        bits.put_golomb(1);
        if self.is_idr {
            for _ in 0..macroblocks {
                // Intra_16x16 with DC prediction and nothing coded: mb_type,
                // intra_chroma_pred_mode, mb_qp_delta, coeff_token.
                bits.put_golomb(3);
                bits.put(0b111, 3);
            }
        } else {
            bits.put_golomb(macroblocks);
        }
        bits.finish()
    }
}

/// The NAL units of a byte stream, without start codes and zeros behind them.
fn nal_units(stream: &[u8]) -> Vec<Range<usize>> {
    let starts: Vec<usize> =
        (3..stream.len()).filter(|at| stream[at - 3..*at] == START_CODE[1..]).collect();
    let ends = starts.iter().skip(1).map(|start| start - 3).chain([stream.len()]);
    let without_zeros = |(start, end): (&usize, usize)| {
        let zeros = stream[*start..end].iter().rev().take_while(|byte| **byte == 0).count();
        *start..end - zeros
    };
    starts.iter().zip(ends).map(without_zeros).collect()
}

/// Reads the header of a slice, which is too short for emulation prevention (section 7.4.1.1).
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn take(&mut self, count: u32) -> u32 {
        (0..count).fold(0, |value, _| {
            let byte = self.bytes.get(self.at / 8).copied().unwrap_or_default();
            let bit = byte >> (7 - self.at % 8) & 1;
            self.at += 1;
            value << 1 | u32::from(bit)
        })
    }

    /// ue(v) of section 9.1.
    fn golomb(&mut self) -> u32 {
        let zeros = (0..16).take_while(|_| self.take(1) == 0).count() as u32;
        (1 << zeros) - 1 + self.take(zeros)
    }
}

#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    /// Bits of the last byte that are used.
    used: u32,
}

impl BitWriter {
    fn put(&mut self, value: u32, count: u32) {
        for place in (0..count).rev() {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
                self.used = 0;
            }
            if let Some(byte) = self.bytes.last_mut() {
                *byte |= ((value >> place & 1) as u8) << (7 - self.used);
            }
            self.used += 1;
        }
    }

    fn put_golomb(&mut self, value: u32) {
        let bits = (value + 1).ilog2();
        self.put(0, bits);
        self.put(value + 1, bits + 1);
    }

    /// With rbsp_trailing_bits.
    fn finish(mut self) -> Vec<u8> {
        self.put(1, 1);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footage::testing as footage;

    #[test]
    fn the_video_is_what_the_paper_sends() {
        let video = Video::bunny();
        assert_eq!((video.pictures().len(), video.len()), (1_065, 3_853));
        assert_eq!(video.coding_errors.len(), 1_065);
        let longest = (0..video.len()).map(|number| video.slice(number).len()).max();
        assert_eq!((longest, video.bytes()), (Some(888), 2_900_216));
        assert_eq!(video.parameter_sets.len(), 2);
    }

    #[test]
    fn a_films_pictures_are_cut_into_slices_of_the_same_length() {
        let film = Footage::read(footage::FILM).unwrap();
        let video = Video::of_film(&film);
        assert_eq!(video.pictures().len(), 75);
        let bytes: usize = film.pictures().map(|picture| picture.bytes).sum();
        assert_eq!(video.bytes(), bytes);
        assert_eq!((0..video.len()).map(|number| video.slice(number).len()).max(), Some(SLICE_MAX));
        let keys = film.pictures().filter(|picture| picture.class == Class::KeyFrame).count();
        assert_eq!(video.groups().count(), keys);
        let in_groups: Vec<_> = video.in_groups().map(|(_, number)| number).collect();
        assert_eq!(in_groups, (0..video.len()).collect::<Vec<_>>());
    }

    #[test]
    fn slices_follow_each_other_without_a_gap() {
        let video = Video::bunny();
        for slices in video.pictures() {
            let firsts: Vec<_> =
                video.slices[slices.clone()].iter().map(|slice| slice.first_macroblock).collect();
            assert_eq!(firsts.first(), Some(&0));
            assert!(firsts.is_sorted_by(|a, b| a < b), "{firsts:?}");
            assert!(firsts.last().is_some_and(|last| *last < MACROBLOCKS));
        }
    }

    #[test]
    fn a_replacement_reads_as_the_slice_that_it_stands_for() {
        let video = Video::bunny();
        for slice in &video.slices {
            let bytes = slice.replacement(MACROBLOCKS);
            let mut bits = Bits { bytes: &bytes, at: 8 };
            assert_eq!(bits.golomb(), slice.first_macroblock);
            assert_eq!(bits.golomb(), if slice.is_idr { 2 } else { 0 });
            assert_eq!((bits.golomb(), bits.take(FRAME_NUM_BITS)), (0, slice.frame_num));
            assert!(!bytes.windows(2).any(|pair| pair == [0, 0]), "emulation prevention");
        }
    }
}
