//! What the web servers of pages on this machine have in common: an address that only their guard
//! lets in, files, and an end with the program's.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::PageError;
use super::assets::asset;
use super::guard::{Guard, Refusal};

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
