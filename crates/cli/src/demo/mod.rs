//! `anabranch demo`: a real video over two emulated networks.

mod json;
mod progress;

use std::path::Path;
use std::time::Duration;

use anabranch_apps::demo::{self, Cut, DemoConfig, DemoError, News, Outcome, Timeline};
use anabranch_driver::Recording;
use anabranch_netsim::Scenario;
use anabranch_netsim::settings::LinkSettings;
use anabranch_session::Bond;
use anabranch_session::treatment::Preset;
use clap::Args;

use crate::failure::Failure;
use crate::link::link_settings;
use crate::signal::interrupted;
use crate::transfer::RecordingArgs;
use crate::values;
use json::JsonFile;
use progress::Progress;

/// How long a run without a page takes, unless something is to happen.
const HEADLESS_DEFAULT: Duration = Duration::from_secs(20);

/// How long it goes on after the last thing that is to happen.
const AFTER_SCRIPT: Duration = Duration::from_secs(2);

/// The script that measures handoffs.
const HANDOFFS: &str = "handoffs";

/// Sends a real video over two emulated networks, wifi and mobile, and plays it on a page.
///
/// The page's address is printed on a line of its own; there one cuts networks, changes them and
/// the treatment of each layer, and sees what comes of it. Ctrl-C ends the demo with a table.
///
/// A demo whose time is over can be started again on its page, as long as one is open, unless the
/// run is written to a file (--json, --trace, --capture): such a file holds one run.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// No page: prints how it goes, and a table at the end.
    #[arg(long)]
    headless: bool,
    /// Ends after so many seconds. Without a page: 20 if left out, or what the script takes.
    #[arg(long, value_name = "N", value_parser = seconds)]
    seconds: Option<Duration>,
    /// Writes the measures to FILE as JSON at the end; - is stdout.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    #[command(flatten)]
    recording: RecordingArgs,
    /// Serves the page at this port.
    #[arg(long, value_name = "PORT", default_value_t = 0, conflicts_with = "headless")]
    page_port: u16,
    /// Milliseconds from the sender's hand to the screen.
    #[arg(long, value_name = "MS", default_value_t = 200,
          value_parser = clap::value_parser!(u32).range(20..=5_000))]
    latency: u32,
    /// How media is sent: reliable, layered or live; see anabranch treatments.
    #[arg(long, value_name = "PRESET", alias = "treatment", default_value_t)]
    treatments: Preset,
    /// How both networks are used: balance, each message where it arrives first; backup, one while
    /// the other stands by; dup, everything over both.
    #[arg(long, value_name = "HOW", default_value_t)]
    bond: Bond,
    /// Changes wifi, which has rate=20M,delay=10ms,jitter=0,loss=0.1%,queue=100ms. The keys are
    /// the flags of anabranch emulate, with up. (media) or down. in front for one direction only.
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = link_settings)]
    wifi: Option<LinkSettings>,
    /// Changes mobile, which has rate=12M,delay=25ms,jitter=0,loss=0.05%,queue=100ms.
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = link_settings)]
    mobile: Option<LinkSettings>,
    /// Cuts a network for a while: wifi@5s..8s. May be given several times.
    #[arg(long, value_name = "LINK@FROM..TO")]
    cut: Vec<Cut>,
    /// What happens to the networks: a scenario (TOML), as anabranch lab run takes it, or
    /// "handoffs", which cuts wifi twenty times.
    #[arg(long, value_name = "FILE")]
    script: Option<String>,
    /// Decides which packets get lost.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Demo {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let json = self.json.as_deref().map(JsonFile::create).transpose()?;
        let mut config = self.config()?;
        let mut files = self.recording.open()?;
        config.recording = files.recording();
        let mut progress = Progress::new(json.as_ref().is_some_and(JsonFile::is_stdout));
        let Recording { capture, trace } = &config.recording;
        let is_kept = json.is_some() || capture.is_some() || trace.is_some();
        let mut demo = demo::Demo::start(config).await.map_err(failure)?;
        if let Some(url) = demo.url() {
            progress.line("The page, with the controls, is at")?;
            progress.line(url)?;
            progress.line("Ctrl-C ends the demo.")?;
        }
        let mut stop = std::pin::pin!(interrupted());
        let report = loop {
            let tell = |news: News<'_>| match news {
                News::Event { elapsed, text } => progress.event(elapsed, text),
                News::Second(snapshot) => {
                    if let Some(text) = files.trouble() {
                        progress.event(snapshot.elapsed, &text);
                    }
                    progress.second(snapshot);
                }
            };
            let Outcome { report, stopped } = demo.run(stop.as_mut(), tell).await;
            progress.end();
            progress.line(&format!("\n{report}"))?;
            if stopped || is_kept || !again(&mut demo, stop.as_mut(), &mut progress).await? {
                break report;
            }
        };
        demo.end().await;
        for (_, text) in files.finish() {
            progress.line(&text)?;
        }
        match json {
            Some(json) => json.write(&report.to_json()),
            None => Ok(()),
        }
    }

    fn config(&self) -> Result<DemoConfig, Failure> {
        let default = DemoConfig::default();
        let (links, script, seed) = self.script(&default)?;
        let cuts = Timeline::of_cuts(self.cut.clone());
        let timeline = script.and(cuts);
        let length = self.seconds.or_else(|| {
            let script = (!timeline.end().is_zero()).then(|| timeline.end() + AFTER_SCRIPT);
            self.headless.then(|| script.unwrap_or(HEADLESS_DEFAULT))
        });
        Ok(DemoConfig {
            links,
            timeline,
            seed: self.seed.unwrap_or(seed),
            latency: Duration::from_millis(self.latency.into()),
            bond: self.bond,
            treatments: self.treatments.table(),
            length,
            page_port: (!self.headless).then_some(self.page_port),
            recording: Recording::default(),
        })
    }

    /// The links, what happens to them, and the seed.
    fn script(
        &self,
        default: &DemoConfig,
    ) -> Result<(Vec<anabranch_netsim::NamedLink>, Timeline, u64), Failure> {
        let settings = [&self.wifi, &self.mobile].map(|it| it.clone().unwrap_or_default());
        let links: Vec<_> = settings
            .into_iter()
            .zip(default.links.clone())
            .map(|(settings, link)| settings.change(link).map_err(Failure::usage))
            .collect::<Result<_, _>>()?;
        match self.script.as_deref() {
            None => Ok((links, Timeline::default(), default.seed)),
            Some(HANDOFFS) => Ok((links, Timeline::handoffs("wifi"), default.seed)),
            Some(file) => {
                let text = std::fs::read_to_string(file).map_err(|error| {
                    Failure::usage(format!("cannot read the script {file}: {error}"))
                })?;
                let scenario = Scenario::from_toml(&text, &values::beside(Path::new(file)))
                    .map_err(|error| Failure::usage(format!("{file}: {error}")))?;
                let timeline = Timeline::of_scenario(&scenario).map_err(Failure::usage)?;
                Ok((scenario.links, timeline, scenario.seed))
            }
        }
    }
}

/// Starts the demo again when a page asks for it; false if none will.
async fn again(
    demo: &mut demo::Demo,
    stop: impl Future<Output = ()>,
    progress: &mut Progress,
) -> Result<bool, Failure> {
    if demo.pages() == 0 {
        return Ok(false);
    }
    progress.line("The page can start the demo again. Ctrl-C ends the program.")?;
    demo.start_again(stop).await.map_err(failure)
}

fn failure(error: DemoError) -> Failure {
    if matches!(error, DemoError::Links { .. } | DemoError::Timeline(_) | DemoError::Page(_)) {
        return Failure::usage(error);
    }
    Failure::failed(error)
}

/// A time that makes sense: up to a year.
fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text} is no time: give seconds, from 0.1 to 31536000");
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if !(0.1..=31_536_000.0).contains(&seconds) {
        return Err(wrong());
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        demo: Demo,
    }

    fn config(arguments: &[&str]) -> Result<DemoConfig, String> {
        let line = Line::try_parse_from(["demo"].iter().chain(arguments));
        match line.map_err(|error| error.to_string())?.demo.config() {
            Ok(config) => Ok(config),
            Err(Failure::Usage(reason)) => Err(reason),
            Err(Failure::Failed(error)) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_run_without_a_page_has_an_end() {
        assert_eq!(config(&[]).unwrap().length, None);
        let headless = config(&["--headless"]).unwrap();
        assert_eq!((headless.length, headless.page_port), (Some(HEADLESS_DEFAULT), None));
        let cut = config(&["--headless", "--cut", "wifi@25s..28s"]).unwrap();
        assert_eq!(cut.length, Some(Duration::from_secs(30)));
        let short = config(&["--headless", "--seconds", "3", "--script", "handoffs"]).unwrap();
        assert_eq!(short.length, Some(Duration::from_secs(3)));
    }

    #[test]
    fn links_are_set_one_by_one() {
        let config = config(&["--wifi", "rate=5M,loss=2%", "--seed", "9"]).unwrap();
        let default = DemoConfig::default();
        assert_ne!(config.links[0], default.links[0]);
        assert_eq!(config.links[1], default.links[1]);
        assert_eq!(config.seed, 9);
    }

    #[test]
    fn senseless_arguments_are_refused_in_words() {
        for (arguments, words) in [
            (&["--seconds", "0"][..], "give seconds, from 0.1"),
            (&["--latency", "5"], "20..=5000"),
            (&["--wifi", "speed=1M"], "the keys are preset, rate, delay"),
            (&["--cut", "wifi"], "as in wifi@5s..8s"),
            (&["--treatments", "best"], "give reliable, layered or live"),
            (&["--bond", "both"], "give balance, backup or dup"),
            (&["--script", "/nowhere.toml"], "cannot read the script /nowhere.toml"),
            (&["--headless", "--page-port", "80"], "cannot be used with"),
        ] {
            let error = config(arguments).unwrap_err();
            assert!(error.contains(words), "{arguments:?}: {error}");
        }
    }
}
