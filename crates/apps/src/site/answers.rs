//! Answers that all servers of pages give.

use std::sync::Arc;

use anabranch_rtc::AcceptError;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::OriginGuard;
use crate::page::{assets, guard};

/// A file of the pages, as they were built.
pub(crate) fn asset(path: &str) -> Response {
    match assets::asset(path) {
        Some(asset) => ([(CONTENT_TYPE, asset.content_type)], asset.bytes).into_response(),
        None => not_found("There is no such file."),
    }
}

pub(crate) fn not_found(text: &'static str) -> Response {
    (StatusCode::NOT_FOUND, text).into_response()
}

/// Something was done to what was there; if it was not, says what is not.
pub(crate) fn done(was_there: bool, otherwise: &'static str) -> Response {
    if was_there { StatusCode::NO_CONTENT.into_response() } else { not_found(otherwise) }
}

/// A token is missing, or is none of ours.
pub(crate) fn unauthorized(text: &str) -> Response {
    (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], text.to_owned()).into_response()
}

/// Why a browser's offer is not answered.
pub(crate) const fn accept_status(error: &AcceptError) -> StatusCode {
    match error {
        AcceptError::Full { .. } => StatusCode::SERVICE_UNAVAILABLE,
        AcceptError::TooManyHandshakes { .. } => StatusCode::TOO_MANY_REQUESTS,
        AcceptError::Offer(_) | _ => StatusCode::BAD_REQUEST,
    }
}

/// Answers those alone that the guard lets pass, and says in each answer what its page may load.
pub(crate) async fn guarded(
    State(origin_guard): State<Arc<OriginGuard>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match origin_guard.admit(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => (StatusCode::FORBIDDEN, refusal.to_string()).into_response(),
    };
    for (name, value) in guard::HEADERS {
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}
