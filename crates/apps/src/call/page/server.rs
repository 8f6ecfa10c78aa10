//! The web server of a call's page: its files, and one socket.

use std::sync::Arc;

use axum::Router;
use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::{mpsc, watch};

use super::protocol::{MEDIA_LEN_MAX, ToPage, read_block, read_media};
use super::{Brought, Shared, Waiting};
use crate::page::guard::{self, Guard};
use crate::page::{PageError, local};

/// The page among the program's.
const PAGE: &str = "call.html";

/// The longest text of a page.
const TEXT_LEN_MAX: usize = 16 << 10;

/// The longest message that is read at all.
const MESSAGE_LEN_MAX: usize = MEDIA_LEN_MAX + 4_096;

/// Messages of a page that break the protocol, after which it is given up.
const BREACHES_MAX: u32 = 100;

/// How a second tab is told that the call is elsewhere.
const TAKEN: u16 = 4_000;

#[derive(Debug)]
struct Site {
    guard: Guard,
    shared: Arc<Shared>,
    requests: mpsc::Sender<Brought>,
    stop: watch::Receiver<bool>,
}

/// Starts to serve; returns the page's URL.
pub(super) async fn start(
    port: u16,
    shared: Arc<Shared>,
    requests: mpsc::Sender<Brought>,
    stop: watch::Receiver<bool>,
) -> Result<String, PageError> {
    let (listener, guard) = local::listen(port).await?;
    let url = guard.url();
    let site = Arc::new(Site { guard, shared, requests, stop: stop.clone() });
    local::serve(listener, Router::new().fallback(answer).with_state(site), stop);
    Ok(url)
}

async fn answer(State(site): State<Arc<Site>>, request: Request) -> Response {
    let mut response = match site.guard.admit(request.headers(), request.uri().path()) {
        Err(refusal) => local::refused(refusal),
        Ok(None) => local::to_directory(request.uri().path()),
        Ok(Some("socket")) => open_socket(&site, request).await,
        Ok(Some("")) => local::file(request.method(), PAGE),
        Ok(Some(path)) => local::file(request.method(), path),
    };
    response.headers_mut().extend(guard::HEADERS);
    response
}

async fn open_socket(site: &Arc<Site>, request: Request) -> Response {
    let serving = Arc::clone(site);
    let serve = |socket| serve(socket, serving);
    local::open_socket(&site.guard, request, MESSAGE_LEN_MAX, serve).await
}

/// Serves a tab until it leaves, misbehaves, or the program ends.
async fn serve(mut socket: WebSocket, site: Arc<Site>) {
    let Some(mut waiting) = site.shared.join() else {
        let text = "The call is open in another tab or window of this machine.".to_owned();
        let taken = serde_json::to_string(&ToPage::Taken { text }).unwrap_or_default();
        let _gone = socket.send(Message::Text(taken.into())).await;
        let frame = CloseFrame { code: TAKEN, reason: "the call is open elsewhere".into() };
        let _gone = socket.send(Message::Close(Some(frame))).await;
        return;
    };
    let mut stop = site.stop.clone();
    let _ends = site.requests.send(Brought::Opened).await;
    let (mut sink, mut stream) = socket.split();
    let close = tokio::select! {
        () = write(&mut sink, &mut waiting) => Some((close_code::NORMAL, "the program has ended")),
        close = read(&mut stream, &site) => close,
        _ = stop.wait_for(|stop| *stop) => None,
    };
    if let Some((code, reason)) = close {
        local::close_socket(&mut sink, &mut stream, code, reason.to_owned()).await;
    }
    let _ends = site.requests.send(Brought::Closed).await;
    // Only now may another tab come: it is opened after this one is closed.
    drop(waiting);
}

async fn write(sink: &mut SplitSink<WebSocket, Message>, waiting: &mut mpsc::Receiver<Waiting>) {
    while let Some(next) = waiting.recv().await {
        let message = match next {
            Waiting::Text(text) => Message::Text(text.into()),
            Waiting::Media(bytes) => Message::Binary(bytes),
        };
        if sink.send(message).await.is_err() {
            return;
        }
    }
}

/// Reads what a page brings; answers with how its socket is to be closed, if it is.
async fn read(stream: &mut SplitStream<WebSocket>, site: &Site) -> Option<(u16, &'static str)> {
    let mut breaches = 0;
    while let Some(Ok(message)) = stream.next().await {
        let brought = match message {
            Message::Text(text) => request(&text),
            Message::Binary(bytes) => media(&bytes),
            Message::Ping(_) | Message::Pong(_) => continue,
            Message::Close(_) => return None,
        };
        match brought {
            // If nobody takes it any more, the program is about to end.
            Ok(brought) => _ = site.requests.send(brought).await,
            Err(text) => {
                site.shared.refuse(None, &text);
                breaches += 1;
            }
        }
        if breaches >= BREACHES_MAX {
            return Some((close_code::POLICY, "the page broke the protocol"));
        }
    }
    None
}

fn request(text: &str) -> Result<Brought, String> {
    if text.len() > TEXT_LEN_MAX {
        return Err(format!(
            "A text has at most {TEXT_LEN_MAX} bytes, and this has {}.",
            text.len()
        ));
    }
    match serde_json::from_str(text) {
        Ok(request) => Ok(Brought::Request(request)),
        Err(error) => Err(format!("This is no request of a call's page: {error}.")),
    }
}

fn media(bytes: &Bytes) -> Result<Brought, String> {
    if bytes.len() > MEDIA_LEN_MAX {
        return Err(format!(
            "Media has at most {MEDIA_LEN_MAX} bytes, and this has {}.",
            bytes.len()
        ));
    }
    if let Some(block) = read_block(bytes) {
        return Ok(Brought::Block(block));
    }
    read_media(bytes).map(Brought::Media).map_err(str::to_owned)
}
