//! Each state on a simulated bottleneck.

use super::*;
use crate::pipe::{Pipe, SMSS};

/// Four chunks a millisecond, 50 ms: a product of 200 chunks.
fn pipe() -> Pipe<Bbr> {
    Pipe::new(Bbr::new(SMSS, Rng::from_u64(1)), 4.0, 50)
}

/// The same, past Startup and Drain.
fn steady() -> Pipe<Bbr> {
    let mut pipe = pipe();
    reach(&mut pipe, State::Cruise);
    pipe
}

fn reach(pipe: &mut Pipe<Bbr>, state: State) {
    pipe.run_until(Duration::from_secs(20), |pipe| pipe.controller.state == state);
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn startup_doubles_until_the_rate_grows_no_more_and_drain_empties_its_queue() {
    let mut pipe = pipe();
    pipe.run_for(millis(160));
    assert!(pipe.controller.cwnd >= 35 * SMSS, "three round trips: {}", pipe.controller.cwnd);
    reach(&mut pipe, State::Drain);
    assert!(pipe.controller.full_pipe.reached);
    assert!(pipe.flight as f64 > 1.5 * pipe.bdp(), "Startup leaves a queue");
    pipe.run_until(millis(200), |pipe| pipe.controller.state != State::Drain);
    assert!(pipe.flight as f64 <= 1.05 * pipe.bdp(), "{} of {}", pipe.flight, pipe.bdp());
    let bw = pipe.controller.max_bw.max();
    assert!((0.98 * pipe.rate..1.05 * pipe.rate).contains(&bw), "{bw} of {}", pipe.rate);
}

#[test]
fn startup_ends_by_loss_where_a_round_trip_of_recovery_loses_much() {
    let bound_after_startup = |loss_every| {
        let mut pipe = pipe();
        pipe.loss_every = loss_every;
        reach(&mut pipe, State::Drain);
        pipe.controller.bounds.inflight_longterm
    };
    assert!(bound_after_startup(20) < usize::MAX);
    assert_eq!(bound_after_startup(200), usize::MAX, "0.5 % is below the threshold");
}

#[test]
fn bandwidth_is_probed_two_to_three_seconds_after_the_last_probe_in_a_cycle_of_four() {
    let mut pipe = steady();
    reach(&mut pipe, State::ProbeRtt);
    reach(&mut pipe, State::Cruise);
    let waits_since = pipe.now;
    reach(&mut pipe, State::Refill);
    let wait = pipe.now - waits_since;
    assert!((millis(2_000)..millis(3_100)).contains(&wait), "{wait:?}");
    for state in [State::Up, State::Down, State::Cruise, State::Refill] {
        reach(&mut pipe, state);
    }
}

#[test]
fn cruise_sends_what_the_path_delivers_with_an_empty_queue() {
    let pipe = steady();
    let pace = pipe.controller.pacing_rate;
    assert!((0.96 * pipe.rate..pipe.rate).contains(&pace), "{pace} of {}", pipe.rate);
    assert!(pipe.flight as f64 <= 1.05 * pipe.bdp());
}

#[test]
fn up_finds_bandwidth_that_was_not_there_before() {
    let mut pipe = steady();
    pipe.rate *= 2.0;
    pipe.run_for(Duration::from_secs(12));
    let bw = pipe.controller.bw;
    assert!(bw > 0.9 * pipe.rate, "{bw} of {}", pipe.rate);
}

#[test]
fn bandwidth_that_went_away_is_forgotten_after_two_cycles() {
    let mut pipe = steady();
    pipe.rate /= 2.0;
    pipe.run_for(Duration::from_secs(12));
    let bw = pipe.controller.bw;
    assert!(bw < 1.1 * pipe.rate, "{bw} of {}", pipe.rate);
}

#[test]
fn probe_rtt_halves_the_flight_for_200_ms_every_five_seconds() {
    let mut pipe = steady();
    reach(&mut pipe, State::ProbeRtt);
    let entered = pipe.now;
    pipe.run_until(millis(300), |pipe| pipe.flight as f64 <= 0.55 * pipe.bdp());
    reach(&mut pipe, State::Cruise);
    let took = pipe.now - entered;
    assert!((millis(200)..millis(400)).contains(&took), "{took:?}");
    assert!(pipe.controller.cwnd as f64 > 1.5 * pipe.bdp(), "the window is restored");
    reach(&mut pipe, State::ProbeRtt);
    let again = pipe.now - entered;
    assert!((millis(5_000)..millis(6_000)).contains(&again), "{again:?}");
}

#[test]
fn a_longer_round_trip_is_believed_after_ten_seconds() {
    let mut pipe = steady();
    pipe.rtt = millis(80);
    pipe.run_for(Duration::from_secs(16));
    let lowest = pipe.controller.lowest_rtt().unwrap();
    assert!((millis(80)..millis(84)).contains(&lowest), "{lowest:?}");
}

#[test]
fn losses_while_cruising_bound_the_short_term_and_refill_lifts_that() {
    let mut pipe = steady();
    pipe.loss_every = 10;
    pipe.run_for(millis(300));
    let bounds = pipe.controller.bounds;
    assert!(bounds.bw_shortterm < 0.95 * pipe.rate, "{bounds:?}");
    assert!(pipe.controller.bw <= bounds.bw_shortterm);
    assert!(bounds.inflight_shortterm < usize::MAX && bounds.inflight_longterm == usize::MAX);
    reach(&mut pipe, State::Refill);
    assert!(pipe.controller.bounds.bw_shortterm.is_infinite());
}

#[test]
fn a_probe_that_loses_more_than_two_percent_ends_and_bounds_the_flight() {
    let mut pipe = steady();
    reach(&mut pipe, State::Up);
    pipe.loss_every = 20;
    reach(&mut pipe, State::Down);
    let controller = &pipe.controller;
    assert!(controller.probe_bw.prev_probe_too_high);
    assert!(!controller.probe_bw.is_bw_probe_sample, "once per probe");
    let longterm = controller.bounds.inflight_longterm as f64;
    assert!((0.65 * pipe.bdp()..1.6 * pipe.bdp()).contains(&longterm), "{longterm}");
    reach(&mut pipe, State::Cruise);
    pipe.run_for(millis(20));
    let window = pipe.controller.cwnd as f64;
    assert!(window <= 0.86 * longterm, "headroom for others: {window} of {longterm}");
}

#[test]
fn one_percent_of_loss_does_not_end_a_probe() {
    let mut pipe = steady();
    reach(&mut pipe, State::Refill);
    pipe.loss_every = 100;
    reach(&mut pipe, State::Down);
    assert!(!pipe.controller.probe_bw.prev_probe_too_high);
    assert_eq!(pipe.controller.bounds.inflight_longterm, usize::MAX);
}

#[test]
fn a_spurious_loss_takes_its_bounds_and_its_change_of_state_back() {
    let mut pipe = steady();
    reach(&mut pipe, State::Up);
    pipe.loss_every = 20;
    reach(&mut pipe, State::Down);
    pipe.controller.undo_loss(pipe.now);
    assert_eq!(pipe.controller.bounds.inflight_longterm, usize::MAX);
    assert_eq!(pipe.controller.state, State::Refill);
}

#[test]
fn a_timeout_lets_one_packet_out_and_the_window_returns_after_a_round_trip() {
    let mut pipe = steady();
    let before = pipe.controller.cwnd;
    pipe.controller.on_timeout(pipe.now);
    assert_eq!((pipe.controller.window(), pipe.controller.cwnd), (1, SMSS));
    pipe.run_for(millis(250));
    assert!(pipe.controller.cwnd as f64 >= 0.95 * before as f64, "{}", pipe.controller.cwnd);
}

#[test]
fn what_the_application_limits_does_not_lower_the_rate() {
    let mut pipe = steady();
    pipe.app_rate = pipe.rate / 4.0;
    pipe.run_for(Duration::from_secs(20));
    assert!(pipe.controller.max_bw.max() > 0.95 * pipe.rate);
}

#[test]
fn an_idle_flow_begins_again_at_its_rate() {
    let mut pipe = steady();
    reach(&mut pipe, State::Up);
    let sent = SentData { now: pipe.now, bytes: SMSS, flight: 0, is_app_limited: true };
    pipe.controller.on_sent(&sent);
    assert!(pipe.controller.pacing_rate <= pipe.controller.bw);
}

#[test]
fn with_tolerance_a_queue_that_empties_by_itself_spares_probe_rtt() {
    let parameters = Parameters { min_rtt_tolerance: 17.0 / 16.0, ..Parameters::DRAFT };
    let mut pipe = Pipe::new(Bbr::with_parameters(SMSS, Rng::from_u64(1), parameters), 4.0, 50);
    pipe.run_until(Duration::from_secs(20), |pipe| pipe.controller.state == State::Cruise);
    let end = pipe.now + Duration::from_secs(30);
    while pipe.now < end {
        pipe.run_for(millis(10));
        assert_ne!(pipe.controller.state, State::ProbeRtt);
    }
}

#[test]
fn regression_an_estimate_from_before_the_clock_jumped_held_the_path_for_minutes() {
    let mut pipe = steady();
    // Samples that span a suspension leave a bandwidth of some bytes a second.
    pipe.controller.pacing_rate = 45.0;
    let least = (4 * SMSS) as f64 / pipe.rtt.as_secs_f64();
    let pace = pipe.controller.pacing_rate().map_or(0.0, |rate| rate.as_bps() as f64 / 8.0);
    assert!(pace > 0.95 * least, "{pace} bytes a second, the smallest window brings {least}");
}

#[test]
fn the_waits_between_probes_are_drawn_from_the_seed() {
    let times = |seed| {
        let mut pipe = Pipe::new(Bbr::new(SMSS, Rng::from_u64(seed)), 4.0, 50);
        [(); 3].map(|()| {
            reach(&mut pipe, State::Up);
            reach(&mut pipe, State::Down);
            pipe.now
        })
    };
    assert_eq!(times(1), times(1));
    assert_ne!(times(1), times(2), "two flows do not probe in step");
}
