//! Files of a user's programs.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Characters of a line of PEM (RFC 7468 section 2).
const PEM_LINE: usize = 64;

/// Where programs of a user keep what they made, without a file beside which it could lie.
pub(crate) fn state_folder() -> PathBuf {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || Some(std::env::home_dir()?.join(".local/state"));
    state.filter(|it| it.is_absolute()).or_else(home).unwrap_or_default().join("anabranch")
}

/// A DER structure as text (RFC 7468).
pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut lines = vec![format!("-----BEGIN {label}-----")];
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(PEM_LINE));
        lines.push(line.to_owned());
        rest = after;
    }
    lines.push(format!("-----END {label}-----\n"));
    lines.join("\n")
}
