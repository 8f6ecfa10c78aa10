//! `anabranch serve` as its operators and players meet it: arguments, HTTP, a transport stream.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "serve/access.rs"]
mod access;
#[path = "../../load/src/browser.rs"]
mod browser;
#[path = "serve/certificates.rs"]
mod certificates;
#[path = "serve/hostile/mod.rs"]
mod hostile;
#[path = "serve/https.rs"]
mod https;
#[path = "serve/import.rs"]
mod import;
#[path = "../../keys/tests/associations/issuer.rs"]
#[expect(dead_code, reason = "the tests of several crates share it")]
mod issuer;
#[path = "serve/limits.rs"]
mod limits;
#[path = "serve/players.rs"]
mod players;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// Long enough for any machine: a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn the_demo_channels_are_served_to_pages_and_players() {
    let mut server = Server::start(&[]);
    for expected in ["1 Big Buck Bunny: on air", "2 Clock: on air", "3 Bars: on air"] {
        server.wait_for(expected);
    }
    let page = server.get("/");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("/assets/tv.js"), "{page}");
    assert!(page.contains("frame-ancestors 'none'"), "{page}");
    assert!(server.get("/embed/2").contains("frame-ancestors *"));
    for unknown in ["/embed/abc", "/embed/-1", "/embed/99999999999"] {
        let answer = server.get(unknown);
        assert!(answer.starts_with("HTTP/1.1 404") && answer.contains("/embed/N"), "{answer}");
    }
    assert!(server.get("/assets/tv.js").contains("content-type: text/javascript"));

    let list = server.get("/playlist.m3u");
    assert!(list.contains(&format!("Clock\nhttp://{}/ch/2.ts\n", server.host)), "{list}");
    let left_out = format!(
        "# 1 Big Buck Bunny is left out, for it comes as no transport stream: \
                            http://{}/ shows it\n",
        server.host
    );
    assert!(list.contains(&left_out), "{list}");
    let codecs = server.probe("/ch/2.ts");
    assert!(codecs.contains("h264,640,360") && codecs.contains("aac"), "{codecs}");

    for (request, status, words) in [
        ("GET /ch/1.ts", 404, "This channel is no transport stream: watch it on the page"),
        ("GET /ch/9.ts", 404, "There is no channel of this number"),
        ("GET /nothing", 404, "the page is at /."),
        ("DELETE /whep/0", 404, "There is no such session"),
        ("POST /whep", 400, ""),
    ] {
        let answer = server.ask(request, &server.host);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {answer}");
        assert!(answer.contains(words), "{request}: {answer}");
    }
    let refused = server.get("/api/viewers");
    assert!(refused.starts_with("HTTP/1.1 401") && refused.contains("Bearer TOKEN"), "{refused}");
    assert!(server.get("/api/openapi.json").contains("\"/api/urgent/{id}\""));
    let foreign = server.ask("GET /", "evil.example");
    assert!(foreign.starts_with("HTTP/1.1 403"), "{foreign}");
    server.end();
}

#[test]
fn an_operator_adds_removes_and_restarts_channels_and_warns_viewers() {
    let mut server = Server::start(&[]);
    server.wait_for("operator's token: ");
    let page = format!("operator's page: http://{}/operator#", server.host);
    assert!(server.said.contains(&page), "{}", server.said);
    assert!(server.get("/operator").contains("/assets/operator.js"));
    server.wait_for("3 Bars: on air");
    let token = server.operator_token();
    let operate = |request: &str, body: &str| server.operate(request, &token, body);

    let added = operate("POST /api/channels", r#"{"name":"More","source":"demo:clock"}"#);
    assert!(added.starts_with("HTTP/1.1 201") && added.ends_with(r#"{"number":4}"#), "{added}");
    let refused = operate("POST /api/channels", r#"{"name":"Shell","command":"id"}"#);
    assert!(refused.contains("stands in channels.toml only"), "{refused}");
    let refused = operate("POST /api/channels", r#"{"name":"A","number":4,"source":"demo:bars"}"#);
    assert!(refused.contains("number: 4 is the number of \"More\" already"), "{refused}");
    assert!(operate("GET /api/channels", "").contains(r#""number":4,"name":"More""#));
    assert!(operate("POST /api/channels/4/restart", "").starts_with("HTTP/1.1 204"));
    assert!(operate("DELETE /api/channels/4", "").starts_with("HTTP/1.1 204"));
    assert!(operate("DELETE /api/channels/4", "").starts_with("HTTP/1.1 404"));

    let shown = operate("POST /api/urgent", r#"{"level":"alarm","text":"Leave the house."}"#);
    assert!(shown.ends_with(r#""channel":null,"seen":0,"viewers":0}"#), "{shown}");
    assert!(operate("GET /api/urgent", "").contains(r#"[{"id":1,"level":"alarm","text":"Leave"#));
    assert!(operate("DELETE /api/urgent/1", "").starts_with("HTTP/1.1 204"));
    assert!(operate("GET /api/urgent/1", "").starts_with("HTTP/1.1 404"));
    assert!(operate("GET /api/viewers", "").ends_with("[]"));
    let metrics = operate("GET /metrics", "");
    assert!(metrics.contains("anabranch_channel_on_air{channel=\"3\"} 1"), "{metrics}");
    server.end();
}

#[test]
fn channels_of_ones_own_come_and_go_in_words() {
    let folder = std::env::temp_dir().join(format!("anabranch-{}-serve", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let stream = concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures/h264_aac.ts");
    std::fs::copy(stream, folder.join("film.ts")).unwrap();
    let file = folder.join("channels.toml");
    let text = "[[channel]]\nname = 'Film'\nsource = 'film.ts'\n\
                [[channel]]\nname = 'Lost'\nsource = 'nowhere.ts'\n\
                [[channel]]\nname = 'Camera'\ncommand = 'echo no such camera >&2; exit 1'\n";
    std::fs::write(&file, text).unwrap();
    let mut server = Server::start(&[file.to_str().unwrap()]);
    server.wait_for("1 Film: on air (avc1.");
    server.wait_for("2 Lost: off air: cannot read ");
    server.wait_for("3 Camera: off air: the program has ended (exit status: 1), it said: no such");
    server.end();

    std::fs::write(&file, "[[channel]]\nname = 'Film'\nsorce = 'film.ts'\n").unwrap();
    let output = program(&["serve", file.to_str().unwrap()]).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("channels.toml, line 3: unknown field `sorce`"), "{said}");
}

#[test]
fn without_encryption_that_is_said_and_viewers_have_to_say_it_too() {
    let mut server = Server::start(&["--encryption", "off"]);
    server.wait_for("encryption off: who sees packets of native viewers can read");
    server.wait_for("native viewers: ");
    let url = server.said.split("native viewers: ").nth(1).unwrap().lines().next().unwrap();
    let (address, query) = url.split_once('?').unwrap();
    assert_eq!(query, "encryption=off");
    let list = |url: &str| program(&["watch", "--list", "--retries", "0", url]).output().unwrap();
    assert!(list(url).status.success());
    let refused = list(address);
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(words.contains("one end encrypts and the other does not"), "{words}");
    server.end();
}

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    command
        .args(arguments)
        .env_remove("RUST_LOG")
        .env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::null());
    command
}

/// A running `anabranch serve`.
struct Server {
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
    host: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let own = ["serve", "--http", "127.0.0.1:0", "--udp", "127.0.0.1:0"];
        let mut command = program(&[&own, arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let host = url.trim_end().strip_prefix("http://").and_then(|it| it.strip_suffix('/'));
        let host = host.unwrap().to_owned();
        Self { child, stderr, said: String::new(), host }
    }

    /// Lines come in any order.
    fn wait_for(&mut self, expected: &str) {
        while !self.said.contains(expected) {
            let len = self.stderr.read_line(&mut self.said).unwrap();
            assert!(len > 0, "ended without \"{expected}\": {}", self.said);
        }
    }

    fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path}"), &self.host)
    }

    fn ask(&self, request: &str, host: &str) -> String {
        let mut answer = String::new();
        self.open(request, host, "Content-Length: 0").read_to_string(&mut answer).unwrap();
        answer
    }

    fn operate(&self, request: &str, token: &str, body: &str) -> String {
        let headers = format!(
            "Authorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}",
            body.len()
        );
        self.post(request, &headers, body)
    }

    fn post(&self, request: &str, headers: &str, body: &str) -> String {
        let mut answer = String::new();
        let mut connection = self.open(request, &self.host, headers);
        connection.write_all(body.as_bytes()).unwrap();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }

    fn open(&self, request: &str, host: &str, headers: &str) -> TcpStream {
        let mut connection = TcpStream::connect(&self.host).unwrap();
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        let head =
            format!("{request} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\nConnection: close\r\n\r\n");
        connection.write_all(head.as_bytes()).unwrap();
        connection
    }

    /// It must have been told.
    fn operator_token(&self) -> String {
        let told = self.said.split("operator's token: ").nth(1).unwrap();
        told.lines().next().unwrap().to_owned()
    }

    /// What the system says that it holds in memory.
    fn resident_bytes(&self) -> u64 {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id())).unwrap();
        let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
        pages * rustix::param::page_size() as u64
    }

    /// What a player's engine finds in the first two seconds of a stream.
    fn probe(&self, path: &str) -> String {
        let url = format!("http://{}{path}", self.host);
        let entries = "stream=codec_name,width,height";
        let options = ["-v", "error", "-analyzeduration", "2M", "-show_entries", entries];
        let output =
            Command::new("ffprobe").args(options).args(["-of", "csv=p=0", &url]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Ends it as Ctrl-C does.
    fn end(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails if it has ended, which is what is wanted.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}
