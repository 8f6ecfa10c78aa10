//! Rules on packages: ours, and those we depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;
use spdx::{Expression, ParseMode};

use crate::files::{assert_none, paths, root};

/// Licences that fit both of ours.
const LICENCES: &[&str] = &[
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

/// Packages that are built in several versions, and who holds on to the older. The list is to
/// shrink.
const DUPLICATES: &[(&str, &str)] = &[
    ("block-buffer", "digest"),
    ("cpufeatures", "sha1, for axum"),
    ("crypto-common", "digest"),
    ("digest", "crc-fast"),
    ("getrandom", "ring and rand_core"),
    ("hmac", "spake2"),
    ("num-bigint", "mp4-atom"),
    ("quinn-udp", "quinn, in the benchmark"),
    ("rand", "sctp-proto, in tests"),
    ("rand_chacha", "rand"),
    ("rand_core", "rand"),
    ("sha1", "axum"),
    ("sha2", "spake2"),
    ("signature", "jsonwebtoken"),
    ("syn", "rust-embed and tracing"),
    ("thiserror", "rtp-types"),
    ("thiserror-impl", "thiserror"),
    ("untrusted", "aws-lc-rs"),
];

/// Packages that serve this repository alone, and one that is a wheel. All others are published.
const UNPUBLISHED: [&str; 6] = [
    "anabranch-bench",
    "anabranch-interop",
    "anabranch-load",
    "anabranch-peers",
    "anabranch-python",
    "anabranch-tidy",
];

/// What builds a protocol or drives it, and what none of it forces on whoever takes it.
const FOR_PROTOCOLS: [&str; 11] = [
    "congestion",
    "dccp",
    "driver",
    "keys",
    "media",
    "netsim",
    "sansio",
    "sctp",
    "tcp",
    "transport",
    "wire",
];
const BY_FEATURE_ONLY: [&str; 3] = ["serde", "serde_json", "toml"];

/// What the registry takes: keywords of a package, and characters of a keyword.
const KEYWORDS_MAX: usize = 5;
const KEYWORD_LEN_MAX: usize = 20;

/// Crates that carry media over any transport that `anabranch-transport` describes.
const ABOVE_THE_SEAM: [&str; 7] = [
    "anabranch-apps",
    "anabranch-call",
    "anabranch-films",
    "anabranch-media",
    "anabranch-rooms",
    "anabranch-session",
    "anabranch-television",
];

/// Crates of single protocols.
const BELOW_THE_SEAM: [&str; 4] =
    ["anabranch-dccp", "anabranch-sctp", "anabranch-tcp", "anabranch-wire"];

/// Crates without a clock, I/O or hash maps: their linter holds the seam.
const SANS_IO: [&str; 14] = [
    "call",
    "congestion",
    "dccp",
    "media",
    "netsim",
    "rooms",
    "rtc",
    "sansio",
    "sctp",
    "session",
    "tcp",
    "television",
    "transport",
    "wire",
];

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
    }
    assert_none(faults);
}

#[test]
fn what_serves_this_repository_alone_is_never_published_and_all_else_is() {
    let is_kept = |package: &&Value| package["publish"] == Value::Array(Vec::new());
    let kept: BTreeSet<_> = ours().filter(is_kept).map(|package| text(&package["name"])).collect();
    assert_eq!(kept, BTreeSet::from(UNPUBLISHED), "those with `publish = false`");
}

#[test]
fn each_published_package_is_ready_for_the_registry() {
    let mut faults = Vec::new();
    for package in ours().filter(|package| !UNPUBLISHED.contains(&text(&package["name"]))) {
        let name = text(&package["name"]);
        let folder = Path::new(text(&package["manifest_path"])).parent().unwrap();
        let manifest = fs::read_to_string(text(&package["manifest_path"])).unwrap();
        if !manifest.contains("include.workspace = true") {
            faults.push(format!("{name}: no `include.workspace = true`"));
        }
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            if fs::read(folder.join(licence)).ok() != fs::read(root().join(licence)).ok() {
                faults.push(format!("{name}: {licence} is no link to ../../{licence}"));
            }
        }
        if !(1..=KEYWORDS_MAX).contains(&words(&package["keywords"]).count()) {
            faults.push(format!("{name}: give 1 to {KEYWORDS_MAX} keywords"));
        }
        if let Some(long) = words(&package["keywords"]).find(|word| word.len() > KEYWORD_LEN_MAX) {
            faults.push(format!("{name}: the keyword {long} has over {KEYWORD_LEN_MAX} letters"));
        }
        if words(&package["categories"]).count() == 0 {
            faults.push(format!("{name}: no categories"));
        }
        faults.extend(unversioned(package));
    }
    assert_none(faults);
}

#[test]
fn who_takes_a_protocol_gets_no_serializer_unasked() {
    let mut faults = Vec::new();
    for name in FOR_PROTOCOLS {
        let package = format!("--package=anabranch-{name}");
        let tree = cargo(&["tree", &package, "--edges=normal", "--prefix=none", "--format={p}|"]);
        let packages = tree.lines().filter_map(parse_built).map(|package| package.name);
        let forced = packages.filter(|package| BY_FEATURE_ONLY.contains(&package.as_str()));
        faults.extend(forced.map(|forced| format!("anabranch-{name} forces {forced}")));
    }
    assert_none(faults);
}

#[test]
fn media_knows_transports_by_their_seam_alone() {
    let mut faults = Vec::new();
    for package in ours().filter(|package| ABOVE_THE_SEAM.contains(&text(&package["name"]))) {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let built_in = dependencies.filter(|dependency| dependency["kind"] != "dev");
        let below = built_in.filter(|it| BELOW_THE_SEAM.contains(&text(&it["name"])));
        faults.extend(below.map(|it| format!("{} needs {}", package["name"], it["name"])));
    }
    assert_none(faults);
}

#[test]
fn each_published_package_has_a_readme_whose_examples_are_tests() {
    let mut faults = Vec::new();
    for package in ours().filter(|package| !UNPUBLISHED.contains(&text(&package["name"]))) {
        let name = text(&package["name"]);
        let folder = Path::new(text(&package["manifest_path"])).parent().unwrap();
        let readme = fs::read_to_string(folder.join("README.md")).unwrap_or_default();
        if !readme.starts_with(&format!("# {name}\n")) {
            faults.push(format!("{name}: no README.md that begins with \"# {name}\""));
        }
        // Of a program, the README shows commands.
        let Ok(library) = fs::read_to_string(folder.join("src/lib.rs")) else { continue };
        if !readme.contains("\n```rust") {
            faults.push(format!("{name}: no example in README.md"));
        }
        if !library.contains("#[cfg(doctest)]\n#[doc = include_str!(\"../README.md\")]") {
            faults.push(format!("{name}: src/lib.rs does not make the README's examples tests"));
        }
    }
    assert_none(faults);
}

/// Dependencies by path alone, which the registry could not resolve.
fn unversioned(package: &Value) -> impl Iterator<Item = String> {
    let name = text(&package["name"]);
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let needed = dependencies.filter(|dependency| dependency["kind"] != "dev");
    let bare = needed.filter(|dependency| dependency["req"] == "*");
    bare.map(move |dependency| format!("{name}: no version of {}", dependency["name"]))
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
    let unfit = built().into_iter().filter(|package| !fits(&package.licence));
    assert_none(unfit.map(|package| format!("{}: {}", package.name, package.licence)).collect());
}

#[test]
fn no_package_is_built_twice() {
    let mut versions = BTreeMap::<_, BTreeSet<_>>::new();
    for package in built() {
        versions.entry(package.name).or_default().insert(package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let listed = DUPLICATES.iter().map(|(name, _)| name);
    assert!(versions.keys().eq(listed), "list these, or better get rid of one: {versions:#?}");
}

#[test]
fn packages_come_from_the_common_registry_only() {
    let locks = paths().into_iter().filter(|path| path.ends_with("Cargo.lock"));
    let locks =
        locks.map(|path| fs::read_to_string(root().join(path)).unwrap()).collect::<String>();
    let sources: BTreeSet<_> = locks.lines().filter(|line| line.starts_with("source")).collect();
    assert_eq!(sources.len(), 1, "{sources:?}");
    // Without addresses, npm takes packages from wherever this machine is told to.
    let lock = fs::read_to_string(root().join("web/package-lock.json")).unwrap();
    assert!(!lock.contains("\"resolved\""), "web/package-lock.json holds addresses");
}

/// The main file of each of our packages' targets.
pub(crate) fn target_roots() -> Vec<PathBuf> {
    let targets = ours().flat_map(|package| package["targets"].as_array().into_iter().flatten());
    targets.map(|target| PathBuf::from(text(&target["src_path"])).canonicalize().unwrap()).collect()
}

/// The main file of each fuzz target. `fuzz/` is a workspace of its own.
pub(crate) fn fuzz_targets() -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(root().join("fuzz/fuzz_targets")) else {
        return Vec::new();
    };
    folder.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect()
}

/// Our packages, as `cargo metadata` describes them.
fn ours() -> impl Iterator<Item = &'static Value> {
    static METADATA: LazyLock<Value> = LazyLock::new(|| {
        serde_json::from_str(&cargo(&["metadata", "--format-version=1", "--no-deps"])).unwrap()
    });
    METADATA["packages"].as_array().unwrap().iter()
}

/// A package that a build on this machine takes.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Built {
    name: String,
    version: String,
    licence: String,
}

fn built() -> BTreeSet<Built> {
    let tree = cargo(&["tree", "--workspace", "--prefix=none", "--format={p}|{l}"]);
    tree.lines().filter_map(parse_built).collect()
}

/// `line` is like `bytes v1.12.1|MIT`, with ` (proc-macro)` before or ` (*)` behind; or it is empty
/// between two of our packages.
fn parse_built(line: &str) -> Option<Built> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split(' ').map(str::to_owned);
    Some(Built {
        name: words.next()?,
        version: words.next()?,
        licence: licence.trim_end_matches(" (*)").to_owned(),
    })
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--locked", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn words(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().map(text)
}

fn fits(licence: &str) -> bool {
    let Ok(expression) = Expression::parse_mode(licence, ParseMode::LAX) else {
        return false;
    };
    expression.evaluate(|requirement| {
        let id = requirement.license.id().map(|id| id.name);
        id.is_some_and(|id| LICENCES.contains(&id))
    })
}

#[test]
fn a_licence_fits_if_one_of_its_alternatives_does() {
    assert!(fits("GPL-3.0-only OR MIT"));
    assert!(fits("MIT/Apache-2.0"));
    assert!(fits("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(!fits("MIT AND GPL-3.0-only"));
    assert!(!fits(""));
}
