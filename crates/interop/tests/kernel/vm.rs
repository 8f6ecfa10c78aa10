//! [`Vm`]: a further Linux kernel on this machine, joined to it by networks of its own.
//!
//! Networks and kernels live in a network namespace of their own that ends with this process, so
//! nothing is left behind.

use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid};

use crate::{stock, uml};

/// Programs that run beside this kernel or in the second one, and the device behind the networks.
const NEEDED: [&str; 10] = [
    uml::KERNEL,
    stock::QEMU,
    "/dev/net/tun",
    "/usr/bin/cc",
    "/usr/bin/dumpcap",
    "/usr/bin/python3",
    "/usr/sbin/ethtool",
    "/usr/sbin/ip",
    "/usr/sbin/modprobe",
    "/usr/sbin/tc",
];
/// How long it may take to boot: 3 to 5 s are usual, on a machine with other work much more.
const BOOT_TIME_MAX: Duration = Duration::from_secs(90);
const CONTROL_PORT: u16 = 7_777;
/// The file that a kernel's console goes to.
pub(crate) const CONSOLE: &str = "console";

/// Where a kernel is told what to do.
pub(crate) const fn control_at(address: Ipv4Addr) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(address), CONTROL_PORT)
}

/// Why there is no second kernel.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BootError {
    #[error("{0} is missing: ./test.sh kernel installs it, from Debian")]
    Missing(&'static str),
    #[error(
        "{} is not in the environment: it is the folder of an unpacked linux-image, which \
             ./test.sh kernel brings",
        stock::FOLDER
    )]
    NoStockKernel,
    #[error("cannot pack the files of the stock kernel: {0}")]
    Unpacked(String),
    #[error("no network namespace of our own ({0}): run as root, or allow user namespaces")]
    Namespace(io::Error),
    #[error("cannot set up the networks: {0}")]
    Networks(String),
    #[error("{0} did not come up (it has {BOOT_TIME_MAX:?}); its console said:\n{1}")]
    Silent(&'static str, String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A running kernel; ends when dropped.
#[derive(Debug)]
pub(crate) struct Vm {
    name: &'static str,
    process: Child,
    folder: PathBuf,
    control: SocketAddr,
}

/// Moves this process into a network namespace of its own and boots both kernels there. No other
/// thread may have been started before.
pub(crate) fn boot() -> Result<[Vm; 2], BootError> {
    for file in NEEDED {
        if !Path::new(file).exists() {
            return Err(BootError::Missing(file));
        }
    }
    enter_namespace().map_err(BootError::Namespace)?;
    make_networks()?;
    let mut vms = [
        Vm::launch("the stock kernel", stock::ADDRESS, stock::launch)?,
        Vm::launch("user-mode Linux", uml::CONTROL_ADDRESS, uml::launch)?,
    ];
    for vm in &mut vms {
        vm.wait()?;
    }
    segment_before_networks()?;
    Ok(vms)
}

impl Vm {
    /// Begins to boot in a folder of its own.
    fn launch(
        name: &'static str,
        address: Ipv4Addr,
        launch: impl Fn(&Path) -> Result<Child, BootError>,
    ) -> Result<Self, BootError> {
        let folder = format!("anabranch-kernel-{}-{address}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder)?;
        let process = launch(&folder)?;
        Ok(Self { name, process, folder, control: control_at(address) })
    }

    fn wait(&mut self) -> Result<(), BootError> {
        let end = Instant::now() + BOOT_TIME_MAX;
        while Instant::now() < end && self.process.try_wait()?.is_none() {
            if TcpStream::connect_timeout(&self.control, Duration::from_millis(200)).is_ok() {
                return Ok(());
            }
            if self.console()?.contains("Kernel panic") {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(BootError::Silent(self.name, self.console()?))
    }

    fn console(&self) -> io::Result<String> {
        fs::read_to_string(self.folder.join(CONSOLE))
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ended = self.process.kill();
        let _ended = self.process.wait();
        let _gone = fs::remove_dir_all(&self.folder);
    }
}

/// Root gets a network namespace; others, where the system lets them, together with a user
/// namespace in which they are root.
fn enter_namespace() -> io::Result<()> {
    let (user, group) = (Uid::effective(), Gid::effective());
    if user.is_root() {
        return Ok(unshare(CloneFlags::CLONE_NEWNET)?);
    }
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

fn make_networks() -> Result<(), BootError> {
    let mut batch = "link set lo up\n".to_owned();
    let networks = uml::NETWORKS.iter().copied().chain([stock::NETWORK]);
    for (number, network) in networks.enumerate() {
        batch += &format!("tuntap add dev tap{number} mode tap\n");
        for [ours, _] in network {
            let nodad = if ours.contains(':') { "nodad" } else { "" };
            batch += &format!("address add {ours} dev tap{number} {nodad}\n");
        }
        batch += &format!("link set tap{number} up\n");
    }
    let output = feed(Command::new("/usr/sbin/ip").args(["-batch", "-"]), &batch)?;
    if output.status.success() {
        return Ok(());
    }
    Err(BootError::Networks(String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// User-mode Linux asks for packets that are to be segmented, then drops those that are longer
/// than its buffers.
fn segment_before_networks() -> io::Result<()> {
    for number in 0..uml::NETWORKS.len() {
        let mut ethtool = Command::new("/usr/sbin/ethtool");
        let tap = format!("tap{number}");
        let output = ethtool.args(["-K", &tap, "tso", "off", "gso", "off"]).output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)));
        }
    }
    Ok(())
}

fn feed(command: &mut Command, input: &str) -> io::Result<Output> {
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?.write_all(input.as_bytes())?;
    child.wait_with_output()
}
