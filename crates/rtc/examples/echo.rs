//! A server on real sockets that sends back what pages say on their data channels, and obeys a few
//! words: what the tests in Chromium talk to.
//!
//! `cargo run -p anabranch-rtc --example echo [HTTP PORT]` prints the address of a page without
//! content; `POST /channels` takes an offer, and `DELETE` of the answer's `Location` ends it.

#![expect(clippy::print_stdout, reason = "a program says where it is found")]

use std::collections::BTreeMap;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anabranch_driver::{Driver, Handle, SocketSet, interface_addresses, unpredictable_rng};
use anabranch_rtc::{
    AcceptError, ChannelOptions, ConnectionId, Event, MessageKind, RtcConfig, Server,
};
use anabranch_sansio::Time;
use anabranch_sctp::{Association, Level, OutgoingMessage, Reliability};
use anabranch_wire::StreamId;
use axum::Router;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{delete, get, post};
use bytes::Bytes;
use tokio::net::TcpListener;

/// Bytes of each message of a burst, as media is cut for browsers.
const BURST_MESSAGE: usize = 16 << 10;

/// Datagrams in one call: as many of 1,200 bytes as the kernel's 64 KiB hold.
const SEGMENTS_MAX: usize = 48;

#[derive(Clone)]
struct App {
    rtc: Handle<Server>,
    /// Connections by their number in `Location`.
    numbers: Arc<Mutex<BTreeMap<u64, ConnectionId>>>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::args().nth(1).map_or(Ok(0), |port| port.parse())?;
    let mut sockets = SocketSet::new();
    let bound = sockets.bind("0.0.0.0:0".parse::<SocketAddr>()?)?;
    let config = RtcConfig {
        candidates: candidates(bound.port())?,
        segments_max: SEGMENTS_MAX,
        ..RtcConfig::default()
    };
    let rtc = Driver::spawn(Server::new(config, unpredictable_rng()?)?, sockets)?;
    tokio::spawn(serve(rtc.clone()));
    let app = App { rtc, numbers: Arc::default() };
    let router = Router::new()
        .route("/", get(|| async { Html("<!doctype html><title>Data channels</title>") }))
        .route("/channels", post(accept))
        .route("/channels/{number}", delete(close))
        .with_state(app)
        .into_make_service_with_connect_info::<SocketAddr>();
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}/", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}

/// Every IPv4 address of this machine, those first that others reach, too.
fn candidates(port: u16) -> Result<Vec<SocketAddr>, Box<dyn Error>> {
    let mut ips: Vec<IpAddr> = interface_addresses()?.iter().map(|found| found.ip).collect();
    ips.retain(IpAddr::is_ipv4);
    ips.sort_by_key(IpAddr::is_loopback);
    Ok(ips.into_iter().map(|ip| SocketAddr::new(ip, port)).collect())
}

async fn accept(
    State(app): State<App>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    offer: String,
) -> Response {
    match app.rtc.with(|server, now| server.accept(now, &offer, from.ip())) {
        Ok((id, answer)) => {
            let mut numbers = app.numbers.lock().expect("no panic while it was held");
            let number = numbers.last_key_value().map_or(0, |(last, _)| last + 1);
            numbers.insert(number, id);
            let location = format!("/channels/{number}");
            let headers =
                [(header::LOCATION, &*location), (header::CONTENT_TYPE, "application/sdp")];
            (StatusCode::CREATED, headers, answer).into_response()
        }
        Err(error) => (status(&error), error.to_string()).into_response(),
    }
}

const fn status(error: &AcceptError) -> StatusCode {
    match error {
        AcceptError::Full { .. } => StatusCode::SERVICE_UNAVAILABLE,
        AcceptError::TooManyHandshakes { .. } => StatusCode::TOO_MANY_REQUESTS,
        AcceptError::Offer(_) | _ => StatusCode::BAD_REQUEST,
    }
}

async fn close(State(app): State<App>, Path(number): Path<u64>) -> StatusCode {
    let id = app.numbers.lock().expect("no panic while it was held").remove(&number);
    let Some(id) = id else { return StatusCode::NOT_FOUND };
    app.rtc.with(|server, now| server.close(now, id));
    StatusCode::NO_CONTENT
}

async fn serve(rtc: Handle<Server>) {
    while let Some((id, event)) = rtc.next_event().await {
        if let Event::Message { kind, message } = event {
            let (stream, payload) = (message.stream, message.payload);
            rtc.with(|server, now| obey(server, now, id, stream, (kind, payload)));
        } else if let Event::Closed { reason } = event {
            println!("{id}: {reason}");
        }
    }
}

/// What a page said is an order, or comes back.
fn obey(
    server: &mut Server,
    now: Time,
    id: ConnectionId,
    stream: StreamId,
    (kind, payload): (MessageKind, Bytes),
) {
    let words = std::str::from_utf8(&payload).ok().filter(|_| kind == MessageKind::Text);
    let answered = match words.map(|words| words.split_once(' ').unwrap_or((words, ""))) {
        Some(("close", _)) => {
            server.close_channel(now, id, stream);
            Ok(())
        }
        Some(("open", label)) => {
            let options = ChannelOptions {
                ordered: false,
                reliability: Reliability::MaxRetransmissions(0),
                ..ChannelOptions::new(label)
            };
            let hello = (MessageKind::Text, Bytes::from_static(b"hello"));
            let opened = server.open_channel(now, id, options);
            opened.and_then(|stream| server.send(now, id, stream, hello, |_| {}))
        }
        Some(("burst", count)) => {
            let count = count.parse().unwrap_or(0);
            (0..count).try_for_each(|number: u8| {
                let piece = (MessageKind::Binary, Bytes::from(vec![number; BURST_MESSAGE]));
                server.send(now, id, stream, piece, live)
            })
        }
        Some(("format", _)) => {
            let association = server.association(id);
            let interleaves = association.is_some_and(Association::interleaves_messages);
            let format = Bytes::from_static(if interleaves { b"I-DATA" } else { b"DATA" });
            server.send(now, id, stream, (MessageKind::Text, format), |_| {})
        }
        Some(("levels", count)) => {
            let association = server.association(id);
            let is_agreed = association.is_some_and(Association::marks_levels);
            let told = Bytes::from(format!("offered: {}, agreed: {is_agreed}", offers_marks()));
            let count = count.parse().unwrap_or(0);
            let sent = (0..count).try_for_each(|number: u8| {
                let piece = (MessageKind::Binary, Bytes::from(vec![number; BURST_MESSAGE]));
                let level = Level::ALL[usize::from(number) % Level::ALL.len()];
                server.send(now, id, stream, piece, |message| message.level = level)
            });
            sent.and_then(|()| server.send(now, id, stream, (MessageKind::Text, told), |_| {}))
        }
        _ => server.send(now, id, stream, (kind, payload), |_| {}),
    };
    if let Err(error) = answered {
        println!("{id}: {error}");
    }
}

/// Whether pages are offered marks of importance.
fn offers_marks() -> bool {
    RtcConfig::default().association.extensions.level_marks
}

/// Out of order, and given up after two seconds.
const fn live(message: &mut OutgoingMessage) {
    message.ordered = false;
    message.reliability = Reliability::Lifetime(Duration::from_secs(2));
}
