//! What `anabranch send` brings: over several links, in time, as `anabranch recv` takes it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use anabranch_driver::{Clock, Handle, Recording};
use anabranch_media::cutter::UnitJoiner;
use anabranch_media::piece::Format;
use anabranch_media::playout::Released;
use anabranch_sansio::Time;
use anabranch_session::{Disconnect, Event, Receiver, SourceFormat};
use tokio::sync::mpsc;

use super::player::Player;
use super::{Listener, SourceEvent};
use crate::input::{Batch, Feed, Item, Media, PacketCutter, Reading, Timing};
use crate::input::{InputError, InputOptions};
use crate::recv::{RecvOptions, Tap, recv};
use crate::service::{Retries, Retry, StopHandle, Update, Wait};
use crate::url::SessionUrl;

/// Senders that came while the one before was still being played.
const FEEDS_MAX: usize = 4;

/// Batches that wait to be played, of some packets each; more are dropped.
const BATCHES_MAX: usize = 1_024;

/// Receives for ever, from one sender after the other.
pub(super) async fn receive<L: Listener>(
    url: &SessionUrl,
    program: Option<u16>,
    clock: Clock,
    listener: &mut L,
) {
    let mut retry = Retry::new(Retries::Unlimited);
    let shared = Mutex::new(listener);
    loop {
        let (feeds, coming) = mpsc::channel(FEEDS_MAX);
        let desk = Desk { feeds, program, clock, open: None };
        let options = RecvOptions {
            url: url.clone(),
            output: None,
            keep: true,
            retries: Retries::Unlimited,
            tap: Some(Box::new(desk)),
            recording: Recording::default(),
        };
        let mut tell = |update: Update<'_>| match update {
            Update::Line { text, .. } => {
                Shared(&shared).tell(SourceEvent::Note(text.to_owned()));
            }
            Update::Stats { snapshot, .. } => {
                let association = snapshot.association.as_ref();
                let levels = association.map(|it| it.levels.clone()).unwrap_or_default();
                Shared(&shared).tell(SourceEvent::Levels(levels));
            }
            Update::Countdown { .. } | Update::Watching { .. } | Update::Rate(_) => {}
        };
        // It ends with the task.
        let (_stop_handle, stop) = StopHandle::new();
        let playing = play_all(coming, clock, Shared(&shared));
        let (received, ()) = tokio::join!(recv(options, stop, &mut tell), playing);
        let reason = match received {
            Ok(_) => "the receiver has ended".to_owned(),
            Err(error) => error.to_string(),
        };
        Shared(&shared).tell(SourceEvent::Lost(reason.clone()));
        retry.on_failure(reason);
        while retry.wait().await != Wait::Over {}
    }
}

/// Plays one sender's media after the other's.
async fn play_all<L: Listener>(
    mut coming: mpsc::Receiver<Feed>,
    clock: Clock,
    mut listener: Shared<'_, '_, L>,
) {
    while let Some(feed) = coming.recv().await {
        let ending = Player::new(clock, &mut listener).play(feed).await;
        let reason =
            ending.error.map_or_else(|| "the sender has ended".to_owned(), |it| it.to_string());
        listener.tell(SourceEvent::Lost(reason));
    }
}

/// A listener whom the receiver and the player tell.
struct Shared<'a, 'b, L>(&'a Mutex<&'b mut L>);

impl<L: Listener> Listener for Shared<'_, '_, L> {
    fn tell(&mut self, event: SourceEvent) {
        // What a listener keeps stays sound even if someone panicked while telling it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).tell(event);
    }
}

/// Takes what the receiver hands on, and makes a feed of what each sender brings.
struct Desk {
    feeds: mpsc::Sender<Feed>,
    program: Option<u16>,
    clock: Clock,
    open: Option<Open>,
}

/// A sender's media.
struct Open {
    batches: mpsc::Sender<Batch>,
    media: Parts,
}

/// Puts together what was cut to be sent.
enum Parts {
    Packets(Box<PacketCutter>),
    Units(UnitJoiner),
}

impl Desk {
    /// A sender said what it sends.
    fn begin(&mut self, format: &SourceFormat) {
        self.open = None;
        let media = match format {
            SourceFormat::MpegTs => {
                let options = InputOptions { program: self.program, ..InputOptions::default() };
                let name = "the sender's media".to_owned();
                match PacketCutter::new(name, options, Timing::Arrival, self.clock) {
                    Ok(cutter) => Parts::Packets(Box::new(cutter)),
                    Err(error) => return tracing::warn!(%error, "a sender's media is left out"),
                }
            }
            SourceFormat::Clip(_) => Parts::Units(UnitJoiner::new()),
        };
        let (batches, waiting) = mpsc::channel(BATCHES_MAX);
        let feed = Feed::of_session(format.clone(), waiting);
        if self.feeds.try_send(feed).is_err() {
            return tracing::warn!("senders come and go faster than they are played");
        }
        self.open = Some(Open { batches, media });
    }

    fn end(&mut self, how: &Disconnect) {
        let Some(open) = self.open.take() else { return };
        if let Disconnect::Lost { reason } = how {
            let name = "the sender".to_owned();
            open.hand_on(Err(InputError::Broken { name, message: reason.clone() }));
        }
    }
}

impl Tap for Desk {
    fn start(&mut self, _: &Handle<Receiver>) {}

    fn on_event(&mut self, _: Time, event: &Event) {
        match event {
            Event::Connected(agreement) => {
                let format = agreement.source.as_ref().map(|source| &source.format);
                format.into_iter().for_each(|format| self.begin(format));
            }
            Event::SourceChanged(source) => self.begin(&source.format),
            Event::Disconnected(how) => self.end(how),
            Event::Refused(_)
            | Event::TurnedAway { .. }
            | Event::Path(_)
            | Event::Writable
            | Event::MediaDue
            | Event::RateChanged(_)
            | Event::Dropping(_)
            | Event::OutputBehind(_) => {}
        }
    }

    fn on_media(&mut self, _: Time, released: &Released) {
        if let Some(open) = &mut self.open {
            open.take(released);
        }
    }

    fn on_countdown(&mut self, _: u64, _: &str) {}

    fn end(&mut self, _: &str) {
        self.open = None;
    }
}

impl Open {
    fn take(&mut self, released: &Released) {
        let mut batches = VecDeque::new();
        match (&mut self.media, released.format()) {
            (Parts::Packets(cutter), Format::MpegTs) => {
                let pushed = cutter.push(&released.bytes);
                let items = std::iter::from_fn(|| cutter.take_batch());
                batches.extend(items.map(|items| Ok(Reading::Items(items))));
                batches.extend(pushed.err().map(Err));
            }
            (Parts::Units(joiner), Format::Unit) => {
                if let Some(unit) = joiner.push(released) {
                    let item = Item { at: unit.at, media: Media::Unit(unit) };
                    batches.push_back(Ok(Reading::Items(vec![item])));
                }
            }
            (Parts::Packets(_), Format::Unit) | (Parts::Units(_), Format::MpegTs) => {}
        }
        batches.into_iter().for_each(|batch| self.hand_on(batch));
    }

    fn hand_on(&self, batch: Batch) {
        if self.batches.try_send(batch).is_err() {
            tracing::debug!("what a sender brought is not played fast enough");
        }
    }
}
