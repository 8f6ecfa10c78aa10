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
        for carrier in [Carrier::Dccp(1), Carrier::Dccp(4), Carrier::Auto, Carrier::Sctp] {
            let outcome = run(&setup, scenario, carrier).outcome;
            assert!(outcome.lost * 8 < outcome.slices, "{scenario}, {carrier}: {outcome:?}");
            assert!(outcome.psnr_y_db > Some(25.0), "{scenario}, {carrier}: {outcome:?}");
            let delay = outcome.delay_s.expect("slices are seen to leave and to arrive");
            assert!((0.005..3.0).contains(&delay), "{scenario}, {carrier}: {outcome:?}");
            if carrier == Carrier::Sctp {
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
