//! [`KernelSocket`]: the kernel's side of a test.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use crate::control::Control;

/// How often the paths are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// An SCTP socket of the second kernel.
#[derive(Debug)]
pub(crate) struct KernelSocket {
    control: Control,
    /// Notifications that came before what was waited for.
    notifications: VecDeque<Notification>,
}

/// A message as the kernel's socket sends or receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) stream: u16,
    pub(crate) ppid: u32,
    pub(crate) ordered: bool,
    pub(crate) payload: Bytes,
}

/// When the kernel gives a message up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    Reliable,
    LifetimeMs(u32),
    Retransmissions(u32),
}

/// What the kernel tells its user besides data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notification {
    /// `association`, `address`, `send-failed`, `error`, `shutdown`, `partial-delivery`.
    pub(crate) kind: String,
    /// What became of the association, for the kind of that name.
    pub(crate) detail: String,
    /// The structure itself.
    pub(crate) bytes: Bytes,
}

/// What a socket gives to its reader.
#[derive(Debug)]
enum Received {
    Message(Message),
    Notification(Notification),
}

impl KernelSocket {
    /// A socket bound to one port at several of the kernel's addresses.
    pub(crate) async fn bound(port: u16, addresses: &[&str]) -> Self {
        let mut socket = Self { control: Control::open().await, notifications: VecDeque::new() };
        socket.expect_ok(&format!("bind {port} {}", addresses.join(" "))).await;
        socket
    }

    /// As [`bound`](Self::bound), open for callers.
    pub(crate) async fn listening(port: u16, addresses: &[&str]) -> Self {
        let mut socket = Self::bound(port, addresses).await;
        socket.expect_ok("listen").await;
        socket
    }

    /// Opens a bound socket for callers.
    pub(crate) async fn listen(&mut self) {
        self.expect_ok("listen").await;
    }

    /// Signs by this secret, under the identifier 1, and takes data signed only.
    pub(crate) async fn authenticate(&mut self, secret: &str) {
        self.expect_ok(&format!("authenticate 1 {secret}")).await;
    }

    /// Offers I-DATA.
    pub(crate) async fn interleave(&mut self) {
        self.expect_ok("interleave").await;
    }

    /// Tells the peer that the kernel has one more address.
    pub(crate) async fn add_address(&mut self, port: u16, address: &str) {
        self.expect_ok(&format!("add_address {port} {address}")).await;
    }

    /// Tells the peer that the kernel has it no more.
    pub(crate) async fn delete_address(&mut self, port: u16, address: &str) {
        self.expect_ok(&format!("delete_address {port} {address}")).await;
    }

    /// Calls a port at some addresses and waits for the answer; an error is the name of an errno.
    pub(crate) async fn connect(&mut self, port: u16, addresses: &[&str]) -> Result<(), String> {
        self.begin_connect(port, addresses).await;
        self.connected().await
    }

    /// The first half of [`connect`](Self::connect): does not wait.
    pub(crate) async fn begin_connect(&mut self, port: u16, addresses: &[&str]) {
        self.control.request(&format!("connect {port} {}", addresses.join(" ")), b"").await;
    }

    /// The second half.
    pub(crate) async fn connected(&mut self) -> Result<(), String> {
        let (words, _) = self.control.answer().await;
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["ok"] => {}
            ["error", errno] => return Err(errno.to_owned()),
            _ => panic!("connect: {words:?}"),
        }
        self.notified("association", "up").await;
        Ok(())
    }

    /// Sends a message, and waits until the kernel has taken it.
    pub(crate) async fn send(&mut self, message: &Message, policy: Policy) {
        self.begin_send(message, policy).await;
        self.sent().await;
    }

    /// The first half of [`send`](Self::send): does not wait, so that others can follow at once.
    pub(crate) async fn begin_send(&mut self, message: &Message, policy: Policy) {
        let Message { stream, ppid, ordered, payload } = message;
        let order = if *ordered { "ordered" } else { "unordered" };
        let policy = match policy {
            Policy::Reliable => "reliable 0".to_owned(),
            Policy::LifetimeMs(ms) => format!("lifetime {ms}"),
            Policy::Retransmissions(times) => format!("retransmissions {times}"),
        };
        self.control.request(&format!("send {stream} {ppid} {order} {policy}"), payload).await;
    }

    /// The second half.
    pub(crate) async fn sent(&mut self) {
        let (words, _) = self.control.answer().await;
        assert_eq!(words, ["ok"], "the kernel takes a message");
    }

    /// The next message; notifications before it are kept.
    pub(crate) async fn receive(&mut self) -> Message {
        loop {
            match self.receive_any().await {
                Received::Message(message) => return message,
                Received::Notification(notification) => self.notifications.push_back(notification),
            }
        }
    }

    /// The next notification of a kind with a detail; other notifications are dropped.
    pub(crate) async fn notified(&mut self, kind: &str, detail: &str) -> Notification {
        loop {
            let next = match self.notifications.pop_front() {
                Some(kept) => kept,
                None => match self.receive_any().await {
                    Received::Notification(notification) => notification,
                    Received::Message(message) => panic!("no {kind} {detail}, but {message:?}"),
                },
            };
            if (next.kind.as_str(), next.detail.as_str()) == (kind, detail) {
                return next;
            }
        }
    }

    async fn receive_any(&mut self) -> Received {
        let (words, payload) = self.control.call("receive", b"").await;
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["message", stream, ppid, order] => Received::Message(Message {
                stream: stream.parse().expect("a stream"),
                ppid: ppid.parse().expect("a ppid"),
                ordered: order == "ordered",
                payload,
            }),
            ["notification", kind, detail] => Received::Notification(Notification {
                kind: kind.to_owned(),
                detail: detail.to_owned(),
                bytes: payload,
            }),
            _ => panic!("receive: {words:?}"),
        }
    }

    /// Each of our addresses with the state that the kernel gives its path: `10.77.1.1=active`.
    pub(crate) async fn paths(&mut self) -> Vec<String> {
        let (mut words, _) = self.control.call("paths", b"").await;
        assert_eq!(words.remove(0), "paths");
        words
    }

    /// Waits until the kernel's paths are as wanted; see [`paths`](Self::paths).
    pub(crate) async fn until_paths(&mut self, are_so: impl Fn(&[String]) -> bool) {
        while !are_so(&self.paths().await) {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Ends the association in order.
    pub(crate) async fn shutdown(&mut self) {
        self.expect_ok("shutdown").await;
    }

    /// Aborts the association for a reason.
    pub(crate) async fn abort(&mut self, reason: &str) {
        let (words, _) = self.control.call("abort", reason.as_bytes()).await;
        assert_eq!(words, ["ok"], "the kernel aborts");
    }

    pub(crate) async fn close(&mut self) {
        self.expect_ok("close").await;
    }

    async fn expect_ok(&mut self, request: &str) {
        let (words, _) = self.control.call(request, b"").await;
        assert_eq!(words, ["ok"], "{request}");
    }
}
