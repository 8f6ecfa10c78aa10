//! [`Sender`]: media in, a session out.

mod stats;

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_media::packetizer::{Notice, PacketizerStats};
use anabranch_media::piece::{Header, MAX_MESSAGE};
use anabranch_media::{Packetizer, Piece, Unit, cutter::UnitCutter, ts};
use anabranch_sansio::{
    Datagram, FourTuple, Machine, PathId, Rate, Rng, Time, TraceLog, TraceRecord, Transmit, Wakeup,
};
use anabranch_transport::{ConnectionStats, Outgoing, Reliability, SendError, Transport};

use super::backlog::{Backlog, Waiting};
use super::dropping::{Dropping, LackOfRoom, Prospect, UnitKey, Verdict};
use super::link::{Input, Link, Streams};
use super::message::{MEDIA, Message};
use super::outlet::Model;
use super::piece_len::PieceLen;
use super::{
    CallError, Disconnect, Event, Measures, PushError, Report, Role, SenderConfig, Source,
    SourceFormat,
};
use crate::treatment::{MediaClass, Treatment, TreatmentError, TreatmentTable};
use stats::Totals;
pub use stats::{ClassStats, SenderStats};

/// Sends one source to one receiver at a time.
///
/// Media is numbered and timed whether or not a receiver is there; what nobody can get is counted
/// as unsent. A receiver that comes, or comes back, goes on with what is pushed then.
#[derive(Debug)]
pub struct Sender {
    link: Link,
    cutter: Cutter,
    piece_len: PieceLen,
    /// What it said last.
    piece_len_max: Option<usize>,
    dropping: Dropping,
    /// The receiver's output.
    output: Model,
    format: SourceFormat,
    /// Tells this sender from one that was started anew.
    number: u16,
    treatments: TreatmentTable,
    /// The agreed one.
    latency: Duration,
    backlog: Backlog,
    /// Whether the user was told to wait.
    was_full: bool,
    finishing: Finishing,
    totals: Totals,
    /// The receiver's last report.
    report: Option<Report>,
    records: TraceLog,
}

/// Cuts media into pieces.
#[derive(Debug)]
enum Cutter {
    Packets(Box<Packetizer>),
    Units(UnitCutter),
}

/// How far the end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finishing {
    No,
    /// The media has ended; what waits in the backlog must leave first.
    Flushing,
    /// The last words were said.
    Said,
}

impl Sender {
    /// A sender without a receiver, over SCTP or DCCP. The generator must be unpredictable on real
    /// networks.
    #[must_use]
    pub fn new(config: SenderConfig, mut rng: Rng) -> Self {
        let number = rng.next_u32() as u16;
        let transport = config.session.transport(rng);
        Self::over(transport, config, number)
    }

    /// A sender without a receiver, over any transport. By the number a receiver tells this one
    /// from a sender that was started anew.
    #[must_use]
    pub fn over(transport: Box<dyn Transport>, config: SenderConfig, number: u16) -> Self {
        let SenderConfig { session: config, format, treatments, backlog } = config;
        let cutter = match &format {
            SourceFormat::MpegTs => Cutter::Packets(Box::new(Packetizer::new(number))),
            SourceFormat::Clip(_) => Cutter::Units(UnitCutter::new(number)),
        };
        let latency = config.latency;
        let enhances_alone = matches!(format, SourceFormat::Clip(_));
        Self {
            link: Link::new(config, Role::Sender, transport),
            cutter,
            piece_len: PieceLen::default(),
            piece_len_max: None,
            dropping: Dropping::new(enhances_alone),
            output: Model::new(enhances_alone),
            format,
            number,
            treatments,
            latency,
            backlog: Backlog::new(backlog),
            was_full: false,
            finishing: Finishing::No,
            totals: Totals::default(),
            report: None,
            records: TraceLog::default(),
        }
    }

    /// Tells a listener which of its addresses callers may use beside the one they called.
    pub fn set_local_addresses(&mut self, locals: Vec<SocketAddr>) {
        self.link.set_local_addresses(locals);
    }

    /// Calls the receiver at the other end of `paths`, the first of which is the primary.
    ///
    /// # Errors
    /// There is a peer already, or the transport refuses.
    pub fn connect(&mut self, now: Time, paths: &[FourTuple]) -> Result<(), CallError> {
        let source = self.source();
        self.link.connect(now, paths, Some(source))
    }

    /// Takes the next packet of a transport stream, which came (or, read from a file, is due) at
    /// `at`. These times must not fall.
    ///
    /// # Errors
    /// The session sends something else, or has ended.
    pub fn push_packet(
        &mut self,
        now: Time,
        at: Time,
        packet: &ts::Packet,
    ) -> Result<(), PushError> {
        self.check_open()?;
        let Cutter::Packets(packetizer) = &mut self.cutter else {
            return Err(PushError::WrongFormat { announced: "units of a clip" });
        };
        packetizer.handle_packet(at, packet);
        self.send_pieces(now);
        Ok(())
    }

    /// What came together was pushed, and whoever pushes looks for more after a
    /// [rest](Machine::rest): what would have to leave before that is over leaves now, so that
    /// nobody is woken for it.
    pub fn end_batch(&mut self, now: Time) {
        let next = now + self.rest();
        if let Cutter::Packets(packetizer) = &mut self.cutter {
            packetizer.handle_timeout(next);
            self.send_pieces(now);
        }
    }

    /// Takes the next unit, to be shown in the order of pushing.
    ///
    /// # Errors
    /// The session sends something else, or has ended.
    pub fn push_unit(&mut self, now: Time, unit: &Unit) -> Result<(), PushError> {
        self.check_open()?;
        let Cutter::Units(cutter) = &mut self.cutter else {
            return Err(PushError::WrongFormat { announced: "a transport stream" });
        };
        let pieces: Vec<Piece> = cutter.cut(unit).collect();
        for piece in &pieces {
            self.offer(now, piece, unit.bytes.len());
        }
        Ok(())
    }

    /// Whether there is room for media of a source that can wait. After a no, an
    /// [`Event::Writable`] follows.
    pub fn has_room(&mut self) -> bool {
        self.was_full |= !self.backlog.is_empty();
        !self.was_full
    }

    /// The media has ended: what was pushed is delivered or given up, then the session ends.
    /// [`Event::Disconnected`] follows if there is a receiver.
    pub fn finish(&mut self, now: Time) {
        if self.finishing != Finishing::No {
            return;
        }
        if let Cutter::Packets(packetizer) = &mut self.cutter {
            packetizer.finish();
        }
        self.send_pieces(now);
        self.finishing = Finishing::Flushing;
        self.turn(now);
    }

    /// Ends the session at once; what is under way is lost. The receiver is told why.
    pub fn leave(&mut self, now: Time, reason: &str) {
        self.link.leave(now, reason);
        self.turn(now);
    }

    /// Whether a receiver is there and media flows.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.link.is_active()
    }

    /// Whether a receiver is there or was called.
    #[must_use]
    pub const fn has_peer(&self) -> bool {
        self.link.has_peer()
    }

    /// The latency in force: the agreed one, once there was a receiver.
    #[must_use]
    pub const fn latency(&self) -> Duration {
        self.latency
    }

    /// How media is treated.
    #[must_use]
    pub const fn treatments(&self) -> &TreatmentTable {
        &self.treatments
    }

    /// Changes the treatment of what is pushed from now on.
    ///
    /// # Errors
    /// It makes no sense; nothing changed then.
    pub fn set_treatment(
        &mut self,
        now: Time,
        class: MediaClass,
        treatment: Treatment,
    ) -> Result<(), TreatmentError> {
        let mut table = self.treatments;
        table.set(class, treatment)?;
        self.set_treatments(now, table);
        Ok(())
    }

    /// Changes the treatment of all that is pushed from now on.
    pub fn set_treatments(&mut self, now: Time, table: TreatmentTable) {
        let was_complete = self.treatments.is_complete();
        self.treatments = table;
        self.apply_priorities();
        if was_complete != table.is_complete() {
            self.announce_source(now);
        }
    }

    /// Makes a path the primary one. False if it cannot be.
    pub fn set_primary(&mut self, path: PathId) -> bool {
        self.link.connection_mut().is_some_and(|connection| connection.set_primary(path))
    }

    /// Opens a further path to the receiver. `None` if there is no receiver or no room for it.
    pub fn open_path(&mut self, now: Time, tuple: FourTuple) -> Option<PathId> {
        self.link.connection_mut()?.open_path(now, tuple)
    }

    /// Nothing can be sent from this address any more.
    pub fn close_paths_from(&mut self, now: Time, local: SocketAddr) {
        if let Some(connection) = self.link.connection_mut() {
            connection.close_paths_from(now, local);
        }
    }

    /// What a user should know about the source, once per track.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        match &mut self.cutter {
            Cutter::Packets(packetizer) => packetizer.poll_notice(),
            Cutter::Units(_) => None,
        }
    }

    /// Counters. Those of media never go down, whoever the receiver is.
    #[must_use]
    pub fn stats(&self) -> SenderStats {
        let streams = self.link.streams();
        let class = |class: MediaClass| ClassStats {
            left_out: self.dropping.left_out(class),
            left_out_for_output: self.output.left_out(class),
            room: self.room_for(class),
            ..self.totals.class(class, &streams[class.index()], &self.backlog)
        };
        let present = self.link.connection().map(|connection| connection.stats());
        SenderStats {
            classes: MediaClass::ALL.map(class),
            connection: present.or_else(|| self.totals.last.clone()),
            packetizer: match &self.cutter {
                Cutter::Packets(packetizer) => packetizer.stats(),
                Cutter::Units(_) => PacketizerStats::default(),
            },
            backlog_bytes: self.backlog.bytes(),
            report: self.report,
            strangers: self.link.strangers(),
        }
    }

    /// What is announced of the media.
    fn source(&self) -> Source {
        Source {
            session: self.number,
            position: self.cutter.position(),
            complete: self.treatments.is_complete(),
            format: self.format.clone(),
        }
    }

    const fn check_open(&self) -> Result<(), PushError> {
        match self.finishing {
            Finishing::No => Ok(()),
            Finishing::Flushing | Finishing::Said => Err(PushError::Finished),
        }
    }

    fn send_pieces(&mut self, now: Time) {
        while let Some(piece) = self.cutter.poll_piece() {
            self.offer(now, &piece, piece.payload.len());
        }
    }

    /// Hands a piece to the transport, or to the backlog; `len` bytes of its unit are known.
    fn offer(&mut self, now: Time, piece: &Piece, len: usize) {
        let class = MediaClass::of(piece.header.class, piece.header.layer);
        if !self.link.is_active() {
            self.totals.count_unsent(class);
            return;
        }
        if !self.goes(now, piece, class, len) {
            return;
        }
        let message = Waiting { payload: piece.encode().into(), since: piece.header.first_at() };
        if !self.backlog.is_empty() {
            return self.backlog.push(class, message);
        }
        if let Err(refused) = self.hand_over(now, class, message) {
            self.backlog.push(class, refused);
        }
    }

    /// Whether a piece goes, of whose unit `len` bytes are known.
    fn goes(&mut self, now: Time, piece: &Piece, class: MediaClass, len: usize) -> bool {
        let rate = self.room_for(class);
        let Self { dropping, link, treatments, latency, backlog, .. } = self;
        dropping.offer(class, piece.payload.len());
        let treatment = treatments.treatment(class);
        let reliability = treatment.reliability.resolve(*latency, Duration::ZERO);
        let Reliability::Lifetime(lifetime) = reliability else { return true };
        if !self.output.goes(now, &piece.header, class, *latency) {
            return false;
        }
        let Some(connection) = link.connection() else { return true };
        let (mut ahead, mut prospect) = (0, None);
        let look = || {
            ahead = connection.queued_at(treatment.priority.into()) + backlog.bytes() + len;
            prospect = rate.map(|rate| Prospect { wait: rate.time_for(ahead as u64), lifetime });
            prospect
        };
        let Header { track, layer, frame, .. } = piece.header;
        let unit = UnitKey { track, layer, frame };
        let verdict = dropping.decide(now, unit, class, look);
        if let Verdict::LacksRoom { next_key } = verdict {
            let lack = LackOfRoom { class, unit, prospect, next_key, carries: rate, ahead };
            self.records.push(|| lack.record(now));
        }
        if verdict == Verdict::Goes {
            self.output.on_sent(now, len_of(piece));
        } else if let Some(connection) = self.link.connection_mut() {
            connection.note_left_out(now);
        }
        verdict == Verdict::Goes
    }

    /// What the network carries beside all that goes before a class, if it is known.
    fn room_for(&self, class: MediaClass) -> Option<Rate> {
        let signal = self.link.connection()?.rate().filter(|signal| !signal.is_at_least)?;
        let priority = |class| self.treatments.treatment(class).priority;
        let goes_before = |other| priority(other) < priority(class);
        Some(self.dropping.left_beside(signal.carries, goes_before))
    }

    /// Gives a message to the transport; back it comes if there is no room.
    fn hand_over(&mut self, now: Time, class: MediaClass, message: Waiting) -> Result<(), Waiting> {
        let treatment = self.treatments.treatment(class);
        let Some(connection) = self.link.connection_mut() else { return Err(message) };
        let lifetime = treatment.reliability.resolve(self.latency, now - message.since);
        // Without tables a decoder cannot begin: what is sent once is too little for them.
        let must_arrive = class == MediaClass::Tables && connection.sends_once();
        let outgoing = Outgoing {
            stream: class.stream(),
            payload_id: MEDIA,
            payload: message.payload.clone(),
            ordered: treatment.ordered,
            reliability: if must_arrive { Reliability::Reliable } else { lifetime },
            path: treatment.preference(),
            level: treatment.level_of(class),
        };
        match connection.send(now, outgoing) {
            Ok(()) => Ok(()),
            Err(SendError::Full) => Err(message),
            Err(error) => {
                // The connection is closing: an event reports its end.
                tracing::debug!(%error, %class, "media not taken");
                self.totals.count_unsent(class);
                Ok(())
            }
        }
    }

    /// Does what any input may have made possible.
    fn turn(&mut self, now: Time) {
        while self.link.read_next(now) {}
        while let Some(input) = self.link.poll_input() {
            self.on_input(now, input);
        }
        self.link.flush_control(now);
        self.feed(now);
        if self.finishing == Finishing::Flushing && self.backlog.is_empty() {
            self.finishing = Finishing::Said;
            self.send_measures(now);
            self.link.finish(now, self.cutter.position(), self.treatments.is_complete());
        }
    }

    /// Moves media from the backlog to the transport.
    fn feed(&mut self, now: Time) {
        while let Some((class, message)) = self.backlog.pop() {
            if let Err(refused) = self.hand_over(now, class, message) {
                self.backlog.put_back(class, refused);
                return;
            }
        }
        if std::mem::take(&mut self.was_full) {
            self.link.tell(Event::Writable);
        }
    }

    fn on_input(&mut self, now: Time, input: Input) {
        match input {
            Input::Connected(agreement) => {
                self.latency = agreement.latency;
                self.piece_len = PieceLen::default();
                self.choose_piece_len(now);
                self.apply_priorities();
                if agreement.incoming {
                    self.link.accept(now, Some(self.source()));
                } else {
                    // What was pushed since the hello is not sent.
                    self.announce_source(now);
                }
            }
            Input::Control(message) => {
                if let Message::Report(report) = *message {
                    self.output.on_report(now, report.output);
                    self.report = Some(report);
                }
            }
            Input::Media(_) => {}
            Input::Tick => {
                self.choose_piece_len(now);
                for notice in self.dropping.tick(now) {
                    self.link.tell(Event::Dropping(notice));
                }
                for notice in self.output.tick(now) {
                    self.link.tell(Event::OutputBehind(notice));
                }
                self.send_measures(now);
            }
            Input::Disconnected { how, stats, streams } => {
                self.on_disconnected(&how, *stats, &streams);
            }
        }
    }

    fn send_measures(&mut self, now: Time) {
        let Some(connection) = self.link.connection().filter(|_| self.link.is_active()) else {
            return;
        };
        let left_out = MediaClass::ALL.map(|class| self.output.left_out(class));
        let measures = Measures {
            left_out_for_output: left_out.iter().sum(),
            ..Measures::of(&connection.stats())
        };
        self.link.send_control(now, &Message::Measures(measures));
    }

    fn on_disconnected(&mut self, how: &Disconnect, stats: ConnectionStats, streams: &Streams) {
        tracing::info!(%how, "disconnected");
        self.backlog.clear();
        self.output.forget();
        self.totals.on_connection_end(stats, streams);
        if std::mem::take(&mut self.was_full) {
            self.link.tell(Event::Writable);
        }
    }

    fn choose_piece_len(&mut self, now: Time) {
        let Cutter::Packets(packetizer) = &mut self.cutter else { return };
        let Some(connection) = self.link.connection() else { return };
        // What is never given up only gets more headers by being cut.
        let len = match self.treatments.is_complete() {
            true => MAX_MESSAGE,
            false => self.piece_len.choose(connection, self.latency),
        };
        if self.piece_len_max.replace(len) != Some(len) {
            self.records
                .push(|| TraceRecord::new(now, "media:piece_len_updated").with("bytes_max", len));
        }
        packetizer.set_piece_len_max(len);
    }

    fn announce_source(&mut self, now: Time) {
        if self.link.is_active() {
            let source = self.source();
            self.link.send_control(now, &Message::Source(source));
        }
    }

    fn apply_priorities(&mut self) {
        let table = self.treatments;
        let Some(connection) = self.link.connection_mut() else { return };
        for (class, treatment) in table.iter() {
            connection.set_stream_priority(class.stream(), treatment.priority.into());
        }
    }
}

/// Bytes that a receiver hands on for a piece.
fn len_of(piece: &Piece) -> usize {
    match piece.header.nulls {
        true => piece.header.items() as usize * ts::PACKET_LEN,
        false => piece.payload.len(),
    }
}

impl Cutter {
    /// Items taken so far: the number of the next one.
    fn position(&self) -> u64 {
        match self {
            Self::Packets(packetizer) => packetizer.stats().packets,
            Self::Units(cutter) => cutter.position(),
        }
    }

    fn poll_piece(&mut self) -> Option<Piece> {
        match self {
            Self::Packets(packetizer) => packetizer.poll_piece(),
            Self::Units(_) => None,
        }
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        match self {
            Self::Packets(packetizer) => packetizer.poll_timeout(),
            Self::Units(_) => None,
        }
    }
}

impl Machine for Sender {
    type Event = Event;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.link.handle_datagram(now, datagram);
        self.turn(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        if let Cutter::Packets(packetizer) = &mut self.cutter {
            packetizer.handle_timeout(now);
        }
        self.send_pieces(now);
        self.link.handle_timeout(now);
        self.turn(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let transmit = self.link.poll_transmit(now, buf)?;
        // What was sent made room.
        if !self.backlog.is_empty() {
            self.feed(now);
        }
        Some(transmit)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.link.poll_timeout().into_iter().chain(self.cutter.poll_timeout()).min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.link.poll_event()
    }

    fn rest(&self) -> Duration {
        self.link.rest(self.latency)
    }

    fn set_tracing(&mut self, on: bool) {
        self.records.set(on);
        self.link.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.records.pop().or_else(|| self.link.poll_trace())
    }
}
