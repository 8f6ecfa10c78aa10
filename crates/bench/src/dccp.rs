//! DCCP as its users run it: on tokio, with segmentation offload, each end in a thread of its own.
//! Nothing is repeated; what loopback drops does not count.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anabranch_dccp::wire::ServiceCode;
use anabranch_dccp::{Ccid, Config, ConnectionId, Endpoint, EndpointConfig, Event, SendError};
use anabranch_driver::Handle;
use anabranch_sansio::{FourTuple, Rng};
use bytes::Bytes;

use crate::driven::{SEGMENTS_MAX, drive, on_own_runtime};
use crate::{Outcome, Workload, cpu};

/// What IPv4 and UDP headers take; an MTU is counted with them.
const HEADERS: usize = 28;

/// DCCP's own ports.
const PORTS: (u16, u16) = (5_000, 5_001);
const SERVICE: ServiceCode = ServiceCode(0x616e_6162);

/// Sends as many bytes as the workload has, in datagrams that fill packets; returns the CPU time of
/// both ends, as if all had arrived.
pub(crate) fn measure(workload: &Workload, ccid: Ccid, seed: u64) -> io::Result<Outcome> {
    let config = Config {
        mtu: usize::from(workload.config.mtu) + HEADERS,
        receive_buffer: workload.config.receive_window as usize,
        ..Config::with_ccid(ccid)
    };
    let total = workload.message as u64 * workload.messages;
    let start = cpu::of_process();
    let (listening, address) = channel();
    let at_receiver = config.clone();
    let receiver = thread::spawn(move || {
        let mut end = endpoint(2 * seed + 1);
        end.listen(PORTS.1, vec![SERVICE], at_receiver);
        on_own_runtime(async move { receive(end, &listening).await })
    });
    let sender = endpoint(2 * seed);
    on_own_runtime(async { send(sender, config, &address, total).await })?;
    let received = receiver.join().map_err(|_| io::Error::other("the receiver panicked"))??;
    let cpu = (cpu::of_process() - start).mul_f64(total as f64 / received.max(1) as f64);
    Ok(Outcome { cpu, packets_in_flight: None })
}

fn endpoint(seed: u64) -> Endpoint {
    let config = EndpointConfig { segments_max: SEGMENTS_MAX, ..EndpointConfig::default() };
    Endpoint::new(config, Rng::from_u64(seed))
}

async fn send(
    endpoint: Endpoint,
    config: Config,
    address: &Receiver<SocketAddr>,
    total: u64,
) -> io::Result<()> {
    let (handle, local) = drive(endpoint)?;
    let remote = address.recv().map_err(io::Error::other)?;
    let path = FourTuple::new(local, remote);
    let connect = |end: &mut Endpoint, now| end.connect(now, path, PORTS, SERVICE, config);
    let id = handle.with(connect).map_err(io::Error::other)?;
    until(&handle, &Event::Connected).await?;
    let mut left = total;
    while left > 0 {
        left -= handle.with(|end, _| hand_over(end, id, left))?;
        if left > 0 {
            until(&handle, &Event::Writable).await?;
        }
    }
    handle.with(|end, now| end.connection_mut(id).map(|connection| connection.close(now)));
    while let Some((_, event)) = handle.next_event().await {
        if matches!(event, Event::Closed(_)) {
            break;
        }
    }
    handle.close();
    Ok(())
}

/// Hands over datagrams until one is refused; returns how many bytes were taken.
fn hand_over(endpoint: &mut Endpoint, id: ConnectionId, left: u64) -> io::Result<u64> {
    let connection = endpoint.connection_mut(id).ok_or(io::ErrorKind::NotConnected)?;
    let payload = Bytes::from(vec![0x5a; connection.datagram_len_max()]);
    let mut taken = 0;
    while taken < left {
        let len = (payload.len() as u64).min(left - taken);
        match connection.send(payload.slice(..len as usize)) {
            Ok(()) => taken += len,
            Err(SendError::BufferFull { .. }) => break,
            Err(error) => return Err(io::Error::other(error)),
        }
    }
    Ok(taken)
}

/// Reads until the other end closes; returns how many bytes came.
async fn receive(endpoint: Endpoint, listening: &Sender<SocketAddr>) -> io::Result<u64> {
    let (handle, local) = drive(endpoint)?;
    listening.send(local).map_err(io::Error::other)?;
    let mut received = 0;
    while let Some((id, event)) = handle.next_event().await {
        received += handle.with(|end, _| {
            let connection = end.connection_mut(id);
            let data = connection.into_iter().flat_map(|it| std::iter::from_fn(|| it.receive()));
            data.map(|data| data.len() as u64).sum::<u64>()
        });
        if matches!(event, Event::Closed(_)) {
            break;
        }
    }
    handle.close();
    Ok(received)
}

/// Waits for an event.
async fn until(handle: &Handle<Endpoint>, awaited: &Event) -> io::Result<()> {
    while let Some((_, event)) = handle.next_event().await {
        if event == *awaited {
            return Ok(());
        }
        if let Event::Closed(reason) = event {
            return Err(io::Error::other(format!("{reason:?}")));
        }
    }
    Err(io::ErrorKind::NotConnected.into())
}
