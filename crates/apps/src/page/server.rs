//! The web server around the hub: who may ask, the page's files, and the upgrade to its socket.

use std::sync::Arc;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::sync::{mpsc, watch};

use super::guard::{self, Guard};
use super::hub::Hub;
use super::socket::{self, MESSAGE_BYTES_MAX};
use super::{PAGES_MAX, PageError, PageRequest, local};

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
    stop: watch::Receiver<bool>,
) -> Result<String, PageError> {
    let (listener, guard) = local::listen(port).await?;
    let url = guard.url();
    let site = Arc::new(Site { guard, hub, requests, stop: stop.clone() });
    local::serve(listener, Router::new().fallback(answer).with_state(site), stop);
    Ok(url)
}

async fn answer(State(site): State<Arc<Site>>, request: Request) -> Response {
    let mut response = match site.guard.admit(request.headers(), request.uri().path()) {
        Err(refusal) => local::refused(refusal),
        Ok(None) => local::to_directory(request.uri().path()),
        Ok(Some("socket")) => open_socket(&site, request).await,
        Ok(Some(path)) => local::file(request.method(), path),
    };
    response.headers_mut().extend(guard::HEADERS);
    response
}

async fn open_socket(site: &Arc<Site>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    if let Err(refusal) = site.guard.admit_socket(&parts.headers) {
        return local::refused(refusal);
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
