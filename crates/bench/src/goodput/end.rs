//! [`End`]: a sender or a receiver, of SCTP over UDP or of TCP.

use std::io;
use std::time::Duration;

use anabranch_netsim::Carrier;
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit, Wakeup};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, CongestionControl, ConnectError, Endpoint,
    EndpointConfig, OutgoingMessage, PathSchedulerKind, RetransmissionPolicy, SEALING_LEN,
};
use anabranch_tcp::Connection;
use anabranch_wire::StreamId;
use bytes::Bytes;

use super::MTU;
use crate::encryption::encryption_if;

/// Payload of a full packet of SCTP in the open: without headers of IPv6, UDP, SCTP and DATA.
pub(super) const PAYLOAD: usize = MTU - 48 - 12 - 16;

/// SCTP's own ports.
const PORTS: (u16, u16) = (5_000, 5_000);

/// Bytes that wait to be sent or read.
const BUFFER: usize = 4 << 20;

/// What a flow is sent with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Sctp(CongestionControl),
    /// What `bond=balance` makes of several paths.
    Balanced,
    /// CUBIC with selective acknowledgments and a retransmission timer of 0.2 s at least, as most
    /// systems have it.
    Tcp,
}

/// One end of a flow.
pub(super) enum End {
    Sctp(Box<SctpEnd>),
    Tcp(Box<Connection>),
}

pub(super) struct SctpEnd {
    endpoint: Endpoint,
    /// Its one association, once there is one.
    id: Option<AssociationId>,
    /// Payload of a full packet.
    payload_len: usize,
}

impl Transport {
    pub(super) const fn carrier(self) -> Carrier {
        match self {
            Self::Sctp(_) | Self::Balanced => Carrier::Udp,
            Self::Tcp => Carrier::Tcp,
        }
    }

    /// How both ends are set up.
    pub(super) fn config(self, encrypted: bool) -> io::Result<Config> {
        let association = match self {
            Self::Sctp(control) => association(control),
            Self::Balanced => association(CongestionControl::Media).with(|config| {
                config.paths.path_scheduler = PathSchedulerKind::EarliestDelivery;
                config.recovery.retransmission_policy = RetransmissionPolicy::Earliest;
            }),
            Self::Tcp => return Ok(Config::Tcp(tcp())),
        };
        let encryption = encryption_if(encrypted)?;
        Ok(Config::Sctp(Box::new(
            association.with(|config| config.extensions.encryption = encryption),
        )))
    }
}

/// How both ends of a flow are set up.
pub(super) enum Config {
    Sctp(Box<AssociationConfig>),
    Tcp(anabranch_tcp::Config),
}

impl Config {
    /// The end that opens the connection.
    pub(super) fn sender(
        &self,
        now: Time,
        paths: &[FourTuple],
        rng: Rng,
    ) -> Result<End, ConnectError> {
        let config = match self {
            Self::Sctp(config) => AssociationConfig::clone(config),
            Self::Tcp(config) => {
                let mut connection = Connection::client(config.clone(), paths[0], rng);
                connection.connect(now);
                return Ok(End::Tcp(Box::new(connection)));
            }
        };
        let mut end = SctpEnd::new(config.clone(), paths, rng);
        end.id = Some(end.endpoint.connect(now, paths, PORTS, config)?);
        Ok(End::Sctp(Box::new(end)))
    }

    /// The end that waits.
    pub(super) fn receiver(&self, paths: &[FourTuple], rng: Rng) -> End {
        match self {
            Self::Sctp(config) => {
                let config = AssociationConfig::clone(config);
                End::Sctp(Box::new(SctpEnd::new(config, paths, rng)))
            }
            Self::Tcp(config) => {
                End::Tcp(Box::new(Connection::listener(config.clone(), paths[0], rng)))
            }
        }
    }
}

impl End {
    /// Gives it as much to send as it takes.
    pub(super) fn fill(&mut self, now: Time) {
        let payload = Bytes::from_static(&[0x5a; PAYLOAD]);
        match self {
            Self::Sctp(end) => {
                let payload = payload.slice(..end.payload_len);
                let Some(association) = end.association() else { return };
                let message = || OutgoingMessage::new(StreamId(0), payload.clone());
                while association.send(now, message()).is_ok() {}
            }
            Self::Tcp(connection) => while connection.send(now, payload.clone()).is_ok() {},
        }
    }

    /// Reads all that there is, messages of SCTP one by one.
    pub(super) fn read(&mut self, now: Time, mut take: impl FnMut(Time, &[u8])) {
        match self {
            Self::Sctp(end) => {
                let Some(association) = end.association() else { return };
                while let Some(message) = association.receive() {
                    take(now, &message.payload);
                }
            }
            Self::Tcp(connection) => {
                while let Some(data) = connection.receive(now) {
                    take(now, &data);
                }
            }
        }
    }

    /// The association, where it is SCTP and there is one.
    pub(super) fn association(&mut self) -> Option<&mut Association> {
        match self {
            Self::Sctp(end) => end.association(),
            Self::Tcp(_) => None,
        }
    }
}

impl SctpEnd {
    fn new(association: AssociationConfig, paths: &[FourTuple], rng: Rng) -> Self {
        let sealing = if association.extensions.encryption.is_some() { SEALING_LEN } else { 0 };
        let config = EndpointConfig { accept: true, association, ..EndpointConfig::default() };
        let mut endpoint = Endpoint::new(config, rng);
        endpoint.set_local_addresses(paths.iter().map(|path| path.local).collect());
        Self { endpoint, id: None, payload_len: PAYLOAD - sealing }
    }

    fn association(&mut self) -> Option<&mut Association> {
        self.endpoint.association_mut(self.id?)
    }
}

impl Machine for End {
    type Event = ();

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        match self {
            Self::Sctp(end) => end.endpoint.handle_datagram(now, datagram),
            Self::Tcp(connection) => connection.handle_datagram(now, datagram),
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        match self {
            Self::Sctp(end) => end.endpoint.handle_timeout(now),
            Self::Tcp(connection) => connection.handle_timeout(now),
        }
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        match self {
            Self::Sctp(end) => end.endpoint.poll_transmit(now, buf),
            Self::Tcp(connection) => connection.poll_transmit(now, buf),
        }
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        match self {
            Self::Sctp(end) => end.endpoint.poll_timeout(),
            Self::Tcp(connection) => connection.poll_timeout(),
        }
    }

    /// Tells nothing: what can be read is read every few milliseconds.
    fn poll_event(&mut self) -> Option<()> {
        match self {
            Self::Sctp(end) => {
                while let Some((id, _)) = end.endpoint.poll_event() {
                    end.id = Some(id);
                }
            }
            Self::Tcp(connection) => while connection.poll_event().is_some() {},
        }
        None
    }
}

/// Each controller as it is used: the standard one with the standard's timers.
fn association(control: CongestionControl) -> AssociationConfig {
    let is_standard = control == CongestionControl::Rfc9260;
    let preset =
        if is_standard { AssociationConfig::default() } else { AssociationConfig::media() };
    preset.with(|config| {
        config.window.congestion_control = control;
        config.window.pacing = control == CongestionControl::Cubic;
        config.paths.path_mtu = MTU;
        config.buffers.send_buffer = BUFFER;
        config.buffers.receive_buffer = BUFFER;
    })
}

fn tcp() -> anabranch_tcp::Config {
    anabranch_tcp::Config {
        mtu: MTU,
        send_buffer: BUFFER,
        receive_buffer: BUFFER,
        congestion_control: anabranch_tcp::CongestionControl::Cubic,
        rto_min: Duration::from_millis(200),
        ..anabranch_tcp::Config::default()
    }
}
