//! What both ends and the links count, as the page and the report show it.

use anabranch_driver::emulator::EmulatedLinkStats;
use anabranch_netsim::Traffic;
use anabranch_session::treatment::MediaClass;
use anabranch_session::{ReceiverStats, SenderStats};
use anabranch_transport::{ConnectionStats, PathReport, PathState, StreamStats};

use super::clip::ClipLayer;
use super::delay::millis;
use super::links::settings_of;
use super::narrator::page_id;
use crate::page::protocol::{self as page, AbandonedTally, LayerStats, PathInfo, PathStats, Tally};

/// What the emulator counts of a datagram beyond its payload: IPv4 and UDP headers.
const HEADERS: u64 = 28;

impl ClipLayer {
    /// What of the treatment table carries it.
    const fn classes(self) -> &'static [MediaClass] {
        match self {
            Self::Base => &[MediaClass::KeyFrame, MediaClass::Reference],
            Self::Enhancement => &[MediaClass::Enhancement],
            Self::Sound => &[MediaClass::Audio],
        }
    }
}

/// One path, with what its link knows better than its ends.
pub(super) fn path_stats(path: &PathReport, link: Option<&EmulatedLinkStats>) -> PathStats {
    PathStats {
        info: path_info(path, link),
        state: page_state(path.state),
        primary: path.is_current,
        rtt_ms: path.srtt.map(millis),
        cwnd_bytes: Some(path.window as u64),
        flight_bytes: Some(path.in_flight as u64),
        sent_packets: Some(path.packets_sent),
        lost_packets: link.map(|link| link.up.dropped.total().packets),
        sent_bytes: Some(path.bytes_sent),
        delivered_bytes: link.map(|link| payload(link.up.delivered)),
        link: link.map(settings_of),
    }
}

/// A path by its number, name and addresses.
fn path_info(path: &PathReport, link: Option<&EmulatedLinkStats>) -> PathInfo {
    PathInfo {
        id: page_id(path.id),
        name: link.map(|link| link.name.clone()),
        local: path.tuple.local.to_string(),
        remote: path.tuple.remote.to_string(),
    }
}

/// All paths, in the order of the links.
pub(super) fn paths(
    connection: Option<&ConnectionStats>,
    links: &[EmulatedLinkStats],
) -> Vec<PathStats> {
    let paths = connection.map_or(&[][..], |connection| &connection.paths);
    paths.iter().map(|path| path_stats(path, links.get(path.id.0 as usize))).collect()
}

/// All layers.
pub(super) fn layers(sender: &SenderStats, receiver: &ReceiverStats) -> Vec<LayerStats> {
    ClipLayer::ALL.into_iter().map(|layer| layer_stats(layer, sender, receiver)).collect()
}

/// What was abandoned of each layer.
pub(super) fn abandoned(sender: &SenderStats) -> Vec<(ClipLayer, AbandonedTally)> {
    let of = |layer: ClipLayer| abandoned_tally(&stream_of(layer, sender), dropped(layer, sender));
    ClipLayer::ALL.into_iter().map(|layer| (layer, of(layer))).collect()
}

fn layer_stats(layer: ClipLayer, sender: &SenderStats, receiver: &ReceiverStats) -> LayerStats {
    let stream = stream_of(layer, sender);
    let mut in_time = Tally::default();
    let mut late = Tally::default();
    for class in layer.classes() {
        let came = receiver.class(*class);
        in_time = in_time + Tally { messages: came.in_time, bytes: came.in_time_bytes };
        late = late + Tally { messages: came.late, bytes: came.late_bytes };
    }
    let retransmitted =
        Tally { messages: stream.chunks_retransmitted, bytes: stream.bytes_retransmitted };
    LayerStats {
        id: layer.id().to_owned(),
        sent: Some(Tally { messages: stream.messages_sent, bytes: stream.bytes_sent }),
        in_time,
        late,
        retransmitted: Some(retransmitted),
        abandoned: Some(abandoned_tally(&stream, dropped(layer, sender))),
    }
}

fn stream_of(layer: ClipLayer, sender: &SenderStats) -> StreamStats {
    let mut sum = StreamStats::default();
    for class in layer.classes() {
        sum.add(&sender.class(*class).stream);
    }
    sum
}

/// Messages that never reached the transport: nobody was there, or there was no room.
fn dropped(layer: ClipLayer, sender: &SenderStats) -> u64 {
    layer.classes().iter().map(|class| sender.class(*class)).map(|it| it.dropped + it.unsent).sum()
}

/// The transport counts abandoned messages, not their bytes: each counts as long as the mean of its
/// layer.
fn abandoned_tally(stream: &StreamStats, dropped: u64) -> AbandonedTally {
    let tally = |messages: u64| {
        let bytes = u128::from(messages) * u128::from(stream.bytes_queued);
        let bytes = bytes / u128::from(stream.messages_queued.max(1));
        Tally { messages, bytes: u64::try_from(bytes).unwrap_or(u64::MAX) }
    };
    AbandonedTally {
        lifetime: tally(stream.abandoned_expired),
        retransmissions: tally(stream.abandoned_retransmissions),
        before_sending: tally(stream.abandoned_unsent + dropped),
    }
}

const fn page_state(state: PathState) -> page::PathState {
    match state {
        PathState::Active => page::PathState::Active,
        PathState::PotentiallyFailed => page::PathState::PotentiallyFailed,
        PathState::Inactive => page::PathState::Inactive,
        PathState::Unconfirmed => page::PathState::Unconfirmed,
    }
}

/// Bytes of UDP payload.
const fn payload(traffic: Traffic) -> u64 {
    traffic.bytes.saturating_sub(HEADERS * traffic.packets)
}
