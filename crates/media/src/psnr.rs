//! PSNR-Y of what was shown, from an exact table made with a clip.
//!
//! Every picture of a clip, decoded to every layer, was compared with every picture of its source,
//! so that any outcome of a run (full, base alone, any frozen picture, black) has its exact score
//! without a decoder. The score of a run is the mean of the PSNR of its pictures, one value for
//! each play time, as papers on layered video report it; it is not the PSNR of the mean error.
//!
//! # The format, version 1
//!
//! All numbers are big-endian; n is the number of pictures, l that of layers.
//!
//! | bytes | field |
//! |---|---|
//! | 7, 1 | magic `ANAPSNR`, version |
//! | 2, 2 | n, l |
//! | 4 × (l n + 1) × n | PSNR-Y in dB, IEEE 754 single precision: n rows |
//!
//! Row i is about picture i of the source. In its columns there is in its place: picture 0 to n − 1
//! of the base, then of each higher layer; last a black screen (Y = 16).

use crate::clip::Picture;

/// PSNR of a picture that equals its source. Its true value is infinite, which no mean survives.
pub const PSNR_MAX_DB: f64 = 100.0;

const MAGIC: &[u8] = b"ANAPSNR";
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 12;

/// The scores of a clip's pictures in place of each other.
#[derive(Debug, Clone, PartialEq)]
pub struct PsnrTable {
    frames: usize,
    layers: usize,
    /// A row for each picture of the source.
    values_db: Vec<f32>,
}

/// Why bytes are not a [`PsnrTable`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PsnrTableError {
    /// The bytes begin with something else.
    #[error("not a PSNR table: it does not begin with \"ANAPSNR\" and version {VERSION}")]
    WrongMagic,
    /// There is no picture or no layer.
    #[error(
        "a PSNR table needs at least one picture and one layer, this has {frames} and {layers}"
    )]
    Empty {
        /// Its number of pictures.
        frames: usize,
        /// Its number of layers.
        layers: usize,
    },
    /// The length does not follow from the numbers of pictures and layers.
    #[error(
        "a PSNR table of {frames} pictures and {layers} layers has {expected} bytes, this has {len}"
    )]
    Length {
        /// Its number of pictures.
        frames: usize,
        /// Its number of layers.
        layers: usize,
        /// The length that follows.
        expected: usize,
        /// The length that it has.
        len: usize,
    },
    /// A value is not a PSNR.
    #[error("value {index} of the PSNR table is {value}, it should be from 0 to {PSNR_MAX_DB} dB")]
    Value {
        /// Its place, from 0.
        index: usize,
        /// What it is.
        value: f32,
    },
}

impl PsnrTable {
    /// Reads a table.
    ///
    /// # Errors
    ///
    /// The first rule of the format that the bytes break.
    pub fn decode(bytes: &[u8]) -> Result<Self, PsnrTableError> {
        let Some((header, values)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(PsnrTableError::WrongMagic);
        };
        let [magic @ .., version, f1, f0, l1, l0] = header;
        if magic != MAGIC || *version != VERSION {
            return Err(PsnrTableError::WrongMagic);
        }
        let frames = usize::from(u16::from_be_bytes([*f1, *f0]));
        let layers = usize::from(u16::from_be_bytes([*l1, *l0]));
        if frames == 0 || layers == 0 {
            return Err(PsnrTableError::Empty { frames, layers });
        }
        let expected = HEADER_BYTES + 4 * frames * (layers * frames + 1);
        if bytes.len() != expected {
            return Err(PsnrTableError::Length { frames, layers, expected, len: bytes.len() });
        }
        let (values, _) = values.as_chunks::<4>();
        let values_db: Vec<_> = values.iter().map(|value| f32::from_be_bytes(*value)).collect();
        let range = 0.0..=PSNR_MAX_DB as f32;
        match values_db.iter().position(|value| !range.contains(value)) {
            Some(index) => Err(PsnrTableError::Value { index, value: values_db[index] }),
            None => Ok(Self { frames, layers, values_db }),
        }
    }

    /// How many pictures the clip has.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.frames as u64
    }

    /// How many layers each picture has.
    #[must_use]
    pub const fn layers(&self) -> usize {
        self.layers
    }

    /// PSNR-Y in dB when `shown` is on the screen in place of picture `frame`; none: the screen is
    /// black. Numbers go on counting from round to round of a looped clip. A layer above the
    /// highest there is counts as the highest.
    #[must_use]
    pub fn psnr(&self, frame: u64, shown: Option<Picture>) -> f64 {
        let columns = self.layers * self.frames + 1;
        let column = match shown {
            None => columns - 1,
            Some(picture) => {
                let layer = usize::from(picture.layer.0).min(self.layers - 1);
                layer * self.frames + self.in_round(picture.frame)
            }
        };
        // `decode` made sure that the table is whole: the place exists.
        let value = self.values_db.get(self.in_round(frame) * columns + column);
        value.map_or(0.0, |value| f64::from(*value))
    }

    fn in_round(&self, frame: u64) -> usize {
        (frame % self.frames()) as usize
    }
}

/// The mean over the pictures of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PsnrScore {
    frames: u64,
    sum_db: f64,
}

impl PsnrScore {
    /// Counts what was on the screen at the play time of picture `frame`.
    pub fn add(&mut self, table: &PsnrTable, frame: u64, shown: Option<Picture>) {
        self.frames += 1;
        self.sum_db += table.psnr(frame, shown);
    }

    /// The mean of the PSNR-Y of all pictures in dB; none before the first.
    #[must_use]
    pub fn mean_db(&self) -> Option<f64> {
        (self.frames > 0).then(|| self.sum_db / self.frames as f64)
    }

    /// How many pictures it is the mean of.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layer;

    /// Two pictures, two layers; value = 10 × row + column.
    fn bytes() -> Vec<u8> {
        let mut bytes = b"ANAPSNR\x01\x00\x02\x00\x02".to_vec();
        for row in 0..2_u8 {
            for column in 0..5_u8 {
                bytes.extend(f32::from(10 * row + column).to_be_bytes());
            }
        }
        bytes
    }

    fn picture(frame: u64, layer: u8) -> Option<Picture> {
        Some(Picture { frame, layer: Layer(layer) })
    }

    #[test]
    fn each_outcome_has_its_place() {
        let table = PsnrTable::decode(&bytes()).unwrap();
        assert_eq!(table.psnr(0, picture(0, 0)), 0.0);
        assert_eq!(table.psnr(1, picture(0, 0)), 10.0);
        assert_eq!(table.psnr(1, picture(1, 1)), 13.0);
        assert_eq!(table.psnr(1, picture(1, 7)), 13.0);
        assert_eq!(table.psnr(0, None), 4.0);
    }

    #[test]
    fn frames_wrap_over_the_loop() {
        let table = PsnrTable::decode(&bytes()).unwrap();
        assert_eq!(table.psnr(7, picture(6, 1)), table.psnr(1, picture(0, 1)));
    }

    #[test]
    fn score_is_the_mean_of_the_pictures() {
        let table = PsnrTable::decode(&bytes()).unwrap();
        let mut score = PsnrScore::default();
        assert_eq!(score.mean_db(), None);
        score.add(&table, 0, picture(0, 1));
        score.add(&table, 1, picture(1, 1));
        assert_eq!((score.mean_db(), score.frames()), (Some(7.5), 2));
    }

    #[test]
    fn every_broken_rule_has_its_error() {
        let good = bytes();
        assert_eq!(PsnrTable::decode(&good[..11]), Err(PsnrTableError::WrongMagic));
        let mut newer = good.clone();
        newer[7] = 2;
        assert_eq!(PsnrTable::decode(&newer), Err(PsnrTableError::WrongMagic));
        let mut empty = good.clone();
        empty[9] = 0;
        let error = PsnrTableError::Empty { frames: 0, layers: 2 };
        assert_eq!(PsnrTable::decode(&empty), Err(error));
        let short = PsnrTableError::Length { frames: 2, layers: 2, expected: 52, len: 51 };
        assert_eq!(PsnrTable::decode(&good[..51]), Err(short));
        let mut wrong = good;
        wrong[16..20].copy_from_slice(&(-1.0_f32).to_be_bytes());
        let error = PsnrTableError::Value { index: 1, value: -1.0 };
        assert_eq!(PsnrTable::decode(&wrong), Err(error));
    }
}
