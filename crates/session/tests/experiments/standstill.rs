//! A link that carries nothing for a while, as that of a phone.

use std::time::Duration;

use anabranch_netsim::{DuplexConfig, LinkConfig, Trace};
use anabranch_sansio::Time;
use anabranch_session::treatment::Preset;

use super::film;
use super::harness::{Setup, Studio};

const SECONDS: u64 = 12;

/// When the link stands still, in milliseconds since it is there, and until when.
const STANDS_STILL: (u32, u32) = (6_000, 8_000);

/// A link of 12 Mbit/s that stands still for two seconds; what returns has all room.
fn links() -> DuplexConfig {
    let (from, until) = STANDS_STILL;
    let opportunities = (0..20_000).filter(|at| !(from..until).contains(at)).collect();
    let trace = Some(Trace::new(opportunities).expect("in order"));
    let backward = LinkConfig { delay: Duration::from_millis(25), ..LinkConfig::default() };
    DuplexConfig { forward: LinkConfig { trace, ..backward.clone() }, backward }
}

fn run_until(studio: &mut Studio, millis: u32) {
    let end = Time::from_millis(u64::from(millis));
    studio.run_for(end - studio.pair.now());
}

/// Bytes that were sent so far.
fn offered(studio: &Studio) -> u64 {
    let link = studio.pair.paths()[0].links.forward;
    studio.pair.sim.network().link(link).stats().offered.bytes
}

#[test]
fn regression_a_stream_filled_the_queue_of_a_link_that_stood_still() {
    let setup = Setup::new(&[], Preset::default(), 200);
    let stream = film::stream(SECONDS);
    let mut studio = Setup { links: vec![links()], stream, ..setup }.build();
    studio.connect();
    studio.start_stream();
    let (from, until) = STANDS_STILL;
    run_until(&mut studio, from);
    let before = offered(&studio);
    run_until(&mut studio, until);
    let sent = offered(&studio) - before;
    let most = film::RATE.bytes_in(Duration::from_secs(1));
    assert!(sent < most, "{sent} bytes into a link that stands still, of at most {most}");
}
