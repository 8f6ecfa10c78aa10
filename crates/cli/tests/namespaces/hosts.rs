//! [`Host`]: a network namespace that lives as long as its test.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// A network namespace, held by a process that sleeps in it.
pub(crate) struct Host {
    holder: Child,
}

/// A wire between two hosts: an interface of this name at each, with an address.
pub(crate) struct Wire<'a> {
    pub(crate) name: &'a str,
    pub(crate) addresses: [&'a str; 2],
}

/// The link-layer addresses of a wire's two ends.
const LINK_LAYER: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];

/// Two hosts with these wires between them.
pub(crate) fn two_hosts(wires: &[Wire<'_>]) -> [Host; 2] {
    let first = Host::new(unshare());
    let second = Host::new(first.inside("unshare", &["--net"]));
    let hosts = [first, second];
    for wire in wires {
        let [first, second] = &hosts;
        let peer = second.holder.id().to_string();
        let name = wire.name;
        let near = ["link", "add", name, "address", LINK_LAYER[0], "type", "veth"];
        let far = ["peer", "name", name, "address", LINK_LAYER[1], "netns", &peer];
        first.ip(&[near, far].concat());
        for (host, address) in hosts.iter().zip(wire.addresses) {
            let is_v6 = address.contains(':');
            let nodad: &[_] = if is_v6 { &["nodad"] } else { &[] };
            host.ip(&[&["address", "add", address, "dev", name], nodad].concat());
            host.set_link(name, "up");
        }
        wire.introduce(&hosts);
    }
    hosts
}

impl Wire<'_> {
    /// Each host knows the other from the start: a question that is lost while a wire comes up is
    /// asked again after a second only, and the wire would be slow to begin with.
    pub(crate) fn introduce(&self, hosts: &[Host; 2]) {
        for (host, peer) in [(0, 1), (1, 0)] {
            let (address, _) = self.addresses[peer].split_once('/').unwrap();
            let entry = ["neighbour", "replace", address, "lladdr", LINK_LAYER[peer]];
            hosts[host].ip(&[&entry[..], &["dev", self.name, "nud", "permanent"]].concat());
        }
    }
}

impl Host {
    /// `unshare` makes the namespace and goes on as the command behind it.
    fn new(mut unshare: Command) -> Self {
        let holder = unshare.args(["sh", "-c", "echo here && exec sleep infinity"]);
        let mut holder = holder.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        let stdout = holder.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut said).unwrap();
        assert_eq!(
            said, "here\n",
            "no network namespace: is this root, or are user namespaces on?"
        );
        let host = Self { holder };
        host.set_link("lo", "up");
        host
    }

    /// A command that will run on this host.
    pub(crate) fn command(&self, program: &Command) -> Command {
        let mut inside = self.inside(program.get_program().to_str().unwrap(), &[]);
        inside.args(program.get_args()).env_remove("RUST_LOG").stdin(Stdio::null());
        inside
    }

    /// Takes an interface `up` or `down`.
    pub(crate) fn set_link(&self, name: &str, state: &str) {
        self.ip(&["link", "set", name, state]);
    }

    pub(crate) fn ip(&self, arguments: &[&str]) {
        let status = self.inside("/usr/sbin/ip", arguments).status().unwrap();
        assert!(status.success(), "ip {arguments:?}: {status}");
    }

    /// Bytes that an interface has sent.
    pub(crate) fn sent_over(&self, name: &str) -> u64 {
        let file = format!("/sys/class/net/{name}/statistics/tx_bytes");
        // The interfaces below /sys are those of the network in which it was mounted.
        let read = format!("mount -t sysfs sysfs /sys && cat {file}");
        let output = self.inside("unshare", &["--mount", "sh", "-c", &read]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    }

    fn inside(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
        command.args(["--target", &self.holder.id().to_string(), "--net"]);
        if !is_root() {
            command.args(["--user", "--preserve-credentials"]);
        }
        command.arg("--").arg(program).args(arguments);
        command
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The namespace, its interfaces and the wires go with the last process in it.
        let _ended = self.holder.kill();
        let _ended = self.holder.wait();
    }
}

/// A command that can mount file systems which nobody else sees.
pub(crate) fn in_own_mounts(program: &str) -> Command {
    let mut command = in_own("--mount");
    command.arg(program);
    command
}

/// A command on a host of its own, that can make further ones.
pub(crate) fn in_own_network(program: &Command) -> Command {
    let mut command = unshare();
    command.arg(program.get_program()).args(program.get_args());
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR")).env_remove("RUST_LOG");
    command.stdin(Stdio::null());
    command
}

fn unshare() -> Command {
    in_own("--net")
}

/// Root gets a namespace of this kind; others together with a user namespace in which they are
/// root.
fn in_own(kind: &str) -> Command {
    let mut unshare = Command::new("unshare");
    unshare.arg(kind);
    if !is_root() {
        unshare.args(["--user", "--map-root-user"]);
    }
    unshare
}

fn is_root() -> bool {
    let output = Command::new("id").arg("--user").output().unwrap();
    output.stdout == b"0\n"
}
