//! Waiting for what is late, where nothing is ever given up by the sender.

use super::{Playout, Released};

/// What a playout does about what is missing at its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Patience {
    /// Gives it up when something after it is due.
    #[default]
    UntilDue,
    /// Waits for it, and what comes after it waits, too. For senders that retransmit everything
    /// until it is delivered. Should the memory run out, the patience does too.
    UntilComplete,
}

impl Playout {
    /// Tells which session comes next and the position that its sender begins at: what is missing
    /// from there on was lost. In the session that runs already, what is missing before `position`
    /// is no longer waited for.
    ///
    /// Invalidates the answers of all polls. What waits of another session is dropped: take it with
    /// [`poll_rest`](Self::poll_rest) before.
    pub fn begin(&mut self, session: u16, position: u64) {
        if self.session != Some(session) {
            self.begin_session(session);
            self.cursor = Some(position);
        }
        self.floor = position;
    }

    /// Changes what is done about what is missing.
    ///
    /// Invalidates the answers of all polls.
    pub const fn set_patience(&mut self, patience: Patience) {
        self.config.patience = patience;
    }

    /// The next items, due or not, whatever is missing before them: the source has ended.
    ///
    /// Invalidates the answers of all polls.
    #[must_use]
    pub fn poll_rest(&mut self) -> Option<Released> {
        let head = self.queue.first()?;
        let (due, count) = (self.due(&head.run, 0), head.run.count);
        let segment = self.queue.pop_first(count)?;
        Some(self.release(segment, due))
    }

    /// The source ended before item `end`, and no more comes: what lies between the last item that
    /// was released and that one is given up. How many items these are; none while some wait.
    pub fn end_at(&mut self, end: u64) -> u64 {
        if !self.is_empty() {
            return 0;
        }
        let next = self.cursor.map_or(self.floor, |cursor| cursor.max(self.floor));
        let skipped = end.saturating_sub(next);
        self.cursor = Some(next + skipped);
        self.stats.skipped_items += skipped;
        skipped
    }

    /// Whether the items that wait must wait for one that is missing.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        let Some(head) = self.queue.first() else { return false };
        let waited_for = self.cursor.map(|cursor| cursor.max(self.floor));
        self.is_patient() && waited_for.is_some_and(|position| head.run.position > position)
    }

    pub(super) const fn is_patient(&self) -> bool {
        matches!(self.config.patience, Patience::UntilComplete)
    }

    /// What was dropped for want of memory will not come again.
    pub(super) fn lose_patience_if(&mut self, dropped: bool) {
        if dropped {
            self.config.patience = Patience::UntilDue;
        }
    }
}
