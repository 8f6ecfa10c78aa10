//! [`Browser`]: ICE and DTLS as a browser has them, and SCTP inside.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit, Wakeup};
use anabranch_television::{
    NativeEvent, NativeViewer, Viewer, ViewerEvent, between_server_and_viewer,
};
use anabranch_transport::{SctpConfig, SctpTransport};
use dimpl::certificate::{format_fingerprint, generate_self_signed_certificate};
use dimpl::{Config, Dtls, Output};
use is::stun::{StunMessage, TransId};
use is::{DefaultSha1HmacProvider, Sha1HmacProvider as _};

/// How often a browser checks that its peer is there.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Until the first answer, more often.
const FIRST_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// SCTP's port at both ends, as browsers offer it.
pub(crate) const PORT: u16 = 5_000;

/// Inside DTLS a path has no addresses.
pub(crate) const INSIDE: FourTuple = {
    let nowhere = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 9);
    FourTuple::new(nowhere, nowhere)
};

const UFRAG: &str = "load";
const PASSWORD: &str = "a-password-of-the-load-generator";

/// Why a browser's viewer cannot begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BrowserError {
    /// There is no certificate.
    #[error("no certificate for DTLS: {0}")]
    Certificate(String),
    /// The server's answer lacks a line.
    #[error("the server's answer has no line \"{0}\"")]
    Answer(&'static str),
}

/// What the server's answer says of its ICE agent.
#[derive(Debug)]
struct Agent {
    ufrag: String,
    password: String,
}

/// What goes on inside of DTLS.
pub(crate) trait Inside: Machine {
    /// Something that happened.
    type News;

    /// Calls the server: DTLS is there.
    fn begin(&mut self, now: Time) -> Result<(), String>;

    /// What happened, or why it is over.
    fn poll_news(&mut self) -> Option<Result<Self::News, String>>;
}

impl Inside for NativeViewer {
    type News = ViewerEvent;

    fn begin(&mut self, now: Time) -> Result<(), String> {
        self.connect(now, &[INSIDE]).map_err(|error| error.to_string())
    }

    fn poll_news(&mut self) -> Option<Result<ViewerEvent, String>> {
        self.poll_event().map(|event| match event {
            NativeEvent::Session(event) => Ok(event),
            NativeEvent::Closed(reason) => Err(reason.to_string()),
        })
    }
}

/// A viewer behind DTLS.
pub(crate) type BrowserViewer = Browser<NativeViewer>;

/// A browser, and what its page does.
pub(crate) struct Browser<I> {
    path: FourTuple,
    agent: Option<Agent>,
    next_check: Option<Time>,
    is_checked: bool,
    fingerprint: String,
    dtls: Dtls,
    /// Where our time begins on dimpl's axis.
    epoch: Instant,
    dtls_timer: Option<Time>,
    is_secure: bool,
    scratch: Vec<u8>,
    datagrams: VecDeque<Vec<u8>>,
    /// What its page does.
    pub(crate) inside: I,
    closed: Option<String>,
}

impl BrowserViewer {
    /// A viewer that has made no offer yet.
    pub(crate) fn new(viewer: Viewer, path: FourTuple, rng: Rng) -> Result<Self, BrowserError> {
        let config = between_server_and_viewer(SctpConfig::of(anabranch_rtc::association()));
        let transport = Box::new(SctpTransport::new(config, PORT, rng));
        Self::with(NativeViewer::over(transport, viewer), path)
    }

    /// Asks the server for something.
    pub(crate) fn act<T>(&mut self, now: Time, act: impl FnOnce(&mut Viewer) -> T) -> T {
        self.inside.act(now, act)
    }

    /// Goes in friendship.
    pub(crate) fn leave(&mut self, now: Time) {
        self.inside.leave(now);
    }
}

impl<I: Inside> Browser<I> {
    /// A browser that has made no offer yet.
    pub(crate) fn with(inside: I, path: FourTuple) -> Result<Self, BrowserError> {
        let certificate = generate_self_signed_certificate()
            .map_err(|error| BrowserError::Certificate(error.to_string()))?;
        let fingerprint = format_fingerprint(&certificate.fingerprint());
        let epoch = Instant::now();
        let mut dtls = Dtls::new_auto(Arc::new(Config::default()), certificate, epoch);
        dtls.set_active(true);
        Ok(Self {
            path,
            agent: None,
            next_check: None,
            is_checked: false,
            fingerprint,
            dtls,
            epoch,
            dtls_timer: None,
            is_secure: false,
            scratch: vec![0; 2_048],
            datagrams: VecDeque::new(),
            inside,
            closed: None,
        })
    }

    /// What is posted to the server.
    pub(crate) fn offer(&self) -> String {
        let fingerprint = &self.fingerprint;
        format!(
            "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
             m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\n\
             a=ice-ufrag:{UFRAG}\r\na=ice-pwd:{PASSWORD}\r\na=fingerprint:sha-256 {fingerprint}\r\n\
             a=setup:active\r\na=mid:0\r\na=sctp-port:5000\r\na=max-message-size:262144\r\n"
        )
    }

    /// Takes the server's answer: the connectivity checks begin.
    pub(crate) fn take_answer(&mut self, now: Time, sdp: &str) -> Result<(), BrowserError> {
        let value = |name: &'static str| {
            let line = sdp.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim().to_owned()).ok_or(BrowserError::Answer(name))
        };
        let agent = Agent { ufrag: value("a=ice-ufrag:")?, password: value("a=ice-pwd:")? };
        self.agent = Some(agent);
        self.next_check = Some(now);
        Ok(())
    }

    fn instant(&self, now: Time) -> Instant {
        self.epoch + Duration::from_nanos(now.as_nanos())
    }

    /// RFC 8445 section 7.2: a Binding request, which as the controlling side nominates at once.
    fn check(&mut self, now: Time) {
        let Some(agent) = &self.agent else { return };
        let username = format!("{}:{UFRAG}", agent.ufrag);
        let check = StunMessage::binding_request(&username, TransId::new(), true, 1, 9, true);
        let mut bytes = vec![0; 256];
        if let Ok(len) = check.to_bytes(Some(agent.password.as_bytes()), &mut bytes, hmac) {
            bytes.truncate(len);
            self.datagrams.push_back(bytes);
        }
        let interval = if self.is_checked { CHECK_INTERVAL } else { FIRST_CHECK_INTERVAL };
        self.next_check = Some(now + interval);
    }

    fn on_stun(&mut self, bytes: &[u8]) {
        let (Ok(message), Some(agent)) = (StunMessage::parse(bytes), &self.agent) else { return };
        self.is_checked |= message.verify(agent.password.as_bytes(), hmac);
    }

    fn drain_dtls(&mut self, now: Time) {
        loop {
            match self.dtls.poll_output(&mut self.scratch) {
                Output::Packet(bytes) => self.datagrams.push_back(bytes.to_vec()),
                Output::ApplicationData(bytes) => {
                    self.inside.handle_datagram(now, Datagram { path: INSIDE, ecn: None, bytes });
                }
                Output::Connected => {
                    self.is_secure = true;
                    if let Err(error) = self.inside.begin(now) {
                        self.closed = Some(error);
                    }
                }
                Output::CloseNotify => self.closed = Some("the server said goodbye".to_owned()),
                Output::BufferTooSmall { needed } => self.scratch.resize(needed, 0),
                Output::Timeout(at) => {
                    let since = at.saturating_duration_since(self.epoch);
                    self.dtls_timer = Some(Time::ZERO + since);
                    return;
                }
                // The certificate is the one of whoever answered on loopback or in a laboratory.
                Output::PeerCert(_) | Output::KeyingMaterial(..) | _ => {}
            }
        }
    }

    /// Encrypts what SCTP has to send, a packet a record.
    fn encrypt(&mut self, now: Time) {
        let mut packet = Vec::new();
        if !self.is_secure || self.inside.poll_transmit(now, &mut packet).is_none() {
            return;
        }
        if let Err(error) = self.dtls.send_application_data(&packet) {
            self.closed = Some(format!("DTLS: {error}"));
            self.is_secure = false;
        }
        self.drain_dtls(now);
    }
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 20] {
    DefaultSha1HmacProvider.sha1_hmac(key, parts)
}

impl<I: Inside> Machine for Browser<I> {
    type Event = Result<I::News, String>;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        // RFC 7983 section 7: the first byte tells STUN (0 to 3) from DTLS.
        if matches!(datagram.bytes.first(), Some(0..=3)) {
            self.on_stun(datagram.bytes);
        } else if let Err(error) = self.dtls.handle_packet(datagram.bytes) {
            self.closed = Some(format!("DTLS: {error}"));
        }
        if self.is_checked {
            self.drain_dtls(now);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.next_check.is_some_and(|at| at <= now) {
            self.check(now);
        }
        if !self.is_checked {
            return;
        }
        if let Err(error) = self.dtls.handle_timeout(self.instant(now)) {
            self.closed = Some(format!("DTLS: {error}"));
        }
        self.drain_dtls(now);
        self.inside.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        if self.datagrams.is_empty() {
            self.encrypt(now);
        }
        buf.extend_from_slice(&self.datagrams.pop_front()?);
        Some(Transmit::datagram(self.path))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let why = "a browser";
        let check = self.next_check.map(|at| Wakeup { at, why });
        let dtls = self.dtls_timer.filter(|_| self.is_checked).map(|at| Wakeup { at, why });
        check.into_iter().chain(dtls).chain(self.inside.poll_timeout()).min()
    }

    /// What happened inside, or why the connection ended.
    fn poll_event(&mut self) -> Option<Self::Event> {
        self.inside.poll_news().or_else(|| self.closed.take().map(Err))
    }
}
