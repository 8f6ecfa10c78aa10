//! Channels that are watched by token.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use super::{Server, program};

/// A folder that is gone with the test.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("anabranch-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path(name);
        std::fs::write(&file, text).unwrap();
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing depends on it.
        let _left_behind = std::fs::remove_dir_all(&self.0);
    }
}

/// A folder with two channels, the second by token, and a key that is made by the first server.
pub(super) struct House {
    folder: Folder,
}

impl House {
    pub(super) fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let text = "[[channel]]\nname = 'Open'\nsource = 'demo:clock'\n\
                    [[channel]]\nname = 'Closed'\nsource = 'demo:bars'\naccess = 'token'\n";
        folder.write("channels.toml", text);
        Self { folder }
    }

    pub(super) fn file(&self) -> PathBuf {
        self.folder.path("channels.toml")
    }

    pub(super) fn serve(&self) -> Server {
        let mut server = Server::start(&[self.file().to_str().unwrap()]);
        server.wait_for("1 Open: on air");
        server.wait_for("2 Closed: on air");
        server
    }

    fn key(&self) -> PathBuf {
        self.folder.path("access.key")
    }

    pub(super) fn token(&self, arguments: &[&str]) -> String {
        let output = token(&self.key(), arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

fn token(key: &Path, arguments: &[&str]) -> Output {
    program(&["token", "--key", key.to_str().unwrap()]).args(arguments).output().unwrap()
}

fn assert_refused(answer: &str, status: u16, words: &str) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    assert!(answer.contains(words), "{answer}");
}

#[test]
fn players_get_a_channel_by_token_only() {
    let house = House::new("players");
    let mut server = house.serve();
    server.wait_for("the key for tokens is new: ");
    let alice = house.token(&["--who", "alice", "--channels", "2", "--for", "1h"]);
    let bob = house.token(&["--who", "bob", "--channels", "1", "--for", "1h"]);

    let list = server.get("/playlist.m3u");
    assert!(list.contains("Open\n") && !list.contains("Closed"), "{list}");
    let list = server.get(&format!("/playlist.m3u?token={alice}"));
    let entry = format!("Closed\nhttp://{}/ch/2.ts?token={alice}\n", server.host);
    assert!(list.contains(&entry) && list.contains("/ch/1.ts\n"), "{list}");
    assert!(server.probe(&format!("/ch/2.ts?token={alice}")).contains("h264"));

    assert_refused(&server.get("/ch/2.ts"), 401, "needs a token: /ch/2.ts?token=TOKEN");
    let other = server.get(&format!("/ch/2.ts?token={bob}"));
    assert_refused(&other, 403, "This token of bob is for other channels.");
    // What bob may, signed for alice.
    let (claims, _) = bob.rsplit_once('.').unwrap();
    let (_, signature) = alice.rsplit_once('.').unwrap();
    let forged = server.get(&format!("/ch/2.ts?token={claims}.{signature}"));
    assert_refused(&forged, 401, "not made with this server's key, or was changed since");
    for path in ["/ch/1.ts?token=nonsense", "/playlist.m3u?token=nonsense"] {
        assert_refused(&server.get(path), 401, "this is no token");
    }
    let metrics = server.operate("GET /metrics", &server.operator_token(), "");
    assert!(metrics.contains("anabranch_tokens_total{outcome=\"forged\"} 1\n"), "{metrics}");
    server.end();
}

#[test]
fn a_stream_ends_with_its_token_and_the_token_is_refused_then() {
    let house = House::new("expiry");
    let server = house.serve();
    let token = house.token(&["--who", "carol", "--channels", "all", "--for", "2s"]);
    let path = format!("/ch/2.ts?token={token}");
    let mut stream = server.open(&format!("GET {path}"), &server.host, "Accept: */*");
    let mut body = Vec::new();
    stream.read_to_end(&mut body).unwrap();
    assert!(body.starts_with(b"HTTP/1.1 200") && body.ends_with(b"\r\n0\r\n\r\n"));
    assert_refused(&server.get(&path), 401, "this token was good until ");
    server.end();
}

#[test]
fn a_page_with_a_wrong_token_is_told_before_it_is_connected() {
    let house = House::new("offers");
    let server = house.serve();
    let offer = |token: &str| {
        let bearer = format!("Authorization: Bearer {token}\r\nContent-Length: 0");
        let mut answer = String::new();
        server.open("POST /whep", &server.host, &bearer).read_to_string(&mut answer).unwrap();
        answer
    };
    assert_refused(&offer("nonsense"), 401, "www-authenticate: Bearer");
    let token = house.token(&["--who", "alice", "--channels", "2", "--for", "1h"]);
    // It is let in, with an offer that is none.
    assert_refused(&offer(&token), 400, "");
    server.end();
}

#[test]
fn native_viewers_bring_tokens_and_the_operator_sees_who() {
    let house = House::new("native");
    let mut server = house.serve();
    server.wait_for("native viewers: ");
    let url = server.said.split("native viewers: ").nth(1).unwrap().lines().next().unwrap();
    let listed = |token: &[&str]| {
        let output = program(&["watch", "--list", "--retries", "0", url]).args(token).output();
        let Output { stdout, stderr, .. } = output.unwrap();
        [stdout, stderr].map(|text| String::from_utf8(text).unwrap()).concat()
    };
    assert!(!listed(&[]).contains("Closed"));
    let token = house.token(&["--who", "alice", "--channels", "2,9", "--for", "1h"]);
    assert!(listed(&["--token", &token]).contains("   2  Closed"));
    let by_url = program(&["watch", "--list", &format!("{url}&token={token}")]).output().unwrap();
    assert!(String::from_utf8(by_url.stdout).unwrap().contains("   2  Closed"));
    let refused = listed(&["--token", "nonsense"]);
    assert!(refused.contains("this is no token: one looks like xxx.yyy.zzz"), "{refused}");

    let mut watching = program(&["watch", "--headless", "--channel", "2", "--token", &token, url]);
    let mut watching = watching.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(watching.stderr.take().unwrap()).lines();
    let came = |line: &String| line.contains("the first picture came after");
    assert!(lines.map(Result::unwrap).any(|line| came(&line)));
    let viewers = server.operate("GET /api/viewers", &server.operator_token(), "");
    assert!(viewers.contains(r#""name":"alice""#), "{viewers}");
    watching.kill().unwrap();
    watching.wait().unwrap();
    server.end();
}

#[test]
fn a_token_comes_with_the_link_of_its_page() {
    let house = House::new("links");
    house.serve().end();
    let page = ["--page", "http://tv.example/embed/2"];
    let text =
        house.token(&[&["--who", "a", "--channels", "2", "--for", "1d"], &page[..]].concat());
    let (token, link) = text.split_once('\n').unwrap();
    assert_eq!(link, format!("http://tv.example/embed/2?token={token}"));
}

#[test]
fn a_token_that_makes_no_sense_is_refused_in_a_line() {
    let house = House::new("senseless");
    let missing = token(&house.key(), &["--who", "a", "--channels", "1", "--for", "1d"]);
    house.serve().end();
    let refused = |arguments: &[&str]| token(&house.key(), arguments);
    let url = "anabranch://127.0.0.1:9?token=a.b.c";
    let other = |arguments: &[&str]| program(arguments).output().unwrap();
    let cases = [
        (other(&["send", "nowhere.ts", url]), "token= is for anabranch watch: leave it out"),
        (other(&["recv", url, "nowhere.ts"]), "token= is for anabranch watch: leave it out"),
        (missing, "cannot read the key for tokens in "),
        (refused(&["--who", "a", "--channels", "1", "--until", "2020-01-01T00:00Z"]), "is over"),
        (refused(&["--who", "a", "--channels", "1"]), "--until <TIME>"),
        (refused(&["--who", "", "--channels", "1", "--for", "1d"]), "a name has 1 to 100"),
        (refused(&["--who", "a", "--channels", "x", "--for", "1d"]), "give their numbers"),
        (refused(&["--who", "a", "--channels", "1", "--for", "soon"]), "write 90m, 12h, 30d or 1y"),
    ];
    for (output, words) in cases {
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(words), "{said}");
    }
}
