//! [`Hub`]: what all pages see, and the pages that see it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anabranch_driver::Clock;
use anabranch_media::decoding::AccessUnit;
use anabranch_television::protocol::{ChannelEntry, Urgent};
use tokio::sync::{Notify, watch};

use super::check::{self, RequestError};
use super::guide::Guide;
use super::protocol::{Event, Hello, NewEvent, ProgramMessage, Request, Stats, Treatments, Tuned};
use super::queue::{Farewell, Outgoing, PageQueue};
use super::{PAGES_MAX, PageId};

/// Events that a page gets which comes later.
const EVENTS_KEPT: usize = 50;

/// What all pages see, and the pages that see it.
#[derive(Debug)]
pub(super) struct Hub {
    state: Mutex<State>,
    /// How many pages there are.
    pages: watch::Sender<usize>,
}

#[derive(Debug)]
struct State {
    clock: Clock,
    hello: Hello,
    /// The paths there are, as of the last statistics.
    paths: Vec<u32>,
    events: VecDeque<Event>,
    next_event: u64,
    treatments: Option<Treatments>,
    guide: Guide,
    /// The last [`ProgramMessage::Reconnecting`] or [`ProgramMessage::Finished`], as long as it is
    /// true.
    interruption: Option<ProgramMessage>,
    ended: Option<String>,
    members: BTreeMap<PageId, (PageQueue, Arc<Notify>)>,
    next_page: u64,
}

impl Hub {
    pub(super) fn new(clock: Clock, hello: Hello) -> Self {
        let state = State {
            clock,
            paths: path_ids(&hello),
            hello,
            events: VecDeque::new(),
            next_event: 1,
            treatments: None,
            guide: Guide::default(),
            interruption: None,
            ended: None,
            members: BTreeMap::new(),
            next_page: 1,
        };
        Self { state: Mutex::new(state), pages: watch::Sender::new(0) }
    }

    pub(super) fn set_clock(&self, clock: Clock) {
        self.state().clock = clock;
    }

    pub(super) fn set_hello(&self, hello: Hello) {
        let mut state = self.state();
        state.paths = path_ids(&hello);
        state.hello = hello;
        state.interruption = None;
        let hello = state.hello_text();
        let events = state.event_texts();
        let treatments = state.treatments_text();
        state.for_each(|queue| {
            queue.push_hello(hello.clone());
            events.iter().for_each(|text| queue.push_text(text.clone()));
            treatments.iter().for_each(|text| queue.push_text(text.clone()));
        });
    }

    pub(super) fn forget_events(&self) {
        self.state().events.clear();
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut Hello)) {
        change(&mut self.state().hello);
    }

    pub(super) fn stats(&self, mut stats: Stats) {
        let mut state = self.state();
        state.paths = stats.paths.iter().map(|path| path.info.id).collect();
        stats.now_us = state.now_us();
        let text = ProgramMessage::Stats(Box::new(stats)).to_json();
        state.for_each(|queue| queue.push_stats(text.clone()));
    }

    pub(super) fn event(&self, what: NewEvent) {
        let mut state = self.state();
        let event = Event { id: state.next_event, at_us: state.now_us(), what };
        state.next_event += 1;
        if state.events.len() == EVENTS_KEPT {
            state.events.pop_front();
        }
        state.events.push_back(event.clone());
        let text = ProgramMessage::Event(event).to_json();
        state.for_each(|queue| queue.push_text(text.clone()));
    }

    pub(super) fn treatments(&self, treatments: Treatments) {
        let mut state = self.state();
        state.treatments = Some(treatments);
        let text = state.treatments_text().unwrap_or_default();
        state.for_each(|queue| queue.push_text(text.clone()));
    }

    pub(super) fn channels(&self, channels: Vec<ChannelEntry>) {
        let mut state = self.state();
        let text = state.guide.set_channels(channels);
        state.for_each(|queue| queue.push_channels(text.clone()));
    }

    pub(super) fn tuned(&self, tuned: Tuned) {
        self.guide(|guide| vec![guide.set_tuned(tuned)]);
    }

    pub(super) fn urgent(&self, urgent: Urgent) {
        self.guide(|guide| guide.add_urgent(urgent));
    }

    pub(super) fn end_urgent(&self, id: Option<u32>) {
        self.guide(|guide| guide.end_urgent(id));
    }

    fn guide(&self, change: impl FnOnce(&mut Guide) -> Vec<String>) {
        let mut state = self.state();
        let texts = change(&mut state.guide);
        state.for_each(|queue| texts.iter().for_each(|text| queue.push_text(text.clone())));
    }

    pub(super) fn reconnecting(&self, in_s: f64, why: String) {
        self.interrupt(ProgramMessage::Reconnecting { in_s, why });
    }

    pub(super) fn finished(&self, text: String) {
        self.interrupt(ProgramMessage::Finished { text });
    }

    fn interrupt(&self, by: ProgramMessage) {
        let text = by.to_json();
        let mut state = self.state();
        state.interruption = Some(by);
        state.for_each(|queue| queue.push_text(text.clone()));
    }

    pub(super) fn reconnected(&self) {
        self.state().interruption = None;
    }

    pub(super) fn media(&self, unit: &AccessUnit) {
        let mut state = self.state();
        let now = state.clock.now();
        state.for_each(|queue| queue.push_media(now, unit));
    }

    pub(super) fn refuse(&self, page: PageId, request: Option<String>, text: String) {
        let text = ProgramMessage::Error { request, text }.to_json();
        self.state().for_one(page, |queue| queue.push_text(text));
    }

    pub(super) fn end(&self, text: String) {
        let text = ProgramMessage::Ended { text }.to_json();
        let mut state = self.state();
        state.ended = Some(text.clone());
        state.for_each(|queue| queue.end(text.clone()));
    }

    pub(super) fn check(&self, request: &Request) -> Result<(), RequestError> {
        let state = self.state();
        let is_finished = matches!(state.interruption, Some(ProgramMessage::Finished { .. }));
        if matches!(request, Request::Restart) && !is_finished {
            return Err(RequestError::NotFinished);
        }
        check::check(request, &state.hello, &state.paths)
    }

    /// How many pages there are, to be waited for.
    pub(super) fn pages(&self) -> watch::Receiver<usize> {
        self.pages.subscribe()
    }

    /// One more page, if there is room for it.
    pub(super) fn join(self: &Arc<Self>) -> Option<Member> {
        let mut state = self.state();
        if state.members.len() >= PAGES_MAX {
            return None;
        }
        let id = PageId(state.next_page);
        state.next_page += 1;
        let mut queue = PageQueue::new(state.hello_text());
        state.event_texts().into_iter().for_each(|text| queue.push_text(text));
        state.guide.channels_text().into_iter().for_each(|text| queue.push_channels(text));
        state.guide.texts().into_iter().for_each(|text| queue.push_text(text));
        let texts = [state.treatments_text(), state.interruption_text()];
        texts.into_iter().flatten().for_each(|text| queue.push_text(text));
        if let Some(ended) = &state.ended {
            queue.end(ended.clone());
        }
        let more = Arc::new(Notify::new());
        state.members.insert(id, (queue, Arc::clone(&more)));
        self.pages.send_replace(state.members.len());
        Some(Member { hub: Arc::clone(self), id, more })
    }

    /// Whoever panicked left it whole: every change is a few assignments.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn for_each(&mut self, mut change: impl FnMut(&mut PageQueue)) {
        for (queue, more) in self.members.values_mut() {
            change(queue);
            more.notify_one();
        }
    }

    fn for_one(&mut self, page: PageId, change: impl FnOnce(&mut PageQueue)) {
        if let Some((queue, more)) = self.members.get_mut(&page) {
            change(queue);
            more.notify_one();
        }
    }

    fn hello_text(&self) -> String {
        let hello = Hello { now_us: self.now_us(), ..self.hello.clone() };
        ProgramMessage::Hello(Box::new(hello)).to_json()
    }

    fn pop(&mut self, page: PageId) -> Option<Outgoing> {
        let now = self.clock.now();
        self.members.get_mut(&page).and_then(|(queue, _)| queue.pop(now))
    }

    fn now_us(&self) -> u64 {
        self.clock.now().as_micros()
    }

    fn event_texts(&self) -> Vec<String> {
        self.events.iter().map(|event| ProgramMessage::Event(event.clone()).to_json()).collect()
    }

    fn interruption_text(&self) -> Option<String> {
        self.interruption.as_ref().map(ProgramMessage::to_json)
    }

    fn treatments_text(&self) -> Option<String> {
        let treatments = self.treatments.clone().filter(|_| !self.hello.classes.is_empty())?;
        Some(ProgramMessage::Treatments(treatments).to_json())
    }
}

fn path_ids(hello: &Hello) -> Vec<u32> {
    hello.paths.iter().map(|path| path.id).collect()
}

/// A page's place among the others; it leaves when this is dropped.
#[derive(Debug)]
pub(super) struct Member {
    hub: Arc<Hub>,
    id: PageId,
    more: Arc<Notify>,
}

impl Member {
    pub(super) const fn id(&self) -> PageId {
        self.id
    }

    pub(super) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// What is to be sent next.
    pub(super) async fn next(&self) -> Outgoing {
        loop {
            let next = self.hub.state().pop(self.id);
            match next {
                Some(next) => return next,
                None => self.more.notified().await,
            }
        }
    }

    pub(super) fn give_up(&self, why: Farewell) {
        self.hub.state().for_one(self.id, |queue| queue.give_up(why));
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut state = self.hub.state();
        state.members.remove(&self.id);
        self.hub.pages.send_replace(state.members.len());
    }
}
