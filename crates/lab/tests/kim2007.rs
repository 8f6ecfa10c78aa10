//! Cells of the second paper's figures.

mod golden;

use anabranch_lab::kim2007::{
    Carrier, Cell, MESSAGES, Outcome, Scenario, Values, Variation, cells_csv,
};
use anabranch_lab::{Parameters, RecordTo};

/// The file's own time, and the link's 10 ms with one message.
const IDEAL_S: f64 = 16.386;

fn cell(scenario: Scenario, carrier: Carrier, point: u32, seed: u64) -> Cell {
    let mut cells = Values::default().cells_of_seed(scenario, seed).into_iter();
    let is_it = |cell: &Cell| (cell.carrier, cell.point()) == (carrier, point);
    cells.find(is_it).expect("it is in the figure")
}

fn run(scenario: Scenario, carrier: Carrier, point: u32, seed: u64) -> Outcome {
    cell(scenario, carrier, point, seed).run().expect("the machines behave")
}

fn completion_s(carrier: Carrier, loss: u32, seed: u64) -> f64 {
    run(Scenario::Loss, carrier, loss, seed).completion_s.expect("something arrives")
}

#[test]
fn every_carrier_delivers_the_whole_file_in_its_own_time_where_nothing_is_lost() {
    for carrier in Carrier::ALL {
        let outcome = run(Scenario::Loss, carrier, 0, 1);
        assert_eq!(outcome.received, MESSAGES as usize, "{carrier}");
        let late_s = outcome.completion_s.expect("it arrived") - IDEAL_S;
        assert!((-0.001..0.02).contains(&late_s), "{carrier}: {late_s} s");
    }
}

#[test]
fn reliable_carriers_deliver_the_whole_file_through_loss() {
    for carrier in [Carrier::Tcp, Carrier::Sctp, Carrier::Anabranch] {
        let outcome = run(Scenario::Loss, carrier, 10, 1);
        assert_eq!(outcome.received, MESSAGES as usize, "{carrier}");
        assert!(outcome.retransmissions > 150, "{carrier}: {outcome:?}");
    }
}

#[test]
fn loss_holds_up_tcp_and_sctp_but_not_what_may_lose_messages() {
    for seed in 1..=3 {
        for carrier in [Carrier::Tcp, Carrier::Sctp] {
            let after_s = completion_s(carrier, 10, seed);
            assert!(after_s > IDEAL_S + 4.0, "{carrier}: {after_s} s");
        }
        for carrier in [Carrier::Udp, Carrier::PrSctp, Carrier::Anabranch, Carrier::AnabranchPr] {
            let after_s = completion_s(carrier, 10, seed);
            assert!(after_s < IDEAL_S + 1.0, "{carrier}: {after_s} s");
        }
    }
}

#[test]
fn lifetimes_deliver_more_than_datagrams_and_ours_more_than_the_papers() {
    let received = |carrier| run(Scenario::Loss, carrier, 10, 1).received;
    let [udp, pr, ours] = [Carrier::Udp, Carrier::PrSctp, Carrier::AnabranchPr].map(received);
    assert!(udp < pr && pr < ours, "{udp}, {pr}, {ours}");
}

#[test]
fn nothing_is_delivered_after_its_lifetime_by_equation_1() {
    // R is 500 ms, a message's own time 8 ms, the way 10 ms.
    let outcome = run(Scenario::Loss, Carrier::AnabranchPr, 10, 1);
    let longest_s = outcome.delay_max_s.expect("something arrives");
    assert!((0.03..0.519).contains(&longest_s), "{longest_s} s");
    // With R = 0 there is no time to send anything again.
    let timed = cell(Scenario::Loss, Carrier::PrSctp, 10, 1);
    let at_once = Variation::RateControl(0).run(&timed).expect("the machines behave");
    assert_eq!(at_once.retransmissions, 0);
    assert!(at_once.received < MESSAGES as usize * 95 / 100, "{at_once:?}");
}

#[test]
fn streams_spare_a_message_what_it_need_not_wait_for() {
    let delay_s = |streams| {
        let cells = Scenario::Streams.cells(1).into_iter();
        let mut cells =
            cells.filter(|cell| (cell.carrier, cell.loss_percent) == (Carrier::Sctp, 5));
        let cell = cells.find(|cell| cell.streams == streams).expect("it is in the figure");
        cell.run().expect("the machines behave").delay_s.expect("something arrives")
    };
    let (one, ten) = (delay_s(1), delay_s(10));
    assert!(ten < one / 2.0, "{one} and {ten} s");
}

#[test]
fn three_channels_over_one_connection_all_arrive() {
    for carrier in Scenario::Channels.carriers() {
        let outcome = run(Scenario::Channels, *carrier, 3, 1);
        assert_eq!((outcome.messages, outcome.received), (2_049, 2_049), "{carrier}");
    }
}

#[test]
fn tcp_switches_in_two_round_trips_and_sctp_in_one() {
    for (carrier, round_trips) in
        [(Carrier::Tcp, 2.0), (Carrier::Sctp, 1.0), (Carrier::Anabranch, 1.0)]
    {
        for delay_ms in [10, 100] {
            let outcome = run(Scenario::Switching, carrier, delay_ms, 1);
            let ways_s = round_trips * 2.0 * f64::from(delay_ms) / 1e3;
            // The rest is serialisation, at 100 Mbit/s.
            let rest_s = outcome.switching_s.expect("the channel came") - ways_s;
            assert!((0.0..0.001).contains(&rest_s), "{carrier}, {delay_ms} ms: {rest_s} s");
        }
    }
}

#[test]
fn a_seed_repeats_its_cell_to_the_last_digit() {
    for carrier in Carrier::ALL {
        assert_eq!(run(Scenario::Loss, carrier, 5, 2), run(Scenario::Loss, carrier, 5, 2));
    }
    let other = run(Scenario::Loss, Carrier::Udp, 5, 3);
    assert_ne!(run(Scenario::Loss, Carrier::Udp, 5, 2), other);
}

#[test]
fn what_is_set_reaches_the_network_and_the_carriers() {
    let run = |set: &str, carrier| {
        let parameters = Parameters::<Values>::read([set]).expect("there are such parameters");
        let cells = parameters.values().cells_of_seed(Scenario::Loss, 1).into_iter();
        let mut cells = cells.filter(|cell| cell.carrier == carrier);
        let cell = cells.next_back().expect("a point with the highest loss");
        cell.run_recorded(&parameters, RecordTo::default()).expect("the machines behave")
    };
    let completion_s = |set, carrier| run(set, carrier).completion_s.expect("something arrives");
    let half_s = completion_s("loss=0%,file=1M", Carrier::Udp);
    assert!((8.19..8.21).contains(&half_s), "half the file takes half the time: {half_s} s");
    let slow_s = completion_s("loss=0%,media-rate=512k", Carrier::Udp);
    assert!((32.7..32.8).contains(&slow_s), "half the rate takes twice as long: {slow_s} s");
    assert_eq!(run("loss=0%,message=512B", Carrier::Sctp).received, 4_096);
    assert_eq!(run("loss=0%,rate=512k,queue=10p", Carrier::Sctp).received, 2_048);
    for (carrier, equal) in [
        (Carrier::Tcp, "loss=10%,tcp-send-buffer=1M,tcp-buffer=1M"),
        (Carrier::Sctp, "loss=10%,rto-min=100ms"),
    ] {
        assert!(completion_s(equal, carrier) < completion_s("loss=10%", carrier), "{carrier}");
    }
}

/// Where a mend changes what is measured, the file is what `anabranch lab kim2007 --cell 8,10,1
/// --out DIR` writes as cells.csv.
#[test]
fn the_figures_are_the_same_until_a_defect_is_mended() {
    let cell = |carrier| cell(Scenario::Loss, carrier, 10, 1);
    let results = Carrier::ALL.map(|carrier| {
        let cell = cell(carrier);
        (cell, cell.run().expect("the machines behave"))
    });
    let table = cells_csv(&Parameters::default(), &results).unwrap();
    golden::assert_same(&table, include_str!("golden/kim2007.csv"));
}
