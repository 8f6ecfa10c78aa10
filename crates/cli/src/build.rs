//! The build script: tells the program what it is built of, as `ANABRANCH_VERSION`.
//!
//! That is the package's version and the commit, with a hash of what was changed since, if anything
//! was: results that `lab run` keeps are those of one build. A package from a registry has the
//! commit in a file; who builds from something else can say it in the variable `ANABRANCH_COMMIT`.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Digits of a commit that are shown.
const DIGITS: usize = 12;

fn main() -> io::Result<()> {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let mut out = io::stdout();
    writeln!(out, "cargo:rerun-if-env-changed=ANABRANCH_COMMIT")?;
    let (commit, watched) = match (env::var("ANABRANCH_COMMIT"), of_package(&package)) {
        (Ok(commit), _) | (_, Some(commit)) => (Some(commit), vec![package.join("Cargo.toml")]),
        _ => (of_repository(&package), files(&package)),
    };
    for file in watched.iter().filter(|file| file.exists()) {
        writeln!(out, "cargo:rerun-if-changed={}", file.display())?;
    }
    let version = commit.map_or_else(|| version.clone(), |commit| format!("{version} ({commit})"));
    writeln!(out, "cargo:rustc-env=ANABRANCH_VERSION={version}")
}

/// The commit that cargo wrote down when it made a package.
fn of_package(package: &Path) -> Option<String> {
    let text = fs::read_to_string(package.join(".cargo_vcs_info.json")).ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    let commit: String = rest.chars().skip_while(|c| !c.is_ascii_hexdigit()).collect();
    commit.get(..DIGITS).map(str::to_owned)
}

/// The commit of the repository that the package lies in, with a hash of what differs from it.
fn of_repository(package: &Path) -> Option<String> {
    // The package could lie in somebody else's repository, which does not know it.
    git(package, &["ls-files", "--error-unmatch", "Cargo.toml"])?;
    let commit = git(package, &["rev-parse", "HEAD"])?;
    let commit = commit.get(..DIGITS)?;
    let root = PathBuf::from(git(package, &["rev-parse", "--show-toplevel"])?.trim_end());
    let mut changed = git(&root, &["diff", "HEAD", "--", "crates", "Cargo.toml", "Cargo.lock"])?;
    let new = git(&root, &["ls-files", "--others", "--exclude-standard", "crates"])?;
    for file in new.lines() {
        changed += file;
        changed += &String::from_utf8_lossy(&fs::read(root.join(file)).ok()?);
    }
    if changed.is_empty() {
        return Some(commit.to_owned());
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(changed.as_bytes());
    Some(format!("{commit}+{:016x}", hasher.finish()))
}

/// What shows that there is another commit, or a change.
fn files(package: &Path) -> Vec<PathBuf> {
    let of_git = ["HEAD", "logs/HEAD"].map(|file| git(package, &["rev-parse", "--git-path", file]));
    let of_git = of_git.into_iter().flatten().map(|file| package.join(file.trim_end()));
    of_git.chain([package.join("..")]).collect()
}

fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
