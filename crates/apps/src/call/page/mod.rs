//! [`CallPage`]: the page of a call, on this machine and for it, in one tab at a time.

pub(super) mod protocol;
mod server;
mod tab;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anabranch_call::Playback;
use bytes::Bytes;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::page::PageError;
use protocol::{Event, FromPage, Hello, PageMedia, ToPage, block_message, media_message};
use tab::Tab;

/// Requests that wait for the call; a page that asks for more waits itself.
const REQUESTS_MAX: usize = 256;

/// Sentences that a page gets which comes later.
const EVENTS_MAX: usize = 50;

/// How long the page may take for the last words.
const GOODBYE: Duration = Duration::from_secs(3);

/// What a page brings.
#[derive(Debug)]
pub(super) enum Brought {
    /// A tab was opened: its media begins anew.
    Opened,
    Request(FromPage),
    Media(PageMedia),
    /// Something about a block of a file.
    Block(Bytes),
    /// The tab is gone, and camera and microphone with it.
    Closed,
}

/// Serves the page of a call until it is dropped.
#[derive(Debug)]
pub struct CallPage {
    url: String,
    shared: Arc<Shared>,
    requests: mpsc::Receiver<Brought>,
    stop: watch::Sender<bool>,
}

/// What the call and the server have in common.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<Said>,
}

/// What a tab is told that comes later, and the one that is there.
#[derive(Debug, Default)]
struct Said {
    state: Option<String>,
    encode: Option<String>,
    events: VecDeque<String>,
    next_event: u64,
    tab: Option<Tab>,
}

impl CallPage {
    /// Starts to serve at 127.0.0.1 and `port`, any free one if it is 0. Must be called within a
    /// tokio runtime.
    ///
    /// # Errors
    /// The port cannot be had.
    pub async fn start(port: u16) -> Result<Self, PageError> {
        let shared = Arc::new(Shared::default());
        let (sender, requests) = mpsc::channel(REQUESTS_MAX);
        let stop = watch::Sender::new(false);
        let url = server::start(port, Arc::clone(&shared), sender, stop.subscribe()).await?;
        Ok(Self { url, shared, requests, stop })
    }

    /// Where the page is: `http://127.0.0.1:PORT/TOKEN/`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The next thing that the page brings.
    pub(super) async fn brought(&mut self) -> Option<Brought> {
        self.requests.recv().await
    }

    /// Tells a tab that was opened how things stand.
    pub(super) fn greet(&self, hello: Hello) {
        let hello = serde_json::to_string(&ToPage::Hello(hello)).unwrap_or_default();
        let mut said = self.shared.lock();
        let Said { state, encode, events, tab, .. } = &mut *said;
        let texts = [&hello].into_iter().chain(&*events).chain(&*state).chain(&*encode);
        if let Some(tab) = tab {
            tab.greet(texts);
        }
    }

    /// Tells the page something; what holds on is told to one that comes later, too.
    pub(super) fn say(&self, message: &ToPage) {
        let text = serde_json::to_string(message).unwrap_or_default();
        let mut said = self.shared.lock();
        match message {
            ToPage::State(_) => said.state = Some(text.clone()),
            ToPage::Encode { .. } => said.encode = Some(text.clone()),
            ToPage::Hello(_)
            | ToPage::KeyWanted
            | ToPage::Stats(_)
            | ToPage::Event(_)
            | ToPage::Exchange(_)
            | ToPage::Text(_)
            | ToPage::File(_)
            | ToPage::FileRefused { .. }
            | ToPage::FileGone { .. }
            | ToPage::Taken { .. }
            | ToPage::Error { .. }
            | ToPage::Bye { .. } => {}
        }
        said.send(text);
    }

    /// Tells a sentence, which gets the next number.
    pub(super) fn event(&self, event: Event) {
        let mut said = self.shared.lock();
        let event = Event { id: said.next_event, ..event };
        said.next_event += 1;
        let text = serde_json::to_string(&ToPage::Event(event)).unwrap_or_default();
        if said.events.len() >= EVENTS_MAX {
            said.events.pop_front();
        }
        said.events.push_back(text.clone());
        said.send(text);
    }

    /// Plays something; answers whether a key picture is needed, since the page was too slow.
    pub(super) fn play(&self, playback: &Playback) -> bool {
        let mut said = self.shared.lock();
        said.tab.as_mut().is_some_and(|tab| !tab.play(playback, || media_message(playback)))
    }

    /// Hands on something about a block of a file; one for which there is no room is asked for
    /// again.
    pub(super) fn bring(&self, block: &Bytes) {
        let mut said = self.shared.lock();
        if let Some(tab) = &mut said.tab {
            tab.bring(|| block_message(block));
        }
    }

    /// Answers a request that cannot be met.
    pub(super) fn refuse(&self, request: &str, text: &str) {
        self.shared.refuse(Some(request), text);
    }

    /// The last words; returns when the page has read them.
    pub(super) async fn say_goodbye(&mut self, text: String) {
        self.say(&ToPage::Bye { text });
        let tab = self.shared.lock().tab.take();
        if tab.is_none() {
            return;
        }
        // Its socket is closed when all that waits for it is sent.
        drop(tab);
        let read = async {
            while let Some(brought) = self.brought().await {
                if matches!(brought, Brought::Closed) {
                    return;
                }
            }
        };
        // A page that does not listen learns it from its closed socket.
        let _in_time = timeout(GOODBYE, read).await;
    }
}

impl Drop for CallPage {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Said> {
        // Nothing is half done where a thread could fail.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the call to a tab, which is to be greeted; none if another one has it.
    fn join(&self) -> Option<mpsc::Receiver<Waiting>> {
        let mut said = self.lock();
        if said.tab.as_ref().is_some_and(|tab| !tab.is_gone()) {
            return None;
        }
        let (tab, receiver) = Tab::new();
        said.tab = Some(tab);
        drop(said);
        Some(receiver)
    }

    fn refuse(&self, request: Option<&str>, text: &str) {
        let request = request.map(str::to_owned);
        let error = ToPage::Error { request, text: text.to_owned() };
        self.lock().send(serde_json::to_string(&error).unwrap_or_default());
    }
}

impl Said {
    fn send(&mut self, text: String) {
        if let Some(tab) = &mut self.tab {
            tab.send(text);
        }
    }
}

/// What waits for a tab.
#[derive(Debug)]
enum Waiting {
    Text(String),
    Media(Bytes),
}
