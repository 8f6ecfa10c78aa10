//! Our stack as its users run it: on tokio, with segmentation offload, each end in a thread of its
//! own.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anabranch_driver::{BindConfig, Driver, Handle, SocketSet};
use anabranch_sansio::{FourTuple, Machine, Rng};
use anabranch_sctp::{
    AssociationConfig, AssociationId, CongestionControl, Endpoint, EndpointConfig, Event,
    OutgoingMessage, SendError,
};
use anabranch_wire::StreamId;
use bytes::Bytes;
use tokio::runtime;

use crate::encryption::encryption_if;
use crate::udp::SOCKET_BUFFER_BYTES;
use crate::{Outcome, Workload, cpu};

/// Datagrams per system call: the most that fit into 64 KiB at this packet size, at most 64.
pub(crate) const SEGMENTS_MAX: usize = 64;

/// What IPv6 and UDP headers take; a path's MTU is counted with them.
const HEADERS: usize = 48;

/// SCTP's own ports.
const PORTS: (u16, u16) = (5_000, 5_000);

/// Sends the workload from one end to the other; returns the CPU time of both.
pub(crate) fn measure(workload: &Workload, encrypted: bool, seed: u64) -> io::Result<Outcome> {
    let config = association_config(workload, encrypted)?;
    let start = cpu::of_process();
    let (listening, address) = channel();
    let (done, is_done) = channel();
    let (job, at_receiver) = (*workload, config.clone());
    let receiver = thread::spawn(move || {
        let receiver = endpoint(at_receiver, 2 * seed + 1);
        on_own_runtime(async move { receive(&job, receiver, &listening, &done).await })
    });
    let sender = endpoint(config.clone(), 2 * seed);
    let sent = on_own_runtime(async { send(workload, sender, config, &address, &is_done).await });
    let received = receiver.join().map_err(|_| io::Error::other("the receiver panicked"))?;
    sent.and(received)?;
    Ok(Outcome { cpu: cpu::of_process() - start, packets_in_flight: None })
}

/// Does one end's work on a runtime of the thread.
pub(crate) fn on_own_runtime<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

fn endpoint(association: AssociationConfig, seed: u64) -> Endpoint {
    let config = EndpointConfig {
        accept: true,
        association,
        segments_max: SEGMENTS_MAX,
        ..EndpointConfig::default()
    };
    Endpoint::new(config, Rng::from_u64(seed))
}

/// Runs a machine on a socket of loopback; returns its handle and address.
pub(crate) fn drive<M>(endpoint: M) -> io::Result<(Handle<M>, SocketAddr)>
where
    M: Machine + Send + 'static,
    M::Event: Send,
{
    let mut sockets = SocketSet::new();
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let buffers = SOCKET_BUFFER_BYTES;
    let bind = BindConfig { receive_buffer: buffers, send_buffer: buffers, ..local.into() };
    let local = sockets.bind(bind).map_err(io::Error::other)?;
    Ok((Driver::spawn(endpoint, sockets).map_err(io::Error::other)?, local))
}

fn association_config(workload: &Workload, encrypted: bool) -> io::Result<AssociationConfig> {
    let encryption = encryption_if(encrypted)?;
    let window = workload.config.receive_window as usize;
    Ok(AssociationConfig::default().with(|config| {
        config.extensions.encryption = encryption;
        config.paths.path_mtu = usize::from(workload.config.mtu) + HEADERS;
        config.buffers.receive_buffer = window;
        config.buffers.send_buffer =
            (workload.ahead as usize * (workload.message + 64)).max(window / 4);
        config.window.max_burst = None;
        config.window.congestion_control = match workload.config.fixed_window {
            Some(window) => CongestionControl::Fixed { window: window as usize },
            None => CongestionControl::default(),
        };
    }))
}

async fn send(
    workload: &Workload,
    endpoint: Endpoint,
    config: AssociationConfig,
    address: &Receiver<SocketAddr>,
    is_done: &Receiver<()>,
) -> io::Result<()> {
    let (handle, local) = drive(endpoint)?;
    let remote = address.recv().map_err(io::Error::other)?;
    let path = [FourTuple::new(local, remote)];
    let connect = |endpoint: &mut Endpoint, now| endpoint.connect(now, &path, PORTS, config);
    let id = handle.with(connect).map_err(io::Error::other)?;
    let payload = Bytes::from(vec![0x5a; workload.message]);
    let mut left = workload.messages;
    while left > 0 {
        left -= handle.with(|endpoint, now| hand_over(endpoint, now, id, &payload, left))?;
        if left > 0 {
            until(&handle, |event| matches!(event, Event::Writable)).await?;
        }
    }
    // The driver works on the runtime's thread, which must not block.
    while is_done.try_recv().is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    handle.close();
    Ok(())
}

/// Hands over messages until one is refused; returns how many were taken.
fn hand_over(
    endpoint: &mut Endpoint,
    now: anabranch_sansio::Time,
    id: AssociationId,
    payload: &Bytes,
    left: u64,
) -> io::Result<u64> {
    let association = endpoint.association_mut(id).ok_or(io::ErrorKind::NotConnected)?;
    for taken in 0..left {
        match association.send(now, OutgoingMessage::new(StreamId(0), payload.clone())) {
            Ok(()) => {}
            Err(SendError::BufferFull { .. }) => return Ok(taken),
            Err(error) => return Err(io::Error::other(error)),
        }
    }
    Ok(left)
}

async fn receive(
    workload: &Workload,
    endpoint: Endpoint,
    listening: &Sender<SocketAddr>,
    done: &Sender<()>,
) -> io::Result<()> {
    let (handle, local) = drive(endpoint)?;
    listening.send(local).map_err(io::Error::other)?;
    let mut received = 0;
    while received < workload.messages {
        let id = until(&handle, |event| matches!(event, Event::Readable)).await?;
        received += handle.with(|endpoint, _| {
            let association = endpoint.association_mut(id);
            association.map_or(0, |a| std::iter::from_fn(|| a.receive()).count() as u64)
        });
    }
    done.send(()).map_err(io::Error::other)?;
    handle.close();
    Ok(())
}

/// Waits for an event.
async fn until(
    handle: &Handle<Endpoint>,
    is_it: impl Fn(&Event) -> bool,
) -> io::Result<AssociationId> {
    while let Some((id, event)) = handle.next_event().await {
        if is_it(&event) {
            return Ok(id);
        }
        if let Event::Closed { reason, .. } = event {
            return Err(io::Error::other(reason.to_string()));
        }
    }
    Err(io::ErrorKind::NotConnected.into())
}
