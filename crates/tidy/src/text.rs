//! Rules on lines and files of any language.

use crate::files::{assert_none, written_in};
use crate::markers::MARKERS;

const WIDTH_MAX: usize = 100;
const FILE_LINES_MAX: usize = 900;

/// Code: prose wraps in whatever shows it, and settings hold sentences as single values.
const CODE: [&str; 7] = ["rs", "ts", "tsx", "css", "html", "sh", "py"];

/// What people write.
const TEXT: [&str; 9] = ["rs", "ts", "tsx", "css", "html", "sh", "py", "md", "toml"];

#[test]
fn no_line_is_wider_than_a_hundred_characters() {
    let mut faults = Vec::new();
    for file in written_in(&CODE) {
        for (number, line) in file.numbered() {
            let width = line.chars().count();
            if width > WIDTH_MAX && !line.contains("://") {
                faults.push(format!("{}:{number}: {width} characters", file.path));
            }
        }
    }
    assert_none(faults);
}

#[test]
fn no_file_is_longer_than_a_person_holds_in_mind() {
    let mut faults = Vec::new();
    for file in written_in(&CODE) {
        let lines = file.text.lines().count();
        if lines > FILE_LINES_MAX {
            faults.push(format!("{}: {lines} lines: split it by theme", file.path));
        }
    }
    assert_none(faults);
}

#[test]
fn no_unfinished_work_is_marked() {
    let mut faults = Vec::new();
    for file in written_in(&TEXT) {
        if file.path == "crates/tidy/src/markers.rs" {
            continue;
        }
        for (number, line) in file.numbered() {
            if let Some(marker) = marker(line) {
                faults.push(format!("{}:{number}: {marker}", file.path));
            }
        }
    }
    assert_none(faults);
}

#[test]
fn lines_end_without_blanks_and_files_with_a_newline() {
    let mut faults = Vec::new();
    for file in written_in(&TEXT) {
        for (number, line) in file.numbered() {
            if line.ends_with([' ', '\t', '\r']) {
                faults.push(format!("{}:{number}: blanks at the end", file.path));
            }
        }
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            faults.push(format!("{}: no newline at the end", file.path));
        }
    }
    assert_none(faults);
}

/// The first marker in a line that stands as a word of its own.
fn marker(line: &str) -> Option<&'static str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let stands_alone = |marker: &str| {
        line.match_indices(marker).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + marker.len()..].chars().next();
            let [first, last] = [marker.chars().next(), marker.chars().next_back()];
            let joined =
                |a: Option<char>, b: Option<char>| a.is_some_and(is_word) && b.is_some_and(is_word);
            !joined(before, first) && !joined(last, after)
        })
    };
    MARKERS.into_iter().find(|marker| stands_alone(marker))
}

#[test]
fn a_marker_is_found_as_a_word_only() {
    assert!(
        MARKERS.into_iter().all(|marker| self::marker(&format!("x {marker} y")) == Some(marker))
    );
    let [first, ..] = MARKERS;
    assert_eq!(marker(&format!("a{first}b")), None);
    assert_eq!(marker("let skipped = items.iter().skip(1);"), None);
}
