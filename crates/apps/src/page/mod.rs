//! The page that shows what arrives: a web server on this machine, for this machine.
//!
//! A [`PageServer`] serves the built page and speaks `docs/page-protocol.md` with every page that
//! is open. What the program has to say goes to all of them, and to those that come later as far as
//! they need it; what they ask comes out of one channel, checked against what the program said
//! that it offers. A page that reads slowly loses media, never the program's memory.

pub(crate) mod assets;
mod check;
pub(crate) mod guard;
mod guide;
mod hub;
pub(crate) mod local;
pub mod protocol;
mod queue;
pub mod screen;
mod server;
mod socket;
mod tap;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anabranch_driver::Clock;
use anabranch_media::decoding::AccessUnit;
use anabranch_television::protocol::{ChannelEntry, Urgent};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use hub::Hub;
use protocol::{Hello, NewEvent, Request, Stats, Treatments, Tuned};
pub use tap::{PageTap, ServedPage};
pub(crate) use tap::{path_info, path_stats, sentence};

/// Pages that may be open at once.
pub const PAGES_MAX: usize = 16;

/// Requests that wait for the program; a page that asks for more waits itself.
const REQUESTS_MAX: usize = 64;

/// How long the pages may take for the last words.
const GOODBYE: Duration = Duration::from_secs(1);

/// Serves the page until it is dropped.
#[derive(Debug)]
pub struct PageServer {
    url: String,
    hub: Arc<Hub>,
    stop: watch::Sender<bool>,
}

/// A request of a page, checked: it names what exists and stays within what was offered.
#[derive(Debug, Clone, PartialEq)]
pub struct PageRequest {
    /// Who asks.
    pub page: PageId,
    /// For what.
    pub request: Request,
}

/// One of the open pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(u64);

/// Why the page cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The port cannot be had.
    #[error("cannot serve the page at {addr}: {source}; give another port, or 0 for any")]
    Bind {
        /// Where.
        addr: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The system gives no random bytes for the token.
    #[error("cannot make a token for the page: {0}")]
    Random(getrandom::Error),
}

impl PageServer {
    /// Starts to serve at 127.0.0.1 and `port`, any free one if it is 0. Times are those of
    /// `clock`. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The port cannot be had.
    pub async fn start(
        port: u16,
        clock: Clock,
        hello: Hello,
    ) -> Result<(Self, mpsc::Receiver<PageRequest>), PageError> {
        let hub = Arc::new(Hub::new(clock, hello));
        let (requests, incoming) = mpsc::channel(REQUESTS_MAX);
        let stop = watch::Sender::new(false);
        let url = server::start(port, Arc::clone(&hub), requests, stop.subscribe()).await?;
        Ok((Self { url, hub, stop }, incoming))
    }

    /// Where the page is: `http://127.0.0.1:PORT/TOKEN/`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How many pages are open.
    #[must_use]
    pub fn pages(&self) -> usize {
        *self.hub.pages().borrow()
    }

    /// Tells times of another clock from now on, which no page has heard of yet.
    pub(crate) fn set_clock(&self, clock: Clock) {
        self.hub.set_clock(clock);
    }

    /// Begins anew with this: what the pages got before is void.
    pub fn hello(&self, hello: Hello) {
        self.hub.set_hello(hello);
    }

    /// Changes what pages are told that come later, for what the others learn from statistics.
    pub fn update(&self, change: impl FnOnce(&mut Hello)) {
        self.hub.update(change);
    }

    /// Tells the state of things; to be called about five times a second.
    pub fn stats(&self, stats: Stats) {
        self.hub.stats(stats);
    }

    /// Tells that something happened, now.
    pub fn event(&self, event: NewEvent) {
        self.hub.event(event);
    }

    /// Tells the treatments in force.
    pub fn treatments(&self, treatments: Treatments) {
        self.hub.treatments(treatments);
    }

    /// Tells what there is to choose from.
    pub fn channels(&self, channels: Vec<ChannelEntry>) {
        self.hub.channels(channels);
    }

    /// Tells which channel is watched, and how it fares.
    pub fn tuned(&self, tuned: Tuned) {
        self.hub.tuned(tuned);
    }

    /// Shows a message over the picture.
    pub fn urgent(&self, urgent: Urgent) {
        self.hub.urgent(urgent);
    }

    /// Takes an urgent message back, or all of them.
    pub fn end_urgent(&self, id: Option<u32>) {
        self.hub.end_urgent(id);
    }

    /// Tells that the peer is lost, and when it is tried again, until [`hello`](Self::hello) or
    /// [`reconnected`](Self::reconnected).
    pub fn reconnecting(&self, after: Duration, why: String) {
        self.hub.reconnecting(after.as_secs_f64(), why);
    }

    /// The peer is there again; the pages learn it from an event.
    pub fn reconnected(&self) {
        self.hub.reconnected();
    }

    /// Tells that what was shown is over, and starts anew when a page asks for it, until
    /// [`begin_again`](Self::begin_again).
    pub fn finished(&self, text: String) {
        self.hub.finished(text);
    }

    /// Begins anew with this, as [`hello`](Self::hello) does; no event from before is told again.
    pub fn begin_again(&self, hello: Hello) {
        self.hub.forget_events();
        self.hub.set_hello(hello);
    }

    /// Waits until no page is open, and none was opened anew for `grace`: a page that is reloaded
    /// is not open for a moment.
    pub async fn left(&self, grace: Duration) {
        let mut pages = self.hub.pages();
        // The hub, which sends them, lives as long as this server.
        while pages.wait_for(|pages| *pages == 0).await.is_ok() {
            if timeout(grace, pages.wait_for(|pages| *pages > 0)).await.is_err() {
                return;
            }
        }
    }

    /// Shows a picture or plays a frame of sound.
    pub fn media(&self, unit: &AccessUnit) {
        self.hub.media(unit);
    }

    /// Answers a request that cannot be met after all.
    pub fn refuse(&self, request: &PageRequest, text: String) {
        let kind = check::type_of(&request.request).to_owned();
        self.hub.refuse(request.page, Some(kind), text);
    }

    /// Says that the stream is over, and why: the last words.
    pub fn say_goodbye(&self, text: String) {
        self.hub.end(text);
    }

    /// Waits until the pages know.
    pub async fn told(&self) {
        let mut pages = self.hub.pages();
        // A page that does not listen learns it from its closed socket.
        let _in_time = timeout(GOODBYE, pages.wait_for(|pages| *pages == 0)).await;
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}
