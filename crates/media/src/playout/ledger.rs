//! Which pieces did not come, by class: each piece has a number in its track and class.

use std::collections::BTreeMap;

use crate::piece::Header;
use crate::{Class, PerClass, Track};

/// Tracks and classes that are followed. Above it, losses of further ones are not told by class.
const MAX_ACCOUNTS: usize = 1024;

/// The pieces of one track and class.
#[derive(Debug)]
struct Account {
    first: u64,
    last: u64,
    arrived: u64,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    accounts: BTreeMap<(Track, Class), Account>,
    /// Of the sessions before.
    missing: PerClass<u64>,
}

impl Ledger {
    pub(super) fn begin_session(&mut self) {
        self.missing = self.missing();
        self.accounts.clear();
    }

    pub(super) fn on_piece(&mut self, header: &Header) {
        let key = (header.track, header.class);
        if self.accounts.len() >= MAX_ACCOUNTS && !self.accounts.contains_key(&key) {
            return;
        }
        let sequence = header.sequence;
        let account = self.accounts.entry(key).or_insert(Account {
            first: sequence,
            last: sequence,
            arrived: 0,
        });
        account.first = account.first.min(sequence);
        account.last = account.last.max(sequence);
        account.arrived += 1;
    }

    pub(super) fn missing(&self) -> PerClass<u64> {
        let mut missing = self.missing;
        for ((_, class), account) in &self.accounts {
            let expected = (account.last - account.first).saturating_add(1);
            *missing.of_mut(*class) += expected.saturating_sub(account.arrived);
        }
        missing
    }
}
