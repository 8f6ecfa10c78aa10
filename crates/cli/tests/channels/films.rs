//! Films in foreign containers, which processes of their own read.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use super::media::noise;
use super::ports::free_port;
use super::program::{Folder, Running};

#[test]
fn a_reader_that_is_killed_is_told_and_its_film_read_anew_while_the_server_goes_on() {
    let stream = ["libx264", "-preset", "ultrafast", "-qp", "10", "-pix_fmt", "yuv420p"];
    let units = ["libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "20M"];
    for (film, coding) in [("film.mp4", stream), ("film.webm", units)] {
        let folder = Folder::new(film);
        noise(&folder.path().join(film), &[&["-c:v"], &coding[..]].concat());
        let channels = format!(
            "[[channel]]\nname = 'Film'\nsource = '{film}'\n\
             [[channel]]\nname = 'Clock'\nsource = 'demo:clock'\n"
        );
        let mut server = Running::serve(&folder, &channels, free_port(), free_port());
        server.until_all(&["1 Film: on air", "2 Clock: on air"]);
        let readers = server.children();
        let [reader] = readers[..] else { panic!("one reads for the server: {readers:?}") };
        let killed = Command::new("kill").args(["-KILL", &reader.to_string()]).status().unwrap();
        assert!(killed.success());
        server.until("broke off: the process that read it was ended by signal 9");
        let anew = std::iter::repeat_with(|| server.children()).find(|them| !them.is_empty());
        assert_ne!(anew, Some(vec![reader]), "it is read anew");
        assert!(!server.seen().contains("off air"), "{}", server.seen());
        server.end();
    }
}

#[test]
fn a_film_that_takes_more_memory_than_a_reader_may_have_ends_its_reader_alone() {
    let folder = Folder::new("greedy");
    greedy(&folder.path().join("greedy.webm"));
    let channels = "[[channel]]\nname = 'Greedy'\nsource = 'greedy.webm'\n\
                    [[channel]]\nname = 'Clock'\nsource = 'demo:clock'\n";
    let mut server = Running::serve(&folder, channels, free_port(), free_port());
    let off_air = "1 Greedy: off air: cannot read";
    let why = "it took more than 512 MiB of memory to read, or found a defect: it is damaged";
    server.until_all(&[off_air, why, "2 Clock: on air"]);
    assert_eq!(server.children(), [], "nobody reads before it is tried again");
    server.end();
}

/// A film that describes its picture's coding in a gigabyte, which the reader makes room for at
/// once. Most of the file is a hole.
fn greedy(path: &Path) {
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
