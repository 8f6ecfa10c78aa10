//! An association: a thin dispatcher over parts that own their state.
//!
//! One file per procedure: [`handshake`] sets the association up, [`collision`] answers a peer that
//! calls although there is one, [`authenticated`] proves who sent what, [`addressing`] collects
//! paths, [`readdressing`] tells the peer of addresses that come and go at our end,
//! [`address_requests`] hears that of the peer, [`transfer`] moves data, [`scheduling`] spreads it
//! over the paths, [`copies`] sends some of it twice, [`recovery`] answers its losses, [`rate`]
//! tells what it carries, [`liveness`] watches the paths, [`live`] changes settings, [`rebinding`]
//! follows a peer whose address changes unannounced, [`reconfiguration`] resets streams,
//! [`shutdown`] ends it, [`transmit`] writes packets, [`control`] keeps the control chunks that
//! wait to be written.

mod address_requests;
mod addressing;
mod authenticated;
mod collision;
mod control;
mod copies;
mod handshake;
mod live;
mod liveness;
mod rate;
mod readdressing;
mod rebinding;
mod reconfiguration;
mod recovery;
mod report;
mod scheduling;
mod shutdown;
mod tracing;
mod transfer;
mod transmit;

use std::collections::VecDeque;
use std::fmt;

use anabranch_sansio::{FourTuple, Rng, Time, Transmit, Wakeup};
use anabranch_wire::{Chunk, ChunkType, Packet, StreamId, VerificationTag};

use crate::authentication::{AssociationKeys, Random, Standing};
use crate::config::AssociationConfig;
use crate::error::SendError;
use crate::event::{CloseReason, Event};
use crate::format::DataFormat;
use crate::handshake::TieTags;
use crate::path::{Outlook, PathId, PathScheduler, PathSet, PathSlot};
use crate::receive::{IncomingMessage, Receiver};
use crate::send::{MessageQueue, OutgoingMessage, Outstanding, SendFailure};
use crate::stats::{AssociationStats, StreamStats};
use crate::trace::{Trace, TraceKind};

pub(crate) use authenticated::keys_of_cookie;
pub(crate) use collision::{CookieEchoCase, InitAnswer};
use control::ControlQueue;
use handshake::{CookieEchoed, CookieWait};
pub(crate) use handshake::{no_authorization, refusal_cause};
use rate::RateMeter;
pub use rate::RateSignal;
use readdressing::Readdressing;
use rebinding::Silence;
use reconfiguration::Reconfiguration;
use shutdown::ShutdownTimer;
use transfer::Window;
pub(crate) use transmit::Occasion;

/// The two SCTP ports and the two verification tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) local_port: u16,
    pub(crate) peer_port: u16,
    /// What the peer puts into its packets.
    pub(crate) local_tag: VerificationTag,
    /// What we put into ours; 0 until the peer announced it.
    pub(crate) peer_tag: VerificationTag,
}

/// RFC 9260 section 4, figure 3. A state holds what exists only in it.
#[derive(Debug)]
enum State {
    CookieWait(CookieWait),
    CookieEchoed(CookieEchoed),
    Established,
    ShutdownPending,
    ShutdownSent(ShutdownTimer),
    ShutdownReceived,
    ShutdownAckSent(ShutdownTimer),
    Closed,
}

impl State {
    /// Whether data may be sent (RFC 9260 section 6).
    const fn may_send_data(&self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownReceived)
    }

    /// Whether data is taken (RFC 9260 section 6).
    const fn may_receive_data(&self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownSent(_))
    }

    /// Whether the user may hand over messages. Before the handshake is done they wait.
    const fn takes_messages(&self) -> bool {
        matches!(self, Self::CookieWait(_) | Self::CookieEchoed(_) | Self::Established)
    }
}

/// Where an association stands (RFC 9260 section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AssociationState {
    /// We sent INIT.
    CookieWait,
    /// We sent COOKIE ECHO.
    CookieEchoed,
    /// The handshake is done.
    Established,
    /// We shut down when all data is delivered.
    ShutdownPending,
    /// We sent SHUTDOWN.
    ShutdownSent,
    /// The peer shuts down; our data is still delivered.
    ShutdownReceived,
    /// We answered the peer's SHUTDOWN.
    ShutdownAckSent,
    /// It ended.
    Closed,
}

impl fmt::Display for AssociationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CookieWait => "COOKIE-WAIT",
            Self::CookieEchoed => "COOKIE-ECHOED",
            Self::Established => "ESTABLISHED",
            Self::ShutdownPending => "SHUTDOWN-PENDING",
            Self::ShutdownSent => "SHUTDOWN-SENT",
            Self::ShutdownReceived => "SHUTDOWN-RECEIVED",
            Self::ShutdownAckSent => "SHUTDOWN-ACK-SENT",
            Self::Closed => "CLOSED",
        })
    }
}

/// One association with a peer.
#[derive(Debug)]
pub struct Association {
    config: AssociationConfig,
    identity: Identity,
    tie_tags: TieTags,
    state: State,
    rng: Rng,
    /// Our part of the keys; zeros if we have none.
    random: Random,
    /// Exist once both ends announced that they authenticate.
    keys: Option<Box<AssociationKeys>>,
    /// Our addresses, as far as they are known, to pair with the peer's.
    locals: Vec<std::net::SocketAddr>,
    /// What the peer announced, whether we can reach it or not.
    announced: Vec<std::net::IpAddr>,
    paths: PathSet,
    /// Exists where several paths carry new data at once.
    path_scheduler: Option<Box<dyn PathScheduler>>,
    queue: MessageQueue,
    outstanding: Outstanding,
    /// The peer's receive window.
    window: Window,
    /// Exists once the peer announced its initial TSN.
    receiver: Option<Receiver>,
    /// When a delayed SACK is due, and where the data came from.
    sack_timer: Option<Time>,
    sack_path: PathSlot,
    /// How long nothing arrived.
    silence: Silence,
    control: ControlQueue,
    reconfiguration: Reconfiguration,
    readdressing: Readdressing,
    events: VecDeque<Event>,
    /// Whether [`Event::Readable`] was said and not all was read since.
    readable_said: bool,
    /// Whether the user asked for [`Event::SenderDry`].
    is_dry_awaited: bool,
    /// RFC 9260 section 8.1: consecutive retransmissions to the peer.
    error_count: u32,
    stats: AssociationStats,
    trace: Trace,
    rate: RateMeter,
    /// Scratch space for gap blocks.
    gap_blocks: Vec<anabranch_wire::GapAckBlock>,
    /// Scratch space for what path schedulers look at.
    outlooks: Vec<Outlook>,
}

impl Association {
    /// Hands over a message. Before the handshake is done it waits; the peer gets it after.
    ///
    /// # Errors
    ///
    /// Says why the message was not taken; it can be handed over again later only after
    /// [`SendError::BufferFull`], which has it.
    pub fn send(&mut self, now: Time, message: OutgoingMessage) -> Result<(), SendError> {
        if !self.state.takes_messages() || self.is_to_shut_down() {
            return Err(SendError::Closing);
        }
        self.queue.push(now, message)?;
        self.open_burst();
        Ok(())
    }

    /// Asks for [`Event::SenderDry`], once, as soon as all that was handed over is acknowledged or
    /// given up: at once if it is.
    pub fn report_when_dry(&mut self) {
        self.is_dry_awaited = true;
        self.report_queue();
    }

    /// Takes the next message that is whole and in order. Reading makes room for more.
    pub fn receive(&mut self) -> Option<IncomingMessage> {
        let receiver = self.receiver.as_mut()?;
        let message = receiver.pop();
        if !receiver.has_message() {
            self.readable_said = false;
        }
        if message.is_some() && receiver.window_update_is_due() {
            receiver.tracker.demand_sack();
        }
        message
    }

    /// Whether a message can be read.
    #[must_use]
    pub fn has_message(&self) -> bool {
        self.receiver.as_ref().is_some_and(Receiver::has_message)
    }

    /// Gives up all that was handed over on a stream and may be given up: its lifetime ends now,
    /// as that of pictures does when their viewer looks at something else. Reliable messages stay.
    pub fn withdraw(&mut self, now: Time, stream: StreamId) {
        self.queue.withdraw(now, stream);
        self.outstanding.withdraw(now, stream);
        self.give_up_unfinished(now);
        self.expire_messages(now);
        self.settle_abandoned(now);
    }

    /// Sets the priority of a stream for the priority scheduler: 0 is served first, and is the
    /// default. Returns false if there is no such stream.
    pub fn set_stream_priority(&mut self, stream: StreamId, priority: u16) -> bool {
        self.queue.set_priority(stream, priority)
    }

    /// Makes a path the primary one, which data takes while it is active. Returns false if there is
    /// no such path.
    pub fn set_primary(&mut self, path: PathId) -> bool {
        let Some(path) = self.paths.named(path).filter(|path| path.is_confirmed()) else {
            return false;
        };
        self.paths.set_primary(path.slot);
        self.reselect_path();
        true
    }

    /// Opens a further path to the peer; it carries data once a heartbeat was answered on it. One
    /// that is there already is asked at once whether it answers. Returns `None` if there are too
    /// many.
    pub fn open_path(&mut self, now: Time, tuple: FourTuple) -> Option<PathId> {
        let path = self.open_or_wake_path(now, tuple)?;
        Some(self.paths.at(path).id)
    }

    /// Nothing can be sent from this address of ours any more, as when its interface is gone: what
    /// is in flight from there takes other paths at once. A path from there is used again when it
    /// answers; until then it makes way if there are too many.
    pub fn close_paths_from(&mut self, now: Time, local: std::net::SocketAddr) {
        self.leave_paths_from(now, local);
    }

    /// The state of RFC 9260 section 4.
    #[must_use]
    pub const fn state(&self) -> AssociationState {
        match self.state {
            State::CookieWait(_) => AssociationState::CookieWait,
            State::CookieEchoed(_) => AssociationState::CookieEchoed,
            State::Established => AssociationState::Established,
            State::ShutdownPending => AssociationState::ShutdownPending,
            State::ShutdownSent(_) => AssociationState::ShutdownSent,
            State::ShutdownReceived => AssociationState::ShutdownReceived,
            State::ShutdownAckSent(_) => AssociationState::ShutdownAckSent,
            State::Closed => AssociationState::Closed,
        }
    }

    /// Our SCTP port.
    #[must_use]
    pub const fn local_port(&self) -> u16 {
        self.identity.local_port
    }

    /// The peer's SCTP port.
    #[must_use]
    pub const fn peer_port(&self) -> u16 {
        self.identity.peer_port
    }

    /// Whether the handshake is done and the association not yet ended.
    #[must_use]
    pub const fn is_established(&self) -> bool {
        !matches!(self.state, State::CookieWait(_) | State::CookieEchoed(_) | State::Closed)
    }

    /// Whether the association ended.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Streams that we may send on: 0 to one less.
    #[must_use]
    pub fn outbound_streams(&self) -> u16 {
        self.queue.stream_count()
    }

    /// Streams that the peer may send on: 0 to one less. 0 before the handshake told.
    #[must_use]
    pub fn inbound_streams(&self) -> u16 {
        self.receiver.as_ref().map_or(0, Receiver::stream_count)
    }

    /// Bytes that wait in the send queue, with what each message costs beside.
    #[must_use]
    pub const fn queued(&self) -> usize {
        self.queue.queued()
    }

    /// Bytes of the longest message that is never cut, because it fits into one packet. A longer
    /// one is lost with any of its packets.
    #[must_use]
    pub fn whole_message_max(&self) -> usize {
        self.pmdcs() - self.outstanding.format().header_len()
    }

    /// Whether messages of different streams interleave (RFC 8260), as both ends offered.
    #[must_use]
    pub const fn interleaves_messages(&self) -> bool {
        matches!(self.outstanding.format(), DataFormat::IData)
    }

    /// Whether packets go without a checksum (RFC 9653), as both ends offered.
    #[must_use]
    pub const fn omits_checksums(&self) -> bool {
        self.outstanding.omits_checksums()
    }

    /// Bytes that wait in the send queue or are in flight.
    #[must_use]
    pub fn unacknowledged(&self) -> usize {
        self.queue.queued() + self.outstanding.bytes_outstanding()
    }

    /// Bytes of DATA chunks that the peer has acknowledged.
    #[must_use]
    pub fn bytes_acked(&self) -> u64 {
        self.paths.totals().bytes_acked
    }

    /// When the last packet came from the peer.
    #[must_use]
    pub fn last_heard(&self) -> Option<Time> {
        self.paths.iter().filter_map(|path| path.last_heard).max()
    }

    /// Whether all that was handed over is delivered or abandoned.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.outstanding.is_empty()
    }

    /// Counters and the state of all paths.
    #[must_use]
    pub fn stats(&self) -> AssociationStats {
        self.report()
    }

    /// What was sent on one stream.
    #[must_use]
    pub fn stream_stats(&self, stream: StreamId) -> Option<StreamStats> {
        self.queue.stream_stats(stream).copied()
    }

    /// Whether the peer may leave the checksum out: we told it so in INIT or INIT ACK.
    pub(crate) const fn announced_zero_checksum(&self) -> bool {
        self.config.extensions.zero_checksum_over_dtls
    }

    pub(crate) const fn identity(&self) -> Identity {
        self.identity
    }

    /// Whether packets on this path are known to come from the peer.
    pub(crate) fn has_confirmed_path(&self, tuple: FourTuple) -> bool {
        self.paths.find(tuple).is_some_and(|path| self.paths.at(path).is_confirmed())
    }

    /// A number that changes whenever [`path_tuples`](Self::path_tuples) does.
    pub(crate) const fn path_revision(&self) -> u64 {
        self.paths.revision()
    }

    pub(crate) fn path_tuples(&self) -> impl Iterator<Item = FourTuple> + '_ {
        self.paths.iter().map(|path| path.tuple)
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether nothing is left to send, to say or to read.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_closed() && self.control.is_empty() && self.events.is_empty() && !self.has_message()
    }

    /// Takes a packet that has our verification tag.
    pub(crate) fn handle_packet(
        &mut self,
        now: Time,
        tuple: FourTuple,
        packet: &Packet<'_>,
        len: usize,
    ) {
        let Some(standing) = self.screen(packet) else { return };
        let is_trusted = standing == Standing::Genuine || !self.demands(ChunkType::HEARTBEAT_ACK);
        let path = self.path_of_arrival(now, tuple, is_trusted);
        self.readdressing.source = Some(tuple);
        let source = self.paths.at_mut(path);
        let id = source.id;
        source.stats.packets_received += 1;
        source.stats.bytes_received += len as u64;
        // Beyond the candidates, what comes from elsewhere counts for the path that data takes.
        if source.tuple == tuple && is_trusted {
            source.last_heard = Some(now);
            if !source.is_confirmed() {
                self.note_candidate(now, path, packet);
            }
        }
        self.trace(now, TraceKind::PacketReceived { path: id, len });
        if is_trusted {
            self.on_sign_of_life();
        }
        self.handle_chunks(now, path, packet, standing);
        if !self.is_closed() {
            self.after_input(now);
        }
    }

    fn handle_chunks(
        &mut self,
        now: Time,
        path: PathSlot,
        packet: &Packet<'_>,
        standing: Standing,
    ) {
        let mut is_authenticated = false;
        let mut brought_data = false;
        for chunk in packet.chunks() {
            match chunk {
                // RFC 4895 section 5.1: "The control chunk AUTH MUST NOT appear more than once in
                // an SCTP packet."
                Ok(Chunk::Auth(_)) if standing == Standing::Genuine && !is_authenticated => {
                    is_authenticated = true;
                }
                // RFC 4895 section 6.3: "It MUST silently discard these chunks if they are not
                // placed after an AUTH chunk in the packet."; RFC 5061 section 5.2, D5, of ASCONF:
                // "the receiver MUST silently discard this chunk and the rest of the packet."
                Ok(chunk) if !is_authenticated && self.demands(chunk.ty()) => {
                    self.stats.unauthenticated += 1;
                    if chunk.ty() == ChunkType::ASCONF {
                        break;
                    }
                }
                Ok(chunk) => {
                    brought_data |= self.is_data(&chunk);
                    if !self.handle_chunk(now, path, &chunk) {
                        break;
                    }
                }
                Err(error) => self.on_malformed(error, is_authenticated),
            }
            if self.is_closed() {
                return;
            }
        }
        if brought_data {
            self.end_data_packet(now, path);
        }
    }

    /// The path that a packet came over. One that proves nothing makes no new path.
    fn path_of_arrival(&mut self, now: Time, tuple: FourTuple, is_trusted: bool) -> PathSlot {
        let known = self.paths.find(tuple).filter(|path| !self.paths.at(*path).is_deleted);
        let is_deleted = known.is_none() && self.paths.find(tuple).is_some();
        if is_trusted && !is_deleted {
            return self.arrival_path(now, tuple);
        }
        known.unwrap_or_else(|| self.paths.current())
    }

    /// Whether a chunk is to be acknowledged. RFC 3758 section 3.6: "Any time a FORWARD TSN chunk
    /// arrives, for the purposes of sending a SACK, the receiver MUST follow the same rules as if a
    /// DATA chunk had been received".
    ///
    /// RFC 9260 section 6: "DATA chunks MUST only be received according to the rules below in
    /// ESTABLISHED, SHUTDOWN-PENDING, and SHUTDOWN-SENT states." and "A DATA chunk received in any
    /// other state SHOULD be discarded.": what was discarded is not acknowledged.
    const fn is_data(&self, chunk: &Chunk<'_>) -> bool {
        let forwards = matches!(chunk, Chunk::ForwardTsn(_) | Chunk::IForwardTsn(_));
        let is_data = (forwards && self.config.extensions.partial_reliability)
            || matches!(chunk, Chunk::Data(_) | Chunk::IData(_));
        is_data && self.state.may_receive_data()
    }

    /// Takes the first chunk of a packet that has the peer's verification tag and the T bit.
    pub(crate) fn handle_reflected(&mut self, chunk: &Chunk<'_>) {
        // A peer that knows nothing of us any more has our SHUTDOWN ACK. Its SHUTDOWN COMPLETE was
        // overtaken by an ABORT, its answer to a packet on another path.
        let is_over = matches!(self.state, State::ShutdownAckSent(_));
        if let Chunk::Abort(abort) = chunk
            && !is_over
        {
            // Who knows nothing of the association cannot authenticate.
            if !self.demands(ChunkType::ABORT) {
                self.on_abort(abort);
            }
        } else {
            self.on_shutdown_complete();
        }
    }

    /// A packet came from the peer's address without our verification tag.
    pub(crate) const fn note_wrong_tag(&mut self) {
        self.stats.malformed += 1;
    }

    /// Handles one chunk; false ends the packet.
    fn handle_chunk(&mut self, now: Time, path: PathSlot, chunk: &Chunk<'_>) -> bool {
        match chunk {
            Chunk::Data(data) => self.on_data(now, path, DataFormat::Data, &data.into()),
            Chunk::IData(data) => self.on_data(now, path, DataFormat::IData, &data.into()),
            Chunk::Sack(sack) => self.on_sack(now, path, sack),
            Chunk::ForwardTsn(forward) => self.on_forward_tsn(path, forward),
            Chunk::IForwardTsn(forward) => self.on_i_forward_tsn(forward),
            Chunk::ReConfig(chunk) => self.on_re_config(now, path, chunk),
            Chunk::Heartbeat(heartbeat) => self.on_heartbeat(path, heartbeat),
            Chunk::HeartbeatAck(ack) => self.on_heartbeat_ack(now, ack),
            Chunk::InitAck(init_ack) => self.on_init_ack(now, path, init_ack),
            Chunk::CookieAck => self.on_cookie_ack(now, path),
            Chunk::Error(error) => self.on_error(now, error),
            // With our tag, the T bit says that it is somebody else's (RFC 9260 section 8.5.1, B).
            Chunk::Abort(abort) if abort.tag_reflected => {}
            Chunk::ShutdownComplete(complete) if complete.tag_reflected => {}
            Chunk::Abort(abort) => self.on_abort(abort),
            Chunk::Shutdown(shutdown) => self.on_shutdown(now, path, shutdown),
            Chunk::ShutdownAck => self.on_shutdown_ack(path),
            Chunk::ShutdownComplete(_) => self.on_shutdown_complete(),
            Chunk::Asconf(asconf) => self.on_asconf(now, path, asconf),
            Chunk::AsconfAck(ack) => self.on_asconf_ack(now, path, ack),
            Chunk::Unknown(unknown) => return self.on_unknown_chunk(path, unknown),
            // It does not hold, or authentication was not negotiated: RFC 9260 section 3.2 has a
            // chunk of this type that is not recognized end the packet.
            Chunk::Auth(_) => return false,
            // The endpoint handles INIT and COOKIE ECHO before an association sees the packet; ECN
            // is not negotiated.
            Chunk::Init(_) | Chunk::CookieEcho(_) | Chunk::Ecne(_) | Chunk::Cwr(_) => {}
        }
        true
    }

    /// Acts on every timer that is due.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.trace_expiry(now);
        self.on_handshake_timer(now);
        self.on_shutdown_timer(now);
        if self.sack_timer.is_some_and(|at| at <= now) {
            self.sack_timer = None;
            if let Some(receiver) = self.receiver.as_mut() {
                receiver.tracker.demand_sack();
            }
        }
        if self.silence.timer.is_some_and(|at| at <= now) {
            self.on_silence(now);
        }
        self.on_reconfiguration_timer(now);
        self.on_readdressing_timer(now);
        if self.is_closed() {
            return;
        }
        self.expire_messages(now);
        self.outstanding.release_copies(now);
        for path in self.paths.ids() {
            self.paths.at_mut(path).pacer.on_time(now);
            if self.paths.at(path).loss_timer.is_some_and(|(at, _)| at <= now) {
                self.on_loss_timer(now, path);
            }
            if self.paths.at(path).t3_rtx.is_some_and(|at| at <= now) {
                self.on_t3_rtx(now, path);
            }
            if self.paths.at(path).heartbeat.timer.is_some_and(|at| at <= now) {
                self.on_heartbeat_timer(now, path);
            }
            if self.is_closed() {
                return;
            }
        }
        self.after_input(now);
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    pub(crate) fn poll_timeout(&self) -> Option<Wakeup> {
        if self.is_closed() {
            return None;
        }
        let own = [
            self.handshake_timer().map(|at| (at, "T1")),
            self.shutdown_timer(),
            self.sack_timer.map(|at| (at, "SACK delay")),
            self.silence.timer.map(|at| (at, "silence")),
            self.reconfiguration_timer().map(|at| (at, "T-reconfig")),
            self.readdressing_timer().map(|at| (at, "T-4")),
            self.outstanding.next_expiration().map(|at| (at, "message lifetime")),
            self.paths.earliest_timer(),
            self.pacing_timer().map(|at| (at, "pacing")),
            self.outstanding.next_copy_at().map(|at| (at, "second copy")),
        ];
        own.into_iter().flatten().min().map(|(at, why)| Wakeup { at, why })
    }

    /// Writes the next packet, or several of one size, to `buf`.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Time,
        segments_max: usize,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let transmit = self.write_packets(now, segments_max, buf);
        if transmit.is_none() {
            self.note_app_limits(now);
            self.trace_changes(now);
        }
        self.report_queue();
        transmit
    }

    /// What any input may have brought about.
    fn after_input(&mut self, now: Time) {
        self.paths.remove_abandoned();
        self.report_lost_chunks(now);
        self.settle_abandoned(now);
        self.reselect_path();
        self.advance_reconfiguration(now);
        self.bury_doomed(now);
        self.open_burst();
        self.advance_shutdown(now);
        self.follow_rate(now);
        self.trace_changes(now);
        self.report_queue();
        if self.has_message() && !self.readable_said {
            self.readable_said = true;
            self.events.push_back(Event::Readable);
        }
    }

    /// Reports what became of messages that waited.
    fn report_queue(&mut self) {
        let undelivered = self.queue.take_undelivered();
        self.report_undelivered(undelivered);
        if self.queue.became_writable() {
            self.events.push_back(Event::Writable);
        }
        if self.is_dry_awaited && self.is_drained() {
            self.is_dry_awaited = false;
            self.events.push_back(Event::SenderDry);
        }
    }

    /// Whether there is something to say.
    pub(crate) fn has_event(&self) -> bool {
        !self.events.is_empty()
    }

    /// Ends the association at once. What was received before can still be read.
    fn close(&mut self, reason: CloseReason) {
        if self.is_closed() {
            return;
        }
        self.report_unsent();
        let stats = Box::new(self.report());
        self.state = State::Closed;
        self.sack_timer = None;
        for path in self.paths.iter_mut() {
            path.t3_rtx = None;
            path.loss_timer = None;
            path.heartbeat.timer = None;
        }
        self.events.push_back(Event::Closed { reason, stats });
    }

    /// What was not delivered by now never will be.
    fn report_unsent(&mut self) {
        let unacknowledged = self.outstanding.take_undelivered(SendFailure::Closed);
        self.report_undelivered(unacknowledged);
        self.queue.end();
        let unsent = self.queue.take_undelivered();
        self.report_undelivered(unsent);
    }
}
