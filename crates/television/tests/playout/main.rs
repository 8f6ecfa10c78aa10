//! Holds the playout to `tests/playout-vectors`, to which the page's engine is held, too
//! (`web/src/television/playout/vectors.test.ts`): what comes in, and what leaves when.
//!
//! Where the rules change on purpose, `ANABRANCH_UPDATE_VECTORS=1 cargo test -p
//! anabranch-television --test playout` writes the files anew.

mod scenario;
mod scenarios;

use std::path::PathBuf;
use std::{env, fs};

const UPDATE: &str = "ANABRANCH_UPDATE_VECTORS";

#[test]
fn what_leaves_when_is_what_the_vectors_say() {
    let scenarios = scenarios::all();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/playout-vectors");
    for scenario in &scenarios {
        let path = folder.join(format!("{}.json", scenario.name));
        let made = scenario.to_json();
        if env::var_os(UPDATE).is_some() {
            fs::write(&path, &made).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap();
        let differs = made.lines().zip(kept.lines()).position(|(made, kept)| made != kept);
        assert!(made == kept, "{}: line {differs:?} and what follows differ", scenario.name);
    }
    let files = fs::read_dir(folder).unwrap().count();
    assert_eq!(files, scenarios.len(), "a vector that nothing makes");
}

#[test]
fn each_vector_shows_what_its_name_says() {
    for scenario in scenarios::all() {
        let outcome = scenario.run();
        let pictures = outcome.counts.pictures;
        let least = if scenario.has_pictures { 10 } else { 0 };
        assert!(pictures >= least, "{}: {pictures} pictures", scenario.name);
        assert!(!outcome.released.is_empty(), "{}", scenario.name);
        (scenario.check)(&outcome);
    }
}
