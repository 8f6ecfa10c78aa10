//! What is served by HTTP: the page, and the entrance to each room.

use std::sync::Arc;

use anabranch_rooms::JoinError;
use anabranch_rtc::RestartError;
use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::request::Parts;
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{delete, get, post};
use axum::{Extension, Router};

use super::room_server::{RefusedJoin, RoomServer};
use super::{Links, operator};
use crate::page::guard::bearer;
use crate::site::{
    OriginGuard, Peer, Places, Proxies, accept_status, asset, guarded, not_found, unauthorized,
};

/// An offer of seven data channels has 1 kB.
const OFFER_BYTES_MAX: usize = 64 << 10;

/// The page, as it was built.
const PAGE: &str = "room.html";

const NO_SESSION: &str = "There is no such session; it may have ended already.";

/// What the handlers need.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) rooms: Arc<RoomServer>,
    pub(super) origin_guard: Arc<OriginGuard>,
    pub(super) proxies: Proxies,
    /// Those of connections.
    pub(super) places: Arc<Places>,
    /// Where the rooms are.
    pub(super) links: Links,
}

/// All that is served.
pub(super) fn router(site: Arc<Site>, operator_token: &str) -> Router {
    Router::new()
        .route("/r/{room}", get(page))
        .route("/r/{room}/join", post(join))
        .route("/r/{room}/agent", get(agent_link))
        .route("/sessions/{session}", delete(hang_up))
        .route("/sessions/{session}/restart", post(restart))
        .route("/icon.svg", get(|| async { asset("icon.svg") }))
        .route(
            "/assets/{file}",
            get(|Path(file): Path<String>| async move { asset(&format!("assets/{file}")) }),
        )
        .merge(operator::router(operator_token))
        .fallback(|| async { not_found("There is nothing here: a room is at its own link.") })
        .layer(DefaultBodyLimit::max(OFFER_BYTES_MAX))
        .layer(middleware::from_fn_with_state(site.origin_guard.clone(), guarded))
        .with_state(site)
}

/// The page is the same for each room: whether there is one is for who has its token.
async fn page() -> Response {
    asset(PAGE)
}

/// What `anabranch call` is given by who has this token.
async fn agent_link(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    request: Parts,
) -> Response {
    let token = bearer(&request.headers);
    match (site.rooms.admission(&name, token), token) {
        (Ok(_), Some(token)) => site.links.agent(&name, token).into_response(),
        (Ok(_), None) => unauthorized(&RefusedJoin::WrongToken.to_string()),
        (Err(error), _) => unauthorized(&error.to_string()),
    }
}

async fn join(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    Extension(peer): Extension<Peer>,
    request: Parts,
    offer: String,
) -> Response {
    let from = site.proxies.asker(peer.addr.ip(), &request.headers);
    match site.rooms.accept(&name, bearer(&request.headers), &offer, from) {
        Ok((session, answer)) => {
            let location = format!("/sessions/{session}");
            let headers = [(LOCATION, &*location), (CONTENT_TYPE, "application/sdp")];
            (StatusCode::CREATED, headers, answer).into_response()
        }
        Err(error @ RefusedJoin::WrongToken) => unauthorized(&error.to_string()),
        Err(RefusedJoin::Join(error)) => (status(&error), error.to_string()).into_response(),
    }
}

const fn status(error: &JoinError) -> StatusCode {
    match error {
        JoinError::Offer(error) => accept_status(error),
        JoinError::Crowded { .. } | _ => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// Whose network changed goes on from somewhere else. Nobody else knows the session's name.
async fn restart(
    State(site): State<Arc<Site>>,
    Path(session): Path<String>,
    offer: String,
) -> Response {
    match site.rooms.restart(&session, &offer) {
        None | Some(Err(RestartError::Gone)) => not_found(NO_SESSION),
        Some(Ok(answer)) => ([(CONTENT_TYPE, "application/sdp")], answer).into_response(),
        Some(Err(error)) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

/// Ends a browser's connection; with `?leaves` its member leaves, else it may come back.
async fn hang_up(
    State(site): State<Arc<Site>>,
    Path(session): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    if site.rooms.hang_up(&session, query.as_deref() == Some("leaves")) {
        return StatusCode::NO_CONTENT.into_response();
    }
    not_found(NO_SESSION)
}
