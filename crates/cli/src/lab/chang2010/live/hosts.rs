//! [`Network`]: two hosts with two networks between them, each a network namespace.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::oneshot;

use super::needs::search_path;
use crate::failure::Failure;

/// The networks, as the emulator's links and the hosts' interfaces are called.
pub(super) const LINKS: [&str; 2] = ["wired", "wireless"];
/// Of the emulator and of who is called.
pub(super) const PORT: u16 = 9_000;

/// How long a page may take to answer on this machine.
const CONNECT: Duration = Duration::from_secs(5);

/// The link-layer addresses of a wire's two ends.
const LINK_LAYER: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];

/// A network namespace, which goes with the last process in it: this one ends by itself when the
/// program does.
pub(super) struct Host(Child);

/// Who calls, who is called, and between them where links are emulated.
pub(super) struct Network {
    pub(super) caller: Host,
    pub(super) middle: Host,
    pub(super) called: Host,
}

/// A wire from an end to the middle: the interface there, and the one in the middle.
struct Wire<'a> {
    ends: [&'a Host; 2],
    names: [String; 2],
    subnet: u8,
}

impl Network {
    pub(super) async fn new() -> Result<Self, Failure> {
        let (caller, middle, called) = (Host::new().await?, Host::new().await?, Host::new().await?);
        let network = Self { caller, middle, called };
        for link in 0..LINKS.len() {
            for wire in [network.near(link), network.far(link)] {
                wire.lay().await?;
            }
        }
        Ok(network)
    }

    fn near(&self, link: usize) -> Wire<'_> {
        let names = [LINKS[link].to_owned(), format!("{}-in", LINKS[link])];
        Wire { ends: [&self.caller, &self.middle], names, subnet: 1 + link as u8 }
    }

    fn far(&self, link: usize) -> Wire<'_> {
        let names = [LINKS[link].to_owned(), format!("{}-out", LINKS[link])];
        let subnet = (1 + LINKS.len() + link) as u8;
        Wire { ends: [&self.called, &self.middle], names, subnet }
    }

    /// Where the caller reaches the emulator over this network.
    pub(super) fn entrance(&self, link: usize) -> SocketAddr {
        SocketAddr::from((self.near(link).address(1), PORT))
    }

    /// Where the emulator reaches the called one over this network.
    pub(super) fn exit(&self, link: usize) -> SocketAddr {
        SocketAddr::from((self.far(link).address(0), PORT))
    }

    /// The address of the caller in this network.
    pub(super) fn caller_at(&self, link: usize) -> Ipv4Addr {
        self.near(link).address(0)
    }

    /// Takes a network down, behind the emulator: to the caller it is silent, and to the called
    /// one a cable without a carrier.
    pub(super) async fn take_down(&self, link: usize) -> Result<(), Failure> {
        self.middle.ip(&["link", "set", &self.far(link).names[1], "down"]).await
    }

    pub(super) async fn bring_up(&self, link: usize) -> Result<(), Failure> {
        let wire = self.far(link);
        self.middle.ip(&["link", "set", &wire.names[1], "up"]).await?;
        wire.introduce().await
    }
}

impl Wire<'_> {
    const fn address(&self, end: usize) -> Ipv4Addr {
        // The end's own one is 2, that in the middle 1.
        Ipv4Addr::new(10, 79, self.subnet, 2 - end as u8)
    }

    async fn lay(&self) -> Result<(), Failure> {
        let [end, middle] = self.ends;
        let peer = middle.id()?.to_string();
        let near = ["link", "add", &self.names[0], "address", LINK_LAYER[0], "type", "veth"];
        let far = ["peer", "name", &self.names[1], "address", LINK_LAYER[1], "netns", &peer];
        end.ip(&[near, far].concat()).await?;
        for (n, (host, name)) in self.ends.into_iter().zip(&self.names).enumerate() {
            let address = format!("{}/24", self.address(n));
            host.ip(&["address", "add", &address, "dev", name]).await?;
            host.ip(&["link", "set", name, "up"]).await?;
        }
        self.introduce().await
    }

    /// Each end knows the other from the start: a question that is lost while a wire comes up is
    /// asked again after a second only, and a path would be slow to come back.
    async fn introduce(&self) -> Result<(), Failure> {
        for (n, (host, name)) in self.ends.into_iter().zip(&self.names).enumerate() {
            let (address, link_layer) = (self.address(1 - n).to_string(), LINK_LAYER[1 - n]);
            let entry = ["neighbour", "replace", &address, "lladdr", link_layer, "dev", name];
            host.ip(&[&entry[..], &["nud", "permanent"]].concat()).await?;
        }
        Ok(())
    }
}

impl Host {
    async fn new() -> Result<Self, Failure> {
        let mut holder = command("unshare");
        // Ends with its standard input, which is closed when this program ends, however it does.
        holder.args(["--net", "sh", "-c", "ip link set lo up && echo here && exec cat"]);
        holder.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut holder = started(holder)?;
        let stdout =
            holder.stdout.take().ok_or_else(|| Failure::failed("unshare has no stdout"))?;
        match BufReader::new(stdout).lines().next_line().await? {
            Some(_) => Ok(Self(holder)),
            None => Err(Failure::failed("unshare makes no network namespace with a loopback")),
        }
    }

    fn id(&self) -> Result<u32, Failure> {
        self.0.id().ok_or_else(|| Failure::failed("a network namespace went away"))
    }

    /// A program that will run on this host, and ends when this one does.
    pub(super) fn command(&self, program: &str) -> Result<Command, Failure> {
        let mut inside = command("nsenter");
        inside.args(["--target", &self.id()?.to_string(), "--net", "--"]);
        inside.args(["setpriv", "--pdeathsig", "KILL", "--", program]);
        inside.stdin(Stdio::null());
        Ok(inside)
    }

    async fn ip(&self, arguments: &[&str]) -> Result<(), Failure> {
        let mut ip = self.command("ip")?;
        let output = ip.args(arguments).output().await?;
        if output.status.success() {
            return Ok(());
        }
        let (said, arguments) = (String::from_utf8_lossy(&output.stderr), arguments.join(" "));
        Err(Failure::failed(format!("ip {arguments}: {}", said.trim())))
    }

    /// Connects to a program that listens at a port of this host's own address.
    pub(super) async fn connect(&self, port: u16) -> Result<tokio::net::TcpStream, Failure> {
        let namespace = File::open(format!("/proc/{}/ns/net", self.id()?))?;
        let (sender, connected) = oneshot::channel();
        // A thread of its own: it stays on that host to its end, and its socket does after it.
        thread::spawn(move || {
            let connect = || {
                move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                TcpStream::connect_timeout(&address, CONNECT)
            };
            // Nobody waits any more if it fails.
            let _unheard = sender.send(connect());
        });
        let stream = connected.await.map_err(Failure::failed)??;
        stream.set_nonblocking(true)?;
        Ok(tokio::net::TcpStream::from_std(stream)?)
    }
}

/// A program, which is killed when nobody needs it any more.
fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("PATH", search_path()).env_remove("RUST_LOG").kill_on_drop(true);
    // Ctrl-C is for us, who end the others in order.
    command.process_group(0);
    command
}

pub(super) fn started(mut command: Command) -> Result<Child, Failure> {
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    command.spawn().map_err(|error| Failure::failed(format!("{name} cannot be started: {error}")))
}
