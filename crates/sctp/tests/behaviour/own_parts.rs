//! Controllers and schedulers of a user's own, in place of those that there are.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anabranch_sansio::{Rng, Time};
use anabranch_sctp::{
    Ack, AssociationConfig, CongestionController, ControllerFactory, ControllerMetrics, Demand,
    FreshPath, Outlook, PathId, PathScheduler, PathSchedulerFactory, StreamScheduler,
    StreamSchedulerFactory,
};
use anabranch_wire::StreamId;

use crate::harness::{Duo, Side, good_link, link, numbered};

const SECOND: Duration = Duration::from_secs(1);

/// Lets so many full packets be in flight, and counts what it is told.
#[derive(Debug)]
struct PacketsInFlight {
    window: usize,
    acks: Arc<AtomicUsize>,
}

impl CongestionController for PacketsInFlight {
    fn window(&self) -> usize {
        self.window
    }

    fn on_ack(&mut self, _ack: &Ack) {
        self.acks.fetch_add(1, Ordering::Relaxed);
    }

    fn on_loss(&mut self, _now: Time) {}

    fn on_timeout(&mut self, _now: Time) {}

    fn on_idle(&mut self, _periods: u32) {}

    fn metrics(&self) -> ControllerMetrics {
        ControllerMetrics { window: self.window, ssthresh: None, slow_start: false }
    }
}

#[derive(Debug, Default)]
struct ThreePackets {
    built: AtomicUsize,
    acks: Arc<AtomicUsize>,
}

impl ControllerFactory for ThreePackets {
    fn build(&self, path: &FreshPath, _rng: &mut Rng) -> Box<dyn CongestionController> {
        self.built.fetch_add(1, Ordering::Relaxed);
        Box::new(PacketsInFlight { window: 3 * path.pmdcs, acks: Arc::clone(&self.acks) })
    }
}

#[test]
fn a_controller_of_the_user_s_own_decides_how_much_is_in_flight() {
    let factory = Arc::new(ThreePackets::default());
    let config = AssociationConfig::default()
        .with(|config| config.window.controller_factory = Some(factory.clone()));
    let mut duo = Duo::connected(1, &[good_link(), good_link()], config);
    (0..100).for_each(|number| duo.send(Side::Client, numbered(0, number, 1_300)));
    let mut most = 0;
    while duo.messages(Side::Server).len() < 100 {
        duo.run_for(Duration::from_millis(1));
        most = most.max(duo.stats(Side::Client).in_flight);
    }
    let window = duo.path(Side::Client, 0).window;
    // RFC 9260 section 6.1, rule B, lets one packet go out beyond the window.
    assert_eq!((window, most), (3 * 1_340, 4 * 1_316));
    assert_eq!(factory.built.load(Ordering::Relaxed), 4, "one for each path at each end");
    assert!(factory.acks.load(Ordering::Relaxed) > 30);
}

/// The stream with the highest number first.
#[derive(Debug, Default)]
struct HighestFirst {
    streams: BTreeSet<StreamId>,
}

impl StreamScheduler for HighestFirst {
    fn activate(&mut self, stream: StreamId, _priority: u16) {
        self.streams.insert(stream);
    }

    fn deactivate(&mut self, stream: StreamId, _priority: u16) {
        self.streams.remove(&stream);
    }

    fn next(&self, eligible: &mut dyn FnMut(StreamId) -> bool) -> Option<StreamId> {
        self.streams.iter().rev().copied().find(|stream| eligible(*stream))
    }

    fn served(&mut self, _stream: StreamId, _priority: u16, _ended: bool) {}
}

#[derive(Debug)]
struct HighestFirstFactory;

impl StreamSchedulerFactory for HighestFirstFactory {
    fn build(&self) -> Box<dyn StreamScheduler> {
        Box::new(HighestFirst::default())
    }
}

#[test]
fn a_stream_scheduler_of_the_user_s_own_decides_whose_message_is_next() {
    let config = AssociationConfig::default()
        .with(|config| config.streams.scheduler_factory = Some(Arc::new(HighestFirstFactory)));
    let mut duo = Duo::connected(1, &[link(1, 10, 0.0)], config);
    // What goes out at once is not chosen among many.
    (0..20).for_each(|number| duo.send(Side::Client, numbered(0, number, 1_300)));
    for stream in 1..4_u16 {
        (0..5).for_each(|_| duo.send(Side::Client, numbered(stream, 99, 1_300)));
    }
    duo.run_for(10 * SECOND);
    let streams = duo.messages(Side::Server).iter().map(|message| message.stream.0);
    let later: Vec<_> = streams.skip_while(|stream| *stream == 0).take(15).collect();
    assert_eq!(later, [3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1]);
}

/// Takes one path only.
#[derive(Debug, Clone, Copy)]
struct Only(PathId);

impl PathScheduler for Only {
    fn choose(&mut self, demand: &Demand<'_>, outlooks: &[Outlook]) -> Option<PathId> {
        assert!(demand.backlog() > 0);
        outlooks.iter().find(|path| path.id == self.0 && path.is_open).map(|path| path.id)
    }
}

impl PathSchedulerFactory for Only {
    fn build(&self) -> Option<Box<dyn PathScheduler>> {
        Some(Box::new(*self))
    }
}

#[test]
fn a_path_scheduler_of_the_user_s_own_decides_where_data_goes() {
    let config = AssociationConfig::default()
        .with(|config| config.paths.path_scheduler_factory = Some(Arc::new(Only(PathId(1)))));
    let mut duo = Duo::connected(1, &[good_link(), good_link()], config);
    duo.run_for(SECOND);
    (0..50).for_each(|number| duo.send(Side::Client, numbered(0, number, 1_300)));
    duo.run_for(5 * SECOND);
    assert_eq!(duo.messages(Side::Server).len(), 50);
    let sent = |path| duo.path(Side::Client, path).counters.chunks_sent;
    assert_eq!((sent(0), sent(1)), (0, 50));
}
