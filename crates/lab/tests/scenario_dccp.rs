//! Scenarios with flows over DCCP.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::Write;
use std::path::PathBuf;

use anabranch_interop::examine_dccp;
use anabranch_lab::records::{PACKET_COLUMNS, Table, TableFile};
use anabranch_lab::scenario::{Files, FlowOutcome, Outcome, Scenario, Watching};

const LINK: &str =
    "duration = \"10s\"\n[[links]]\nname = \"link\"\nrate = \"10M\"\ndelay = \"10ms\"\n";

const TWO: &str = "duration = \"10s\"\n[[links]]\nname = \"a\"\nrate = \"6M\"\ndelay = \"10ms\"\n\
                   [[links]]\nname = \"b\"\nrate = \"3M\"\ndelay = \"25ms\"\n";

fn scenario(text: &str) -> Result<Scenario, String> {
    Scenario::read(text, &[], &Files::new(|file| Err(format!("no file {file}"))))
        .map_err(|e| e.to_string())
}

fn run(text: &str) -> Outcome {
    scenario(text).unwrap().run(1, Watching::default()).unwrap()
}

fn flow(kind: &str, more: &str) -> String {
    format!("[[flows]]\nname = \"flow\"\nkind = \"{kind}\"\n{more}\n")
}

/// A flow over [`LINK`], which has these keys, too.
fn over(link: &str, kind: &str, more: &str) -> FlowOutcome {
    run(&format!("{LINK}{link}\n{}", flow(kind, more))).flows[0].clone()
}

/// Over two paths of 6 and 3 Mbit/s.
fn over_two(kind: &str, more: &str) -> Outcome {
    run(&format!("{TWO}{}", flow(kind, &format!("paths = [\"a\", \"b\"]\n{more}"))))
}

#[test]
fn bulk_over_dccp_fills_the_link_and_loses_what_the_link_refuses() {
    for (more, least) in [
        ("", 9.0e6),
        ("ccid = 2\ncarrier = \"udp\"", 9.0e6),
        ("ccid = 3", 9.0e6),
        ("ccid = 3\nshort_sequence_numbers = true\ndata_checksum = true", 9.0e6),
        ("ccid = 3\ninit_cookies = true", 9.0e6),
        // A bundle is held up by the connection whose turn it is.
        ("ccid = 2\nconnections = 4", 7.0e6),
        ("ccid = 3\nconnections = 4\ngroup = 15\nstart_gap = \"100ms\"", 7.0e6),
        ("ccid = 3\nconnections = \"auto\"\ncarrier = \"udp\"", 8.0e6),
    ] {
        let outcome = run(&format!("{LINK}{}", flow("dccp", more)));
        let (flow, link) = (&outcome.flows[0], &outcome.links[0]);
        assert!((least..1e7).contains(&flow.goodput_bps), "{more}: {flow:?}");
        assert!(flow.ended.is_none() && flow.retransmitted == 0, "{more}: {flow:?}");
        // Some of what was refused was no data.
        assert!(flow.lost > 20 && link.refused - flow.lost <= 2, "{more}: {flow:?} {link:?}");
    }
}

#[test]
fn a_steady_flow_over_dccp_loses_what_the_link_loses() {
    let steady = "source = \"cbr\"\nrate = \"960k\"\nsize = 1200\nstop = \"8s\"";
    for more in
        ["ccid = 3", "ccid = 3\nconnections = 2\nstart_gap = \"0s\"\nreordering = \"100ms\""]
    {
        let flow = flow("dccp", &format!("{steady}\n{more}"));
        let outcome = run(&format!("{LINK}loss = \"1%\"\n{flow}"));
        let flow = &outcome.flows[0];
        assert_eq!((flow.messages, flow.lost), (800, outcome.links[0].lost), "{more}");
        assert!(flow.lost > 0 && flow.delay_p50_ms < Some(11.0), "{more}: {flow:?}");
        assert!(flow.delay_p99_ms < Some(120.0), "{more}: {flow:?}");
    }
}

#[test]
fn a_connection_over_two_paths_carries_what_both_carry_and_outlives_one() {
    for more in ["ccid = 2", "ccid = 3", "ccid = 3\ncarrier = \"udp\""] {
        let both = over_two("dccp", more);
        assert!((8.0e6..9e6).contains(&both.flows[0].goodput_bps), "{more}: {both:?}");
        // Next to nothing is given up that comes by the other path: of 300 messages one.
        let refused = both.links[0].refused + both.links[2].refused;
        let given_up = both.flows[0].lost.saturating_sub(refused);
        assert!(300 * given_up <= both.flows[0].messages, "{more}: {both:?}");
        let cut = format!("{more}\n[[events]]\nat = \"1s\"\ncut = \"a\"");
        let left = over_two("dccp", &cut);
        // A tenth of the time of both, and the rest of the one that is left.
        assert!((3.0e6..3.6e6).contains(&left.flows[0].goodput_bps), "{more}: {left:?}");
        assert!(left.flows[0].ended.is_none(), "{more}: {left:?}");
    }
}

/// The time that a bottleneck of 10 Mbit/s takes for a packet of 1,500 bytes.
const SERVICE_TIME: &str = "1.2ms";

/// What a DCCP flow gets for each Mbit/s that a TCP gets, over four seeds.
fn ratio_to_tcp(links: &str, dccp: &str, tcp: &str) -> f64 {
    let flow = |kind: &str, more: &str| {
        format!("[[flows]]\nname = \"{kind}-flow\"\nkind = \"{kind}\"\nspread = \"1s\"\n{more}\n")
    };
    let text = format!("duration = \"100s\"\n{links}{}{}", flow("dccp", dccp), flow("tcp", tcp));
    let scenario = scenario(&text).unwrap();
    let mut shares = [0.0; 2];
    for seed in 1..=4 {
        let outcome = scenario.run(seed, Watching::default()).unwrap();
        for (share, flow) in shares.iter_mut().zip(&outcome.flows) {
            *share += flow.goodput_bps;
        }
    }
    shares[0] / shares[1]
}

/// Behind a drop-tail queue for 10 Mbit/s. Each has a way of 100 Mbit/s to the router, on which
/// packets take up to `jitter` longer.
fn ratio_behind_a_router(ccid: u8, delay: &str, queue: &str, jitter: &str) -> f64 {
    let way = |host: &str, keys: &str| {
        format!("[[links]]\nname = \"{host}\"\nbetween = [\"{host}\", \"router\"]\n{keys}\n")
    };
    let access = format!("rate = \"100M\"\njitter = \"{jitter}\"\nqueue = \"1000p\"");
    let bottleneck = format!("rate = \"10M\"\ndelay = \"{delay}\"\nqueue = \"{queue}\"");
    let links = [way("left", &access), way("right", &access), way("server", &bottleneck)];
    let dccp = format!("from = \"left\"\nccid = {ccid}");
    ratio_to_tcp(&links.concat(), &dccp, "from = \"right\"")
}

#[test]
fn where_losses_come_by_chance_a_tfrc_flow_gets_what_a_tcp_gets() {
    for delay in ["10ms", "50ms"] {
        for loss in ["0.1%", "1%"] {
            let link = "[[links]]\nname = \"link\"\nrate = \"200M\"\nqueue = \"1000p\"";
            let link = format!("{link}\ndelay = \"{delay}\"\nloss = \"{loss}\"\n");
            let ratio = ratio_to_tcp(&link, "ccid = 3", "");
            assert!((0.8..1.25).contains(&ratio), "{delay}, {loss}: {ratio}");
        }
    }
}

/// RFC 5348 section 1 calls a flow fair "if its sending rate is generally within a factor of two of
/// the sending rate of a TCP flow under the same conditions". The same conditions are the same
/// chance to be refused by the queue: Floyd and Jacobson, "On Traffic Phase Effects in
/// Packet-Switched Gateways", 1992, have packets take up to the bottleneck's service time longer on
/// their way to it, at random.
#[test]
fn a_dccp_flow_and_a_tcp_share_a_bottleneck() {
    for ccid in [2, 3] {
        // Queues of one bandwidth-delay product, and of 50 packets.
        for (delay, queue) in [("10ms", "17p"), ("10ms", "50p"), ("50ms", "83p"), ("50ms", "50p")] {
            let ratio = ratio_behind_a_router(ccid, delay, queue, SERVICE_TIME);
            assert!((0.5..2.0).contains(&ratio), "CCID {ccid}, {delay}, {queue}: {ratio}");
        }
    }
}

/// Floyd and Jacobson's phase effects: whose packets come just when the queue is full is decided by
/// the round trip modulo the service time, and so by two milliseconds more or less.
#[test]
fn without_any_jitter_two_milliseconds_decide_whose_packets_a_full_queue_refuses() {
    let spread = |jitter: &str| {
        let [nearer, farther] =
            ["8ms", "10ms"].map(|delay| ratio_behind_a_router(3, delay, "50p", jitter));
        nearer / farther
    };
    let (disturbed, undisturbed) = (spread(SERVICE_TIME), spread("0ms"));
    assert!((0.8..1.25).contains(&disturbed) && undisturbed > 2.0, "{disturbed}, {undisturbed}");
}

#[test]
fn the_equation_counts_packets_by_the_size_that_it_is_told() {
    let goodput = |size: &str, bytes: u32| {
        let keys = format!("ccid = 3\nsize = {bytes}\npacket_size = \"{size}\"");
        over("loss = \"2%\"", "dccp", &keys).goodput_bps
    };
    for size in ["mean", "actual", "maximum"] {
        // As many packets, each of a quarter.
        let ratio = goodput(size, 300) / goodput(size, 1_200);
        assert!((0.2..0.3).contains(&ratio), "{size}: {ratio}");
    }
}

#[test]
fn a_faster_restart_spares_what_comes_after_a_pause_its_wait() {
    let late = |more: &str| {
        let bursts = "ccid = 3\nsource = \"on-off\"\nrate = \"6M\"\non = \"1s\"\noff = \"2s\"";
        over("", "dccp", &format!("{bursts}\n{more}")).delay_p95_ms.unwrap()
    };
    let (usual, faster) = (late(""), late("faster_restart = \"30s\""));
    assert!(faster < 12.0 && usual > 20.0, "{usual} and {faster} ms");
}

#[test]
fn a_film_over_dccp_is_repeated_nowhere_and_comes_whole_where_nothing_is_lost() {
    for more in ["", "connections = 1", "connections = \"auto\""] {
        let keys = format!("rate = \"3M\"\ntransport = \"dccp\"\n{more}");
        for flow in [over("", "media", &keys), over_two("media", &keys).flows[0].clone()] {
            assert_eq!((flow.lost, flow.freezes), (0, Some(0)), "{more}: {flow:?}");
        }
    }
    let over = |more: &str| over("loss = \"1%\"", "media", &format!("rate = \"3M\"\n{more}"));
    let (once, repeated) = (over("transport = \"dccp\""), over(""));
    assert!(once.lost > 10 && once.retransmitted < 3, "{once:?}");
    assert!(repeated.lost < 3 && repeated.retransmitted > 10, "{repeated:?}");
}

#[test]
fn a_flow_over_dccp_in_udp_passes_a_nat() {
    let nat = "[[nats]]\nlink = \"link\"\n";
    for (kind, more) in [("dccp", "carrier = \"udp\""), ("media", "transport = \"dccp\"")] {
        let behind = run(&format!("{LINK}{}{nat}", flow(kind, more))).flows[0].goodput_bps;
        let plain = over("", kind, more).goodput_bps;
        assert!(behind > 0.95 * plain, "{kind}: {behind} of {plain}");
    }
    let error = scenario(&format!("{LINK}{}{nat}", flow("dccp", ""))).unwrap_err();
    assert!(error.contains("or dccp with carrier"), "{error}");
}

#[test]
fn what_makes_no_sense_over_dccp_is_refused_with_its_line() {
    let two = |more: &str| flow("dccp", &format!("paths = [\"a\", \"b\"]\n{more}"));
    for (text, words) in [
        (flow("dccp", "ccid = 4"), "line 9: ccid: \"4\" is none of those there are: give 2, 3"),
        (flow("dccp", "packet_size = \"mean\""), "line 6: packet_size, oscillation_reduction and"),
        (flow("dccp", "group = 15"), "line 6: group and start_gap are for a bundle: give conn"),
        (flow("dccp", "reordering = \"1s\""), "line 6: one connection over one path puts nothing"),
        (flow("dccp", "connections = 33"), "line 9: connections: \"33\" is no number here: give 1"),
        (flow("dccp", "connections = 2\nreordering = \"9s\""), "line 10: reordering: give 2s at"),
        (flow("dccp", "service_code = \"anab\""), "line 9: service_code: \"anab\" is no service"),
        (flow("dccp", "size = 1453"), "line 9: size: \"1453\" is no size here"),
        (flow("media", "connections = 2"), "line 6: connections are DCCP's: give transport"),
        (
            flow("media", "transport = \"dccp\"\nencryption = true"),
            "line 6: over DCCP nothing is encrypted",
        ),
        (
            flow("media", "transport = \"dccp\"\nbond = \"dup\""),
            "line 6: over DCCP nothing is encrypted and nothing sent twice",
        ),
    ] {
        let error = scenario(&format!("{LINK}{text}")).unwrap_err();
        assert!(error.starts_with(words), "{error}\n{text}");
    }
    let error = scenario(&format!("{TWO}{}", two("connections = 2"))).unwrap_err();
    assert!(error.starts_with("line 10: connections share one path, and these are 2"), "{error}");
}

#[test]
fn every_packet_of_dccp_is_told_with_its_type_and_its_number() {
    for (kind, more) in [
        ("dccp", "ccid = 3"),
        ("dccp", "ccid = 3\ncarrier = \"udp\""),
        ("media", "transport = \"dccp\""),
    ] {
        let name = format!("anabranch-dccp-packets-{}.csv", std::process::id());
        let path = std::env::temp_dir().join(name);
        let table = Table::new(&PACKET_COLUMNS, TableFile::create(&path).unwrap()).unwrap();
        let watching = Watching { packets: Some(Box::new(table)), ..Watching::default() };
        let text = format!("{LINK}{}", flow(kind, &format!("{more}\nstop = \"1s\"")));
        scenario(&text).unwrap().run(1, watching).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        let rows: Vec<Vec<&str>> =
            text.lines().skip(1).map(|row| row.split(',').collect()).collect();
        let types: Vec<&str> = rows.iter().map(|row| row[9]).collect();
        assert_eq!(types[..2], ["Request", "Response"], "{kind} {more}");
        assert!(types.iter().any(|it| it.starts_with("Data")), "{kind} {more}: {types:?}");
        assert!(rows.iter().all(|row| row[7] == "DCCP" && !row[13].is_empty()), "{kind} {more}");
        assert!(rows.iter().all(|row| row[16] != "true"), "nothing is sent again");
    }
}

#[test]
fn tshark_finds_no_fault_with_a_capture_over_dccp() {
    for (name, paths) in [("plain", ""), ("bundle", "connections = 2"), ("two", "")] {
        let file = format!("scenario-dccp-{name}.pcapng");
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(file);
        let capture: Box<dyn Write + Send> = Box::new(std::fs::File::create(&path).unwrap());
        let watching = Watching { capture: Some(capture), ..Watching::default() };
        let (links, paths) = match name {
            "two" => (TWO, "paths = [\"a\", \"b\"]"),
            _ => (LINK, paths),
        };
        let flow = flow("dccp", &format!("ccid = 3\nstop = \"1s\"\n{paths}"));
        scenario(&format!("{links}{flow}")).unwrap().run(1, watching).unwrap();
        let found = examine_dccp(&path).unwrap();
        assert!(found.packets > 200 && found.faults.is_empty(), "{name}: {found:?}");
    }
}
