//! `anabranch emulate`: emulated links between any two UDP programs.

mod link;
mod report;
mod scenario;
mod screen;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;

use anabranch_driver::emulator::{EmulatedLink, Emulator, EmulatorConfig, EmulatorError};
use anabranch_netsim::{Action, Scenario};
use clap::Args;

use crate::failure::Failure;
use crate::link::LinkFlags;
use crate::output;
use crate::signal;
use crate::transfer::{RecordingArgs, RecordingFiles};
use crate::values;
use link::LinkArgument;
use scenario::Player;
use screen::Screen;

/// Puts emulated links between any two UDP programs
///
/// Programs send to where a link listens instead of to its target. The target sees each of them
/// come from a port of its own, as behind a NAT. Runs until Ctrl-C.
///
/// Example:
///   anabranch emulate --listen 127.0.0.1:7000 --target 127.0.0.1:9000 --rate 10M --delay 20ms
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Emulate {
    /// Where programs send to; port 0 lets the system choose.
    #[arg(long, value_name = "ADDR:PORT", value_parser = values::address, requires = "target",
          conflicts_with = "links")]
    listen: Option<SocketAddr>,
    /// Where their packets go.
    #[arg(long, value_name = "ADDR:PORT", value_parser = values::address, requires = "listen")]
    target: Option<SocketAddr>,
    #[command(flatten)]
    settings: LinkFlags,
    /// One of several links: name=wifi,listen=…,target=…, and any flag above as a key, such as
    /// preset=wifi,rate=10M; with up. (to the target) or down. in front for one direction only.
    #[arg(long = "link", value_name = "KEY=VALUE,…")]
    links: Vec<LinkArgument>,
    /// A scenario (TOML), as of anabranch lab run, whose events change the links by name, in real
    /// time. Each of its links needs --link name=…,listen=…,target=….
    #[arg(long, value_name = "FILE", requires = "links")]
    scenario: Option<PathBuf>,
    /// Decides which packets are lost and how long they jitter; else the scenario's, or drawn.
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    recording: RecordingArgs,
}

impl Emulate {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let scenario = self.scenario.as_deref().map(read).transpose()?;
        let seed = match self.seed.or(scenario.as_ref().map(|scenario| scenario.seed)) {
            Some(seed) => seed,
            None => getrandom::u64().map_err(Failure::failed)?,
        };
        let mut files = self.recording.open()?;
        let config = EmulatorConfig { links: self.links(scenario.as_ref())?, seed };
        let emulator = Emulator::spawn_recorded(config, &files.recording()).map_err(refused)?;
        let steps = scenario.map_or_else(Vec::new, |scenario| scenario.steps);
        let watched = watch(&emulator, seed, steps, &mut files).await;
        emulator.close();
        emulator.closed().await.map_err(Failure::failed)?;
        watched?;
        let recorded = files.finish().into_iter().map(|(_, text)| format!("{text}\n"));
        let recorded: String = recorded.collect();
        Ok(output::print(&format!("{}{recorded}", report::closing(&emulator.stats())))?)
    }

    fn links(self, scenario: Option<&Scenario>) -> Result<Vec<EmulatedLink>, Failure> {
        let mut links = self.links;
        if let (Some(listen), Some(target)) = (self.listen, self.target) {
            links.push(LinkArgument::alone(listen, target, self.settings));
        }
        if links.is_empty() {
            return Err(Failure::usage("no link: give --listen and --target, or --link"));
        }
        match scenario {
            None => links.into_iter().map(|link| link.link().map_err(Failure::usage)).collect(),
            Some(scenario) => of_scenario(links, scenario),
        }
    }
}

fn read(file: &Path) -> Result<Scenario, Failure> {
    let about = |reason: String| Failure::failed(format!("{}: {reason}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| about(error.to_string()))?;
    Scenario::from_toml(&text, &values::beside(file)).map_err(|error| about(error.to_string()))
}

/// The links of the scenario, at the addresses of the arguments.
fn of_scenario(
    arguments: Vec<LinkArgument>,
    scenario: &Scenario,
) -> Result<Vec<EmulatedLink>, Failure> {
    let links = &scenario.links;
    if let Some(nat) = scenario.nats.first() {
        let link = &nat.link;
        return Err(Failure::usage(format!(
            "[[nats]] are the simulator's: leave out that of {link}, every link here is a NAT \
             already, which keeps its ports until an event rebinds {link}"
        )));
    }
    if let Some(link) = links.iter().find(|link| arguments.iter().all(|a| a.name != link.name)) {
        let name = &link.name;
        let hint = format!("give --link name={name},listen=…,target=…");
        return Err(Failure::usage(format!("the scenario's link {name} has no addresses: {hint}")));
    }
    let find = |argument: LinkArgument| {
        let Some(link) = links.iter().find(|link| link.name == argument.name) else {
            let names: Vec<_> = links.iter().map(|link| link.name.as_str()).collect();
            let (name, known) = (&argument.name, names.join(", "));
            let reason = format!("the scenario has no link {name}; it has {known}");
            return Err(Failure::usage(reason));
        };
        argument.link_as(link).map_err(Failure::usage)
    };
    arguments.into_iter().map(find).collect()
}

/// Arguments that make no sense together, or an address that cannot be had.
fn refused(error: EmulatorError) -> Failure {
    match error {
        EmulatorError::NoLinks
        | EmulatorError::SameName { .. }
        | EmulatorError::Circle { .. }
        | EmulatorError::Target { .. }
        | EmulatorError::HalfInCell { .. }
        | EmulatorError::SharedCell { .. }
        | EmulatorError::Listen { .. } => Failure::usage(error),
        EmulatorError::Spawn(_) | _ => Failure::failed(error),
    }
}

/// Shows the counters and plays the scenario until someone ends it.
async fn watch(
    emulator: &Emulator,
    seed: u64,
    steps: Vec<Action>,
    files: &mut RecordingFiles,
) -> Result<(), Failure> {
    let opening: String = emulator.stats().iter().map(report::opening).collect();
    let opening = format!("{opening}seed {seed}; Ctrl-C ends\n");
    let mut interrupted = pin!(signal::interrupted());
    // Polled in this order: whoever has read the opening may interrupt.
    tokio::select! {
        biased;
        () = &mut interrupted => return Ok(()),
        printed = async { output::print(&opening) } => printed?,
    }
    let mut player = Player::start(steps);
    let mut screen = Screen::new(emulator.stats());
    loop {
        tokio::select! {
            () = &mut interrupted => return screen.leave(),
            ended = emulator.closed() => return ended.map_err(Failure::failed),
            () = screen.due() => {
                if let Some(text) = files.trouble() {
                    screen.tell(&text)?;
                }
                screen.show(emulator.stats())?;
            }
            event = player.next(emulator) => screen.tell(&event.map_err(Failure::failed)?)?,
        }
    }
}
