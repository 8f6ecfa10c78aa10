//! [`superframe()`]: the layers of a picture as one chunk for a VP9 decoder.

/// The fixed bits of a superframe's marker byte (VP9 bitstream specification, annex B).
const MARKER: u8 = 0b1100_0000;

/// Joins what arrived of a picture into what a VP9 decoder takes as one chunk, out of which it
/// gives one picture.
///
/// The base alone goes in as it is. With the enhancement a superframe index follows both frames:
///
/// ```text
/// +------------+-------------+--------+--------------+--------------------+--------+
/// | base frame | enhancement | marker | base length  | enhancement length | marker |
/// +------------+-------------+--------+--------------+--------------------+--------+
///                             1 byte    m bytes, LE     m bytes, LE          1 byte
///
/// marker:  1 1 0 | m − 1 (2 bits) | frames − 1 (3 bits: here 001)
/// ```
///
/// m is the number of bytes, 1 to 4, that the longer of both lengths needs; lengths are
/// little-endian. The marker stands on both sides so that a decoder finds the index from the end.
/// No ambiguity arises for a base alone: a VP9 frame never ends in a byte that begins with the bits
/// 110 (the encoder appends a zero byte to one that would).
///
/// ```
/// use anabranch_media::clip::superframe;
///
/// assert_eq!(superframe(&[0xa2, 7], None), [0xa2, 7]);
/// assert_eq!(superframe(&[0xa2, 7], Some(&[0xa6])), [0xa2, 7, 0xa6, 0xc1, 2, 1, 0xc1]);
/// ```
#[must_use]
pub fn superframe(base: &[u8], enhancement: Option<&[u8]>) -> Vec<u8> {
    let Some(enhancement) = enhancement else {
        return base.to_vec();
    };
    let frames = [base, enhancement];
    let longest = base.len().max(enhancement.len());
    debug_assert!(u32::try_from(longest).is_ok(), "an index holds lengths of up to 4 bytes");
    let length_bytes = length_bytes(longest);
    let marker = MARKER | (length_bytes as u8 - 1) << 3 | (frames.len() as u8 - 1);

    let mut chunk = frames.concat();
    chunk.push(marker);
    for frame in frames {
        chunk.extend(frame.len().to_le_bytes().into_iter().take(length_bytes));
    }
    chunk.push(marker);
    chunk
}

/// How many bytes, 1 to 4, a length needs.
const fn length_bytes(len: usize) -> usize {
    match len {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xff_ffff => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_take_as_many_bytes_as_the_longer_frame_needs() {
        for (len, marker, index) in [
            (0xff, 0xc1, vec![1, 0xff]),
            (0x100, 0xc9, vec![1, 0, 0, 1]),
            (0x1_0203, 0xd1, vec![1, 0, 0, 3, 2, 1]),
            (0x100_0000, 0xd9, vec![1, 0, 0, 0, 0, 0, 0, 1]),
        ] {
            let chunk = superframe(&[1], Some(&vec![2; len]));
            let (frames, rest) = chunk.split_at(1 + len);
            assert_eq!(frames.first(), Some(&1));
            assert_eq!(rest, [vec![marker], index, vec![marker]].concat());
        }
    }
}
