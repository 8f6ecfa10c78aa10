//! [`Server`]: what is watched, and what it costs.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use anabranch_sctp::Encryption;
use http_body_util::BodyExt as _;
use hyper::Request;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// The server under load.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    /// Where its page is: a host and a port.
    pub(crate) http: String,
    /// Where its viewers are.
    pub(crate) udp: SocketAddr,
    /// How native viewers encrypt, if they do.
    pub(crate) encryption: Option<Encryption>,
}

impl Server {
    /// Posts a browser's offer; returns the answer.
    pub(crate) async fn post_offer(&self, offer: String) -> io::Result<String> {
        self.post_offer_to("/whep", None, offer).await
    }

    /// The same elsewhere, with a token where one is asked for.
    pub(crate) async fn post_offer_to(
        &self,
        path: &str,
        token: Option<&str>,
        offer: String,
    ) -> io::Result<String> {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let sdp = (CONTENT_TYPE, "application/sdp");
        let headers: Vec<_> = std::iter::once(sdp)
            .chain(bearer.as_deref().map(|bearer| (AUTHORIZATION, bearer)))
            .collect();
        self.post(path, &headers, offer).await
    }

    /// Tells all viewers something urgent.
    pub(crate) async fn post_urgent(&self, token: &str, text: &str) -> io::Result<()> {
        let body = serde_json::json!({ "level": "notice", "text": text }).to_string();
        let bearer = format!("Bearer {token}");
        let headers = [(CONTENT_TYPE, "application/json"), (AUTHORIZATION, &*bearer)];
        self.post("/api/urgent", &headers, body).await.map(drop)
    }

    /// Posts something; returns the body of a friendly answer.
    async fn post(
        &self,
        path: &str,
        headers: &[(HeaderName, &str)],
        body: String,
    ) -> io::Result<String> {
        let stream = TcpStream::connect(&self.http).await?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        // Ends with the exchange; what went wrong is told by the exchange.
        tokio::spawn(async { connection.await.ok() });
        let mut request = Request::post(path).header(HOST, &self.http);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let request = request.body(body).map_err(io::Error::other)?;
        let response = sender.send_request(request).await.map_err(io::Error::other)?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
        let text = String::from_utf8_lossy(&body).into_owned();
        if status.is_success() {
            return Ok(text);
        }
        Err(io::Error::other(format!("http://{}{path} says {status}: {text}", self.http)))
    }
}

/// What a process used so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) cpu: Duration,
    pub(crate) resident_bytes: u64,
}

/// Reads what Linux says of a process in /proc.
pub(crate) fn usage(pid: u32) -> io::Result<Usage> {
    let folder = format!("/proc/{pid}");
    let stat = std::fs::read_to_string(format!("{folder}/stat"))?;
    let memory = std::fs::read_to_string(format!("{folder}/statm"))?;
    parse(&stat, &memory)
        .ok_or_else(|| io::Error::other(format!("{folder} is not as proc(5) describes it")))
}

/// Ticks of a second, which Linux has fixed for its users.
const TICKS: u64 = 100;

const PAGE_BYTES: u64 = 4_096;

fn parse(stat: &str, memory: &str) -> Option<Usage> {
    // The second field is the program's name in brackets, which may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
    let cpu = Duration::from_millis((ticks(11)? + ticks(12)?) * 1_000 / TICKS);
    let pages: u64 = memory.split_whitespace().nth(1)?.parse().ok()?;
    Some(Usage { cpu, resident_bytes: pages * PAGE_BYTES })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 1 0 5 1 1";
        let usage = parse(stat, "100 25 3 1 0 9 0\n").unwrap();
        assert_eq!(usage.cpu, Duration::from_secs(2));
        assert_eq!(usage.resident_bytes, 25 * PAGE_BYTES);
        assert!(parse("7 (a) S", "").is_none());
    }

    #[test]
    fn this_process_can_be_read() {
        assert!(usage(std::process::id()).unwrap().resident_bytes > 0);
    }
}
