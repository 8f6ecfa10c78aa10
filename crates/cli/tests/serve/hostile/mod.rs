//! Viewers that stop, die, flood and forge, on real sockets: who behaves goes on watching, and what
//! the others held is free again.

mod floods;
mod stops;
mod tokens;
mod visitors;
mod watching;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Server;
use watching::Watching;

/// How often a state is looked at that nobody tells of.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What was not so for so long never will be, on a machine however busy.
const LIMIT: Duration = Duration::from_secs(180);

/// More than a server may grow by whatever it is sent: what one viewer may make it keep, many times
/// over, and what its allocator does not give back.
const GROWTH_MAX: u64 = 96 << 20;

/// A server, and somebody who behaves and watches all the time.
struct House {
    server: Server,
    watching: Watching,
    /// The viewer who behaves.
    viewers: BTreeSet<String>,
    resident: u64,
}

/// What whoever is there holds of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    native: u64,
    browsers: u64,
    connections: u64,
    players: u64,
}

/// Who behaves, and the connection of whoever asks.
const USUAL: Held = Held { native: 1, browsers: 0, connections: 1, players: 0 };

impl House {
    fn new(arguments: &[&str]) -> Self {
        let mut server = Server::start(arguments);
        for expected in ["1 ", ": on air", "operator's token: "] {
            server.wait_for(expected);
        }
        let mut watching = Watching::start(&native_url(&mut server), &["--channel", "1"]);
        watching.goes_on();
        until("only who behaves is there", || held(&server), |held| *held == USUAL);
        let (viewers, resident) = (viewers(&server), server.resident_bytes());
        Self { server, watching, viewers, resident }
    }

    /// Waits until there is nobody else any more. How long it took is told, not judged, up to
    /// [`LIMIT`]: a busy machine may need long. Tests on virtual time judge.
    #[expect(clippy::print_stdout, reason = "how long it took is for whoever runs the test")]
    fn settle(&self, since: Instant, what: &str) {
        let wanted = format!("{what}: all is free");
        until(&wanted, || held(&self.server), |held| *held == USUAL);
        let took = since.elapsed();
        println!("{what}: all is free after {:.1} s", took.as_secs_f64());
    }

    /// Ends it all: who behaved has watched as one viewer from the beginning on.
    fn end(mut self) {
        self.watching.goes_on();
        assert_eq!(viewers(&self.server), self.viewers, "who behaves is the same viewer still");
        let grown = self.server.resident_bytes().saturating_sub(self.resident);
        assert!(grown <= GROWTH_MAX, "the server grew by {grown} bytes");
        drop(self.watching);
        self.server.end();
    }
}

fn native_url(server: &mut Server) -> String {
    server.wait_for("native viewers: ");
    let told = server.said.split("native viewers: ").nth(1).unwrap();
    told.lines().next().unwrap().to_owned()
}

fn metrics(server: &Server) -> String {
    server.operate("GET /metrics", &server.operator_token(), "")
}

/// The sample of this name and these labels.
fn metric(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix("anabranch_")?.strip_prefix(name));
    line.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("{name} in {text}"))
}

fn held(server: &Server) -> Held {
    let text = metrics(server);
    Held {
        native: metric(&text, "connections{carrier=\"native\"}"),
        browsers: metric(&text, "connections{carrier=\"browser\"}"),
        connections: metric(&text, "http_connections"),
        players: metric(&text, "players"),
    }
}

/// The viewers there are, by their identifiers.
fn viewers(server: &Server) -> BTreeSet<String> {
    let answer = server.operate("GET /api/viewers", &server.operator_token(), "");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let viewers: Vec<Value> = serde_json::from_str(body).unwrap();
    viewers.iter().map(|viewer| viewer["id"].as_str().unwrap().to_owned()).collect()
}

/// Waits until what is there is as it should be; what it is instead is told after [`LIMIT`].
pub(super) fn until<T: Debug>(wanted: &str, look: impl Fn() -> T, is_so: impl Fn(&T) -> bool) {
    let started = Instant::now();
    loop {
        let seen = look();
        if is_so(&seen) {
            return;
        }
        assert!(started.elapsed() < LIMIT, "not so after {LIMIT:?}: {wanted}; but {seen:?}");
        std::thread::sleep(LOOK_EVERY);
    }
}
