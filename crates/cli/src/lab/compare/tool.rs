//! [`Tool`]: what is compared, and how it is called.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tokio::process::Command;

use crate::failure::Failure;

/// A sender and a receiver of media.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Anabranch,
    /// Our programs over DCCP.
    Dccp,
    Srt,
    Rist,
}

/// What all tools are told where they encrypt.
const PASSPHRASE: &str = "side-by-side-on-one-link";

/// A tool, and whether it encrypts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entrant {
    pub(super) tool: Tool,
    /// Both ends are given one passphrase, and packets are sealed by AES-128.
    pub(super) encrypted: bool,
}

/// Where a tool gets its stream from and where it is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ports {
    /// The sender takes the stream here, by UDP.
    pub(super) input: u16,
    /// Where links listen that lead to the receiver.
    pub(super) links: Vec<u16>,
    /// Where the receiver listens.
    pub(super) receiver: u16,
    /// The receiver hands the stream on there, by UDP.
    pub(super) output: u16,
}

impl Tool {
    pub(super) const ALL: [Self; 4] = [Self::Anabranch, Self::Dccp, Self::Srt, Self::Rist];

    const fn name(self) -> &'static str {
        match self {
            Self::Anabranch => "anabranch",
            Self::Dccp => "dccp",
            Self::Srt => "srt",
            Self::Rist => "rist",
        }
    }

    /// The Debian package that has it.
    pub(super) const fn package(self) -> &'static str {
        match self {
            Self::Anabranch | Self::Dccp => "anabranch",
            Self::Srt => "srt-tools",
            Self::Rist => "rist-tools",
        }
    }

    pub(super) fn is_installed(self) -> bool {
        let programs: &[&str] = match self {
            Self::Anabranch | Self::Dccp => return true,
            Self::Srt => &["srt-live-transmit"],
            Self::Rist => &["ristsender", "ristreceiver"],
        };
        programs.iter().all(|program| find(program).is_some())
    }

    /// Whether it can use two links at once. Debian's SRT is built without bonding.
    pub(super) const fn bonds(self) -> bool {
        match self {
            Self::Anabranch | Self::Dccp | Self::Rist => true,
            Self::Srt => false,
        }
    }

    /// Whether it can encrypt. DCCP has nothing for it.
    pub(super) const fn encrypts(self) -> bool {
        match self {
            Self::Anabranch | Self::Srt | Self::Rist => true,
            Self::Dccp => false,
        }
    }

    /// What our URLs begin with.
    const fn scheme(self) -> &'static str {
        if matches!(self, Self::Dccp) { "anabranch+dccp" } else { "anabranch" }
    }
}

impl Entrant {
    pub(super) fn receiver(self, ports: &Ports, buffer: Duration) -> Result<Command, Failure> {
        let Ports { receiver, output, .. } = ports;
        let (millis, to) = (buffer.as_millis(), format!("udp://127.0.0.1:{output}"));
        let protection = self.protection();
        match self.tool {
            Tool::Anabranch | Tool::Dccp => {
                let scheme = self.tool.scheme();
                let url = format!("{scheme}://:{receiver}?mode=listener&latency={millis}");
                ours(&["recv", "--keep", &(url + &protection), &to])
            }
            Tool::Srt => {
                let url = format!("srt://127.0.0.1:{receiver}?mode=listener&latency={millis}");
                let from = url + &protection;
                Ok(command("srt-live-transmit", &["-c", "1316", &from, &to]))
            }
            Tool::Rist => {
                let from = format!("rist://@127.0.0.1:{receiver}?buffer={millis}{protection}");
                Ok(self.rist("ristreceiver", &["-i", &from, "-o", &to]))
            }
        }
    }

    pub(super) fn sender(self, ports: &Ports, buffer: Duration) -> Result<Command, Failure> {
        let millis = buffer.as_millis();
        let from = format!("udp://127.0.0.1:{}", ports.input);
        let protection = self.protection();
        match self.tool {
            Tool::Anabranch | Tool::Dccp => {
                let url = our_url(self.tool, &ports.links, buffer);
                ours(&["send", &from, &(url + &protection)])
            }
            Tool::Srt => {
                let to = srt_url(&ports.links, buffer) + &protection;
                Ok(command("srt-live-transmit", &["-c", "1316", &from, &to]))
            }
            Tool::Rist => {
                let from = format!("udp://@127.0.0.1:{}", ports.input);
                let peers = ports
                    .links
                    .iter()
                    .map(|port| format!("rist://127.0.0.1:{port}?buffer={millis}{protection}"));
                let to = peers.collect::<Vec<_>>().join(",");
                Ok(self.rist("ristsender", &["-i", &from, "-o", &to]))
            }
        }
    }

    /// What its URLs say of encryption.
    fn protection(self) -> String {
        match (self.tool, self.encrypted) {
            (Tool::Anabranch, false) => "&encryption=off".to_owned(),
            (Tool::Dccp, _) => "&encryption=off&connections=auto".to_owned(),
            (Tool::Srt | Tool::Rist, false) => String::new(),
            (Tool::Anabranch, true) => format!("&passphrase={PASSPHRASE}"),
            (Tool::Srt, true) => format!("&passphrase={PASSPHRASE}&pbkeylen=16"),
            (Tool::Rist, true) => format!("&secret={PASSPHRASE}&aes-type=128"),
        }
    }

    /// One of RIST's programs: it encrypts in its main profile alone.
    fn rist(self, program: &str, arguments: &[&str]) -> Command {
        let mut command = command(program, arguments);
        if self.encrypted {
            command.args(["-p", "1"]);
        }
        command
    }
}

/// Each link is a path of its own from the same host.
fn our_url(tool: Tool, links: &[u16], buffer: Duration) -> String {
    let millis = buffer.as_millis();
    let first = links.first().copied().unwrap_or_default();
    let scheme = tool.scheme();
    let mut url = format!("{scheme}://127.0.0.1:{first}?mode=caller&latency={millis}");
    if let [_, second] = links {
        url += &format!("&path=127.0.0.1,127.0.0.2&peer=127.0.0.1:{second}");
    }
    url
}

fn srt_url(links: &[u16], buffer: Duration) -> String {
    let first = links.first().copied().unwrap_or_default();
    format!("srt://127.0.0.1:{first}?mode=caller&latency={}", buffer.as_millis())
}

fn ours(arguments: &[&str]) -> Result<Command, Failure> {
    let mut command = Command::new(env::current_exe()?);
    command.args(arguments).env_remove("RUST_LOG");
    Ok(command)
}

fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(AsRef::<OsStr>::as_ref(&path))
        .map(|dir| dir.join(program))
        .find(|p| p.is_file())
}

impl fmt::Display for Entrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tool.fmt(f)?;
        if self.encrypted { f.write_str(" encrypted") } else { Ok(()) }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Tool {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|tool| tool.name() == name);
        found.ok_or_else(|| format!("{name:?} is no tool: give anabranch, dccp, srt or rist"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(command: &Command) -> Vec<String> {
        command.as_std().get_args().map(|it| it.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn every_tool_goes_from_input_over_the_links_to_output() {
        let ports = Ports { input: 1, links: vec![2], receiver: 3, output: 4 };
        let buffer = Duration::from_millis(200);
        for tool in Tool::ALL {
            let tool = Entrant { tool, encrypted: false };
            let sender = arguments(&tool.sender(&ports, buffer).unwrap()).join(" ");
            let receiver = arguments(&tool.receiver(&ports, buffer).unwrap()).join(" ");
            assert!(sender.contains("127.0.0.1:1") && sender.contains("127.0.0.1:2"), "{sender}");
            assert!(receiver.contains(":3") && receiver.contains("127.0.0.1:4"), "{receiver}");
            assert!(sender.contains("=200") && receiver.contains("=200"), "{sender} {receiver}");
            assert_eq!(tool.to_string().parse(), Ok(tool.tool));
            let encrypted = Entrant { encrypted: true, ..tool };
            assert_eq!(encrypted.to_string(), format!("{tool} encrypted"));
        }
    }

    #[test]
    fn two_links_are_two_paths_where_a_tool_bonds() {
        let ports = Ports { input: 1, links: vec![2, 5], receiver: 3, output: 4 };
        for tool in Tool::ALL.into_iter().filter(|tool| tool.bonds()) {
            let tool = Entrant { tool, encrypted: false };
            let sender = arguments(&tool.sender(&ports, Duration::ZERO).unwrap()).join(" ");
            assert!(sender.contains("127.0.0.1:5"), "{sender}");
        }
    }

    #[test]
    fn all_tools_encrypt_by_one_passphrase_or_none_does() {
        let ports = Ports { input: 1, links: vec![2], receiver: 3, output: 4 };
        let both_ends = |tool, encrypted| {
            let entrant = Entrant { tool, encrypted };
            let sender = entrant.sender(&ports, Duration::ZERO).unwrap();
            [sender, entrant.receiver(&ports, Duration::ZERO).unwrap()]
                .map(|end| arguments(&end).join(" "))
        };
        for tool in Tool::ALL {
            for end in both_ends(tool, true).into_iter().filter(|_| tool.encrypts()) {
                assert!(end.contains(&format!("={PASSPHRASE}")), "{end}");
                assert!(!end.contains("encryption=off"), "{end}");
            }
            for end in both_ends(tool, false) {
                assert!(!end.contains(PASSPHRASE), "{end}");
                let is_ours = matches!(tool, Tool::Anabranch | Tool::Dccp);
                assert_eq!(end.contains("encryption=off"), is_ours, "{end}");
            }
        }
    }
}
