//! A stock kernel of Debian's under QEMU, which has what user-mode Linux lacks: CCID 3.
//!
//! QEMU emulates the processor, so that this works where there is no other virtualization. The
//! kernel's files are an archive in memory: Python and what moves its sockets, nothing else.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::vm::{BootError, CONSOLE};

pub(crate) const QEMU: &str = "/usr/bin/qemu-system-x86_64";

/// The variable of the environment with the folder of an unpacked linux-image package.
pub(crate) const FOLDER: &str = "ANABRANCH_STOCK_KERNEL";

/// Its network, with our address and the kernel's.
pub(crate) const NETWORK: &[[&str; 2]] = &[["10.77.3.1/24", "10.77.3.2/24"]];
pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 3, 2);
/// Our end of the network.
const INTERFACE: &str = "tap3";

/// What the kernel is told. Nothing is hidden from an emulated processor.
const COMMAND_LINE: &str = "console=ttyS0 quiet panic=-1 mitigations=off nopti";

/// Starts the kernel such that it ends when this process does, however that may be.
pub(crate) fn launch(folder: &Path) -> Result<Child, BootError> {
    let unpacked = std::env::var_os(FOLDER).ok_or(BootError::NoStockKernel)?;
    let unpacked = Path::new(&unpacked);
    let archive = folder.join("root.cpio");
    pack(unpacked, &archive)?;
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", QEMU, "-accel", "tcg", "-cpu", "max,la57=off", "-m", "192M"])
        .args(["-M", "q35", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
        .args(["-serial", "stdio", "-device", "virtio-rng-pci", "-kernel"])
        .arg(image(unpacked)?)
        .arg("-initrd")
        .arg(&archive)
        .args(["-append", &format!("{COMMAND_LINE} ADDRESS={ADDRESS}"), "-netdev"])
        .arg(format!("tap,id=network,ifname={INTERFACE},script=no,downscript=no"))
        .args(["-device", "virtio-net-pci,netdev=network,romfile=,csum=off,guest_csum=off"]);
    let console = File::create(folder.join(CONSOLE))?;
    Ok(command.stdin(Stdio::null()).stdout(console.try_clone()?).stderr(console).spawn()?)
}

fn pack(unpacked: &Path, archive: &Path) -> Result<(), BootError> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel/guest/pack.py");
    // Only what Python itself brings.
    let mut python = Command::new("/usr/bin/python3");
    let output = python.arg("-IS").args([&script, unpacked, archive]).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(BootError::Unpacked(String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// The kernel in the package, whatever its version.
fn image(unpacked: &Path) -> Result<PathBuf, BootError> {
    let is_kernel = |name: &OsStr| name.to_string_lossy().starts_with("vmlinuz-");
    for entry in fs::read_dir(unpacked.join("boot"))? {
        let entry = entry?;
        if is_kernel(&entry.file_name()) {
            return Ok(entry.path());
        }
    }
    Err(BootError::NoStockKernel)
}
