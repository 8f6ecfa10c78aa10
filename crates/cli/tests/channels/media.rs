//! Small media: what the repository has, and what ffmpeg makes in a moment.

use std::path::Path;
use std::process::Command;

/// Three seconds of H.264 and AAC.
pub(crate) const H264_AAC: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures/h264_aac.ts");

/// Program 1 is H.265 and Opus, program 2 MPEG-2 video and AC-3.
pub(crate) const TWO_PROGRAMS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures/two_programs_cbr.ts");

/// Two seconds of a picture and a tone, coded as ffmpeg's options say.
pub(crate) fn make(path: &Path, options: &[&str]) {
    let picture = ["-f", "lavfi", "-i", "testsrc=size=160x120:rate=25:duration=2"];
    let tone = ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=2"];
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-nostdin", "-y"]).args(picture).args(tone).args(["-shortest"]);
    let output = command.args(options).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Eight seconds of noise: far more than is read ahead.
pub(crate) fn noise(path: &Path, coding: &[&str]) {
    let picture = "testsrc=size=320x240:rate=25:duration=8,noise=alls=100:allf=t";
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", picture]);
    let output = command.args(coding).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A picture that every browser plays.
pub(crate) const H264: [&str; 8] =
    ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "25"];
