//! One page's socket: what waits for it goes out, what it asks comes in.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::PageRequest;
use super::check::{self, RequestError};
use super::hub::Member;
use super::queue::{Farewell, Outgoing};

/// Longest text of a page, in bytes.
const REQUEST_BYTES_MAX: usize = 16 << 10;

/// Longest message that is read at all, to answer it in words.
pub(super) const MESSAGE_BYTES_MAX: usize = 4 * REQUEST_BYTES_MAX;

/// Messages of a page that break the protocol, after which it is given up.
const BREACHES_MAX: u32 = 100;

/// How long a page may take for the last word.
const LINGER: Duration = Duration::from_secs(1);

/// How a page's visit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// We said the last word, or the page left while we spoke.
    SaidAll,
    /// The page left.
    Gone,
    /// The page broke the protocol too often, or in earnest.
    Misbehaved,
}

/// Serves one page until it leaves, misbehaves, the stream ends or `stop` is set.
pub(super) async fn serve(
    socket: WebSocket,
    page: Member,
    requests: mpsc::Sender<PageRequest>,
    mut stop: watch::Receiver<bool>,
) {
    tracing::debug!(page = page.id().0, "page connected");
    let (sink, mut stream) = socket.split();
    let mut writer = std::pin::pin!(write(sink, &page));
    let end = tokio::select! {
        () = &mut writer => End::SaidAll,
        end = read(&mut stream, &page, &requests) => end,
        () = stopped(&mut stop) => return,
    };
    if end == End::Misbehaved {
        page.give_up(Farewell::Misbehaved);
        // A page that does not read its last word either is left alone with it.
        let _in_time = timeout(LINGER, writer).await;
    }
    // The page's own close frame, or what it said before it read ours.
    let rest = async { while let Some(Ok(_)) = stream.next().await {} };
    let _in_time = timeout(LINGER, rest).await;
    tracing::debug!(page = page.id().0, "page disconnected");
}

/// Sends what waits for the page until the last word or an error, which the reader sees, too.
async fn write(mut sink: SplitSink<WebSocket, Message>, page: &Member) {
    loop {
        let message = match page.next().await {
            Outgoing::Text(text) => Message::Text(text.into()),
            Outgoing::Media(bytes) => Message::Binary(bytes),
            Outgoing::Close(why) => {
                let _gone_already = sink.send(Message::Close(Some(close_frame(&why)))).await;
                return;
            }
        };
        if sink.send(message).await.is_err() {
            return;
        }
    }
}

fn close_frame(why: &Farewell) -> CloseFrame {
    let (code, reason) = match why {
        Farewell::Ended => (close_code::NORMAL, "the stream ended"),
        Farewell::TooSlow => (close_code::AGAIN, "the page takes nothing"),
        Farewell::Misbehaved => (close_code::POLICY, "the page broke the protocol"),
    };
    CloseFrame { code, reason: reason.into() }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that whoever could stop us is gone: that is a stop, too.
    let _stopped = stop.wait_for(|stop| *stop).await;
}

async fn read(
    stream: &mut SplitStream<WebSocket>,
    page: &Member,
    requests: &mpsc::Sender<PageRequest>,
) -> End {
    let mut breaches = 0;
    while let Some(Ok(message)) = stream.next().await {
        let text = match message {
            Message::Text(text) if text.len() > REQUEST_BYTES_MAX => return End::Misbehaved,
            Message::Text(text) => Some(text),
            Message::Binary(_) => None,
            Message::Ping(_) | Message::Pong(_) => continue,
            Message::Close(_) => return End::Gone,
        };
        let (kind, error) = match take(text.as_deref(), page, requests).await {
            Ok(()) => continue,
            Err(refused) => refused,
        };
        page.hub().refuse(page.id(), kind, error.to_string());
        breaches += u32::from(error.is_breach());
        if breaches >= BREACHES_MAX {
            return End::Misbehaved;
        }
    }
    End::Gone
}

/// Hands a request on. One that is refused comes back with its type.
async fn take(
    text: Option<&str>,
    page: &Member,
    requests: &mpsc::Sender<PageRequest>,
) -> Result<(), (Option<String>, RequestError)> {
    let Some(text) = text else { return Err((None, RequestError::Binary)) };
    let request = check::parse(text)?;
    let kind = check::type_of(&request);
    page.hub().check(&request).map_err(|error| (Some(kind.to_owned()), error))?;
    // If nobody takes requests any more, the program is about to end.
    let _ends = requests.send(PageRequest { page: page.id(), request }).await;
    Ok(())
}
