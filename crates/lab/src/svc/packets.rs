//! What is sent of a video, and when.

use std::time::Duration;

use anabranch_sansio::Time;

use super::trace::{Frame, Trace};

/// Payload of the papers' full packets: 1460 bytes with the 12 of an RTP header.
pub const PAYLOAD_MAX: u32 = 1_448;

/// One of the two layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Can be decoded alone.
    Base,
    /// Needs the base layer of its picture.
    Enhancement,
}

/// A packet of video.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VideoPacket {
    /// When the encoder hands it over, from the beginning of the video.
    pub at: Duration,
    /// The frame's number.
    pub frame: usize,
    /// The layer.
    pub layer: Layer,
    /// Bytes.
    pub len: u32,
}

impl VideoPacket {
    /// When it is handed over, if the video begins at `start`.
    #[must_use]
    pub fn sent_at(&self, start: Time) -> Time {
        start + self.at
    }
}

/// The packets of a video in the order they are sent in: base layer first, each slice cut into full
/// packets of so many bytes and a rest, spread evenly over the frame's time.
#[must_use]
pub fn packets(trace: &Trace, frame_time: Duration, payload_max: u32) -> Vec<VideoPacket> {
    let mut packets = Vec::new();
    for (number, frame) in trace.frames.iter().enumerate() {
        let first = packets.len();
        for (layer, len) in cut(frame, payload_max) {
            packets.push(VideoPacket { at: Duration::ZERO, frame: number, layer, len });
        }
        let begin = frame_time * number as u32;
        let of_frame = &mut packets[first..];
        let count = of_frame.len() as u32;
        for (index, packet) in (0..).zip(of_frame) {
            packet.at = begin + frame_time * index / count;
        }
    }
    packets
}

fn cut(frame: &Frame, payload_max: u32) -> impl Iterator<Item = (Layer, u32)> {
    let base = frame.base.iter().map(|slice| (Layer::Base, *slice));
    let enhancement = frame.enhancement.iter().map(|slice| (Layer::Enhancement, *slice));
    base.chain(enhancement).flat_map(move |(layer, slice)| {
        let full = std::iter::repeat_n(payload_max, (slice / payload_max) as usize);
        let rest = Some(slice % payload_max).filter(|rest| *rest > 0);
        full.chain(rest).map(move |len| (layer, len))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME_TIME: Duration = Duration::from_millis(40);

    #[test]
    fn a_frame_goes_out_base_first_and_evenly_over_its_time() {
        let trace = Trace::jsvm_720p25();
        let packets = packets(&trace, FRAME_TIME, PAYLOAD_MAX);
        let second: Vec<_> = packets.iter().filter(|packet| packet.frame == 1).collect();
        let bytes: u32 = second.iter().map(|packet| packet.len).sum();
        assert_eq!(bytes, trace.frames[1].len());
        assert!(second.iter().all(|packet| packet.len <= PAYLOAD_MAX));
        assert!(second.is_sorted_by_key(|packet| (packet.layer, packet.at)));
        assert_eq!(second[0].at, FRAME_TIME);
        let gaps: Vec<_> = second.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
        let even = FRAME_TIME / second.len() as u32;
        assert!(gaps.iter().all(|gap| gap.abs_diff(even) <= Duration::from_nanos(2)));
    }

    #[test]
    fn slices_share_no_packet() {
        let mut trace = Trace::jsvm_720p25();
        trace.frames.truncate(1);
        trace.frames[0].base = [PAYLOAD_MAX, PAYLOAD_MAX + 1, 7, 0];
        trace.frames[0].enhancement = [0, 0, 0, 2];
        let lens: Vec<_> =
            packets(&trace, FRAME_TIME, PAYLOAD_MAX).iter().map(|packet| packet.len).collect();
        assert_eq!(lens, [PAYLOAD_MAX, PAYLOAD_MAX, 1, 7, 2]);
    }
}
