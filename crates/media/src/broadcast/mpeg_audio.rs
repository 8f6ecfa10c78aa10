//! Frames of MPEG audio (ISO/IEC 11172-3 section 2.4, ISO/IEC 13818-3). Browsers decode layer III,
//! MP3, and no other.

use crate::decoding::{AudioFormat, AudioInfo};

const HEADER_LEN: usize = 4;

/// Bytes in front of the first frame of a PES packet that are looked through; more than a frame.
const SEARCH_MAX: usize = 4_096;

/// Bits per second of layer III in thousands, by index; of MPEG-1, then of MPEG-2 and 2.5.
const BITRATES: [[u32; 14]; 2] = [
    [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
    [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];

/// Of MPEG-1; MPEG-2 has half of it, MPEG-2.5 a quarter.
const SAMPLE_RATES: [u32; 3] = [44_100, 48_000, 32_000];

/// What the headers say of the sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) sample_rate: u32,
    channels: u8,
    /// Of one frame.
    pub(super) samples: u32,
}

impl Format {
    /// As the page is told.
    pub(super) fn info(self) -> AudioInfo {
        AudioInfo {
            codec: "mp3".to_owned(),
            format: AudioFormat::Mp3,
            sample_rate: self.sample_rate,
            channels: self.channels.into(),
        }
    }
}

/// Whether the bytes begin with a frame of layer I or II.
pub(super) fn is_of_lower_layer(bytes: &[u8]) -> bool {
    let &[0xff, flags, ..] = bytes else { return false };
    // The layer: 1 is III, 0 is reserved.
    flags & 0xe0 == 0xe0 && matches!(flags >> 1 & 3, 2 | 3)
}

/// The frames of layer III in the bytes, up to the first that is cut or none. In front of the first
/// there may be the rest of one that began in the PES packet before.
pub(super) fn frames(bytes: &[u8]) -> impl Iterator<Item = (Format, &[u8])> {
    let start = (0..bytes.len().min(SEARCH_MAX)).find(|at| is_frame_at(bytes, *at));
    let mut bytes = start.and_then(|start| bytes.get(start..)).unwrap_or_default();
    std::iter::from_fn(move || {
        let (format, len) = parse(bytes)?;
        let (frame, rest) = bytes.split_at_checked(len)?;
        bytes = rest;
        Some((format, frame))
    })
}

/// A header with another one, or nothing, behind its frame.
fn is_frame_at(bytes: &[u8], at: usize) -> bool {
    let Some(bytes) = bytes.get(at..) else { return false };
    let rest = parse(bytes).and_then(|(_, len)| bytes.get(len..));
    rest.is_some_and(|rest| rest.len() < HEADER_LEN || parse(rest).is_some())
}

/// The header of a frame, and the frame's length.
pub(super) fn parse(bytes: &[u8]) -> Option<(Format, usize)> {
    let [0xff, flags, rates, mode] = *bytes.first_chunk::<HEADER_LEN>()? else { return None };
    let is_layer_3 = flags & 0xe0 == 0xe0 && flags >> 1 & 3 == 1;
    let (version, divisor) = match flags >> 3 & 3 {
        3 => (0, 1),
        2 => (1, 2),
        0 => (1, 4),
        _ => return None,
    };
    // Index 0 is free format, whose length is not said; 15 is reserved.
    let bitrate = *BITRATES[version].get(usize::from(rates >> 4).checked_sub(1)?)? * 1_000;
    let sample_rate = SAMPLE_RATES.get(usize::from(rates >> 2 & 3))? / divisor;
    let samples = if version == 0 { 1_152 } else { 576 };
    let padding = u32::from(rates >> 1 & 1);
    let len = samples / 8 * bitrate / sample_rate + padding;
    let channels = if mode >> 6 == 3 { 1 } else { 2 };
    is_layer_3.then_some((Format { sample_rate, channels, samples }, len as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MPEG-1 layer III, 128 kbit/s, 44.1 kHz, joint stereo: 417 bytes.
    fn frame() -> Vec<u8> {
        let mut bytes = vec![0xff, 0xfb, 0x90, 0x40];
        bytes.resize(417, 0x55);
        bytes
    }

    #[test]
    fn frames_are_told_apart_and_described() {
        // MPEG-2 layer III, 64 kbit/s, 24 kHz, mono: 192 bytes.
        let mut second = vec![0xff, 0xf3, 0x84, 0xc0];
        second.resize(192, 0x55);
        let bytes = [frame(), second].concat();
        let found: Vec<_> = frames(&bytes).collect();
        let lens: Vec<_> = found.iter().map(|(_, frame)| frame.len()).collect();
        assert_eq!(lens, [417, 192]);
        let info = found.iter().map(|(format, _)| (format.info().sample_rate, format.samples));
        assert_eq!(info.collect::<Vec<_>>(), [(44_100, 1_152), (24_000, 576)]);
        let channels: Vec<_> = found.iter().map(|(format, _)| format.info().channels).collect();
        assert_eq!(channels, [2, 1]);
    }

    #[test]
    fn the_rest_of_an_earlier_frame_is_passed_over() {
        let bytes = [vec![0x55, 0xff, 0xfb, 0x90, 0x40, 1, 2], frame(), frame()].concat();
        assert_eq!(frames(&bytes).count(), 2);
    }

    #[test]
    fn what_is_cut_reserved_or_of_another_layer_is_no_frame() {
        let whole = frame();
        for bytes in [&[][..], &whole[..416], &[0xff, 0xfb], &[0xff; 40], &[0; 500]] {
            assert_eq!(frames(bytes).count(), 0);
        }
        for (at, value) in [(1, 0xeb), (2, 0x00), (2, 0xf0), (2, 0x9c)] {
            let mut bytes = frame();
            bytes[at] = value;
            assert_eq!(frames(&bytes).count(), 0, "{at} {value:#x}");
        }
        let layer_2 = [0xff, 0xfd, 0x90, 0x40];
        assert!(is_of_lower_layer(&layer_2) && !is_of_lower_layer(&whole));
        assert_eq!(frames(&layer_2).count(), 0);
    }
}
