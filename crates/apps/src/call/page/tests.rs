//! A browser's part, played against the real server over real sockets.

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::protocol::{PROTOCOL, PageSends};
use super::*;

/// No test waits that long unless it fails.
const PATIENCE: Duration = Duration::from_secs(10);

async fn open(page: &CallPage) -> WebSocketStream<MaybeTlsStream<TcpStream>> {
    let address = format!("{}socket", page.url().replace("http://", "ws://"));
    let mut request = address.into_client_request().unwrap();
    let origin: Vec<_> = page.url().split('/').take(3).collect();
    request.headers_mut().insert("origin", origin.join("/").parse().unwrap());
    connect_async(request).await.unwrap().0
}

fn hello() -> Hello {
    Hello {
        protocol: PROTOCOL,
        program: "anabranch".to_owned(),
        mode: "call".to_owned(),
        now_us: 0,
        name: None,
        link: None,
        page_sends: PageSends { voice: true, video: true },
        page_plays: true,
    }
}

#[tokio::test]
async fn regression_a_page_that_was_still_sending_never_read_the_last_words() {
    let mut page = CallPage::start(0).await.unwrap();
    let mut socket = open(&page).await;
    assert!(matches!(page.brought().await, Some(Brought::Opened)));
    page.greet(hello());
    let ended = tokio::spawn(async move { page.say_goodbye("It is over.".to_owned()).await });
    for _ in 0..50 {
        let request = "{\"type\":\"want_key\"}";
        socket.send(Message::text(request)).await.expect("the other end still listens");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let mut texts = Vec::new();
    let closed = loop {
        let message = timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap();
        if let Message::Close(frame) = message {
            break frame.expect("the reason is given");
        }
        texts.push(message.into_text().unwrap().to_string());
    };
    assert!(texts.last().is_some_and(|text| text.contains("It is over.")), "{texts:?}");
    assert_eq!(closed.code, CloseCode::Normal);
    while let Some(Ok(_)) = socket.next().await {}
    timeout(PATIENCE, ended).await.unwrap().unwrap();
}
