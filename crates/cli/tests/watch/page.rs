//! [`Page`]: a browser's part at the page of `watch`.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// What is said to a page, and what it says.
pub(crate) struct Page {
    runtime: Runtime,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Page {
    /// Opens the page at this address.
    pub(crate) fn open(url: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let socket = format!("{}socket", url.replace("http://", "ws://"));
        let mut request = socket.into_client_request().unwrap();
        let origin = url.split('/').take(3).collect::<Vec<_>>().join("/");
        request.headers_mut().insert("origin", origin.parse().unwrap());
        let (socket, _) = runtime.block_on(connect_async(request)).unwrap();
        Self { runtime, socket }
    }

    pub(crate) fn ask(&mut self, request: &str) {
        self.runtime.block_on(self.socket.send(Message::text(request))).unwrap();
    }

    /// The next text of which this is true.
    pub(crate) fn until(&mut self, mut is_wanted: impl FnMut(&Value) -> bool) -> Value {
        loop {
            if let Message::Text(text) = self.next() {
                let message = serde_json::from_str(&text).unwrap();
                if is_wanted(&message) {
                    return message;
                }
            }
        }
    }

    /// Waits for media.
    pub(crate) fn until_media(&mut self) {
        while !matches!(self.next(), Message::Binary(_)) {}
    }

    fn next(&mut self) -> Message {
        self.runtime.block_on(self.socket.next()).unwrap().unwrap()
    }
}
