//! [`Page`]: the other end as a browser has it, of other people's parts: STUN of `is`, DTLS of
//! dimpl as the client, and dcsctp, Chromium's SCTP.

#![expect(clippy::disallowed_types, reason = "dimpl counts time by `Instant`: it is told ours")]

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anabranch_sansio::{Datagram, FourTuple, Machine, Time, Transmit, Wakeup};
use dcsctp::api::{
    DcSctpSocket, Message, Options, PpId, SendOptions, SocketEvent, SocketTime, StreamId,
};
use dimpl::certificate::{format_fingerprint, generate_self_signed_certificate};
use dimpl::{Config, Dtls, Output};
use is::stun::{StunMessage, TransId};
use is::{DefaultSha1HmacProvider, Sha1HmacProvider as _};

pub(crate) const DCEP: u32 = 50;
pub(crate) const STRING: u32 = 51;
pub(crate) const BINARY: u32 = 53;

/// How often a browser checks that its peer is there.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// What a page sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Connected,
    Message { stream: u16, ppid: u32, payload: Vec<u8> },
    Reset(u16),
    Aborted,
    Closed,
}

pub(crate) struct Page {
    path: FourTuple,
    fingerprint: String,
    epoch: Instant,
    now: Time,
    /// Our server's answer: ufrag and password.
    answer: Option<(String, String)>,
    /// Its own ufrag, anew with each restart of ICE.
    ufrag: String,
    password: String,
    next_check: Option<Time>,
    is_checked: bool,
    /// Whether it goes no further than its checks.
    only_checks: bool,
    dtls: Dtls,
    dtls_timer: Option<Time>,
    pub(crate) sctp: Box<dyn DcSctpSocket>,
    is_secure: bool,
    datagrams: VecDeque<Vec<u8>>,
    seen: VecDeque<Seen>,
}

impl Page {
    pub(crate) fn new(path: FourTuple) -> Self {
        let certificate = generate_self_signed_certificate().expect("a certificate");
        let fingerprint = format_fingerprint(&certificate.fingerprint());
        let epoch = Instant::now();
        let mut dtls = Dtls::new_auto(Arc::new(Config::default()), certificate, epoch);
        dtls.set_active(true);
        let options =
            Options { local_port: 5_000, remote_port: 5_000, mtu: 1_191, ..Options::default() };
        Self {
            path,
            fingerprint,
            epoch,
            now: Time::ZERO,
            answer: None,
            ufrag: "page".to_owned(),
            password: "0123456789012345678901".to_owned(),
            next_check: None,
            is_checked: false,
            only_checks: false,
            dtls,
            dtls_timer: None,
            sctp: dcsctp::new_socket("page", &options),
            is_secure: false,
            datagrams: VecDeque::new(),
            seen: VecDeque::new(),
        }
    }

    pub(crate) fn offer(&self) -> String {
        let Self { fingerprint, ufrag, password, .. } = self;
        format!(
            "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
             m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\n\
             a=ice-ufrag:{ufrag}\r\na=ice-pwd:{password}\r\na=fingerprint:sha-256 {fingerprint}\r\n\
             a=setup:actpass\r\na=mid:0\r\na=sctp-port:5000\r\na=max-message-size:262144\r\n"
        )
    }

    /// Takes the server's answer; the checks begin.
    pub(crate) fn take_answer(&mut self, now: Time, sdp: &str) {
        let value = |name: &str| {
            let line = sdp.lines().find_map(|line| line.strip_prefix(name));
            line.expect("a line of the answer").to_owned()
        };
        self.answer = Some((value("a=ice-ufrag:"), value("a=ice-pwd:")));
        self.now = now;
        self.next_check = Some(now);
    }

    /// It is somewhere else, and offers to go on from there.
    pub(crate) fn restart(&mut self, path: FourTuple) -> String {
        self.path = path;
        self.ufrag.push('+');
        self.offer()
    }

    /// The tab is closed: nothing is sent any more.
    pub(crate) fn vanish(&mut self) {
        self.answer = None;
        self.next_check = None;
        self.datagrams.clear();
        self.is_secure = false;
        self.dtls_timer = None;
    }

    /// It checks who is there, and never begins DTLS.
    pub(crate) const fn only_check(&mut self) {
        self.only_checks = true;
    }

    pub(crate) fn send(&mut self, now: Time, stream: u16, ppid: u32, payload: &[u8]) {
        self.send_with(now, stream, ppid, payload, &SendOptions::default());
    }

    pub(crate) fn send_with(
        &mut self,
        now: Time,
        stream: u16,
        ppid: u32,
        payload: &[u8],
        options: &SendOptions,
    ) {
        self.advance(now);
        let message = Message::new(StreamId(stream), PpId(ppid), payload.to_vec());
        self.sctp.send(message, options).expect("taken");
        self.pump_sctp();
    }

    pub(crate) fn reset(&mut self, now: Time, stream: u16) {
        self.advance(now);
        self.sctp.reset_streams(&[StreamId(stream)]).expect("supported");
        self.pump_sctp();
    }

    fn advance(&mut self, now: Time) {
        self.now = now;
        self.sctp.advance_time(SocketTime::zero() + Duration::from_nanos(now.as_nanos()));
        self.dtls.handle_timeout(self.instant()).expect("DTLS goes on");
    }

    fn instant(&self) -> Instant {
        self.epoch + Duration::from_nanos(self.now.as_nanos())
    }

    fn check(&mut self) {
        let Some((ufrag, password)) = &self.answer else { return };
        let username = format!("{ufrag}:{}", self.ufrag);
        let check = StunMessage::binding_request(&username, TransId::new(), true, 1, 9, true);
        let mut bytes = vec![0; 256];
        let len = check.to_bytes(Some(password.as_bytes()), &mut bytes, hmac).expect("fits");
        bytes.truncate(len);
        self.datagrams.push_back(bytes);
        self.next_check = Some(self.now + CHECK_INTERVAL);
    }

    fn on_stun(&mut self, bytes: &[u8]) {
        let Ok(message) = StunMessage::parse(bytes) else { return };
        let Some((_, password)) = &self.answer else { return };
        let is_late = self.ufrag.ends_with('+') && !message.verify(password.as_bytes(), hmac);
        if is_late {
            return;
        }
        assert!(message.verify(password.as_bytes(), hmac), "the answer has our integrity");
        assert_eq!(message.mapped_address(), Some(self.path.local));
        self.is_checked = !self.only_checks;
    }

    fn pump_dtls(&mut self) {
        let mut buf = vec![0; 2_048];
        loop {
            match self.dtls.poll_output(&mut buf) {
                Output::Packet(bytes) => self.datagrams.push_back(bytes.to_vec()),
                Output::Connected => {
                    self.is_secure = true;
                    self.sctp.connect();
                }
                Output::ApplicationData(bytes) => self.sctp.handle_input(bytes),
                Output::Timeout(at) => {
                    self.dtls_timer = Some(Time::ZERO + (at - self.epoch));
                    return;
                }
                Output::BufferTooSmall { .. }
                | Output::PeerCert(_)
                | Output::KeyingMaterial(..)
                | Output::CloseNotify
                | _ => {}
            }
        }
    }

    fn pump_sctp(&mut self) {
        while let Some(event) = self.sctp.poll_event() {
            if let SocketEvent::SendPacket(packet) = event {
                if self.is_secure {
                    self.dtls.send_application_data(&packet).expect("DTLS goes on");
                    self.pump_dtls();
                }
            } else if let SocketEvent::OnConnected() = event {
                self.seen.push_back(Seen::Connected);
            } else if let SocketEvent::OnIncomingStreamReset(streams) = event {
                self.seen.extend(streams.iter().map(|stream| Seen::Reset(stream.0)));
            } else if let SocketEvent::OnAborted(..) = event {
                self.seen.push_back(Seen::Aborted);
            } else if let SocketEvent::OnClosed() = event {
                self.seen.push_back(Seen::Closed);
            }
        }
        while let Some(message) = self.sctp.get_next_message() {
            let (stream, ppid) = (message.stream_id.0, message.ppid.0);
            self.seen.push_back(Seen::Message { stream, ppid, payload: message.payload });
        }
    }
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 20] {
    DefaultSha1HmacProvider.sha1_hmac(key, parts)
}

impl Machine for Page {
    type Event = Seen;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        if self.answer.is_none() {
            return;
        }
        self.advance(now);
        if datagram.bytes.first().is_some_and(|first| *first < 4) {
            self.on_stun(datagram.bytes);
        } else {
            self.dtls.handle_packet(datagram.bytes).expect("DTLS goes on");
        }
        if self.is_checked {
            self.pump_dtls();
            self.pump_sctp();
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.answer.is_none() {
            return;
        }
        self.advance(now);
        if self.next_check.is_some_and(|at| at <= now) {
            self.check();
        }
        if self.is_checked {
            self.pump_dtls();
            self.pump_sctp();
        }
    }

    fn poll_transmit(&mut self, _: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        buf.extend_from_slice(&self.datagrams.pop_front()?);
        Some(Transmit::datagram(self.path))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.answer.as_ref()?;
        let sctp = self.sctp.poll_timeout();
        let sctp = (sctp != SocketTime::infinite_future())
            .then(|| Time::ZERO + (sctp - SocketTime::zero()));
        let dtls = self.dtls_timer.filter(|_| self.is_checked);
        let at = [self.next_check, sctp, dtls].into_iter().flatten().min()?;
        Some(Wakeup { at: at.max(self.now), why: "page" })
    }

    fn poll_event(&mut self) -> Option<Seen> {
        self.seen.pop_front()
    }
}
