//! What players other than ours are served: a list of the channels, and each as it comes.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anabranch_television::address_group;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HOST, RETRY_AFTER};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use tokio::time::{Instant, timeout_at};

use super::access::{Ticket, token_of};
use super::config::{ChannelAccess, ChannelConfig};
use super::http::Site;
use super::playlist::{self, Entry};
use super::relay::Obstacle;
use crate::site::{NoPlace, Peer, Place, not_found, unauthorized};

/// A stream without a token ends with its reader: nobody reads for a year.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);

/// A source that is lost is tried again about so often.
const OFF_AIR_SECONDS: &str = "5";

pub(super) fn router() -> Router<Arc<Site>> {
    Router::new().route("/playlist.m3u", get(list)).route("/ch/{file}", get(stream))
}

/// The channels that are open to all, and those of the token.
async fn list(
    State(site): State<Arc<Site>>,
    Extension(peer): Extension<Peer>,
    request: Parts,
) -> Response {
    let ticket = match site.station.access().check_request(&request) {
        Ok(ticket) => ticket,
        Err(error) => return unauthorized(&error.to_string()),
    };
    let host = request.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let scheme = site.proxies.scheme(peer.addr.ip(), peer.scheme, &request.headers);
    let channels = site.station.relays();
    let watched = channels.iter().filter(|(channel, _)| may_watch(ticket.as_ref(), channel));
    let entries = watched.map(|(channel, relay)| Entry {
        channel,
        is_stream: relay.obstacle() != Some(Obstacle::NoStream),
    });
    let token = ticket.as_ref().and_then(|_| token_of(&request));
    let text = playlist::write(entries, &format!("{scheme}://{host}"), token.as_deref());
    ([(CONTENT_TYPE, "audio/x-mpegurl; charset=utf-8")], text).into_response()
}

fn may_watch(ticket: Option<&Ticket>, channel: &ChannelConfig) -> bool {
    channel.access == ChannelAccess::Open
        || ticket.is_some_and(|ticket| ticket.includes(channel.number))
}

/// The transport stream of a channel from its last key frame on, for as long as someone reads and
/// may.
async fn stream(
    State(site): State<Arc<Site>>,
    Path(file): Path<String>,
    Extension(peer): Extension<Peer>,
    request: Parts,
) -> Response {
    let number = file.strip_suffix(".ts").and_then(|number| number.parse::<u32>().ok());
    let Some(number) = number else {
        return not_found("A stream is /ch/N.ts, N being the number of a channel.");
    };
    let channels = site.station.relays();
    let Some((config, relay)) = channels.into_iter().find(|(config, _)| config.number == number)
    else {
        return not_found("There is no channel of this number; /playlist.m3u lists them.");
    };
    let until = match admit(&site, &request, &config) {
        Ok(until) => until,
        Err(refused) => return *refused,
    };
    match relay.obstacle() {
        Some(Obstacle::NoStream) => {
            return not_found("This channel is no transport stream: watch it on the page, at /.");
        }
        Some(Obstacle::OffAir(reason)) => return off_air(reason),
        None => {}
    }
    let from = site.proxies.asker(peer.addr.ip(), &request.headers);
    let place = match place(&site, from) {
        Ok(place) => place,
        Err(none) => return full(none),
    };
    let player = (relay.reader(), relay, place);
    let chunks =
        futures_util::stream::unfold(player, move |(mut reader, relay, place)| async move {
            let bytes = timeout_at(until, relay.read(&mut reader)).await.ok()??;
            Some((Ok::<_, std::convert::Infallible>(bytes), (reader, relay, place)))
        });
    ([(CONTENT_TYPE, "video/mp2t")], Body::from_stream(chunks)).into_response()
}

/// Nobody knows for how long.
fn off_air(reason: &str) -> Response {
    let text = format!("This channel is off air: {reason}.");
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, OFF_AIR_SECONDS)], text).into_response()
}

/// Who is on this machine, or behind a proxy that does not say for whom it asks, is many.
fn place(site: &Site, from: IpAddr) -> Result<Place, NoPlace> {
    let is_many = from.is_loopback() || site.proxies.trusts(from);
    site.players.take(address_group(from), is_many)
}

fn full(none: NoPlace) -> Response {
    match none {
        NoPlace::Full { limit } => {
            let text = format!("The server has {limit} players, which is its limit.");
            (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
        }
        NoPlace::FullFor { limit } => {
            let text = format!("Your address has {limit} players, which is the limit.");
            (StatusCode::TOO_MANY_REQUESTS, text).into_response()
        }
    }
}

/// Until when a channel may be read.
fn admit(site: &Site, request: &Parts, channel: &ChannelConfig) -> Result<Instant, Box<Response>> {
    let refused = |text: &str| Box::new(unauthorized(text));
    let ticket = site.station.access().check_request(request);
    let ticket = ticket.map_err(|error| refused(&error.to_string()))?;
    if channel.access == ChannelAccess::Open {
        return Ok(Instant::now() + YEAR);
    }
    let Some(ticket) = ticket else {
        let number = channel.number;
        return Err(refused(&format!("This channel needs a token: /ch/{number}.ts?token=TOKEN")));
    };
    if !ticket.includes(channel.number) {
        let text = format!("This token of {} is for other channels.", ticket.who);
        return Err(Box::new((StatusCode::FORBIDDEN, text).into_response()));
    }
    Ok(Instant::now() + ticket.left().min(YEAR))
}
