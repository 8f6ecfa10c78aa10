//! What live calls need of the machine.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// Programs that make network namespaces, and their Debian packages.
const PROGRAMS: [(&str, &str); 4] = [
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
    ("setpriv", "util-linux"),
    ("unshare", "util-linux"),
];
/// Where Debian keeps what administrators run, not on everyone's path.
const SBIN: &str = "/usr/sbin:/sbin";

/// The path on which programs are looked for.
pub(super) fn search_path() -> String {
    let path = env::var("PATH").unwrap_or_default();
    format!("{path}:{SBIN}")
}

/// Refuses, in words, where calls cannot be run live.
pub(in super::super) fn check() -> Result<(), Failure> {
    let path = search_path();
    let has =
        |program: &str| path.split(':').any(|folder| Path::new(folder).join(program).exists());
    match lacking(rustix::process::geteuid().is_root(), has).or_else(|| no_namespace(&path)) {
        Some(words) => Err(Failure::usage(words)),
        None => Ok(()),
    }
}

fn lacking(is_root: bool, has: impl Fn(&str) -> bool) -> Option<String> {
    if let Some((program, package)) = PROGRAMS.into_iter().find(|(program, _)| !has(program)) {
        return Some(format!("--live needs the program {program}: apt install {package}"));
    }
    (!is_root).then(|| {
        "--live needs root, for network namespaces: run it by sudo, or as unshare --user \
         --map-root-user --net anabranch lab chang2010 --live"
            .to_owned()
    })
}

/// Containers often have a root who may not make any.
fn no_namespace(path: &str) -> Option<String> {
    let mut unshare = Command::new("unshare");
    unshare.args(["--net", "true"]).env("PATH", path).stdin(Stdio::null()).stderr(Stdio::null());
    let is_made = unshare.status().is_ok_and(|status| status.success());
    (!is_made).then(|| {
        "--live needs network namespaces, and this system lets nobody make one: run it where \
         unshare --net true works"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_in_words() {
        assert_eq!(lacking(true, |_| true), None);
        for (is_root, absent, words) in [
            (true, "ip", "--live needs the program ip: apt install iproute2"),
            (false, "setpriv", "--live needs the program setpriv: apt install util-linux"),
            (false, "", "--live needs root, for network namespaces: run it by sudo, or as unshare"),
        ] {
            let said = lacking(is_root, |program| program != absent).unwrap();
            assert!(said.starts_with(words), "{said}");
        }
    }
}
