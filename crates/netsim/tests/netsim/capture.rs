//! Captures, read back by tshark.

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use anabranch_netsim::{
    CLIENT, CaptureScope, LinkConfig, Loss, Pair, PathConfig, QueueLimit, SERVER, Side,
};
use anabranch_sansio::{FourTuple, Rate};

use crate::machines::Chatter;

const MS: Duration = Duration::from_millis(1);

/// Path 0 is IPv4 and loses packets on the way, path 1 is IPv6 and has no room for bursts.
fn lossy_pair(seed: u64) -> Pair<Chatter> {
    let path = |name: &str, (local, remote): (&str, &str), link: LinkConfig| {
        let parse = |address: &str| address.parse::<SocketAddr>().expect("an address");
        let addresses = FourTuple::new(parse(local), parse(remote));
        PathConfig { name: name.into(), addresses, links: link.into() }
    };
    let lossy = LinkConfig { delay: 10 * MS, loss: Loss::uniform(0.2), ..LinkConfig::default() };
    let tight = LinkConfig {
        rate: Some(Rate::mbps(3)),
        queue: QueueLimit::Packets(1),
        delay: 20 * MS,
        ..LinkConfig::default()
    };
    let paths = [
        path("path 0", ("10.0.0.1:5000", "10.0.0.2:6000"), lossy),
        path("path 1", ("[fd00::1]:5000", "[fd00::2]:6000"), tight),
    ];
    Pair::with_paths(seed, &paths, |side, paths, _| match side {
        Side::Client => Chatter::talker(paths, 200, MS),
        Side::Server => Chatter::listener(paths).answering(),
    })
    .expect("the paths are distinct")
}

fn capture(seed: u64, scope: CaptureScope) -> (Pair<Chatter>, Vec<u8>) {
    let mut pair = lossy_pair(seed);
    let capture = pair.sim.capture(scope, &format!("seed {seed}"), Vec::new()).expect("memory");
    pair.run_for(MS * 205).expect("the machines behave");
    pair.cut(1);
    pair.run_for(MS * 500).expect("the machines behave");
    (pair, capture.finish().expect("memory"))
}

/// The fields of each packet that tshark reads, as one line per packet.
fn tshark(capture: &[u8], fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.args(["-r", "-", "-T", "fields", "-E", "separator=|"]);
    for check in ["ip.check_checksum:TRUE", "udp.check_checksum:TRUE"] {
        command.args(["-o", check]);
    }
    for field in fields {
        command.args(["-e", field]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("tshark is not installed: ./test.sh installs it");
    let mut stdin = child.stdin.take().expect("piped");
    let bytes = capture.to_vec();
    let feeder = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().expect("tshark ends");
    feeder.join().expect("no panic").expect("tshark reads all of it");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark: {errors}");
    let text = String::from_utf8(output.stdout).expect("tshark prints UTF-8");
    text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

#[test]
fn tshark_reads_every_packet_of_every_link_with_right_checksums() {
    let (pair, file) = capture(1, CaptureScope::AllLinks);
    let rows = tshark(
        &file,
        &["frame.interface_name", "ip.checksum.status", "udp.checksum.status", "udp.dstport"],
    );
    for (_, name, link) in pair.sim.network().links() {
        let stats = link.stats();
        let expected = stats.delivered.packets + stats.dropped.total().packets;
        let seen = rows.iter().filter(|row| row[0] == name).count();
        assert!(expected > 0 && seen as u64 == expected, "{seen} of {expected} on {name}");
    }
    const GOOD: &str = "1";
    for row in &rows {
        let is_ipv4 = row[0].starts_with("path 0");
        assert_eq!(row[1], if is_ipv4 { GOOD } else { "" }, "IPv6 headers have no checksum");
        assert_eq!(row[2], GOOD, "{row:?}");
        assert_eq!(row[3], if row[0].ends_with("back") { "5000" } else { "6000" });
    }
}

#[test]
fn dropped_packets_carry_the_reason_as_a_comment() {
    let (pair, file) = capture(1, CaptureScope::AllLinks);
    let rows = tshark(&file, &["frame.interface_name", "frame.comment"]);
    let count = |name: &str, comment: &str| {
        rows.iter().filter(|row| row[0] == name && row[1] == comment).count() as u64
    };
    let mut causes = [0; 3];
    for (_, name, link) in pair.sim.network().links() {
        let dropped = link.stats().dropped;
        let found = [
            ("lost on the link", dropped.loss),
            ("refused by a full queue", dropped.queue),
            ("lost to a cut of the link", dropped.cut),
        ];
        for (sum, (comment, traffic)) in causes.iter_mut().zip(found) {
            assert_eq!(count(name, comment), traffic.packets, "{comment}: {name}");
            *sum += traffic.packets;
        }
    }
    assert!(causes.iter().all(|packets| *packets > 0), "each cause is met: {causes:?}");
}

#[test]
fn a_host_sees_what_it_sends_and_receives_in_its_own_time() {
    let (pair, file) = capture(1, CaptureScope::Host(SERVER));
    let rows = tshark(&file, &["frame.interface_name", "udp.srcport", "frame.time_epoch"]);
    let stats = pair.sim.stats(SERVER);
    let sent = rows.iter().filter(|row| row[1] == "6000").count();
    assert_eq!(sent as u64, stats.sent.packets);
    assert_eq!((rows.len() - sent) as u64, stats.received.packets);
    assert!(rows.iter().all(|row| row[0] == "10.0.0.2" || row[0] == "fd00::2"));
    // The packet of 0 ms reaches the server after 10 ms, to the nanosecond, unless it is lost.
    let first = rows.iter().find(|row| row[0] == "10.0.0.2").expect("some arrive");
    let nanos = first[2].split_once('.').expect("a fraction").1;
    assert_eq!(nanos.len(), 9);
    assert!(nanos.ends_with("000000"), "sent on a whole millisecond and delayed by ten: {nanos}");
}

#[test]
fn one_link_can_be_captured_alone() {
    let forward = lossy_pair(1).paths()[0].links.forward;
    let (_, file) = capture(1, CaptureScope::Links(vec![forward]));
    let rows = tshark(&file, &["frame.interface_name"]);
    assert!(!rows.is_empty() && rows.iter().all(|row| row[0] == "path 0"));
}

#[test]
fn the_same_seed_gives_the_same_file_to_the_byte() {
    let run = |seed| capture(seed, CaptureScope::AllLinks).1;
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    let host = |host| capture(3, CaptureScope::Host(host)).1;
    assert_ne!(host(CLIENT), host(SERVER));
}
