//! Messages about keys, the first of which come in the open: what else came there is forgotten.

use std::collections::BTreeMap;

use super::reassembly::{Complete, Reassembly};
use super::{IncomingMessage, Receiver};
use crate::dtls::{KEY_MANAGEMENT_PPID, KEY_MANAGEMENT_STREAM};

/// Messages about keys among those that arrive.
#[derive(Debug, Default)]
pub(super) struct KeyMessages {
    /// Whether they are none of the user's.
    are_expected: bool,
    /// Whole ones that were not taken yet.
    whole: usize,
    /// Those of the first handshake.
    first: FirstMessages,
}

/// Where the messages of the first handshake end: the first ones of their stream.
#[derive(Debug, Default)]
struct FirstMessages {
    /// The last TSN of each that is whole and was not taken, by its place in the stream.
    ends: BTreeMap<u32, u64>,
    /// How many were taken.
    taken: u32,
    /// The last TSN of the last one that was.
    through: u64,
    is_over: bool,
}

impl KeyMessages {
    /// Notes a whole message.
    pub(super) fn note(&mut self, message: &Complete) {
        if !self.are_expected || !is_about_keys(message) {
            return;
        }
        self.whole += 1;
        if let Some(span) = message.span.filter(|_| !self.first.is_over) {
            self.first.ends.entry(message.mid.0).or_insert(span.last);
        }
    }
}

impl FirstMessages {
    fn take(&mut self) {
        let end = self.ends.remove(&self.taken);
        self.taken = self.taken.wrapping_add(1);
        self.through = self.through.max(end.unwrap_or(0));
    }
}

impl Receiver {
    /// From here on messages about keys are not the user's.
    pub(crate) const fn expect_keys(&mut self) {
        self.key_messages.are_expected = true;
        self.key_messages.first.through = self.tracker.cumulative();
    }

    /// The next message about keys whose turn has come.
    pub(crate) fn pop_about_keys(&mut self) -> Option<IncomingMessage> {
        let messages = &mut self.key_messages;
        messages.whole = messages.whole.checked_sub(1)?;
        let message = self.delivery.take_about_keys();
        if message.is_some() {
            messages.first.take();
        } else {
            messages.whole += 1;
        }
        message
    }

    /// From here on nothing is taken in the open. What arrived behind the last message about keys
    /// that was taken is not the peer's, which had nothing to say there: it would stand in the
    /// place of what the peer says under seal, and might be put together with that.
    pub(crate) fn leave_the_open(&mut self) {
        let messages = &mut self.key_messages;
        messages.whole = 0;
        messages.first.ends.clear();
        self.tracker.roll_back(messages.first.through);
        self.reassembly = Reassembly::default();
        self.delivery.forget_about_keys();
    }

    /// The first handshake about keys is over. Returns whether nothing is missing in front of its
    /// last message. If so, somebody gave the peer's first chunks other numbers.
    pub(crate) fn end_first_keys(&mut self) -> bool {
        let first = &mut self.key_messages.first;
        first.is_over = true;
        first.ends.clear();
        first.through <= self.tracker.cumulative()
    }
}

pub(super) fn is_about_keys(message: &Complete) -> bool {
    message.stream == KEY_MANAGEMENT_STREAM && message.ppid == KEY_MANAGEMENT_PPID
}
