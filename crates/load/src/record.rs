//! [`Record`]: what one viewer experienced.

use std::time::Duration;

use anabranch_media::decoding::MediaTrack;
use anabranch_sansio::Time;
use anabranch_television::channel::ChannelId;
use anabranch_television::{ReceivedUnit, ViewerEvent};

/// A channel that shows nothing for so long has failed to switch.
pub(crate) const ZAP_MAX: Duration = Duration::from_secs(4);

/// What one viewer experienced.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// What there is to watch, once the server has told.
    pub(crate) channels: Vec<ChannelId>,
    /// The channel that was asked for, and when, until its first picture is there.
    asked: Option<(ChannelId, Time)>,
    watches: Option<ChannelId>,
    /// From the key to the first picture.
    pub(crate) zaps: Vec<Duration>,
    /// Keys that brought no picture in time.
    pub(crate) failed_zaps: u64,
    /// When the last unit came, or the viewer asked for a channel.
    last: Option<Time>,
    /// The longest time without a unit.
    pub(crate) longest_gap: Duration,
    pub(crate) units: u64,
    pub(crate) bytes: u64,
    /// When the last urgent message came.
    pub(crate) urgent: Option<Time>,
    /// Why the viewer is out.
    pub(crate) closed: Option<String>,
}

impl Record {
    /// The viewer presses a key.
    pub(crate) fn on_key(&mut self, now: Time, channel: ChannelId) {
        self.settle(now);
        // A key that is pressed before the last one took effect is no failure.
        self.asked = Some((channel, now));
        self.watches = Some(channel);
        self.last = Some(self.last.unwrap_or(now));
    }

    pub(crate) fn watches(&self) -> Option<ChannelId> {
        self.watches
    }

    pub(crate) fn on_event(&mut self, now: Time, event: &ViewerEvent) {
        if let ViewerEvent::Welcome { channels, .. } | ViewerEvent::Channels(channels) = event {
            let on_air = channels.iter().filter(|channel| channel.on_air);
            self.channels = on_air.map(|channel| channel.id).collect();
        } else if let ViewerEvent::Unit(unit) = event {
            self.on_unit(now, unit);
        } else if let ViewerEvent::Urgent(_) = event {
            self.urgent = Some(now);
        } else if let ViewerEvent::Bye(text) = event {
            self.closed.get_or_insert_with(|| text.clone());
        }
    }

    fn on_unit(&mut self, now: Time, unit: &ReceivedUnit) {
        self.note_gap(now);
        self.last = Some(now);
        self.units += 1;
        self.bytes += unit.unit.bytes.len() as u64;
        if let Some((_, at)) = self.asked
            && unit.kind() == MediaTrack::Video
        {
            self.zaps.push(now - at);
            self.asked = None;
        }
    }

    /// Counts what is overdue.
    pub(crate) fn settle(&mut self, now: Time) {
        self.note_gap(now);
        if self.asked.is_some_and(|(_, at)| now - at > ZAP_MAX) {
            self.failed_zaps += 1;
            self.asked = None;
        }
    }

    fn note_gap(&mut self, now: Time) {
        if let Some(last) = self.last {
            self.longest_gap = self.longest_gap.max(now - last);
        }
    }
}
