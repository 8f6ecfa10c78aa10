//! Cells of the first paper's tables, on the beginning of the video.

mod golden;

use anabranch_lab::Parameters;
use anabranch_lab::ortiz2013::{
    Cell, Measured, Outcome, RtpStrategy, SctpStrategy, Setup, Source, Strategy, Treatment,
    cells_csv,
};

const FRAMES: usize = 25;
const RTP: Strategy = Strategy::Rtp(RtpStrategy::Single);

fn measure(strategy: Strategy, mbps: f64, seed: u64) -> Measured {
    let setup = Setup::new(Source::Plain).cut_after(FRAMES);
    let cell = Cell { strategy, mbps, loss: 1e-2, seed };
    cell.run(&setup).expect("the machines behave")
}

fn run(strategy: Strategy, mbps: f64, seed: u64) -> Outcome {
    measure(strategy, mbps, seed).outcome
}

#[test]
fn every_strategy_delivers_what_no_link_is_too_slow_for() {
    for strategy in Strategy::ALL {
        let outcome = run(strategy, 60.0, 1);
        assert_eq!(outcome.arrived, outcome.packets, "{strategy}");
        assert_eq!(outcome.frames_full, FRAMES, "{strategy}");
    }
}

#[test]
fn rtp_takes_the_way_and_one_packets_time() {
    // 5 ms and 1488 bytes at 60 Mbit/s; the last packet of a slice is shorter.
    let delay_ms = run(RTP, 60.0, 1).delay_s * 1e3;
    assert!((5.15..5.2).contains(&delay_ms), "{delay_ms} ms");
}

#[test]
fn an_overloaded_link_delays_sctp_and_takes_pictures_from_rtp() {
    let rtp = run(RTP, 15.0, 1);
    let sctp = run(Strategy::Sctp(SctpStrategy::Multi(Treatment::Reliable)), 15.0, 1);
    assert!(rtp.frames_repeated > FRAMES / 2 && rtp.delay_s < 0.05, "{rtp:?}");
    assert!(sctp.frames_full == FRAMES && sctp.delay_s > 0.1, "{sctp:?}");
}

#[test]
fn a_seed_repeats_its_cell_to_the_last_digit() {
    let strategy = Strategy::Sctp(SctpStrategy::Multi(Treatment::Mixed(1)));
    assert_eq!(measure(strategy, 30.0, 7), measure(strategy, 30.0, 7));
}

#[test]
fn the_seconds_of_a_cell_say_what_each_link_carried_and_refused() {
    let rtp = measure(RTP, 15.0, 1);
    let [first, second] = &rtp.seconds[..] else { panic!("one of video, one on the way: {rtp:?}") };
    assert!((14.5..15.1).contains(&first.eth0_mbps), "a full link: {first:?}");
    assert_eq!((first.eth1_mbps, first.eth1_discards), (0.0, 0), "{first:?}");
    let refused = u64::from(first.eth0_discards + second.eth0_discards);
    assert_eq!(refused, rtp.outcome.refused_by_queues);
    assert_eq!(rtp.outcome.packets - rtp.outcome.arrived, refused as usize);
    assert!(first.loss_mbps > 1.0 && second.loss_mbps == 0.0, "{first:?}");
    let multi = measure(Strategy::Rtp(RtpStrategy::Multi), 60.0, 1).seconds[0];
    assert!(multi.eth1_mbps > multi.eth0_mbps && multi.eth0_mbps > 1.0, "{multi:?}");
    assert_eq!(multi.loss_mbps, 0.0);
}

#[test]
fn ours_is_within_the_bar_on_an_overloaded_link() {
    let ours = run(Strategy::OURS, 20.0, 1);
    let lowest = run(Strategy::Rtp(RtpStrategy::Multi), 20.0, 1);
    assert_eq!(ours.frames_full, FRAMES);
    assert!(ours.delay_s < lowest.delay_s + 0.005, "{ours:?} {lowest:?}");
}

fn run_with(set: &str, strategy: Strategy, mbps: f64) -> Outcome {
    let parameters = Parameters::read([set]).expect("there are such parameters");
    let setup = Setup::with(Source::Plain, parameters).cut_after(FRAMES);
    let cell = Cell { strategy, mbps, loss: 0.5, seed: 1 };
    cell.run(&setup).expect("the machines behave").outcome
}

#[test]
fn what_is_set_reaches_the_network() {
    let delay_ms = |set| run_with(set, RTP, 60.0).delay_s * 1e3;
    assert!((25.15..25.2).contains(&delay_ms("delay=25ms")));
    assert!((25.15..25.2).contains(&delay_ms("rtt=50ms")));
    let refused = |set| run_with(set, RTP, 15.0).refused_by_queues;
    assert!(refused("queue=50p") > refused("queue=200p"));
    assert_eq!(refused("queue=10000p"), 0);
    let lost = |set| run_with(set, RTP, 60.0).lost_on_links;
    assert_eq!((lost("onset=5s,5s"), lost("onset=0,0") > 500), (0, true));
    let packets = |set| run_with(set, RTP, 60.0).packets;
    assert!(packets("mtu=9000") < packets("mtu=1500") / 2);
    let duration_s = |set| run_with(set, RTP, 60.0).duration_s;
    assert_eq!((duration_s("frame-rate=25"), duration_s("frame-rate=5")), (2, 6));
}

#[test]
fn what_is_set_reaches_the_strategies() {
    let reliable = Strategy::Sctp(SctpStrategy::Multi(Treatment::Reliable));
    for (strategy, small, large) in [
        (reliable, "buffer=8K,delay=25ms", "buffer=1M,delay=25ms"),
        (Strategy::Tcp, "tcp-buffer=8K,delay=25ms", "tcp-buffer=1M,delay=25ms"),
        (Strategy::OURS, "our-buffer=8K,latency=60s", "our-buffer=1M,latency=60s"),
    ] {
        let delay_s = |set| run_with(set, strategy, 60.0).delay_s;
        assert!(delay_s(small) > 2.0 * delay_s(large), "{strategy}");
    }
    let repeated = |set| run_with(set, Strategy::OURS, 60.0).retransmissions;
    assert!(repeated("onset=0,0") > repeated("onset=0,0,latency=1ms,lifetime=1ms"));
}

#[test]
fn a_source_of_ones_own_takes_the_place_of_the_video() {
    let file = format!("{}/own.csv", env!("CARGO_TARGET_TMPDIR"));
    let table = include_str!("../data/svc-720p25-intra.csv");
    let few: String = table.lines().take(1 + 7).flat_map(|line| [line, "\n"]).collect();
    std::fs::write(&file, few).expect("the target folder");
    let outcome = run_with(&format!("source={file}"), RTP, 60.0);
    assert_eq!(outcome.frames_full, 7);
}

/// Where a mend changes what is measured, the file is what `anabranch lab ortiz2013 --cell
/// 30,0.01,1 --pictures 25 --out DIR` writes as cells.csv.
#[test]
fn the_tables_are_the_same_until_a_defect_is_mended() {
    let setup = Setup::new(Source::Congested).cut_after(FRAMES);
    let results = Strategy::ALL.map(|strategy| {
        let cell = Cell { strategy, mbps: 30.0, loss: 1e-2, seed: 1 };
        (cell, cell.run(&setup).expect("the machines behave"))
    });
    let table = cells_csv(&setup, &results).unwrap();
    golden::assert_same(&table, include_str!("golden/ortiz2013.csv"));
}
