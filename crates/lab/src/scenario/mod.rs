//! Scenarios of a user's own: hosts, links, events and flows in a file, run with the real stacks.
//!
//! ```
//! use anabranch_lab::scenario::{Files, Scenario, Watching};
//!
//! let scenario = Scenario::read(
//!     r#"
//!     duration = "2s"
//!
//!     [[links]]
//!     name = "dsl"
//!     preset = "dsl"
//!
//!     [[flows]]
//!     name = "film"
//!     kind = "sctp"
//!     source = "cbr"
//!     rate = "4M"
//!     "#,
//!     &[],
//!     &Files::new(|file| Err(format!("{file} is not needed"))),
//! )?;
//! let outcome = scenario.run(1, Watching::default())?;
//! assert_eq!(outcome.flows[0].lost, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod delays;
mod end;
mod example;
mod files;
mod film;
mod flow;
mod frames;
mod judge;
mod key;
mod media;
mod messages;
mod nats;
mod options;
mod outcome;
mod own;
mod plot;
mod report;
mod route;
mod run;
mod schema;
mod sink;
mod source;
mod stillness;
mod stream;
mod table;
mod television;
mod transport;

use std::collections::BTreeSet;
use std::time::Duration;

use anabranch_netsim::written::{
    Document, Fault, Happening, WrittenEvent, WrittenLink, WrittenNat,
};

use files::Named;
use flow::Flow;
use key::{Key, number};

use crate::run_name;

pub use example::Example;
pub use files::Files;
pub use frames::FRAME_COLUMNS;
pub use outcome::{FlowOutcome, LinkOutcome, Outcome};
pub use own::{MessageSource, OwnError, SourceFactory, SourceMessage};
pub use plot::{Axes, PlotError, plot};
pub use report::{About, report};
pub use run::{AFTER, RunError, Stop, Watching};
pub use schema::schema;
pub(crate) use stream::{FilmUnit, film_units, read as read_file};
pub use table::{Run, csv, tables};

/// The keys outside all sections.
const TOP_KEYS: &[Key] = &[
    Key::new("duration", &["20s"], "how long it runs, in virtual time; at most an hour"),
    Key::new("seed", &["1"], "the first seed; 1"),
    Key::new("seeds", &["10"], "how many seeds; 1"),
    Key::new(
        "steps_max",
        &["1000000000"],
        "events of the simulator after which a run is ended; a thousand million",
    ),
];

/// What a run does unless told otherwise, a paper's cell as well.
pub(crate) const STEPS_MAX: u64 = 1_000_000_000;
/// Each has addresses of its own.
const FLOWS_MAX: usize = 250;
const SEEDS_MAX: u64 = 1_000_000;

/// Hosts, links, events and flows.
#[derive(Debug, Clone)]
pub struct Scenario {
    duration: Duration,
    seed: u64,
    seeds: u64,
    steps_max: u64,
    links: Vec<WrittenLink>,
    nats: Vec<WrittenNat>,
    events: Vec<WrittenEvent>,
    flows: Vec<Flow>,
    /// Of all that is said, and of the files that are named.
    digest: [u8; 32],
}

impl Scenario {
    /// Reads a scenario from TOML, some of whose keys have other values, as `wifi.loss` and `1%`.
    /// `files` are those that it names.
    ///
    /// # Errors
    /// The file makes no sense, and where.
    pub fn read(text: &str, given: &[(String, String)], files: &Files<'_>) -> Result<Self, Fault> {
        let mut document = Document::parse(text)?;
        given.iter().try_for_each(|(key, value)| document.set(key, value))?;
        let files = Named::new(files);
        let read = |file: &str| files.text(file);
        let top = &mut document.top;
        let seed = top.read("seed", |text| number(text, 0, u64::MAX >> 1))?.unwrap_or(1);
        let seeds = top.read("seeds", |text| number(text, 1, SEEDS_MAX))?.unwrap_or(1);
        // Which seeds there are makes no other run of each.
        files.add(document.canonical().as_bytes());
        let top = &mut document.top;
        let duration = top.need("duration", "\"20s\"", key::span)?;
        let steps_max = top.read("steps_max", |text| number(text, 1, u64::MAX >> 1))?;
        let links = WrittenLink::read_all(&mut document, &read)?;
        let nats = document.take("nats").into_iter().map(WrittenNat::read);
        let nats: Vec<_> = nats.collect::<Result<_, _>>()?;
        let events = WrittenEvent::read_all(document.take("events"), &links, &read)?;
        let flows = document.take("flows").into_iter();
        let flows = flows.map(|flow| Flow::read(flow, &links, duration, &files));
        let flows: Vec<_> = flows.collect::<Result<_, _>>()?;
        document.refuse_rest(&["[[links]]", "[[cells]]", "[[nats]]", "[[events]]", "[[flows]]"])?;
        let known: Vec<&str> = TOP_KEYS.iter().map(|key| key.name).collect();
        document.top.refuse_rest(&known)?;
        let steps_max = steps_max.unwrap_or(STEPS_MAX);
        let digest = files.digest();
        let scenario =
            Self { duration, seed, seeds, steps_max, links, nats, events, flows, digest };
        scenario.check(&document)?;
        Ok(scenario)
    }

    /// The seeds that it asks for.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.seed;
        (0..self.seeds).map(move |number| first + number)
    }

    /// Whether there is a flow of media.
    #[must_use]
    pub fn has_media(&self) -> bool {
        self.flows.iter().any(|flow| flow.kind.is_media())
    }

    /// How long it runs.
    #[must_use]
    pub const fn duration(&self) -> Duration {
        self.duration
    }

    /// A name for a run with one seed by one build, which no other run has: of another scenario,
    /// with another seed, or by another build.
    #[must_use]
    pub fn run_name(&self, seed: u64, build: &str) -> String {
        run_name(&[build.as_bytes(), &self.digest, &seed.to_be_bytes()])
    }

    /// What only the whole shows.
    fn check(&self, document: &Document) -> Result<(), Fault> {
        if self.flows.is_empty() {
            return Err(document
                .top
                .fault("nothing is sent: give [[flows]] with a name and a kind"));
        }
        if let Some(flow) = self.flows.get(FLOWS_MAX) {
            let reason = format!("there are more than {FLOWS_MAX} flows: give fewer");
            return Err(Fault::new(flow.place, reason));
        }
        if let Some(event) = self.events.iter().find(|event| event.at > self.duration) {
            let (at, end) = (event.at, self.duration);
            let reason = format!("this happens at {at:?}, and the run ends at {end:?}");
            return Err(Fault::new(event.place, reason));
        }
        self.events.iter().try_for_each(|event| self.check_event(event))?;
        nats::check(&self.nats, &self.links, &self.flows)?;
        let links = self.links.iter().map(|link| (&link.name, link.place));
        let names = links.chain(self.flows.iter().map(|flow| (&flow.name, flow.place)));
        let mut seen = BTreeSet::new();
        for (name, place) in names {
            if !seen.insert(name) {
                let reason =
                    format!("name: two are called {name}: give each link and flow its own name");
                return Err(Fault::new(place, reason));
            }
        }
        Ok(())
    }

    fn check_event(&self, event: &WrittenEvent) -> Result<(), Fault> {
        let reason = match &event.what {
            Happening::Rebind(link) | Happening::Address(link) => {
                let name = &self.links[*link].name;
                if self.nats.iter().any(|nat| nat.link == *name) {
                    return Ok(());
                }
                format!("there is no NAT at {name}: give [[nats]] with link = \"{name}\"")
            }
            Happening::Check(_) => "nothing here can be checked: leave check out".to_owned(),
            Happening::Cut(_) | Happening::Restore(_) | Happening::Change(..) => return Ok(()),
        };
        Err(Fault::new(event.place, reason))
    }
}
