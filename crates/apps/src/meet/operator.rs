//! The operator's interface: rooms that come and go, and who is in them. `openapi.json` beside this
//! file describes it.

use std::sync::Arc;

use anabranch_rooms::protocol::{MemberNumber, Role};
use anabranch_rooms::{MemberReport, RoomId, RoomReport};
use anabranch_sansio::Time;
use anabranch_transport::ConnectionStats;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{delete, get, put};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};

use super::config::RoomText;
use super::http::Site;
use super::metrics::metrics;
use super::room_server::{Entrance, OpenError};
use super::{Invitation, Links};
use crate::site::{done, not_found, operators};

/// What describes the interface.
const DESCRIPTION: &str = include_str!("openapi.json");

const NO_ROOM: &str = "There is no room of this name.";

/// All that needs the operator's token, and what describes it.
pub(super) fn router(token: &str) -> Router<Arc<Site>> {
    let guarded = Router::new()
        .route("/api/rooms", get(rooms).post(open))
        .route("/api/rooms/{name}", get(room).delete(close))
        .route("/api/rooms/{name}/lock", put(lock))
        .route("/api/rooms/{name}/members/{number}", delete(remove))
        .route("/metrics", get(metrics));
    operators(guarded, token, DESCRIPTION)
}

/// A room.
#[derive(Debug, Serialize)]
struct Room {
    name: String,
    title: String,
    members_max: usize,
    locked: bool,
    link: String,
    host_link: String,
    agent_link: String,
    members: Vec<Member>,
}

/// Somebody who is in a room.
#[derive(Debug, Serialize)]
struct Member {
    number: MemberNumber,
    name: String,
    role: Role,
    program: String,
    since_ms: u64,
    away: bool,
    takes_bps: Option<u64>,
    left_out: u64,
    malformed: u64,
    rtt_ms: Option<f64>,
    loss: Option<f64>,
    sent_bytes: u64,
}

impl Room {
    fn new(links: &Links, entrance: Entrance, report: RoomReport, members: Vec<Member>) -> Self {
        let Invitation { title, link, host_link, agent_link } =
            Invitation::new(links, &report.label.name, entrance);
        Self {
            name: report.label.name,
            title,
            members_max: report.label.members_max,
            locked: report.is_locked,
            link,
            host_link,
            agent_link,
            members,
        }
    }
}

impl Member {
    fn new(now: Time, report: &MemberReport, network: Option<&ConnectionStats>) -> Self {
        let path = network.and_then(|network| network.paths.first());
        Self {
            number: report.number,
            name: report.name.clone(),
            role: report.role,
            program: report.program.clone(),
            since_ms: now.saturating_since(report.since).as_millis() as u64,
            away: report.guest.is_none(),
            takes_bps: report.takes.map(|rate| rate.as_bps()),
            left_out: report.left_out,
            malformed: report.malformed,
            rtt_ms: path.and_then(|it| it.srtt).map(|rtt| rtt.as_micros() as f64 / 1e3),
            loss: path.and_then(|it| it.loss()),
            sent_bytes: path.map_or(0, |it| it.bytes_sent),
        }
    }
}

async fn rooms(State(site): State<Arc<Site>>) -> Json<Vec<Room>> {
    let entrances = site.rooms.entrances().into_values();
    Json(entrances.filter_map(|entrance| described(&site, entrance)).collect())
}

async fn room(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Response {
    let found = site.rooms.entrance(&name).and_then(|entrance| described(&site, entrance));
    found.map_or_else(|| not_found(NO_ROOM), |room| Json(room).into_response())
}

/// A room, unless it was closed meanwhile.
fn described(site: &Site, entrance: Entrance) -> Option<Room> {
    site.rooms.server().with(|server, now| {
        let report = server.rooms().room(entrance.room)?;
        let members = report.members.iter().map(|member| {
            let network = member.guest.and_then(|guest| server.network(guest));
            Member::new(now, member, network.as_ref())
        });
        let members = members.collect();
        Some(Room::new(&site.links, entrance, report, members))
    })
}

async fn open(
    State(site): State<Arc<Site>>,
    room: Result<Json<RoomText>, JsonRejection>,
) -> Response {
    let room = match room {
        Ok(Json(room)) => room,
        Err(error) => return (StatusCode::BAD_REQUEST, error.body_text()).into_response(),
    };
    let config = match room.check() {
        Ok(config) => config,
        Err((key, what)) => {
            return (StatusCode::BAD_REQUEST, format!("{key}: {what}")).into_response();
        }
    };
    let location = format!("/api/rooms/{}", config.name);
    match site.rooms.open(config) {
        Ok(entrance) => described(&site, entrance).map_or_else(
            || not_found(NO_ROOM),
            |room| (StatusCode::CREATED, [(LOCATION, location)], Json(room)).into_response(),
        ),
        Err(error) => (status(&error), error.to_string()).into_response(),
    }
}

const fn status(error: &OpenError) -> StatusCode {
    match error {
        OpenError::Taken(_) | OpenError::Full => StatusCode::CONFLICT,
        OpenError::Site(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

async fn close(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Response {
    done(site.rooms.close_room(&name), NO_ROOM)
}

/// Whether nobody else comes in.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(Serialize))]
#[serde(deny_unknown_fields)]
struct Lock {
    locked: bool,
}

async fn lock(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    lock: Result<Json<Lock>, JsonRejection>,
) -> Response {
    let locked = match lock {
        Ok(Json(Lock { locked })) => locked,
        Err(error) => return (StatusCode::BAD_REQUEST, error.body_text()).into_response(),
    };
    let Some(id) = id_of(&site, &name) else { return not_found(NO_ROOM) };
    let is_there =
        site.rooms.server().with(|server, _| server.act(|rooms| rooms.set_locked(id, locked)));
    done(is_there, NO_ROOM)
}

async fn remove(
    State(site): State<Arc<Site>>,
    Path((name, number)): Path<(String, u16)>,
) -> Response {
    let Some(id) = id_of(&site, &name) else { return not_found(NO_ROOM) };
    let number = MemberNumber(number);
    let was_there = site
        .rooms
        .server()
        .with(|server, now| server.act(|rooms| rooms.remove_member(now, id, number)));
    done(was_there, "There is nobody of this number in the room; it may have left already.")
}

fn id_of(site: &Site, name: &str) -> Option<RoomId> {
    site.rooms.entrance(name).map(|entrance| entrance.room)
}

#[cfg(test)]
mod tests {
    use anabranch_rooms::{RoomLabel, Rooms, RoomsConfig, Tokens};
    use anabranch_sansio::Rng;

    use super::*;
    use crate::site::description::{assert_fields, assert_routes};

    #[test]
    fn the_description_has_every_route_and_no_other() {
        assert_routes(DESCRIPTION, include_str!("operator.rs"));
    }

    #[test]
    fn the_description_has_every_field_of_every_request_and_answer() {
        let config = RoomsConfig { program: "a test".to_owned() };
        let mut rooms = Rooms::new(config, Rng::from_u64(1));
        let (name, title) = ("lab".to_owned(), "The lab".to_owned());
        let tokens = Tokens { attendees: "all".to_owned(), hosts: "some".to_owned() };
        let label = RoomLabel { name, title: title.clone(), members_max: 4 };
        let id = rooms.add(label, tokens.clone());
        let report = rooms.room(id).unwrap();
        let entrance = Entrance { room: id, title, tokens };
        let links = Links {
            pages: "http://127.0.0.1/".to_owned(),
            agents: "anabranch://127.0.0.1:9?key=K".to_owned(),
        };
        let room = Room::new(&links, entrance, report, Vec::new());
        assert_eq!(room.agent_link, "anabranch://127.0.0.1:9?key=K&room=lab&token=all");
        assert_eq!(room.link, "http://127.0.0.1/r/lab#all");
        assert_eq!(room.host_link, "http://127.0.0.1/r/lab#some");
        assert_fields(DESCRIPTION, "Room", &room);
        let report = MemberReport {
            number: MemberNumber(1),
            role: Role::Host,
            guest: None,
            name: String::new(),
            program: String::new(),
            since: Time::ZERO,
            takes: None,
            left_out: 0,
            malformed: 0,
        };
        assert_fields(DESCRIPTION, "Member", &Member::new(Time::ZERO, &report, None));
        assert_fields(DESCRIPTION, "NewRoom", &RoomText::default());
        assert_fields(DESCRIPTION, "Lock", &Lock { locked: true });
    }
}
