//! Single pictures of channels that a viewer does not watch: behind all else, and no faster than a
//! guide needs them.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_transport::{Connection, Outgoing, Reliability};
use bytes::Bytes;

use super::{Television, ViewerId};
use crate::channel::ChannelId;
use crate::protocol::{FromServer, PPID_BINARY, Still, StreamRole};

/// Between two messages of 4,000 bytes: half a megabit a second for each viewer.
const PACE: Duration = Duration::from_millis(64);

/// When something else waits, that is looked at again so soon: between two pictures of what is
/// watched there is room for a message.
const RETRY: Duration = Duration::from_millis(8);

/// A picture that has not left so long after it was asked for is not sent any further.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a message may be on its way.
const LIFETIME: Duration = Duration::from_secs(3);

/// What one viewer gets of them.
#[derive(Debug, Default)]
pub(super) struct Stills {
    /// What is left of the one that was asked for last.
    messages: VecDeque<Bytes>,
    /// Until when it is wanted.
    until: Time,
    /// When the next message may leave. It outlasts a picture: that is what bounds the rate.
    next_at: Time,
}

impl Stills {
    /// What is left of the last one is not sent.
    pub(super) fn stop(&mut self) {
        self.messages.clear();
    }

    /// When something is to be done.
    pub(super) fn next_timer(&self) -> Option<Time> {
        (!self.messages.is_empty()).then_some(self.next_at)
    }

    /// Sends the next message if its time has come and nothing else waits.
    pub(super) fn pump(&mut self, now: Time, is_idle: bool, connection: &mut dyn Connection) {
        if now >= self.until {
            self.messages.clear();
        }
        if now < self.next_at || self.messages.is_empty() {
            return;
        }
        if !is_idle || connection.queued() > 0 {
            self.next_at = now + RETRY;
            return;
        }
        self.next_at = now + PACE;
        let Some(payload) = self.messages.pop_front() else { return };
        let message = Outgoing {
            reliability: Reliability::Lifetime(LIFETIME),
            ..Outgoing::new(StreamRole::Still.stream(), PPID_BINARY, payload)
        };
        // There is room; so the viewer's stack has no such stream, or it is leaving.
        if connection.send(now, message).is_err() {
            self.messages.clear();
        }
    }

    fn begin(&mut self, now: Time, messages: VecDeque<Bytes>) {
        self.messages = messages;
        self.until = now + PATIENCE;
        self.next_at = self.next_at.max(now);
    }
}

impl Television {
    /// Sends the last key picture of a channel, and no other one any more.
    pub(super) fn send_still(&mut self, now: Time, id: ViewerId, channel: ChannelId) {
        let wanted = self.channels.get(&channel).filter(|_| self.may_watch(id, channel));
        let still = wanted.and_then(|it| Some((it.still()?, it.description().video?)));
        let (picture, video) = still.unzip();
        let (session, frame) = picture.as_ref().map_or((0, 0), |it| (it.session, it.frame));
        let answer = Still { channel, session, frame, video };
        self.with_session(id, |session| {
            session.say(StreamRole::Still, &FromServer::Still(answer));
            let messages = picture.map(|picture| picture.messages).unwrap_or_default();
            session.stills.begin(now, messages);
        });
    }
}
