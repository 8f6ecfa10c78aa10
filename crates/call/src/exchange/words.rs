//! Words of others: what of them may be shown, printed, and be the name of a file.

use anabranch_session::printable;
use serde::{Deserialize, Serialize};

use super::MemberNumber;

/// Characters of a text that somebody wrote.
pub const TEXT_CHARS_MAX: usize = 2_000;

/// Characters of a file's name.
pub const FILE_NAME_CHARS_MAX: usize = 120;

/// Something that somebody wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextLine {
    /// Who, by name: the member may be gone.
    pub name: String,
    /// Who, by number.
    pub member: MemberNumber,
    /// When, in microseconds: on the clock of the room, in a call of two on that of who shows it.
    pub at_us: u64,
    /// What.
    pub text: String,
}

/// The name of a file that lies in whatever folder one likes: neither a path nor hidden, and of no
/// other type than it looks.
#[must_use]
pub fn file_name(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let name = printable(text).replace(turns, "").replace(['/', '\\', ':'], "_");
    let name = name.trim().trim_start_matches('.');
    let name: String = name.chars().take(FILE_NAME_CHARS_MAX).collect();
    if name.is_empty() { "file".to_owned() } else { name }
}

/// Words of several lines, without what a terminal would act on.
#[must_use]
pub fn readable(text: &str) -> String {
    let is_shown = |c: &char| *c == '\n' || !c.is_control();
    text.trim().chars().filter(is_shown).take(TEXT_CHARS_MAX).collect()
}
