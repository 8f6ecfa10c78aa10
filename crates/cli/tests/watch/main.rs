//! `anabranch watch` as its user meets it, on real sockets, before a server of this process.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod page;
#[path = "../ports/mod.rs"]
mod ports;
mod server;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStderr, Command, Stdio};

use page::Page;
use serde_json::Value;
use server::TestServer;

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.arg("watch").args(arguments).env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

/// A viewer whose lines are read.
struct Watching {
    child: Child,
    lines: BufReader<ChildStderr>,
}

impl Watching {
    fn start(arguments: &[&str]) -> Self {
        let mut command = program(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap());
        Self { child, lines }
    }

    /// Reads until a line has this.
    fn until(&mut self, wanted: &str) {
        let mut seen = String::new();
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).unwrap();
            assert!(read > 0, "the program ended without `{wanted}`:\n{seen}");
            if line.contains(wanted) {
                return;
            }
            seen.push_str(&line);
        }
    }

    /// What is on stdout, to the end of the line.
    fn page_url(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn type_line(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[test]
fn the_channels_are_listed() {
    let server = TestServer::start();
    let output = program(&["--list", &server.url()]).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(listed, "   1  News\n   2  Sport\n   3  Secret Garden (off air)\n");
    assert!(output.status.success());
}

#[test]
fn a_viewer_watches_changes_the_channel_and_is_told_what_is_urgent() {
    let server = TestServer::start();
    let mut watching = Watching::start(&["--headless", &server.url()]);
    watching.until("watching 1 News");
    watching.until("the first picture came after");
    watching.type_line("spo");
    watching.until("watching 2 Sport");
    watching.until("the first picture came after");
    watching.type_line("7");
    watching.until("7 is not a channel of this server; there are 1 News, 2 Sport");
    let id = server.alarm("Leave the house.");
    watching.until("alarm: Leave the house.");
    server.wait_until(|television| television.seen(id) == 1);
    watching.type_line("3");
    watching.until("3 Secret Garden is off air");
}

#[test]
fn its_page_chooses_channels_and_says_what_it_has_shown() {
    let server = TestServer::start();
    let mut watching = Watching::start(&[&server.url()]);
    let mut page = Page::open(&watching.page_url());
    let (mut names, mut plays) = (Vec::new(), false);
    page.until(|it| {
        let listed = it["channels"].as_array().into_iter().flatten();
        names.extend(listed.map(|channel| channel["name"].as_str().unwrap().to_owned()));
        plays |= it["title"] == "1 News" && it["controls"]["channels"] == true;
        plays && names.len() >= 3
    });
    assert_eq!(names[..3], ["News", "Sport", "Secret Garden"]);

    page.ask(r#"{"type":"choose","number":2}"#);
    page.until(|it| it["type"] == "tuned" && it["number"] == 2 && it["state"] == "asked");
    page.until(|it| it["type"] == "hello" && it["title"] == "2 Sport");
    page.until(|it| it["type"] == "tuned" && it["number"] == 2 && it["state"] == "on_air");
    page.until_media();
    watching.until("watching 2 Sport");

    page.ask(r#"{"type":"choose","number":7}"#);
    let refused = page.until(|it| it["type"] == "error");
    let words = "7 is not a channel of this server; there are 1 News, 2 Sport, 3 Secret Garden.";
    assert_eq!((&refused["request"], &refused["text"]), (&"choose".into(), &words.into()));

    let id = server.alarm("Leave the house.");
    let urgent = page.until(|it| it["type"] == "urgent");
    assert_eq!((&urgent["id"], &urgent["level"]), (&id.into(), &"alarm".into()));
    assert_eq!(server.seen(id), 0, "no page said that it is on the screen");
    page.ask(&format!(r#"{{"type":"seen","id":{id}}}"#));
    server.wait_until(|television| television.seen(id) == 1);

    page.ask(r#"{"type":"choose","number":3}"#);
    let tuned = page.until(|it| it["type"] == "tuned" && it["state"] == "off_air");
    assert_eq!(tuned["number"], 3);
    assert!(tuned["text"].as_str().is_some_and(|text| text.ends_with('.')), "{tuned}");
}

#[test]
fn a_viewer_that_comes_before_the_channels_watches_as_soon_as_they_are_there() {
    let server = TestServer::without_channels();
    let url = server.url();
    let mut any = Watching::start(&["--headless", &url]);
    let mut sport = Watching::start(&["--headless", "--channel", "2", &url]);
    any.until("has 0 channels");
    sport.until("has 0 channels");
    server.begin();
    any.until("watching 1 News");
    any.until("the first picture came after");
    sport.until("watching 2 Sport");
    sport.until("the first picture came after");
}

#[test]
fn a_page_that_waits_for_the_server_learns_that_it_is_back() {
    let server = TestServer::start();
    let mut watching = Watching::start(&["--channel", "3", &server.url()]);
    let mut page = Page::open(&watching.page_url());
    page.until(|it| it["type"] == "tuned" && it["state"] == "off_air");
    let server = server.restart();
    page.until(|it| it["type"] == "reconnecting");
    page.until(|it| it["type"] == "event" && it["kind"] == "peer_connected");
    page.until(|it| it["type"] == "tuned" && it["state"] == "off_air");
    drop(server);
}

#[test]
fn a_viewer_comes_back_when_the_server_does() {
    let server = TestServer::start();
    let url = server.url();
    let mut watching = Watching::start(&["--headless", "--channel", "2", &url]);
    watching.until("the first picture came after");
    let server = server.restart();
    watching.until("trying again in 1 s");
    watching.until("watching 2 Sport");
    watching.until("the first picture came after");
    drop(server);
}

#[test]
fn it_ends_after_the_seconds_that_it_was_given_and_says_what_came() {
    let server = TestServer::start();
    let output = program(&["--seconds", "2", &server.url()]).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let mut lines = told.lines();
    assert!(lines.next().unwrap().starts_with("http://127.0.0.1:"), "{told}");
    let summary = lines.next().unwrap();
    let pictures: u32 = summary.split(' ').next().unwrap().parse().unwrap();
    assert!(pictures > 0 && summary.contains(" pictures shown, 0 missing"), "{summary}");
    assert!(output.status.success());
}

#[test]
fn measures_are_written_once_a_second_and_at_the_end() {
    let server = TestServer::start();
    let arguments = ["--stats", "-", "--channel", "2", "--seconds", "2", &server.url()];
    let output = program(&arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["type"] == "event"), "{text}");
    let watched: Vec<_> = lines.iter().filter(|line| line["type"] == "watch").collect();
    assert!(watched.len() >= 2 && watched.iter().rev().skip(1).all(|it| it["last"] == false));
    let last = watched.last().unwrap();
    assert_eq!((&last["last"], &last["channel"]), (&Value::Bool(true), &Value::from(2)));
    assert_eq!(last["name"], "Sport");
    assert!(last["pictures"].as_u64().unwrap() > 0 && last["zap_ms"].is_f64(), "{last}");
    assert!(watched.iter().any(|it| it["association"]["paths"][0]["received_bytes"] != 0));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("http://127.0.0.1:") && told.contains("pictures shown"), "{told}");
}

#[test]
fn a_server_that_is_another_one_or_encrypts_where_the_viewer_does_not_is_given_up_in_words() {
    let (server, other) = (TestServer::start(), TestServer::start());
    let (_, others_key) =
        other.url().split_once('?').map(|(at, key)| (at.to_owned(), key.to_owned())).unwrap();
    let url = |query: &str| format!("anabranch://{}?{query}", server.address());
    let untrusted = "is not the one that was expected";
    let open = "one end encrypts and the other does not: leave encryption=off away";
    for (url, words) in [(url(&others_key), untrusted), (url("encryption=off"), open)] {
        let output = program(&["--list", &url]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(words), "{told}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_a_line() {
    let refused = |arguments: &[&str]| {
        let output = program(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let words = refused(&["--headless", "anabranch://127.0.0.1:9?passphrase=0123456789"]);
    assert!(words.contains("a television server knows no passphrase="), "{words}");
    let words = refused(&["--token", "a.b.c", "anabranch://127.0.0.1:9?token=a.b.c"]);
    assert!(words.contains("give --token, or token= in the URL"), "{words}");
    let words = refused(&["--headless", "anabranch://:9"]);
    assert!(words.contains("a viewer calls its server"), "{words}");
}

#[test]
fn regression_a_list_of_no_server_was_waited_for_without_end() {
    let url = TestServer::start().url();
    let output = program(&["--list", &url]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("the server is lost: the peer did not answer"), "{words}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_server_that_is_not_there_is_given_up_if_that_is_wanted() {
    let url = TestServer::start().url();
    let output = program(&["--headless", "--retries", "0", &url]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("the server is lost: the peer did not answer"), "{words}");
}
