//! Opus in a transport stream (ETSI TS 103 491 section 4: access units with a control header), and
//! what the first byte of an Opus packet says (RFC 6716 section 3.1).

use crate::decoding::{AudioFormat, AudioInfo};

/// Opus always counts in 48 kHz.
const SAMPLE_RATE: u32 = 48_000;

/// RFC 6716 section 3.2.5: "no more than 120 ms of audio" in a packet.
const SAMPLES_MAX: u32 = SAMPLE_RATE / 1_000 * 120;

/// Mono or stereo: a decoder for two channels decodes both.
pub(crate) fn info() -> AudioInfo {
    AudioInfo {
        codec: "opus".to_owned(),
        format: AudioFormat::Opus,
        sample_rate: SAMPLE_RATE,
        channels: 2,
    }
}

/// The Opus packets in a PES packet, up to the first that is cut or none, with the samples of each.
pub(super) fn packets(mut bytes: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    std::iter::from_fn(move || {
        let (packet, rest) = access_unit(bytes)?;
        bytes = rest;
        Some((samples(packet)?, packet))
    })
}

/// The first packet, and what follows it.
fn access_unit(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[prefix, flags], mut rest) = bytes.split_first_chunk::<2>()?;
    // Eleven bits: 0x3ff.
    if prefix != 0x7f || flags & 0xe0 != 0xe0 {
        return None;
    }
    let mut len = 0;
    loop {
        let (&part, after) = rest.split_first()?;
        (len, rest) = (len + usize::from(part), after);
        if part != 0xff {
            break;
        }
    }
    let (trims_start, trims_end, is_extended) =
        (flags & 0x10 != 0, flags & 0x08 != 0, flags & 0x04 != 0);
    rest = rest.get(2 * (usize::from(trims_start) + usize::from(trims_end))..)?;
    if is_extended {
        let (&extension, after) = rest.split_first()?;
        rest = after.get(usize::from(extension)..)?;
    }
    rest.split_at_checked(len)
}

/// How many samples a packet holds.
pub(crate) fn samples(packet: &[u8]) -> Option<u32> {
    let &[toc, ..] = packet else { return None };
    let config = toc >> 3;
    // RFC 6716 table 2, in tenths of a millisecond.
    let tenths = match (config, config & 3) {
        (0..12, nth) => [100, 200, 400, 600][usize::from(nth)],
        (12..16, nth) => [100, 200][usize::from(nth & 1)],
        (_, nth) => [25, 50, 100, 200][usize::from(nth)],
    };
    let frames = match toc & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => u32::from(packet.get(1)? & 0x3f),
    };
    let samples = frames * tenths * SAMPLE_RATE / 10_000;
    (1..=SAMPLES_MAX).contains(&samples).then_some(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CELT, 20 ms, one frame.
    const TOC: u8 = 31 << 3;

    fn unit(flags: u8, extra: &[u8], packet: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x7f, 0xe0 | flags];
        bytes.extend(vec![0xff; packet.len() / 255]);
        bytes.push((packet.len() % 255) as u8);
        bytes.extend(extra);
        bytes.extend(packet);
        bytes
    }

    #[test]
    fn packets_are_found_behind_their_control_headers() {
        let long = [&[TOC][..], &[7; 600]].concat();
        let exact = [&[TOC][..], &[7; 254]].concat();
        let bytes = [
            unit(0, &[], &long),
            unit(0x18, &[0, 100, 0, 50], &[TOC, 1]),
            unit(0x04, &[3, 9, 9, 9], &[TOC, 2]),
            unit(0, &[], &exact),
        ]
        .concat();
        let found: Vec<_> = packets(&bytes).map(|(samples, it)| (samples, it.len())).collect();
        assert_eq!(found, [(960, 601), (960, 2), (960, 2), (960, 255)]);
    }

    #[test]
    fn what_is_cut_or_no_unit_ends_them() {
        let whole = unit(0x1c, &[0, 1, 0, 1, 1, 9], &[TOC, 1, 2, 3]);
        for len in 0..whole.len() {
            assert_eq!(packets(&whole[..len]).count(), 0, "{len}");
        }
        assert_eq!(packets(&whole).count(), 1);
        assert_eq!(packets(&unit(0, &[], &[])).count(), 0, "an empty packet");
        assert_eq!(packets(&[0x7f, 0xc0, 1, TOC]).count(), 0);
    }

    #[test]
    fn the_first_byte_tells_how_long_a_packet_lasts() {
        let toc = |config: u8, code: u8| config << 3 | code;
        for (packet, expected) in [
            (&[toc(0, 0)][..], Some(480)),
            (&[toc(3, 1)], Some(5_760)),
            (&[toc(13, 0)], Some(960)),
            (&[toc(16, 2)], Some(240)),
            (&[toc(31, 3), 6], Some(5_760)),
            (&[toc(31, 3), 7], None),
            (&[toc(31, 3), 0], None),
            (&[toc(31, 3)], None),
            (&[], None),
        ] {
            assert_eq!(samples(packet), expected, "{packet:?}");
        }
    }
}
