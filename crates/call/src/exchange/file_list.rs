//! [`FileList`]: which files there are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::MemberNumber;
use super::blocks::{BlockId, FILE_LEN_MAX, FileNumber, block_len};

/// Files that there are at once.
pub const FILES_MAX: usize = 100;

/// Hexadecimal digits of SHA-256.
const SHA256_DIGITS: usize = 64;

/// A file that a member has for who wants it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its number.
    pub file: FileNumber,
    /// Who has it.
    pub member: MemberNumber,
    /// What it is called: no path.
    pub name: String,
    /// Its bytes.
    pub size: u64,
    /// Their SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// The files that members have for each other.
#[derive(Debug, Default)]
pub struct FileList {
    files: BTreeMap<FileNumber, FileEntry>,
}

impl FileList {
    /// All of them.
    #[must_use]
    pub fn list(&self) -> Vec<FileEntry> {
        self.files.values().cloned().collect()
    }

    /// Takes a file; returns it, or the one that is known where its member has these bytes already.
    ///
    /// # Errors
    /// Says in a sentence what is wrong with it.
    pub fn add(&mut self, entry: FileEntry) -> Result<FileEntry, String> {
        let FileEntry { file, member, size, ref sha256, .. } = entry;
        if !(1..=FILE_LEN_MAX).contains(&size) {
            return Err(format!("A file has 1 to {FILE_LEN_MAX} bytes, not {size}."));
        }
        let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if sha256.len() != SHA256_DIGITS || !sha256.chars().all(is_hex) {
            return Err("What it comes with is no SHA-256.".to_owned());
        }
        let mut known = self.files.values();
        if let Some(known) = known.find(|it| it.member == member && it.sha256 == *sha256) {
            return Ok(known.clone());
        }
        if self.files.len() >= FILES_MAX {
            return Err(format!(
                "There are {FILES_MAX} files already: somebody has to remove one."
            ));
        }
        if self.files.contains_key(&file) {
            return Err(format!("There is a file {} already.", file.0));
        }
        self.files.insert(file, entry.clone());
        Ok(entry)
    }

    /// Forgets the files of who left.
    pub fn forget(&mut self, member: MemberNumber) {
        self.files.retain(|_, file| file.member != member);
    }

    /// This member has a file no longer; false if it had none of that number.
    pub fn remove(&mut self, file: FileNumber, member: MemberNumber) -> bool {
        let is_its = self.files.get(&file).is_some_and(|entry| entry.member == member);
        is_its && self.files.remove(&file).is_some()
    }

    /// Who has a file, and how long this block of it is; `None` if it has no such block.
    #[must_use]
    pub fn owner(&self, block: BlockId) -> Option<(MemberNumber, Option<usize>)> {
        let file = self.files.get(&block.file)?;
        Some((file.member, block_len(file.size, block.index)))
    }
}
