//! Channels of playlists.

use super::access::Folder;
use super::{Server, program};

#[test]
fn the_channels_of_a_playlist_are_served_and_what_cannot_be_taken_is_told() {
    let folder = Folder::new("import");
    let stream = concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures/h264_aac.ts");
    std::fs::copy(stream, folder.path("film.ts")).unwrap();
    let list = "#EXTM3U\n#EXTINF:-1 tvg-chno=\"7\" group-title=\"Films\",A film\nfilm.ts\n\
                mms://tv.example/1\n";
    let file = folder.write("list.m3u", list);
    let mut server = Server::start(&["--import", file.to_str().unwrap()]);
    server.wait_for("list.m3u, line 4: source: \"mms://tv.example/1\" is not read");
    server.wait_for("7 A film: on air (avc1.");
    let ours = server.get("/playlist.m3u");
    let entry = format!("group-title=\"Films\",A film\nhttp://{}/ch/7.ts\n", server.host);
    assert!(ours.contains(&entry) && !ours.contains("Clock"), "{ours}");

    // Our own list is one that another server takes, which reads its channels from us.
    let (_, body) = ours.split_once("\r\n\r\n").unwrap();
    let again = folder.write("again.m3u", body);
    let mut other = Server::start(&["--import", again.to_str().unwrap()]);
    other.wait_for("7 A film: on air (avc1.");
    other.end();
    server.end();
}

#[test]
fn a_playlist_without_channels_is_refused_in_a_line() {
    let folder = Folder::new("import-nothing");
    let file = folder.write("list.m3u", "#EXTM3U\nmms://tv.example/1\n");
    let output = program(&["serve", "--import", file.to_str().unwrap()]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("there is no channel in it that can be taken; "), "{said}");
}
