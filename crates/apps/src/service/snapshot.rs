//! [`Snapshot`]: how a session stands, as a line of JSON and for a progress line.

use std::time::Duration;

use anabranch_media::playout::PlayoutStats;
use anabranch_media::{Distribution, Summary};
use anabranch_sansio::{Rate, Time};
use anabranch_session::treatment::MediaClass;
use anabranch_session::{ClassArrivals, Measures, Receiver, Report, Role, Sender, advise};
use anabranch_transport::{ConnectionStats, LevelStats, PathReport, PathState, StrangerStats};
use serde::Serialize;

/// How a session stands. As JSON, one object a line; `docs/stats.md` describes the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Snapshot {
    /// Milliseconds since the service began.
    pub at_ms: u64,
    /// Which end this is.
    pub role: Role,
    /// Whether media flows.
    pub state: State,
    /// The latency in force.
    pub latency_ms: u64,
    /// Media, sent or handed on, in bits per second since the last snapshot.
    pub media_bps: u64,
    /// Media, in bytes since the beginning.
    pub media_bytes: u64,
    /// The latency to advise, from RTT and loss; null before enough was measured.
    pub advised_latency_ms: Option<u64>,
    /// The association, or the last one; null before the first.
    pub association: Option<AssociationSnapshot>,
    /// Media by class; classes without any are left out.
    pub classes: Vec<ClassSnapshot>,
    /// What the receiver said last; null at the receiver.
    pub report: Option<Report>,
    /// What the sender measured last; null at the sender.
    pub measures: Option<Measures>,
    /// The playout; null at the sender.
    pub playout: Option<PlayoutSnapshot>,
    /// Datagrams that no session took.
    pub strangers: StrangersSnapshot,
}

/// Whether media flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nobody is there.
    Waiting,
    /// A call is under way.
    Calling,
    /// Media flows.
    Connected,
}

/// An association.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssociationSnapshot {
    /// Bytes that wait to be sent for the first time.
    pub queued_bytes: usize,
    /// Bytes in flight on all paths.
    pub in_flight_bytes: usize,
    /// What the peer's receive buffer can still take.
    pub peer_window_bytes: usize,
    /// What it can carry now, in bits of media per second; null before anything was sent.
    pub carries_bps: Option<u64>,
    /// Whether more may be possible: not as much was sent lately as could have been.
    pub carries_at_least: bool,
    /// Times that Fast Recovery began.
    pub fast_recoveries: u64,
    /// The paths.
    pub paths: Vec<PathSnapshot>,
    /// What was received, by level, the most important one first; empty before anything was, and
    /// where the other end marks no levels.
    pub levels: Vec<LevelSnapshot>,
}

/// Received messages of one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelSnapshot {
    /// Messages that wait to be read.
    pub waiting: usize,
    /// Bytes of those.
    pub waiting_bytes: usize,
    /// Messages that were read.
    pub read: u64,
    /// Messages that made way for more important ones.
    pub dropped: u64,
    /// How long half of those that were read had waited at most.
    pub delay_p50_ms: f64,
    /// The same of 99 in 100.
    pub delay_p99_ms: f64,
}

/// A path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathSnapshot {
    /// Its number.
    pub id: u32,
    /// Our address.
    pub local: String,
    /// The peer's.
    pub remote: String,
    /// `active`, `potentially_failed`, `inactive` or `unconfirmed`.
    pub state: &'static str,
    /// Whether it is the primary one.
    pub primary: bool,
    /// Whether data takes it now.
    pub current: bool,
    /// Smoothed round-trip time; null before the first sample.
    pub rtt_ms: Option<f64>,
    /// Its variation.
    pub rtt_variation_ms: Option<f64>,
    /// The retransmission timeout.
    pub rto_ms: f64,
    /// The congestion window.
    pub cwnd_bytes: usize,
    /// Bytes in flight.
    pub in_flight_bytes: usize,
    /// Packets sent.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// DATA chunks sent, repetitions included.
    pub sent_chunks: u64,
    /// DATA chunks sent again.
    pub retransmitted_chunks: u64,
    /// DATA chunks sent a second time on purpose.
    pub copied_chunks: u64,
    /// DATA chunks that were lost, as far as is known: what turns out to have been overtaken only
    /// is taken off again.
    pub lost_chunks: u64,
    /// Share of the DATA chunks that was lost, 0 to 1; null if none was sent.
    pub loss: Option<f64>,
    /// T3-rtx expirations.
    pub timeouts: u64,
}

/// Media of one class. At the sender, the first group; at the receiver, the second.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ClassSnapshot {
    /// Its name.
    pub class: &'static str,
    /// The sender's counters.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub sent: Option<SentSnapshot>,
    /// The receiver's counters.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<ArrivedSnapshot>,
}

/// What was sent of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SentSnapshot {
    /// Messages handed to the transport.
    pub queued_messages: u64,
    /// Messages sent at least once.
    pub sent_messages: u64,
    /// Bytes sent for the first time.
    pub sent_bytes: u64,
    /// DATA chunks sent again.
    pub retransmitted_chunks: u64,
    /// Bytes sent again.
    pub retransmitted_bytes: u64,
    /// DATA chunks sent a second time on purpose: over two paths, or as a last chance.
    pub copied_chunks: u64,
    /// Their bytes.
    pub copied_bytes: u64,
    /// Messages given up before they were sent.
    pub abandoned_unsent: u64,
    /// Messages given up because their lifetime ended.
    pub abandoned_expired: u64,
    /// Messages given up because of the limit on retransmissions.
    pub abandoned_retransmissions: u64,
    /// Messages dropped because more was pushed than could wait.
    pub dropped: u64,
    /// Messages that nobody was there to get.
    pub unsent: u64,
    /// Pictures left out whole, since the network does not carry them.
    pub left_out: u64,
    /// Pictures left out whole, since the receiver's output does not take them.
    pub left_out_for_output: u64,
    /// What the network carries beside all that is sent before this class, in bits per second; null
    /// where it may be more.
    pub room_bps: Option<u64>,
}

/// What arrived of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ArrivedSnapshot {
    /// Messages that came in time.
    pub in_time_messages: u64,
    /// Their bytes.
    pub in_time_bytes: u64,
    /// Messages that came late.
    pub late_messages: u64,
    /// Their bytes.
    pub late_bytes: u64,
    /// Pictures that came and were left out, since the output did not take them.
    pub left_out_for_output: u64,
}

/// The playout.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlayoutSnapshot {
    /// Counters.
    #[serde(flatten)]
    pub counters: PlayoutStats,
    /// How long before their time pieces came.
    pub spare: Summary,
    /// How far PCRs left from where they should have; null without a transport stream.
    pub pcr_jitter: Option<Summary>,
}

/// Datagrams that no session took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StrangersSnapshot {
    /// No SCTP, or a wrong checksum.
    pub malformed: u64,
    /// Of no association.
    pub out_of_the_blue: u64,
    /// INITs that were answered, each without keeping state.
    pub init_acks: u64,
    /// Cookies forged, stale or replayed.
    pub bad_cookies: u64,
}

/// The one before, for rates.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Before {
    at: Time,
    media_bytes: u64,
}

impl Snapshot {
    pub(crate) fn of_sender(sender: &Sender, now: Time, before: &mut Before) -> Self {
        let stats = sender.stats();
        let sent = |class| {
            let stats = stats.class(class);
            let stream = stats.stream;
            SentSnapshot {
                queued_messages: stream.messages_queued,
                sent_messages: stream.messages_sent,
                sent_bytes: stream.bytes_sent,
                retransmitted_chunks: stream.chunks_retransmitted,
                retransmitted_bytes: stream.bytes_retransmitted,
                copied_chunks: stream.chunks_copied,
                copied_bytes: stream.bytes_copied,
                abandoned_unsent: stream.abandoned_unsent,
                abandoned_expired: stream.abandoned_expired,
                abandoned_retransmissions: stream.abandoned_retransmissions,
                dropped: stats.dropped,
                unsent: stats.unsent,
                left_out: stats.left_out,
                left_out_for_output: stats.left_out_for_output,
                room_bps: stats.room.map(Rate::as_bps),
            }
        };
        let classes: Vec<ClassSnapshot> = MediaClass::ALL
            .into_iter()
            .map(|class| (class, sent(class)))
            .filter(|(_, sent)| SentSnapshot { room_bps: None, ..*sent } != SentSnapshot::default())
            .map(|(class, sent)| ClassSnapshot::sent(class, sent))
            .collect();
        let media_bytes = classes.iter().filter_map(|row| row.sent).map(|row| row.sent_bytes).sum();
        let advice = stats.connection.as_ref().and_then(|it| advise(&Measures::of(it)));
        Self {
            at_ms: now.as_millis(),
            role: Role::Sender,
            state: State::of(sender.is_connected(), sender.has_peer()),
            latency_ms: millis(sender.latency()),
            media_bps: before.rate(now, media_bytes),
            media_bytes,
            advised_latency_ms: advice.map(|advice| millis(advice.latency)),
            association: stats.connection.as_ref().map(AssociationSnapshot::of),
            classes,
            report: stats.report,
            measures: None,
            playout: None,
            strangers: StrangersSnapshot::of(&stats.strangers),
        }
    }

    pub(crate) fn of_receiver(
        receiver: &Receiver,
        now: Time,
        before: &mut Before,
        pcr_jitter: Option<&Distribution>,
    ) -> Self {
        let stats = receiver.stats();
        let classes: Vec<ClassSnapshot> = MediaClass::ALL
            .into_iter()
            .map(|class| (class, *stats.class(class)))
            .filter(|(_, arrived)| *arrived != ClassArrivals::default())
            .map(|(class, arrived)| {
                let left_out = stats.left_out.pictures[class.index()];
                ClassSnapshot::arrived(class, arrived, left_out)
            })
            .collect();
        let media_bytes = stats.playout.released_bytes;
        let jitter = pcr_jitter.filter(|jitter| jitter.count() > 0).map(Distribution::summary);
        Self {
            at_ms: now.as_millis(),
            role: Role::Receiver,
            state: State::of(receiver.is_connected(), receiver.has_peer()),
            latency_ms: millis(receiver.latency()),
            media_bps: before.rate(now, media_bytes),
            media_bytes,
            advised_latency_ms: stats.advice().map(|advice| millis(advice.latency)),
            association: stats.connection.as_ref().map(AssociationSnapshot::of),
            classes,
            report: None,
            playout: Some(PlayoutSnapshot {
                counters: stats.playout,
                spare: receiver.playout().spare().summary(),
                pcr_jitter: jitter,
            }),
            measures: Some(stats.measures),
            strangers: StrangersSnapshot::of(&stats.strangers),
        }
    }
}

impl State {
    const fn of(is_connected: bool, has_peer: bool) -> Self {
        match (is_connected, has_peer) {
            (true, _) => Self::Connected,
            (false, true) => Self::Calling,
            (false, false) => Self::Waiting,
        }
    }
}

impl Before {
    fn rate(&mut self, now: Time, media_bytes: u64) -> u64 {
        let bytes = media_bytes.saturating_sub(self.media_bytes);
        let rate = Rate::of(bytes, now - self.at);
        *self = Self { at: now, media_bytes };
        rate.as_bps()
    }
}

impl AssociationSnapshot {
    pub(crate) fn of(stats: &ConnectionStats) -> Self {
        Self {
            queued_bytes: stats.queued,
            in_flight_bytes: stats.in_flight,
            peer_window_bytes: stats.peer_window,
            carries_bps: stats.rate.map(|rate| rate.carries.as_bps()),
            carries_at_least: stats.rate.is_none_or(|rate| rate.is_at_least),
            fast_recoveries: stats.recoveries,
            paths: stats.shown_paths().map(PathSnapshot::of).collect(),
            levels: LevelSnapshot::all(stats),
        }
    }
}

impl LevelSnapshot {
    /// Those of a connection, the most important level first.
    pub(crate) fn all(stats: &ConnectionStats) -> Vec<Self> {
        stats.levels.iter().map(Self::of).collect()
    }

    fn of(level: &LevelStats) -> Self {
        Self {
            waiting: level.waiting,
            waiting_bytes: level.waiting_bytes,
            read: level.read,
            dropped: level.dropped,
            delay_p50_ms: millis_f64(level.delay_p50),
            delay_p99_ms: millis_f64(level.delay_p99),
        }
    }
}

impl PathSnapshot {
    fn of(path: &PathReport) -> Self {
        Self {
            id: path.id.0,
            local: path.tuple.local.to_string(),
            remote: path.tuple.remote.to_string(),
            state: match path.state {
                PathState::Active => "active",
                PathState::PotentiallyFailed => "potentially_failed",
                PathState::Inactive => "inactive",
                PathState::Unconfirmed => "unconfirmed",
            },
            primary: path.is_primary,
            current: path.is_current,
            rtt_ms: path.srtt.map(millis_f64),
            rtt_variation_ms: path.rttvar.map(millis_f64),
            rto_ms: millis_f64(path.rto),
            cwnd_bytes: path.window,
            in_flight_bytes: path.in_flight,
            sent_packets: path.packets_sent,
            sent_bytes: path.bytes_sent,
            received_packets: path.packets_received,
            received_bytes: path.bytes_received,
            sent_chunks: path.chunks_sent,
            retransmitted_chunks: path.chunks_retransmitted,
            copied_chunks: path.chunks_copied,
            lost_chunks: path.chunks_missing(),
            loss: path.loss(),
            timeouts: path.timeouts,
        }
    }
}

impl ClassSnapshot {
    const fn sent(class: MediaClass, sent: SentSnapshot) -> Self {
        Self { class: class.name(), sent: Some(sent), arrived: None }
    }

    const fn arrived(class: MediaClass, arrived: ClassArrivals, left_out: u64) -> Self {
        let arrived = ArrivedSnapshot {
            in_time_messages: arrived.in_time,
            in_time_bytes: arrived.in_time_bytes,
            late_messages: arrived.late,
            late_bytes: arrived.late_bytes,
            left_out_for_output: left_out,
        };
        Self { class: class.name(), sent: None, arrived: Some(arrived) }
    }
}

impl StrangersSnapshot {
    const fn of(stats: &StrangerStats) -> Self {
        Self {
            malformed: stats.malformed,
            out_of_the_blue: stats.unknown,
            init_acks: stats.calls_answered,
            bad_cookies: stats.cookies_forged + stats.cookies_stale + stats.cookies_replayed,
        }
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// To the microsecond, as people read it.
fn millis_f64(span: Duration) -> f64 {
    span.as_micros() as f64 / 1e3
}
