//! The web server around the hub: who may ask, the page's files, and the upgrade to its socket.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use super::assets::asset;
use super::guard::{self, Guard, Refusal};
use super::hub::Hub;
use super::socket::{self, MESSAGE_BYTES_MAX};
use super::{PAGES_MAX, PageError, PageRequest};

/// What the handler needs.
#[derive(Debug)]
struct Site {
    guard: Guard,
    hub: Arc<Hub>,
    requests: mpsc::Sender<PageRequest>,
    stop: watch::Receiver<bool>,
}

/// Starts to serve; returns the page's URL.
pub(super) async fn start(
    port: u16,
    hub: Arc<Hub>,
    requests: mpsc::Sender<PageRequest>,
    mut stop: watch::Receiver<bool>,
) -> Result<String, PageError> {
    let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener =
        TcpListener::bind(addr).await.map_err(|source| PageError::Bind { addr, source })?;
    let listen = listener.local_addr().map_err(|source| PageError::Bind { addr, source })?;
    let guard = Guard::new(listen).map_err(PageError::Random)?;
    let url = guard.url();

    let site = Arc::new(Site { guard, hub, requests, stop: stop.clone() });
    let router = Router::new().fallback(answer).with_state(site);
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
    Ok(url)
}

async fn answer(State(site): State<Arc<Site>>, request: Request) -> Response {
    let mut response = match site.guard.admit(request.headers(), request.uri().path()) {
        Err(refusal) => refused(refusal),
        Ok(None) => to_directory(request.uri().path()),
        Ok(Some("socket")) => open_socket(&site, request).await,
        Ok(Some(path)) => file(request.method(), path),
    };
    response.headers_mut().extend(guard::HEADERS);
    response
}

fn refused(refusal: Refusal) -> Response {
    (refusal.status(), refusal.to_string()).into_response()
}

/// The page's links are relative to the slash.
fn to_directory(path: &str) -> Response {
    (StatusCode::PERMANENT_REDIRECT, [(LOCATION, format!("{path}/"))]).into_response()
}

fn file(method: &Method, path: &str) -> Response {
    if *method != Method::GET && *method != Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    match asset(path) {
        Some(asset) => ([(CONTENT_TYPE, asset.content_type)], asset.bytes).into_response(),
        None => refused(Refusal::WrongToken),
    }
}

async fn open_socket(site: &Arc<Site>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    if let Err(refusal) = site.guard.admit_socket(&parts.headers) {
        return refused(refusal);
    }
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade,
        Err(no_upgrade) => return no_upgrade.into_response(),
    };
    let Some(member) = site.hub.join() else {
        let text = format!("{PAGES_MAX} pages are open already: close one.");
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    };
    let (requests, stop) = (site.requests.clone(), site.stop.clone());
    upgrade
        .max_message_size(MESSAGE_BYTES_MAX)
        .max_frame_size(MESSAGE_BYTES_MAX)
        .on_upgrade(move |socket| socket::serve(socket, member, requests, stop))
}
