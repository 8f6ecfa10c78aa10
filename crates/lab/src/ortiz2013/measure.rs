//! [`Measured`]: what a cell measures, in all and second by second.

use anabranch_sansio::Time;
use serde::{Deserialize, Serialize};

use super::cell::Setup;
use super::watch::{LinkSecond, LinkSeconds};
use crate::svc::{Pictures, VideoPacket};

/// When each packet of the video arrived, by its number.
pub(super) type Arrivals = Vec<Option<Time>>;

/// What a transport made of the video.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    pub(super) arrivals: Arrivals,
    /// Packets that were sent again.
    pub(super) retransmissions: u64,
    /// Retransmission timers that expired.
    pub(super) timeouts: u64,
    /// Packets of video that arrived and that the receiver had no room for.
    pub(super) discarded_by_receiver: u64,
}

/// The results of one run of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// In all.
    pub outcome: Outcome,
    /// Second by second, from the beginning of the video to the last packet.
    pub seconds: Vec<Second>,
}

/// The results of one cell in all.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Packets that the encoder handed over.
    pub packets: usize,
    /// Those that arrived.
    pub arrived: usize,
    /// The mean one-way delay over all packets that arrived, in seconds: "avg diff time".
    pub delay_s: f64,
    /// The mean over the seconds of the video of each second's mean, in seconds.
    pub delay_by_second_s: f64,
    /// The mean PSNR-Y over all frames, in dB; none of a film, which is not scored.
    pub psnr_y_db: Option<f64>,
    /// Frames shown with both layers, of a film with the one that they have.
    pub frames_full: usize,
    /// Frames shown from the base layer.
    pub frames_base: usize,
    /// Frames that could not be decoded, of a film those that were not all there.
    pub frames_repeated: usize,
    /// Those of them that other pictures refer to; of a film alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_missing: Option<usize>,
    /// Packets that the links lost, towards the receiver.
    pub lost_on_links: u64,
    /// Packets that their queues had no room for.
    pub refused_by_queues: u64,
    /// Packets of video that the receiver had no room for: they came again, or never.
    pub discarded_by_receiver: u64,
    /// Packets of video that were sent again.
    pub retransmissions: u64,
    /// Retransmission timers that expired.
    pub timeouts: u64,
    /// How long it took from the beginning of the video until the network was at rest, in seconds.
    pub duration_s: usize,
}

/// One second of a cell: what the paper's figures show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// From the beginning of the video.
    pub second: usize,
    /// What the first interface sent on its link, in Mbit/s of IP packets.
    pub eth0_mbps: f64,
    /// Packets of the first interface that the link lost or its queue had no room for.
    pub eth0_discards: u32,
    /// As `eth0_mbps`, of the second interface.
    pub eth1_mbps: f64,
    /// As `eth0_discards`, of the second interface.
    pub eth1_discards: u32,
    /// Mean one-way delay of what was handed over in this second and arrived, in seconds.
    pub delay_s: Option<f64>,
    /// What was handed over in this second and never arrived, in Mbit/s of video.
    pub loss_mbps: f64,
    /// Mean PSNR-Y of the frames of this second, in dB; none of a film.
    pub psnr_y_db: Option<f64>,
}

impl Measured {
    pub(super) fn of(setup: &Setup, delivery: &Delivery, links: &LinkSeconds) -> Self {
        let (arrivals, start) = (&delivery.arrivals, setup.values().start());
        let pictures = setup.video.seen(&setup.packets, arrivals);
        let seconds = seconds(setup, start, arrivals, &pictures, links);
        let delays = setup.packets.iter().zip(arrivals);
        let delays = delays.filter_map(|(packet, arrival)| Some(delay(packet, start, (*arrival)?)));
        let all = || links.iter().flatten();
        let outcome = Outcome {
            packets: setup.packets.len(),
            arrived: arrivals.iter().flatten().count(),
            delay_s: mean(delays).unwrap_or_default(),
            delay_by_second_s: mean(seconds.iter().filter_map(|it| it.delay_s)).unwrap_or_default(),
            psnr_y_db: setup.video.film().is_none().then(|| pictures.psnr_y()),
            frames_full: pictures.full,
            frames_base: pictures.base,
            frames_repeated: pictures.repeated,
            base_missing: setup.video.base_missing(&setup.packets, arrivals),
            lost_on_links: all().map(|second| u64::from(second.lost)).sum(),
            refused_by_queues: all().map(|second| u64::from(second.refused)).sum(),
            discarded_by_receiver: delivery.discarded_by_receiver,
            retransmissions: delivery.retransmissions,
            timeouts: delivery.timeouts,
            duration_s: seconds.len(),
        };
        Self { outcome, seconds }
    }
}

fn seconds(
    setup: &Setup,
    start: Time,
    arrivals: &Arrivals,
    pictures: &Pictures,
    [eth0, eth1]: &LinkSeconds,
) -> Vec<Second> {
    let of_video = setup.seconds();
    let count = of_video.max(eth0.len()).max(eth1.len());
    let mut seconds: Vec<_> = (0..count).map(|second| of_links(second, eth0, eth1)).collect();
    let sent = setup.packets.iter().zip(arrivals);
    let mut delays = vec![Vec::new(); of_video];
    for (packet, arrival) in sent {
        let second = packet.at.as_secs() as usize;
        match arrival {
            Some(at) => delays[second].push(delay(packet, start, *at)),
            None => seconds[second].loss_mbps += f64::from(packet.len) * 8.0 / 1e6,
        }
    }
    for (second, delays) in seconds.iter_mut().zip(delays) {
        second.delay_s = mean(delays.into_iter());
        // A film has no scores.
        let scores = pictures.frames.get(setup.frames_in(second.second)).unwrap_or_default();
        second.psnr_y_db = mean(scores.iter().copied());
    }
    seconds
}

fn of_links(second: usize, eth0: &[LinkSecond], eth1: &[LinkSecond]) -> Second {
    let at = |link: &[LinkSecond]| link.get(second).copied().unwrap_or_default();
    let (eth0, eth1) = (at(eth0), at(eth1));
    let mbps = |link: LinkSecond| link.bytes as f64 * 8.0 / 1e6;
    Second {
        second,
        eth0_mbps: mbps(eth0),
        eth0_discards: eth0.lost + eth0.refused,
        eth1_mbps: mbps(eth1),
        eth1_discards: eth1.lost + eth1.refused,
        ..Second::default()
    }
}

fn delay(packet: &VideoPacket, start: Time, arrival: Time) -> f64 {
    arrival.saturating_since(packet.sent_at(start)).as_secs_f64()
}

/// `None` where there is nothing.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
