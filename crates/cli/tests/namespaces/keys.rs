//! The first key where it cannot be kept: on a disk that is full, or that nobody may write to.

use std::path::Path;
use std::process::Output;

use libtest_mimic::Trial;

use crate::harness::program;
use crate::hosts::in_own_mounts;
use crate::trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(a_full_disk_keeps_no_half_key_and_is_named),
        trial(a_home_that_is_read_only_is_named),
    ]
}

fn a_full_disk_keeps_no_half_key_and_is_named() {
    // A page for each folder and file: there is room for no third one.
    let prepare = "dd if=/dev/zero of=\"$1/rest\" bs=4096 count=1 status=none";
    let output = first_key("full", "size=4k", prepare);
    let said = assert_refused(&output);
    assert!(said.contains("No space left on device"), "{said}");
    let left = String::from_utf8(output.stdout).unwrap();
    assert!(left.contains("rest"), "what was there stays: {left}");
    assert!(!left.contains(".new") && !left.contains("key.pem"), "{left}");
}

fn a_home_that_is_read_only_is_named() {
    let output = first_key("read-only", "size=64k", "mount -o remount,ro \"$1\"");
    let said = assert_refused(&output);
    assert!(said.contains("Read-only file system"), "{said}");
}

/// Asks for a key that there is not yet, in a file system of its own; then lists what is there.
fn first_key(name: &str, size: &str, prepare: &str) -> Output {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("home-{name}"));
    std::fs::create_dir_all(&home).unwrap();
    let script = format!(
        "mount -t tmpfs -o {size} tmpfs \"$1\" && mkdir \"$1/anabranch\" && {prepare} && \
         XDG_STATE_HOME=\"$1\" \"$2\" key; status=$?; ls -R \"$1\"; exit $status"
    );
    let mut command = in_own_mounts("sh");
    command.args(["-c", &script, "sh"]).arg(&home).arg(program(&[]).get_program());
    command.output().unwrap()
}

/// The program said what is wrong and what would be right.
fn assert_refused(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("key.pem cannot be written: "), "{said}");
    assert!(said.contains("set XDG_STATE_HOME to a folder that can"), "{said}");
    said
}
