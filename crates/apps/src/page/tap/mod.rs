//! [`PageTap`]: a page that shows what `anabranch recv` receives.

mod view;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use anabranch_driver::Handle;
use anabranch_media::playout::Released;
use anabranch_sansio::{PathId, Time};
use anabranch_session::{Disconnect, Event, Receiver, Role};
use anabranch_transport::{PathEvent, PathReport, PathState};

use super::protocol::{EventKind, Hello, Mode, NewEvent, Severity};
use super::{PageError, PageServer};
use crate::recv::Tap;
use crate::service::{self, sentence_of};
use view::View;
pub(crate) use view::{path_info, path_stats};

/// How often the pages get statistics, and a picture that did not come is passed over.
const TICK: Duration = Duration::from_millis(200);

/// A page that shows what a receiver hands on.
#[derive(Debug)]
pub struct PageTap {
    shared: Arc<Shared>,
}

/// The page outlives the service, to say how it ended.
#[derive(Debug)]
pub struct ServedPage {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    page: PageServer,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    receiver: Option<Handle<Receiver>>,
    view: View,
}

impl PageTap {
    /// Starts to serve a page on this machine at `port`, any free one if it is 0. Must be called
    /// within a tokio runtime.
    ///
    /// # Errors
    /// The port cannot be had.
    pub async fn start(port: u16) -> Result<(Self, ServedPage), PageError> {
        let clock = anabranch_driver::Clock::start();
        // A receiver has nothing to control: there are no requests to wait for.
        let (page, _requests) = PageServer::start(port, clock, Hello::new(Mode::Recv)).await?;
        let shared = Arc::new(Shared { page, state: Mutex::default() });
        Ok((Self { shared: Arc::clone(&shared) }, ServedPage { shared }))
    }
}

impl ServedPage {
    /// Where the page is.
    #[must_use]
    pub fn url(&self) -> &str {
        self.shared.page.url()
    }

    /// Waits until the pages know how it ended.
    pub async fn told(&self) {
        self.shared.page.told().await;
    }
}

impl Tap for PageTap {
    fn start(&mut self, handle: &Handle<Receiver>) {
        self.shared.page.set_clock(handle.clock());
        self.shared.state().receiver = Some(handle.clone());
        tokio::spawn(tick(Arc::downgrade(&self.shared)));
    }

    fn on_event(&mut self, _now: Time, event: &Event) {
        self.shared.on_event(event);
    }

    fn on_media(&mut self, now: Time, released: &Released) {
        self.shared.on_media(now, released);
    }

    fn on_countdown(&mut self, seconds: u64, reason: &str) {
        self.shared.page.reconnecting(Duration::from_secs(seconds), sentence(reason));
    }

    fn end(&mut self, text: &str) {
        self.shared.tick();
        self.shared.page.say_goodbye(sentence(text));
        self.shared.state().receiver = None;
    }
}

async fn tick(shared: Weak<Shared>) {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(shared) = shared.upgrade().filter(|shared| shared.tick()) else { return };
        drop(shared);
    }
}

impl Shared {
    /// Statistics, and what is to be shown by now. False once the service has ended.
    fn tick(&self) -> bool {
        let mut state = self.state();
        let State { receiver: Some(receiver), view } = &mut *state else { return false };
        receiver.with(|receiver, now| {
            view.take_arrivals(receiver);
            view.play(receiver, now);
        });
        let stats = receiver.with(|receiver, _| view.stats(receiver));
        self.show(view);
        self.page.stats(stats);
        true
    }

    fn on_media(&self, now: Time, released: &Released) {
        let mut state = self.state();
        let State { receiver: Some(receiver), view } = &mut *state else { return };
        view.on_released(now, released);
        receiver.with(|receiver, now| {
            view.take_arrivals(receiver);
            view.play(receiver, now);
        });
        if let Some(hello) = receiver.with(|receiver, _| view.new_hello(receiver)) {
            self.page.hello(hello);
        }
        self.show(view);
    }

    fn show(&self, view: &mut View) {
        while let Some(unit) = view.poll_unit() {
            self.page.media(&unit);
        }
        while let Some(codec) = view.poll_not_played() {
            let text = format!("The stream has {codec}, which the page does not play.");
            self.page.event(event(Severity::Warning, EventKind::Note, text));
        }
    }

    fn on_event(&self, happened: &Event) {
        let mut state = self.state();
        let State { receiver: Some(receiver), view } = &mut *state else { return };
        match happened {
            Event::Connected(agreement) => {
                self.page.reconnected();
                if let Some(source) = &agreement.source {
                    view.begin(source);
                }
            }
            Event::SourceChanged(source) => view.begin(source),
            Event::Disconnected(Disconnect::Lost { reason }) => {
                self.page.reconnecting(Duration::ZERO, sentence(reason));
            }
            Event::Disconnected(Disconnect::Ended)
            | Event::Refused(_)
            | Event::TurnedAway { .. }
            | Event::Path(_)
            | Event::Writable
            | Event::RateChanged(_)
            | Event::Dropping(_)
            | Event::OutputBehind(_)
            | Event::MediaDue => {}
        }
        if let Some(hello) = receiver.with(|receiver, _| view.new_hello(receiver)) {
            self.page.hello(hello);
        }
        let (is_connected, paths) = receiver.with(|receiver, _| {
            let paths = receiver.stats().connection.map(|connection| connection.paths);
            (receiver.is_connected(), paths.unwrap_or_default())
        });
        if let Some(told) = in_words(happened, is_connected, &paths) {
            self.page.event(told);
        }
    }

    /// Whoever panicked left it whole: it only gathers.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An event in the words of the terminal.
fn in_words(happened: &Event, is_connected: bool, paths: &[PathReport]) -> Option<NewEvent> {
    if *happened == Event::Disconnected(Disconnect::Ended) {
        let text = "The sender has ended.".to_owned();
        return Some(event(Severity::Info, EventKind::PeerLost, text));
    }
    let (severity, text) = sentence_of(happened, Role::Receiver, is_connected, paths)?;
    let severity = match (severity, happened) {
        (_, Event::Path(PathEvent::StateChanged { to: PathState::Active, .. })) => Severity::Good,
        (_, Event::Path(PathEvent::StateChanged { to: PathState::Inactive, .. })) => Severity::Bad,
        (service::Severity::Info, _) => Severity::Info,
        (service::Severity::Warning, _) => Severity::Warning,
    };
    let (kind, path) = match happened {
        Event::Path(event) => {
            let (kind, path) = path_kind(event);
            (kind, Some(path))
        }
        Event::Connected(_) => (EventKind::PeerConnected, None),
        Event::Disconnected(_) => (EventKind::PeerLost, None),
        Event::Refused(_)
        | Event::TurnedAway { .. }
        | Event::SourceChanged(_)
        | Event::Writable
        | Event::RateChanged(_)
        | Event::Dropping(_)
        | Event::OutputBehind(_)
        | Event::MediaDue => (EventKind::Note, None),
    };
    let path = path.map(|path| path.0);
    Some(NewEvent { path, ..event(severity, kind, sentence(&text)) })
}

fn path_kind(event: &PathEvent) -> (EventKind, PathId) {
    match *event {
        PathEvent::StateChanged { path, to, .. } => {
            let kind = match to {
                PathState::Active => EventKind::PathActive,
                PathState::PotentiallyFailed => EventKind::PathPotentiallyFailed,
                PathState::Inactive => EventKind::PathFailed,
                PathState::Unconfirmed => EventKind::PathAdded,
            };
            (kind, path)
        }
        PathEvent::DataPathChanged { to, .. } => (EventKind::PrimaryChanged, to),
        PathEvent::Added { path, .. } => (EventKind::PathAdded, path),
        PathEvent::Removed { path, .. } => (EventKind::PathRemoved, path),
        PathEvent::Moved { path, .. } => (EventKind::Note, path),
    }
}

fn event(severity: Severity, kind: EventKind, text: String) -> NewEvent {
    NewEvent { severity, kind, path: None, text }
}

/// What stands on a line of its own in a terminal is a whole sentence on a page.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().collect::<String>());
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{}{}{end}", first.unwrap_or_default(), letters.as_str())
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::FourTuple;

    use super::*;

    #[test]
    fn lines_become_sentences() {
        assert_eq!(sentence("path 1 is back"), "Path 1 is back.");
        assert_eq!(sentence("The stream has ended."), "The stream has ended.");
        assert_eq!(sentence(""), ".");
    }

    #[test]
    fn a_path_that_failed_is_marked_on_its_graphs() {
        let failed = Event::Path(PathEvent::StateChanged {
            path: PathId(1),
            from: PathState::PotentiallyFailed,
            to: PathState::Inactive,
        });
        let told = in_words(&failed, true, &[]).unwrap();
        assert_eq!((told.kind, told.path), (EventKind::PathFailed, Some(1)));
        assert_eq!((told.severity, told.text.as_str()), (Severity::Bad, "Path 1 failed."));
        assert_eq!(in_words(&Event::MediaDue, true, &[]), None);
    }

    #[test]
    fn a_path_that_is_gone_is_named_by_where_it_led() {
        let tuple = FourTuple::new(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into());
        let last = Box::new(PathReport::new(PathId(1), tuple));
        let removed = Event::Path(PathEvent::Removed { path: PathId(1), last });
        let told = in_words(&removed, true, &[]).unwrap();
        assert_eq!((told.kind, told.path), (EventKind::PathRemoved, Some(1)));
        let text = "Path 1 (10.0.0.1:1 -> 10.0.0.2:2) made way for another one.";
        assert_eq!((told.severity, told.text.as_str()), (Severity::Info, text));
    }
}
