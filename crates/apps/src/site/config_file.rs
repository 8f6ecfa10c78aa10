//! Files in TOML that say what is served, and what is wrong with them.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use thiserror::Error;

/// What is wrong with a file that says what is served.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read {file}: {message}")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's words.
        message: String,
    },
    /// It is no TOML, or has what nobody knows.
    #[error("{file}, line {line}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// Where.
        line: usize,
        /// The parser's words.
        message: String,
    },
    /// A channel or a room makes no sense.
    #[error("{file}, line {line}, {key}: {what}")]
    Entry {
        /// The file.
        file: String,
        /// Where the entry begins.
        line: usize,
        /// Which of its keys.
        key: &'static str,
        /// What is wrong, and what would be right.
        what: String,
    },
}

/// A file as it was read.
pub(crate) struct TextFile {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) folder: PathBuf,
}

impl TextFile {
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable {
            file: name.clone(),
            message: error.to_string(),
        })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self { name, text, folder })
    }
}

/// Reads the text of a file of this name.
pub(crate) fn read_toml<T: DeserializeOwned>(text: &str, file: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error| ConfigError::Syntax {
        file: file.to_owned(),
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    })
}

/// In which line a byte stands.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}
