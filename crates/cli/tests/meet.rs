//! `anabranch meet` as who runs it meets it: arguments, links, HTTP.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// What a browser offers: data channels.
const OFFER: &str = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
                     m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\n\
                     a=ice-ufrag:page\r\na=ice-pwd:0123456789abcdef01234567\r\n\
                     a=setup:actpass\r\na=mid:0\r\na=sctp-port:5000\r\n";

const ROOMS: &str = "[server]\nhttp = '127.0.0.1:0'\nudp = '127.0.0.1:0'\n\
                     [[room]]\nname = 'lab'\ntitle = 'The lab'\ntoken = '0123456789abcdef'\n\
                     [[room]]\nname = 'staff'\n";

/// A file that is gone after its test.
struct RoomsFile(PathBuf);

impl RoomsFile {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("anabranch-meet-{name}-{}.toml", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for RoomsFile {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    command.arg("meet").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A server that runs, with what it printed.
struct Server {
    child: Child,
    links: Vec<String>,
    host: String,
}

impl Server {
    fn start(file: &RoomsFile) -> Self {
        let mut child = program().arg(&file.0).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let links: Vec<String> = lines.by_ref().take(2).map(Result::unwrap).collect();
        let host = links[0].split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
        Self { child, links, host }
    }

    fn ask(&self, request: &str, headers: &str, body: &str) -> String {
        self.ask_as(&self.host, request, headers, body)
    }

    fn ask_as(&self, host: &str, request: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let length = body.len();
        write!(
            stream,
            "{request} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn join(&self, room: &str, token: &str, offer: &str) -> String {
        let headers = format!("Authorization: Bearer {token}\r\nContent-Type: application/sdp\r\n");
        self.ask(&format!("POST /r/{room}/join"), &headers, offer)
    }

    /// Ctrl-C; returns how it ended, and what it said.
    fn end(mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

fn refused(text: &str, name: &str, arguments: &[&str]) -> String {
    let file = RoomsFile::new(name, text);
    let Output { status, stderr, .. } = program().arg(&file.0).args(arguments).output().unwrap();
    assert_eq!(status.code(), Some(2));
    String::from_utf8(stderr).unwrap()
}

#[test]
fn each_room_has_a_link_whose_token_opens_it_and_no_other() {
    let file = RoomsFile::new("links", ROOMS);
    let server = Server::start(&file);
    let expected = format!("The lab: http://{}/r/lab#0123456789abcdef", server.host);
    assert_eq!(server.links[0], expected);
    let (_, drawn) = server.links[1].split_once("/r/staff#").unwrap();
    assert!(drawn.len() == 32 && drawn.chars().all(|c| c.is_ascii_hexdigit()), "{drawn}");

    let page = server.ask("GET /r/lab", "", "");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("/assets/room.js"), "{page}");
    assert!(page.contains("frame-ancestors 'none'"), "{page}");
    let offer = format!("{OFFER}a=fingerprint:sha-256 {}\r\n", vec!["AB"; 32].join(":"));
    for (room, token) in [
        ("lab", drawn),
        ("lab", ""),
        ("lab", "0123456789abcde"),
        ("lab", "0123456789abcdeff"),
        ("attic", "0123456789abcdef"),
        ("..%2Flab", "0123456789abcdef"),
    ] {
        let answer = server.join(room, token, &offer);
        assert!(answer.starts_with("HTTP/1.1 401"), "{room} {token}: {answer}");
        assert!(answer.contains("This link opens no room here"), "{answer}");
    }
    let answer = server.join("lab", "0123456789abcdef", &offer);
    assert!(answer.starts_with("HTTP/1.1 201") && answer.contains("a=candidate"), "{answer}");
    let session = answer.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
    for query in ["", "?leaves"] {
        let answer = server.ask(&format!("DELETE {}{query}", session.trim()), "", "");
        let status = if query.is_empty() { "HTTP/1.1 204" } else { "HTTP/1.1 404" };
        assert!(answer.starts_with(status), "{answer}");
    }
    assert!(server.join("staff", drawn, "no offer").starts_with("HTTP/1.1 400"));
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn a_room_takes_no_more_offers_than_it_has_places_and_some() {
    let file = RoomsFile::new("crowd", ROOMS);
    let server = Server::start(&file);
    let offer = format!("{OFFER}a=fingerprint:sha-256 {}\r\n", vec!["AB"; 32].join(":"));
    let answers: Vec<_> = (0..30)
        .map(|_| server.join("lab", "0123456789abcdef", &offer))
        .map(|answer| answer.split(' ').nth(1).unwrap().to_owned())
        .collect();
    // Offers of one address that come to nothing are limited, too.
    assert!(answers[..16].iter().all(|status| status == "201"), "{answers:?}");
    assert!(answers[24..].iter().all(|status| status == "429" || status == "503"), "{answers:?}");
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn pages_of_other_sites_and_other_names_are_refused() {
    let file = RoomsFile::new("foreign", ROOMS);
    let server = Server::start(&file);
    let foreign = server.ask_as("evil.example", "GET /r/lab", "", "");
    assert!(foreign.starts_with("HTTP/1.1 403"), "{foreign}");
    let headers = "Origin: http://evil.example\r\nAuthorization: Bearer 0123456789abcdef\r\n";
    let foreign = server.ask("POST /r/lab/join", headers, OFFER);
    assert!(foreign.starts_with("HTTP/1.1 403"), "{foreign}");
    let nothing = server.ask("GET /", "", "");
    assert!(nothing.starts_with("HTTP/1.1 404") && nothing.contains("own link"), "{nothing}");
    let (status, said) = server.end();
    assert_eq!(status, Some(0));
    assert!(!said.contains("0123456789abcdef"), "{said}");
}

#[test]
fn what_makes_no_sense_is_said_with_its_place_before_anything_is_served() {
    let said = refused("[[room]]\nname = 'a b'\n", "name", &[]);
    assert!(said.contains("line 1, name: \"a b\" stands in a link"), "{said}");
    let said = refused(ROOMS, "tls", &["--tls-key", "no.key"]);
    assert!(said.contains("HTTPS with a certificate of your own needs three"), "{said}");
    let said = refused(ROOMS, "http", &["--http", "nowhere"]);
    assert!(said.contains("is no address to serve at"), "{said}");
    let missing = program().arg("/no/such/rooms.toml").output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8(missing.stderr).unwrap().contains("cannot read /no/such/rooms.toml"));
}
