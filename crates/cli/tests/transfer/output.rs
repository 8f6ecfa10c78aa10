//! An output that does not take what comes.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::harness::{Place, Running, program, run, urls};

/// Twelve seconds of 5 Mbit/s, two thirds of whose pictures are ones that nothing is predicted
/// from.
fn film(place: &Place) -> String {
    let film = place.file("film.ts");
    let pictures = "testsrc2=s=640x360:r=25:d=12,noise=alls=40:allf=t";
    let x264 = "pbratio=1.0:b-adapt=0:b-pyramid=none:scenecut=0:keyint=50:nal-hrd=cbr:filler=0";
    ffmpeg(
        &[
            &[
                "-f",
                "lavfi",
                "-i",
                pictures,
                "-f",
                "lavfi",
                "-i",
                "sine=d=12",
                "-pix_fmt",
                "yuv420p",
            ][..],
            &["-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-x264-params", x264],
            &["-b:v", "5M", "-maxrate", "5M", "-bufsize", "2M", "-c:a", "aac", "-y", &film],
        ]
        .concat(),
    );
    film
}

fn ffmpeg(arguments: &[&str]) -> String {
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-loglevel", "error"]).args(arguments);
    let output = command.output().expect("ffmpeg");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// How many packets a file has of a track, and how many of them are key frames.
fn packets(file: &str, track: &str) -> (usize, usize) {
    let mut command = Command::new("ffprobe");
    command.args(["-loglevel", "quiet", "-select_streams", track, "-show_entries"]);
    let output = command.args(["packet=flags", "-of", "csv=p=0", file]).output().expect("ffprobe");
    let text = String::from_utf8(output.stdout).expect("text");
    (text.lines().count(), text.lines().filter(|flags| flags.starts_with('K')).count())
}

/// A player behind a pipe that takes half of the stream's rate, or less where the machine is busy.
#[test]
fn a_slow_pipe_gets_all_key_frames_and_sound_and_what_was_left_out_for_it_is_said() {
    let place = Place::new("slow-pipe");
    let film = film(&place);
    let (listener, caller) = urls("&latency=1000", "");
    let mut command = program(&["recv", &listener, "-"]);
    let mut receiver = Running::spawn(command.stdout(Stdio::piped()));
    let mut pipe = receiver.child.stdout.take().unwrap();
    let reading = thread::spawn(move || {
        let (mut taken, mut buf) = (Vec::new(), [0; 8 << 10]);
        loop {
            match pipe.read(&mut buf).unwrap() {
                0 => return taken,
                len => taken.extend_from_slice(&buf[..len]),
            }
            thread::sleep(Duration::from_millis(26));
        }
    });
    let (status, said) = run(&["send", &film, &caller]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("the receiver's output does not take all"), "{said}");
    let said = receiver.assert_success();
    assert!(said.contains("left out, since the output did not take all: "), "{said}");
    let out = place.file("out.ts");
    std::fs::write(&out, reading.join().unwrap()).unwrap();
    let ((pictures, keys), (taken, taken_keys)) = (packets(&film, "v"), packets(&out, "v"));
    assert_eq!(taken_keys, keys, "key frames");
    assert_eq!(packets(&out, "a").0, packets(&film, "a").0, "sound");
    assert!(taken > keys && taken < pictures, "{taken} of {pictures} pictures");
}
