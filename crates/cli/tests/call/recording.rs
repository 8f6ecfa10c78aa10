//! What `--record` wrote, beside the file that was sent.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Lines of a table that was written so far are seconds of sound and pictures.
const TABLE_LEN: u64 = 8_000;

/// Waits until seconds of a call are recorded.
pub(crate) fn wait_for(folder: &str) {
    wait_for_table(&Path::new(folder).join("played.csv"));
}

/// Waits until this table names so much.
pub(crate) fn wait_for_table(table: &Path) {
    while std::fs::metadata(table).map_or(0, |it| it.len()) < TABLE_LEN {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Every picture and each frame of voice that the table names is in the files, and in what was
/// sent; of voice, each frame from the first to the last was heard or concealed.
pub(crate) fn assert_whole(folder: &str, sent: &str) {
    let sent = std::fs::read(sent).unwrap();
    let was_sent = |bytes: &[u8]| sent.windows(bytes.len()).any(|part| part == bytes);
    let table = std::fs::read_to_string(Path::new(folder).join("played.csv")).unwrap();
    let lengths = |media: &str| column(&table, &[media], 4);
    let recorded = std::fs::read(Path::new(folder).join("picture.ivf")).unwrap();
    let pictures = pictures(&recorded);
    assert!(pictures.len() > 25, "{} pictures", pictures.len());
    let written: Vec<u64> = pictures.iter().map(|bytes| bytes.len() as u64).collect();
    assert_eq!(written, lengths("picture"));
    assert!(pictures.iter().all(|picture| was_sent(picture)), "a picture is another one");
    let voice = voice(&std::fs::read(Path::new(folder).join("voice.opus")).unwrap());
    let heard = voice.iter().filter(|packet| packet.len() > 1);
    let written: Vec<u64> = heard.clone().map(|bytes| bytes.len() as u64).collect();
    assert_eq!(written, lengths("voice"));
    assert!(heard.count() > 50, "{} packets", voice.len());
    assert!(voice.iter().all(|packet| packet.len() == 1 || was_sent(packet)));
    let frames: BTreeSet<u64> = column(&table, &["voice", "concealed"], 1).into_iter().collect();
    let (first, last) = (frames.first().unwrap(), frames.last().unwrap());
    assert_eq!(frames.len() as u64, last - first + 1, "{table}");
}

fn column(table: &str, media: &[&str], at: usize) -> Vec<u64> {
    let lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let wanted = lines.filter(|fields| media.contains(&fields[0]));
    wanted.map(|fields| fields[at].parse().unwrap()).collect()
}

/// The frames of an IVF file: a header of 32 bytes, then each with a length and a time.
fn pictures(mut file: &[u8]) -> Vec<&[u8]> {
    assert_eq!(&file[..4], b"DKIF");
    assert_eq!(&file[8..12], b"VP90");
    file = &file[32..];
    let mut pictures = Vec::new();
    while let Some((header, rest)) = file.split_at_checked(12) {
        let len = u32::from_le_bytes(header[..4].try_into().unwrap());
        let (picture, rest) = rest.split_at(len as usize);
        pictures.push(picture);
        file = rest;
    }
    assert_eq!(file, b"");
    pictures
}

/// The packets of an Ogg Opus file (RFC 3533 section 6) without those of its head.
fn voice(mut file: &[u8]) -> Vec<Vec<u8>> {
    let mut packets = vec![Vec::new()];
    while !file.is_empty() {
        assert_eq!(&file[..4], b"OggS");
        let (lengths, mut rest) = file[27..].split_at(file[26].into());
        for len in lengths {
            let (segment, after) = rest.split_at((*len).into());
            packets.last_mut().unwrap().extend_from_slice(segment);
            if *len < 255 {
                packets.push(Vec::new());
            }
            rest = after;
        }
        file = rest;
    }
    assert_eq!(packets.pop(), Some(Vec::new()), "the last packet is whole");
    assert!(packets[0].starts_with(b"OpusHead") && packets[1].starts_with(b"OpusTags"));
    packets.split_off(2)
}
