//! What Prometheus is told.

use std::collections::BTreeMap;
use std::sync::Arc;

use anabranch_television::{Carrier, Server};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};

use super::http::Site;
use super::operator::numbers;
use crate::service::LevelSnapshot;
use crate::site::Exposition;

/// What is counted, in Prometheus' text format.
pub(super) async fn metrics(State(site): State<Arc<Site>>) -> Response {
    let mut text = Exposition::default();
    site.station.look(|server, _| {
        describe_viewers(&mut text, server);
        describe_channels(&mut text, server);
        describe_port(&mut text, server);
    });
    describe_levels(&mut text, &site.station.levels());
    text.gauge("players", "Players of /ch/N.ts.", site.players.count());
    text.gauge("http_connections", "Connections by HTTP, this one included.", site.places.count());
    text.head("tokens_total", "counter", "Viewers' tokens that were looked at.");
    for (outcome, count) in site.station.access().counts() {
        text.line("tokens_total", &format!("outcome=\"{outcome}\""), count);
    }
    text.traffic(&site.station.handle().stats().total);
    text.into_response()
}

fn describe_viewers(text: &mut Exposition, server: &Server) {
    text.head("viewers", "gauge", "Viewers, by what carries them and what they watch.");
    let numbers = numbers(server);
    let mut counts = BTreeMap::new();
    for viewer in server.television().viewers() {
        let carrier = match viewer.carrier {
            Carrier::Native => "native",
            Carrier::Browser => "browser",
        };
        let number = viewer.channel.and_then(|id| numbers.get(&id)).copied();
        *counts.entry((carrier, number.unwrap_or(0))).or_insert(0) += 1;
    }
    for ((carrier, number), count) in counts {
        text.line("viewers", &format!("carrier=\"{carrier}\",channel=\"{number}\""), count);
    }
}

fn describe_channels(text: &mut Exposition, server: &Server) {
    let television = server.television();
    text.head("channel_on_air", "gauge", "Whether a channel's source is there.");
    for entry in television.channels() {
        let label = format!("channel=\"{}\"", entry.number);
        text.line("channel_on_air", &label, u8::from(entry.on_air));
    }
    text.head("channel_bits_per_second", "gauge", "A channel's average rate.");
    for entry in television.channels() {
        let rate = television.channel(entry.id).map_or(0, |channel| channel.bits_per_second());
        text.line("channel_bits_per_second", &format!("channel=\"{}\"", entry.number), rate);
    }
}

/// What waits to be read of what other anabranch programs send here.
fn describe_levels(text: &mut Exposition, channels: &BTreeMap<u32, Vec<LevelSnapshot>>) {
    let mut describe = |name, kind, help, figure: fn(&LevelSnapshot) -> f64| {
        text.head(name, kind, help);
        for (number, levels) in channels {
            for (level, snapshot) in levels.iter().enumerate() {
                let labels = format!("channel=\"{number}\",level=\"{level}\"");
                text.line(name, &labels, figure(snapshot));
            }
        }
    };
    let help = "Messages of a channel's source that wait to be read, by level.";
    describe("source_waiting_messages", "gauge", help, |it| it.waiting as f64);
    let help = "Messages of a channel's source that were read.";
    describe("source_read_messages_total", "counter", help, |it| it.read as f64);
    let help = "Messages of a channel's source that made way for more important ones.";
    describe("source_dropped_messages_total", "counter", help, |it| it.dropped as f64);
    let help = "How long half of the messages that were read had waited at most.";
    describe("source_wait_p50_seconds", "gauge", help, |it| it.delay_p50_ms / 1e3);
    let help = "How long 99 in 100 of the messages that were read had waited at most.";
    describe("source_wait_p99_seconds", "gauge", help, |it| it.delay_p99_ms / 1e3);
}

/// What holds memory at the UDP port, and what was sent away from it.
fn describe_port(text: &mut Exposition, server: &Server) {
    let stats = server.stats();
    let help = "Native associations and connections of browsers, those that begin or end included.";
    text.head("connections", "gauge", help);
    text.line("connections", "carrier=\"native\"", stats.natives);
    text.line("connections", "carrier=\"browser\"", stats.connections);
    text.head("refused_datagrams_total", "counter", "Datagrams of nobody who is connected.");
    let refused = [
        ("malformed", stats.native.malformed + stats.browsers.malformed),
        ("out_of_the_blue", stats.native.unknown),
        ("init_refused", stats.native.calls_refused),
        ("cookie_forged", stats.native.cookies_forged),
        ("cookie_stale", stats.native.cookies_stale),
        ("cookie_replayed", stats.native.cookies_replayed),
        ("reply_suppressed", stats.native.replies_suppressed),
        ("key_agreement_deferred", stats.native.key_agreements_deferred),
        ("check_refused", stats.browsers.checks_refused),
        ("dtls_stranger", stats.browsers.strangers),
    ];
    for (what, count) in refused {
        text.line("refused_datagrams_total", &format!("what=\"{what}\""), count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_to_be_read_is_told_by_channel_and_level() {
        let level = |waiting, delay_p99_ms| LevelSnapshot {
            waiting,
            waiting_bytes: 1_000 * waiting,
            read: 70,
            dropped: 3,
            delay_p50_ms: 2.0,
            delay_p99_ms,
        };
        let mut text = Exposition::default();
        describe_levels(&mut text, &BTreeMap::from([(4, vec![level(0, 8.0), level(9, 480.0)])]));
        let lines: Vec<_> = text.as_str().lines().filter(|line| !line.starts_with('#')).collect();
        for line in [
            r#"anabranch_source_waiting_messages{channel="4",level="1"} 9"#,
            r#"anabranch_source_read_messages_total{channel="4",level="0"} 70"#,
            r#"anabranch_source_dropped_messages_total{channel="4",level="1"} 3"#,
            r#"anabranch_source_wait_p50_seconds{channel="4",level="0"} 0.002"#,
            r#"anabranch_source_wait_p99_seconds{channel="4",level="1"} 0.48"#,
        ] {
            assert!(lines.contains(&line), "{line} in {lines:?}");
        }
        assert_eq!(lines.len(), 10);
    }
}
