//! The words that rules look for, apart from the rules so that those pass themselves.

/// Marks of work left undone, and of tests left out.
pub(crate) const MARKERS: [&str; 11] = [
    "TODO",
    "FIXME",
    "XXX",
    "HACK",
    "todo!",
    "unimplemented!",
    "#[ignore",
    "it.skip(",
    "test.skip(",
    "describe.skip(",
    ".only(",
];
