//! Paths that die and come back, over real sockets and emulated links.

use crate::harness::{Place, Running, STREAM, free_port, program};

/// `anabranch emulate` with two links, and what happens to them after two seconds.
struct Networks {
    _emulate: Running,
    entrances: [u16; 2],
}

impl Networks {
    fn start(place: &Place, target: u16, events: &str) -> Self {
        let scenario = place.file("scenario.toml");
        let events = format!("seed = 1\nevents = [{events}]\n");
        let link = |name| format!("[[links]]\nname = '{name}'\ndelay = '5ms'\n");
        std::fs::write(&scenario, [events, link("a"), link("b")].concat()).unwrap();
        let entrances = [free_port(), free_port()];
        let links = ["a", "b"].iter().zip(entrances).map(|(name, entrance)| {
            format!("name={name},listen=127.0.0.1:{entrance},target=127.0.0.1:{target}")
        });
        let links: Vec<_> = links.collect();
        let mut emulate = program(&["emulate", "--scenario", &scenario]);
        let emulate =
            links.iter().fold(&mut emulate, |emulate, link| emulate.args(["--link", link]));
        Self { _emulate: Running::spawn(emulate.stdout(std::process::Stdio::null())), entrances }
    }
}

#[test]
fn a_path_that_dies_and_comes_back_costs_nothing_and_is_told() {
    let place = Place::new("cut");
    let port = free_port();
    let events = "{ at = '2s', cut = 'a' }, { at = '3.5s', restore = 'a' }";
    let networks = Networks::start(&place, port, events);
    let [first, second] = networks.entrances;
    let listener = format!("anabranch://:{port}?latency=2000");
    let caller = format!(
        "anabranch://127.0.0.1:{first}?latency=2000&path=127.0.0.1,127.0.0.2\
         &peer=127.0.0.1:{second}"
    );
    let receiver = Running::start(&["recv", &listener, &place.file("out.ts")]);
    let mut sender =
        Running::start(&["send", "--loop", "--treatment", "reliable", STREAM, &caller]);
    for told in [" does not answer", "media takes path 1 (", "media takes path 0 ("] {
        sender.line_with(told);
    }
    sender.interrupt();
    sender.assert_success();
    let said = receiver.assert_success();
    assert!(said.contains(" 0 missing: nothing is missing"), "{said}");
}

#[test]
fn a_nat_that_changes_its_ports_in_mid_stream_costs_nothing_and_is_told() {
    let place = Place::new("rebind");
    let port = free_port();
    let networks = Networks::start(&place, port, "{ at = '2s', rebind = 'a' }");
    let listener = format!("anabranch://:{port}?latency=1000");
    let caller = format!("anabranch://127.0.0.1:{}?latency=1000", networks.entrances[0]);
    let mut receiver = Running::start(&["recv", &listener, &place.file("out.ts")]);
    let sender = Running::start(&["send", "--loop", "--treatment", "reliable", STREAM, &caller]);
    receiver.line_with("path 0 leads to 127.0.0.1:");
    sender.interrupt();
    sender.assert_success();
    let said = receiver.assert_success();
    assert!(said.contains(" 0 missing: nothing is missing"), "{said}");
}
