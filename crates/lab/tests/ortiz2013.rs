//! Cells of the first paper's tables, on the beginning of the video.

use anabranch_lab::ortiz2013::{
    Cell, Measured, Outcome, RtpStrategy, SctpStrategy, Source, Strategy, Treatment, Video,
};

const FRAMES: usize = 25;
const RTP: Strategy = Strategy::Rtp(RtpStrategy::Single);

fn measure(strategy: Strategy, mbps: u32, seed: u64) -> Measured {
    let video = Video::new(Source::Plain).cut_after(FRAMES);
    let cell = Cell { strategy, mbps, loss: 1e-2, seed };
    cell.run(&video).expect("the machines behave")
}

fn run(strategy: Strategy, mbps: u32, seed: u64) -> Outcome {
    measure(strategy, mbps, seed).outcome
}

#[test]
fn every_strategy_delivers_what_no_link_is_too_slow_for() {
    for strategy in Strategy::ALL {
        let outcome = run(strategy, 60, 1);
        assert_eq!(outcome.arrived, outcome.packets, "{strategy}");
        assert_eq!(outcome.frames_full, FRAMES, "{strategy}");
    }
}

#[test]
fn rtp_takes_the_way_and_one_packets_time() {
    // 5 ms and 1488 bytes at 60 Mbit/s; the last packet of a slice is shorter.
    let delay_ms = run(RTP, 60, 1).delay_s * 1e3;
    assert!((5.15..5.2).contains(&delay_ms), "{delay_ms} ms");
}

#[test]
fn an_overloaded_link_delays_sctp_and_takes_pictures_from_rtp() {
    let rtp = run(RTP, 15, 1);
    let sctp = run(Strategy::Sctp(SctpStrategy::Multi(Treatment::Reliable)), 15, 1);
    assert!(rtp.frames_repeated > FRAMES / 2 && rtp.delay_s < 0.05, "{rtp:?}");
    assert!(sctp.frames_full == FRAMES && sctp.delay_s > 0.1, "{sctp:?}");
}

#[test]
fn a_seed_repeats_its_cell_to_the_last_digit() {
    let strategy = Strategy::Sctp(SctpStrategy::Multi(Treatment::Mixed(1)));
    assert_eq!(measure(strategy, 30, 7), measure(strategy, 30, 7));
}

#[test]
fn the_seconds_of_a_cell_say_what_each_link_carried_and_refused() {
    let rtp = measure(RTP, 15, 1);
    let [first, second] = &rtp.seconds[..] else { panic!("one of video, one on the way: {rtp:?}") };
    assert!((14.5..15.1).contains(&first.eth0_mbps), "a full link: {first:?}");
    assert_eq!((first.eth1_mbps, first.eth1_discards), (0.0, 0), "{first:?}");
    let refused = u64::from(first.eth0_discards + second.eth0_discards);
    assert_eq!(refused, rtp.outcome.refused_by_queues);
    assert_eq!(rtp.outcome.packets - rtp.outcome.arrived, refused as usize);
    assert!(first.loss_mbps > 1.0 && second.loss_mbps == 0.0, "{first:?}");
    let multi = measure(Strategy::Rtp(RtpStrategy::Multi), 60, 1).seconds[0];
    assert!(multi.eth1_mbps > multi.eth0_mbps && multi.eth0_mbps > 1.0, "{multi:?}");
    assert_eq!(multi.loss_mbps, 0.0);
}

#[test]
fn ours_is_within_the_bar_on_an_overloaded_link() {
    let ours = run(Strategy::OURS, 20, 1);
    let lowest = run(Strategy::Rtp(RtpStrategy::Multi), 20, 1);
    assert_eq!(ours.frames_full, FRAMES);
    assert!(ours.delay_s < lowest.delay_s + 0.005, "{ours:?} {lowest:?}");
}
