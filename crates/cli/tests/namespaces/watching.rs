//! A viewer whose interfaces come and go while it watches.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{ChildStdout, Stdio};

use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::{Running, program};
use crate::hosts::{Host, Wire, two_hosts};
use crate::trial;

/// Pictures after which it is clear that they go on: three seconds.
const SOME: u64 = 75;

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial(a_viewer_goes_on_over_the_interfaces_that_it_has)]
}

fn a_viewer_goes_on_over_the_interfaces_that_it_has() {
    let wires = [
        Wire { name: "wifi", addresses: ["10.78.1.1/24", "10.78.1.2/24"] },
        Wire { name: "mobile", addresses: ["10.78.2.1/24", "10.78.2.2/24"] },
    ];
    let hosts = two_hosts(&wires);
    hosts[0].set_link("mobile", "down");
    let _server = serve(&hosts[1]);
    let (mut viewer, mut measures) = watch(&hosts[0]);
    viewer.line_with("the first picture came after");

    hosts[0].set_link("mobile", "up");
    wires[1].introduce(&hosts);
    viewer.line_with("mobile (10.78.2.1) reaches 10.78.2.2:9000: one more path");
    until(&mut measures, |it| path_from("10.78.2.1", it).is_some_and(|it| it["state"] == "active"));

    hosts[0].set_link("wifi", "down");
    viewer.line_with("wifi (10.78.1.1) reaches 10.78.1.2:9000 no more");
    let before = pictures(&until(&mut measures, |_| true));
    until(&mut measures, |it| pictures(it) >= before + SOME);

    hosts[0].set_link("wifi", "up");
    wires[0].introduce(&hosts);
    viewer.line_with("wifi (10.78.1.1) reaches 10.78.1.2:9000: one more path");
    until(&mut measures, |it| path_from("10.78.1.1", it).is_some_and(|it| it["state"] == "active"));
    viewer.interrupt();
    let said = viewer.assert_success();
    assert!(!said.contains("the server is lost"), "{said}");
}

fn serve(host: &Host) -> Running {
    let serve = program(&["serve", "--udp", "0.0.0.0:9000", "--http", "127.0.0.1:0"]);
    Running::spawn(host.command(&serve).stdout(Stdio::null()))
}

fn watch(host: &Host) -> (Running, Lines<BufReader<ChildStdout>>) {
    let url = "anabranch://10.78.1.2:9000?peer=10.78.2.2:9000&latency=1000";
    let arguments = ["watch", "--headless", "--paths", "auto", "--stats", "-", url];
    let mut viewer = Running::spawn(host.command(&program(&arguments)).stdout(Stdio::piped()));
    let stdout = BufReader::new(viewer.child.stdout.take().unwrap());
    (viewer, stdout.lines())
}

/// The next measure of which this is true.
fn until(
    measures: &mut Lines<BufReader<ChildStdout>>,
    is_wanted: impl Fn(&Value) -> bool,
) -> Value {
    let mut measures = measures.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    measures.find(|it| it["type"] == "watch" && is_wanted(it)).unwrap()
}

fn pictures(measure: &Value) -> u64 {
    measure["pictures"].as_u64().unwrap()
}

fn path_from<'a>(address: &str, measure: &'a Value) -> Option<&'a Value> {
    let mut paths = measure["association"]["paths"].as_array()?.iter();
    paths.find(|path| path["local"].as_str().is_some_and(|local| local.starts_with(address)))
}
