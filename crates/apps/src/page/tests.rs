//! A browser's part, played against the real server over real sockets.

use std::time::Duration;

use anabranch_media::Class;
use anabranch_media::decoding::{LayerUnit, MediaTrack};
use anabranch_sansio::Time;
use anabranch_television::channel::ChannelId;
use anabranch_television::protocol::{Playable, Programme, UrgentLevel};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::protocol::{Controls, EventKind, LinkRanges, Mode, Named, Range, Severity, TunedState};
use super::*;

/// No test waits that long unless it fails.
const PATIENCE: Duration = Duration::from_secs(10);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

fn demo_hello() -> Hello {
    let range = Range(0.0, 100.0);
    let links = LinkRanges { rate_kbps: range, delay_ms: range, loss_percent: range };
    let path = |id| protocol::PathInfo {
        id,
        name: None,
        local: "127.0.0.1:1".into(),
        remote: "127.0.0.1:2".into(),
    };
    Hello {
        paths: vec![path(1), path(2)],
        classes: vec![Named { id: "audio".into(), name: "Sound".into() }],
        controls: Controls { links: Some(links), ..Controls::default() },
        ..Hello::new(Mode::Demo)
    }
}

async fn start() -> (PageServer, mpsc::Receiver<PageRequest>) {
    PageServer::start(0, Clock::start(), demo_hello()).await.unwrap()
}

fn origin(server: &PageServer) -> String {
    server.url().split('/').take(3).collect::<Vec<_>>().join("/")
}

/// Opens the socket as a page of `from` does.
async fn open_from(server: &PageServer, from: &str) -> Result<Socket, Error> {
    let address = format!("{}socket", server.url().replace("http://", "ws://"));
    let mut request = address.into_client_request()?;
    request.headers_mut().insert("origin", from.parse().unwrap());
    Ok(connect_async(request).await?.0)
}

async fn open(server: &PageServer) -> Socket {
    open_from(server, &origin(server)).await.unwrap()
}

async fn next(socket: &mut Socket) -> Message {
    timeout(PATIENCE, socket.next()).await.expect("in time").expect("open").expect("no error")
}

/// The next text as JSON, with its type checked.
async fn next_of(socket: &mut Socket, kind: &str) -> serde_json::Value {
    let Message::Text(text) = next(socket).await else { panic!("not a text") };
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["type"], kind, "{json}");
    json
}

async fn end(server: PageServer, text: &str) {
    server.say_goodbye(text.to_owned());
    server.told().await;
}

fn picture(frame: u32, class: Class, len: usize) -> AccessUnit {
    AccessUnit {
        track: MediaTrack::Video,
        frame,
        pts_us: 0,
        play_at: Time::ZERO,
        discontinuity: false,
        layers: vec![LayerUnit { class, delay: None, bytes: vec![7; len].into() }],
    }
}

fn news() -> ChannelEntry {
    ChannelEntry {
        id: ChannelId(1),
        number: 7,
        name: "News".into(),
        group: None,
        on_air: true,
        playable: Playable::Yes,
        programme: Programme::default(),
        through: Vec::new(),
    }
}

fn event(text: &str) -> NewEvent {
    let text = text.to_owned();
    NewEvent { severity: Severity::Info, kind: EventKind::LinkCut, path: Some(1), text }
}

/// The answer to a plain request, head and body in one.
async fn ask(server: &PageServer, method: &str, path: &str, headers: &str) -> String {
    let host = origin(server).replace("http://", "");
    let mut connection = TcpStream::connect(&host).await.unwrap();
    let headers = headers.replace("HOST", &host);
    let request = format!("{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    timeout(PATIENCE, connection.read_to_end(&mut answer)).await.unwrap().unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn token_path(server: &PageServer) -> String {
    server.url().replace(&origin(server), "")
}

#[tokio::test]
async fn the_page_is_served_under_its_token_with_a_strict_policy() {
    let (server, _requests) = start().await;
    let path = token_path(&server);
    for (file, content_type) in [
        ("", "text/html; charset=utf-8"),
        ("assets/page.js", "text/javascript; charset=utf-8"),
        ("assets/worker.js", "text/javascript; charset=utf-8"),
        ("assets/page.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ] {
        let answer = ask(&server, "GET", &format!("{path}{file}"), "Host: HOST\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{file}: {answer:.80}");
        assert!(
            answer.contains(&format!("content-type: {content_type}\r\n")),
            "{file}: {answer:.300}"
        );
        assert!(answer.contains("content-security-policy: default-src 'none';"), "{file}");
        assert!(answer.contains("x-content-type-options: nosniff\r\n"), "{file}");
        assert!(answer.contains("cache-control: no-store\r\n"), "{file}");
    }
    let bare = path.trim_end_matches('/');
    let answer = ask(&server, "GET", bare, "Host: HOST\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 308"), "{answer:.80}");
    assert!(answer.contains(&format!("location: {path}\r\n")));
}

#[tokio::test]
async fn foreign_hosts_origins_and_guesses_are_refused_in_words() {
    let (server, _requests) = start().await;
    let path = token_path(&server);
    for (path, headers, status, words) in [
        (path.as_str(), "Host: evil.example\r\n", 403, "only under the address"),
        (&path, "Host: HOST\r\nOrigin: http://evil.example\r\n", 403, "another site"),
        (&path, "Host: HOST\r\nOrigin: null\r\n", 403, "another site"),
        ("/", "Host: HOST\r\n", 404, "token included"),
        ("/0123456789abcdef0123456789abcdef/", "Host: HOST\r\n", 404, "token included"),
        (&format!("{path}../../Cargo.toml"), "Host: HOST\r\n", 404, "token included"),
        (&format!("{path}assets/none.js"), "Host: HOST\r\n", 404, "token included"),
        (&format!("{path}socket"), "Host: HOST\r\n", 403, "header Origin"),
    ] {
        let answer = ask(&server, "GET", path, headers).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer:.80}");
        assert!(answer.contains(words), "{path}: {answer}");
        assert!(answer.contains("content-security-policy: "), "{path}");
    }
    let posted = ask(&server, "POST", &path, "Host: HOST\r\nContent-Length: 0\r\n").await;
    assert!(posted.starts_with("HTTP/1.1 405"), "{posted:.80}");
}

#[tokio::test]
async fn a_socket_of_a_foreign_origin_is_refused() {
    let (server, _requests) = start().await;
    let Err(Error::Http(answer)) = open_from(&server, "http://evil.example").await else {
        panic!("opened");
    };
    assert_eq!(answer.status(), 403);
    assert_eq!(server.pages(), 0);
}

#[tokio::test]
async fn a_page_gets_hello_then_what_happened_then_what_happens() {
    let (server, _requests) = start().await;
    for number in 0..60 {
        server.event(event(&number.to_string()));
    }
    server.treatments(Treatments { preset: None, treatments: vec![] });
    let mut page = open(&server).await;
    assert_eq!(next_of(&mut page, "hello").await["protocol"], 1);
    for number in 10..60 {
        let past = next_of(&mut page, "event").await;
        assert_eq!(
            (past["id"].as_u64(), &past["text"]),
            (Some(number + 1), &number.to_string().into())
        );
    }
    next_of(&mut page, "treatments").await;

    server.media(&picture(4, Class::Reference, 10));
    server.media(&picture(5, Class::KeyFrame, 10));
    let Message::Binary(unit) = next(&mut page).await else { panic!("not media") };
    assert_eq!(unit[7], 5, "media starts at a key frame");
    server.event(event("now"));
    assert_eq!(next_of(&mut page, "event").await["id"], 61);
}

#[tokio::test]
async fn after_another_hello_a_page_still_knows_what_happened() {
    let (server, _requests) = start().await;
    let mut page = open(&server).await;
    next_of(&mut page, "hello").await;
    server.event(event("Connected."));
    next_of(&mut page, "event").await;
    server.hello(demo_hello());
    next_of(&mut page, "hello").await;
    assert_eq!(next_of(&mut page, "event").await["text"], "Connected.");
}

#[tokio::test]
async fn a_page_that_comes_later_knows_the_channels_and_what_is_urgent() {
    let (server, _requests) = start().await;
    let mut early = open(&server).await;
    next_of(&mut early, "hello").await;
    server.channels(vec![news()]);
    server.tuned(Tuned { number: 7, state: TunedState::Asked, text: None });
    server.urgent(Urgent { id: 3, level: UrgentLevel::Alarm, text: "Leave the house.".into() });
    server.hello(demo_hello());
    let mut late = open(&server).await;
    assert_eq!(next_of(&mut early, "tuned").await["number"], 7);
    next_of(&mut early, "urgent").await;
    next_of(&mut early, "hello").await;
    assert_eq!(next_of(&mut early, "channels").await["channels"][0]["name"], "News");

    next_of(&mut late, "hello").await;
    assert_eq!(next_of(&mut late, "tuned").await["state"], "asked");
    assert_eq!(next_of(&mut late, "urgent").await["id"], 3);
    assert_eq!(next_of(&mut late, "channels").await["channels"][0]["number"], 7);
    server.end_urgent(None);
    assert_eq!(next_of(&mut late, "over").await["id"], 3);
}

#[tokio::test]
async fn what_has_finished_is_started_again_by_a_page_and_nothing_else_is() {
    let (server, mut requests) = start().await;
    let mut page = open(&server).await;
    next_of(&mut page, "hello").await;
    let restart = || Message::text(r#"{ "type": "restart" }"#);
    page.send(restart()).await.unwrap();
    let refused = next_of(&mut page, "error").await;
    assert_eq!(refused["text"], "Nothing has finished here that could be started again.");

    server.event(event("The link of wifi was cut."));
    server.finished("The demo has ended.".to_owned());
    next_of(&mut page, "event").await;
    assert_eq!(next_of(&mut page, "finished").await["text"], "The demo has ended.");
    let mut later = open(&server).await;
    for kind in ["hello", "event", "finished"] {
        next_of(&mut later, kind).await;
    }
    later.send(restart()).await.unwrap();
    assert_eq!(requests.recv().await.unwrap().request, Request::Restart);

    server.begin_again(demo_hello());
    server.event(event("It begins."));
    for page in [&mut page, &mut later] {
        next_of(page, "hello").await;
        assert_eq!(next_of(page, "event").await["text"], "It begins.", "and none from before");
    }
    page.send(restart()).await.unwrap();
    next_of(&mut page, "error").await;
}

#[tokio::test]
async fn a_page_that_is_loaded_anew_has_not_left() {
    let (server, _requests) = start().await;
    let page = open(&server).await;
    let reload = async {
        drop(page);
        server.hub.pages().wait_for(|pages| *pages == 0).await.unwrap();
        open(&server).await
    };
    let left = server.left(PATIENCE);
    tokio::pin!(left);
    let page = tokio::select! {
        () = &mut left => panic!("a page is open"),
        page = reload => page,
    };
    assert!(timeout(Duration::from_millis(50), &mut left).await.is_err());
    drop(page);
    timeout(PATIENCE, server.left(Duration::ZERO)).await.expect("no page is open");
}

#[tokio::test]
async fn requests_arrive_checked_and_refusals_go_to_who_asked() {
    let (server, mut requests) = start().await;
    let (mut one, mut other) = (open(&server).await, open(&server).await);
    next_of(&mut one, "hello").await;
    next_of(&mut other, "hello").await;
    let set_link = |path: u32| {
        let text = r#"{"type":"set_link","path":PATH,"rate_kbps":5,"delay_ms":1,
            "loss_percent":0,"cut":true,"colour":"of no interest"}"#;
        Message::text(text.replace("PATH", &path.to_string()))
    };
    one.send(set_link(7)).await.unwrap();
    let refused = next_of(&mut one, "error").await;
    assert_eq!(refused["request"], "set_link");
    assert_eq!(refused["text"], "Path 7 does not exist; there are paths 1 and 2.");

    one.send(set_link(2)).await.unwrap();
    let taken = timeout(PATIENCE, requests.recv()).await.unwrap().unwrap();
    let Request::SetLink(set) = &taken.request else { panic!("{taken:?}") };
    assert!(set.path == 2 && set.link.cut);
    server.refuse(&taken, "Not now.".into());
    assert_eq!(next_of(&mut one, "error").await["text"], "Not now.");
    server.event(event("for all"));
    next_of(&mut one, "event").await;
    next_of(&mut other, "event").await;
}

#[tokio::test]
async fn a_page_that_talks_nonsense_is_answered_and_in_the_end_given_up() {
    let (server, _requests) = start().await;
    let mut page = open(&server).await;
    next_of(&mut page, "hello").await;
    for _ in 0..99 {
        page.send(Message::text("{\"type\":17}")).await.unwrap();
        assert!(next_of(&mut page, "error").await["request"].is_null());
    }
    page.send(Message::binary(vec![1, 2, 3])).await.unwrap();
    let Message::Close(Some(frame)) = next(&mut page).await else { panic!("not closed") };
    assert_eq!(frame.code, CloseCode::Policy);
}

#[tokio::test]
async fn a_text_beyond_the_limit_closes_the_socket() {
    let (server, _requests) = start().await;
    let mut page = open(&server).await;
    next_of(&mut page, "hello").await;
    page.send(Message::text(" ".repeat(17 << 10))).await.unwrap();
    let Message::Close(Some(frame)) = next(&mut page).await else { panic!("not closed") };
    assert_eq!(frame.code, CloseCode::Policy);
}

#[tokio::test]
async fn a_page_that_reads_nothing_for_a_while_loses_pictures_and_disturbs_no_other() {
    const PICTURES: u32 = 400;
    let (server, _requests) = start().await;
    let mut idle = open(&server).await;
    let mut page = open(&server).await;
    next_of(&mut page, "hello").await;
    for frame in 0..PICTURES {
        server.media(&picture(frame, Class::KeyFrame, 100_000));
        let Message::Binary(unit) = next(&mut page).await else { panic!("not media") };
        assert_eq!(unit[4..8], frame.to_be_bytes());
    }
    next_of(&mut idle, "hello").await;
    let told = tokio::spawn(end(server, "over"));
    let mut pictures = 0;
    while let Message::Binary(_) = next(&mut idle).await {
        pictures += 1;
    }
    // 4 MiB waited here, and what the kernel holds for both ends of a connection.
    assert!((1..PICTURES / 2).contains(&pictures), "{pictures} pictures");
    drop((idle, page));
    timeout(PATIENCE, told).await.unwrap().unwrap();
}

#[tokio::test]
async fn the_number_of_pages_is_bounded_and_leaving_makes_room() {
    let (server, _requests) = start().await;
    let mut pages = Vec::new();
    for _ in 0..PAGES_MAX {
        pages.push(open(&server).await);
    }
    let Err(Error::Http(answer)) = open_from(&server, &origin(&server)).await else {
        panic!("one too many");
    };
    assert_eq!(answer.status(), 503);
    pages.pop();
    let mut count = server.hub.pages();
    timeout(PATIENCE, count.wait_for(|pages| *pages < PAGES_MAX)).await.unwrap().unwrap();
    open(&server).await;
}

#[tokio::test]
async fn the_end_is_told_and_the_socket_closed_in_order() {
    let (server, _requests) = start().await;
    let mut page = open(&server).await;
    next_of(&mut page, "hello").await;
    let told = tokio::spawn(end(server, "The sender ended the stream."));
    assert_eq!(next_of(&mut page, "ended").await["text"], "The sender ended the stream.");
    let Message::Close(Some(frame)) = next(&mut page).await else { panic!("not closed") };
    assert_eq!(frame.code, CloseCode::Normal);
    while let Some(Ok(_)) = page.next().await {}
    timeout(PATIENCE, told).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let (server, _requests) = start().await;
    let port = origin(&server).rsplit_once(':').unwrap().1.parse().unwrap();
    let error = PageServer::start(port, Clock::start(), demo_hello()).await.unwrap_err();
    assert!(error.to_string().contains(&format!("127.0.0.1:{port}")), "{error}");
    assert!(error.to_string().ends_with("or 0 for any"), "{error}");
}
