//! Checks of `anabranch-rtc`: whoever reaches its UDP port or posts an offer, the server comes to
//! rest and keeps to its limits.

use std::time::Duration;

use anabranch_rtc::{RtcConfig, Server};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time};

/// Steps that one input may ask for, each with its timers.
const EVENTS_MAX: u32 = 10_000;

/// Plays `bytes` as a script: a byte says what comes, two how long it is. An offer, a datagram as
/// it stands, or a span of time.
pub fn server(bytes: &[u8]) {
    let config = RtcConfig { connections_max: 4, ..RtcConfig::default() };
    let mut server = Server::new(config, Rng::from_u64(1)).expect("a certificate");
    let mut now = Time::ZERO;
    let mut rest = bytes;
    while let Some((&[what, len0, len1], after)) = rest.split_first_chunk() {
        let len = usize::from(u16::from_be_bytes([len0, len1])).min(after.len());
        let (content, after) = after.split_at(len);
        rest = after;
        match what % 4 {
            0 => {
                let offer = String::from_utf8_lossy(content);
                // A refusal is an answer, too.
                if let Ok((_, answer)) = server.accept(now, &offer, [10, 0, 0, what].into()) {
                    assert!(answer.ends_with("\r\n") && answer.contains("a=ice-lite\r\n"));
                }
            }
            1 | 2 => {
                let path = tuple(what >> 2);
                server.handle_datagram(now, Datagram { path, ecn: None, bytes: content });
            }
            _ => now += Duration::from_millis(u64::from(len0)),
        }
        settle(&mut server, now);
        assert!(server.connections().count() <= 4);
    }
}

/// Fires what is due, and takes all that the server sends and says.
fn settle(server: &mut Server, now: Time) {
    let mut buf = Vec::new();
    for _ in 0..EVENTS_MAX {
        if server.poll_timeout().is_some_and(|wakeup| wakeup.at <= now) {
            server.handle_timeout(now);
        }
        buf.clear();
        let sends = server.poll_transmit(now, &mut buf).is_some();
        assert!(!sends || !buf.is_empty());
        if !sends && server.poll_event().is_none() {
            return;
        }
    }
    panic!("the server does not come to rest");
}

fn tuple(host: u8) -> FourTuple {
    FourTuple::new(([10, 0, 1, 1], 9_000).into(), ([10, 0, 0, host], 5_000).into())
}
