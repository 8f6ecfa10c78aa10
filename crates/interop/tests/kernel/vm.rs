//! [`Vm`]: a second Linux kernel on this machine, joined to it by three networks.
//!
//! User-mode Linux, a stock kernel of Debian's, runs as a process of ours and has this machine's
//! files, read-only, as its root. Networks and kernel live in a network namespace of their own that
//! ends with this process, so nothing is left behind.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid};

/// The kernel as a program.
const KERNEL: &str = "/usr/bin/linux.uml";
/// Programs that run beside this kernel or in the second, and the device behind the networks.
const NEEDED: [&str; 9] = [
    KERNEL,
    "/dev/net/tun",
    "/usr/bin/cc",
    "/usr/bin/dumpcap",
    "/usr/bin/python3",
    "/usr/sbin/ethtool",
    "/usr/sbin/ip",
    "/usr/sbin/modprobe",
    "/usr/sbin/tc",
];
/// How long it may take to boot: 3 s are usual, on a machine with other work much more.
const BOOT_TIME_MAX: Duration = Duration::from_secs(90);
const CONTROL_PORT: u16 = 7_777;

/// The networks, each with our address and the kernel's. The first carries only what the tests tell
/// the kernel to do; it is never disturbed.
const NETWORKS: [&[[&str; 2]]; 3] = [
    &[["10.77.0.1/24", "10.77.0.2/24"]],
    &[["10.77.1.1/24", "10.77.1.2/24"], ["fd77:1::1/64", "fd77:1::2/64"]],
    &[["10.77.2.1/24", "10.77.2.2/24"], ["fd77:2::1/64", "fd77:2::2/64"]],
];

/// Where the second kernel is told what to do.
pub(crate) const CONTROL: SocketAddr =
    SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::new(10, 77, 0, 2)), CONTROL_PORT);

/// Why there is no second kernel.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BootError {
    #[error("{0} is missing: ./test.sh kernel installs it, from Debian")]
    Missing(&'static str),
    #[error("no network namespace of our own ({0}): run as root, or allow user namespaces")]
    Namespace(io::Error),
    #[error("cannot set up the networks: {0}")]
    Networks(String),
    #[error("the second kernel did not come up (it has {BOOT_TIME_MAX:?}); its console said:\n{0}")]
    Silent(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A running second kernel; ends when dropped.
#[derive(Debug)]
pub(crate) struct Vm {
    process: Child,
    folder: PathBuf,
}

impl Vm {
    /// Moves this process into a network namespace of its own and boots the kernel there. No other
    /// thread may have been started before.
    pub(crate) fn boot() -> Result<Self, BootError> {
        for file in NEEDED {
            if !Path::new(file).exists() {
                return Err(BootError::Missing(file));
            }
        }
        enter_namespace().map_err(BootError::Namespace)?;
        make_networks()?;
        let folder = std::env::temp_dir().join(format!("anabranch-kernel-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let process = launch(&folder)?;
        let mut vm = Self { process, folder };
        vm.wait()?;
        segment_before_networks()?;
        Ok(vm)
    }

    fn wait(&mut self) -> Result<(), BootError> {
        let end = Instant::now() + BOOT_TIME_MAX;
        while Instant::now() < end && self.process.try_wait()?.is_none() {
            if TcpStream::connect_timeout(&CONTROL, Duration::from_millis(200)).is_ok() {
                return Ok(());
            }
            if self.console()?.contains("Kernel panic") {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(BootError::Silent(self.console()?))
    }

    fn console(&self) -> io::Result<String> {
        fs::read_to_string(self.folder.join("console"))
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
    for (number, network) in NETWORKS.iter().enumerate() {
        batch += &format!("tuntap add dev tap{number} mode tap\n");
        for [ours, _] in *network {
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

/// The second kernel asks for packets that are to be segmented, then drops those that are longer
/// than its buffers.
fn segment_before_networks() -> io::Result<()> {
    for number in 0..NETWORKS.len() {
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

/// Compiles what has the kernel run on processors with more state than it knows.
fn compile_preload(folder: &Path) -> io::Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel/xstate.c");
    let library = folder.join("xstate.so");
    let mut compiler = Command::new("/usr/bin/cc");
    compiler.args(["-O2", "-shared", "-fPIC", "-o"]).args([&library, &source]);
    let output = compiler.output()?;
    if output.status.success() {
        return Ok(library);
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr)))
}

/// Starts the kernel such that it ends when this process does, however that may be.
fn launch(folder: &Path) -> io::Result<Child> {
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel/guest/init.sh");
    let mut command = Command::new("setpriv");
    command.env("LD_PRELOAD", compile_preload(folder)?);
    command
        .args(["--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child", KERNEL])
        .args(["mem=192M", "quiet", "panic=-1", "con=null", "con0=null,fd:1", "umid=kernel"])
        .arg(format!("uml_dir={}/", folder.display()))
        .args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"])
        .arg(format!("init={}", guest.display()));
    let mut addresses = Vec::new();
    for (number, network) in NETWORKS.iter().enumerate() {
        let kernels: Vec<&str> = network.iter().map(|[_, kernels]| *kernels).collect();
        addresses.push(kernels.join(","));
        command.arg(format!("vec{number}:transport=tap,ifname=tap{number},depth=128,gro=1"));
    }
    // What the kernel does not know it puts into the environment of its first process.
    command.arg(format!("NETWORKS={}", addresses.join(";")));
    let console = File::create(folder.join("console"))?;
    command.stdin(Stdio::null()).stdout(console.try_clone()?).stderr(console).spawn()
}
