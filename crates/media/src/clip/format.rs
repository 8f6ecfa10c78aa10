//! Bytes to header and units, and back.

use bytes::{BufMut, Bytes};

use super::{
    Attribution, AudioFormat, CLIP_TEXT_BYTES_MAX, CLIP_UNIT_BYTES_MAX, CLIP_UNITS_MAX,
    CLIP_VERSION, ClipError, ClipHeader, ClipUnit, VideoFormat,
};
use crate::{Class, Layer, Track};

const MAGIC: &[u8] = b"ANACLIP";

/// Track, layer, class, frame, time, duration, length.
const UNIT_HEADER_BYTES: usize = 3 + 4 + 8 + 4 + 4;

pub(super) fn decode(file: &Bytes) -> Result<(ClipHeader, Vec<ClipUnit>), ClipError> {
    let mut reader = Reader { file, offset: 0 };
    let version = reader.version()?;
    if version > CLIP_VERSION {
        return Err(ClipError::TooNew { version });
    }
    let header = reader.header()?;
    let count = reader.number("the number of units")?;
    let count = u32::from_be_bytes(count) as usize;
    if count > CLIP_UNITS_MAX {
        return Err(ClipError::TooManyUnits { count });
    }
    // Memory follows the file's length, not what it says of itself.
    let mut units = Vec::with_capacity(count.min(reader.left() / UNIT_HEADER_BYTES));
    for index in 0..count {
        units.push(reader.unit(index)?);
    }
    if reader.left() > 0 {
        return Err(ClipError::TrailingBytes { count: reader.left() });
    }
    Ok((header, units))
}

pub(super) fn encode(header: &ClipHeader, units: &[ClipUnit]) -> Vec<u8> {
    let bytes: usize = units.iter().map(|unit| UNIT_HEADER_BYTES + unit.bytes.len()).sum();
    let mut file = Vec::with_capacity(bytes + 1024);
    file.put_slice(MAGIC);
    file.put_u8(CLIP_VERSION);
    file.put_u16(header.video.width);
    file.put_u16(header.video.height);
    file.put_u16(header.video.frame_rate_numerator);
    file.put_u16(header.video.frame_rate_denominator);
    file.put_u8(header.video.layers);
    file.put_u8(header.audio.channels);
    file.put_u32(header.audio.sample_rate);
    file.put_u64(header.loop_duration_us);
    for (_, text) in header.texts() {
        file.put_u16(text.len() as u16);
        file.put_slice(text.as_bytes());
    }
    file.put_u32(units.len() as u32);
    for unit in units {
        put_unit(&mut file, unit);
    }
    file
}

/// The casts lose nothing: the rules that a clip obeys bound every number.
fn put_unit(file: &mut Vec<u8>, unit: &ClipUnit) {
    file.put_u8(unit.track.0 as u8);
    file.put_u8(unit.layer.0);
    file.put_u8(unit.class.index() as u8);
    file.put_u32(unit.frame as u32);
    file.put_u64(unit.pts_us);
    file.put_u32(unit.duration_us);
    file.put_u32(unit.bytes.len() as u32);
    file.put_slice(&unit.bytes);
}

/// The names of the header's texts, in their order in the file.
const TEXT_NAMES: [&str; 7] = [
    "video codec",
    "audio codec",
    "title",
    "attribution",
    "attribution's URL",
    "licence",
    "licence's URL",
];

impl ClipHeader {
    /// The texts with their names, in their order in the file.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let texts = [
            &self.video.codec,
            &self.audio.codec,
            &self.title,
            &self.attribution.text,
            &self.attribution.url,
            &self.attribution.license,
            &self.attribution.license_url,
        ];
        TEXT_NAMES.into_iter().zip(texts.map(String::as_str))
    }
}

struct Reader<'a> {
    file: &'a Bytes,
    offset: usize,
}

impl Reader<'_> {
    fn left(&self) -> usize {
        self.file.len().saturating_sub(self.offset)
    }

    /// The next bytes, sharing the file's memory.
    fn take(&mut self, what: &'static str, needed: usize) -> Result<Bytes, ClipError> {
        let (offset, left) = (self.offset, self.left());
        if left < needed {
            return Err(ClipError::Truncated { what, offset, needed, left });
        }
        self.offset += needed;
        Ok(self.file.slice(offset..offset + needed))
    }

    /// The bytes of a number.
    fn number<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], ClipError> {
        let bytes = self.take(what, N)?;
        let mut number = [0; N];
        number.copy_from_slice(&bytes);
        Ok(number)
    }

    /// The version after the magic. A version 0 was never written.
    fn version(&mut self) -> Result<u8, ClipError> {
        let magic_in_file = self.file.get(..MAGIC.len().min(self.file.len())).unwrap_or_default();
        if !MAGIC.starts_with(magic_in_file) {
            return Err(ClipError::WrongMagic);
        }
        self.take("the magic", MAGIC.len())?;
        let [version] = self.number("the version")?;
        if version == 0 { Err(ClipError::WrongMagic) } else { Ok(version) }
    }

    fn header(&mut self) -> Result<ClipHeader, ClipError> {
        let width = u16::from_be_bytes(self.number("the width")?);
        let height = u16::from_be_bytes(self.number("the height")?);
        let frame_rate_numerator = u16::from_be_bytes(self.number("the frame rate")?);
        let frame_rate_denominator = u16::from_be_bytes(self.number("the frame rate")?);
        let [layers] = self.number("the number of layers")?;
        let [channels] = self.number("the number of channels")?;
        let sample_rate = u32::from_be_bytes(self.number("the sample rate")?);
        let loop_duration_us = u64::from_be_bytes(self.number("the duration of a round")?);
        let mut texts: [String; TEXT_NAMES.len()] = Default::default();
        for (what, text) in TEXT_NAMES.into_iter().zip(&mut texts) {
            *text = self.text(what)?;
        }
        let [video_codec, audio_codec, title, text, url, license, license_url] = texts;
        Ok(ClipHeader {
            title,
            video: VideoFormat {
                codec: video_codec,
                width,
                height,
                frame_rate_numerator,
                frame_rate_denominator,
                layers,
            },
            audio: AudioFormat { codec: audio_codec, sample_rate, channels },
            attribution: Attribution { text, url, license, license_url },
            loop_duration_us,
        })
    }

    fn text(&mut self, what: &'static str) -> Result<String, ClipError> {
        let len = usize::from(u16::from_be_bytes(self.number(what)?));
        if len > CLIP_TEXT_BYTES_MAX {
            return Err(ClipError::TextTooLong { what, len });
        }
        let bytes = self.take(what, len)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| ClipError::NotUtf8 { what })
    }

    fn unit(&mut self, unit: usize) -> Result<ClipUnit, ClipError> {
        let [track] = self.number("a unit's track")?;
        let [layer] = self.number("a unit's layer")?;
        let [class_number] = self.number("a unit's class")?;
        let frame = u32::from_be_bytes(self.number("a unit's frame number")?);
        let pts_us = u64::from_be_bytes(self.number("a unit's time")?);
        let duration_us = u32::from_be_bytes(self.number("a unit's duration")?);
        let len = u32::from_be_bytes(self.number("a unit's length")?) as usize;
        let Some(class) = Class::from_index(class_number.into()) else {
            let track = track.into();
            return Err(ClipError::UnitClass { unit, track, layer, class: class_number });
        };
        if len > CLIP_UNIT_BYTES_MAX {
            return Err(ClipError::UnitLength { unit, len });
        }
        let bytes = self.take("a unit", len)?;
        let (track, layer, frame) = (Track(track.into()), Layer(layer), frame.into());
        Ok(ClipUnit { track, layer, class, frame, pts_us, duration_us, bytes })
    }
}
