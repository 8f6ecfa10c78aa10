//! [`Listener`]: takes connections for the page, by HTTP or HTTPS.

mod places;
mod tls;
mod write_timeout;

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anabranch_television::address_group;
use axum::Router;
use axum::body::Body;
use axum::http::header::CONNECTION;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use super::proxies::Proxies;
pub(crate) use places::{NoPlace, Place, Places};
pub use tls::TlsError;
pub(crate) use tls::{Files, Tls};
use write_timeout::WriteTimeout;

/// A handshake of TLS, the head of a request, and the rest until it is answered take at most so
/// long each.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who answers nothing for so long has vanished: what it held is free within ten seconds.
const SILENCE: Duration = Duration::from_secs(8);

/// After this, connections are taken again where the system had no room for one.
const RECOVERY: Duration = Duration::from_millis(100);

/// Connections at once, in all and from one address: a browser that watches needs none.
const CONNECTIONS_MAX: usize = 512;
const CONNECTIONS_PER_ADDRESS_MAX: usize = 128;

/// Connections beyond, that are told so at once.
const REFUSALS_MAX: usize = 64;

/// Who asks, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) addr: SocketAddr,
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
}

/// What is served, wherever connections are taken.
#[derive(Clone)]
pub(crate) struct Service {
    router: Router,
    proxies: Proxies,
    places: Arc<Places>,
    refusals: Arc<Places>,
}

/// An address at which connections are taken.
pub(crate) struct Listener {
    pub(crate) tcp: TcpListener,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) service: Service,
}

/// The places that there are for connections.
pub(crate) fn places() -> Arc<Places> {
    Places::new(CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX)
}

impl Service {
    pub(crate) fn new(router: Router, proxies: Proxies, places: Arc<Places>) -> Self {
        Self { router, proxies, places, refusals: Places::new(REFUSALS_MAX, REFUSALS_MAX) }
    }

    /// A place for a connection, and what is served there; none where not even a refusal fits.
    fn admit(&self, address: IpAddr) -> Option<(Place, Router)> {
        let is_many = address.is_loopback() || self.proxies.trusts(address);
        let none = match self.places.take(address_group(address), is_many) {
            Ok(place) => return Some((place, self.router.clone())),
            Err(none) => none,
        };
        let place = self.refusals.take(address_group(address), true).ok()?;
        let (status, text) = match none {
            NoPlace::Full { limit } => (
                StatusCode::SERVICE_UNAVAILABLE,
                format!("The server has {limit} connections, which is its limit."),
            ),
            NoPlace::FullFor { limit } => (
                StatusCode::TOO_MANY_REQUESTS,
                format!("Your address has {limit} connections, which is the limit."),
            ),
        };
        let refuse = move || async move { (status, [(CONNECTION, "close")], text) };
        Some((place, Router::new().fallback(refuse)))
    }
}

impl Listener {
    /// Serves as long as the program runs.
    pub(crate) async fn serve(self) {
        loop {
            match self.tcp.accept().await {
                Ok((stream, from)) => {
                    let Some((place, router)) = self.service.admit(from.ip()) else { continue };
                    let tls = self.tls.clone();
                    tokio::spawn(async move {
                        connection(stream, from, tls, router).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection to the page is lost");
                    sleep(RECOVERY).await;
                }
            }
        }
    }
}

async fn connection(stream: TcpStream, addr: SocketAddr, tls: Option<TlsAcceptor>, router: Router) {
    // Answers are small, and each is waited for.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "small packets wait for others");
    }
    if let Err(error) = watch_over(&stream) {
        tracing::debug!(%error, "who vanishes is noticed late");
    }
    let Some(tls) = tls else {
        return converse(stream, Peer { addr, scheme: "http" }, router).await;
    };
    match timeout(PATIENCE, tls.accept(stream)).await {
        Ok(Ok(stream)) => converse(stream, Peer { addr, scheme: "https" }, router).await,
        Ok(Err(error)) => tracing::debug!(%addr, %error, "no TLS"),
        Err(_) => tracing::debug!(%addr, "no TLS within ten seconds"),
    }
}

/// Has the system end a connection whose other end is silent, though it was asked, or has taken
/// nothing of what was sent to it. Where nothing is sent, as of a channel that is off air, nobody
/// else would notice; and what is sent fills the system's buffers before it waits here.
fn watch_over(stream: &TcpStream) -> io::Result<()> {
    let asked = TcpKeepalive::new().with_time(SILENCE / 2).with_interval(SILENCE / 8);
    let socket = SockRef::from(stream);
    socket.set_tcp_keepalive(&asked.with_retries(4))?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(SILENCE))?;
    Ok(())
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
    router: Router,
) {
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        answer(router.clone(), request.map(Body::new))
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    let io = TokioIo::new(WriteTimeout::new(stream));
    if let Err(error) = server.serve_connection(io, service).await {
        tracing::debug!(addr = %peer.addr, %error, "a connection to the page ended early");
    }
}

async fn answer(router: Router, request: Request<Body>) -> Result<Response, Infallible> {
    timeout(PATIENCE, router.oneshot(request)).await.unwrap_or_else(|_| {
        let text = "This request did not come whole within ten seconds.";
        Ok((StatusCode::REQUEST_TIMEOUT, [(CONNECTION, "close")], text).into_response())
    })
}

#[cfg(test)]
mod tests {
    use axum::routing::{get, post};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::Instant;

    use super::*;

    /// Serves one word, to so many connections at once.
    async fn serve(connections: usize) -> SocketAddr {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = tcp.local_addr().unwrap();
        let router = Router::new().route("/", get(|| async { "served" }));
        let router = router.route("/echo", post(|text: String| async { text }));
        let places = Places::new(connections, connections);
        let service = Service::new(router, Proxies::default(), places);
        tokio::spawn(Listener { tcp, tls: None, service }.serve());
        addr
    }

    async fn answer(addr: SocketAddr) -> String {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn the_system_watches_over_every_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (_near, accepted) = tokio::join!(TcpStream::connect(addr), listener.accept());
        let (stream, _) = accepted.unwrap();
        watch_over(&stream).unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        let (idle, every) =
            (socket.tcp_keepalive_time().unwrap(), socket.tcp_keepalive_interval().unwrap());
        assert!(idle + every * socket.tcp_keepalive_retries().unwrap() <= SILENCE);
        #[cfg(target_os = "linux")]
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(SILENCE));
    }

    #[tokio::test]
    async fn a_connection_beyond_the_limit_is_refused_in_words_until_one_ends() {
        let addr = serve(1).await;
        let mut first = TcpStream::connect(addr).await.unwrap();
        first.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        first.read_u8().await.unwrap();
        let refused = answer(addr).await;
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
        assert!(refused.ends_with("The server has 1 connections, which is its limit."));
        drop(first);
        while !answer(addr).await.ends_with("served") {}
    }

    #[tokio::test(start_paused = true)]
    async fn who_writes_half_a_request_is_told_after_ten_seconds() {
        let mut stream = TcpStream::connect(serve(1).await).await.unwrap();
        let started = Instant::now();
        let half = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf";
        stream.write_all(half).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
        assert_eq!(started.elapsed().as_secs(), PATIENCE.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn who_writes_the_head_of_a_request_too_slowly_is_cut_off() {
        let mut stream = TcpStream::connect(serve(1).await).await.unwrap();
        let started = Instant::now();
        stream.write_all(b"GET / HTTP/1.1\r\nHo").await.unwrap();
        let mut answer = Vec::new();
        // It may be told, or just be cut off.
        _ = stream.read_to_end(&mut answer).await;
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
        assert_eq!(started.elapsed().as_secs(), PATIENCE.as_secs());
    }
}
