//! The operator's interface: who watches, urgent messages, channels that come and go.
//! `openapi.json` beside this file describes it.

use std::collections::BTreeMap;
use std::path::Path as FilePath;
use std::sync::Arc;

use anabranch_sansio::Time;
use anabranch_television::channel::{Channel, ChannelId};
use anabranch_television::protocol::{ChannelEntry, UrgentLevel};
use anabranch_television::{Carrier, Server, Television, UrgentReport, ViewerReport};
use anabranch_transport::{ConnectionStats, PathReport};
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};

use super::config::ChannelText;
use super::http::Site;
use super::metrics::metrics;
use crate::site::{done, not_found, operators};

/// What describes the interface.
const DESCRIPTION: &str = include_str!("openapi.json");

const NO_CHANNEL: &str = "There is no channel of this number.";

/// All that needs the operator's token, and what describes it.
pub(super) fn router(token: &str) -> Router<Arc<Site>> {
    let guarded = Router::new()
        .route("/api/viewers", get(viewers))
        .route("/api/channels", get(channels).post(add))
        .route("/api/channels/{number}", delete(remove))
        .route("/api/channels/{number}/restart", post(restart))
        .route("/api/urgent", get(messages).post(urgent))
        .route("/api/urgent/{id}", get(message).delete(end_urgent))
        .route("/metrics", get(metrics));
    operators(guarded, token, DESCRIPTION)
}

/// A viewer.
#[derive(Debug, Serialize)]
struct Viewer {
    id: String,
    name: Option<String>,
    program: String,
    carrier: &'static str,
    since_ms: u64,
    channel: Option<u32>,
    latency_ms: u64,
    zaps: u64,
    sent_units: u64,
    skipped_units: u64,
    reduction: Option<&'static str>,
    sent_bytes: u64,
    carries_bps: Option<u64>,
    queued_bytes: usize,
    shown: u64,
    late: u64,
    lost: u64,
    zap_ms: Option<f64>,
    paths: Vec<ViewerPath>,
}

/// One of a viewer's paths.
#[derive(Debug, Serialize)]
struct ViewerPath {
    local: String,
    remote: String,
    rtt_ms: Option<f64>,
    loss: Option<f64>,
    sent_chunks: u64,
    lost_chunks: u64,
    sent_bytes: u64,
}

impl Viewer {
    fn new(
        now: Time,
        report: ViewerReport,
        network: Option<ConnectionStats>,
        numbers: &BTreeMap<ChannelId, u32>,
    ) -> Self {
        let paths =
            network.iter().flat_map(ConnectionStats::shown_paths).map(ViewerPath::of).collect();
        Self {
            id: report.id.to_string(),
            name: report.name,
            program: report.program,
            carrier: match report.carrier {
                Carrier::Native => "native",
                Carrier::Browser => "browser",
            },
            since_ms: now.saturating_since(report.since).as_millis() as u64,
            channel: report.channel.and_then(|id| numbers.get(&id).copied()),
            latency_ms: report.budget.as_millis() as u64,
            zaps: report.zaps,
            sent_units: report.sent,
            skipped_units: report.skipped,
            reduction: report.reduction,
            sent_bytes: report.bytes,
            carries_bps: network.as_ref().and_then(|it| Some(it.rate?.carries.as_bps())),
            queued_bytes: network.as_ref().map_or(0, |it| it.queued),
            shown: report.report.shown,
            late: report.report.late,
            lost: report.report.lost,
            zap_ms: report.report.zap_ms,
            paths,
        }
    }
}

impl ViewerPath {
    fn of(path: &PathReport) -> Self {
        Self {
            local: path.tuple.local.to_string(),
            remote: path.tuple.remote.to_string(),
            rtt_ms: path.srtt.map(|rtt| rtt.as_micros() as f64 / 1e3),
            loss: path.loss(),
            sent_chunks: path.chunks_sent,
            lost_chunks: path.chunks_missing(),
            sent_bytes: path.bytes_sent,
        }
    }
}

async fn viewers(State(site): State<Arc<Site>>) -> Json<Vec<Viewer>> {
    Json(site.station.look(|server, now| {
        let numbers = numbers(server);
        let viewers = server.television().viewers();
        viewers
            .map(|report| {
                let network = server.network(report.id);
                Viewer::new(now, report, network, &numbers)
            })
            .collect()
    }))
}

pub(super) fn numbers(server: &Server) -> BTreeMap<ChannelId, u32> {
    server.television().channels().iter().map(|entry| (entry.id, entry.number)).collect()
}

/// A channel.
#[derive(Debug, Serialize)]
struct Listed {
    #[serde(flatten)]
    entry: ChannelEntry,
    /// What keeps it from being watched.
    obstacle: Option<String>,
    viewers: usize,
    bits_per_second: u64,
}

impl Listed {
    /// Viewers are not told why a channel is off air; this one is.
    fn new(television: &Television, entry: ChannelEntry, trouble: Option<&String>) -> Self {
        let channel = television.channel(entry.id);
        let told_viewers = channel.and_then(Channel::obstacle).map(str::to_owned);
        Self {
            obstacle: trouble.filter(|_| !entry.on_air).cloned().or(told_viewers),
            viewers: television.watched_by(entry.id),
            bits_per_second: channel.map_or(0, Channel::bits_per_second),
            entry,
        }
    }
}

async fn channels(State(site): State<Arc<Site>>) -> Json<Vec<Listed>> {
    let troubles = site.station.troubles();
    Json(site.station.look(|server, _| {
        let television = server.television();
        let list = |entry: ChannelEntry| {
            let trouble = troubles.get(&entry.number);
            Listed::new(television, entry, trouble)
        };
        television.channels().into_iter().map(list).collect()
    }))
}

async fn add(
    State(site): State<Arc<Site>>,
    channel: Result<Json<ChannelText>, JsonRejection>,
) -> Response {
    let channel = match channel {
        Ok(Json(channel)) => channel,
        Err(error) => return (StatusCode::BAD_REQUEST, error.body_text()).into_response(),
    };
    // Whoever holds the token may choose what is shown, not what this machine runs.
    if channel.has_command() {
        let text = "command: a program to run stands in channels.toml only";
        return (StatusCode::BAD_REQUEST, text).into_response();
    }
    match site.station.add_another(|taken| channel.check(FilePath::new(""), taken)) {
        Ok(number) => (StatusCode::CREATED, Json(Added { number })).into_response(),
        Err((key, what)) => (StatusCode::BAD_REQUEST, format!("{key}: {what}")).into_response(),
    }
}

#[derive(Debug, Serialize)]
struct Added {
    number: u32,
}

async fn remove(State(site): State<Arc<Site>>, Path(number): Path<u32>) -> Response {
    done(site.station.remove(number), NO_CHANNEL)
}

async fn restart(State(site): State<Arc<Site>>, Path(number): Path<u32>) -> Response {
    done(site.station.restart(number), NO_CHANNEL)
}

/// What to show.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UrgentText {
    level: UrgentLevel,
    text: String,
    /// To those of this channel only.
    channel: Option<u32>,
}

/// An urgent message that holds.
#[derive(Debug, Serialize)]
struct Message {
    id: u32,
    level: UrgentLevel,
    text: String,
    /// The number of the one channel that it is for.
    channel: Option<u32>,
    seen: usize,
    viewers: usize,
}

impl Message {
    fn new(report: UrgentReport, numbers: &BTreeMap<ChannelId, u32>) -> Self {
        Self {
            id: report.urgent.id,
            level: report.urgent.level,
            text: report.urgent.text,
            channel: report.channel.and_then(|id| numbers.get(&id).copied()),
            seen: report.seen,
            viewers: report.told,
        }
    }
}

async fn urgent(
    State(site): State<Arc<Site>>,
    message: Result<Json<UrgentText>, JsonRejection>,
) -> Response {
    let message = match message {
        Ok(Json(message)) => message,
        Err(error) => return (StatusCode::BAD_REQUEST, error.body_text()).into_response(),
    };
    let channel = match message.channel.map(|number| site.station.id_of(number)) {
        None => None,
        Some(Some(id)) => Some(id),
        Some(None) => return not_found(NO_CHANNEL),
    };
    let id =
        site.station.act(|television, _| television.urgent(message.level, &message.text, channel));
    match find_message(&site, id) {
        Some(message) => (StatusCode::CREATED, Json(message)).into_response(),
        None => no_message(),
    }
}

async fn messages(State(site): State<Arc<Site>>) -> Json<Vec<Message>> {
    Json(site.station.look(|server, _| {
        let numbers = numbers(server);
        let messages = server.television().urgent_messages();
        messages.map(|report| Message::new(report, &numbers)).collect()
    }))
}

async fn message(State(site): State<Arc<Site>>, Path(id): Path<u32>) -> Response {
    find_message(&site, id).map_or_else(no_message, |message| Json(message).into_response())
}

fn find_message(site: &Site, id: u32) -> Option<Message> {
    site.station.look(|server, _| {
        let report = server.television().urgent_messages().find(|it| it.urgent.id == id)?;
        Some(Message::new(report, &numbers(server)))
    })
}

fn no_message() -> Response {
    (StatusCode::NOT_FOUND, "There is no such message; it may have ended already.").into_response()
}

async fn end_urgent(State(site): State<Arc<Site>>, Path(id): Path<u32>) -> StatusCode {
    site.station.act(|television, _| television.end_urgent(id));
    StatusCode::NO_CONTENT
}

#[cfg(test)]
mod tests {
    use anabranch_television::TelevisionConfig;
    use anabranch_television::channel::Label;

    use super::*;
    use crate::site::description::{assert_fields, assert_routes};

    #[test]
    fn the_description_has_every_route_and_no_other() {
        assert_routes(DESCRIPTION, include_str!("operator.rs"));
    }

    #[test]
    fn the_description_has_every_field_of_every_answer() {
        let path = ViewerPath {
            local: String::new(),
            remote: String::new(),
            rtt_ms: None,
            loss: None,
            sent_chunks: 0,
            lost_chunks: 0,
            sent_bytes: 0,
        };
        assert_fields(DESCRIPTION, "ViewerPath", &path);
        let mut television = anabranch_television::Television::new(
            TelevisionConfig::default(),
            Box::new(anabranch_television::OpenToAll),
        );
        television.viewer_came(Time::ZERO, Carrier::Native).unwrap();
        let report = television.viewers().next().unwrap();
        let viewer = Viewer::new(Time::ZERO, report, None, &BTreeMap::new());
        assert_fields(DESCRIPTION, "Viewer", &viewer);
        let id = television.urgent(UrgentLevel::Alarm, "Leave the house.", None);
        let report = television.urgent_messages().next().unwrap();
        let message = Message::new(report, &BTreeMap::new());
        assert_eq!(message.id, id);
        assert_fields(DESCRIPTION, "Message", &message);
        let label = Label { number: 1, name: "News".to_owned(), group: None, open: true };
        television.add_channel(label);
        let entry = television.channels().remove(0);
        assert_fields(DESCRIPTION, "Channel", &Listed::new(&television, entry, None));
        assert_fields(DESCRIPTION, "Added", &Added { number: 1 });
    }
}
