//! [`Packing`]: how coded pictures and frames of sound stand in a transport stream.

use mp4_atom::{Av1c, Avcc, Hvcc};
use mpeg2ts::es::StreamType;
use thiserror::Error;

use super::mux::Stream;

const START_CODE: [u8; 4] = [0, 0, 0, 1];

/// Bytes of a header of ADTS (ISO/IEC 14496-3 section 1.A.2.2) without a checksum.
const ADTS_LEN: usize = 7;

/// AV1 specification, section 6.2.2: types of OBUs.
const SEQUENCE_HEADER: u8 = 1;
const TEMPORAL_DELIMITER: u8 = 2;

/// ISO/IEC 13818-1 section 2.6.8.
const REGISTRATION: u8 = 0x05;

/// The film contradicts itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("it is damaged: {0}")]
pub(super) struct Damaged(pub(super) &'static str);

/// How samples become units of a transport stream.
#[derive(Debug)]
pub(super) enum Packing {
    /// Units with their lengths become units behind start codes.
    Nal { coding: Coding, length_size: usize, sets: Vec<Vec<u8>> },
    /// AAC gets a header in front of each frame.
    Adts { profile: u8, frequency: u8, channels: u8 },
    /// OBUs stand behind start codes, escaped (AOM, Carriage of AV1 in MPEG-2 TS, section 3.2).
    Obus { config: Vec<u8> },
    /// Opus has its length in front (ETSI TS 103 491).
    Opus,
    /// They are what they are.
    None,
}

/// A track's place in the stream, and how it gets there.
pub(super) type Packed = (Stream, Packing);

#[derive(Debug, Clone, Copy)]
pub(super) enum Coding {
    H264,
    H265,
}

impl Coding {
    /// What a transport stream has in front of each picture (ISO/IEC 13818-1 sections 2.14.1 and
    /// 2.17.1); any kind of slices may follow.
    const fn delimiter(self) -> &'static [u8] {
        match self {
            Self::H264 => &[9, 0xf0],
            Self::H265 => &[0x46, 1, 0x50],
        }
    }

    /// Rec. ITU-T H.264 table 7-1 and H.265 table 7-1.
    const fn kind(self, first: u8) -> u8 {
        match self {
            Self::H264 => first & 0x1f,
            Self::H265 => first >> 1 & 0x3f,
        }
    }

    fn is_delimiter(self, nal: &[u8]) -> bool {
        let delimiter = if matches!(self, Self::H264) { 9 } else { 35 };
        nal.first().is_some_and(|first| self.kind(*first) == delimiter)
    }

    /// Whether decoding can begin with the picture that it is of.
    fn is_key(self, nal: &[u8]) -> bool {
        nal.first().is_some_and(|first| match self {
            Self::H264 => self.kind(*first) == 5,
            Self::H265 => (16..=21).contains(&self.kind(*first)),
        })
    }
}

impl Packing {
    /// Makes a unit of a sample.
    pub(super) fn pack(
        &self,
        sample: &[u8],
        is_sync: bool,
        unit: &mut Vec<u8>,
    ) -> Result<(), Damaged> {
        match self {
            Self::Nal { coding, length_size, sets } => {
                push_nal(unit, coding.delimiter());
                if is_sync {
                    sets.iter().for_each(|set| push_nal(unit, set));
                }
                for_each_nal(sample, *length_size, |nal| {
                    if !coding.is_delimiter(nal) {
                        push_nal(unit, nal);
                    }
                })
            }
            Self::Adts { profile, frequency, channels } => {
                unit.extend(adts(*profile, *frequency, *channels, sample.len())?);
                unit.extend_from_slice(sample);
                Ok(())
            }
            Self::Obus { config } => {
                if is_sync && !has_sequence_header(sample) {
                    for_each_obu(config, |_, obu| push_obu(unit, obu))?;
                }
                for_each_obu(sample, |kind, obu| {
                    if kind != TEMPORAL_DELIMITER {
                        push_obu(unit, obu);
                    }
                })
            }
            Self::Opus => {
                // No trimming, and the length in bytes of 255 with the rest behind them.
                unit.extend([0x7f, 0xe0]);
                unit.resize(unit.len() + sample.len() / 255, 0xff);
                unit.push((sample.len() % 255) as u8);
                unit.extend_from_slice(sample);
                Ok(())
            }
            Self::None => {
                unit.extend_from_slice(sample);
                Ok(())
            }
        }
    }

    /// Whether decoding can begin with a sample, as it looks.
    pub(super) fn is_key(&self, sample: &[u8]) -> bool {
        match self {
            Self::Nal { coding, length_size, .. } => {
                let mut is_key = false;
                let read = for_each_nal(sample, *length_size, |nal| is_key |= coding.is_key(nal));
                is_key && read.is_ok()
            }
            Self::Obus { .. } => has_sequence_header(sample),
            Self::Adts { .. } | Self::Opus | Self::None => true,
        }
    }
}

pub(super) fn h264(avcc: &Avcc) -> Packed {
    let sets = avcc.sequence_parameter_sets.iter().chain(&avcc.picture_parameter_sets);
    let packing = Packing::Nal {
        coding: Coding::H264,
        length_size: usize::from(avcc.length_size),
        sets: sets.cloned().collect(),
    };
    (video(StreamType::H264), packing)
}

pub(super) fn h265(hvcc: &Hvcc) -> Packed {
    let packing = Packing::Nal {
        coding: Coding::H265,
        length_size: usize::from(hvcc.length_size_minus_one) + 1,
        sets: hvcc.arrays.iter().flat_map(|array| array.nalus.clone()).collect(),
    };
    (video(StreamType::H265), packing)
}

/// AOM, Carriage of AV1 in MPEG-2 TS, section 2: registered as `AV01`, with the first bytes of its
/// configuration record in a descriptor of its own.
pub(super) fn av1(av1c: &Av1c) -> Packed {
    const TWELVE_BIT: u8 = 0x20;
    let flags = [
        (av1c.seq_tier_0, 0x80),
        (av1c.high_bitdepth, 0x40),
        (av1c.twelve_bit, TWELVE_BIT),
        (av1c.monochrome, 0x10),
        (av1c.chroma_subsampling_x, 0x08),
        (av1c.chroma_subsampling_y, 0x04),
    ];
    let set = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag);
    let format = set.fold(av1c.chroma_sample_position & 3, |bits, flag| bits | flag);
    // Whether high dynamic range is used is not said: 3.
    let record = vec![0x81, av1c.seq_profile << 5 | av1c.seq_level_idx_0 & 0x1f, format, 0xc0];
    let stream = Stream {
        descriptors: vec![(REGISTRATION, b"AV01".to_vec()), (0x80, record)],
        ..video(StreamType::Mpeg2PacketizedData)
    };
    (stream, Packing::Obus { config: av1c.config_obus.clone() })
}

/// ETSI TS 103 491 section 4: registered as `Opus`, with its channels in an extension descriptor.
pub(super) fn opus(channels: u64) -> Result<Packed, String> {
    let Ok(channels @ 1..=2) = u8::try_from(channels) else {
        return Err(format!(
            "its Opus has {channels} channels, which are not carried: convert it with ffmpeg -i \
             FILE -c:v copy -c:a libopus -ac 2 FILE.ts"
        ));
    };
    let stream = Stream {
        descriptors: vec![(REGISTRATION, b"Opus".to_vec()), (0x7f, vec![0x80, channels])],
        ..sound(StreamType::Mpeg2PacketizedData)
    };
    Ok((stream, Packing::Opus))
}

/// What ADTS can say of AAC: its profile in two bits, its rate by a number, its channels likewise.
pub(super) fn aac(object_type: u8, frequency: u8, channels: u8) -> Result<Packed, String> {
    let profile = match object_type {
        1..=4 => object_type - 1,
        // With spectral band replication or parametric stereo the core is AAC LC.
        5 | 29 => 1,
        _ => return Err(unusual_sound()),
    };
    if frequency > 12 || !(1..=7).contains(&channels) {
        return Err(unusual_sound());
    }
    Ok((sound(StreamType::AdtsAac), Packing::Adts { profile, frequency, channels }))
}

/// A picture that stands in the stream as it is.
pub(super) const fn video(stream_type: StreamType) -> Stream {
    Stream { stream_type, is_video: true, descriptors: Vec::new() }
}

/// Sound that stands in the stream as it is.
pub(super) const fn sound(stream_type: StreamType) -> Stream {
    Stream { stream_type, is_video: false, descriptors: Vec::new() }
}

pub(super) fn unusual_sound() -> String {
    "its sound is of an unusual kind: convert it with ffmpeg -i FILE -c:v copy -c:a aac FILE.ts"
        .to_owned()
}

/// No transport stream has VP9 and its like.
pub(super) fn not_carried(what: &str) -> String {
    format!(
        "it holds {what}, which no transport stream carries: make it one with ffmpeg -i FILE \
         -c:v libx264 -c:a aac FILE.ts"
    )
}

fn push_nal(unit: &mut Vec<u8>, nal: &[u8]) {
    unit.extend(START_CODE);
    unit.extend_from_slice(nal);
}

/// ISO/IEC 14496-15 section 5.2.3: each unit stands behind its length.
fn for_each_nal(
    sample: &[u8],
    length_size: usize,
    mut tell: impl FnMut(&[u8]),
) -> Result<(), Damaged> {
    let cut = Damaged("a picture is cut short");
    let mut rest = sample;
    while !rest.is_empty() {
        let (length, behind) = rest.split_at_checked(length_size).ok_or(cut)?;
        let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let (nal, behind) = behind.split_at_checked(length).ok_or(cut)?;
        tell(nal);
        rest = behind;
    }
    Ok(())
}

/// AOM, Carriage of AV1 in MPEG-2 TS, section 3.2: a start code, and no three bytes 0x000000 to
/// 0x000003 but with a 0x03 in between.
fn push_obu(unit: &mut Vec<u8>, obu: &[u8]) {
    unit.extend([0, 0, 1]);
    let mut zeros = 0;
    for &byte in obu {
        if zeros >= 2 && byte <= 3 {
            unit.push(3);
            zeros = 0;
        }
        unit.push(byte);
        zeros = if byte == 0 { zeros + 1 } else { 0 };
    }
}

fn has_sequence_header(sample: &[u8]) -> bool {
    let mut has_one = false;
    let read = for_each_obu(sample, |kind, _| has_one |= kind == SEQUENCE_HEADER);
    has_one && read.is_ok()
}

/// AV1 specification, section 5.3: each OBU has its length; the last may go without.
fn for_each_obu(sample: &[u8], mut tell: impl FnMut(u8, &[u8])) -> Result<(), Damaged> {
    const LENGTH_BYTES_MAX: usize = 8;
    let cut = Damaged("a picture is cut short");
    let mut rest = sample;
    while let Some(&first) = rest.first() {
        let header = if first & 4 == 0 { 1 } else { 2 };
        let mut len = rest.len();
        if first & 2 != 0 {
            let bytes = rest.get(header..).ok_or(cut)?;
            let count = 1 + bytes.iter().take_while(|byte| **byte & 0x80 != 0).count();
            let bytes = bytes.get(..count.min(LENGTH_BYTES_MAX)).ok_or(cut)?;
            let size = bytes.iter().rev().fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f));
            let size = usize::try_from(size).map_err(|_| cut)?;
            len = (header + bytes.len()).checked_add(size).ok_or(cut)?;
        }
        let (obu, behind) = rest.split_at_checked(len).ok_or(cut)?;
        tell(first >> 3 & 15, obu);
        rest = behind;
    }
    Ok(())
}

/// ISO/IEC 14496-3 section 1.A.2.2.1: MPEG-4, without a checksum, one block.
fn adts(profile: u8, frequency: u8, channels: u8, len: usize) -> Result<[u8; ADTS_LEN], Damaged> {
    const LENGTH_MAX: usize = (1 << 13) - 1;
    let length = ADTS_LEN + len;
    if length > LENGTH_MAX {
        return Err(Damaged("a frame of its sound is too long"));
    }
    let length = length as u32;
    Ok([
        0xff,
        0xf1,
        profile << 6 | frequency << 2 | channels >> 2,
        (channels & 3) << 6 | (length >> 11) as u8,
        (length >> 3) as u8,
        (length << 5) as u8 | 0x1f,
        0xfc,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(packing: &Packing, sample: &[u8], is_sync: bool) -> Result<Vec<u8>, Damaged> {
        let mut unit = Vec::new();
        packing.pack(sample, is_sync, &mut unit).map(|()| unit)
    }

    #[test]
    fn obus_stand_behind_start_codes_escaped_and_a_key_frame_behind_the_sequence_header() {
        let sequence = [0x0a, 2, 0, 0];
        let packing = Packing::Obus { config: sequence.to_vec() };
        // A temporal delimiter, and a frame without a length that has three zeros.
        let sample = [0x12, 0, 0x30, 0x10, 0, 0, 0, 9];
        let expected = [0, 0, 1, 0x30, 0x10, 0, 0, 3, 0, 9];
        assert_eq!(pack(&packing, &sample, false).unwrap(), expected);
        let key = [&[0, 0, 1, 0x0a, 2, 0, 0][..], &expected].concat();
        assert_eq!(pack(&packing, &sample, true).unwrap(), key);
        let whole = [&sequence[..], &sample].concat();
        assert_eq!(pack(&packing, &whole, true).unwrap(), key, "it has its own");
        assert!(packing.is_key(&whole) && !packing.is_key(&sample));
        for cut in [&[0x32, 9, 1][..], &[0x36], &[0x32, 0xff, 0xff, 0xff, 0xff]] {
            assert!(pack(&packing, cut, false).is_err());
        }
    }

    #[test]
    fn opus_has_its_length_in_front() {
        let unit = pack(&Packing::Opus, &[7; 300], true).unwrap();
        assert_eq!(unit[..4], [0x7f, 0xe0, 0xff, 45]);
        assert_eq!(unit.len(), 4 + 300);
        assert!(opus(6).unwrap_err().contains("-ac 2"));
    }
}
