//! Replays a committed corpus, in the tests of the crate that its target checks.

use std::path::Path;
use std::{fs, io, panic};

/// Checks all files of a target's corpus; a failure names its file.
pub fn replay(target: &str, check: fn(&[u8])) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files = 0;
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let bytes = fs::read(&path)?;
        let passed = panic::catch_unwind(|| check(&bytes)).is_ok();
        assert!(passed, "{} fails", path.display());
        files += 1;
    }
    assert!(files > 0, "{} is empty", folder.display());
    Ok(())
}
