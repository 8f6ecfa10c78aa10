//! [`Control`]: tells the second kernel what to do, in the words of `guest/peer.py`.

use std::net::Ipv4Addr;

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;

use crate::{uml, vm};

/// A connection to a process of a second kernel.
#[derive(Debug)]
pub(crate) struct Control(BufStream<TcpStream>);

impl Control {
    /// To user-mode Linux.
    pub(crate) async fn open() -> Self {
        Self::open_at(uml::CONTROL_ADDRESS).await
    }

    /// To the kernel that listens at this address.
    pub(crate) async fn open_at(address: Ipv4Addr) -> Self {
        let stream = TcpStream::connect(vm::control_at(address)).await;
        let stream = stream.expect("the second kernel answers");
        stream.set_nodelay(true).expect("an option of every TCP socket");
        Self(BufStream::new(stream))
    }

    /// Asks for something and waits for the words and the payload of the answer.
    pub(crate) async fn call(&mut self, words: &str, payload: &[u8]) -> (Vec<String>, Bytes) {
        self.request(words, payload).await;
        self.answer().await
    }

    /// The first half of [`call`](Self::call). Requests are answered one by one, in order.
    pub(crate) async fn request(&mut self, words: &str, payload: &[u8]) {
        let line = format!("{words} {}\n", payload.len());
        self.0.write_all(line.as_bytes()).await.expect("the second kernel reads");
        self.0.write_all(payload).await.expect("the second kernel reads");
        self.0.flush().await.expect("the second kernel reads");
    }

    /// The second half.
    pub(crate) async fn answer(&mut self) -> (Vec<String>, Bytes) {
        let mut line = String::new();
        self.0.read_line(&mut line).await.expect("the second kernel answers");
        let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let size = words.pop().expect("the second kernel's process lives").parse();
        let mut payload = vec![0; size.expect("the last word is a size")];
        self.0.read_exact(&mut payload).await.expect("as much as was announced");
        (words, payload.into())
    }
}
