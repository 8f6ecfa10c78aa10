//! Cells of the first paper's tables, on the beginning of the video.

use anabranch_lab::ortiz2013::{
    Cell, Outcome, RtpStrategy, SctpStrategy, Source, Strategy, Treatment, Video,
};

const FRAMES: usize = 25;
const RTP: Strategy = Strategy::Rtp(RtpStrategy::Single);

fn run(strategy: Strategy, mbps: u32, seed: u64) -> Outcome {
    let video = Video::new(Source::Plain).cut_after(FRAMES);
    let cell = Cell { strategy, mbps, loss: 1e-2, seed };
    cell.run(&video).expect("the machines behave")
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
    assert_eq!(run(strategy, 30, 7), run(strategy, 30, 7));
}
