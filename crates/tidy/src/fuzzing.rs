//! Rules on the fuzz targets.

use std::fs;

use crate::files::{assert_none, root};
use crate::packages::fuzz_targets;

#[test]
fn every_fuzz_target_is_built_and_starts_from_a_committed_corpus() {
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap_or_default();
    let mut faults = Vec::new();
    for target in fuzz_targets() {
        let name = target.file_stem().unwrap().to_str().unwrap();
        if !manifest.contains(&format!("name = \"{name}\"")) {
            faults.push(format!("fuzz/Cargo.toml: no target {name}"));
        }
        let corpus = fs::read_dir(root().join("fuzz/corpus").join(name));
        if !corpus.is_ok_and(|mut entries| entries.next().is_some()) {
            faults.push(format!("fuzz/corpus/{name}: empty"));
        }
    }
    assert_none(faults);
}
