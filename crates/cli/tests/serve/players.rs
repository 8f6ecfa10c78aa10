//! What players meet where there is no picture, or nothing at all.

use std::process::Command;

use super::Server;
use super::access::Folder;

const STREAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures/h264_aac.ts");

#[test]
fn regression_players_of_a_channel_off_air_waited_without_a_word() {
    let folder = Folder::new("players-off-air");
    let channels = "[[channel]]\nname = 'Lost'\nsource = 'nowhere.ts'\n\
                    [[channel]]\nname = 'Silent'\ncommand = 'exec sleep 1000'\n";
    let file = folder.write("channels.toml", channels);
    let mut server = Server::start(&[file.to_str().unwrap()]);
    server.wait_for("1 Lost: off air: ");
    for (path, words) in [
        ("/ch/1.ts", "This channel is off air: trying again."),
        ("/ch/2.ts", "This channel is off air: nothing has come of it yet."),
    ] {
        let answer = server.get(path);
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains(words), "{answer}");
        assert!(answer.contains("retry-after: 5"), "{answer}");
    }
    let list = server.get("/playlist.m3u");
    assert!(list.contains("/ch/1.ts") && list.contains("/ch/2.ts"), "they may come back: {list}");
    server.end();
}

#[test]
fn regression_radio_was_never_heard_by_players() {
    let folder = Folder::new("players-radio");
    let channels = "[[channel]]\nname = 'Radio'\nsource = 'radio.ts'\n";
    let file = folder.write("channels.toml", channels);
    let radio = file.with_file_name("radio.ts");
    let options = ["-v", "error", "-nostdin", "-i", STREAM, "-vn", "-c", "copy"];
    assert!(Command::new("ffmpeg").args(options).arg(radio).status().unwrap().success());
    let mut server = Server::start(&[file.to_str().unwrap()]);
    server.wait_for("1 Radio: on air (mp4a.40.2)");
    let codecs = server.probe("/ch/1.ts");
    assert!(codecs.contains("aac") && !codecs.contains("h264"), "{codecs}");
    server.end();
}
