//! Settings that change while an association lives.

use std::time::Duration;

use anabranch_sctp::{AssociationConfig, CloseReason, ConfigError, PathId, TimerConfig};

use crate::harness::{Duo, Side, good_link, numbered};

const SECOND: Duration = Duration::from_secs(1);

fn connected() -> Duo {
    Duo::connected(1, &[good_link(), good_link()], AssociationConfig::default())
}

#[test]
fn the_bounds_of_the_rto_hold_from_the_next_timer_on() {
    let mut duo = connected();
    duo.run_for(SECOND);
    assert_eq!(duo.path(Side::Client, 0).rto, SECOND, "RTO.Min");
    let timers = TimerConfig {
        rto_min: Duration::from_millis(100),
        rto_max: Duration::from_millis(400),
        ..TimerConfig::default()
    };
    duo.act(Side::Client, |association, _| association.set_timers(timers)).expect("sound");
    duo.send(Side::Client, numbered(0, 0, 100));
    duo.run_for(SECOND);
    assert!(duo.path(Side::Client, 0).rto <= Duration::from_millis(400));
    duo.pair.cut(0);
    duo.pair.cut(1);
    duo.send(Side::Client, numbered(0, 1, 100));
    duo.run_for(2 * SECOND);
    let timeouts = duo.stats(Side::Client).path_totals.timeouts;
    assert!(timeouts >= 3, "{timeouts}: by RTO.Min of 1 s it was one");
}

#[test]
fn timers_that_cannot_work_change_nothing() {
    let mut duo = connected();
    let (min, max) = (2 * SECOND, SECOND);
    let timers = TimerConfig { rto_min: min, rto_max: max, ..TimerConfig::default() };
    let refused = duo.act(Side::Client, |association, _| association.set_timers(timers));
    assert_eq!(refused, Err(ConfigError::RtoBounds { min, max }));
    let association = duo.association(Side::Client).expect("lives");
    assert_eq!(association.config().timers.rto_max, 60 * SECOND);
}

#[test]
fn a_lower_limit_on_retransmissions_ends_an_association_sooner() {
    let mut duo = connected();
    duo.act(Side::Client, |association, _| association.set_retransmission_limits(2, 1));
    duo.pair.cut(0);
    duo.pair.cut(1);
    duo.send(Side::Client, numbered(0, 0, 100));
    let begin = duo.now();
    assert_eq!(duo.run_until_closed(Side::Client), CloseReason::PeerUnreachable);
    let lasted = duo.now() - begin;
    assert!(lasted < 20 * SECOND, "not a minute and more: {lasted:?}");
}

#[test]
fn a_path_can_have_a_heartbeat_interval_of_its_own() {
    let mut duo = connected();
    duo.run_for(SECOND);
    let sent = |duo: &Duo, path| duo.path(Side::Client, path).counters.heartbeats_sent;
    let before = [sent(&duo, 0), sent(&duo, 1)];
    duo.act(Side::Client, |association, now| {
        assert!(association.set_heartbeat_interval(now, PathId(1), SECOND));
        assert!(!association.set_heartbeat_interval(now, PathId(7), SECOND));
    });
    duo.run_for(20 * SECOND);
    assert_eq!(sent(&duo, 0), before[0], "every 30 s");
    assert!(sent(&duo, 1) >= before[1] + 8, "every 2 s, the RTO included");
}
