//! What the web servers of pages on this machine have in common: an address that only their guard
//! lets in, files, and an end with the program's.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{FromRequestParts as _, Request};
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;

use super::PageError;
use super::assets::asset;
use super::guard::{Guard, Refusal};

/// How long a page may take to be told why its socket is closed.
const FAREWELL: Duration = Duration::from_millis(500);

/// How long it may take to close its end after that.
const LINGER: Duration = Duration::from_secs(2);

/// Takes a port of this machine's own address, 0 for any; with it comes who may ask there.
pub(crate) async fn listen(port: u16) -> Result<(TcpListener, Guard), PageError> {
    let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let bind = |source| PageError::Bind { addr, source };
    let listener = TcpListener::bind(addr).await.map_err(bind)?;
    let guard = Guard::new(listener.local_addr().map_err(bind)?).map_err(PageError::Random)?;
    Ok((listener, guard))
}

/// Serves until the program stops.
pub(crate) fn serve(listener: TcpListener, router: Router, mut stop: watch::Receiver<bool>) {
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "media may be sent a little later");
        }
    });
    let stopped = async move {
        // An error means that whoever could stop the server is gone: that is a stop, too.
        let _stopped = stop.wait_for(|stop| *stop).await;
    };
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stopped).await {
            tracing::error!(%error, "the page is no longer served");
        }
    });
}

/// Opens the socket of the page, with messages of at most so many bytes; who else asks is refused.
pub(crate) async fn open_socket<F>(
    guard: &Guard,
    request: Request,
    message_len_max: usize,
    serve: impl FnOnce(WebSocket) -> F + Send + 'static,
) -> Response
where
    F: Future<Output = ()> + Send + 'static,
{
    let (mut parts, _) = request.into_parts();
    if let Err(refusal) = guard.admit_socket(&parts.headers) {
        return refused(refusal);
    }
    match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade
            .max_message_size(message_len_max)
            .max_frame_size(message_len_max)
            .on_upgrade(serve),
        Err(no_upgrade) => no_upgrade.into_response(),
    }
}

/// Closes a socket, whose other end learns why if it listens.
pub(crate) async fn close_socket(
    sink: &mut SplitSink<WebSocket, Message>,
    stream: &mut SplitStream<WebSocket>,
    code: u16,
    reason: String,
) {
    let frame = CloseFrame { code, reason: reason.into() };
    // Who reads nothing any more learns it from the connection's end.
    let _in_time = timeout(FAREWELL, sink.send(Message::Close(Some(frame)))).await;
    // Closed with something unread, the connection is reset: a page that sends camera and
    // microphone then loses the last words that it has not read yet.
    let rest = async { while let Some(Ok(_)) = stream.next().await {} };
    let _in_time = timeout(LINGER, rest).await;
}

pub(crate) fn refused(refusal: Refusal) -> Response {
    (refusal.status(), refusal.to_string()).into_response()
}

/// The page's links are relative to the slash.
pub(crate) fn to_directory(path: &str) -> Response {
    (StatusCode::PERMANENT_REDIRECT, [(LOCATION, format!("{path}/"))]).into_response()
}

/// One of the files that are built into the program.
pub(crate) fn file(method: &Method, path: &str) -> Response {
    if *method != Method::GET && *method != Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    match asset(path) {
        Some(asset) => ([(CONTENT_TYPE, asset.content_type)], asset.bytes).into_response(),
        None => refused(Refusal::WrongToken),
    }
}
