//! What Prometheus is told.

use std::sync::Arc;

use anabranch_rooms::{RoomReport, Server};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};

use super::http::Site;
use crate::site::Exposition;

/// What is counted, in Prometheus' text format.
pub(super) async fn metrics(State(site): State<Arc<Site>>) -> Response {
    let mut text = Exposition::default();
    let server = site.rooms.server();
    server.with(|server, _| {
        let rooms: Vec<_> = server.rooms().rooms().map(|(_, report)| report).collect();
        describe_rooms(&mut text, &rooms);
        describe_port(&mut text, server);
    });
    text.gauge("http_connections", "Connections by HTTP, this one included.", site.places.count());
    text.head("joins_total", "counter", "Requests to come into a room.");
    for (outcome, count) in site.rooms.joins() {
        text.line("joins_total", &format!("outcome=\"{outcome}\""), count);
    }
    text.traffic(&server.stats().total);
    text.into_response()
}

/// A room's name is a label as it is: it has letters, digits, - and _.
fn describe_rooms(text: &mut Exposition, rooms: &[RoomReport]) {
    text.gauge("rooms", "Rooms.", rooms.len());
    let mut describe = |name, help, figure: fn(&RoomReport) -> u64| {
        text.head(name, "gauge", help);
        for report in rooms {
            text.line(name, &format!("room=\"{}\"", report.label.name), figure(report));
        }
    };
    describe("room_members", "People in a room.", |room| room.members.len() as u64);
    let help = "Those of them whose connection is lost at the moment.";
    describe("room_members_away", help, |room| {
        room.members.iter().filter(|member| member.guest.is_none()).count() as u64
    });
    describe("room_locked", "Whether nobody else comes in.", |room| u64::from(room.is_locked));
    let help = "Pictures that were left out for those who are there: their networks do not take \
                them.";
    describe("room_left_out_pictures", help, |room| {
        room.members.iter().map(|member| member.left_out).sum()
    });
}

/// What holds memory at the UDP port, and what was sent away from it.
fn describe_port(text: &mut Exposition, server: &Server) {
    let help = "Connections of browsers, those that begin or end included.";
    text.gauge("connections", help, server.connections());
    let help = "Connections of agents, those that begin or end included.";
    text.gauge("agent_connections", help, server.agents());
    let help = "Requests that were answered, and whose browsers have not come yet.";
    text.gauge("joins_waiting", help, server.waiting());
    let (strangers, agents) = (server.strangers(), server.strange_agents());
    text.head("refused_datagrams_total", "counter", "Datagrams of nobody who is connected.");
    for (what, count) in [
        ("malformed", strangers.malformed),
        ("check_refused", strangers.checks_refused),
        ("dtls_stranger", strangers.strangers),
        ("sctp_malformed", agents.malformed),
        ("sctp_stranger", agents.unknown),
    ] {
        text.line("refused_datagrams_total", &format!("what=\"{what}\""), count);
    }
}

#[cfg(test)]
mod tests {
    use anabranch_rooms::{RoomLabel, Rooms, RoomsConfig, Tokens};
    use anabranch_sansio::Rng;

    use super::*;

    #[test]
    fn rooms_are_told_by_name() {
        let mut rooms = Rooms::new(RoomsConfig { program: String::new() }, Rng::from_u64(1));
        let tokens = Tokens { attendees: String::new(), hosts: String::new() };
        for name in ["lab", "staff"] {
            let (name, title) = (name.to_owned(), name.to_owned());
            let id = rooms.add(RoomLabel { name, title, members_max: 4 }, tokens.clone());
            rooms.set_locked(id, true);
        }
        let reports: Vec<_> = rooms.rooms().map(|(_, report)| report).collect();
        let mut text = Exposition::default();
        describe_rooms(&mut text, &reports);
        for line in [
            "anabranch_rooms 2",
            r#"anabranch_room_members{room="lab"} 0"#,
            r#"anabranch_room_locked{room="staff"} 1"#,
        ] {
            assert!(text.as_str().lines().any(|it| it == line), "{line} in {}", text.as_str());
        }
    }
}
