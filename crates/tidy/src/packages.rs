//! Rules on packages: ours, and those we depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;
use spdx::{Expression, ParseMode};

use crate::files::{assert_none, root};

/// Licences that fit both of ours.
const LICENCES: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
];

/// Packages that are built in several versions, and who holds on to the older. The list only
/// shrinks.
const DUPLICATES: [(&str, &str); 0] = [];

/// Crates without a clock, I/O or hash maps: their linter holds the seam.
const SANS_IO: [&str; 5] = ["media", "netsim", "sansio", "sctp", "wire"];

#[test]
fn each_of_our_packages_says_what_it_is_and_takes_the_common_lints() {
    let mut faults = Vec::new();
    for package in ours() {
        let name = text(&package["name"]);
        let manifest = fs::read_to_string(text(&package["manifest_path"])).unwrap();
        if package["description"].is_null() {
            faults.push(format!("{name}: no description"));
        }
        if !manifest.contains("[lints]\nworkspace = true") {
            faults.push(format!("{name}: no `[lints] workspace = true`"));
        }
        if package["publish"] != Value::Array(Vec::new()) {
            faults.push(format!("{name}: no `publish.workspace = true`"));
        }
    }
    assert_none(faults);
}

#[test]
fn crates_without_io_share_the_linter_settings_that_hold_the_seam() {
    let settings = |name: &str| fs::read(root().join("crates").join(name).join("clippy.toml")).ok();
    let exists = |name: &&str| root().join("crates").join(name).join("Cargo.toml").exists();
    let differs = |name: &&str| settings(name) != settings("sansio");
    let faults = SANS_IO.into_iter().filter(exists).filter(differs);
    assert_none(faults.map(|name| format!("crates/{name}/clippy.toml is not sansio's")).collect());
}

#[test]
fn every_licence_fits_ours() {
    let unfit = packages().iter().filter(|package| !fits(package["license"].as_str()));
    assert_none(
        unfit.map(|package| format!("{}: {}", package["name"], package["license"])).collect(),
    );
}

#[test]
fn no_package_is_built_twice() {
    let mut versions = BTreeMap::<_, BTreeSet<_>>::new();
    for package in packages() {
        versions.entry(text(&package["name"])).or_default().insert(text(&package["version"]));
    }
    versions.retain(|_, versions| versions.len() > 1);
    let twice: Vec<_> = versions.keys().copied().collect();
    assert_eq!(twice, DUPLICATES.map(|(name, _)| name), "in versions {versions:?}");
}

#[test]
fn packages_come_from_the_common_registry_only() {
    let sources: BTreeSet<_> =
        packages().iter().filter_map(|package| package["source"].as_str()).collect();
    assert!(sources.len() <= 1, "{sources:?}");
    let lock = fs::read_to_string(root().join("web/package-lock.json")).unwrap_or_default();
    let resolved = lock.lines().filter(|line| line.contains("\"resolved\""));
    assert_none(resolved.map(|line| format!("web/package-lock.json:{line}")).collect());
}

/// The main file of each of our packages' targets.
pub(crate) fn target_roots() -> Vec<PathBuf> {
    let targets = ours().flat_map(|package| package["targets"].as_array().into_iter().flatten());
    targets.map(|target| PathBuf::from(text(&target["src_path"])).canonicalize().unwrap()).collect()
}

/// The main file of each fuzz target; `fuzz/` is a workspace of its own.
pub(crate) fn fuzz_targets() -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(root().join("fuzz/fuzz_targets")) else {
        return Vec::new();
    };
    folder.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect()
}

fn ours() -> impl Iterator<Item = &'static Value> {
    packages().iter().filter(|package| package["source"].is_null())
}

/// All packages that a build on this machine takes, as `cargo metadata` lists them.
fn packages() -> &'static [Value] {
    static METADATA: LazyLock<Value> = LazyLock::new(|| {
        let cargo = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version=1", "--locked", "--offline"])
            .args(["--filter-platform", &host()])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
        serde_json::from_slice(&cargo.stdout).unwrap()
    });
    METADATA["packages"].as_array().unwrap()
}

fn host() -> String {
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(rustc.stdout).unwrap();
    version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn fits(licence: Option<&str>) -> bool {
    let parsed = licence.map(|licence| Expression::parse_mode(licence, ParseMode::LAX));
    let Some(Ok(expression)) = parsed else {
        return false;
    };
    expression.evaluate(|requirement| {
        let id = requirement.license.id().map(|id| id.name);
        id.is_some_and(|id| LICENCES.contains(&id))
    })
}

#[test]
fn a_licence_fits_if_one_of_its_alternatives_does() {
    assert!(fits(Some("GPL-3.0-only OR MIT")));
    assert!(fits(Some("MIT/Apache-2.0")));
    assert!(fits(Some("(MIT OR Apache-2.0) AND Unicode-3.0")));
    assert!(!fits(Some("MIT AND GPL-3.0-only")));
    assert!(!fits(None));
}
