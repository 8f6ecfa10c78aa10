//! Ends that are run in this process: browsers, and associations that say nothing.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_driver::{Clock, Driver, Handle, SocketSet};
use anabranch_keys::{Identity, TlsKeys, Trust};
use anabranch_sansio::{FourTuple, Machine as _, Rng, Time};
use anabranch_sctp::{Encryption, Endpoint, EndpointConfig};
use anabranch_television::{SCTP_PORT, Viewer, ViewerEvent, between_server_and_viewer};
use anabranch_transport::SctpConfig;
use tokio::runtime::Runtime;

use super::super::Server;
use super::super::browser::BrowserViewer;

/// A viewer as a browser is one, which is gone without a word when this is dropped.
pub(super) struct Browser {
    runtime: Option<Runtime>,
    handle: Handle<BrowserViewer>,
}

impl Browser {
    /// Is connected, and gets the first channel.
    pub(super) fn watches(server: &Server, udp: SocketAddr) -> Self {
        let runtime = Runtime::new().unwrap();
        let within = runtime.enter();
        let (sockets, path) = socket_towards(udp);
        let viewer = Viewer::new("a browser".to_owned(), None, Duration::from_millis(300));
        let mut machine = BrowserViewer::new(viewer, path, rng(path)).unwrap();
        let clock = Clock::start();
        let answer = offer(server, &machine.offer());
        machine.take_answer(clock.now(), &answer).unwrap();
        let handle = Driver::spawn_with_clock(machine, sockets, clock).unwrap();
        runtime.block_on(first_picture(&handle));
        drop(within);
        Self { runtime: Some(runtime), handle }
    }

    /// Goes in friendship.
    pub(super) fn leave(&self) {
        self.handle.with(BrowserViewer::leave);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

async fn first_picture(handle: &Handle<BrowserViewer>) {
    loop {
        let event = handle.next_event().await.unwrap().unwrap();
        if let ViewerEvent::Welcome { channels, .. } = &event {
            let channel = channels[0].id;
            handle.with(|machine, now| machine.act(now, |viewer| viewer.tune(now, channel)));
        }
        if matches!(event, ViewerEvent::Unit(_)) {
            return;
        }
    }
}

/// The answer to an offer, which must be taken.
fn offer(server: &Server, offer: &str) -> String {
    let headers = format!("Content-Type: application/sdp\r\nContent-Length: {}", offer.len());
    let answer = server.post("POST /whep", &headers, offer);
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    answer
}

/// Associations of native viewers that are set up, and say no hello.
pub(super) struct Mutes {
    _runtime: Runtime,
    handle: Handle<Endpoint>,
}

impl Mutes {
    pub(super) fn call(udp: SocketAddr, count: u16) -> Self {
        let runtime = Runtime::new().unwrap();
        let within = runtime.enter();
        let (sockets, path) = socket_towards(udp);
        let endpoint = Endpoint::new(EndpointConfig::default(), rng(path));
        let handle = Driver::spawn(endpoint, sockets).unwrap();
        drop(within);
        let config = between_server_and_viewer(SctpConfig::media()).association;
        let config = config.with(|config| config.extensions.encryption = Some(encryption()));
        for number in 0..count {
            let ports = (SCTP_PORT - number, SCTP_PORT);
            let call = |endpoint: &mut Endpoint, now| {
                endpoint.connect(now, &[path], ports, config.clone()).map(drop)
            };
            handle.with(call).unwrap();
        }
        Self { _runtime: runtime, handle }
    }

    pub(super) fn established(&self) -> usize {
        self.handle.with(|endpoint, _| {
            let all = endpoint.associations();
            let is_set_up = |id| endpoint.association(id).is_some_and(|it| it.is_established());
            all.filter(|id| is_set_up(*id)).count()
        })
    }
}

/// The datagram that a native viewer begins with.
pub(super) fn init(udp: SocketAddr) -> Vec<u8> {
    let path = FourTuple::new(([127, 0, 0, 1], 9).into(), udp);
    let mut endpoint = Endpoint::new(EndpointConfig::default(), rng(path));
    let config = between_server_and_viewer(SctpConfig::media()).association;
    endpoint.connect(Time::ZERO, &[path], (SCTP_PORT, SCTP_PORT), config).unwrap();
    let mut datagram = Vec::new();
    endpoint.poll_transmit(Time::ZERO, &mut datagram).unwrap();
    datagram
}

/// With a key of its own, towards whatever key the server has.
fn encryption() -> Encryption {
    TlsKeys::new(&Identity::generate().unwrap(), Trust::Anyone).unwrap().required()
}

fn socket_towards(udp: SocketAddr) -> (SocketSet, FourTuple) {
    let mut sockets = SocketSet::new();
    let local = sockets.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    (sockets, FourTuple::new(local, udp))
}

fn rng(path: FourTuple) -> Rng {
    Rng::from_u64(u64::from(std::process::id()) << 16 | u64::from(path.local.port()))
}
