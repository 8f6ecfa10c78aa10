//! [`Board`]: the urgent messages that hold.

use super::session::Session;
use super::{Television, ViewerId};
use crate::channel::ChannelId;
use crate::protocol::{FromServer, StreamRole, TEXT_CHARS_MAX, Urgent, UrgentLevel};

/// Urgent messages that may hold at once; the oldest make way.
const NOTICES_MAX: usize = 16;

/// The urgent messages that hold, oldest first.
#[derive(Debug, Default)]
pub(super) struct Board {
    notices: Vec<Notice>,
    next_id: u32,
}

#[derive(Debug, Clone)]
struct Notice {
    urgent: Urgent,
    /// Only for who watches this.
    channel: Option<ChannelId>,
}

/// An urgent message that holds, as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrgentReport {
    /// What is shown.
    pub urgent: Urgent,
    /// Only to who watches this.
    pub channel: Option<ChannelId>,
    /// Viewers who were told.
    pub told: usize,
    /// Those of them who have shown it.
    pub seen: usize,
}

impl Board {
    pub(super) fn holds(&self, id: u32) -> bool {
        self.notices.iter().any(|notice| notice.urgent.id == id)
    }
}

impl Television {
    /// Shows a message to all viewers, or to those of one channel, and to who comes later, until
    /// [`end_urgent`](Self::end_urgent). Returns its number.
    pub fn urgent(&mut self, level: UrgentLevel, text: &str, channel: Option<ChannelId>) -> u32 {
        self.board.next_id += 1;
        let id = self.board.next_id;
        let text = text.chars().take(TEXT_CHARS_MAX).collect();
        let notice = Notice { urgent: Urgent { id, level, text }, channel };
        if self.board.notices.len() >= NOTICES_MAX {
            let oldest = self.board.notices[0].urgent.id;
            self.end_urgent(oldest);
        }
        self.board.notices.push(notice.clone());
        for viewer in self.viewers.keys().copied().collect::<Vec<_>>() {
            self.show(viewer, &notice);
        }
        id
    }

    /// An urgent message holds no more.
    pub fn end_urgent(&mut self, id: u32) {
        let before = self.board.notices.len();
        self.board.notices.retain(|notice| notice.urgent.id != id);
        if self.board.notices.len() == before {
            return;
        }
        for viewer in self.viewers.keys().copied().collect::<Vec<_>>() {
            self.with_session(viewer, |session| {
                session.seen.remove(&id);
                if session.told.remove(&id) {
                    session.say(StreamRole::Urgent, &FromServer::Over { id });
                }
            });
        }
    }

    /// The urgent messages that hold, oldest first.
    pub fn urgent_messages(&self) -> impl Iterator<Item = UrgentReport> + '_ {
        self.board.notices.iter().map(|Notice { urgent, channel }| UrgentReport {
            urgent: urgent.clone(),
            channel: *channel,
            told: self.viewers.values().filter(|it| it.told.contains(&urgent.id)).count(),
            seen: self.seen(urgent.id),
        })
    }

    /// Viewers who have shown an urgent message.
    #[must_use]
    pub fn seen(&self, id: u32) -> usize {
        self.viewers.values().filter(|session| session.seen.contains(&id)).count()
    }

    /// A viewer has just come, or changed the channel: shows what holds and it was not told.
    pub(super) fn catch_up_on_urgent(&mut self, viewer: ViewerId) {
        for notice in self.board.notices.clone() {
            self.show(viewer, &notice);
        }
    }

    fn show(&mut self, viewer: ViewerId, notice: &Notice) {
        self.with_session(viewer, |session| {
            let is_news = concerns(session, notice) && session.admission().is_some();
            if is_news && session.told.insert(notice.urgent.id) {
                session.say(StreamRole::Urgent, &FromServer::Urgent(notice.urgent.clone()));
            }
        });
    }
}

fn concerns(session: &Session, notice: &Notice) -> bool {
    notice.channel.is_none() || notice.channel == session.channel()
}
