//! The keys of a flow over QUIC.

use std::sync::Arc;

use anabranch_netsim::written::{Fault, Section};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{TransportConfig, VarInt};

use crate::scenario::key::{Key, bytes, choice, number};

/// An IPv4 header and one of UDP.
const HEADERS: u64 = 20 + 8;
/// RFC 9000 section 14: a datagram of 1,200 bytes and its headers.
const MTU_MIN: u64 = 1_228;
/// What a buffer may have at most: lengths of QUIC have 30 bits and more.
const BUFFER_MAX: usize = 1 << 29;

pub(in crate::scenario) const QUIC_KEYS: &[Key] = &[
    Key::new("controller", &["cubic", "new-reno", "bbr"], "congestion control; cubic"),
    Key::new(
        "mtu",
        &["1500"],
        "bytes of every IP packet at most; what its links carry, 1500 at most",
    ),
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
    /// What the keys say; what they leave out follows from `mtu`, which the links carry.
    pub(in crate::scenario) fn read(section: &mut Section, mtu: u64) -> Result<Self, Fault> {
        let controller = section.read("controller", |text| choice(text, CONTROLLERS))?;
        let chosen = section.read("mtu", |text| number(text, MTU_MIN, 9_000))?;
        let mtu = chosen.unwrap_or(mtu);
        if mtu < MTU_MIN {
            let reason = format!("quic needs links that carry {MTU_MIN} bytes, and these {mtu}");
            return Err(section.fault(reason));
        }
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
