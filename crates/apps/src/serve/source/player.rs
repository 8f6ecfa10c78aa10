//! [`Player`]: tells a listener the media of a source, as it comes or at its time.

use std::time::Duration;

use anabranch_driver::Clock;
use anabranch_media::Unit;
use anabranch_media::clip::Clip;
use anabranch_media::ts::{Found, Packet, ReadError};
use anabranch_sansio::Time;
use anabranch_session::SourceFormat;

use super::broadcast::Broadcast;
use super::clip;
use super::film::Film;
use super::{Listener, SILENCE_MAX, SourceEvent};
use crate::input::InputError;
use crate::input::{Batch, Feed, Item, Media, Reading, Timing};

/// Media of a file that is late by more was held up by the machine: the rest of it keeps its
/// distances from now on.
const LATENESS_MAX: Duration = Duration::from_secs(2);

/// What is due within so long is told at once: the packets of a file are due one by one, and
/// waking up for each would cost more than all else that is done for it. Half a picture's time
/// moves none of them noticeably.
const GRAIN: Duration = Duration::from_millis(20);

/// How an input ended.
#[derive(Debug)]
pub(super) struct Ending {
    /// Whether any media came.
    pub(super) has_come: bool,
    /// What is wrong, unless it just ended.
    pub(super) error: Option<InputError>,
}

impl Ending {
    /// Whether it ended without a single byte.
    pub(super) fn is_empty(&self) -> bool {
        let Some(InputError::Read { source: ReadError::NotMpegTs(not), .. }) = &self.error else {
            return false;
        };
        not.found == Found::Nothing
    }
}

/// Plays one input, or several in a row.
#[derive(Debug)]
pub(super) struct Player<'a, L> {
    clock: Clock,
    listener: &'a mut L,
    broadcast: Broadcast,
    /// When the first packet of the round was due.
    start: Option<Time>,
    /// When the last one was due, after the first.
    length: Duration,
    has_come: bool,
}

impl<'a, L: Listener> Player<'a, L> {
    pub(super) fn new(clock: Clock, listener: &'a mut L) -> Self {
        listener.tell(SourceEvent::NewStream);
        Self {
            clock,
            listener,
            broadcast: Broadcast::new(),
            start: None,
            length: Duration::ZERO,
            has_come: false,
        }
    }

    /// Plays an input to its end.
    pub(super) async fn play(&mut self, mut feed: Feed) -> Ending {
        self.has_come = false;
        if let SourceFormat::Clip(header) = &feed.format {
            self.listener.tell(SourceEvent::NoStream);
            self.listener.tell(clip::description(header));
        }
        loop {
            let batch = match feed.timing {
                Timing::Arrival => self.wait_for(&mut feed).await,
                Timing::Media | Timing::None => feed.next().await,
            };
            let error = match batch {
                Some(Ok(Reading::Note(text))) => {
                    self.note(text);
                    continue;
                }
                Some(Ok(Reading::Items(items))) => {
                    self.take(items, feed.timing).await;
                    continue;
                }
                Some(Err(error)) => Some(error),
                None => None,
            };
            return Ending { has_come: self.has_come, error };
        }
    }

    /// Plays a clip for ever.
    pub(super) async fn play_clip(&mut self, clip: &Clip) {
        let header = clip.header();
        self.listener.tell(SourceEvent::NoStream);
        self.listener.tell(clip::description(header));
        for unit in clip.looped() {
            let at = Time::from_micros(unit.pts_us);
            let now = self.due(at).await;
            self.take_unit(unit.into_unit(now, header.video.layers));
        }
    }

    /// Plays a film to its end.
    pub(super) async fn play_film(&mut self, mut film: Film) -> Ending {
        self.has_come = false;
        self.listener.tell(SourceEvent::NoStream);
        self.broadcast.begin(film.formats);
        while let Some(timed) = film.units.recv().await {
            let (at, unit) = match timed {
                Ok(timed) => timed,
                Err(error) => return Ending { has_come: self.has_come, error: Some(error) },
            };
            let now = self.due(Time::ZERO + at).await;
            (self.length, self.has_come) = (at, true);
            self.broadcast.handle_unit(now, unit);
            self.tell_all();
        }
        Ending { has_come: self.has_come, error: None }
    }

    /// Plays packets at their times.
    pub(super) async fn play_packets(&mut self, items: &[(Time, Packet)]) {
        let mut rest = items;
        while let Some(&(first, _)) = rest.first() {
            let now = self.due(first).await;
            let start = self.start.unwrap_or(now);
            let is_due = |(at, _): &&(Time, Packet)| start + (*at - Time::ZERO) <= now + GRAIN;
            let count = rest.iter().take_while(is_due).count().max(1);
            let (due, later) = rest.split_at(count.min(rest.len()));
            self.length = due.last().map_or(self.length, |(at, _)| *at - Time::ZERO);
            self.take_packets(now, due.iter().map(|(_, packet)| *packet).collect());
            rest = later;
        }
    }

    /// What comes next begins right behind what was played.
    pub(super) fn end_round(&mut self) {
        let now = self.clock.now();
        let length = self.broadcast.end_round(now, self.length);
        self.tell_all();
        self.start = self.start.map(|start| start + length);
        self.length = Duration::ZERO;
    }

    /// Something that whoever runs the server should know.
    pub(super) fn note(&mut self, text: String) {
        self.listener.tell(SourceEvent::Note(text));
    }

    /// The next batch of a source that comes as it likes, which is told to be lost meanwhile if it
    /// falls silent.
    async fn wait_for(&mut self, feed: &mut Feed) -> Option<Batch> {
        let silent_at = self.clock.now() + SILENCE_MAX;
        loop {
            let held = self.broadcast.poll_timeout();
            let silence = self.has_come.then_some(silent_at);
            let Some(wakeup) = held.into_iter().chain(silence).min() else {
                return feed.next().await;
            };
            tokio::select! {
                batch = feed.next() => return batch,
                () = tokio::time::sleep_until(self.clock.instant(wakeup).into()) => {}
            }
            let now = self.clock.now();
            self.broadcast.handle_timeout(now);
            self.tell_all();
            if self.has_come && now >= silent_at {
                self.lose("nothing has come for 3 seconds");
            }
        }
    }

    fn lose(&mut self, reason: &str) {
        self.listener.tell(SourceEvent::Lost(reason.to_owned()));
        self.listener.tell(SourceEvent::NewStream);
        self.broadcast = Broadcast::new();
        self.has_come = false;
    }

    async fn take(&mut self, items: Vec<Item>, timing: Timing) {
        let mut packets = Vec::new();
        for item in items {
            match item.media {
                Media::Packet(packet) => packets.push((item.at, packet)),
                Media::Unit(unit) => {
                    let at = match timing {
                        Timing::Media => self.due(item.at).await,
                        Timing::Arrival | Timing::None => self.clock.now(),
                    };
                    self.take_unit(Unit { at, ..unit });
                }
            }
        }
        match timing {
            Timing::Media => self.play_packets(&packets).await,
            Timing::Arrival | Timing::None => {
                let packets = packets.into_iter().map(|(_, packet)| packet).collect();
                self.take_packets(self.clock.now(), packets);
            }
        }
    }

    fn take_unit(&mut self, unit: Unit) {
        self.has_come = true;
        self.listener.tell(SourceEvent::Unit(unit));
    }

    fn take_packets(&mut self, now: Time, packets: Vec<Packet>) {
        if packets.is_empty() {
            return;
        }
        self.has_come = true;
        for packet in &packets {
            self.broadcast.handle_packet(now, packet);
        }
        if !self.broadcast.lacks_tables() {
            self.listener.tell(SourceEvent::Packets(packets));
        }
        self.tell_all();
    }

    fn tell_all(&mut self) {
        while let Some(event) = self.broadcast.poll() {
            self.listener.tell(event);
        }
    }

    /// Waits until what stands at `at` in the media is due; answers with the time.
    async fn due(&mut self, at: Time) -> Time {
        let (at, now) = (at - Time::ZERO, self.clock.now());
        let start = *self.start.get_or_insert(now);
        if now > start + at + LATENESS_MAX {
            self.start = Some(now.saturating_sub(at));
            return now;
        }
        if now < start + at {
            tokio::time::sleep_until(self.clock.instant(start + at).into()).await;
        }
        self.clock.now()
    }
}
