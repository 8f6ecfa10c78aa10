//! A live stream with a deadline over a link that loses packets, both ways.

use std::io;
use std::time::Duration;

use anabranch_netsim::Loss;
use anabranch_sansio::Time;
use anabranch_sctp::{CongestionControl, OutgoingMessage, Reliability};
use anabranch_wire::StreamId;
use bytes::Bytes;

use super::end::Transport;
use super::world::{Losses, World};
use super::{Plan, RTT, Row, bottleneck, median};

/// The link, in Mbit/s.
const LINK_MBPS: u64 = 20;

/// Bytes of a message: seven packets of MPEG-TS.
const MESSAGE: usize = 7 * 188;

/// How often there is one: 10 Mbit/s.
const INTERVAL: Duration = Duration::from_nanos(MESSAGE as u64 * 8 * 100);

/// A kind of loss, and the receiver's buffer: what comes later after the fastest way is late.
#[derive(Debug, Clone, Copy)]
pub(super) struct Live {
    percent: f64,
    burst: f64,
    buffer: Duration,
}

/// The rows of the table.
pub(super) fn rows() -> [Live; 5] {
    let live = |percent, burst, ms| Live { percent, burst, buffer: Duration::from_millis(ms) };
    [
        live(5.0, 1.0, 200),
        live(10.0, 1.0, 200),
        live(10.0, 1.0, 100),
        live(5.0, 5.0, 200),
        live(5.0, 5.0, 100),
    ]
}

impl Live {
    pub(super) fn name(&self) -> String {
        let Self { percent, burst, buffer } = self;
        let kind = if *burst > 1.0 { format!(" in bursts of {burst}") } else { String::new() };
        format!("live, {percent} %{kind}, buffer {} ms", buffer.as_millis())
    }

    pub(super) fn measure(&self, plan: Plan<'_>) -> io::Result<Row> {
        let runs = (1..=plan.seeds).map(|seed| self.run(seed, plan));
        let runs = runs.collect::<io::Result<Vec<_>>>()?;
        let delivered = median(runs.iter().map(|run| run.0));
        let overhead = median(runs.iter().map(|run| run.1));
        let figures = vec![("% in time", 100.0 * delivered), ("% sent again", 100.0 * overhead)];
        Ok(Row { name: self.name(), figures })
    }

    /// The shares of messages that came in time, and of data that was sent again.
    fn run(&self, seed: u64, plan: Plan<'_>) -> io::Result<(f64, f64)> {
        let share = self.percent / 100.0;
        let is_bursty = self.burst > 1.0;
        let loss = if is_bursty { Loss::bursts(share, self.burst) } else { Loss::uniform(share) };
        let mut world = World::new(
            seed,
            Losses::BothWays,
            bottleneck(LINK_MBPS, loss),
            &[Transport::Sctp(CongestionControl::Media)],
            plan.encrypted,
        )?;
        world.run(Duration::from_secs(1), |_, _| {})?;
        let end = world.now() + Duration::from_secs(plan.seconds);
        let (mut sent, mut in_time) = (0_u64, 0_u64);
        let mut take = |now: Time, payload: &[u8]| {
            let stamp = payload.first_chunk().map(|stamp| u64::from_be_bytes(*stamp));
            in_time += u64::from(
                stamp.is_some_and(|at| now - Time::from_nanos(at) <= RTT / 2 + self.buffer),
            );
        };
        while world.now() < end {
            let mut payload = vec![0; MESSAGE];
            payload[..8].copy_from_slice(&world.now().as_nanos().to_be_bytes());
            let reliability = Reliability::Lifetime(self.buffer);
            let message = OutgoingMessage {
                reliability,
                ordered: false,
                ..OutgoingMessage::new(StreamId(0), Bytes::from(payload))
            };
            sent += u64::from(world.act(0, |to, now| to.send(now, message).is_ok())?);
            world.run(INTERVAL, &mut take)?;
        }
        let end = world.now() + RTT + self.buffer;
        while world.now() < end {
            world.run(INTERVAL, &mut take)?;
        }
        let streams = world.act(0, |association, _| association.stats().streams)?;
        let again = streams.bytes_retransmitted + streams.bytes_copied;
        let again = again as f64 / streams.bytes_sent as f64;
        Ok((in_time as f64 / sent as f64, again))
    }
}
