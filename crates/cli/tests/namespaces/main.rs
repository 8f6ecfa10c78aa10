//! `anabranch send` and `recv`, `serve` and `watch`, on two hosts: network namespaces of this
//! machine, joined by links that tests take down. Live calls of `anabranch lab`, which makes such
//! hosts itself. And what is kept on disks that take nothing.
//!
//! Root or a user namespace is needed, so nothing runs unless asked for, as `./test.sh namespaces`
//! does.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod calls;
#[path = "../transfer/harness.rs"]
#[expect(dead_code, reason = "shared with the tests of one host, which need more of it")]
mod harness;
mod hosts;
mod keys;
mod links;
mod routes;
mod watching;

use std::any::type_name;
use std::env;
use std::io::{self, Write as _};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// Has to be in the environment for any test to run.
const WANTED: &str = "ANABRANCH_NAMESPACE_TESTS";

fn main() -> ExitCode {
    if env::var_os(WANTED).is_none() {
        let left_out = "left out without ANABRANCH_NAMESPACE_TESTS=1: ./test.sh namespaces runs \
                        these tests\n";
        // Nobody listens if it fails.
        let _unheard = io::stdout().write_all(left_out.as_bytes());
        return ExitCode::SUCCESS;
    }
    let trials =
        [calls::trials(), links::trials(), routes::trials(), watching::trials(), keys::trials()];
    let trials = trials.into_iter().flatten().collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A test by the name of its function.
fn trial<T: Fn() + Send + 'static>(test: T) -> Trial {
    let name = type_name::<T>().split_once("::").map_or("", |(_, path)| path);
    Trial::test(name, move || {
        test();
        Ok(())
    })
}
