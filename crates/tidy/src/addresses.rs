//! Addresses and paths that people can follow.

use crate::files::{assert_none, written};

/// Hosts that the repository refers to. What is not here rots, or shows where somebody builds.
const HOSTS: &[&str] = &[
    "127.0.0.1",
    "creativecommons.org",
    "datatracker.ietf.org",
    "doi.org",
    "github.com",
    "host",
    "json-schema.org",
    "keepachangelog.com",
    "kubernetes.io",
    "localhost",
    "peach.blender.org",
    "rustup.rs",
    "semver.org",
    "slurm.schedmd.com",
    "www.apache.org",
    "www.bigbuckbunny.org",
    "www.rfc-editor.org",
    "www.w3.org",
];

/// Folders of somebody's machine.
const PRIVATE_FOLDERS: &[&str] = &["/home/", "/root/", "/work/"];

#[test]
fn web_addresses_lead_to_known_hosts() {
    let mut faults = Vec::new();
    for file in written() {
        for (number, line) in file.numbered() {
            for host in hosts(line).filter(|host| !is_known(host)) {
                faults.push(format!("{}:{number}: {host}", file.path));
            }
        }
    }
    assert_none(faults);
}

#[test]
fn no_path_leads_into_somebodys_folder() {
    let mut faults = Vec::new();
    for file in written() {
        if file.path == "crates/tidy/src/addresses.rs" {
            continue;
        }
        for (number, line) in file.numbered() {
            for folder in PRIVATE_FOLDERS.iter().filter(|folder| line.contains(**folder)) {
                faults.push(format!("{}:{number}: {folder}", file.path));
            }
        }
    }
    assert_none(faults);
}

/// The hosts of the web addresses in a line.
fn hosts(line: &str) -> impl Iterator<Item = &str> {
    let addresses = ["http://", "https://"].map(|scheme| line.split(scheme).skip(1));
    let is_host = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    addresses.into_iter().flatten().map(move |rest| {
        let end = rest.find(|c| !is_host(c)).unwrap_or(rest.len());
        rest[..end].trim_end_matches('.')
    })
}

/// Names kept for examples (RFC 6761) and what a program fills in are fine too.
fn is_known(host: &str) -> bool {
    host.is_empty() || host.contains("example") || HOSTS.contains(&host)
}

#[test]
fn hosts_are_taken_from_web_addresses() {
    let line = "see https://example.com/a, http://127.0.0.1:8080 and `http://{address}/`";
    assert_eq!(hosts(line).collect::<Vec<_>>(), ["127.0.0.1", "", "example.com"]);
}
