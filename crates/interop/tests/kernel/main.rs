//! The Linux kernel's SCTP as our peer, over UDP encapsulation on real sockets, and its DCCP,
//! straight on IP.
//!
//! [Two more kernels](vm) run beside this one: [user-mode Linux](uml), and for CCID 3 a
//! [stock one](stock). Every test makes an association between one of their sockets and our
//! endpoint, one test at a time. What they sent each other is captured, and in the end tshark has
//! to find no fault with it.
//!
//! `/dev/net/tun`, some Debian packages, and root or a user namespace are needed, so nothing
//! runs unless asked for, as `./test.sh kernel` does, which brings the packages.

mod authentication;
mod capture;
mod ccid_2;
mod ccid_3;
mod control;
mod dccp;
mod host;
mod interleaving;
mod kernel;
mod lifecycle;
mod multihoming;
mod network;
mod pair;
mod partial;
mod stock;
mod transfer;
mod uml;
mod vm;

use std::any::type_name;
use std::env;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};

use capture::Capture;
use vm::BootError;

/// Far longer than any test takes: one that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// Has to be in the environment for any test to run.
const WANTED: &str = "ANABRANCH_KERNEL_TESTS";

fn main() -> ExitCode {
    if env::var_os(WANTED).is_none() {
        say(format_args!("left out without {WANTED}=1: ./test.sh kernel runs these tests"));
        return ExitCode::SUCCESS;
    }
    let mut arguments = Arguments::from_args();
    // The tests share the networks, which they cut and restore.
    arguments.test_threads = Some(1);
    if arguments.list {
        return libtest_mimic::run(&arguments, trials(&Arc::default())).exit_code();
    }
    run(&arguments).unwrap_or_else(|error| {
        say(format_args!("cannot run: {error}"));
        ExitCode::FAILURE
    })
}

fn say(what: std::fmt::Arguments<'_>) {
    // Nobody listens if it fails.
    let _unheard = writeln!(io::stdout(), "{what}");
}

fn run(arguments: &Arguments) -> Result<ExitCode, BootError> {
    let vms = vm::boot()?;
    // Kept here, so that it goes on also where the test that judges it was not asked for.
    let capture = Arc::new(Mutex::new(Some(Capture::begin()?)));
    let conclusion = libtest_mimic::run(arguments, trials(&capture));
    drop(vms);
    Ok(conclusion.exit_code())
}

fn trials(capture: &Arc<Mutex<Option<Capture>>>) -> Vec<Trial> {
    let mut trials = transfer::trials();
    trials.extend(partial::trials());
    trials.extend(multihoming::trials());
    trials.extend(lifecycle::trials());
    trials.extend(authentication::trials());
    trials.extend(interleaving::trials());
    trials.extend(ccid_2::trials());
    trials.extend(ccid_3::trials());
    let capture = Arc::clone(capture);
    trials.push(Trial::test("tshark_finds_no_fault_with_what_was_sent", move || {
        let capture = capture.lock().ok().and_then(|mut capture| capture.take());
        capture.ok_or("there is no capture")?.judge();
        Ok(())
    }));
    trials
}

/// A test by the name of its function, which runs on a runtime of its own.
fn trial<F, T>(test: T) -> Trial
where
    F: Future<Output = ()>,
    T: Fn() -> F + Send + 'static,
{
    let name = type_name::<T>().split_once("::").map_or("", |(_, path)| path);
    Trial::test(name, move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let limited = async { tokio::time::timeout(PATIENCE, test()).await };
        Ok(runtime.block_on(limited).map_err(|_| format!("not done after {PATIENCE:?}"))?)
    })
}
