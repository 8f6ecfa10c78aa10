//! What one address, and all together, may take.

use std::io::Read as _;
use std::path::PathBuf;

use super::Server;
use super::access::Folder;
use super::hostile::until;

/// What a browser offers: data channels.
const OFFER: &str = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
                     m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\n\
                     a=ice-ufrag:page\r\na=ice-pwd:0123456789abcdef01234567\r\n\
                     a=setup:actpass\r\na=mid:0\r\na=sctp-port:5000\r\n";

fn serve(folder: &Folder, section: &str) -> Server {
    let text = format!(
        "[server]\n{section}\n[[channel]]\nname = 'Clock'\nsource = 'demo:clock'\ngroup = 'A'\n"
    );
    let file: PathBuf = folder.write("channels.toml", &text);
    let mut server = Server::start(&[file.to_str().unwrap()]);
    server.wait_for("1 Clock: on air");
    server
}

/// The answer to the offer of a page that does not go on with it.
pub(super) fn offer(server: &Server, header: &str) -> String {
    let fingerprint = vec!["AB"; 32].join(":");
    let offer = format!("{OFFER}a=fingerprint:sha-256 {fingerprint}\r\n");
    let length = format!("Content-Length: {}", offer.len());
    let headers = [header, "Content-Type: application/sdp", &length].map(str::to_owned);
    let headers: Vec<_> = headers.into_iter().filter(|header| !header.is_empty()).collect();
    server.post("POST /whep", &headers.join("\r\n"), &offer)
}

#[test]
fn players_beyond_the_limit_are_refused_until_one_goes() {
    let folder = Folder::new("players-limit");
    let server = serve(&folder, "players_max = 1");
    let mut first = server.open("GET /ch/1.ts", &server.host, "Accept: */*");
    let mut head = [0; 4_096];
    assert!(first.read(&mut head).unwrap() > 0 && head.starts_with(b"HTTP/1.1 200"));
    let refused = server.get("/ch/1.ts");
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.ends_with("The server has 1 players, which is its limit."), "{refused}");
    drop(first);
    let is_served = || {
        let mut stream = server.open("GET /ch/1.ts", &server.host, "Accept: */*");
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        head == *b"HTTP/1.1 200"
    };
    until("a player is served again", is_served, |is_served| *is_served);
    server.end();
}

#[test]
fn offers_are_limited_by_who_is_behind_a_proxy_that_is_trusted() {
    let folder = Folder::new("proxy");
    let server = serve(&folder, "trusted_proxies = ['127.0.0.0/8']");
    let offer = |asker: &str| offer(&server, &format!("X-Forwarded-For: 203.0.113.5, {asker}"));
    for _ in 0..16 {
        let accepted = offer("198.51.100.7");
        assert!(accepted.starts_with("HTTP/1.1 201"), "{accepted}");
    }
    let refused = offer("198.51.100.7");
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    assert!(refused.contains("198.51.100.7 has 16 connections that are not set up"), "{refused}");
    assert!(offer("198.51.100.8").starts_with("HTTP/1.1 201"));

    let mut list = String::new();
    let mut stream = server.open("GET /playlist.m3u", "tv.example", "X-Forwarded-Proto: https");
    stream.read_to_string(&mut list).unwrap();
    assert!(list.starts_with("HTTP/1.1 403"), "no such name: {list}");
    let mut stream = server.open("GET /playlist.m3u", &server.host, "X-Forwarded-Proto: https");
    list.clear();
    stream.read_to_string(&mut list).unwrap();
    assert!(list.contains(&format!("https://{}/ch/1.ts", server.host)), "{list}");
    server.end();
}
