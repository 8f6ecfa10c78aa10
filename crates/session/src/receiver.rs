//! [`Receiver`]: a session in, media out.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use anabranch_media::Piece;
use anabranch_media::playout::{Config, Patience, Playout, PlayoutStats, Released, Timeliness};
use anabranch_sansio::{
    Datagram, FourTuple, Machine, Rng, Time, TraceLog, TraceRecord, Transmit, Wakeup,
};
use anabranch_transport::{ConnectionStats, Incoming, StrangerStats, Transport};

use super::link::{Input, Link};
use super::message::Message;
use super::outlet::{LeftOut, Outlet};
use super::{
    Advice, Agreement, Arrival, CallError, Event, Measures, ReceiverConfig, Report, Role, Source,
    advise,
};
use crate::treatment::MediaClass;

/// Media that came before the sender said what it is; more is dropped and counted as malformed.
const EARLY_MESSAGES_MAX: usize = 1_024;

/// Receives from one sender at a time, and hands its media on in order and at its time.
#[derive(Debug)]
pub struct Receiver {
    link: Link,
    playout: Playout,
    playout_bytes_max: usize,
    /// What the output gets of what is due.
    outlet: Outlet,
    /// Whether what arrived is left where it is, since the output waits.
    is_paused: bool,
    /// What playouts with another latency did before.
    before: PlayoutStats,
    /// Media of a session that another one replaced: due at once.
    leftover: VecDeque<Released>,
    source: Option<Source>,
    /// How many items the sender said there were.
    items: Option<u64>,
    /// The number behind the last item that was handed on.
    released: u64,
    /// Whether the sender was told that all of it is written.
    has_confirmed: bool,
    /// Media that overtook the sender's first words.
    early: VecDeque<Incoming>,
    due_reported: bool,
    last_release: Option<Time>,
    classes: [ClassArrivals; MediaClass::ALL.len()],
    arrivals: VecDeque<Arrival>,
    arrivals_max: usize,
    /// The sender's last measurements.
    measures: Measures,
    last: Option<ConnectionStats>,
    malformed: u64,
    records: TraceLog,
}

/// What arrived of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassArrivals {
    /// Messages that came in time.
    pub in_time: u64,
    /// Their bytes.
    pub in_time_bytes: u64,
    /// Messages that came late, in whole or in part.
    pub late: u64,
    /// Their bytes.
    pub late_bytes: u64,
}

/// What a receiver did and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceiverStats {
    /// Media by class; in the order of [`MediaClass::ALL`].
    pub classes: [ClassArrivals; MediaClass::ALL.len()],
    /// The playout. What was left out for the output does not count as released.
    pub playout: PlayoutStats,
    /// What was left out since the output did not take it.
    pub left_out: LeftOut,
    /// The connection with the sender, or the last one.
    pub connection: Option<ConnectionStats>,
    /// What the sender measured last.
    pub measures: Measures,
    /// Messages that are no media, or came before the sender said what it sends.
    pub malformed: u64,
    /// Datagrams that belong to no connection.
    pub strangers: StrangerStats,
}

impl ReceiverStats {
    /// What arrived of a class.
    #[must_use]
    pub const fn class(&self, class: MediaClass) -> &ClassArrivals {
        &self.classes[class.index()]
    }

    /// The latency to advise, from what the sender measured.
    #[must_use]
    pub fn advice(&self) -> Option<Advice> {
        advise(&self.measures)
    }
}

impl Receiver {
    /// A receiver without a sender, over SCTP or DCCP. The generator must be unpredictable on real
    /// networks.
    #[must_use]
    pub fn new(config: ReceiverConfig, rng: Rng) -> Self {
        let transport = config.session.transport(rng);
        Self::over(transport, config)
    }

    /// A receiver without a sender, over any transport.
    #[must_use]
    pub fn over(transport: Box<dyn Transport>, config: ReceiverConfig) -> Self {
        let ReceiverConfig { session, playout_bytes_max, arrivals_max } = config;
        let playout = playout(session.latency, playout_bytes_max);
        Self {
            link: Link::new(session, Role::Receiver, transport),
            playout,
            playout_bytes_max,
            outlet: Outlet::new(),
            is_paused: false,
            before: PlayoutStats::default(),
            leftover: VecDeque::new(),
            source: None,
            items: None,
            released: 0,
            has_confirmed: false,
            early: VecDeque::new(),
            due_reported: false,
            last_release: None,
            classes: [ClassArrivals::default(); MediaClass::ALL.len()],
            arrivals: VecDeque::new(),
            arrivals_max,
            measures: Measures::default(),
            last: None,
            malformed: 0,
            records: TraceLog::default(),
        }
    }

    /// Tells a listener which of its addresses callers may use beside the one they called.
    pub fn set_local_addresses(&mut self, locals: Vec<SocketAddr>) {
        self.link.set_local_addresses(locals);
    }

    /// Calls the sender at the other end of `paths`, the first of which is the primary.
    ///
    /// # Errors
    /// There is a peer already, or the transport refuses.
    pub fn connect(&mut self, now: Time, paths: &[FourTuple]) -> Result<(), CallError> {
        self.link.connect(now, paths, None)
    }

    /// The next items that are due at `now`.
    ///
    /// Invalidates the answers of all polls.
    #[must_use]
    pub fn poll_release(&mut self, now: Time) -> Option<Released> {
        if let Some(released) = self.leftover.pop_front() {
            return Some(released);
        }
        self.outlet.on_poll(now, self.behind(now));
        let released = self.next_released(now);
        if released.is_none() {
            self.give_up_rest(now);
            self.due_reported = false;
            self.last_release = Some(now);
            self.turn(now);
        }
        released
    }

    /// The next items that are due and that the output gets.
    fn next_released(&mut self, now: Time) -> Option<Released> {
        loop {
            if self.is_paused && self.is_to_read(now) {
                self.turn(now);
            }
            let released = self.playout.poll_release(now)?;
            self.released = self.released.max(released.position + released.items);
            if released.skipped > 0 {
                let record = || TraceRecord::new(now, "media:items_skipped");
                let (before, items) = (released.position, released.skipped);
                self.records.push(|| record().with("before", before).with("items", items));
            }
            // Where nothing is to be given up, the sender waits for a slow output.
            if self.is_complete() {
                return Some(released);
            }
            let latency = self.latency();
            if let Some(released) = self.outlet.pass(now, released, latency) {
                return Some(released);
            }
        }
    }

    /// How long what the output gets next is overdue.
    fn behind(&self, now: Time) -> Duration {
        self.playout.poll_timeout().map(|due| now - due.at).unwrap_or_default()
    }

    fn is_complete(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.complete)
    }

    /// Whether what arrived is read. Else it waits where it is kept by what matters most.
    fn is_to_read(&self, now: Time) -> bool {
        let due = self.playout.poll_timeout().map(|due| due.at);
        self.is_complete()
            || !self.leftover.is_empty()
            || self.outlet.is_to_read(now, due, self.latency())
    }

    /// What the sender said that there was, and that is missing at the very end, is given up where
    /// nothing more can come.
    fn give_up_rest(&mut self, now: Time) {
        let Some(items) = self.items.filter(|_| self.last.is_some() && !self.link.is_active())
        else {
            return;
        };
        let skipped = self.playout.end_at(items);
        if skipped > 0 {
            let record = || TraceRecord::new(now, "media:items_skipped");
            self.records.push(|| record().with("before", items).with("items", skipped));
        }
    }

    /// The next arrival, if [`ReceiverConfig::arrivals_max`] is not 0.
    pub fn poll_arrival(&mut self) -> Option<Arrival> {
        self.arrivals.pop_front()
    }

    /// Ends the session at once. The sender is told why.
    pub fn leave(&mut self, now: Time, reason: &str) {
        self.link.leave(now, reason);
        self.turn(now);
    }

    /// Whether the sender waits to hear that all of its media is written: it has ended, and all was
    /// handed on.
    #[must_use]
    pub fn is_to_confirm(&self) -> bool {
        let is_whole = self.items.is_some_and(|items| self.released >= items);
        let is_complete = self.source.as_ref().is_some_and(|source| source.complete);
        is_whole && is_complete && !self.has_confirmed && self.is_drained()
    }

    /// Tells the sender that all of its media is written.
    pub fn confirm(&mut self, now: Time) {
        self.has_confirmed = true;
        self.link.send_control(now, &Message::Kept);
        self.turn(now);
    }

    /// Whether a sender is there and media may come.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.link.is_active()
    }

    /// Whether a sender is there or was called.
    #[must_use]
    pub const fn has_peer(&self) -> bool {
        self.link.has_peer()
    }

    /// Whether all media that came was handed on.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.leftover.is_empty() && self.playout.is_empty()
    }

    /// What the sender said of its media, once there was one.
    #[must_use]
    pub const fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    /// How many items the source had, once the sender ended it.
    #[must_use]
    pub const fn items(&self) -> Option<u64> {
        self.items
    }

    /// The latency in force.
    #[must_use]
    pub const fn latency(&self) -> Duration {
        self.playout.latency()
    }

    /// How times of the sender are carried over to this end's clock.
    #[must_use]
    pub const fn playout(&self) -> &Playout {
        &self.playout
    }

    /// Counters. Those of media never go down, whoever the sender is.
    #[must_use]
    pub fn stats(&self) -> ReceiverStats {
        let present = self.link.connection().map(|connection| connection.stats());
        let left_out = self.outlet.left_out();
        let mut playout = sum(&self.before, &self.playout.stats());
        playout.released_items -= left_out.items;
        playout.released_bytes -= left_out.bytes;
        ReceiverStats {
            classes: self.classes,
            playout,
            left_out,
            connection: present.or_else(|| self.last.clone()),
            measures: self.measures.clone(),
            malformed: self.malformed,
            strangers: self.link.strangers(),
        }
    }

    /// Does what any input may have made possible.
    fn turn(&mut self, now: Time) {
        // All or nothing: what matters most is read first, and what comes before it in the media
        // must not be passed over for it.
        let is_to_read = self.is_to_read(now);
        loop {
            while let Some(input) = self.link.poll_input() {
                self.on_input(now, input);
            }
            if !is_to_read || !self.has_room() || !self.link.read_next(now) {
                break;
            }
        }
        self.is_paused = !is_to_read;
        if is_to_read {
            self.outlet.on_read(now);
        }
        let report = self.outlet.report(self.behind(now), self.latency());
        if self.outlet.is_news(now, report.as_ref()) {
            self.send_report(now);
        }
        self.link.flush_control(now);
    }

    /// Where nothing is given up, a sender that is faster than the media's own time is held back by
    /// the transport's window, unless what comes may be what all the rest waits for.
    fn has_room(&self) -> bool {
        !self.is_complete()
            || self.playout.is_blocked()
            || self.playout.stats().queued_bytes < self.playout_bytes_max / 2
    }

    fn on_input(&mut self, now: Time, input: Input) {
        match input {
            Input::Connected(agreement) => self.on_connected(now, &agreement),
            Input::Control(message) => self.on_control(now, *message),
            Input::Media(message) if self.source.is_none() => self.keep_early(message),
            Input::Media(message) => self.on_media(now, &message),
            Input::Tick => {
                for notice in self.outlet.tick(now) {
                    self.link.tell(Event::OutputBehind(notice));
                }
                self.send_report(now);
            }
            Input::Disconnected { stats, .. } => {
                self.last = Some(*stats);
                self.early.clear();
                // What is missing will not come: what did come is played out in its time.
                self.playout.set_patience(Patience::UntilDue);
                self.give_up_rest(now);
            }
        }
    }

    fn on_control(&mut self, now: Time, message: Message) {
        match message {
            Message::Source(source) => {
                self.link.tell(Event::SourceChanged(source.clone()));
                self.begin(now, source);
            }
            Message::End { items } => {
                self.items = Some(items);
                // All may be handed on already.
                self.link.tell(Event::MediaDue);
            }
            Message::Measures(measures) => self.measures = measures,
            Message::Hello(_)
            | Message::Accept(_)
            | Message::Refuse(_)
            | Message::Report(_)
            | Message::Kept
            | Message::Unknown => {}
        }
    }

    fn on_connected(&mut self, now: Time, agreement: &Agreement) {
        (self.items, self.has_confirmed) = (None, false);
        if agreement.latency != self.playout.latency() {
            self.flush_playout();
            self.before = sum(&self.before, &self.playout.stats());
            self.playout = playout(agreement.latency, self.playout_bytes_max);
        }
        if agreement.incoming {
            self.link.accept(now, None);
        }
        if let Some(source) = agreement.source.clone() {
            self.begin(now, source);
        }
    }

    /// The sender begins, or goes on, as it says.
    fn begin(&mut self, now: Time, source: Source) {
        if self.source.as_ref().is_some_and(|before| before.session != source.session) {
            self.flush_playout();
        }
        self.playout.begin(source.session, source.position);
        self.released = source.position;
        self.outlet.begin(&source.format);
        self.playout.set_patience(match source.complete {
            true => Patience::UntilComplete,
            false => Patience::UntilDue,
        });
        self.source = Some(source);
        for message in std::mem::take(&mut self.early) {
            self.on_media(now, &message);
        }
    }

    /// Hands on what is left of a session that another one replaces.
    fn flush_playout(&mut self) {
        while let Some(released) = self.playout.poll_rest() {
            self.leftover.push_back(released);
        }
    }

    fn keep_early(&mut self, message: Incoming) {
        if self.early.len() < EARLY_MESSAGES_MAX {
            self.early.push_back(message);
        } else {
            self.malformed += 1;
        }
    }

    fn on_media(&mut self, now: Time, message: &Incoming) {
        let len = message.payload.len();
        let Ok(piece) = Piece::decode(message.payload.clone()) else {
            self.malformed += 1;
            return;
        };
        // Neither a repetition nor a message that waited for others tells how long its path takes.
        let tells_delay = !message.fills_gap && message.completed_at == now;
        let path = tells_delay.then_some(message.path);
        let came_at = self.outlet.came_at(message.completed_at);
        let timeliness = self.playout.handle_piece(came_at, path, &piece);
        let header = &piece.header;
        let class = MediaClass::of(header.class, header.layer);
        self.classes[class.index()].count(timeliness, len);
        let spare = self.playout.spare_of(came_at, header);
        self.records.push(|| {
            let record = TraceRecord::new(now, "media:piece_received").with("class", class.name());
            let record = record.with("track", header.track.0).with("frame", header.frame);
            let record = record.with("index", header.index).with("bytes", len);
            let record = record.with("path", message.path.0).with("spare_ms", spare);
            record.with("late", timeliness == Timeliness::Late)
        });
        self.keep_arrival(Arrival {
            at: message.completed_at,
            sent: header.last_at(),
            path: message.path,
            track: header.track,
            layer: header.layer,
            class: header.class,
            frame: header.frame,
            index: header.index,
            last: header.last,
            len,
            timeliness,
        });
    }

    fn keep_arrival(&mut self, arrival: Arrival) {
        if self.arrivals_max == 0 {
            return;
        }
        if self.arrivals.len() >= self.arrivals_max {
            self.arrivals.pop_front();
        }
        self.arrivals.push_back(arrival);
    }

    fn send_report(&mut self, now: Time) {
        let playout = self.stats().playout;
        let output = self.outlet.report(self.behind(now), self.latency());
        self.outlet.on_told(now, output);
        let report = Report {
            pieces: playout.pieces.total(),
            late: playout.late.total(),
            missing: playout.missing.total(),
            skipped_items: playout.skipped_items,
            released_bytes: playout.released_bytes,
            buffered_bytes: playout.queued_bytes as u64,
            output,
        };
        self.link.send_control(now, &Message::Report(report));
    }

    /// When the user must be told that media is due. What is due within a rest leaves together.
    fn next_release(&self) -> Option<Wakeup> {
        if self.due_reported {
            return None;
        }
        if !self.leftover.is_empty() {
            return Some(Wakeup { at: Time::ZERO, why: "media of an earlier session" });
        }
        let due = self.playout.poll_timeout()?;
        let earliest = self.last_release.map_or(Time::ZERO, |last| last + self.rest());
        Some(Wakeup { at: due.at.max(earliest), ..due })
    }
}

impl ClassArrivals {
    const fn count(&mut self, timeliness: Timeliness, len: usize) {
        match timeliness {
            Timeliness::InTime => {
                self.in_time += 1;
                self.in_time_bytes += len as u64;
            }
            Timeliness::Late => {
                self.late += 1;
                self.late_bytes += len as u64;
            }
            Timeliness::Unused => {}
        }
    }
}

fn playout(latency: Duration, max_bytes: usize) -> Playout {
    Playout::new(Config { max_bytes, ..Config::with_latency(latency) })
}

/// The counters of two playouts, one after the other.
fn sum(before: &PlayoutStats, present: &PlayoutStats) -> PlayoutStats {
    let mut sum = *present;
    sum.add(before);
    sum
}

impl Machine for Receiver {
    type Event = Event;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.link.handle_datagram(now, datagram);
        self.turn(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.link.handle_timeout(now);
        self.turn(now);
        if self.next_release().is_some_and(|wakeup| wakeup.at <= now) {
            self.due_reported = true;
            self.link.tell(Event::MediaDue);
        }
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.link.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.link.poll_timeout().into_iter().chain(self.next_release()).min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.link.poll_event()
    }

    fn rest(&self) -> Duration {
        self.link.rest(self.latency())
    }

    fn set_tracing(&mut self, on: bool) {
        self.records.set(on);
        self.link.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.records.pop().or_else(|| self.link.poll_trace())
    }
}
