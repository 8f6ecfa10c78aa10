//! [`Page`]: the page of an agent, as far as a call without a person needs it (docs/call.md).

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::{HeaderValue, Uri};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::hosts::Host;
use crate::failure::Failure;

/// What an agent has not said by then, it never says.
const PATIENCE: Duration = Duration::from_secs(20);

type Socket = WebSocketStream<TcpStream>;

/// A page that is open.
pub(super) struct Page {
    sink: SplitSink<Socket, Message>,
    told: watch::Receiver<Told>,
    reader: JoinHandle<()>,
}

/// What an agent told so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    /// What leads from its clock to ours, in microseconds: the smallest that was seen, as a
    /// message comes late and never early.
    pub(super) offset_us: Option<i64>,
    /// What the other end calls.
    pub(super) link: Option<String>,
    state: String,
    text: String,
    paths: Vec<PathTold>,
}

/// A path, as an agent tells of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct PathTold {
    id: u32,
    local: String,
    state: String,
    r#use: String,
    sends_kbps: f64,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Hello {
        link: Option<String>,
    },
    State {
        state: String,
        text: String,
    },
    Stats {
        now_us: i64,
        paths: Vec<PathTold>,
    },
    #[serde(other)]
    Other,
}

impl Page {
    /// Opens what an agent on this host prints the URL of. `began` is when our clock did.
    pub(super) async fn open(host: &Host, url: &str, began: Instant) -> Result<Self, Failure> {
        let address: Uri = url.trim().parse().map_err(Failure::failed)?;
        let no_page = || Failure::failed(format!("an agent's page is at no address: {url}"));
        let (authority, port) =
            (address.authority().ok_or_else(no_page)?, address.port_u16().ok_or_else(no_page)?);
        let socket = format!("ws://{authority}{}socket", address.path());
        let mut request = socket.into_client_request().map_err(Failure::failed)?;
        let origin = HeaderValue::from_str(&format!("http://{authority}"));
        request.headers_mut().insert("origin", origin.map_err(Failure::failed)?);
        let stream = host.connect(port).await?;
        let (socket, _) = client_async(request, stream).await.map_err(Failure::failed)?;
        let (sink, stream) = socket.split();
        let (sender, told) = watch::channel(Told::default());
        let reader = tokio::spawn(read(stream, sender, began));
        Ok(Self { sink, told, reader })
    }

    pub(super) fn told(&self) -> Told {
        self.told.borrow().clone()
    }

    /// Waits until what is told answers this.
    pub(super) async fn until<T>(
        &mut self,
        what: &str,
        answer: impl Fn(&Told) -> Option<T>,
    ) -> Result<T, Failure> {
        let wait = async {
            loop {
                let answered = {
                    let told = self.told.borrow_and_update();
                    if told.state == "ended" {
                        return Err(Failure::failed(format!("the call ended: {}", told.text)));
                    }
                    answer(&told)
                };
                if let Some(answered) = answered {
                    return Ok(answered);
                }
                let changed = self.told.changed().await;
                changed.map_err(|_| Failure::failed(format!("an agent left before {what}")))?;
            }
        };
        let waited = timeout(PATIENCE, wait).await;
        waited.map_err(|_| Failure::failed(format!("waited in vain for {what}")))?
    }

    pub(super) async fn leave(&mut self, path: u32) -> Result<(), Failure> {
        self.ask(json!({ "type": "leave", "path": path })).await
    }

    /// Has a path that was left carry data again.
    pub(super) async fn use_again(&mut self, path: u32) -> Result<(), Failure> {
        self.ask(json!({ "type": "path_use", "path": path, "use": "use" })).await
    }

    pub(super) async fn hang_up(&mut self) -> Result<(), Failure> {
        self.ask(json!({ "type": "hang_up" })).await
    }

    async fn ask(&mut self, request: Value) -> Result<(), Failure> {
        let message = Message::text(request.to_string());
        self.sink.send(message).await.map_err(Failure::failed)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Told {
    /// Once the call goes on.
    pub(super) fn in_call(&self) -> Option<()> {
        (self.state == "in_call").then_some(())
    }

    /// Once paths from all these addresses carry data.
    pub(super) fn all_stand(&self, locals: &[Ipv4Addr]) -> Option<()> {
        let stands = |local: &Ipv4Addr| self.carriers().any(|path| path.is_from(*local));
        (self.in_call().is_some() && locals.iter().all(stands)).then_some(())
    }

    /// The path that carries most: which of these addresses it is from, and its number.
    pub(super) fn busiest(&self, locals: &[Ipv4Addr]) -> Option<(usize, u32)> {
        let path = self.carriers().max_by(|a, b| a.sends_kbps.total_cmp(&b.sends_kbps))?;
        let from = locals.iter().position(|local| path.is_from(*local))?;
        Some((from, path.id))
    }

    fn carriers(&self) -> impl Iterator<Item = &PathTold> {
        self.paths.iter().filter(|path| path.state == "active" && path.r#use == "use")
    }

    fn take(&mut self, line: Line, at_us: i64) {
        match line {
            Line::Hello { link } => self.link = link,
            Line::State { state, text } => (self.state, self.text) = (state, text),
            Line::Stats { now_us, paths } => {
                let offset = at_us - now_us;
                self.offset_us = Some(self.offset_us.map_or(offset, |least| least.min(offset)));
                self.paths = paths;
            }
            Line::Other => {}
        }
    }
}

impl PathTold {
    fn is_from(&self, local: Ipv4Addr) -> bool {
        self.local.rsplit_once(':').is_some_and(|(address, _)| address == local.to_string())
    }
}

async fn read(mut stream: SplitStream<Socket>, told: watch::Sender<Told>, began: Instant) {
    while let Some(Ok(message)) = stream.next().await {
        let at_us = began.elapsed().as_micros() as i64;
        // Media is for those who see and hear.
        let Message::Text(text) = message else { continue };
        match serde_json::from_str(&text) {
            Ok(line) => told.send_modify(|told| told.take(line, at_us)),
            Err(error) => tracing::warn!(%error, "an agent's page says what it should not: {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCALS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 79, 1, 2), Ipv4Addr::new(10, 79, 2, 2)];

    /// The first half of the example in docs/call.md.
    fn stats(now_us: i64, first: (&str, f64), second: (&str, f64)) -> String {
        let path = |id: usize, (state, sends_kbps): (&str, f64), r#use| {
            json!({
                "id": id, "name": "wlan0", "local": format!("{}:41000", LOCALS[id]),
                "remote": "10.79.1.1:9000", "state": state, "use": r#use, "primary": true,
                "rtt_ms": null, "loss_percent": 0.4, "sends_kbps": sends_kbps,
                "receives_kbps": 790.5, "carries": ["voice"], "handoff_ms": null
            })
        };
        let paths = [path(0, first, "use"), path(1, second, "use")];
        json!({ "type": "stats", "now_us": now_us, "paths": paths, "carries_kbps": 1.0 })
            .to_string()
    }

    fn take(told: &mut Told, text: &str, at_us: i64) {
        told.take(serde_json::from_str(text).unwrap(), at_us);
    }

    fn in_call() -> Told {
        let mut told = Told::default();
        let state = r#"{"type":"state","state":"in_call","text":"In a call.","peer":null}"#;
        take(&mut told, state, 0);
        told
    }

    #[test]
    fn both_paths_stand_once_both_carry_data() {
        let mut told = in_call();
        assert_eq!((told.all_stand(&LOCALS), told.busiest(&LOCALS)), (None, None));
        take(&mut told, &stats(5, ("active", 900.0), ("inactive", 2_000.0)), 5);
        assert_eq!(told.all_stand(&LOCALS), None);
        assert_eq!(told.busiest(&LOCALS), Some((0, 0)));
        take(&mut told, &stats(6, ("active", 900.0), ("active", 2_000.0)), 6);
        assert_eq!(told.all_stand(&LOCALS), Some(()));
        assert_eq!(told.busiest(&LOCALS), Some((1, 1)), "the one that carries pictures");
    }

    #[test]
    fn a_clock_is_told_by_the_message_that_came_soonest() {
        let mut told = in_call();
        for (now_us, at_us) in [(1_000, 51_200), (2_000, 52_050), (3_000, 53_900)] {
            take(&mut told, &stats(now_us, ("active", 1.0), ("active", 1.0)), at_us);
        }
        assert_eq!(told.offset_us, Some(50_050));
    }

    #[test]
    fn what_a_page_is_told_beside_that_is_passed_over() {
        let mut told = in_call();
        take(&mut told, r#"{"type":"event","id":1,"at_us":4,"text":"wlan0 lost"}"#, 9);
        take(&mut told, r#"{"type":"hello","link":"anabranch://a:9000?key=K","now_us":1}"#, 9);
        assert_eq!(told.link.as_deref(), Some("anabranch://a:9000?key=K"));
        assert_eq!(told.in_call(), Some(()));
    }
}
