//! [`Seat`]: one viewer on sockets of its own.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use anabranch_driver::{Clock, Driver, Handle, SocketSet};
use anabranch_sansio::{FourTuple, Rng};
use anabranch_television::channel::ChannelId;
use anabranch_television::{NativeEvent, NativeViewer, Viewer, ViewerEvent};

use crate::browser::BrowserViewer;
use crate::server::Server;

/// How long media may take to the screen.
const BUDGET: std::time::Duration = std::time::Duration::from_millis(300);

/// How a viewer reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// SCTP over UDP.
    Native,
    /// SCTP over DTLS.
    Browser,
}

/// A viewer that runs.
#[derive(Clone)]
pub(crate) enum Seat {
    Native(Handle<NativeViewer>),
    Browser(Handle<BrowserViewer>),
}

impl Seat {
    /// Binds a socket, and calls the server.
    pub(crate) async fn take(
        kind: Kind,
        server: &Server,
        clock: Clock,
        rng: Rng,
    ) -> io::Result<Self> {
        let mut sockets = SocketSet::new();
        let local = sockets.bind(local_towards(server.udp)?).map_err(io::Error::other)?;
        let path = FourTuple::new(local, server.udp);
        let viewer = Viewer::new("anabranch-load".to_owned(), None, BUDGET);
        match kind {
            Kind::Native => {
                let mut machine = NativeViewer::new(viewer, server.encryption.clone(), rng);
                machine.connect(clock.now(), &[path]).map_err(io::Error::other)?;
                let handle = Driver::spawn_with_clock(machine, sockets, clock);
                Ok(Self::Native(handle.map_err(io::Error::other)?))
            }
            Kind::Browser => {
                let mut machine =
                    BrowserViewer::new(viewer, path, rng).map_err(io::Error::other)?;
                let answer = server.post_offer(machine.offer()).await?;
                machine.take_answer(clock.now(), &answer).map_err(io::Error::other)?;
                let handle = Driver::spawn_with_clock(machine, sockets, clock);
                Ok(Self::Browser(handle.map_err(io::Error::other)?))
            }
        }
    }

    /// Presses a key.
    pub(crate) fn tune(&self, channel: ChannelId) {
        match self {
            Self::Native(handle) => {
                handle.with(|machine, now| machine.act(now, |viewer| viewer.tune(now, channel)));
            }
            Self::Browser(handle) => {
                handle.with(|machine, now| machine.act(now, |viewer| viewer.tune(now, channel)));
            }
        }
    }

    /// Tells that an urgent message is shown.
    pub(crate) fn seen(&self, id: u32) {
        match self {
            Self::Native(handle) => {
                handle.with(|machine, now| machine.act(now, |viewer| viewer.seen(id)));
            }
            Self::Browser(handle) => {
                handle.with(|machine, now| machine.act(now, |viewer| viewer.seen(id)));
            }
        }
    }

    /// Goes in friendship.
    pub(crate) fn leave(&self) {
        match self {
            Self::Native(handle) => handle.with(NativeViewer::leave),
            Self::Browser(handle) => handle.with(BrowserViewer::leave),
        }
    }

    /// What happened, or why the viewer is out.
    pub(crate) async fn next(&self) -> Result<ViewerEvent, String> {
        let closed = || Err("the driver ended".to_owned());
        match self {
            Self::Native(handle) => match handle.next_event().await {
                Some(NativeEvent::Session(event)) => Ok(event),
                Some(NativeEvent::Closed(reason)) => Err(reason.to_string()),
                None => closed(),
            },
            Self::Browser(handle) => handle.next_event().await.unwrap_or_else(closed),
        }
    }
}

/// An address of ours from which the server is reached, with a port for the system to choose.
pub(crate) fn local_towards(server: SocketAddr) -> io::Result<SocketAddr> {
    let unspecified: SocketAddr =
        if server.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
    let probe = UdpSocket::bind(unspecified)?;
    probe.connect(server)?;
    Ok(SocketAddr::new(probe.local_addr()?.ip(), 0))
}
