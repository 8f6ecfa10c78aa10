//! Parquet's hybrid of runs and packed bits, for small numbers of which many follow their like.
//!
//! It is a row of parts, each of a header and numbers. The header is a LEB128 number whose lowest
//! bit says what follows: 0, one number in whole bytes that comes as often as the other bits say;
//! 1, as many groups of eight numbers as the other bits say, packed from the lowest bit on (Apache
//! Parquet's encodings, "Run Length Encoding / Bit-Packing Hybrid").

/// Numbers that are packed together.
const GROUP: usize = 8;

/// The bits in which each number below `count` has room.
pub(super) const fn width(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

/// Appends `numbers`, none of them negative, in `width` bits each: groups of eight that are all the
/// same as runs, the others packed.
pub(super) fn encode(numbers: &[i16], width: u32, into: &mut Vec<u8>) {
    let (groups, _) = numbers.as_chunks::<GROUP>();
    let (mut written, mut at) = (0, 0);
    while let Some(group) = groups.get(at) {
        let alike = [group[0]; GROUP];
        let run = groups[at..].iter().take_while(|group| **group == alike).count();
        if run > 0 {
            pack(&numbers[written * GROUP..at * GROUP], width, into);
            repeat(group[0], run * GROUP, width, into);
            written = at + run;
        }
        at += run.max(1);
    }
    pack(&numbers[written * GROUP..], width, into);
}

/// A number, `count` times.
fn repeat(number: i16, count: usize, width: u32, into: &mut Vec<u8>) {
    header(count << 1, into);
    into.extend_from_slice(&number.to_le_bytes()[..width.div_ceil(u8::BITS) as usize]);
}

/// Groups of numbers, of which the last is filled up with zeros.
fn pack(numbers: &[i16], width: u32, into: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    header(numbers.len().div_ceil(GROUP) << 1 | 1, into);
    let bits = |numbers: &[i16]| {
        let bits = numbers.iter().rev().fold(0_u64, |bits, number| bits << width | *number as u64);
        u128::from(bits)
    };
    for group in numbers.chunks(GROUP) {
        // Four have room in 64 bits.
        let (first, second) = group.split_at(group.len().min(GROUP / 2));
        let bits = bits(second) << (width * GROUP as u32 / 2) | bits(first);
        // Eight numbers of so many bits each are as many bytes.
        into.extend_from_slice(&bits.to_le_bytes()[..width as usize]);
    }
}

fn header(mut number: usize, into: &mut Vec<u8>) {
    while number > 0x7f {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::Rng;

    use super::*;

    fn take<'a>(bytes: &mut &'a [u8], count: u32) -> &'a [u8] {
        let (taken, rest) = bytes.split_at(count as usize);
        *bytes = rest;
        taken
    }

    /// As the format says it; a file of texts is read by parquet's own reader in the tests of
    /// tables.
    fn decoded(mut bytes: &[u8], width: u32) -> Vec<i16> {
        let number =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | *byte as u128);
        let mut numbers = Vec::new();
        while !bytes.is_empty() {
            let len = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() as u32 + 1;
            let header = take(&mut bytes, len).iter().rev();
            let header = header.fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7f));
            if header & 1 == 0 {
                let repeated = number(take(&mut bytes, width.div_ceil(8))) as i16;
                numbers.extend(std::iter::repeat_n(repeated, header >> 1));
                continue;
            }
            for _ in 0..header >> 1 {
                let group = number(take(&mut bytes, width));
                let unpacked = |at: u32| (group >> (at * width) & ((1 << width) - 1)) as i16;
                numbers.extend((0..8).map(unpacked));
            }
        }
        numbers
    }

    #[test]
    fn numbers_come_back_from_runs_of_any_lengths() {
        for seed in 0..200 {
            let mut rng = Rng::from_u64(seed);
            let width = (seed % 16) as u32;
            let run_max = [1, 2, 9, 30, 1_000][(seed / 16 % 5) as usize];
            let mut numbers = Vec::new();
            while numbers.len() < 3_000 {
                let number = rng.range(0..1 << width) as i16;
                let run = rng.range(1..run_max + 1) as usize;
                numbers.extend(std::iter::repeat_n(number, run));
            }
            let mut bytes = Vec::new();
            encode(&numbers, width, &mut bytes);
            let read = decoded(&bytes, width);
            let (numbers_read, filling) = read.split_at(numbers.len());
            assert_eq!(numbers_read, numbers, "seed {seed}");
            assert!(filling.len() < GROUP && filling.iter().all(|number| *number == 0));
        }
    }

    #[test]
    fn a_group_of_the_same_is_a_run_and_anything_else_is_packed() {
        let encoded = |numbers: &[i16], width| {
            let mut bytes = Vec::new();
            encode(numbers, width, &mut bytes);
            bytes
        };
        assert!(encoded(&[], 3).is_empty());
        assert_eq!(encoded(&[0; 104], 0), [0xd0, 0x01], "a hundred and four times nothing");
        assert_eq!(encoded(&[5; 8], 3), [0x10, 5]);
        assert_eq!(encoded(&[300; 16], 9), [0x20, 0x2c, 0x01]);
        // The format's own example of packed bits.
        assert_eq!(encoded(&[0, 1, 2, 3, 4, 5, 6, 7], 3), [0x03, 0x88, 0xc6, 0xfa]);
        assert_eq!(encoded(&[1; 7], 1), [0x03, 0x7f], "too short a run");
        let mut numbers = [1; 20];
        numbers[0] = 0;
        assert_eq!(encoded(&numbers, 1), [0x03, 0xfe, 0x10, 1, 0x03, 0x0f]);
    }

    #[test]
    fn a_width_is_that_of_the_highest_number() {
        assert_eq!([0, 1, 2, 3, 4, 5, 256, 257].map(width), [0, 0, 1, 2, 2, 3, 8, 9]);
    }
}
