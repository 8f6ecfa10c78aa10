//! [`RoomPage`]: a room's page, on this machine and for it, in one tab at a time.
//!
//! What passes its socket is what passes between a page and a room: texts, and binary messages
//! behind a byte that names their stream. What is between the page and the agent alone has types of
//! its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anabranch_call::PathUse;
use anabranch_rooms::Said;
use anabranch_rooms::protocol::{FILES_STREAM, PIECE_LEN_MAX};
use anabranch_session::CONTROL_LEN_MAX;
use anabranch_session::treatment::MediaClass;
use axum::Router;
use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};

use super::super::page::protocol::PathInfo;
use super::Brought;
use crate::page::guard::{self, Guard};
use crate::page::{PageError, local};

/// The page among the program's.
const PAGE: &str = "member.html";

/// The longest message that is read at all.
const MESSAGE_LEN_MAX: usize =
    1 + if PIECE_LEN_MAX > CONTROL_LEN_MAX { PIECE_LEN_MAX } else { CONTROL_LEN_MAX };

/// What the page brings, and the agent has not taken; a page that brings more waits itself.
const BROUGHT_MAX: usize = 256;

/// Messages that wait for a page; one that leaves so many waiting is given up.
const WAITING_MAX: usize = 2_048;

/// Of these places, pictures leave so many free, for voice and words.
const FREE_MIN: usize = 1_024;

/// How a second tab is told that the room is elsewhere.
const TAKEN: u16 = 4_000;

/// How a page says that it begins anew, and is to stay the same member.
const AGAIN: u16 = 4_001;

/// How a page is told that its visit is over.
const OVER: u16 = 4_002;

/// Bytes of why a socket is closed (RFC 6455 section 5.5: 125, two of them for the code).
const REASON_LEN_MAX: usize = 123;

/// What a page asks of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum AgentRequest {
    PathUse { path: u32, r#use: PathUse },
    Primary { path: u32 },
    Leave { path: u32 },
    VoiceTwice { on: bool },
}

/// What the agent tells a page.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ToPage {
    /// How the networks stand.
    Networks {
        /// Each of them.
        paths: Vec<PathInfo>,
        /// Whether voice takes two paths while there are two.
        twice: bool,
        /// Whether they lead to the only other member, an agent, and not to the room.
        direct: bool,
        /// What the association carries, once it is known.
        carries_kbps: Option<f64>,
        /// Our pictures that our networks did not take.
        left_out: u64,
    },
    /// Something happened to a network, or a request could not be met.
    NetworkEvent {
        /// `info`, `good`, `warning` or `bad`.
        severity: String,
        /// A sentence.
        text: String,
    },
}

/// Serves the page of a room until it is dropped.
#[derive(Debug)]
pub struct RoomPage {
    url: String,
    tab: Arc<Mutex<Option<Tab>>>,
    brought: mpsc::Receiver<Brought>,
    stop: watch::Sender<bool>,
}

/// The page that has the room.
#[derive(Debug)]
struct Tab {
    waiting: mpsc::Sender<Message>,
}

#[derive(Debug)]
struct Site {
    guard: Guard,
    tab: Arc<Mutex<Option<Tab>>>,
    brought: mpsc::Sender<Brought>,
    stop: watch::Receiver<bool>,
}

impl RoomPage {
    /// Starts to serve at 127.0.0.1 and `port`, any free one if it is 0. Must be called within a
    /// tokio runtime.
    ///
    /// # Errors
    /// The port cannot be had.
    pub async fn start(port: u16) -> Result<Self, PageError> {
        let (listener, guard) = local::listen(port).await?;
        let (sender, brought) = mpsc::channel(BROUGHT_MAX);
        let (tab, stop) = (Arc::default(), watch::Sender::new(false));
        let url = guard.url();
        let site = Site { guard, tab: Arc::clone(&tab), brought: sender, stop: stop.subscribe() };
        let router = Router::new().fallback(answer).with_state(Arc::new(site));
        local::serve(listener, router, stop.subscribe());
        Ok(Self { url, tab, brought, stop })
    }

    /// Where the page is: `http://127.0.0.1:PORT/TOKEN/`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The next thing that the page brings.
    pub(super) async fn brought(&mut self) -> Option<Brought> {
        self.brought.recv().await
    }

    /// Hands on what the room says. Pictures that a page does not take are lost, as on a network;
    /// it asks for a key picture then.
    pub(super) fn hand_on(&self, said: &Said) {
        let message = if said.is_text {
            Message::Text(String::from_utf8_lossy(&said.payload).into_owned().into())
        } else {
            let mut bytes = BytesMut::with_capacity(1 + said.payload.len());
            // There are eight streams.
            bytes.put_u8(said.stream as u8);
            bytes.put_slice(&said.payload);
            Message::Binary(bytes.freeze())
        };
        let is_picture = !said.is_text
            && said.stream != MediaClass::Audio.stream().0
            && said.stream != FILES_STREAM;
        self.send(message, is_picture);
    }

    /// Tells the page something of the agent's own.
    pub(super) fn tell(&self, message: &ToPage) {
        let text = serde_json::to_string(message).unwrap_or_default();
        self.send(Message::Text(text.into()), true);
    }

    /// The visit is over; `why` is a sentence.
    pub(super) fn end(&self, why: &str) {
        let reason = cut(why, REASON_LEN_MAX).to_owned();
        let frame = CloseFrame { code: OVER, reason: reason.into() };
        self.send(Message::Close(Some(frame)), false);
        // Its socket is closed when all that waits for it is sent.
        drop(lock(&self.tab).take());
    }

    fn send(&self, message: Message, can_be_lost: bool) {
        let mut tab = lock(&self.tab);
        let Some(Tab { waiting }) = &*tab else { return };
        if can_be_lost && waiting.capacity() < FREE_MIN {
            return;
        }
        if waiting.try_send(message).is_err() {
            // It reads nothing: it is to begin anew.
            drop(tab.take());
        }
    }
}

impl Drop for RoomPage {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

fn lock(tab: &Mutex<Option<Tab>>) -> MutexGuard<'_, Option<Tab>> {
    // Nothing is half done where a thread could fail.
    tab.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(State(site): State<Arc<Site>>, request: Request) -> Response {
    let mut response = match site.guard.admit(request.headers(), request.uri().path()) {
        Err(refusal) => local::refused(refusal),
        Ok(None) => local::to_directory(request.uri().path()),
        Ok(Some("socket")) => {
            let serving = Arc::clone(&site);
            let serve = |socket| serve(socket, serving);
            local::open_socket(&site.guard, request, MESSAGE_LEN_MAX, serve).await
        }
        Ok(Some("")) => local::file(request.method(), PAGE),
        Ok(Some(path)) => local::file(request.method(), path),
    };
    response.headers_mut().extend(guard::HEADERS);
    response
}

/// Serves a tab until it leaves, misbehaves, or the visit is over.
async fn serve(socket: WebSocket, site: Arc<Site>) {
    let (mut sink, mut stream) = socket.split();
    let Some(mut waiting) = join(&site) else {
        let text = "The room is open in another tab or window of this machine.".to_owned();
        return local::close_socket(&mut sink, &mut stream, TAKEN, text).await;
    };
    let mut stop = site.stop.clone();
    let _ends = site.brought.send(Brought::Opened).await;
    let mut again = false;
    let close = tokio::select! {
        () = write(&mut sink, &mut waiting) => Some((OVER, String::new())),
        read = read(&mut stream, &site) => match read {
            Read::Gone { again: it } => {
                again = it;
                None
            }
            Read::Breach(text) => Some((close_code::POLICY, text)),
        },
        _ = stop.wait_for(|stop| *stop) => Some((OVER, "The program has ended.".to_owned())),
    };
    if let Some((code, reason)) = close {
        local::close_socket(&mut sink, &mut stream, code, reason).await;
    }
    let _ends = site.brought.send(Brought::Closed { again }).await;
    // Only now may another tab come: it is opened after this one is closed.
    drop(waiting);
}

/// Gives the room to a tab; none if another one has it.
fn join(site: &Site) -> Option<mpsc::Receiver<Message>> {
    let mut tab = lock(&site.tab);
    if tab.as_ref().is_some_and(|tab| !tab.waiting.is_closed()) {
        return None;
    }
    let (waiting, receiver) = mpsc::channel(WAITING_MAX);
    *tab = Some(Tab { waiting });
    Some(receiver)
}

async fn write(sink: &mut SplitSink<WebSocket, Message>, waiting: &mut mpsc::Receiver<Message>) {
    while let Some(message) = waiting.recv().await {
        if sink.send(message).await.is_err() {
            return;
        }
    }
}

/// How the reading of a tab ended.
enum Read {
    /// The page went.
    Gone { again: bool },
    /// It broke the protocol.
    Breach(String),
}

async fn read(stream: &mut SplitStream<WebSocket>, site: &Site) -> Read {
    while let Some(Ok(message)) = stream.next().await {
        let brought = match message {
            Message::Text(text) => from_text(text.as_str()),
            Message::Binary(bytes) => from_bytes(&bytes),
            Message::Ping(_) | Message::Pong(_) => continue,
            Message::Close(frame) => {
                let again = frame.is_some_and(|frame| frame.code == AGAIN);
                return Read::Gone { again };
            }
        };
        match brought {
            // If nobody takes it any more, the program is about to end.
            Some(brought) => _ = site.brought.send(brought).await,
            None => return Read::Breach("A binary message begins with its stream.".to_owned()),
        }
    }
    Read::Gone { again: false }
}

/// What the agent does not know is for the room.
fn from_text(text: &str) -> Option<Brought> {
    if let Ok(request) = serde_json::from_str(text) {
        return Some(Brought::Request(request));
    }
    let payload = Bytes::copy_from_slice(text.as_bytes());
    let stream = MediaClass::Control.stream().0;
    Some(Brought::Said(Said { stream, is_text: true, payload }))
}

fn from_bytes(bytes: &Bytes) -> Option<Brought> {
    let stream = u16::from(*bytes.first()?);
    Some(Brought::Said(Said { stream, is_text: false, payload: bytes.slice(1..) }))
}

/// As much of a text as fits.
fn cut(text: &str, len_max: usize) -> &str {
    let fits = |at: &usize| *at <= len_max;
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    &text[..ends.take_while(fits).last().unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_the_agent_is_told_from_what_is_for_the_room() {
        let request = from_text(r#"{"type":"path_use","path":2,"use":"spare"}"#);
        let Some(Brought::Request(request)) = request else { panic!("no request") };
        assert_eq!(request, AgentRequest::PathUse { path: 2, r#use: PathUse::Spare });
        let Some(Brought::Said(said)) = from_text(r#"{"type":"bye"}"#) else { panic!("not said") };
        assert!(said.is_text && said.stream == 0 && &said.payload[..] == br#"{"type":"bye"}"#);
        let said = from_bytes(&Bytes::from_static(&[3, 7, 8]));
        let Some(Brought::Said(said)) = said else { panic!("not said") };
        assert!(!said.is_text && said.stream == 3 && said.payload[..] == [7, 8]);
        assert!(from_bytes(&Bytes::new()).is_none());
    }

    #[test]
    fn a_reason_is_cut_where_a_character_ends() {
        assert_eq!(cut("abc", 5), "abc");
        assert_eq!(cut("aäb", 2), "a");
        assert_eq!(cut("", 2), "");
    }
}
