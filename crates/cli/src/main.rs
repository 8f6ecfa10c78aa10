//! The `anabranch` program: arguments, progress, terminal output; nothing else.
//!
//! Exit status: 0 when all went well, 1 with a reason on stderr when it did not, 2 with one line on
//! stderr when the arguments make no sense.

mod call;
mod completions;
mod demo;
mod emulate;
mod failure;
mod key;
mod lab;
mod link;
mod man;
mod meet;
mod output;
mod read_film;
mod recv;
mod send;
mod serve;
mod service_log;
mod signal;
mod token;
mod transfer;
mod treatments;
mod values;
mod watch;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::{ArgAction, Parser, Subcommand};
use tokio::runtime::Builder;
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

/// The package's version, and the commit that this is built of where that is known: see `build.rs`.
const VERSION: &str = env!("ANABRANCH_VERSION");

/// Real-time media over SCTP: several paths, and only what can still arrive in time.
#[derive(Debug, Parser)]
#[command(name = "anabranch", version = VERSION)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Logs more to stderr: -v what happens, -vv details, -vvv each packet. RUST_LOG overrides it.
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = 100)]
    verbose: u8,
}

/// A command is a file of its own with a `clap::Args` struct, which has
/// `async fn run(self) -> Result<(), Failure>`. To add one: the file, its variant here, and its arm
/// in [`Command::run`]. The doc comment of the struct is what `--help` says about the command.
#[derive(Debug, Subcommand)]
enum Command {
    Call(Box<call::Call>),
    Completions(completions::Completions),
    Demo(Box<demo::Demo>),
    Emulate(emulate::Emulate),
    Key(key::Key),
    Lab(lab::Lab),
    Man(man::Man),
    Meet(meet::Meet),
    Recv(recv::Recv),
    Send(send::Send),
    Serve(serve::Serve),
    Token(token::Token),
    Treatments(treatments::Treatments),
    Watch(watch::Watch),
}

impl Command {
    /// A transfer is a few tasks that hand each datagram on to each other: on one thread none has
    /// to wake another, which spares a fifth of the CPU time at 10 Mbit/s.
    const fn is_transfer(&self) -> bool {
        matches!(self, Self::Call(_) | Self::Recv(_) | Self::Send(_) | Self::Watch(_))
    }

    fn runtime(&self) -> Builder {
        if !self.is_transfer() {
            return Builder::new_multi_thread();
        }
        let mut builder = Builder::new_current_thread();
        builder.on_thread_park(anabranch_driver::rest_before_park);
        builder
    }

    async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Call(command) => command.run().await,
            Self::Completions(command) => command.run(),
            Self::Demo(command) => command.run().await,
            Self::Emulate(command) => command.run().await,
            Self::Key(command) => command.run(),
            Self::Lab(command) => command.run().await,
            Self::Man(command) => command.run(),
            Self::Meet(command) => command.run().await,
            Self::Recv(command) => command.run().await,
            Self::Send(command) => command.run().await,
            Self::Serve(command) => command.run().await,
            Self::Token(command) => command.run(),
            Self::Treatments(command) => command.run().await,
            Self::Watch(command) => command.run().await,
        }
    }
}

fn main() -> ExitCode {
    if read_film::is_meant() {
        return read_film::run();
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return failure::explain_arguments(&error),
    };
    log_to_stderr(arguments.verbose);
    match run(arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.explain(),
    }
}

fn run(command: Command) -> Result<(), Failure> {
    let runtime = command.runtime().enable_all().build();
    let runtime = runtime.map_err(Failure::failed)?;
    // What is spawned, its runtime wakes without a system call.
    runtime.block_on(runtime.spawn(command.run())).map_err(Failure::failed)?
}

fn log_to_stderr(verbose: u8) {
    // What an MP4 file has beyond what is looked for is no warning to who sends it.
    let level = match verbose {
        0 => "warn,mp4_atom=off",
        1 => "info,mp4_atom=off",
        2 => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let stderr = std::io::stderr;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr);
    subscriber.with_ansi(stderr().is_terminal()).init();
}
