//! What the server reports, and what becomes of it.

use std::time::Duration;

use anabranch_television::ViewerEvent;
use anabranch_television::channel::ChannelId;
use anabranch_television::protocol::{ChannelEntry, Description, Programme, Urgent};

use super::{Run, UNSEEN_MAX};
use crate::page::protocol::TunedState;
use crate::service::{ServiceError, Severity, Update};
use crate::url::Choice;
use crate::watch::WatchPage;
use crate::watch::titles::urgent;

impl Run<'_, '_> {
    pub(super) fn on_event(&mut self, event: ViewerEvent) -> Result<(), ServiceError> {
        match event {
            ViewerEvent::Welcome { program, now: at, budget, channels } => {
                let now = self.line.handle().clock().now();
                self.playout.connect(now, at, budget);
                self.on_welcome(&program, budget, channels);
            }
            ViewerEvent::Channels(channels) => self.on_channels(channels),
            ViewerEvent::Description(description) => self.begin(&description),
            ViewerEvent::OffAir { channel, text } => self.on_off_air(channel, &text),
            ViewerEvent::Programme { channel, programme } => self.on_programme(channel, programme),
            ViewerEvent::Unit(unit) => {
                let now = self.line.handle().clock().now();
                self.playout.push(now, unit);
            }
            ViewerEvent::Urgent(message) => self.on_urgent(&message),
            ViewerEvent::Over { id } => {
                self.unseen.remove(&id);
                self.say(Severity::Info, &format!("urgent message {id} holds no more"));
                self.on_page(|page| page.end_urgent(Some(id)));
            }
            // Only a guide with pictures asks for them.
            ViewerEvent::Still { .. } => {}
            ViewerEvent::Guidance(text) => self.say(Severity::Info, &text),
            ViewerEvent::Error(text) => self.say(Severity::Warning, &text),
            ViewerEvent::Bye(text) => self.goodbye = Some(text),
        }
        Ok(())
    }

    fn on_welcome(&mut self, program: &str, budget: Duration, channels: Vec<ChannelEntry>) {
        self.was_welcome = true;
        self.retry.on_success();
        if let Some((severity, text)) = self.line.on_welcome() {
            self.say(severity, &text);
        }
        self.set_channels(channels);
        if self.only_list {
            let now = self.line.handle().clock().now();
            return self.leave(now);
        }
        let count = self.channels.len();
        let text = format!("{program} has {count} channels");
        if let Some(page) = &mut self.page {
            page.set_budget(budget);
            page.connected(&text);
        }
        (self.observer)(Update::Line { severity: Severity::Info, text: &text });
        if let Some(Err(error)) = self.wanted.as_ref().map(|choice| choice.find(&self.channels))
            && !self.channels.is_empty()
        {
            self.say(Severity::Warning, &error.to_string());
        }
        self.begin_to_watch();
    }

    /// Watches what the user wants, or else the first channel, as soon as it is there.
    fn begin_to_watch(&mut self) {
        let found = match &self.wanted {
            Some(choice) => choice.find(&self.channels).ok(),
            None => Choice::first(&self.channels),
        };
        let id = found.map(|entry| entry.id);
        id.into_iter().for_each(|id| self.tune(id));
    }

    fn on_channels(&mut self, channels: Vec<ChannelEntry>) {
        self.set_channels(channels);
        let is_idle = self.line.handle().with(|viewer, _| viewer.viewer().channel().is_none());
        if is_idle && !self.only_list {
            self.begin_to_watch();
        }
    }

    fn set_channels(&mut self, channels: Vec<ChannelEntry>) {
        self.channels = channels;
        self.on_page(|page| page.set_channels(&self.channels));
    }

    fn on_off_air(&mut self, id: ChannelId, text: &str) {
        let words = format!("{} is off air: {text}", self.name(id));
        self.say(Severity::Warning, &words);
        self.tell_tuned(id, TunedState::OffAir, Some(text));
    }

    fn on_programme(&mut self, id: ChannelId, programme: Programme) {
        if let Some(now) = &programme.now {
            let text = format!("now on {}: {now}", self.name(id));
            self.say(Severity::Info, &text);
        }
        if let Some(entry) = self.channels.iter_mut().find(|entry| entry.id == id) {
            entry.programme = programme;
        }
        self.on_page(|page| page.set_channels(&self.channels));
    }

    /// It counts as seen when a page has it on the screen, or at once where it is only printed.
    fn on_urgent(&mut self, message: &Urgent) {
        self.say(Severity::Warning, &urgent(message));
        self.on_page(|page| page.urgent(message));
        if self.page.as_ref().is_some_and(WatchPage::is_open) {
            self.unseen.insert(message.id);
            if self.unseen.len() > UNSEEN_MAX {
                self.unseen.pop_first();
            }
        } else {
            self.act(|viewer, _| viewer.seen(message.id));
        }
    }

    fn begin(&mut self, description: &Description) {
        self.playout.begin(description.video.is_some());
        let network = self.network();
        let (title, counts) = (self.name(description.channel), self.playout.counts());
        if let Some(page) = &mut self.page {
            page.begin(title, description, network.as_ref(), counts);
        }
        self.tell_tuned(description.channel, TunedState::OnAir, None);
    }
}
