//! What is served by HTTP: the page, and the door for browsers.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Extension, Router};

use super::station::{OfferRefusal, Station};
use super::{operator, players};
use crate::page::guard;
use crate::site::{
    OriginGuard, Peer, Places, Proxies, accept_status, asset, guarded, not_found, unauthorized,
};

/// An offer of 35 data channels has 1 kB.
const OFFER_BYTES_MAX: usize = 64 << 10;

/// The page, as it was built.
const PAGE: &str = "tv.html";

/// The operator's, as it was built.
const OPERATOR_PAGE: &str = "operator.html";

/// What the handlers need.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) station: Arc<Station>,
    pub(super) origin_guard: Arc<OriginGuard>,
    /// Who speaks for others.
    pub(super) proxies: Proxies,
    /// Those of players.
    pub(super) players: Arc<Places>,
    /// Those of connections.
    pub(super) places: Arc<Places>,
}

/// All that is served.
pub(super) fn router(site: Arc<Site>, operator_token: &str) -> Router {
    Router::new()
        .route("/", get(|| async { asset(PAGE) }))
        .route("/embed/{number}", get(embedded))
        .route("/operator", get(|| async { asset(OPERATOR_PAGE) }))
        .route("/icon.svg", get(|| async { asset("icon.svg") }))
        .route(
            "/assets/{file}",
            get(|Path(file): Path<String>| async move { asset(&format!("assets/{file}")) }),
        )
        .route("/whep", post(accept))
        .route("/whep/{session}", delete(hang_up))
        .merge(players::router())
        .merge(operator::router(operator_token))
        .fallback(|| async { not_found("There is nothing here; the page is at /.") })
        .layer(DefaultBodyLimit::max(OFFER_BYTES_MAX))
        .layer(middleware::from_fn_with_state(site.origin_guard.clone(), guarded))
        .with_state(site)
}

/// The same page, which other sites may show in a frame.
async fn embedded(Path(number): Path<String>) -> Response {
    if number.parse::<u32>().is_err() {
        return not_found("A channel alone is /embed/N, N being its number; / shows them all.");
    }
    let mut response = asset(PAGE);
    let policy = guard::CONTENT_POLICY.replace("frame-ancestors 'none'", "frame-ancestors *");
    if let Ok(policy) = HeaderValue::try_from(policy) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

async fn accept(
    State(site): State<Arc<Site>>,
    Extension(peer): Extension<Peer>,
    request: Parts,
    offer: String,
) -> Response {
    // The hello on the control stream brings the token again, and says what it opens: here, who
    // has a wrong one is told before there is a connection.
    if let Err(error) = site.station.access().check_request(&request) {
        return unauthorized(&error.to_string());
    }
    let from = site.proxies.asker(peer.addr.ip(), &request.headers);
    match site.station.accept(&offer, from) {
        Ok((session, answer)) => {
            let location = format!("/whep/{session}");
            let headers = [(LOCATION, &*location), (CONTENT_TYPE, "application/sdp")];
            (StatusCode::CREATED, headers, answer).into_response()
        }
        Err(error) => (status(&error), error.to_string()).into_response(),
    }
}

const fn status(error: &OfferRefusal) -> StatusCode {
    match error {
        OfferRefusal::AddressGroup { .. } => StatusCode::TOO_MANY_REQUESTS,
        OfferRefusal::Offer(error) => accept_status(error),
    }
}

async fn hang_up(State(site): State<Arc<Site>>, Path(session): Path<String>) -> Response {
    if site.station.hang_up(&session) {
        return StatusCode::NO_CONTENT.into_response();
    }
    not_found("There is no such session; it may have ended already.")
}
