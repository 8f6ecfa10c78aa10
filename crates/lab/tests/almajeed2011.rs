//! Cells of the paper about several DCCP connections, on the beginning of the video.

use std::fs::File;
use std::path::PathBuf;

use anabranch_interop::examine_dccp;
use anabranch_lab::almajeed2011::{Carrier, Cell, Measured, Scenario, Setup, rows, tables};
use anabranch_lab::{Parameters, RecordTo};

fn setup(set: &str, pictures: usize) -> Setup {
    let set = format!("warm-up=2s{set}");
    let parameters = Parameters::read([set.as_str()]).expect("parameters");
    Setup::with(parameters, Some(pictures)).expect("a video that can be decoded")
}

fn cell(scenario: Scenario, carrier: Carrier) -> Cell {
    Cell { scenario, carrier, frame_us: 20_000, bad_loss_percent: 5, seed: 1 }
}

fn run(setup: &Setup, scenario: Scenario, carrier: Carrier) -> Measured {
    cell(scenario, carrier).run(setup).expect("machines that behave")
}

#[test]
fn every_way_and_carrier_brings_most_of_the_video() {
    let setup = setup("", 60);
    for scenario in Scenario::ALL {
        for carrier in [Carrier::Dccp(1), Carrier::Dccp(4)].into_iter().chain(Carrier::OURS) {
            let outcome = run(&setup, scenario, carrier).outcome;
            assert!(outcome.lost * 8 < outcome.slices, "{scenario}, {carrier}: {outcome:?}");
            assert!(outcome.psnr_y_db > Some(25.0), "{scenario}, {carrier}: {outcome:?}");
            let delay = outcome.delay_s.expect("slices are seen to leave and to arrive");
            assert!((0.005..3.0).contains(&delay), "{scenario}, {carrier}: {outcome:?}");
            if matches!(carrier, Carrier::Sctp | Carrier::SctpOverTwo) {
                assert_eq!(outcome.lost, 0, "{scenario}: what is lost is repeated");
            }
        }
    }
}

#[test]
fn four_connections_bring_the_video_sooner_than_one() {
    let setup = setup(",start-gap=0ms", 150);
    let seconds =
        |connections| run(&setup, Scenario::NodeC, Carrier::Dccp(connections)).outcome.period_s;
    let (one, four) = (seconds(1), seconds(4));
    assert!(one > 2.0 * four, "{one} s by one, {four} s by four");
}

#[test]
fn over_two_cells_each_brings_its_part_of_the_video_and_all_of_it_is_there_sooner() {
    let setup = setup("", 150);
    for (two, one) in
        [(Carrier::Multipath, Carrier::Dccp(1)), (Carrier::SctpOverTwo, Carrier::Sctp)]
    {
        let [two, one] = [two, one].map(|carrier| run(&setup, Scenario::BaseStation, carrier));
        let by_second = two.slices.iter().filter(|slice| slice.connection == 1).count();
        let share = by_second as f64 / two.slices.len() as f64;
        assert!((0.25..0.75).contains(&share), "{share} of the slices by the second cell");
        let (two, one) = (two.outcome, one.outcome);
        assert!(two.period_s < 0.8 * one.period_s, "{two:?}, over one cell {one:?}");
    }
}

#[test]
fn the_cells_of_a_sender_that_has_two_lose_by_themselves() {
    let setup = setup(",good-loss=20%", 150);
    let slices = run(&setup, Scenario::BaseStation, Carrier::Multipath).slices;
    let losses = [0, 1].map(|by| {
        let of_cell = slices.iter().filter(|slice| slice.connection == by);
        of_cell.map(|slice| slice.arrived.is_none()).collect::<Vec<_>>()
    });
    for (cell, lost) in losses.iter().enumerate() {
        let share = lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64;
        assert!((0.05..0.3).contains(&share), "{share} lost in cell {cell}");
    }
    let alike = losses[0].iter().zip(&losses[1]).filter(|(a, b)| **a && **b).count();
    let least = losses.iter().map(|lost| lost.iter().filter(|it| **it).count()).min();
    assert!(alike * 2 < least.unwrap_or_default(), "{alike} lost in both at once: {losses:?}");
}

#[test]
fn a_tcp_goes_beside_the_video_in_each_cell_that_it_is_sent_by() {
    let setup = setup(",tcp-beside=yes", 60);
    for (carrier, cells) in [(Carrier::Dccp(2), 1), (Carrier::Multipath, 2)] {
        let outcome = run(&setup, Scenario::NodeC, carrier).outcome;
        let rates = [outcome.tcp_kbps, outcome.tcp_other_kbps];
        let flowing = rates.iter().flatten().filter(|kbps| **kbps > 50.0).count();
        assert_eq!(flowing, cells, "{carrier}: {rates:?}");
    }
}

#[test]
fn each_switch_reaches_the_network() {
    for (set, scenario) in [
        ("scheduling=proportional", Scenario::BaseStation),
        ("scheduling=in-turn", Scenario::BaseStation),
        ("loss-tick=5ms", Scenario::BaseStation),
        ("core-on-radio=no", Scenario::NodeC),
        ("lossy-far-cell=no", Scenario::UserToUser),
        ("packet-start=yes", Scenario::BaseStation),
        ("tcp-start=2", Scenario::NodeC),
        ("tcp-window=20K", Scenario::NodeC),
        ("queue=20", Scenario::NodeC),
    ] {
        let outcome = |set: &str| run(&setup(set, 60), scenario, Carrier::Dccp(2)).outcome;
        let (usual, changed) = (outcome(""), outcome(&format!(",{set}")));
        assert!(usual != changed, "{set}: {usual:?}");
    }
}

#[test]
fn a_cell_without_losses_behind_the_core_loses_fewer_packets_of_the_video() {
    let lost = |set| {
        let outcomes = (1..=3).map(|seed| {
            let cell = Cell { seed, ..cell(Scenario::UserToUser, Carrier::Dccp(4)) };
            cell.run(&setup(set, 150)).expect("machines that behave").outcome
        });
        outcomes.map(|outcome| outcome.lost_on_air).sum::<u64>()
    };
    let (both, first) = (lost(""), lost(",lossy-far-cell=no"));
    assert!(first * 3 < both * 2 && first > 0, "{first} in the first cell, {both} in both");
}

#[test]
fn a_packet_a_second_at_first_has_the_video_begin_more_slowly() {
    let begun = |set| {
        let slices = run(&setup(set, 150), Scenario::NodeC, Carrier::Dccp(1)).slices;
        let sent = |number: usize| slices[number].sent.expect("all are sent");
        sent(12) - sent(0)
    };
    let (window, packet) = (begun(""), begun(",packet-start=yes"));
    assert!(packet > window, "{packet:?} by packets, {window:?} by a window");
}

#[test]
fn connections_take_turns_by_group_to_node_c_and_by_slice_from_user_to_user() {
    let setup = setup("", 60);
    let connections = |scenario| {
        let slices = run(&setup, scenario, Carrier::Dccp(4)).slices;
        slices.iter().map(|slice| slice.connection).collect::<Vec<_>>()
    };
    let by_group = connections(Scenario::NodeC);
    assert!(by_group.is_sorted() && by_group.last() == Some(&3), "{by_group:?}");
    let by_slice = connections(Scenario::UserToUser);
    assert_eq!(by_slice[..8], [0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn without_losses_on_the_air_nothing_is_lost_there() {
    let setup = setup(",good-loss=0%,stay-good=100%", 60);
    let outcome = run(&setup, Scenario::NodeC, Carrier::Dccp(4)).outcome;
    assert_eq!(outcome.lost_on_air, 0, "{outcome:?}");
    assert_eq!(outcome.lost, outcome.refused_by_queues as usize, "{outcome:?}");
}

#[test]
fn the_terminal_has_the_delay_of_sctp_beside_the_others() {
    let setup = setup("", 60);
    let results = [Carrier::Dccp(1), Carrier::Sctp].map(|carrier| {
        let cell = cell(Scenario::NodeC, carrier);
        (cell, run(&setup, Scenario::NodeC, carrier))
    });
    let rows = rows(results.iter().map(|(cell, measured)| (*cell, &measured.outcome)));
    let text = tables(&setup, &rows);
    let table = text.split("Table ").find(|table| table.starts_with("5: mean delay"));
    assert!(table.is_some_and(|table| table.contains("   SCTP: 0.")), "{text}");
}

#[test]
fn a_seed_repeats_its_cell_to_the_last_digit() {
    let setup = setup("", 60);
    let [first, again] = [(); 2].map(|()| run(&setup, Scenario::UserToUser, Carrier::Dccp(4)));
    assert_eq!(first, again);
}

#[test]
fn tshark_finds_no_fault_with_a_capture() {
    let setup = setup(",ftp=no", 30);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("almajeed2011.pcapng");
    let file = File::create(&path).expect("the target folder");
    let to = RecordTo { capture: Some(Box::new(file)), ..RecordTo::default() };
    let cell = cell(Scenario::UserToUser, Carrier::Dccp(2));
    let recorded = cell.run_recorded(&setup, to).expect("machines that behave");
    assert_eq!(recorded, cell.run(&setup).expect("machines that behave"), "nothing else changes");
    let examination = examine_dccp(&path).expect("tshark reads it");
    // Beside the video there are streams over UDP.
    let faults: Vec<_> =
        examination.faults.iter().filter(|fault| fault.what != "it is not DCCP").collect();
    assert!(faults.is_empty(), "{faults:?}");
    assert!(examination.packets - examination.faults.len() > 200, "the video and its feedback");
}
