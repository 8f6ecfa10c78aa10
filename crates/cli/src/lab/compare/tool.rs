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
    Srt,
    Rist,
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
    pub(super) const ALL: [Self; 3] = [Self::Anabranch, Self::Srt, Self::Rist];

    const fn name(self) -> &'static str {
        match self {
            Self::Anabranch => "anabranch",
            Self::Srt => "srt",
            Self::Rist => "rist",
        }
    }

    /// The Debian package that has it.
    pub(super) const fn package(self) -> &'static str {
        match self {
            Self::Anabranch => "anabranch",
            Self::Srt => "srt-tools",
            Self::Rist => "rist-tools",
        }
    }

    pub(super) fn is_installed(self) -> bool {
        let programs: &[&str] = match self {
            Self::Anabranch => return true,
            Self::Srt => &["srt-live-transmit"],
            Self::Rist => &["ristsender", "ristreceiver"],
        };
        programs.iter().all(|program| find(program).is_some())
    }

    /// Whether it can use two links at once. Debian's SRT is built without bonding.
    pub(super) const fn bonds(self) -> bool {
        match self {
            Self::Anabranch | Self::Rist => true,
            Self::Srt => false,
        }
    }

    pub(super) fn receiver(self, ports: &Ports, buffer: Duration) -> Result<Command, Failure> {
        let Ports { receiver, output, .. } = ports;
        let (millis, to) = (buffer.as_millis(), format!("udp://127.0.0.1:{output}"));
        let from = match self {
            Self::Anabranch => {
                format!("anabranch://:{receiver}?mode=listener&latency={millis}&encryption=off")
            }
            Self::Srt => format!("srt://127.0.0.1:{receiver}?mode=listener&latency={millis}"),
            Self::Rist => format!("rist://@127.0.0.1:{receiver}?buffer={millis}"),
        };
        match self {
            Self::Anabranch => ours(&["recv", "--keep", &from, &to]),
            Self::Srt => Ok(command("srt-live-transmit", &["-c", "1316", &from, &to])),
            Self::Rist => Ok(command("ristreceiver", &["-i", &from, "-o", &to])),
        }
    }

    pub(super) fn sender(self, ports: &Ports, buffer: Duration) -> Result<Command, Failure> {
        let millis = buffer.as_millis();
        let from = format!("udp://127.0.0.1:{}", ports.input);
        match self {
            Self::Anabranch => ours(&["send", &from, &our_url(&ports.links, buffer)]),
            Self::Srt => {
                let to = srt_url(&ports.links, buffer);
                Ok(command("srt-live-transmit", &["-c", "1316", &from, &to]))
            }
            Self::Rist => {
                let from = format!("udp://@127.0.0.1:{}", ports.input);
                let peers = ports.links.iter();
                let peers = peers.map(|port| format!("rist://127.0.0.1:{port}?buffer={millis}"));
                let to = peers.collect::<Vec<_>>().join(",");
                Ok(command("ristsender", &["-i", &from, "-o", &to]))
            }
        }
    }
}

/// Each link is a path of its own from the same host.
fn our_url(links: &[u16], buffer: Duration) -> String {
    let millis = buffer.as_millis();
    let first = links.first().copied().unwrap_or_default();
    let mut url = format!("anabranch://127.0.0.1:{first}?mode=caller&latency={millis}");
    url += "&encryption=off";
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

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Tool {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|tool| tool.name() == name);
        found.ok_or_else(|| format!("{name:?} is no tool: give anabranch, srt or rist"))
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
            let sender = arguments(&tool.sender(&ports, buffer).unwrap()).join(" ");
            let receiver = arguments(&tool.receiver(&ports, buffer).unwrap()).join(" ");
            assert!(sender.contains("127.0.0.1:1") && sender.contains("127.0.0.1:2"), "{sender}");
            assert!(receiver.contains(":3") && receiver.contains("127.0.0.1:4"), "{receiver}");
            assert!(sender.contains("=200") && receiver.contains("=200"), "{sender} {receiver}");
            assert_eq!(tool.to_string().parse(), Ok(tool));
        }
    }

    #[test]
    fn two_links_are_two_paths_where_a_tool_bonds() {
        let ports = Ports { input: 1, links: vec![2, 5], receiver: 3, output: 4 };
        for tool in Tool::ALL.into_iter().filter(|tool| tool.bonds()) {
            let sender = arguments(&tool.sender(&ports, Duration::ZERO).unwrap()).join(" ");
            assert!(sender.contains("127.0.0.1:5"), "{sender}");
        }
    }
}
