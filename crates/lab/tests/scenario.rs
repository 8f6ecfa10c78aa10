//! Scenarios of a user's own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{Arc, Mutex};

use anabranch_lab::records::{Column, PACKET_COLUMNS, Rows, Table, TableFile};
use anabranch_lab::scenario::{
    Example, FRAME_COLUMNS, Files, Outcome, Run, Scenario, Watching, csv, schema, tables,
};

const LINK: &str =
    "duration = \"4s\"\n[[links]]\nname = \"link\"\nrate = \"10M\"\ndelay = \"10ms\"\n";

fn scenario(text: &str) -> Result<Scenario, String> {
    Scenario::read(text, &[], &Files::new(fixture)).map_err(|error| error.to_string())
}

/// A film of the tests of `anabranch-media`, by its name.
fn fixture(file: &str) -> Result<Vec<u8>, String> {
    let films = concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures");
    std::fs::read(format!("{films}/{file}")).map_err(|_| format!("no file {file}"))
}

fn run(text: &str) -> Outcome {
    scenario(text).unwrap().run(1, Watching::default()).unwrap()
}

fn flow(kind: &str, more: &str) -> String {
    format!("{LINK}[[flows]]\nname = \"flow\"\nkind = \"{kind}\"\n{more}\n")
}

#[test]
fn bulk_of_each_kind_fills_the_link() {
    for (kind, more) in [
        ("sctp", ""),
        ("sctp", "controller = \"bbr\"\nmax_burst = \"none\""),
        ("sctp", "carrier = \"udp\""),
        ("tcp", ""),
        ("tcp", "controller = \"cubic\""),
        ("tcp", "controller = \"bbr\""),
        ("quic", ""),
        ("quic", "controller = \"new-reno\""),
        ("quic", "controller = \"bbr\""),
    ] {
        let outcome = run(&flow(kind, more));
        let flow = &outcome.flows[0];
        assert!((8e6..10e6).contains(&flow.goodput_bps), "{kind} {more}: {flow:?}");
        assert!((flow.share - 1.0).abs() < 1e-9 && flow.ended.is_none(), "{flow:?}");
        let link = &outcome.links[0];
        assert!(link.utilisation.is_some_and(|share| share > 0.9), "{kind} {more}: {link:?}");
        assert!(link.queue_max_bytes > 0 && link.queue_mean_bytes > 0.0, "{link:?}");
    }
}

#[test]
fn encryption_costs_a_flow_the_bytes_of_its_seal() {
    for (kind, more) in [
        ("sctp", ""),
        ("sctp", "carrier = \"udp\"\nprofile = \"media\"\nmax_burst = \"none\""),
        ("sctp", "carrier = \"udp\"\ncontroller = \"cubic\"\nmax_burst = \"none\""),
    ] {
        let plain = run(&flow(kind, more));
        let encrypted = flow(kind, &format!("{more}\nencryption = true"));
        let sealed = run(&encrypted);
        let ratio = sealed.flows[0].goodput_bps / plain.flows[0].goodput_bps;
        // Of 1,472 bytes, 28 are the seal's; keys take a round trip and a half.
        assert!((0.965..0.99).contains(&ratio), "{more}: {ratio}");
        assert_eq!(run(&encrypted).flows, sealed.flows, "what is random alters nothing");
    }
    let film = "rate = \"4M\"\nlatency = \"200ms\"";
    let [plain, sealed] =
        ["false", "true"].map(|on| run(&flow("media", &format!("{film}\nencryption = {on}"))));
    let [film, plain_film] = [&sealed, &plain].map(|outcome| &outcome.flows[0]);
    assert_eq!((film.lost, film.late, film.freezes), (0, Some(0), Some(0)), "{film:?}");
    // It begins when there are keys.
    assert!(plain_film.messages - film.messages <= 1, "{film:?}");
    let used = |outcome: &Outcome| outcome.links[0].utilisation.unwrap();
    let ratio = used(&sealed) / used(&plain);
    assert!((1.0..1.035).contains(&ratio), "{ratio}");
}

#[test]
fn a_flow_at_its_own_rate_has_the_delay_of_the_link_and_loses_what_the_link_loses() {
    let steady = "source = \"cbr\"\nrate = \"960k\"\nsize = 1200\nstop = \"3s\"";
    let outcome = run(&flow("udp", steady));
    let udp = &outcome.flows[0];
    assert_eq!((udp.messages, udp.lost), (300, 0));
    assert!((udp.goodput_bps - 956_800.0).abs() < 1.0, "the last is under way: {udp:?}");
    // 1,228 bytes at 10 Mbit/s, and 10 ms.
    assert!(udp.delay_p50_ms.is_some_and(|ms| (ms - 10.98).abs() < 0.02), "{udp:?}");
    let lossy = flow("udp", steady).replace("[[flows]]", "loss = \"10%\"\n[[flows]]");
    let lossy = run(&lossy);
    assert_eq!(lossy.flows[0].lost, lossy.links[0].lost);
    assert!((15..50).contains(&lossy.flows[0].lost), "{lossy:?}");
    let quic = flow("quic", steady).replace("[[flows]]", "loss = \"10%\"\n[[flows]]");
    let quic = &run(&quic).flows[0];
    assert_eq!((quic.messages, quic.lost), (300, 0));
    let sctp = flow("sctp", steady).replace("[[flows]]", "loss = \"10%\"\n[[flows]]");
    let sctp = &run(&sctp).flows[0];
    assert_eq!((sctp.messages, sctp.lost), (300, 0));
    assert!(sctp.retransmitted > 10 && sctp.delay_p99_ms > sctp.delay_p50_ms, "{sctp:?}");
}

#[test]
fn streams_of_a_flow_have_priorities() {
    // Twice what the link carries, on two streams in turn: one of them waits for the other.
    let two = "source = \"cbr\"\nrate = \"18M\"\nstreams = 2\nlifetime = \"100ms\"";
    let goodput = |more: &str| run(&flow("sctp", &format!("{two}{more}"))).flows[0].clone();
    let (equal, urgent) = (goodput(""), goodput("\npriorities = \"0,1\""));
    assert!(urgent.delay_p50_ms < equal.delay_p50_ms.map(|ms| ms / 2.0), "{equal:?} {urgent:?}");
    let wrong = scenario(&flow("sctp", "streams = 2\npriorities = \"0\"")).unwrap_err();
    assert!(wrong.starts_with("line 10: priorities: these are 1, of 2 streams"), "{wrong}");
}

#[test]
fn an_init_that_nobody_answers_goes_as_often_as_it_may() {
    let patient = "t1_initial = \"100ms\"\nt1_steady = 5\nmax_init_retransmits = 5";
    let cut = "[[events]]\nat = \"0s\"\ncut = \"link\"\n";
    let outcome = run(&format!("{}{cut}", flow("sctp", patient)));
    assert_eq!(outcome.flows[0].packets, 6, "{outcome:?}");
    assert!(outcome.flows[0].ended.is_some(), "{outcome:?}");
}

#[test]
fn flows_share_a_bottleneck() {
    let text = format!(
        "{LINK}[[flows]]\nname = \"a\"\nkind = \"tcp\"\n[[flows]]\nname = \"b\"\nkind = \"tcp\"\n\
         start = \"50ms\"\n"
    );
    let [a, b] = &run(&text).flows[..] else { panic!("two flows") };
    assert!((a.share + b.share - 1.0).abs() < 1e-9, "{a:?} {b:?}");
    assert!(a.share > 0.1 && b.share > 0.1, "{a:?} {b:?}");
}

#[test]
fn events_change_what_a_link_carries() {
    let steady = flow("udp", "source = \"cbr\"\nrate = \"960k\"\nsize = 1200");
    let cut =
        "[[events]]\nat = \"1s\"\ncut = \"link\"\n[[events]]\nat = \"2s\"\nrestore = \"link\"\n";
    let outcome = run(&format!("{steady}{cut}"));
    assert_eq!(outcome.flows[0].lost, 100 + 2, "those of a second, and those under way");
    let slow = "[[events]]\nat = \"2s\"\nchange = \"link\"\nrate = \"480k\"\n";
    let outcome = run(&format!("{steady}{slow}"));
    let link = &outcome.links[0];
    let could = (2.0 * 10e6 + 2.0 * 480e3) / 8.0;
    let carried = (200.0 + 2.0 * 480e3 / 8.0 / 1_228.0) * 1_228.0;
    assert!((link.utilisation.unwrap() - carried / could).abs() < 0.001, "{link:?}");
}

#[test]
fn a_film_comes_whole_and_in_time_where_there_is_room() {
    let outcome = run(&flow("media", "rate = \"4M\"\nstop = \"3s\""));
    let film = &outcome.flows[0];
    assert_eq!((film.lost, film.late, film.freezes), (0, Some(0), Some(0)), "{film:?}");
    assert_eq!(film.frozen_ms, Some(0.0));
    // From the first picture, a round trip and a half after the call.
    assert!((74..=75).contains(&film.messages) && film.ended.is_none(), "{film:?}");
    assert!((3.6e6..4.4e6).contains(&film.goodput_bps), "{film:?}");
    assert!(film.first_ms.is_some_and(|ms| (210.0..270.0).contains(&ms)), "{film:?}");
    assert!(film.delay_p50_ms.is_some_and(|ms| (10.0..40.0).contains(&ms)), "{film:?}");
    assert!(outcome.links[0].utilisation.is_some_and(|share| share > 0.2), "{outcome:?}");
}

#[test]
fn a_film_stands_still_while_its_link_is_cut_and_loses_what_has_no_room() {
    let film = flow("media", "latency = \"300ms\"\ngroup = 25");
    let cut =
        "[[events]]\nat = \"1s\"\ncut = \"link\"\n[[events]]\nat = \"2s\"\nrestore = \"link\"\n";
    let outcome = run(&format!("{film}{cut}"));
    let cut = &outcome.flows[0];
    assert!(cut.freezes >= Some(1) && cut.frozen_ms > Some(400.0), "{cut:?}");
    assert!(cut.lost > 5, "{cut:?}");
    let narrow = run(&film.replace("10M", "2M"));
    let narrow = &narrow.flows[0];
    assert!(narrow.lost > narrow.messages / 10, "{narrow:?}");
    assert!(narrow.goodput_bps < 2e6, "{narrow:?}");
}

#[test]
fn a_recorded_film_has_units_of_two_layers() {
    let recorded = flow("media", "video = \"svc\"\nrate = \"4M\"\ntreatment = \"reliable\"");
    let outcome = run(&recorded);
    let film = &outcome.flows[0];
    assert!(film.messages >= 2 * 99 && film.lost == 0, "{film:?}");
    let missing = scenario(&flow("media", "video = \"trace:no.csv\"")).unwrap_err();
    assert!(missing.contains("video: no.csv: no file no.csv"), "{missing}");
    let both = scenario(&flow("media", "video = \"svc\"\ngroup = 5")).unwrap_err();
    assert!(both.contains("group is for synthetic video"), "{both}");
}

#[test]
fn a_film_of_ones_own_is_sent_as_send_would_and_begins_again() {
    let film = |file: &str, more: &str| {
        run(&flow("media", &format!("video = \"file:{file}\"\n{more}")).replace("4s", "8s"))
    };
    let outcome = film("h264_aac.ts", "");
    let whole = &outcome.flows[0];
    assert_eq!((whole.lost, whole.late, whole.freezes), (0, Some(0), Some(0)), "{whole:?}");
    // 25 pictures a second, and sound, of which ffmpeg puts half a second together.
    assert!((205..225).contains(&whole.messages) && whole.ended.is_none(), "{whole:?}");
    let same = &film("h264_aac.mp4", "").flows[0];
    // The same pictures, and each frame of sound by itself.
    assert!(same.messages > 400 && (same.lost, same.freezes) == (0, Some(0)), "{same:?}");
    let rate = flow("media", "video = \"file:h264_aac.ts\"\nrate = \"2M\"");
    assert!(scenario(&rate).unwrap_err().contains("a film has its own rate"));
    let none = scenario(&flow("media", "video = \"file:no.ts\"")).unwrap_err();
    assert!(none.starts_with("line 9: video: no.ts: no file no.ts"), "{none}");
    let lossy = flow("media", "video = \"file:h264_aac.ts\"\nlatency = \"20ms\"");
    let lossy = &run(&lossy.replace("[[flows]]", "loss = \"10%\"\n[[flows]]")).flows[0];
    assert!(lossy.lost > 10 && lossy.freezes > Some(0), "{lossy:?}");
}

/// A viewer behind the first end of the link, who calls a second after the channel went on air.
fn television(more: &str) -> String {
    flow("television", &format!("from = \"server\"\nto = \"client\"\nstart = \"1s\"\n{more}"))
}

#[test]
fn a_viewer_sees_a_channel_from_its_last_key_picture_on() {
    let outcome = run(&television(""));
    let tv = &outcome.flows[0];
    assert_eq!((tv.lost, tv.late, tv.freezes), (0, Some(0), Some(0)), "{tv:?}");
    // On air from the beginning: all that there is of 4 s.
    assert_eq!((tv.messages, tv.ended.as_ref()), (100, None), "{tv:?}");
    assert!(tv.first_ms.is_some_and(|ms| (80.0..400.0).contains(&ms)), "{tv:?}");
    assert!((4.0e6..6.0e6).contains(&tv.goodput_bps), "{tv:?}");
    assert!(outcome.links[1].utilisation > Some(0.3), "it comes from the server: {outcome:?}");
    let lossy = television("").replace("[[flows]]", "loss = \"5%\"\n[[flows]]");
    let lossy = &run(&lossy).flows[0];
    assert!(lossy.retransmitted > 10 && lossy.lost < 20, "{lossy:?}");
    let sealed = run(&television("encryption = true"));
    assert_eq!((sealed.flows[0].messages, sealed.flows[0].lost), (100, 0), "{sealed:?}");
    assert!(sealed.links[1].utilisation > outcome.links[1].utilisation);
}

#[test]
fn a_viewers_picture_stands_still_while_its_link_is_cut() {
    let cut =
        "[[events]]\nat = \"2s\"\ncut = \"link\"\n[[events]]\nat = \"3s\"\nrestore = \"link\"\n";
    let tv = &run(&format!("{}{cut}", television("group = 25"))).flows[0];
    assert!(tv.freezes >= Some(1) && tv.frozen_ms > Some(600.0), "{tv:?}");
}

#[test]
fn a_viewer_behind_a_nat_that_forgets_it_goes_on_watching() {
    let nat = "[[nats]]\nlink = \"link\"\n[[events]]\nat = \"2s\"\nrebind = \"link\"\n";
    let tv = &run(&format!("{}{nat}", television(""))).flows[0];
    assert!(tv.lost < 15 && tv.messages == 100 && tv.ended.is_none(), "{tv:?}");
    let outside = scenario(&format!("{}{nat}", flow("television", ""))).unwrap_err();
    assert!(outside.contains("comes from outside to the NAT"), "{outside}");
}

#[test]
fn a_film_of_ones_own_is_watched_with_its_sound() {
    for (file, pictures) in [("h264_aac.mp4", 100), ("av1.ts", 70)] {
        let tv = &run(&television(&format!("video = \"file:{file}\""))).flows[0];
        assert!(tv.messages > pictures && (tv.lost, tv.freezes) == (0, Some(0)), "{file}: {tv:?}");
    }
    let unseen = scenario(&television("video = \"file:two_programs_cbr.ts\"")).unwrap_err();
    assert!(unseen.contains("viewers decode none of its pictures"), "{unseen}");
    let hasty = scenario(&television("latency = \"20ms\"")).unwrap_err();
    assert!(hasty.contains("latency: a server gives 50ms at least"), "{hasty}");
}

#[test]
fn a_run_is_repeated_to_the_byte() {
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let beside = "spread = \"10ms\"\n[[flows]]\nname = \"beside\"\nkind = \"quic\"\n";
    let watched =
        "[[flows]]\nname = \"tv\"\nkind = \"television\"\nfrom = \"server\"\nto = \"client\"\n";
    let text = flow("sctp", &format!("{beside}{watched}")).replace("\"4s\"", "\"300ms\"");
    let record = |seed| {
        let (capture, trace) = (Shared::default(), Shared::default());
        let watching = Watching {
            capture: Some(Box::new(capture.clone())),
            trace: Some(Box::new(trace.clone())),
            ..Watching::default()
        };
        let outcome = scenario(&text).unwrap().run(seed, watching).unwrap();
        let (capture, trace) = (capture.0.lock().unwrap(), trace.0.lock().unwrap());
        (outcome, capture.clone(), trace.clone())
    };
    let (first, again) = (record(1), record(1));
    assert!(first == again && first.1.len() > 10_000 && first.2.len() > 10_000);
    assert_ne!(first.1, record(2).1);
}

#[test]
fn every_example_runs() {
    for example in Example::ALL {
        let name = example.to_string();
        assert_eq!(name.parse(), Ok(example));
        let given = [("duration".to_owned(), "12s".to_owned())];
        let none = Files::new(|_| Err("examples need no file".to_owned()));
        let given = if name == "handoff" { &given[..] } else { &[] };
        let scenario = Scenario::read(example.text(), given, &none).unwrap();
        let outcome = scenario.run(1, Watching::default()).unwrap();
        for flow in &outcome.flows {
            assert!(flow.goodput_bps > 100e3 && flow.ended.is_none(), "{name}: {flow:?}");
        }
        let runs = [Run { point: Vec::new(), seed: 1, outcome }];
        assert!(tables(&runs).contains(&runs[0].outcome.flows[0].name));
        assert_eq!(csv(&runs).unwrap().split(|b| *b == b'\n').count(), {
            runs[0].outcome.flows.len() + 2
        });
    }
}

#[test]
fn a_run_that_never_ends_is_ended_by_its_limit_and_says_so() {
    let text = format!("steps_max = 1000\n{}", flow("sctp", ""));
    let error = scenario(&text).unwrap().run(1, Watching::default()).unwrap_err().to_string();
    assert!(error.contains("of 4s: it took 1000 events, its limit"), "{error}");
}

#[test]
fn what_cannot_be_run_is_refused_with_its_line() {
    let steady = "source = \"cbr\"\nrate = \"1M\"";
    for (text, words) in [
        (LINK.to_owned(), "line 1: nothing is sent: give [[flows]]"),
        (flow("quick", ""), "line 8: kind: \"quick\" is none of those there are: give sctp, tcp"),
        (flow("udp", ""), "line 6: udp takes all at once"),
        (flow("tcp", "rate = \"1M\""), "line 9: rate is not for bulk: give source"),
        (flow("sctp", "source = \"cbr\""), "line 6: [[flows]] lacks rate: give rate = \"2M\""),
        (flow("tcp", "controller = \"best\""), "line 9: controller: \"best\" is none"),
        (flow("tcp", "lifetime = \"1s\""), "line 9: there is no key lifetime in [[flows]]; the"),
        (flow("tcp", "to = \"nowhere\""), "line 6: to: no link leads to nowhere; they join client"),
        (flow("tcp", "to = \"client\""), "line 6: to: it leads from client to client"),
        (flow("tcp", "paths = [\"lan\"]"), "line 9: paths: there is no link lan; there is link"),
        (flow("tcp", "paths = \"link\""), "line 9: paths: give a list with a link"),
        (flow("tcp", "paths = [\"link\", \"link\"]"), "line 9: paths: tcp takes 1 at most"),
        (flow("tcp", "paths = [[\"link\", \"link\"]]"), "line 9: paths: a path passes link twice"),
        (flow("tcp", "stop = \"5s\""), "line 6: flow sends from 0ns to 5s: let it start"),
        (flow("sctp", "rto_min = \"90s\""), "line 6: "),
        (flow("sctp", "size = \"1M\""), "line 9: size: \"1M\" is no size here"),
        (flow("sctp", "lifetime = \"1s\"\nmax_retransmissions = 1"), "line 6: give lifetime or"),
        (flow("udp", steady).replace("\"flow\"", "\"link\""), "line 6: name: two are called link"),
        (flow("udp", steady).replace("duration", "seconds"), "line 1: the file lacks duration"),
        (
            flow("udp", &format!("{steady}\n[[events]]\nat = \"9s\"\ncut = \"link\"")),
            "line 11: this happens at 9s, and the run ends at 4s",
        ),
        (
            flow("udp", &format!("{steady}\n[[events]]\nat = \"1s\"\ncheck = \"all\"")),
            "line 11: nothing here can be checked",
        ),
        (
            format!(
                "{}between = [\"a\", \"b\"]\n[[links]]\nname = \"far\"\nbetween = [\"c\", \
                     \"server\"]\n[[flows]]\nname = \"f\"\nkind = \"tcp\"\nfrom = \"a\"",
                LINK
            ),
            "line 10: there is no way from a to server: give links that join them",
        ),
    ] {
        let error = scenario(&text).unwrap_err();
        assert!(error.starts_with(words), "{error}\n{text}");
    }
}

#[test]
fn stations_of_a_cell_share_its_air_and_a_slow_one_holds_up_the_others() {
    let link = |name: &str| {
        format!("[[links]]\nname = \"{name}\"\nbetween = [\"{name}\", \"home\"]\ncell = \"air\"\n")
    };
    let flow = |from: &str| {
        format!(
            "[[flows]]\nname = \"of {from}\"\nkind = \"tcp\"\nfrom = \"{from}\"\nto = \"home\"\n"
        )
    };
    let cell = "duration = \"4s\"\n[[cells]]\nname = \"air\"\nkind = \"wifi\"\nstandard = \"g\"\n";
    let goodputs = |slow: &str| {
        let links = format!("{}{}{slow}", link("laptop"), link("phone"));
        let outcome = run(&format!("{cell}{links}{}{}", flow("laptop"), flow("phone")));
        [0, 1].map(|n: usize| outcome.flows[n].goodput_bps / 1e6)
    };
    let alike = goodputs("");
    // Together less than the 30 Mbit/s of one without TCP's acknowledgments.
    assert!(alike.iter().all(|mbps| (6.0..18.0).contains(mbps)), "{alike:?}");
    assert!((18.0..28.0).contains(&(alike[0] + alike[1])), "{alike:?}");
    let [laptop, _] = goodputs("up.rate = \"6M\"\n");
    assert!(laptop < 0.7 * alike[0], "{laptop} beside a slow phone, {} else", alike[0]);
}

#[test]
fn what_is_given_beside_the_file_takes_the_place_of_what_stands_there() {
    let given = |key: &str, value: &str| {
        let given = [(key.to_owned(), value.to_owned())];
        Scenario::read(&flow("tcp", ""), &given, &Files::new(fixture))
    };
    let slower = given("link.rate", "1M").unwrap().run(1, Watching::default()).unwrap();
    assert!(slower.flows[0].goodput_bps < 1e6, "{slower:?}");
    let error = given("link.speed", "1M").unwrap_err().to_string();
    assert!(error.starts_with("in what is set: there is no key speed"), "{error}");
    assert_eq!(given("seeds", "3").unwrap().seeds().collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn what_the_schema_lets_one_choose_from_is_all_that_is_taken() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let kinds = schema["properties"]["flows"]["items"]["oneOf"].as_array().unwrap();
    let mut choices = 0;
    for kind in kinds {
        let name = kind["properties"]["kind"]["const"].as_str().unwrap();
        for (key, property) in kind["properties"].as_object().unwrap() {
            let Some(values) = property.get("enum").and_then(|it| it.as_array()) else { continue };
            let read = |value: &str| {
                let more = match (value, name) {
                    ("mean" | "actual" | "maximum", "dccp") => "ccid = 3",
                    ("cbr", _) => "rate = \"1M\"",
                    ("on-off", _) => "rate = \"1M\"\non = \"1s\"\noff = \"1s\"",
                    (_, "udp") if key != "source" => "source = \"cbr\"\nrate = \"1M\"",
                    _ => "",
                };
                scenario(&flow(name, &format!("{key} = \"{value}\"\n{more}")))
            };
            let taken = values.iter().filter(|value| read(value.as_str().unwrap()).is_ok()).count();
            // Datagrams are not sent as fast as it goes.
            let refused = usize::from((name, key.as_str()) == ("udp", "source"));
            assert_eq!(taken, values.len() - refused, "{name}: {key}");
            assert!(read("nonsense").is_err(), "{name}: {key}");
            choices += 1;
        }
    }
    assert!(choices > 15, "{choices}");
}

#[test]
fn every_key_of_the_schema_is_documented() {
    fn collect(schema: &serde_json::Value, keys: &mut Vec<String>) {
        if let Some(properties) = schema.get("properties").and_then(|it| it.as_object()) {
            keys.extend(properties.keys().cloned());
            properties.values().for_each(|value| collect(value, keys));
        }
        if let Some(items) = schema.get("items") {
            collect(items, keys);
        }
        for one in schema.get("oneOf").and_then(|it| it.as_array()).into_iter().flatten() {
            collect(one, keys);
        }
    }
    let docs = include_str!("../../../docs/scenarios.md");
    let mut keys = Vec::new();
    collect(&serde_json::from_str(&schema()).unwrap(), &mut keys);
    assert!(keys.len() > 60, "{keys:?}");
    let elsewhere = ["links", "cells", "nats", "events", "flows", "up", "down", "check"];
    for key in keys.iter().filter(|key| !elsewhere.contains(&key.as_str())) {
        assert!(docs.contains(&format!("`{key}`")), "docs/scenarios.md lacks {key}");
    }
}

const NAT: &str = "[[nats]]\nlink = \"link\"\ntimeout = \"30s\"\n";

#[test]
fn flows_over_udp_pass_a_nat() {
    for (kind, more) in [
        ("quic", ""),
        ("udp", "source = \"cbr\"\nrate = \"8M\""),
        ("sctp", "carrier = \"udp\""),
        ("media", ""),
    ] {
        let outcome = run(&format!("{}{NAT}", flow(kind, more)));
        let plain = run(&flow(kind, more));
        let (flow, plain) = (&outcome.flows[0], &plain.flows[0]);
        assert!(flow.goodput_bps > 0.95 * plain.goodput_bps, "{kind}: {flow:?} {plain:?}");
    }
}

#[test]
fn a_session_goes_on_when_its_nat_forgets_it_or_gets_another_address() {
    for what in ["rebind", "address"] {
        let event = format!("[[events]]\nat = \"2s\"\n{what} = \"link\"\n");
        for kind in ["media", "quic"] {
            let outcome = run(&format!("{}{NAT}{event}", flow(kind, "")));
            let flow = &outcome.flows[0];
            assert!(flow.ended.is_none(), "{kind} {what}: {flow:?}");
            let whole = run(&format!("{}{NAT}", self::flow(kind, ""))).flows[0].goodput_bps;
            assert!(flow.goodput_bps > 0.8 * whole, "{kind} {what}: {flow:?} of {whole}");
        }
    }
}

#[test]
fn what_makes_no_sense_about_nats_is_said_with_its_line() {
    let quic = flow("quic", "");
    let event = "[[events]]\nat = \"1s\"\naddress = \"link\"\n";
    for (text, words) in [
        (format!("{quic}{event}"), "line 10: there is no NAT at link: give [[nats]] with"),
        (format!("{quic}{NAT}{NAT}"), "line 13: link has two NATs"),
        (format!("{quic}{}", NAT.replace("\"link\"", "\"lan\"")), "line 10: link: there is no"),
        (format!("{quic}{}", NAT.replace("30s", "soon")), "line 12: timeout: \"soon\""),
        (format!("{}{NAT}", flow("tcp", "")), "line 6: flow passes the NAT at link, which knows"),
        (
            format!("{}{NAT}", flow("quic", "from = \"server\"\nto = \"client\"")),
            "line 6: flow comes from outside to the NAT at link",
        ),
    ] {
        let error = scenario(&text).unwrap_err();
        assert!(error.starts_with(words), "{text}: {error}");
    }
}

fn table(name: &str, columns: &[Column]) -> (std::path::PathBuf, Option<Box<dyn Rows>>) {
    let name = format!("anabranch-scenario-{name}-{}.csv", std::process::id());
    let path = std::env::temp_dir().join(name);
    let table = Table::new(columns, TableFile::create(&path).unwrap()).unwrap();
    (path, Some(Box::new(table)))
}

fn rows(path: &std::path::Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    std::fs::remove_file(path).unwrap();
    text.lines().skip(1).map(|row| row.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn every_packet_is_told_with_its_flow_and_its_path() {
    let two = "duration = \"2s\"\n[[links]]\nname = \"a\"\nrate = \"9M\"\n[[links]]\nname = \"b\"\n\
               loss = \"1%\"\nrate = \"9M\"\n[[flows]]\nname = \"call\"\nkind = \"udp\"\n\
               source = \"cbr\"\nrate = \"1M\"\npaths = [\"a\"]\n\
               [[flows]]\nname = \"film\"\nkind = \"media\"\n\
               paths = [\"a\", \"b\"]\n";
    let (path, packets) = table("packets", &PACKET_COLUMNS);
    let watching = Watching { packets, ..Watching::default() };
    let outcome = scenario(two).unwrap().run(1, watching).unwrap();
    let rows = rows(&path);
    let of = |flow: &str| rows.iter().filter(|row| row[17] == flow).collect::<Vec<_>>();
    let (call, film) = (of("call"), of("film"));
    assert_eq!(call.len() as u64, outcome.flows[0].packets);
    assert!(call.iter().all(|row| row[18] == "1" && row[5] == "a" && row[7] == "UDP"));
    assert!(film.iter().all(|row| row[7] == "SCTP"), "{:?}", film.first());
    let data =
        |path: &str| film.iter().filter(|row| row[18] == path && !row[11].is_empty()).count();
    assert!(data("1") > 5 && data("2") > 5, "{} {}", data("1"), data("2"));
    assert!(film.iter().all(|row| row[18] != "2" || row[5] == "b"));
    let lost = rows.iter().filter(|row| row[4] == "lost" && row[6] == "forward").count() as u64;
    assert!(lost >= outcome.links[2].lost && outcome.links[2].lost > 0, "{lost}");
}

#[test]
fn every_unit_is_told_with_its_deadline_and_what_became_of_it() {
    let cut = "[[events]]\nat = \"1s\"\ncut = \"link\"\n\
               [[events]]\nat = \"2s\"\nrestore = \"link\"\n";
    let text = format!("{}{cut}", flow("media", "rate = \"2M\""));
    let (path, frames) = table("frames", &FRAME_COLUMNS);
    let watching = Watching { frames, ..Watching::default() };
    let outcome = scenario(&text).unwrap().run(1, watching).unwrap();
    let rows = rows(&path);
    let flow = &outcome.flows[0];
    assert_eq!(rows.len() as u64, flow.messages);
    let in_time = rows.iter().filter(|row| row[10] == "in time").count() as u64;
    assert_eq!(in_time, flow.messages - flow.lost, "{flow:?}");
    assert!(flow.lost > 10);
    for row in &rows {
        let time = |column: usize| row[column].parse::<f64>().unwrap();
        assert!((time(7) - time(6) - 0.2).abs() < 1e-9, "{row:?}");
        assert!(row[10] != "in time" || time(9) < 0.25, "{row:?}");
        assert_eq!(row[10] == "missing", row[8].is_empty(), "{row:?}");
    }
}

#[test]
fn a_run_of_another_build_or_seed_has_another_name() {
    let scenario = scenario(&flow("tcp", "")).unwrap();
    let name = |seed, build| scenario.run_name(seed, build);
    let names = [name(1, "0.1.0 (a)"), name(1, "0.1.0 (b)"), name(2, "0.1.0 (a)")];
    assert_eq!(names[0], name(1, "0.1.0 (a)"));
    assert!(names[0] != names[1] && names[0] != names[2], "{names:?}");
    // What a file holds makes a run another one, whatever it is called.
    let text = flow("media", "video = \"file:film\"");
    let film = |file: &'static str| {
        let files = Files::new(move |_: &str| fixture(file));
        Scenario::read(&text, &[], &files).unwrap().run_name(1, "")
    };
    assert_ne!(film("h264_aac.ts"), film("av1.ts"));
    assert_eq!(film("av1.ts"), film("av1.ts"));
}
