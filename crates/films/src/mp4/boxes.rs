//! [`pruned`]: of a film's description what is read of it, with tables as long as they say.

use crate::packing::Damaged;

/// Tracks of a film that are looked at.
const TRACKS_MAX: usize = 256;

/// Boxes in one box that are looked at.
const BOXES_MAX: usize = 10_000;

/// Bytes of what describes a coding, beside its parameter sets.
const SAMPLE_ENTRY_BYTES_MAX: usize = 1 << 20;

/// ISO/IEC 14496-12 section 12.1.3.2: bytes of a picture's sample entry in front of its boxes.
const VISUAL_LEN: usize = 78;

/// Section 12.2.3.2: the same of sound; QuickTime's versions 1 and 2 have more.
const AUDIO_LEN: usize = 28;

/// A version and flags.
const FULL_BOX_LEN: usize = 4;

/// ISO/IEC 14496-12 section 8.7.2: "the media data is in the same file", for which it is taken
/// whatever the film says.
const DATA_INFORMATION: &[u8] =
    b"\0\0\0\x24dinf\0\0\0\x1cdref\0\0\0\0\0\0\0\x01\0\0\0\x0curl \0\0\0\x01";

type Kind = [u8; 4];

/// The body of a film's description (`moov`), with nothing but what is read of it.
///
/// The reader of boxes makes a value of each that it knows, wherever it stands, as large as the
/// box says; so that what it gets is as large as the file has it, these are let through only.
///
/// # Errors
/// A box is longer than the one around it, or a table than its box.
pub(super) fn pruned(moov: &[u8]) -> Result<Vec<u8>, Damaged> {
    let mut to = Vec::new();
    let mut tracks = 0;
    for found in boxes(moov) {
        let (kind, body) = found?;
        match &kind {
            b"mvhd" => push(&mut to, kind, body),
            b"mvex" => push(&mut to, kind, &within(body, extension_box)?),
            b"trak" if has_picture_or_sound(body)? => {
                tracks += 1;
                if tracks > TRACKS_MAX {
                    return Err(Damaged("it has more than 256 tracks"));
                }
                push(&mut to, kind, &within(body, track_box)?);
            }
            _ => {}
        }
    }
    Ok(to)
}

/// The same of a fragment's description (`moof`).
pub(super) fn pruned_fragment(moof: &[u8]) -> Result<Vec<u8>, Damaged> {
    within(moof, fragment_box)
}

fn fragment_box(kind: &Kind, body: &[u8]) -> Result<Option<Vec<u8>>, Damaged> {
    match kind {
        b"mfhd" => Ok(Some(body.to_vec())),
        b"traf" => within(body, track_fragment_box).map(Some),
        _ => Ok(None),
    }
}

/// A run (`trun`) without values for each sample counts them only, and one with values takes what
/// its box has.
fn track_fragment_box(kind: &Kind, body: &[u8]) -> Result<Option<Vec<u8>>, Damaged> {
    Ok(matches!(kind, b"tfhd" | b"tfdt" | b"trun").then(|| body.to_vec()))
}

fn extension_box(kind: &Kind, body: &[u8]) -> Result<Option<Vec<u8>>, Damaged> {
    Ok((kind == b"trex").then(|| body.to_vec()))
}

/// What is kept of a box, and none if nothing is.
type Keep = fn(&Kind, &[u8]) -> Result<Option<Vec<u8>>, Damaged>;

/// Only those boxes that are kept.
fn within(body: &[u8], keep: Keep) -> Result<Vec<u8>, Damaged> {
    let mut to = Vec::new();
    for found in boxes(body) {
        let (kind, body) = found?;
        if let Some(kept) = keep(&kind, body)? {
            push(&mut to, kind, &kept);
        }
    }
    Ok(to)
}

fn track_box(kind: &Kind, body: &[u8]) -> Result<Option<Vec<u8>>, Damaged> {
    match kind {
        b"tkhd" => Ok(Some(body.to_vec())),
        b"edts" => within(body, edit_box).map(Some),
        b"mdia" => within(body, media_box).map(Some),
        _ => Ok(None),
    }
}

fn edit_box(kind: &Kind, body: &[u8]) -> Result<Option<Vec<u8>>, Damaged> {
    match kind {
        b"elst" => {
            let entry_len = if body.first() == Some(&1) { 20 } else { 12 };
            table(body, 0, entry_len).map(Some)
        }
        _ => Ok(None),
    }
}

fn media_box(kind: &Kind, body: &[u8]) -> Result<Option<Vec<u8>>, Damaged> {
    match kind {
        b"mdhd" | b"hdlr" => Ok(Some(body.to_vec())),
        b"minf" => {
            let mut to = within(body, information_box)?;
            to.extend_from_slice(DATA_INFORMATION);
            Ok(Some(to))
        }
        _ => Ok(None),
    }
}

fn information_box(kind: &Kind, body: &[u8]) -> Result<Option<Vec<u8>>, Damaged> {
    match kind {
        b"stbl" => within(body, table_box).map(Some),
        _ => Ok(None),
    }
}

fn table_box(kind: &Kind, body: &[u8]) -> Result<Option<Vec<u8>>, Damaged> {
    match kind {
        b"stsd" => description(body).map(Some),
        b"stts" | b"ctts" | b"co64" => table(body, 0, 8).map(Some),
        b"stsc" => table(body, 0, 12).map(Some),
        b"stss" | b"stco" => table(body, 0, 4).map(Some),
        // A size for all needs no table.
        b"stsz" if body.get(FULL_BOX_LEN..).is_some_and(|it| it.starts_with(&[0; 4])) => {
            table(body, 4, 4).map(Some)
        }
        b"stsz" => Ok(Some(body.to_vec())),
        _ => Ok(None),
    }
}

/// A table as it is, if its box has room for what it counts; `ahead` bytes stand before the count.
fn table(body: &[u8], ahead: usize, entry_len: usize) -> Result<Vec<u8>, Damaged> {
    let cut = Damaged("a table is cut short");
    let (count, entries) =
        body.get(FULL_BOX_LEN + ahead..).and_then(<[u8]>::split_first_chunk).ok_or(cut)?;
    let count = u32::from_be_bytes(*count) as usize;
    if count > entries.len() / entry_len {
        return Err(Damaged("a table counts more entries than its box has room for"));
    }
    Ok(body.to_vec())
}

/// The first coding that a track has, which is the one that is read.
fn description(body: &[u8]) -> Result<Vec<u8>, Damaged> {
    let mut to = vec![0; FULL_BOX_LEN];
    let entries = body.get(FULL_BOX_LEN + 4..).unwrap_or_default();
    let Some(first) = boxes(entries).next() else {
        to.extend([0; 4]);
        return Ok(to);
    };
    let (kind, body) = first?;
    if body.len() > SAMPLE_ENTRY_BYTES_MAX {
        return Err(Damaged("what describes a coding is longer than 1 MiB"));
    }
    to.extend([0, 0, 0, 1]);
    let (kind, kept) = sample_entry(kind, body)?;
    push(&mut to, kind, &kept);
    Ok(to)
}

/// A sample entry with its configuration; of an unknown kind nothing but that it is there.
fn sample_entry(kind: Kind, body: &[u8]) -> Result<(Kind, Vec<u8>), Damaged> {
    let (head, keep): (_, Keep) = match &kind {
        b"avc1" | b"avc3" | b"hvc1" | b"hev1" | b"vp08" | b"vp09" | b"av01" => {
            (VISUAL_LEN, configuration)
        }
        b"mp4a" | b".mp3" | b"ac-3" | b"ec-3" | b"Opus" => {
            let version = body.get(8..10);
            let more = version.map_or(0, |it| match it {
                [0, 1] => 16,
                [0, 2] => 36,
                _ => 0,
            });
            (AUDIO_LEN + more, configuration)
        }
        _ => return Ok((*b"none", Vec::new())),
    };
    let cut = Damaged("what describes a coding is cut short");
    let (head, rest) = body.split_at_checked(head).ok_or(cut)?;
    let mut to = head.to_vec();
    to.extend(within(rest, keep)?);
    Ok((kind, to))
}

fn configuration(kind: &Kind, body: &[u8]) -> Result<Option<Vec<u8>>, Damaged> {
    match kind {
        b"avcC" | b"hvcC" | b"vpcC" | b"av1C" | b"esds" | b"dac3" | b"dec3" | b"dOps" => {
            Ok(Some(body.to_vec()))
        }
        // QuickTime has it one box deeper.
        b"wave" => within(body, in_wave).map(Some),
        _ => Ok(None),
    }
}

fn in_wave(kind: &Kind, body: &[u8]) -> Result<Option<Vec<u8>>, Damaged> {
    Ok((kind == b"esds").then(|| body.to_vec()))
}

/// Whether the track's handler is for one of these.
fn has_picture_or_sound(trak: &[u8]) -> Result<bool, Damaged> {
    let Some(mdia) = first(trak, b"mdia")? else { return Ok(false) };
    let Some(hdlr) = first(mdia, b"hdlr")? else { return Ok(false) };
    Ok(hdlr.get(8..12).is_some_and(|handler| [b"vide", b"soun"].iter().any(|it| handler == *it)))
}

fn first<'a>(body: &'a [u8], kind: &Kind) -> Result<Option<&'a [u8]>, Damaged> {
    for found in boxes(body) {
        let (found, body) = found?;
        if found == *kind {
            return Ok(Some(body));
        }
    }
    Ok(None)
}

/// The boxes in a box; fewer bytes than a header at its end are padding.
fn boxes(body: &[u8]) -> impl Iterator<Item = Result<(Kind, &[u8]), Damaged>> {
    let mut rest = body;
    let mut count = 0;
    std::iter::from_fn(move || {
        if rest.len() < 8 {
            return None;
        }
        count += 1;
        let found = if count > BOXES_MAX {
            Err(Damaged("a box holds more than 10,000 others"))
        } else {
            split_box(rest).ok_or(Damaged("a box is longer than the one around it"))
        };
        Some(match found {
            Ok((kind, body, behind)) => {
                rest = behind;
                Ok((kind, body))
            }
            Err(error) => {
                rest = &[];
                Err(error)
            }
        })
    })
}

/// ISO/IEC 14496-12 section 4.2: a size of 1 stands for one of 64 bits behind the type, and one of
/// 0 for all that follows.
fn split_box(bytes: &[u8]) -> Option<(Kind, &[u8], &[u8])> {
    let (size, rest) = bytes.split_first_chunk()?;
    let (kind, rest) = rest.split_first_chunk()?;
    let (len, rest) = match u32::from_be_bytes(*size) {
        0 => (rest.len(), rest),
        1 => {
            let (size, rest) = rest.split_first_chunk()?;
            (usize::try_from(u64::from_be_bytes(*size).checked_sub(16)?).ok()?, rest)
        }
        size => ((size as usize).checked_sub(8)?, rest),
    };
    let (body, behind) = rest.split_at_checked(len)?;
    Some((*kind, body, behind))
}

fn push(to: &mut Vec<u8>, kind: Kind, body: &[u8]) {
    let size = u32::try_from(body.len() + 8).unwrap_or(u32::MAX);
    to.extend(size.to_be_bytes());
    to.extend(kind);
    to.extend_from_slice(body);
}
