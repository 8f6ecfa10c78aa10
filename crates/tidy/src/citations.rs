//! One form for citing RFCs: number, then section.

use crate::files::{assert_none, written_in};

#[test]
fn rfcs_are_cited_in_one_form() {
    let mut faults = Vec::new();
    for file in written_in(&["rs", "ts", "tsx", "md", "sh", "py"]) {
        if file.path == "crates/tidy/src/citations.rs" {
            continue;
        }
        for (number, line) in file.numbered() {
            if let Some(fault) = fault(line) {
                faults.push(format!("{}:{number}: {fault}", file.path));
            }
        }
    }
    assert_none(faults);
}

/// What is wrong with a line's citations. In square brackets they are an RFC's own words.
fn fault(line: &str) -> Option<&'static str> {
    if line.contains('§') {
        return Some("write `RFC 9260 section 6.7`, without §");
    }
    line.match_indices("RFC").find_map(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + 3..]);
        if before.ends_with(['[', '_']) || before.ends_with(char::is_alphanumeric) {
            return None;
        }
        number_fault(after)
    })
}

/// `after` is what follows the letters.
fn number_fault(after: &str) -> Option<&'static str> {
    if after.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return Some("write `RFC 9260`, with a space");
    }
    let rest = after.strip_prefix(' ')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let behind = &rest[digits..];
    let wrong = [", section", ", Section", " Section", " sec.", " Sec"];
    if digits > 0 && wrong.iter().any(|wrong| behind.starts_with(wrong)) {
        return Some("write `RFC 9260 section 6.7`");
    }
    None
}

#[test]
fn other_forms_are_found() {
    let wrong = [
        "RFC9260 section 6.7",
        "RFC-9260",
        "RFC 9260, section 6.7",
        "RFC 9260 Section 6.7",
        "RFC 9260 Sec. 6.7",
        "RFC 9260 §6.7",
    ];
    assert_eq!(wrong.map(|line| fault(line).is_some()), [true; 6]);
    let right = [
        "RFC 9260 section 6.7: \"If …\"",
        "as RFC 9260 says, and RFC 8260",
        "\"see [RFC4960] Section 6\"",
        "an RFC's words",
        "const MAX_RFC1982: u32 = 1;",
    ];
    assert_eq!(right.map(fault), [None; 5]);
}
