//! QUIC by quinn: what an encrypted transport with segmentation offload costs.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use quinn::{
    ClientConfig, Endpoint, EndpointConfig, ServerConfig, TokioRuntime, TransportConfig, VarInt,
};
use tokio::runtime;

use crate::{Outcome, Workload, cpu, udp};

/// The name in the certificate.
pub(crate) const SERVER: &str = "localhost";

/// Sends the workload over one stream, from one thread to another, message by message; returns the
/// CPU time of both ends.
pub(crate) fn measure(workload: &Workload, gso: bool) -> io::Result<Outcome> {
    let transport = Arc::new(transport(workload, gso));
    let (server, client) = configs(&transport)?;
    let socket = udp::socket()?;
    let address = socket.local_addr()?;
    let job = *workload;
    let start = cpu::of_process();
    let receiver = thread::spawn(move || {
        on_own_runtime(async move { receive(endpoint(socket, Some(server))?, &job).await })
    });
    let sent = on_own_runtime(async {
        send(endpoint(udp::socket()?, None)?, client, address, workload).await
    });
    let received = receiver.join().map_err(|_| io::Error::other("the receiver panicked"))?;
    sent.and(received)?;
    Ok(Outcome { cpu: cpu::of_process() - start, packets_in_flight: None })
}

fn on_own_runtime(work: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

async fn send(
    endpoint: Endpoint,
    config: ClientConfig,
    address: SocketAddr,
    workload: &Workload,
) -> io::Result<()> {
    let connecting = endpoint.connect_with(config, address, SERVER).map_err(io::Error::other)?;
    let connection = connecting.await?;
    let mut stream = connection.open_uni().await?;
    let message = vec![0x5a; workload.message];
    for _ in 0..workload.messages {
        stream.write_all(&message).await?;
    }
    stream.finish().map_err(io::Error::other)?;
    stream.stopped().await.map_err(io::Error::other)?;
    connection.close(VarInt::from_u32(0), b"done");
    endpoint.wait_idle().await;
    Ok(())
}

async fn receive(endpoint: Endpoint, workload: &Workload) -> io::Result<()> {
    let incoming = endpoint.accept().await.ok_or(io::ErrorKind::NotConnected)?;
    let connection = incoming.await?;
    let mut stream = connection.accept_uni().await?;
    let mut message = vec![0; workload.message];
    for _ in 0..workload.messages {
        stream.read_exact(&mut message).await.map_err(io::Error::other)?;
    }
    connection.closed().await;
    Ok(())
}

pub(crate) fn endpoint(
    socket: std::net::UdpSocket,
    server: Option<ServerConfig>,
) -> io::Result<Endpoint> {
    socket.set_nonblocking(true)?;
    Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(TokioRuntime))
}

/// What the SCTP stacks are told, in QUIC's terms.
fn transport(workload: &Workload, gso: bool) -> TransportConfig {
    let window = workload.config.receive_window;
    let ahead = workload.ahead * workload.message as u64;
    let mut transport = TransportConfig::default();
    transport
        .initial_mtu(workload.config.mtu)
        .min_mtu(workload.config.mtu)
        .mtu_discovery_config(None)
        .stream_receive_window(VarInt::from_u32(window))
        .receive_window(VarInt::from_u32(window))
        .send_window(ahead)
        .enable_segmentation_offload(gso);
    transport
}

/// A server with a certificate of its own, and a client that trusts it.
pub(crate) fn configs(
    transport: &Arc<TransportConfig>,
) -> io::Result<(ServerConfig, ClientConfig)> {
    let certified =
        rcgen::generate_simple_self_signed([SERVER.to_owned()]).map_err(io::Error::other)?;
    let certificate = CertificateDer::from(certified.cert);
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).map_err(io::Error::other)?;
    let mut server =
        ServerConfig::with_single_cert(vec![certificate], key).map_err(io::Error::other)?;
    server.transport_config(Arc::clone(transport));
    let mut client =
        ClientConfig::with_root_certificates(Arc::new(roots)).map_err(io::Error::other)?;
    client.transport_config(Arc::clone(transport));
    Ok((server, client))
}
