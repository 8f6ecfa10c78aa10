//! A film that no reader has the memory for.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

/// A film that describes its picture's coding in a gigabyte, which the reader makes room for at
/// once. Most of the file is a hole.
pub(crate) fn greedy(path: &Path) {
    const GIB: u64 = 1 << 30;
    let codec = [&[0x86, 0x85][..], b"V_VP9", &[0x63, 0xa2], &length(GIB)].concat();
    let entry = [&[0xd7, 0x81, 1, 0x73, 0xc5, 0x81, 1, 0x83, 0x81, 1][..], &codec].concat();
    let entry = element(&[0xae], &entry, GIB);
    let tracks = element(&[0x16, 0x54, 0xae, 0x6b], &entry, GIB);
    let info = element(&[0x15, 0x49, 0xa9, 0x66], b"\x4d\x80\x81a\x57\x41\x81a", 0);
    let cluster = element(&[0x1f, 0x43, 0xb6, 0x75], &[], 0);
    let segment = element(&[0x18, 0x53, 0x80, 0x67], &[info, cluster, tracks].concat(), GIB);
    let kind = b"\x42\x82\x84webm\x42\x87\x81\x02\x42\x85\x81\x02";
    let film = [element(&[0x1a, 0x45, 0xdf, 0xa3], kind, 0), segment].concat();
    let mut file = File::create(path).unwrap();
    file.write_all(&film).unwrap();
    file.set_len(film.len() as u64 + GIB).unwrap();
}

/// An element of EBML (RFC 8794 section 7), of which so many bytes are missing.
fn element(id: &[u8], content: &[u8], missing: u64) -> Vec<u8> {
    [id, &length(content.len() as u64 + missing), content].concat()
}

fn length(len: u64) -> [u8; 8] {
    ((1 << 56) | len).to_be_bytes()
}
