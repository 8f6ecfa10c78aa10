//! [`Connection`]: one browser: ICE, DTLS and SCTP on top of each other.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use anabranch_sctp::{Association, AssociationId, Direction, Endpoint, EndpointConfig};
use anabranch_wire::StreamId;

use crate::channels::{ChannelEvent, Channels};
use crate::config::RtcConfig;
use crate::dtls::{Dtls, Identity, Record};
use crate::event::{CloseReason, Event};
use crate::ice::{Check, Credentials};
use crate::sdp::Offer;

/// Addresses of one browser that may send us DTLS: it checks several, and uses one.
pub(crate) const TUPLES_MAX: usize = 4;

/// Bytes of messages that wait for the user here; what is beyond waits in the association, whose
/// window tells the peer.
const INBOX_MAX: usize = 256 << 10;

/// Handshake datagrams that wait to be sent.
const DATAGRAMS_MAX: usize = 32;

/// The one path inside DTLS. RFC 8261 section 5: "SCTP associations established over DTLS ... MUST
/// NOT use multi-homing"; where the datagrams go is ICE's matter.
const PATH: FourTuple = {
    let nowhere = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 9);
    FourTuple::new(nowhere, nowhere)
};

/// One browser.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) credentials: Credentials,
    pub(crate) peer_ufrag: String,
    /// Both before the last restart.
    before: Option<(Credentials, String)>,
    pub(crate) tuples: Vec<FourTuple>,
    /// Where we send: what the browser nominated, or the first that it checked.
    selected: Option<FourTuple>,
    /// When the offer came.
    began: Time,
    /// When the last authentic check came, or the offer.
    last_check: Time,
    fingerprint: [u8; 32],
    is_authentic: bool,
    dtls: Dtls,
    is_secure: bool,
    sctp: Endpoint,
    association: Option<AssociationId>,
    channels: Channels,
    /// Streams that were reset, until all messages from before are read.
    resets: VecDeque<(Direction, Vec<StreamId>)>,
    datagrams: VecDeque<Vec<u8>>,
    events: VecDeque<Event>,
    inbox: usize,
    scratch: Vec<u8>,
    config: RtcConfig,
    pub(crate) closed: Option<CloseReason>,
}

/// What a check says about where the browser wants to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selecting {
    /// It wants to be there.
    Nominates,
    /// It could be.
    Only,
    /// It was, before ICE was restarted.
    Before,
}

impl Connection {
    pub(crate) fn new(
        now: Time,
        config: &RtcConfig,
        identity: &Identity,
        offer: Offer,
        mut rng: Rng,
    ) -> Self {
        let credentials = Credentials::random(&mut rng);
        let sctp = EndpointConfig {
            association: config.association.clone(),
            accept: true,
            associations_max: 1,
            segments_max: config.segments_max,
            ..EndpointConfig::default()
        };
        Self {
            credentials,
            peer_ufrag: offer.ufrag,
            before: None,
            tuples: Vec::new(),
            selected: None,
            began: now,
            last_check: now,
            fingerprint: offer.fingerprint,
            is_authentic: false,
            dtls: Dtls::new(now, identity),
            is_secure: false,
            sctp: Endpoint::new(sctp, rng),
            association: None,
            channels: Channels::new(config.negotiated_channels, offer.max_message_size),
            resets: VecDeque::new(),
            datagrams: VecDeque::new(),
            events: VecDeque::new(),
            inbox: 0,
            scratch: Vec::new(),
            config: config.clone(),
            closed: None,
        }
    }

    /// An authentic check came: the browser lives, and is there.
    pub(crate) fn on_check(&mut self, now: Time, tuple: FourTuple, check: Selecting) {
        self.last_check = now;
        let selects = match check {
            Selecting::Nominates => true,
            Selecting::Only => self.selected.is_none(),
            Selecting::Before => false,
        };
        if selects && self.selected.replace(tuple) != Some(tuple) {
            self.on_moved(now);
        }
    }

    /// The browser is somewhere else: what was sent on the way before is asked after at once, and
    /// not when a timer says so that was doubled with each silence.
    fn on_moved(&mut self, now: Time) {
        if let Some((_, association)) = self.parts() {
            let paths: Vec<_> = association.stats().paths.iter().map(|path| path.id).collect();
            for path in paths {
                association.request_heartbeat(now, path);
            }
            self.pump(now);
        }
    }

    /// RFC 8445 section 9: "To restart ICE, an agent MUST change both the password and the username
    /// fragment". Until the browser nominates by the new ones, it is where it was.
    pub(crate) fn restart(&mut self, credentials: Credentials, peer_ufrag: String) {
        let credentials = std::mem::replace(&mut self.credentials, credentials);
        let peer_ufrag = std::mem::replace(&mut self.peer_ufrag, peer_ufrag);
        self.before = Some((credentials, peer_ufrag));
    }

    /// The credentials to which a check belongs, and whether they are those before a restart.
    pub(crate) fn credentials_of(&self, check: &Check<'_>) -> Option<(&Credentials, bool)> {
        let before = self.before.as_ref().map(|(own, peer)| (own, peer, true));
        let all = [Some((&self.credentials, &self.peer_ufrag, false)), before];
        let is_meant = |(own, peer, _): &(&Credentials, &String, bool)| {
            own.ufrag == check.ufrag && peer.as_str() == check.peer_ufrag
        };
        let (own, _, is_before) = all.into_iter().flatten().find(is_meant)?;
        Some((own, is_before))
    }

    /// Our ufrags by which it can be checked.
    pub(crate) fn ufrags(&self) -> impl Iterator<Item = &String> {
        let before = self.before.as_ref().map(|(own, _)| &own.ufrag);
        std::iter::once(&self.credentials.ufrag).chain(before)
    }

    /// The certificate that the browser named in its first offer.
    pub(crate) const fn fingerprint(&self) -> &[u8; 32] {
        &self.fingerprint
    }

    /// Takes a DTLS datagram from an address that a check has proven.
    pub(crate) fn handle_datagram(&mut self, now: Time, bytes: &[u8]) {
        if let Err(error) = self.dtls.handle_datagram(now, bytes) {
            return self.close(CloseReason::Dtls(error.to_string()));
        }
        self.drain_dtls(now);
        self.pump(now);
    }

    fn drain_dtls(&mut self, now: Time) {
        let Self { dtls, sctp, datagrams, fingerprint, is_authentic, is_secure, .. } = self;
        let mut end = None;
        let drained = dtls.drain(|record| match record {
            Record::Datagram(bytes) => {
                if datagrams.len() < DATAGRAMS_MAX {
                    datagrams.push_back(bytes.to_vec());
                }
            }
            // RFC 8122 section 6.2: the certificate must match the fingerprint of the offer.
            Record::Certificate(shown) => *is_authentic = shown == *fingerprint,
            Record::Connected if *is_authentic => *is_secure = true,
            Record::Connected => end = Some(CloseReason::WrongCertificate),
            Record::Content(bytes) => {
                if *is_secure {
                    sctp.handle_datagram(now, Datagram { path: PATH, ecn: None, bytes });
                }
            }
            Record::Closed => end = Some(CloseReason::ClosedByPeer),
        });
        if let Err(error) = drained {
            self.close(CloseReason::Dtls(error.to_string()));
        } else if let Some(reason) = end {
            self.close(reason);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        if self.deadline() <= now {
            let reason = match self.association {
                _ if self.selected.is_none() => CloseReason::NeverCame,
                None => CloseReason::NotSetUp,
                Some(_) => CloseReason::Silent,
            };
            return self.close(reason);
        }
        if self.dtls.timer().is_some_and(|at| at <= now) {
            if let Err(error) = self.dtls.handle_timeout(now) {
                return self.close(CloseReason::Dtls(error.to_string()));
            }
            self.drain_dtls(now);
        }
        if self.sctp.poll_timeout().is_some_and(|wakeup| wakeup.at <= now) {
            self.sctp.handle_timeout(now);
        }
        self.pump(now);
    }

    /// RFC 7675 section 5.1: "Consent expires after 30 seconds." We ask for no consent, as a lite
    /// agent, but see the browser ask for ours all the time.
    fn deadline(&self) -> Time {
        let consent = self.last_check + self.config.consent_timeout;
        if self.association.is_some() {
            return consent;
        }
        consent.min(self.began + self.config.setup_timeout)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Wakeup> {
        if self.closed.is_some() {
            return None;
        }
        let consent = Wakeup { at: self.deadline(), why: "consent" };
        let dtls = self.dtls.timer().map(|at| Wakeup { at, why: "DTLS" });
        let all = [Some(consent), dtls, self.sctp.poll_timeout()];
        all.into_iter().flatten().min_by_key(|wakeup| wakeup.at)
    }

    /// Writes what is to be sent: a datagram of the handshake, or SCTP packets of one size, each a
    /// record of its own.
    pub(crate) fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let path = self.selected?;
        let single = Transmit::datagram(path);
        if let Some(datagram) = self.datagrams.pop_front() {
            buf.extend_from_slice(&datagram);
            return Some(single);
        }
        if !self.is_secure {
            return None;
        }
        let start = buf.len();
        let mut packets = std::mem::take(&mut self.scratch);
        packets.clear();
        let sent = self.sctp.poll_transmit(now, &mut packets);
        let size = sent.and_then(|sent| sent.segment_size).unwrap_or(packets.len()).max(1);
        let mut sizes = Sizes::default();
        for packet in packets.chunks(size) {
            let datagrams = &mut self.datagrams;
            let written = self.dtls.encrypt(packet, |record| {
                let Record::Datagram(bytes) = record else { return };
                if sizes.admit(bytes.len()) {
                    buf.extend_from_slice(bytes);
                } else if datagrams.len() < DATAGRAMS_MAX {
                    datagrams.push_back(bytes.to_vec());
                }
            });
            if let Err(error) = written {
                self.close(CloseReason::Dtls(error.to_string()));
                break;
            }
        }
        self.scratch = packets;
        self.pump(now);
        (buf.len() > start).then_some(Transmit { segment_size: sizes.segment_size(), ..single })
    }

    /// Turns what SCTP reports into our events, and reads as much as the user has room for.
    pub(crate) fn pump(&mut self, now: Time) {
        while let Some((id, event)) = self.sctp.poll_event() {
            use anabranch_sctp::Event as Sctp;
            match event {
                Sctp::Connected { .. } => {
                    self.association = Some(id);
                    self.events.push_back(Event::Connected);
                }
                Sctp::Writable => self.events.push_back(Event::Writable),
                Sctp::StreamsReset { direction, streams } => {
                    self.resets.push_back((direction, streams));
                }
                // A stream that stays as it is can carry no other channel.
                Sctp::ResetRefused { streams, .. } => {
                    self.resets.push_back((Direction::Outgoing, streams));
                }
                Sctp::Restarted => self.close(CloseReason::ClosedByPeer),
                Sctp::PeerClosing => self.part(now, CloseReason::ClosedByPeer),
                Sctp::Closed { reason, .. } => self.part(now, CloseReason::Sctp(reason)),
                Sctp::Readable
                | Sctp::PathAdded { .. }
                | Sctp::PathRemoved { .. }
                | Sctp::SendFailed { .. }
                | Sctp::SenderDry
                | Sctp::PeerError { .. }
                | Sctp::StreamsAdded { .. }
                | Sctp::AddInProgress { .. }
                | Sctp::AddRefused { .. }
                | Sctp::PathMoved { .. }
                | Sctp::PathStateChanged { .. }
                | Sctp::DataPathChanged { .. }
                | Sctp::RateChanged(_) => {}
                _ => {}
            }
        }
        self.read(now);
    }

    fn read(&mut self, now: Time) {
        let Some(id) = self.association else { return };
        if self.sctp.association(id).is_none_or(|a| !a.has_message()) && self.resets.is_empty() {
            return;
        }
        let Some(association) = self.sctp.association_mut(id) else { return };
        while self.inbox < INBOX_MAX {
            let Some(message) = association.receive() else { break };
            self.channels.on_message(now, association, message);
            take_events(&mut self.channels, &mut self.inbox, &mut self.events);
        }
        // All messages from before a reset can be read when it is told.
        if association.has_message() {
            return;
        }
        while let Some((direction, streams)) = self.resets.pop_front() {
            self.channels.on_reset(now, association, direction, &streams);
        }
        take_events(&mut self.channels, &mut self.inbox, &mut self.events);
    }

    pub(crate) fn poll_event(&mut self, now: Time) -> Option<Event> {
        let event = self.events.pop_front();
        if let Some(event) = &event {
            self.inbox -= event.cost();
            if self.inbox < INBOX_MAX / 2 {
                self.read(now);
            }
        }
        event
    }

    /// What SCTP does on this connection is recorded from now on, or no more.
    pub(crate) fn set_tracing(&mut self, on: bool) {
        self.sctp.set_tracing(on);
    }

    pub(crate) fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.sctp.poll_trace()
    }

    /// Whether there is something to say.
    pub(crate) fn has_event(&self) -> bool {
        !self.events.is_empty()
    }

    /// The channels and the association that they are on, once it is set up.
    pub(crate) fn parts(&mut self) -> Option<(&mut Channels, &mut Association)> {
        let association = self.sctp.association_mut(self.association?)?;
        Some((&mut self.channels, association))
    }

    /// Where the browser is, once it came.
    pub(crate) const fn selected(&self) -> Option<FourTuple> {
        self.selected
    }

    pub(crate) fn association(&self) -> Option<&Association> {
        self.sctp.association(self.association?)
    }

    /// Ends the connection on our wish: the browser is told.
    pub(crate) fn hang_up(&mut self, now: Time) {
        if let Some((_, association)) = self.parts() {
            association.abort("the server closed the connection");
        }
        self.part(now, CloseReason::Closed);
    }

    /// Ends the connection with goodbyes.
    fn part(&mut self, now: Time, reason: CloseReason) {
        if self.closed.is_none() {
            let goodbye = self.goodbye(now);
            self.datagrams.extend(goodbye);
            self.close(reason);
        }
    }

    /// The last datagrams: SCTP's ABORT or SHUTDOWN COMPLETE, and DTLS's alert.
    fn goodbye(&mut self, now: Time) -> Vec<Vec<u8>> {
        let mut last = Vec::new();
        if !self.is_secure {
            return last;
        }
        let mut tell = |record: Record<'_>| {
            if let Record::Datagram(bytes) = record {
                last.push(bytes.to_vec());
            }
        };
        let mut packet = Vec::new();
        if self.sctp.poll_transmit(now, &mut packet).is_some() {
            // What cannot be said any more is not missed.
            let _said = self.dtls.encrypt(&packet, &mut tell);
        }
        if self.dtls.close().is_ok() {
            let _said = self.dtls.drain(&mut tell);
        }
        last
    }

    fn close(&mut self, reason: CloseReason) {
        if self.closed.is_none() {
            self.closed = Some(reason.clone());
            self.events.push_back(Event::Closed { reason });
        }
    }

    /// Whether nothing is left to send and to say.
    pub(crate) fn is_finished(&self) -> bool {
        self.closed.is_some() && self.events.is_empty() && self.datagrams.is_empty()
    }
}

fn take_events(channels: &mut Channels, inbox: &mut usize, events: &mut VecDeque<Event>) {
    for event in channels.events.drain(..) {
        let event = match event {
            ChannelEvent::Opened { stream, options } => Event::ChannelOpened { stream, options },
            ChannelEvent::Closed { stream } => Event::ChannelClosed { stream },
            ChannelEvent::Message { kind, message } => Event::Message { kind, message },
        };
        *inbox += event.cost();
        events.push_back(event);
    }
}

/// The sizes of datagrams that leave in one call: all alike, the last one may be shorter.
#[derive(Debug, Default)]
struct Sizes {
    segment: usize,
    count: usize,
    is_complete: bool,
}

impl Sizes {
    fn admit(&mut self, len: usize) -> bool {
        if self.count == 0 {
            self.segment = len;
        }
        if self.is_complete || len > self.segment {
            return false;
        }
        self.is_complete = len < self.segment;
        self.count += 1;
        true
    }

    fn segment_size(&self) -> Option<usize> {
        (self.count > 1).then_some(self.segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_of_one_size_leave_together_and_a_shorter_one_ends_the_row() {
        let mut sizes = Sizes::default();
        assert_eq!([100, 100, 40, 40].map(|len| sizes.admit(len)), [true, true, true, false]);
        assert_eq!(sizes.segment_size(), Some(100));
        let mut sizes = Sizes::default();
        assert_eq!([40, 100].map(|len| sizes.admit(len)), [true, false]);
        assert_eq!(sizes.segment_size(), None);
    }
}
