//! [`Agent`]: `anabranch call` on a host, and the other programs of a live call.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use anabranch_lab::chang2010::Played;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout};
use tokio::time::timeout;

use super::hosts::{Host, LINKS, Network, started};
use super::page::Page;
use crate::failure::Failure;

/// A program of ours starts and ends within that.
const PATIENCE: Duration = Duration::from_secs(10);

/// A folder that goes when nobody needs it any more.
pub(super) struct Place(PathBuf);

impl Place {
    pub(super) fn new(name: &str) -> Result<Self, Failure> {
        let folder = format!("anabranch-{}-live-{name}", std::process::id());
        let folder = env::temp_dir().join(folder);
        fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed is the system's to clean.
        let _left = fs::remove_dir_all(&self.0);
    }
}

/// What is recorded of a live call beside what was played.
#[derive(Debug, Clone)]
pub(in super::super) struct Recorded {
    pub(in super::super) folder: PathBuf,
    pub(in super::super) capture: bool,
    pub(in super::super) trace: bool,
}

impl Recorded {
    fn arguments(&self, end: &str) -> Vec<String> {
        let files = [("--capture", self.capture, "pcapng"), ("--trace", self.trace, "qlog")];
        let asked = files.into_iter().filter(|(_, is_asked, _)| *is_asked);
        let argument = |(flag, _, ending): (&str, bool, &str)| {
            let file = self.folder.join(format!("live-{end}.{ending}"));
            [flag.to_owned(), file.display().to_string()]
        };
        asked.flat_map(argument).collect()
    }
}

/// A program that runs on a host, and says how it goes on its standard output.
struct Program {
    name: &'static str,
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
    /// What it says on stderr.
    log: PathBuf,
}

impl Program {
    fn start(
        name: &'static str,
        host: &Host,
        place: &Place,
        arguments: &[String],
    ) -> Result<Self, Failure> {
        let own = env::current_exe()?;
        let log = place.file(&format!("{name}.log"));
        let mut command = host.command(&own.to_string_lossy())?;
        command.args(arguments).env("XDG_STATE_HOME", place.file(name));
        command.stdout(std::process::Stdio::piped()).stderr(File::create(&log)?);
        let mut child = started(command)?;
        let stdout = child.stdout.take().ok_or_else(|| Failure::failed("no stdout"))?;
        Ok(Self { name, child, said: BufReader::new(stdout).lines(), log })
    }

    /// The next line that it prints.
    async fn line(&mut self) -> Result<String, Failure> {
        match timeout(PATIENCE, self.said.next_line()).await {
            Ok(Ok(Some(line))) => Ok(line),
            Ok(Ok(None)) => Err(self.failure("ended")),
            Ok(Err(error)) => Err(self.failure(&error.to_string())),
            Err(_) => Err(self.failure("says nothing")),
        }
    }

    /// Asks it to end as Ctrl-C does.
    fn interrupt(&self) -> Result<(), Failure> {
        let id = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        match id {
            Some(id) => kill_process(id, Signal::INT).map_err(Failure::failed),
            None => Err(self.failure("has ended")),
        }
    }

    async fn ended(&mut self) -> Result<(), Failure> {
        let ended = timeout(PATIENCE, self.child.wait()).await;
        let status: ExitStatus = ended.map_err(|_| self.failure("does not end"))??;
        if status.success() { Ok(()) } else { Err(self.failure(&status.to_string())) }
    }

    /// What went wrong, with its last words.
    fn failure(&self, what: &str) -> Failure {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let words = log.lines().next_back().unwrap_or("it said nothing");
        Failure::failed(format!("the live call's {} {what}: {words}", self.name))
    }
}

/// The links between the ends of a call, as long as it lives.
pub(super) struct Links(Program);

impl Links {
    /// `network` is a scenario with links of the names in [`LINKS`].
    pub(super) async fn start(
        network: &Network,
        place: &Place,
        scenario: &str,
        seed: u64,
    ) -> Result<Self, Failure> {
        let file = place.file("network.toml");
        fs::write(&file, scenario)?;
        let mut arguments: Vec<String> =
            ["emulate", "--seed", &seed.to_string()].map(str::to_owned).to_vec();
        arguments.extend(["--scenario".to_owned(), file.display().to_string()]);
        for (link, name) in LINKS.into_iter().enumerate() {
            let (listen, target) = (network.entrance(link), network.exit(link));
            let link = format!("name={name},listen={listen},target={target}");
            arguments.extend(["--link".to_owned(), link]);
        }
        let mut program = Program::start("emulator", &network.middle, place, &arguments)?;
        while !program.line().await?.contains("Ctrl-C ends") {}
        Ok(Self(program))
    }

    pub(super) async fn end(mut self) -> Result<(), Failure> {
        self.0.interrupt()?;
        self.0.ended().await
    }
}

/// An end of a call.
pub(super) struct Agent {
    program: Program,
    pub(super) page: Page,
    record: PathBuf,
}

/// What both ends of a call have in common.
pub(super) struct Ends<'a> {
    pub(super) place: &'a Place,
    pub(super) film: &'a Path,
    pub(super) recorded: Option<&'a Recorded>,
    /// When our clock began.
    pub(super) began: Instant,
}

impl Agent {
    pub(super) async fn start(
        name: &'static str,
        host: &Host,
        url: &str,
        ends: &Ends<'_>,
    ) -> Result<Self, Failure> {
        let record = ends.place.file(&format!("{name}-record"));
        let film = ends.film.display().to_string();
        let arguments = ["call", url, "--name", name, "--camera", &film, "--microphone", &film];
        let mut arguments = arguments.map(str::to_owned).to_vec();
        arguments.extend(["--record".to_owned(), record.display().to_string()]);
        arguments.extend(ends.recorded.iter().flat_map(|it| it.arguments(name)));
        let mut program = Program::start(name, host, ends.place, &arguments)?;
        let url = program.line().await?;
        let page = Page::open(host, &url, ends.began).await?;
        Ok(Self { program, page, record })
    }

    /// Waits for its end, which hanging up brings to who called; who was called is to be asked.
    pub(super) async fn end(mut self, is_asked: bool) -> Result<Vec<Played>, Failure> {
        if is_asked {
            self.program.interrupt()?;
        }
        self.program.ended().await?;
        let table = fs::read_to_string(self.record.join("played.csv"))?;
        Played::read(&table).map_err(Failure::failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_of_an_end_has_its_name() {
        let folder = PathBuf::from("out");
        let recorded = |capture, trace| Recorded { folder: folder.clone(), capture, trace };
        assert_eq!(recorded(false, false).arguments("caller"), [""; 0]);
        let both = ["--capture", "out/live-caller.pcapng", "--trace", "out/live-caller.qlog"];
        assert_eq!(recorded(true, true).arguments("caller"), both);
    }

    #[test]
    fn a_place_goes_with_its_owner() {
        let place = Place::new("test").unwrap();
        let file = place.file("film.webm");
        fs::write(&file, b"film").unwrap();
        drop(place);
        assert!(!file.exists() && !file.parent().unwrap().exists());
    }
}
