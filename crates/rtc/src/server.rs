//! [`Server`]: all browsers of one UDP port.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::IpAddr;

use anabranch_sansio::{
    Datagram, FourTuple, Machine, Rng, Time, TraceLog, TraceRecord, Transmit, Wakeup, Wakeups,
};
use anabranch_sctp::{Association, OutgoingMessage};
use anabranch_wire::StreamId;
use bytes::Bytes;
use thiserror::Error;

use crate::channels::{ChannelError, MessageKind};
use crate::config::RtcConfig;
use crate::connection::{Connection, Selecting, TUPLES_MAX};
use crate::dcep::ChannelOptions;
use crate::dtls::Identity;
use crate::event::Event;
use crate::ice::{Check, Credentials};
use crate::sdp::{Answer, Offer, OfferError};

/// Answers to connectivity checks that wait to be sent; a browser repeats a check without one.
const ANSWERS_MAX: usize = 256;

/// A connection of a server. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(u64);

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {}", self.0)
    }
}

/// Why an offer got no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// The offer cannot be answered: HTTP's status 400.
    #[error(transparent)]
    Offer(#[from] OfferError),
    /// All connections are taken: HTTP's status 503.
    #[error("the server has {limit} connections, which is its limit")]
    Full {
        /// `RtcConfig::connections_max`.
        limit: usize,
    },
    /// One address begins too much: HTTP's status 403.
    #[error("{address} has {limit} connections that are not set up yet, which is the limit")]
    TooManyHandshakes {
        /// Whose offers.
        address: IpAddr,
        /// `RtcConfig::handshakes_per_address_max`.
        limit: usize,
    },
}

/// Why there is no server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no certificate could be made: {0}")]
pub struct CertificateError(String);

/// What a browser's datagram is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// A connectivity check.
    Stun,
    /// A record, with SCTP inside.
    Dtls,
}

impl Protocol {
    /// RFC 7983 section 7: the first byte decides, and leaves room for other protocols on the port.
    #[must_use]
    pub fn of(datagram: &[u8]) -> Option<Self> {
        match datagram.first() {
            Some(0..=3) => Some(Self::Stun),
            Some(20..=63) => Some(Self::Dtls),
            _ => None,
        }
    }
}

/// SCTP's port at both ends of an association straight over UDP, at a port that browsers use, too.
///
/// The other end's is the first thing in its datagrams, and must not look like a browser's: neither
/// below 1024, as STUN does, nor 5120 to 16383, as DTLS does (RFC 7983 section 7).
pub const NATIVE_SCTP_PORT: u16 = 5_004;

/// Counters of datagrams that reached no connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerStats {
    /// Connectivity checks of no session, or with a wrong password.
    pub checks_refused: u64,
    /// DTLS from addresses that no check has proven.
    pub strangers: u64,
    /// What is neither STUN nor DTLS.
    pub malformed: u64,
}

/// Why ICE is not restarted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RestartError {
    /// What is wrong with the offer.
    #[error(transparent)]
    Offer(#[from] OfferError),
    /// There is no such connection any more.
    #[error("this connection has ended: a new offer begins another one")]
    Gone,
    /// A certificate that the connection was not set up with.
    #[error(
        "the offer has another fingerprint than the connection: a new offer begins another one"
    )]
    OtherCertificate,
    /// Nothing is restarted.
    #[error("the offer has the `a=ice-ufrag` of the one before: `restartIce()` makes a new one")]
    SameCredentials,
}

/// The browsers of one UDP port: a [`Machine`] whose datagrams are that port's.
///
/// An offer of a browser, brought by HTTP, begins a connection; the answer tells it where to send
/// its connectivity checks, and the password that proves them. All else happens by datagrams.
#[derive(Debug)]
pub struct Server {
    config: RtcConfig,
    identity: Identity,
    rng: Rng,
    entries: BTreeMap<ConnectionId, Entry>,
    by_ufrag: BTreeMap<String, ConnectionId>,
    by_tuple: BTreeMap<(std::net::SocketAddr, std::net::SocketAddr), ConnectionId>,
    wakeups: Wakeups<ConnectionId>,
    to_transmit: VecDeque<ConnectionId>,
    to_report: VecDeque<ConnectionId>,
    answers: VecDeque<(FourTuple, Vec<u8>)>,
    next_id: u64,
    now: Time,
    stats: ServerStats,
    is_tracing: bool,
    /// What is left of connections that are gone.
    records: TraceLog,
}

#[derive(Debug)]
struct Entry {
    connection: Connection,
    /// Who brought the offer, until the connection is set up.
    handshake_of: Option<IpAddr>,
    wakeup: Option<Wakeup>,
    in_transmit: bool,
    in_report: bool,
}

impl Entry {
    fn next_record(&mut self, id: ConnectionId) -> Option<TraceRecord> {
        let record = self.connection.poll_trace()?;
        Some(TraceRecord { connection: Some(id.0), ..record })
    }
}

impl Server {
    /// A server without connections, with a certificate of its own. The generator must be
    /// unpredictable on real networks.
    ///
    /// # Errors
    ///
    /// If the cryptography at hand makes no certificate.
    pub fn new(config: RtcConfig, rng: Rng) -> Result<Self, CertificateError> {
        let identity = Identity::generate(config.datagram_max())
            .map_err(|error| CertificateError(error.to_string()))?;
        Ok(Self {
            config,
            identity,
            rng,
            entries: BTreeMap::new(),
            by_ufrag: BTreeMap::new(),
            by_tuple: BTreeMap::new(),
            wakeups: Wakeups::default(),
            to_transmit: VecDeque::new(),
            to_report: VecDeque::new(),
            answers: VecDeque::new(),
            next_id: 0,
            now: Time::ZERO,
            stats: ServerStats::default(),
            is_tracing: false,
            records: TraceLog::default(),
        })
    }

    /// Answers a browser's offer, which came from `address`. The connection is there at once, and
    /// [`Event::Connected`] follows when the browser is.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the offer, or which limit stands against it.
    pub fn accept(
        &mut self,
        now: Time,
        sdp: &str,
        address: IpAddr,
    ) -> Result<(ConnectionId, String), AcceptError> {
        self.now = now;
        let offer = Offer::parse(sdp)?;
        let limit = self.config.connections_max;
        if self.entries.len() >= limit {
            return Err(AcceptError::Full { limit });
        }
        let limit = self.config.handshakes_per_address_max;
        let handshakes = self.entries.values().filter(|e| e.handshake_of == Some(address));
        if handshakes.count() >= limit {
            return Err(AcceptError::TooManyHandshakes { address, limit });
        }
        let rng = self.rng.fork();
        let mut connection = Connection::new(now, &self.config, &self.identity, offer.clone(), rng);
        connection.set_tracing(self.is_tracing);
        let answer = self.answer(&connection.credentials, &offer);
        let id = ConnectionId(self.next_id);
        self.next_id += 1;
        self.by_ufrag.insert(connection.credentials.ufrag.clone(), id);
        let entry = Entry {
            connection,
            handshake_of: Some(address),
            wakeup: None,
            in_transmit: false,
            in_report: false,
        };
        self.entries.insert(id, entry);
        self.touch(id);
        self.refresh(id);
        Ok((id, answer))
    }

    /// Answers a browser's offer to restart ICE: it is somewhere else, and goes on with its DTLS
    /// and its association from there. Until it has nominated a pair of addresses anew, it is where
    /// it was.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the offer, or that the connection is another one's or gone.
    pub fn restart(
        &mut self,
        now: Time,
        id: ConnectionId,
        sdp: &str,
    ) -> Result<String, RestartError> {
        self.now = now;
        let offer = Offer::parse(sdp)?;
        let Some(entry) = self.entries.get_mut(&id).filter(|it| it.connection.closed.is_none())
        else {
            return Err(RestartError::Gone);
        };
        if offer.fingerprint != *entry.connection.fingerprint() {
            return Err(RestartError::OtherCertificate);
        }
        if offer.ufrag == entry.connection.peer_ufrag {
            return Err(RestartError::SameCredentials);
        }
        let oldest: Vec<String> = entry.connection.ufrags().skip(1).cloned().collect();
        let credentials = Credentials::random(&mut self.rng);
        for ufrag in oldest {
            self.by_ufrag.remove(&ufrag);
        }
        self.by_ufrag.insert(credentials.ufrag.clone(), id);
        entry.connection.restart(credentials.clone(), offer.ufrag.clone());
        Ok(self.answer(&credentials, &offer))
    }

    fn answer(&mut self, own: &Credentials, offer: &Offer) -> String {
        let answer = Answer {
            session: self.rng.next_u64() >> 1,
            ufrag: &own.ufrag,
            password: &own.password,
            fingerprint: self.identity.fingerprint(),
            candidates: &self.config.candidates,
            max_message_size: self.config.association.buffers.message_size_max,
        };
        answer.write(offer)
    }

    /// Ends a connection; the browser is told. [`Event::Closed`] follows.
    pub fn close(&mut self, now: Time, id: ConnectionId) {
        self.now = now;
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.connection.hang_up(now);
        }
        self.touch(id);
    }

    /// Opens a channel, which [`Event::ChannelOpened`] then says to be open. Messages may be sent
    /// at once.
    ///
    /// # Errors
    ///
    /// Says why there is no channel.
    pub fn open_channel(
        &mut self,
        now: Time,
        id: ConnectionId,
        options: ChannelOptions,
    ) -> Result<StreamId, ChannelError> {
        let connection = self.connection_mut(now, id).ok_or(ChannelError::NotConnected)?;
        let (channels, association) = connection.parts().ok_or(ChannelError::NotConnected)?;
        channels.open(now, association, options)
    }

    /// Opens a channel that the page opens, too, with `negotiated: true` and this `id`. Nothing
    /// follows: it is open.
    ///
    /// # Errors
    ///
    /// Says why there is no channel.
    pub fn open_negotiated_channel(
        &mut self,
        now: Time,
        id: ConnectionId,
        stream: StreamId,
        options: ChannelOptions,
    ) -> Result<(), ChannelError> {
        let connection = self.connection_mut(now, id).ok_or(ChannelError::NotConnected)?;
        let (channels, association) = connection.parts().ok_or(ChannelError::NotConnected)?;
        channels.open_negotiated(association, stream, options)
    }

    /// Sends a message as its channel is treated, or as `treat` makes it: in order or not, with its
    /// own lifetime or number of retransmissions.
    ///
    /// # Errors
    ///
    /// Says why the message was not taken; after
    /// [`BufferFull`](anabranch_sctp::SendError::BufferFull), [`Event::Writable`] follows.
    pub fn send(
        &mut self,
        now: Time,
        id: ConnectionId,
        stream: StreamId,
        message: (MessageKind, Bytes),
        treat: impl FnOnce(&mut OutgoingMessage),
    ) -> Result<(), ChannelError> {
        let connection = self.connection_mut(now, id).ok_or(ChannelError::NotConnected)?;
        let (channels, association) = connection.parts().ok_or(ChannelError::NotConnected)?;
        channels.send(now, association, stream, message, treat)
    }

    /// Closes a channel: what was sent before is still delivered. [`Event::ChannelClosed`] follows.
    pub fn close_channel(&mut self, now: Time, id: ConnectionId, stream: StreamId) {
        let Some(connection) = self.connection_mut(now, id) else { return };
        let Some((channels, association)) = connection.parts() else { return };
        channels.close(now, association, stream);
        connection.pump(now);
    }

    /// Does something with the association of a connection, below its channels: sends, or ends it.
    /// `None` if there is none (yet).
    ///
    /// What comes for a channel is told by events; nothing may be read here.
    pub fn with_association<T>(
        &mut self,
        now: Time,
        id: ConnectionId,
        act: impl FnOnce(&mut Association) -> T,
    ) -> Option<T> {
        let connection = self.connection_mut(now, id)?;
        let (_, association) = connection.parts()?;
        let result = act(association);
        connection.pump(now);
        Some(result)
    }

    /// The association of a connection, for its statistics.
    #[must_use]
    pub fn association(&self, id: ConnectionId) -> Option<&Association> {
        self.entries.get(&id)?.connection.association()
    }

    /// Where the browser of a connection is, once it came.
    #[must_use]
    pub fn path(&self, id: ConnectionId) -> Option<FourTuple> {
        self.entries.get(&id)?.connection.selected()
    }

    /// The connections there are.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        self.entries.keys().copied()
    }

    /// Counters of datagrams that reached no connection.
    #[must_use]
    pub const fn stats(&self) -> ServerStats {
        self.stats
    }

    fn connection_mut(&mut self, now: Time, id: ConnectionId) -> Option<&mut Connection> {
        self.now = now;
        self.touch(id);
        self.entries.get_mut(&id).map(|entry| &mut entry.connection)
    }

    /// A connectivity check: answered if it is authentic, and its address belongs to its
    /// connection from then on.
    fn on_stun(&mut self, tuple: FourTuple, bytes: &[u8]) {
        let known = Check::read(bytes).and_then(|check| {
            let id = *self.by_ufrag.get(check.ufrag)?;
            let connection = &self.entries.get(&id)?.connection;
            let (own, is_before) = connection.credentials_of(&check)?;
            let selecting = match check.nominates {
                _ if is_before => Selecting::Before,
                true => Selecting::Nominates,
                false => Selecting::Only,
            };
            let answer = || check.answer(own, tuple.remote);
            check.is_authentic(own).then(answer).flatten().map(|answer| (id, selecting, answer))
        });
        let Some((id, selecting, answer)) = known else {
            self.stats.checks_refused += 1;
            return;
        };
        if !self.learn_tuple(id, tuple) {
            return;
        }
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.connection.on_check(self.now, tuple, selecting);
        }
        if self.answers.len() < ANSWERS_MAX {
            self.answers.push_back((tuple, answer));
        }
        self.touch(id);
        self.refresh(id);
    }

    /// Notes that an address belongs to a connection; the oldest makes way for the newest.
    fn learn_tuple(&mut self, id: ConnectionId, tuple: FourTuple) -> bool {
        let key = (tuple.remote, tuple.local);
        let Some(entry) = self.entries.get_mut(&id) else { return false };
        let tuples = &mut entry.connection.tuples;
        if self.by_tuple.get(&key) == Some(&id) {
            return true;
        }
        if tuples.len() >= TUPLES_MAX {
            let oldest = tuples.remove(0);
            self.by_tuple.remove(&(oldest.remote, oldest.local));
        }
        tuples.push(tuple);
        // Behind a NAT the address may have been another browser's.
        if let Some(before) = self.by_tuple.insert(key, id)
            && let Some(entry) = self.entries.get_mut(&before)
        {
            entry.connection.tuples.retain(|known| *known != tuple);
        }
        true
    }

    fn on_dtls(&mut self, tuple: FourTuple, bytes: &[u8]) {
        let Some(&id) = self.by_tuple.get(&(tuple.remote, tuple.local)) else {
            self.stats.strangers += 1;
            return;
        };
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.connection.handle_datagram(self.now, bytes);
        }
        self.touch(id);
        self.refresh(id);
    }

    /// Notes that a connection may have something to send or to say.
    fn touch(&mut self, id: ConnectionId) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if !std::mem::replace(&mut entry.in_transmit, true) {
            self.to_transmit.push_back(id);
        }
        if !std::mem::replace(&mut entry.in_report, true) {
            self.to_report.push_back(id);
        }
    }

    /// Brings the tables up to date with a connection.
    fn refresh(&mut self, id: ConnectionId) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if entry.connection.is_finished() {
            return self.remove(id);
        }
        if entry.connection.association().is_some() {
            entry.handshake_of = None;
        }
        let wakeup = entry.connection.poll_timeout();
        self.wakeups.set(id, &mut entry.wakeup, wakeup);
    }

    fn remove(&mut self, id: ConnectionId) {
        let Some(mut entry) = self.entries.remove(&id) else { return };
        while let Some(record) = entry.next_record(id) {
            self.records.push(|| record);
        }
        for ufrag in entry.connection.ufrags() {
            self.by_ufrag.remove(ufrag);
        }
        for tuple in &entry.connection.tuples {
            self.by_tuple.remove(&(tuple.remote, tuple.local));
        }
        self.wakeups.set(id, &mut entry.wakeup, None);
    }
}

impl Machine for Server {
    type Event = (ConnectionId, Event);

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.now = now;
        match Protocol::of(datagram.bytes) {
            Some(Protocol::Stun) => self.on_stun(datagram.path, datagram.bytes),
            Some(Protocol::Dtls) => self.on_dtls(datagram.path, datagram.bytes),
            None => self.stats.malformed += 1,
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.now = now;
        // A connection that touches nothing but its own timer asks for the same time again; that
        // many rounds, and no more, are done.
        for _ in 0..=self.entries.len() {
            let Some(id) = self.wakeups.due(now) else { return };
            if let Some(entry) = self.entries.get_mut(&id) {
                entry.connection.handle_timeout(now);
            }
            self.touch(id);
            self.refresh(id);
        }
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.now = now;
        if let Some((path, answer)) = self.answers.pop_front() {
            buf.extend_from_slice(&answer);
            return Some(Transmit::datagram(path));
        }
        while let Some(&id) = self.to_transmit.front() {
            if let Some(entry) = self.entries.get_mut(&id) {
                let transmit = entry.connection.poll_transmit(now, buf);
                if entry.connection.has_event() && !std::mem::replace(&mut entry.in_report, true) {
                    self.to_report.push_back(id);
                }
                if transmit.is_some() {
                    return transmit;
                }
                entry.in_transmit = false;
            }
            self.to_transmit.pop_front();
            self.refresh(id);
        }
        None
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.entries.get(&self.wakeups.first()?)?.wakeup
    }

    fn poll_event(&mut self) -> Option<Self::Event> {
        while let Some(&id) = self.to_report.front() {
            if let Some(entry) = self.entries.get_mut(&id) {
                if let Some(event) = entry.connection.poll_event(self.now) {
                    // Reading makes room, which the browser shall learn.
                    if !std::mem::replace(&mut entry.in_transmit, true) {
                        self.to_transmit.push_back(id);
                    }
                    return Some((id, event));
                }
                entry.in_report = false;
            }
            self.to_report.pop_front();
            self.refresh(id);
        }
        None
    }

    fn set_tracing(&mut self, on: bool) {
        self.is_tracing = on;
        self.records.set(on);
        for entry in self.entries.values_mut() {
            entry.connection.set_tracing(on);
        }
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        if !self.is_tracing {
            return None;
        }
        let present = || self.entries.iter_mut().find_map(|(id, entry)| entry.next_record(*id));
        self.records.pop().or_else(present)
    }
}
