//! The repository's files, as every rule reads them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, str};

/// A text file: its path from the repository's root, and what is in it.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn has_extension(&self, extensions: &[&str]) -> bool {
        let extension = Path::new(&self.path).extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    }

    /// The file's lines, counted from 1.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All files that git tracks or would track, except what machines write: locks and built pages.
pub(crate) fn written() -> Vec<File> {
    let read = |path: String| {
        let text = String::from_utf8(fs::read(root().join(&path)).ok()?).ok()?;
        Some(File { path, text })
    };
    paths().into_iter().filter(|path| !is_generated(path)).filter_map(read).collect()
}

/// The written files in these languages.
pub(crate) fn written_in(extensions: &[&str]) -> Vec<File> {
    written().into_iter().filter(|file| file.has_extension(extensions)).collect()
}

/// All paths that git tracks or would track.
pub(crate) fn paths() -> Vec<String> {
    let git = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
    let listed = str::from_utf8(&git.stdout).unwrap();
    // git lists a file that was deleted but not yet committed as such.
    let exists = |path: &&str| root().join(path).is_file();
    listed.split_terminator('\0').filter(exists).map(str::to_owned).collect()
}

fn is_generated(path: &str) -> bool {
    path.ends_with("Cargo.lock")
        || path.ends_with("package-lock.json")
        || path.starts_with("web/dist/")
}

/// Fails with all faults at once, one a line.
#[track_caller]
pub(crate) fn assert_none(faults: Vec<String>) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
