//! An association: a thin dispatcher over parts that own their state.
//!
//! One file per procedure: [`handshake`] sets the association up, [`collision`] answers a peer that
//! calls although there is one, [`authenticated`] proves who sent what, [`addressing`] collects
//! paths, [`readdressing`] tells the peer of addresses that come and go at our end,
//! [`address_requests`] hears that of the peer, [`transfer`] takes what arrives, [`liveness`]
//! watches the paths, [`path_mtu`] finds out how long packets may be, [`live`] changes settings,
//! [`rebinding`] follows a peer whose address changes unannounced, [`reconfiguration`] resets
//! streams, [`shutdown`] ends it, [`transmit`] writes packets, [`control`] keeps the control chunks
//! that wait to be written. Data that is sent is the matter of the [`DataSender`].

mod address_requests;
mod addressing;
mod authenticated;
mod collision;
mod control;
mod encrypted;
mod handshake;
mod live;
mod liveness;
mod path_mtu;
mod readdressing;
mod rebinding;
mod reconfiguration;
mod report;
mod restart;
mod shutdown;
mod state;
mod tracing;
mod transfer;
mod transmit;

use anabranch_sansio::{FourTuple, Rng, Time, Transmit, Wakeup};
use anabranch_wire::{Chunk, ChunkType, Dtls, EncodeChunk, Packet, StreamId, VerificationTag};

use crate::authentication::{AssociationKeys, Random, Standing};
use crate::config::AssociationConfig;
use crate::dtls::KeyOffer;
use crate::earliest::Earliest;
use crate::event::{CloseReason, Event};
use crate::format::DataFormat;
use crate::handshake::TieTags;
use crate::journal::Journal;
use crate::path_name::{PathId, PathSlot};
use crate::receive::{IncomingMessage, Receiver};
use crate::send::OutgoingMessage;
use crate::send::SendError;
use crate::sender::{Context, DataSender, Peer};
use crate::trace::TraceKind;

pub(crate) use authenticated::keys_of_cookie;
pub(crate) use collision::{CookieEchoCase, InitAnswer};
use control::ControlQueue;
use encrypted::Encrypted;
pub(crate) use handshake::{no_authorization, refusal_cause};
use liveness::INFO_LEN;
use readdressing::Readdressing;
use rebinding::Silence;
use reconfiguration::Reconfiguration;
use restart::LostAssociation;
pub use state::AssociationState;
use state::State;

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

/// Where a packet came from.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    /// The path that it counts for.
    path: PathSlot,
    /// Not that path's addresses where there are too many candidates, or it was deleted.
    from: FourTuple,
}

/// One association with a peer.
#[derive(Debug)]
pub struct Association {
    /// Its path MTU is what packets may have now.
    config: AssociationConfig,
    /// The path MTU that was configured, above which larger ones are searched for.
    path_mtu_base: usize,
    identity: Identity,
    tie_tags: TieTags,
    state: State,
    rng: Rng,
    /// Our part of the keys; zeros if we have none.
    random: Random,
    /// Exist once both ends announced that they authenticate.
    keys: Option<Box<AssociationKeys>>,
    /// What we offer of the DTLS chunk, once somebody was told.
    key_offer: Option<KeyOffer>,
    /// Exists once both ends offered the DTLS chunk.
    encrypted: Option<Box<Encrypted>>,
    /// What we call to restart, until the peer has answered.
    lost: Option<LostAssociation>,
    /// What a packet holds that was sealed, while it is looked at.
    plaintext: Vec<u8>,
    /// Our addresses, as far as they are known, to pair with the peer's.
    locals: Vec<std::net::SocketAddr>,
    /// What the peer announced, whether we can reach it or not.
    announced: Vec<std::net::IpAddr>,
    sender: DataSender,
    /// Exists once the peer announced its initial TSN.
    receiver: Option<Receiver>,
    /// Where the data that is to be acknowledged came from.
    sack_path: PathSlot,
    /// How long nothing arrived.
    silence: Silence,
    control: ControlQueue,
    reconfiguration: Reconfiguration,
    readdressing: Readdressing,
    /// Whether [`Event::Readable`] was said and not all was read since.
    readable_reported: bool,
    /// Whether the user asked for [`Event::SenderDry`].
    is_dry_awaited: bool,
    journal: Journal,
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
        let (sender, context) = self.sending(now);
        sender.send(&context, message)
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
            self.readable_reported = false;
        }
        if message.is_some() && receiver.window_update_is_due() {
            receiver.tracker.demand_sack();
        }
        message
    }

    /// Time has passed, for what waits to be read.
    pub(crate) fn advance(&mut self, now: Time) {
        if let Some(receiver) = self.receiver.as_mut() {
            receiver.advance(now);
        }
    }

    /// Whether a message can be read.
    #[must_use]
    pub fn has_message(&self) -> bool {
        self.receiver.as_ref().is_some_and(Receiver::has_message)
    }

    /// Gives up all that was handed over on a stream and may be given up: its lifetime ends now,
    /// as that of pictures does when their viewer looks at something else. Reliable messages stay.
    pub fn withdraw(&mut self, now: Time, stream: StreamId) {
        let (sender, context) = &mut self.sending(now);
        sender.withdraw(context, stream);
    }

    /// Sets the priority of a stream for the priority scheduler: 0 is served first, and is the
    /// default. Returns false if there is no such stream.
    pub fn set_stream_priority(&mut self, stream: StreamId, priority: u16) -> bool {
        self.sender.set_stream_priority(stream, priority)
    }

    /// Makes a path the primary one, which data takes while it is active. Returns false if there is
    /// no such path.
    pub fn set_primary(&mut self, path: PathId) -> bool {
        let Some(path) = self.sender.paths.named(path).filter(|path| path.is_confirmed()) else {
            return false;
        };
        self.sender.paths.set_primary(path.slot);
        self.reselect_path();
        true
    }

    /// Has data take a path only while no other one that answers is left, or like any other path
    /// again: so that a network that costs money is spared, and one that is about to be left is
    /// empty by then. What is in flight there stays, and heartbeats go on. Returns false if there
    /// is no such path.
    pub fn spare_path(&mut self, path: PathId, spared: bool) -> bool {
        let Some(slot) = self.sender.paths.named(path).map(|path| path.slot) else { return false };
        self.sender.paths.at_mut(slot).is_spared = spared;
        self.reselect_path();
        true
    }

    /// Opens a further path to the peer; it carries data once a heartbeat was answered on it. One
    /// that is there already is asked at once whether it answers. Returns `None` if there are too
    /// many.
    pub fn open_path(&mut self, now: Time, tuple: FourTuple) -> Option<PathId> {
        let path = self.open_or_wake_path(now, tuple)?;
        Some(self.sender.paths.at(path).id)
    }

    /// Nothing can be sent from this address of ours any more, as when its interface is gone: what
    /// is in flight from there takes other paths at once. A path from there is used again when it
    /// answers; until then it makes way if there are too many.
    pub fn close_paths_from(&mut self, now: Time, local: std::net::SocketAddr) {
        self.leave_paths_from(now, local);
    }

    /// Whether the peer may leave a packet's checksum out: we told it so in INIT or INIT ACK.
    pub(crate) fn announced_zero_checksum(&self, packet: &Packet<'_>) -> bool {
        self.config.extensions.zero_checksum_over_dtls
            || self.config.extensions.omits_checksums_of_sealed() && packet.dtls_chunk().is_some()
    }

    pub(crate) const fn identity(&self) -> Identity {
        self.identity
    }

    /// Whether packets on this path are known to come from the peer.
    pub(crate) fn has_confirmed_path(&self, tuple: FourTuple) -> bool {
        self.sender.paths.find(tuple).is_some_and(|path| self.sender.paths.at(path).is_confirmed())
    }

    /// A number that changes whenever [`path_tuples`](Self::path_tuples) does.
    pub(crate) const fn path_revision(&self) -> u64 {
        self.sender.paths.revision()
    }

    pub(crate) fn path_tuples(&self) -> impl Iterator<Item = FourTuple> + '_ {
        self.sender.paths.iter().map(|path| path.tuple)
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.journal.events.pop_front()
    }

    /// Whether nothing is left to send, to say or to read.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_closed()
            && !self.has_control()
            && self.journal.events.is_empty()
            && !self.has_message()
    }

    /// Whether something other than data waits to be sent.
    pub(crate) fn has_control(&self) -> bool {
        !self.control.is_empty()
    }

    /// Takes a packet that has our verification tag.
    pub(crate) fn handle_packet(
        &mut self,
        now: Time,
        tuple: FourTuple,
        packet: &Packet<'_>,
        len: usize,
    ) {
        let mut plaintext = std::mem::take(&mut self.plaintext);
        if let Some(packet) = self.unseal(packet, &mut plaintext) {
            self.handle_unsealed(now, tuple, &packet, len);
        }
        self.plaintext = plaintext;
    }

    pub(crate) fn handle_unsealed(
        &mut self,
        now: Time,
        tuple: FourTuple,
        packet: &Packet<'_>,
        len: usize,
    ) {
        let Some(standing) = self.screen(packet) else { return };
        let is_trusted = standing == Standing::Genuine || !self.demands(ChunkType::HEARTBEAT_ACK);
        let path = self.path_of_arrival(now, tuple, is_trusted);
        let source = self.sender.paths.at_mut(path);
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
        self.journal.trace(now, TraceKind::PacketReceived { path: id, len });
        if is_trusted {
            self.on_sign_of_life();
        }
        self.handle_chunks(now, Arrival { path, from: tuple }, packet, standing);
        if !self.is_closed() {
            self.after_input(now);
        }
    }

    fn handle_chunks(
        &mut self,
        now: Time,
        arrival: Arrival,
        packet: &Packet<'_>,
        standing: Standing,
    ) {
        let mut is_authenticated = false;
        let mut brought_data = false;
        for chunk in packet.chunks() {
            match &chunk {
                // RFC 4895 section 5.1: "The control chunk AUTH MUST NOT appear more than once in
                // an SCTP packet."
                Ok(Chunk::Auth(_)) if standing == Standing::Genuine && !is_authenticated => {
                    is_authenticated = true;
                }
                // RFC 4895 section 6.3: "It MUST silently discard these chunks if they are not
                // placed after an AUTH chunk in the packet."; RFC 5061 section 5.2, D5, of ASCONF:
                // "the receiver MUST silently discard this chunk and the rest of the packet."
                Ok(chunk) if !is_authenticated && self.demands(chunk.ty()) => {
                    self.journal.stats.unauthenticated += 1;
                    if chunk.ty() == ChunkType::ASCONF {
                        break;
                    }
                }
                Ok(chunk) if !self.admits(chunk) => self.note_unprotected(),
                Ok(chunk) => {
                    brought_data |= self.is_data(chunk);
                    if !self.handle_chunk(now, arrival, chunk) {
                        break;
                    }
                }
                Err(error) => self.on_malformed(*error, is_authenticated),
            }
            if self.is_closed() {
                return;
            }
        }
        if brought_data {
            self.end_data_packet(now, arrival.path);
        }
    }

    /// The path that a packet came over. One that proves nothing makes no new path.
    fn path_of_arrival(&mut self, now: Time, tuple: FourTuple, is_trusted: bool) -> PathSlot {
        match self.sender.paths.find(tuple) {
            Some(path) if !self.sender.paths.at(path).is_deleted() => path,
            None if is_trusted => self.new_arrival_path(now, tuple),
            Some(_) | None => self.sender.paths.current(),
        }
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
            if !self.demands(ChunkType::ABORT) && !self.is_encrypted() {
                self.on_abort(abort);
            }
        } else if is_over || !self.is_encrypted() {
            self.on_shutdown_complete();
        }
    }

    /// A packet came from the peer's address without our verification tag.
    pub(crate) const fn note_wrong_tag(&mut self) {
        self.journal.stats.malformed += 1;
    }

    /// Handles one chunk; false ends the packet.
    fn handle_chunk(&mut self, now: Time, arrival: Arrival, chunk: &Chunk<'_>) -> bool {
        let path = arrival.path;
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
            Chunk::Asconf(asconf) => self.on_asconf(now, arrival, asconf),
            Chunk::AsconfAck(ack) => self.on_asconf_ack(now, path, ack),
            Chunk::Unknown(unknown) => return self.on_unknown_chunk(path, unknown),
            // Not negotiated, or not alone: the upper bits of its type have it reported, and end
            // the packet.
            Chunk::Dtls(dtls) => {
                self.report_unrecognized(path, &header_of(dtls));
                return false;
            }
            // It does not hold, or authentication was not negotiated: RFC 9260 section 3.2 has a
            // chunk of this type that is not recognized end the packet.
            Chunk::Auth(_) => return false,
            // The endpoint handles INIT and COOKIE ECHO before an association sees the packet; ECN
            // is not negotiated.
            Chunk::Init(_) | Chunk::CookieEcho(_) | Chunk::Ecne(_) | Chunk::Cwr(_) => {}
            // RFC 4820 section 3: "The receiver of the PAD chunk MUST discard this chunk and
            // continue processing the rest of the chunks in the packet."
            Chunk::Pad(_) => {}
        }
        true
    }

    /// Acts on every timer that is due.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.trace_expiry(now);
        self.on_handshake_timer(now);
        self.on_key_timer(now);
        self.on_shutdown_timer(now);
        if let Some(receiver) = self.receiver.as_mut() {
            receiver.on_time(now);
        }
        if self.silence.timer.is_some_and(|at| at <= now) {
            self.on_silence(now);
        }
        self.on_reconfiguration_timer(now);
        self.on_readdressing_timer(now);
        if self.is_closed() {
            return;
        }
        let (sender, context) = &mut self.sending(now);
        sender.on_time(context);
        for path in self.sender.paths.ids() {
            self.on_path_timers(now, path);
            if self.is_closed() {
                return;
            }
        }
        self.after_input(now);
    }

    fn on_path_timers(&mut self, now: Time, path: PathSlot) {
        if self.sender.paths.at(path).loss_timer.is_some_and(|(at, _)| at <= now) {
            let (sender, context) = &mut self.sending(now);
            if let Some(patience) = sender.on_loss_timer(context, path) {
                self.send_heartbeat(now, path);
                self.sender.paths.at_mut(path).heartbeat.timer = Some(now + patience);
            }
        }
        if self.sender.paths.at(path).t3_rtx.is_some_and(|at| at <= now) {
            let (sender, context) = &mut self.sending(now);
            let peer = sender.on_t3_rtx(context, path);
            self.heed(peer);
        }
        if self.sender.paths.at(path).heartbeat.timer.is_some_and(|at| at <= now) {
            self.on_heartbeat_timer(now, path);
        }
        if self.sender.paths.at(path).mtu_timer().is_some_and(|at| at <= now) {
            self.on_mtu_timer(now, path);
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    pub(crate) fn poll_timeout(&self) -> Option<Wakeup> {
        if self.is_closed() {
            return None;
        }
        let mut earliest = Earliest::default();
        earliest.offer(self.handshake_timer(), "T1");
        earliest.offer(self.key_timer(), "keys");
        self.offer_shutdown_timers(&mut earliest);
        let sack_timer = self.receiver.as_ref().and_then(Receiver::sack_timer);
        earliest.offer(sack_timer, "SACK delay");
        earliest.offer(self.silence.timer, "silence");
        earliest.offer(self.reconfiguration_timer(), "T-reconfig");
        earliest.offer(self.readdressing_timer(), "T-4");
        let may_send = self.state.may_send_data();
        self.sender.offer_timers(may_send, self.config.timers.slack, &mut earliest);
        earliest.wakeup()
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
            self.sender.note_app_limits(now);
            self.trace_changes(now);
        }
        self.report_queue();
        transmit
    }

    /// What any input may have brought about.
    fn after_input(&mut self, now: Time) {
        self.advance_keys(now);
        if self.is_closed() {
            return;
        }
        let (sender, context) = &mut self.sending(now);
        sender.after_input(context);
        self.settle_path_mtu();
        self.advance_reconfiguration(now);
        self.bury_doomed(now);
        let (sender, context) = &mut self.sending(now);
        sender.open_burst(context);
        sender.follow_rate(context);
        self.advance_shutdown(now);
        self.trace_changes(now);
        self.report_queue();
        if self.has_message() && !self.readable_reported && !self.awaits_keys() {
            self.readable_reported = true;
            self.journal.tell(Event::Readable);
        }
    }

    /// Reports what became of messages that waited.
    fn report_queue(&mut self) {
        self.sender.report_queue(&mut self.journal);
        if self.is_dry_awaited && self.is_drained() {
            self.is_dry_awaited = false;
            self.journal.tell(Event::SenderDry);
        }
    }

    /// Whether there is something to say.
    pub(crate) fn has_event(&self) -> bool {
        !self.journal.events.is_empty()
    }

    /// Ends the association at once. What was received before can still be read.
    fn close(&mut self, reason: CloseReason) {
        if self.is_closed() {
            return;
        }
        self.sender.end(&mut self.journal);
        let stats = Box::new(self.stats());
        self.state = State::Closed;
        if let Some(receiver) = self.receiver.as_mut() {
            receiver.stop();
        }
        self.journal.tell(Event::Closed { reason, stats });
    }

    /// The data sender, with what it is shown now.
    fn sending(&mut self, now: Time) -> (&mut DataSender, Context<'_>) {
        let (phase, signature_len) = (self.state.phase(), self.data_signature_len());
        let Self { sender, config, journal, .. } = self;
        (sender, Context { now, config, phase, signature_len, journal })
    }

    /// Ends the association if the peer turned out to be gone.
    fn heed(&mut self, peer: Peer) {
        if peer == Peer::Unreachable {
            self.close(CloseReason::PeerUnreachable);
        }
    }
}

/// What is reported of a DTLS chunk: its header says it all.
fn header_of(chunk: &Dtls<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    EncodeChunk::encode(&Dtls { restart: chunk.restart, record: &[] }, &mut bytes);
    bytes
}
