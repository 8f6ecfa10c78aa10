//! User-mode Linux: a kernel of Debian's that runs as a process of ours and has this machine's
//! files, read-only, as its root.

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::vm::{BootError, CONSOLE};

/// The kernel as a program.
pub(crate) const KERNEL: &str = "/usr/bin/linux.uml";

/// The networks, each with our address and the kernel's. The first carries only what the tests tell
/// the kernel to do; it is never disturbed.
pub(crate) const NETWORKS: [&[[&str; 2]]; 3] = [
    &[["10.77.0.1/24", "10.77.0.2/24"]],
    &[["10.77.1.1/24", "10.77.1.2/24"], ["fd77:1::1/64", "fd77:1::2/64"]],
    &[["10.77.2.1/24", "10.77.2.2/24"], ["fd77:2::1/64", "fd77:2::2/64"]],
];

/// The kernel's, in the first network.
pub(crate) const CONTROL_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

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
pub(crate) fn launch(folder: &Path) -> Result<Child, BootError> {
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
    let console = File::create(folder.join(CONSOLE))?;
    Ok(command.stdin(Stdio::null()).stdout(console.try_clone()?).stderr(console).spawn()?)
}
