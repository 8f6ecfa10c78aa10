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
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
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
        Self::start_with(file, &[])
    }

    fn start_with(file: &RoomsFile, arguments: &[&str]) -> Self {
        let mut child = program().arg(&file.0).args(arguments).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let links: Vec<String> = lines.by_ref().take(4).map(Result::unwrap).collect();
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

    /// What who has this token gets of the operator's interface.
    fn operate(&self, token: &str, request: &str, body: &str) -> String {
        let headers =
            format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
        self.ask(request, &headers, body)
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
fn agents_have_a_link_with_the_key_that_answers_there() {
    let file = RoomsFile::new("agents", ROOMS);
    let server = Server::start(&file);
    let line = &server.links[2];
    assert!(line.starts_with("The lab, by anabranch call: anabranch://127.0.0.1:"), "{line}");
    let (_, rest) = line.split_once("?key=").unwrap();
    let (key, rest) = rest.split_once('&').unwrap();
    assert_eq!((key.len(), rest), (43, "room=lab&token=0123456789abcdef"), "{line}");
    let asked = |token: &str| {
        server.ask("GET /r/lab/agent", &format!("Authorization: Bearer {token}\r\n"), "")
    };
    let (_, link) = line.split_once("call: ").unwrap();
    let answer = asked("0123456789abcdef");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(link), "{answer}");
    assert!(asked("0123456789abcde").starts_with("HTTP/1.1 401"));
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn hosts_have_a_link_of_their_own() {
    let text = ROOMS.replace("title", "host_token = 'fedcba9876543210'\ntitle");
    let file = RoomsFile::new("hosts", &text);
    let server = Server::start(&file);
    let offer = format!("{OFFER}a=fingerprint:sha-256 {}\r\n", vec!["AB"; 32].join(":"));
    for token in ["0123456789abcdef", "fedcba9876543210"] {
        let answer = server.join("lab", token, &offer);
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    }
    let host = server.host.clone();
    let (_, said) = server.end();
    let line = format!("The lab, for its hosts: http://{host}/r/lab#fedcba9876543210");
    assert!(said.contains(&line), "{said}");
}

#[test]
fn the_operator_opens_locks_and_closes_rooms_by_http_and_nobody_else() {
    let file = RoomsFile::new("operator", ROOMS);
    let token = RoomsFile::new("operator-token", "0123456789-operator\n");
    let server = Server::start_with(&file, &["--operator-token", token.0.to_str().unwrap()]);
    let operate = |request: &str, body: &str| {
        let answer = server.operate("0123456789-operator", request, body);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().to_owned(), body.to_owned())
    };
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();

    // A room's token, and a host's, are no operator's.
    for wrong in ["0123456789abcdef", "", "0123456789-operato"] {
        for request in ["GET /api/rooms", "DELETE /api/rooms/lab", "GET /metrics"] {
            let answer = server.operate(wrong, request, "");
            assert!(answer.starts_with("HTTP/1.1 401"), "{request}: {answer}");
        }
    }
    assert!(server.ask("GET /api/openapi.json", "", "").starts_with("HTTP/1.1 200"));

    let (status, body) = operate("GET /api/rooms", "");
    let rooms = json(&body);
    assert_eq!(
        (status.as_str(), &rooms[0]["name"], &rooms[1]["name"]),
        ("200", &"lab".into(), &"staff".into())
    );
    let link = format!("http://{}/r/lab#0123456789abcdef", server.host);
    assert_eq!(rooms[0]["link"], link.as_str());

    let (status, body) = operate("POST /api/rooms", r#"{"name": "attic", "members_max": 3}"#);
    assert_eq!(status, "201", "{body}");
    let attic = json(&body);
    assert_eq!((&attic["title"], &attic["locked"]), (&"attic".into(), &false.into()));
    let opener = attic["host_link"].as_str().unwrap().split('#').nth(1).unwrap();
    let offer = format!("{OFFER}a=fingerprint:sha-256 {}\r\n", vec!["AB"; 32].join(":"));
    assert!(server.join("attic", opener, &offer).starts_with("HTTP/1.1 201"));
    assert_eq!(operate("PUT /api/rooms/attic/lock", r#"{"locked": true}"#).0, "204");
    let (_, body) = operate("GET /api/rooms/attic", "");
    assert_eq!(json(&body)["locked"], true);
    let (_, metrics) = operate("GET /metrics", "");
    for line in [
        "anabranch_rooms 3",
        "anabranch_room_locked{room=\"attic\"} 1",
        "anabranch_joins_total{outcome=\"answered\"} 1",
    ] {
        assert!(metrics.lines().any(|it| it == line), "{line} in {metrics}");
    }

    for (request, body, status, what) in [
        ("POST /api/rooms", r#"{"name": "attic"}"#, "409", "\"attic\" is another room's already"),
        ("POST /api/rooms", r#"{"name": "a/b"}"#, "400", "name: \"a/b\" stands in a link"),
        ("POST /api/rooms", r#"{"name": "b", "color": 1}"#, "400", "unknown field `color`"),
        ("POST /api/rooms", r#"{"title": "b"}"#, "400", "missing field `name`"),
        ("PUT /api/rooms/attic/lock", "{}", "400", "missing field `locked`"),
        ("PUT /api/rooms/cellar/lock", r#"{"locked": true}"#, "404", "no room of this name"),
        ("DELETE /api/rooms/attic/members/1", "", "404", "nobody of this number"),
        ("DELETE /api/rooms/cellar", "", "404", "no room of this name"),
        ("GET /api/rooms/cellar", "", "404", "no room of this name"),
    ] {
        let answer = operate(request, body);
        assert!(answer.0 == status && answer.1.contains(what), "{request} {body}: {answer:?}");
    }
    assert_eq!(operate("DELETE /api/rooms/attic", "").0, "204");
    assert!(server.join("attic", opener, &offer).starts_with("HTTP/1.1 401"));
    let (status, said) = server.end();
    assert_eq!(status, Some(0));
    assert!(!said.contains("0123456789-operator"), "{said}");
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
    let said = refused(ROOMS, "token", &["--operator-token", "/dev/null"]);
    assert!(said.contains("/dev/null has no token"), "{said}");
    let said = refused(ROOMS, "http", &["--http", "nowhere"]);
    assert!(said.contains("is no address to serve at"), "{said}");
    let missing = program().arg("/no/such/rooms.toml").output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8(missing.stderr).unwrap().contains("cannot read /no/such/rooms.toml"));
}
