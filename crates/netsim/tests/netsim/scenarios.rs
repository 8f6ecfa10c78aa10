//! Scenarios as data.

use std::time::Duration;

use anabranch_netsim::{
    Action, CLIENT, LinkConfig, Pair, RunHeader, SERVER, Scenario, ScenarioError, Side, Simulation,
    Stage,
};
use anabranch_sansio::{Rate, Time};

use crate::machines::Chatter;

const MS: Duration = Duration::from_millis(1);

const HANDOVER: &str = r#"
duration = "2500.5ms"
seed = 7

[[links]]
name = "wifi"
delay = "10ms"

[[links]]
name = "mobile"
up.rate = "30M"
up.delay = "30ms"
down.rate = "4M"
down.delay = "40ms"

[[events]]
at = "1s"
cut = "wifi"

[[events]]
at = "1500.5ms"
check = "only mobile"

[[events]]
at = "1500.5ms"
restore = "wifi"

[[events]]
at = "1500.5ms"
change = "mobile"
rate = "unlimited"
delay = "7ms"

[[events]]
at = "2500.5ms"
check = "both"

# What only lab run reads.
[[flows]]
name = "film"
kind = "sctp"
"#;

fn read(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::from_toml(text, &|file| Err(format!("there is no {file}")))
}

fn handover() -> Scenario {
    read(HANDOVER).expect("a good scenario")
}

fn pair(scenario: &Scenario) -> Pair<Chatter> {
    let pair = scenario.pair(|side, paths, _| match side {
        Side::Client => Chatter::talker(paths, 10_000, MS),
        Side::Server => Chatter::listener(paths),
    });
    pair.expect("two paths")
}

/// How many packets came over each path since the last look.
fn arrivals(sim: &mut Simulation<Chatter>) -> [usize; 2] {
    let heard = sim.take_events(SERVER);
    [0, 1].map(|net| {
        let address = std::net::IpAddr::from([10, net, 0, 2]);
        heard.iter().filter(|heard| heard.path.local.ip() == address).count()
    })
}

#[test]
fn links_and_steps_are_read_as_written() {
    let scenario = handover();
    let wifi = scenario.links[0].config();
    assert_eq!(wifi.forward.delay, 10 * MS);
    assert_eq!(wifi.backward, wifi.forward);
    assert_eq!(scenario.links[1].config().backward.rate, Some(Rate::mbps(4)));
    assert_eq!(scenario.steps[2], Action::Run(Duration::from_micros(500_500)));
    assert_eq!(scenario.span(), Duration::from_micros(2_500_500));
}

#[test]
fn steps_happen_in_their_order_and_checks_see_their_effect() {
    let scenario = handover();
    let mut pair = pair(&scenario);
    let mut checks = Vec::new();
    let check = |sim: &mut Simulation<Chatter>, expectation: &str| {
        checks.push((expectation.to_owned(), sim.now(), arrivals(sim)));
        Ok(())
    };
    scenario.play(&mut pair.sim, check).expect("all as expected");
    let [(only_mobile, at, before), (both, end, after)] = checks.as_slice() else {
        panic!("two checks, not {checks:?}")
    };
    assert_eq!((only_mobile.as_str(), both.as_str()), ("only mobile", "both"));
    assert_eq!(*at, Time::from_micros(1_500_500));
    assert_eq!(*end, Time::from_micros(2_500_500));
    // 500 packets a second each; wifi's first second minus its last 10 ms, mobile minus 30 ms.
    assert_eq!(before[0], 496);
    assert!((734..738).contains(&before[1]), "{before:?}");
    assert!(after[0] > 490 && after[1] > 505, "the delay of mobile fell to 7 ms: {after:?}");
    let mobile = pair.paths()[1].links;
    let backward = pair.sim.network().link(mobile.backward).config();
    assert_eq!((backward.rate, backward.delay), (None, 7 * MS));
}

#[test]
fn a_failed_check_says_where_and_why() {
    let scenario = handover();
    let check = |_: &mut Simulation<Chatter>, _: &str| Err("wifi spoke".to_owned());
    let error = scenario.play(&mut pair(&scenario).sim, check).expect_err("a failed check");
    assert_eq!(error.to_string(), "step 4, 1.500500 s: expected only mobile, but wifi spoke");
}

#[test]
fn a_stage_may_run_time_its_own_way() {
    struct Polling(usize);
    impl Stage<Chatter> for &mut Polling {
        fn run(
            &mut self,
            sim: &mut Simulation<Chatter>,
            span: Duration,
        ) -> Result<(), anabranch_netsim::SimulationError> {
            let end = sim.now() + span;
            sim.run_to_with(end, |_, _, _| self.0 += 1)
        }
        fn check(&mut self, sim: &mut Simulation<Chatter>, _: &str) -> Result<(), String> {
            assert!(sim.poll_event().is_none(), "all events were handed over");
            Ok(())
        }
    }
    let scenario = handover();
    let mut stage = Polling(0);
    scenario.play(&mut pair(&scenario).sim, &mut stage).expect("all as expected");
    assert!(stage.0 > 2_000);
}

#[test]
fn a_log_header_is_one_line_from_which_the_run_can_be_repeated() {
    let scenario = Scenario {
        steps: vec![Action::Run(MS * 3_000)],
        ..read(&HANDOVER.replace("delay = \"10ms\"", "preset = \"satellite\""))
            .expect("a good scenario")
    };
    let run = |scenario: &Scenario| {
        let mut pair = pair(scenario);
        let check = |_: &mut Simulation<Chatter>, _: &str| Ok(());
        scenario.play(&mut pair.sim, check).expect("all as expected");
        pair.sim.take_events(SERVER)
    };
    let line = RunHeader::new(scenario.clone()).to_string();
    assert!(!line.contains('\n') && line.starts_with(r#"{"version":""#), "{line}");
    let read = RunHeader::from_json(&line).expect("a good header");
    assert_eq!(read.scenario, scenario);
    assert_eq!(run(&read.scenario), run(&scenario));
    let other = Scenario { seed: 8, ..scenario.clone() };
    assert_ne!(run(&other), run(&scenario), "loss and jitter differ");
}

#[test]
fn json_is_read_too() {
    let json = serde_json::to_string(&handover()).expect("it can be written");
    assert_eq!(Scenario::from_json(&json), Ok(handover()));
}

#[test]
fn errors_say_what_would_be_right() {
    let rejected = [
        (
            HANDOVER.replace("cut = \"wifi\"", "cut = \"wfi\""),
            "line 18: cut: there is no link wfi; there is wifi, mobile",
        ),
        (HANDOVER.replace("\"mobile\"", "\"wifi\""), "two links are called \"wifi\""),
        (
            HANDOVER.replace("cut =", "cutt ="),
            "line 16: nothing happens: give cut, restore, rebind, address or change with a \
             link, or check",
        ),
        (HANDOVER.replace("at = \"1s\"", "at = \"-1s\""), "line 17: at: \"-1s\" is no time"),
        (HANDOVER.replace("\"10ms\"", "-10"), "line 7: delay: \"-10\" is no time"),
        (
            HANDOVER.replace("delay = \"10ms\"", "latency = \"10ms\""),
            "line 7: there is no key latency in [[links]]: a link's are preset",
        ),
        (HANDOVER.replace("seed = 7", "seed = -7"), "line 3: seed: give a whole number"),
        (HANDOVER.replace("\"2500.5ms\"\nseed", "\"2s\"\nseed"), "the run ends at 2s"),
        ("seed = 1\n".to_owned(), "at least one link"),
    ];
    for (text, expected) in rejected {
        let error = read(&text).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn playing_on_a_network_without_the_links_is_an_error() {
    let mut pair =
        Pair::new(1, &[LinkConfig::default().into()], |_, paths, _| Chatter::listener(paths));
    let check = |_: &mut Simulation<Chatter>, _: &str| Ok(());
    let error = handover().play(&mut pair.sim, check).expect_err("no wifi");
    assert!(matches!(error, ScenarioError::UnknownLink { step: 2, name, .. } if name == "wifi"));
}

#[test]
fn a_nat_of_a_scenario_is_rebound_by_its_steps() {
    let text = r#"
duration = "200ms"
seed = 7
nats = [{ link = "wifi", timeout = "500ms", filtering = "address-dependent" }]

[[links]]
name = "wifi"
delay = "10ms"

[[events]]
at = "100ms"
rebind = "wifi"
"#;
    let scenario = read(text).expect("a good scenario");
    let pair = scenario.pair(|side, paths, _| match side {
        Side::Client => Chatter::talker(paths, 10_000, MS),
        Side::Server => Chatter::listener(paths).answering(),
    });
    let mut sim = pair.expect("one path").sim;
    let played = scenario.play(&mut sim, |_: &mut Simulation<Chatter>, _: &str| Ok(()));
    assert_eq!(played, Ok(()));
    let heard = sim.take_events(SERVER);
    let mut sources: Vec<_> = heard.iter().map(|heard| heard.path.remote).collect();
    sources.dedup();
    let [before, after] = sources[..] else { panic!("{sources:?}") };
    assert_eq!([before.ip(), after.ip()], [std::net::IpAddr::from([198, 18, 0, 1]); 2]);
    assert_ne!(before.port(), after.port());
    let (there, back) = (heard.len(), sim.take_events(CLIENT).len());
    assert_eq!((there, back), (191, 161), "what was under way either way stays without an answer");
}

#[test]
fn a_nat_needs_its_link_and_a_rebinding_its_nat() {
    let with = |nats: &str| {
        let rest = "events = [{ at = '0', rebind = 'wifi' }]\n[[links]]\nname = 'wifi'\n";
        read(&format!("seed = 1\nnats = [{nats}]\n{rest}"))
    };
    let missing = ScenarioError::NatWithoutLink { name: "lan".to_owned() };
    assert_eq!(with("{ link = 'lan' }"), Err(missing));
    let scenario = with("").expect("the live emulator can play it");
    let mut sim = pair(&scenario).sim;
    let played = scenario.play(&mut sim, |_: &mut Simulation<Chatter>, _: &str| Ok(()));
    assert_eq!(played, Err(ScenarioError::NoNat { step: 1, name: "wifi".to_owned() }));
}
