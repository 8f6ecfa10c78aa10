//! AAC frames with their ADTS headers (ISO/IEC 13818-7 section 6.2).

use crate::decoding::{AudioFormat, AudioInfo};

/// Samples of a frame; few encoders put more than one block of them into it.
pub(super) const SAMPLES: u32 = 1_024;

const HEADER_LEN: usize = 7;

const SAMPLE_RATES: [u32; 13] = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000,
    7_350,
];

/// What the headers say of the sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    /// MPEG-4 audio object type: 2 is AAC LC.
    object_type: u8,
    pub(super) sample_rate: u32,
    channels: u8,
}

impl Format {
    /// As the page is told.
    pub(super) fn info(self) -> AudioInfo {
        AudioInfo {
            codec: format!("mp4a.40.{}", self.object_type),
            format: AudioFormat::Adts,
            sample_rate: self.sample_rate,
            channels: self.channels.into(),
        }
    }
}

/// The frames in the bytes, up to the first that is cut or none.
pub(super) fn frames(mut bytes: &[u8]) -> impl Iterator<Item = (Format, &[u8])> {
    std::iter::from_fn(move || {
        let (format, len) = parse(bytes)?;
        let (frame, rest) = bytes.split_at_checked(len)?;
        bytes = rest;
        Some((format, frame))
    })
}

/// The header of a frame, and the frame's length.
pub(super) fn parse(bytes: &[u8]) -> Option<(Format, usize)> {
    let &[sync, flags, profile, channels, length, low, _, ..] = bytes else { return None };
    // Syncword 0xfff, any MPEG version, layer 0.
    if sync != 0xff || flags & 0xf6 != 0xf0 {
        return None;
    }
    let sample_rate = *SAMPLE_RATES.get(usize::from(profile >> 2 & 0x0f))?;
    let channels = match (profile & 1) << 2 | channels >> 6 {
        // Said in the frame itself; it is stereo nearly always.
        0 => 2,
        7 => 8,
        channels => channels,
    };
    let format = Format { object_type: (profile >> 6) + 1, sample_rate, channels };
    let len = usize::from(bytes[3] & 0x03) << 11 | usize::from(length) << 3 | usize::from(low >> 5);
    (len >= HEADER_LEN).then_some((format, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AAC LC, 48 kHz, stereo.
    fn frame(len: usize) -> Vec<u8> {
        let mut bytes = vec![0xff, 0xf1, 0x4c, 0x80, 0, 0x1f, 0xfc];
        bytes[3] |= (len >> 11) as u8;
        bytes[4] = (len >> 3) as u8;
        bytes[5] |= (len << 5) as u8;
        bytes.resize(len, 0xab);
        bytes
    }

    #[test]
    fn frames_are_told_apart_and_described() {
        let bytes = [frame(300), frame(7), frame(2_100)].concat();
        let found: Vec<_> = frames(&bytes).collect();
        assert_eq!(found.iter().map(|(_, frame)| frame.len()).collect::<Vec<_>>(), [300, 7, 2_100]);
        let info = found[0].0.info();
        assert_eq!(
            (info.codec.as_str(), info.sample_rate, info.channels),
            ("mp4a.40.2", 48_000, 2)
        );
    }

    #[test]
    fn what_is_cut_or_no_frame_ends_them() {
        let whole = frame(300);
        for bytes in [&[][..], &whole[..299], &[0xff, 0xf1], &[0; 20], &frame(6)] {
            assert_eq!(frames(bytes).count(), 0);
        }
        let followed = [frame(20), vec![0; 30]].concat();
        assert_eq!(frames(&followed).count(), 1);
        let reserved_rate = [0xff, 0xf1, 0x7c, 0x80, 1, 0x1f, 0xfc, 0];
        assert_eq!(frames(&reserved_rate).count(), 0);
    }
}
