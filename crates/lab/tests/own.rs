//! What callers bring along: parts of flows, takers of rows, a reason to stop.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anabranch_lab::records::{Cell, PACKET_COLUMNS, Rows};
use anabranch_lab::scenario::{
    FRAME_COLUMNS, Files, MessageSource, RunError, Scenario, SourceFactory, SourceMessage, Watching,
};
use anabranch_sctp::{CongestionControl, PathSchedulerKind};

const TWO_PATHS: &str = r#"
duration = "1s"

[[links]]
name = "wifi"
rate = "8M"
delay = "10ms"

[[links]]
name = "mobile"
rate = "8M"
delay = "30ms"
loss = "1%"

[[flows]]
name = "file"
kind = "sctp"
paths = ["wifi", "mobile"]

[[flows]]
name = "film"
kind = "media"

[[flows]]
name = "beside"
kind = "tcp"
"#;

fn scenario() -> Scenario {
    Scenario::read(TWO_PATHS, &[], &Files::new(|_| Err("none is needed".to_owned()))).unwrap()
}

#[test]
fn a_factory_of_ones_own_takes_the_place_of_what_the_file_says() {
    let usual = scenario().run(1, Watching::default()).unwrap();
    let mut own = scenario();
    own.set_controller("file", Arc::new(CongestionControl::Fixed { window: 3_000 })).unwrap();
    let slow = own.run(1, Watching::default()).unwrap();
    assert!(slow.flows[0].goodput_bps < usual.flows[0].goodput_bps / 2.0);
    let mut own = scenario();
    own.set_path_scheduler("file", Arc::new(PathSchedulerKind::AsWindowAllows)).unwrap();
    let both = own.run(1, Watching::default()).unwrap();
    assert!(both.links[2].lost > usual.links[2].lost, "the second path carries data, too");
    let text = TWO_PATHS.replace("kind = \"media\"", "kind = \"television\"");
    let mut own = Scenario::read(&text, &[], &Files::new(|_| Err(String::new()))).unwrap();
    let usual = own.run(1, Watching::default()).unwrap();
    own.set_controller("film", Arc::new(CongestionControl::Fixed { window: 3_000 })).unwrap();
    let slow = own.run(1, Watching::default()).unwrap();
    assert!(slow.flows[1].goodput_bps < usual.flows[1].goodput_bps / 2.0, "{slow:?}");
    let error = own.set_controller("beside", Arc::new(CongestionControl::Bbr)).unwrap_err();
    let words = "beside is of kind tcp, which takes no congestion controller of one's own: give \
                 it to sctp, media over it or television";
    assert_eq!(error.to_string(), words);
    let error = own.set_controller("none", Arc::new(CongestionControl::Bbr)).unwrap_err();
    assert_eq!(error.to_string(), "there is no flow none; there is file, film, beside");
}

#[derive(Debug)]
struct EachTenth(u64);

impl MessageSource for EachTenth {
    fn next_message(&mut self) -> Option<SourceMessage> {
        self.0 += 1;
        Some(SourceMessage { ready: Duration::from_millis(100 * self.0), size: 500 })
    }
}

#[derive(Debug)]
struct EachTenths;

impl SourceFactory for EachTenths {
    fn build(&self, _seed: u64, _sizes: RangeInclusive<usize>) -> Box<dyn MessageSource> {
        Box::new(EachTenth(0))
    }
}

#[test]
fn a_source_of_ones_own_sends_what_it_has_until_the_flow_stops() {
    let mut own = scenario();
    own.set_source("file", Arc::new(EachTenths)).unwrap();
    let outcome = own.run(1, Watching::default()).unwrap();
    assert_eq!((outcome.flows[0].messages, outcome.flows[0].lost), (9, 0));
    assert!(own.set_source("beside", Arc::new(EachTenths)).is_err());
}

/// Keeps how many cells each row has, once they are whole.
struct Widths(Vec<usize>, Arc<Mutex<Vec<usize>>>);

impl Rows for Widths {
    fn push(&mut self, row: &[Cell]) -> io::Result<()> {
        self.0.push(row.len());
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        *self.1.lock().unwrap() = self.0;
        Ok(())
    }
}

#[test]
fn packets_and_frames_go_to_whatever_takes_rows() {
    let (packets, frames) = (Arc::default(), Arc::default());
    let rows = |into: &Arc<Mutex<Vec<usize>>>| Widths(Vec::new(), Arc::clone(into));
    let watching = Watching {
        packets: Some(Box::new(rows(&packets))),
        frames: Some(Box::new(rows(&frames))),
        ..Watching::default()
    };
    let outcome = scenario().run(1, watching).unwrap();
    let (packets, frames) = (packets.lock().unwrap(), frames.lock().unwrap());
    assert_eq!(frames.len() as u64, outcome.flows[1].messages);
    assert!(frames.iter().all(|width| *width == FRAME_COLUMNS.len()));
    assert!(packets.len() > 500 && packets.iter().all(|width| *width == PACKET_COLUMNS.len()));
}

#[test]
fn a_run_ends_when_whoever_watches_says_so() {
    let mut events = 0;
    let stop = move || {
        events += 1;
        (events == 1_000).then(|| "enough".to_owned())
    };
    let watching = Watching { stop: Some(Box::new(stop)), ..Watching::default() };
    let error = scenario().run(1, watching).unwrap_err();
    assert!(matches!(&error, RunError::Stopped { reason, .. } if reason == "enough"), "{error}");
}
