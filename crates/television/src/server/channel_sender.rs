//! [`ChannelSender`]: sends one channel to one viewer (Kim 2007, section 3).

use std::time::Duration;

use anabranch_media::{Class, Layer, Track};
use anabranch_sansio::{Time, TraceLog};
use anabranch_session::dropping::{Dropping, LackOfRoom, Prospect, UnitKey, Verdict};
use anabranch_session::treatment::MediaClass;
use anabranch_transport::{Connection, Outgoing, Reliability, SendError};

use super::ViewerId;
use super::backpressure::Backpressure;
use super::quality::Quality;
use crate::channel::{Channel, ChannelId, Part};
use crate::lifetime::lifetime;
use crate::protocol::{PPID_BINARY, Slot, StreamRole};

/// What came before the viewer is sent so many times faster than it came.
const BURST: u32 = 4;

/// A viewer who began behind the live edge plays so much faster until it has caught up: a
/// twentieth.
const CATCH_UP: u32 = 20;

/// A viewer that takes nothing for so much longer than its budget stands still: more than a round
/// trip, within which nothing can be acknowledged.
const STANDSTILL: Duration = Duration::from_secs(1);

/// A key frame may take so much longer than at the rate of the media: where the network carries far
/// less, one now and then is all that can be seen.
const KEY_FRAME_PATIENCE: usize = 4;

const SECOND: Duration = Duration::from_secs(1);

/// Sends one channel to one viewer.
#[derive(Debug)]
pub(super) struct ChannelSender {
    channel: ChannelId,
    slot: Slot,
    session: u16,
    /// The next part, and which of its messages.
    next: u64,
    message: usize,
    /// When the viewer asked, or the source began anew.
    started: Time,
    /// When the first part that it gets had come.
    first_at: Option<Time>,
    dropping: Dropping,
    /// When the next second of its dropping ends.
    tick_at: Time,
    quality: Quality,
    backpressure: Backpressure,
    counts: Counts,
}

/// What became of the channel's parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) sent: u64,
    pub(super) skipped: u64,
    pub(super) bytes: u64,
}

/// Why a sender stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// There is nothing to send before something comes.
    CaughtUp,
    /// The transport has no room.
    Full,
    /// The next part is not to be sent before.
    Until(Time),
}

/// What a sender goes by for once.
pub(super) struct Turn<'a> {
    pub(super) now: Time,
    pub(super) channel: &'a Channel,
    /// How long the viewer waits for a picture.
    pub(super) budget: Duration,
    pub(super) connection: &'a mut dyn Connection,
    /// Takes what is left out, for who asks why, under the viewer's name.
    pub(super) records: &'a mut TraceLog,
    pub(super) viewer: ViewerId,
}

impl ChannelSender {
    /// Begins with the last key frame that the channel keeps.
    pub(super) fn new(now: Time, slot: Slot, id: ChannelId, channel: &Channel) -> Self {
        // Of the sources of channels only clips have layers.
        let mut dropping = Dropping::new(true);
        // A picture that comes before the first key frame is of no use.
        dropping.break_off();
        Self {
            channel: id,
            slot,
            session: channel.session(),
            next: channel.entry_point(),
            message: 0,
            started: now,
            first_at: None,
            dropping,
            tick_at: now + SECOND,
            quality: Quality::new(now),
            backpressure: Backpressure::new(now),
            counts: Counts::default(),
        }
    }

    pub(super) const fn channel(&self) -> ChannelId {
        self.channel
    }

    pub(super) const fn slot(&self) -> Slot {
        self.slot
    }

    pub(super) const fn counts(&self) -> Counts {
        self.counts
    }

    /// What the viewer does without, in words.
    pub(super) fn reduction(&self) -> Option<&'static str> {
        self.quality.reduction()
    }

    /// What the viewer is to be told of the quality that it gets.
    pub(super) fn poll_notice(&mut self, now: Time) -> Option<String> {
        self.quality.poll_notice(now)
    }

    /// Sends what the time and the transport allow.
    pub(super) fn pump(&mut self, turn: &mut Turn<'_>) -> Pause {
        let now = turn.now;
        self.follow(now, turn.channel);
        self.tick(now);
        self.backpressure.look(now, turn.connection.bytes_acked(), turn.budget / 4);
        // What would be handed over now would be too old once the viewer goes on.
        let is_standing = self.backpressure.is_standing(now, turn.budget + STANDSTILL);
        if is_standing && !turn.connection.is_drained() {
            return Pause::Full;
        }
        let pause = self.hand_over(turn);
        match pause {
            Pause::Full => self.backpressure.on_full(now),
            Pause::CaughtUp | Pause::Until(_) => self.backpressure.on_done(),
        }
        pause
    }

    fn hand_over(&mut self, turn: &mut Turn<'_>) -> Pause {
        let (now, channel) = (turn.now, turn.channel);
        while let Some(part) = channel.part(self.next) {
            if self.message == 0 {
                let due = self.due(part.at);
                if due > now {
                    return Pause::Until(due);
                }
                let lag = now.saturating_since(self.wanted(now, part.at));
                if lag > turn.budget && self.jump(now, channel) {
                    continue;
                }
                if !self.goes(turn, part, lag) {
                    self.counts.skipped += 1;
                    self.next += 1;
                    continue;
                }
            }
            if !self.send(turn, part) {
                return Pause::Full;
            }
        }
        Pause::CaughtUp
    }

    /// The source may have begun anew, or gone on without us.
    fn follow(&mut self, now: Time, channel: &Channel) {
        if self.session != channel.session() {
            let counts = self.counts;
            *self = Self::new(now, self.slot, self.channel, channel);
            self.counts = counts;
        } else if self.next < channel.start() {
            self.counts.skipped += channel.start() - self.next;
            self.enter(now, channel.start());
            self.dropping.break_off();
        }
    }

    /// Goes on at the last key frame, if that is ahead.
    fn jump(&mut self, now: Time, channel: &Channel) -> bool {
        let entry = channel.entry_point();
        let is_ahead = entry > self.next && entry < channel.end();
        if is_ahead {
            self.counts.skipped += entry - self.next;
            self.enter(now, entry);
        }
        is_ahead
    }

    /// Goes on somewhere else: what follows is new to the viewer.
    const fn enter(&mut self, now: Time, part: u64) {
        (self.next, self.message) = (part, 0);
        (self.started, self.first_at) = (now, None);
    }

    /// Whether a part is sent, which is so late.
    fn goes(&mut self, turn: &mut Turn<'_>, part: &Part, lag: Duration) -> bool {
        let class = MediaClass::of(part.class, part.layer);
        self.dropping.offer(class, part.bytes);
        // The server's own delay, or the source's, says nothing about the viewer.
        let late = lag.min(self.backpressure.held_up());
        let signal = turn.connection.rate();
        let known = signal.filter(|signal| !signal.is_at_least);
        let left = known.map(|signal| {
            self.dropping.left_beside(signal.carries, |other| goes_before(other, class))
        });
        let priority = self.role(part.class, part.layer).priority();
        let (carries, ahead) = match (left, signal) {
            (Some(left), _) => (Some(left), turn.connection.queued_at(priority) + part.bytes),
            // The network may carry more; but nothing that refines takes the room that the base
            // needs.
            (None, Some(signal)) if class == MediaClass::Enhancement => {
                (Some(signal.carries), turn.connection.queued())
            }
            (None, _) => (None, 0),
        };
        let prospect = {
            let wait = carries.map_or(Duration::ZERO, |rate| rate.time_for(ahead as u64));
            let Turn { budget, channel, .. } = turn;
            let lifetime = lifetime(*budget, channel.key_bytes(), channel.bits_per_second());
            Some(Prospect { wait: late.saturating_add(wait), lifetime })
        };
        let track = Track((part.class == Class::Audio).into());
        let unit = UnitKey { track, layer: part.layer, frame: part.frame };
        let verdict = self.dropping.decide(turn.now, unit, class, || prospect);
        if let Verdict::LacksRoom { next_key } = verdict {
            let lack = LackOfRoom { class, unit, prospect, next_key, carries, ahead };
            let (now, viewer) = (turn.now, turn.viewer);
            turn.records.push(|| lack.record(now).with("viewer", viewer.0));
        }
        if verdict != Verdict::Goes {
            turn.connection.note_left_out(turn.now);
        }
        verdict == Verdict::Goes
    }

    fn tick(&mut self, now: Time) {
        if now < self.tick_at {
            return;
        }
        self.tick_at = now + SECOND;
        self.dropping.tick(now);
        self.quality.set(now, self.dropping.reduced());
    }

    const fn role(&self, class: Class, layer: Layer) -> StreamRole {
        match (class, layer) {
            (Class::Audio, _) => StreamRole::Audio(self.slot),
            (_, Layer::BASE) => StreamRole::Base(self.slot),
            (_, _) => StreamRole::Enhancement(self.slot),
        }
    }

    /// When a part may be sent: what had come before the viewer did, faster than it came.
    fn due(&mut self, at: Time) -> Time {
        let first_at = *self.first_at.get_or_insert(at);
        self.started + at.saturating_since(first_at) / BURST
    }

    /// When the viewer wants a part: it plays as fast as the media from the first picture on, and
    /// slowly catches up.
    fn wanted(&self, now: Time, at: Time) -> Time {
        let behind =
            self.first_at.map_or(Duration::ZERO, |first| self.started.saturating_since(first));
        let caught_up = now.saturating_since(self.started) / CATCH_UP;
        at + behind.saturating_sub(caught_up)
    }

    /// Hands the rest of a part over; false if there is no room for all of it.
    fn send(&mut self, turn: &mut Turn<'_>, part: &Part) -> bool {
        let Turn { now, channel, budget, .. } = *turn;
        let stream = self.role(part.class, part.layer);
        let left = (self.wanted(now, part.at) + budget).saturating_since(now);
        let patience = if part.class == Class::KeyFrame { KEY_FRAME_PATIENCE } else { 1 };
        let length = patience * channel.key_bytes();
        let lifetime = lifetime(left, length, channel.bits_per_second());
        for payload in part.messages.iter().skip(self.message) {
            let message = Outgoing {
                ordered: false,
                reliability: Reliability::Lifetime(lifetime),
                ..Outgoing::new(stream.stream(), PPID_BINARY, payload.clone())
            };
            match turn.connection.send(now, message) {
                Ok(()) => self.counts.bytes += payload.len() as u64,
                Err(SendError::Full) => return false,
                // The viewer's stack has no such stream, or it is leaving.
                Err(_) => {}
            }
            self.message += 1;
        }
        self.counts.sent += 1;
        self.next += 1;
        self.message = 0;
        true
    }
}

/// Sound goes before pictures, and these before what refines them.
const fn goes_before(other: MediaClass, class: MediaClass) -> bool {
    match class {
        MediaClass::Enhancement => !matches!(other, MediaClass::Enhancement),
        MediaClass::KeyFrame | MediaClass::Reference | MediaClass::Disposable => {
            matches!(other, MediaClass::Audio)
        }
        MediaClass::Control
        | MediaClass::Tables
        | MediaClass::Audio
        | MediaClass::Data
        | MediaClass::Padding => false,
    }
}
