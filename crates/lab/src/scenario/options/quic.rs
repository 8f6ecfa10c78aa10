//! The keys of a flow over QUIC.

use std::sync::Arc;

use anabranch_netsim::written::{Fault, Section};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{TransportConfig, VarInt};

use crate::scenario::key::{Key, bytes, choice, number};

/// An IPv4 header and one of UDP.
const HEADERS: u64 = 20 + 8;
/// What a buffer may have at most: lengths of QUIC have 30 bits and more.
const BUFFER_MAX: usize = 1 << 29;

pub(in crate::scenario) const QUIC_KEYS: &[Key] = &[
    Key::new("controller", &["cubic", "new-reno", "bbr"], "congestion control; cubic"),
    Key::new("mtu", &["1500"], "bytes of every IP packet at most; 1500"),
    Key::new("send_buffer", &["4M"], "bytes that wait to be sent or acknowledged; 4M"),
    Key::new("receive_buffer", &["4M"], "bytes that wait to be read; 4M"),
];

#[derive(Clone, Copy)]
enum Controller {
    Cubic,
    NewReno,
    Bbr,
}

const CONTROLLERS: &[(&str, Controller)] =
    &[("cubic", Controller::Cubic), ("new-reno", Controller::NewReno), ("bbr", Controller::Bbr)];

/// What a flow over QUIC is told.
#[derive(Debug, Clone)]
pub(in crate::scenario) struct QuicOptions {
    pub(in crate::scenario) transport: Arc<TransportConfig>,
    /// Bytes of the longest datagram.
    pub(in crate::scenario) datagram: u16,
}

impl QuicOptions {
    /// What the keys say.
    pub(in crate::scenario) fn read(section: &mut Section) -> Result<Self, Fault> {
        let controller = section.read("controller", |text| choice(text, CONTROLLERS))?;
        let mtu = section.read("mtu", |text| number(text, 1_228, 9_000))?.unwrap_or(1_500);
        let buffer = |text: &str| bytes(text, 4_096, BUFFER_MAX);
        let send_buffer = section.read("send_buffer", buffer)?.unwrap_or(4 << 20);
        let receive_buffer = section.read("receive_buffer", buffer)?.unwrap_or(4 << 20);
        let window = VarInt::from_u32(receive_buffer as u32);
        let datagram = (mtu - HEADERS) as u16;
        let mut transport = TransportConfig::default();
        transport
            .congestion_controller_factory(factory(controller.unwrap_or(Controller::Cubic)))
            .initial_mtu(datagram)
            .mtu_discovery_config(None)
            .send_window(send_buffer as u64)
            .stream_receive_window(window)
            .receive_window(window)
            .max_idle_timeout(None);
        Ok(Self { transport: Arc::new(transport), datagram })
    }
}

fn factory(controller: Controller) -> Arc<dyn ControllerFactory + Send + Sync> {
    match controller {
        Controller::Cubic => Arc::new(CubicConfig::default()),
        Controller::NewReno => Arc::new(NewRenoConfig::default()),
        Controller::Bbr => Arc::new(BbrConfig::default()),
    }
}
