//! [`Flight`]: what was sent on one connection and not yet answered.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::Time;

use super::frame::Fragment;
use crate::StreamId;

/// Later datagrams that must have arrived before one counts as lost, as RFC 9002 section 6.1.1 has
/// it.
const LATER_MIN: u64 = 3;

/// What a datagram was.
#[derive(Debug, Clone)]
pub(super) enum Sent {
    Ping,
    Query,
    /// Sent until it is acknowledged.
    Repeated(Fragment),
    /// A part of a message that is sent once: of which stream and message, and its bytes.
    Once {
        stream: StreamId,
        message: u64,
        len: usize,
    },
    /// What was sent again elsewhere meanwhile.
    Copied {
        len: usize,
    },
    /// That this path was closed.
    Closed(u16),
    Bye,
}

impl Sent {
    /// Whether it was part of a message.
    pub(super) const fn is_data(&self) -> bool {
        matches!(self, Self::Repeated(_) | Self::Once { .. } | Self::Copied { .. })
    }

    pub(super) const fn len(&self) -> usize {
        match self {
            Self::Ping | Self::Query | Self::Closed(_) | Self::Bye => 0,
            Self::Repeated(fragment) => fragment.payload.len(),
            Self::Once { len, .. } | Self::Copied { len } => *len,
        }
    }
}

#[derive(Debug)]
struct Entry {
    at: Time,
    sent: Option<Sent>,
}

/// Datagrams of one connection, numbered from 0, of which nothing is known yet.
#[derive(Debug, Default)]
pub(super) struct Flight {
    /// The number of the first entry.
    first: u64,
    entries: VecDeque<Entry>,
    bytes: usize,
    /// Entries that are not answered.
    open: usize,
    /// When the newest datagram was sent that has arrived, and its number.
    newest: Option<(Time, u64)>,
}

/// What an acknowledgement answers.
#[derive(Debug, Default)]
pub(super) struct Answered {
    pub(super) arrived: Vec<Sent>,
    /// When the greatest number was sent, if it is answered for the first time.
    pub(super) greatest_sent_at: Option<Time>,
}

impl Flight {
    /// The number of the next datagram.
    pub(super) fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    pub(super) fn push(&mut self, now: Time, sent: Sent) {
        self.bytes += sent.len();
        self.open += 1;
        self.entries.push_back(Entry { at: now, sent: Some(sent) });
    }

    /// When the last datagram was sent, while some are not answered.
    pub(super) fn last_sent_at(&self) -> Option<Time> {
        self.entries.back().map(|entry| entry.at)
    }

    /// Payload bytes under way.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing but questions is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.entries.iter().all(|entry| !matches!(&entry.sent, Some(sent) if !is_ping(sent)))
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.open == 0
    }

    /// These numbers have arrived.
    pub(super) fn on_acks(&mut self, ranges: &[(u64, u64)]) -> Answered {
        let mut answered = Answered::default();
        let greatest = ranges.first().map(|(_, last)| *last);
        for (first, last) in ranges {
            let (first, next) = ((*first).max(self.first), self.next());
            for number in first..(*last).saturating_add(1).min(next) {
                let Some(at) = self.sent_at(number) else { break };
                let Some(sent) = self.take(number) else { continue };
                answered.arrived.push(sent);
                if Some(number) == greatest {
                    answered.greatest_sent_at = Some(at);
                }
                self.newest = self.newest.max(Some((at, number)));
            }
        }
        self.forget_answered();
        answered
    }

    /// What did not arrive though several later ones did, sent more than `window` before them; or
    /// though one did that was sent more than `timeout` later.
    pub(super) fn take_lost(&mut self, window: Duration, timeout: Duration) -> Vec<Sent> {
        let Some((newest_at, newest)) = self.newest else { return Vec::new() };
        let is_lost = |number: u64, entry: &Entry| {
            let is_overtaken = number + LATER_MIN <= newest && entry.at + window <= newest_at;
            is_overtaken || entry.at + timeout <= newest_at
        };
        let mut lost = Vec::new();
        let last = newest.min(self.next());
        for number in self.first..last {
            let Some(entry) = self.entry(number) else { break };
            if !is_lost(number, entry) {
                // Those behind were sent later.
                break;
            }
            lost.extend(self.take(number));
        }
        self.forget_answered();
        lost
    }

    /// Gives up all that is under way.
    pub(super) fn take_all(&mut self) -> Vec<Sent> {
        let lost = (self.first..self.next()).filter_map(|number| self.take(number)).collect();
        self.forget_answered();
        lost
    }

    /// What is to be sent again elsewhere. Here it may still arrive.
    pub(super) fn copy_repeated(&mut self) -> Vec<Fragment> {
        let mut copies = Vec::new();
        for sent in self.entries.iter_mut().filter_map(|entry| entry.sent.as_mut()) {
            let len = sent.len();
            if let Sent::Repeated(fragment) = sent {
                copies.push(fragment.clone());
                *sent = Sent::Copied { len };
            }
        }
        copies
    }

    fn entry(&self, number: u64) -> Option<&Entry> {
        self.entries.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn sent_at(&self, number: u64) -> Option<Time> {
        self.entry(number).map(|entry| entry.at)
    }

    fn take(&mut self, number: u64) -> Option<Sent> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let sent = self.entries.get_mut(at)?.sent.take()?;
        self.bytes -= sent.len();
        self.open -= 1;
        Some(sent)
    }

    fn forget_answered(&mut self) {
        while self.entries.front().is_some_and(|entry| entry.sent.is_none()) {
            self.entries.pop_front();
            self.first += 1;
        }
    }
}

const fn is_ping(sent: &Sent) -> bool {
    matches!(sent, Sent::Ping | Sent::Query)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_millis(10);
    const TIMEOUT: Duration = Duration::from_millis(100);

    /// Ten datagrams of 100 bytes, 10 ms apart.
    fn flight() -> Flight {
        let mut flight = Flight::default();
        for n in 0..10 {
            let sent = Sent::Once { stream: StreamId(1), message: n, len: 100 };
            flight.push(Time::from_millis(10 * n), sent);
        }
        flight
    }

    fn messages(sent: &[Sent]) -> Vec<u64> {
        let number = |sent: &Sent| match sent {
            Sent::Once { message, .. } => Some(*message),
            Sent::Ping
            | Sent::Query
            | Sent::Repeated(_)
            | Sent::Copied { .. }
            | Sent::Closed(_)
            | Sent::Bye => None,
        };
        sent.iter().filter_map(number).collect()
    }

    #[test]
    fn what_arrived_is_answered_once_and_what_is_missing_before_it_is_lost() {
        let mut flight = flight();
        let answered = flight.on_acks(&[(4, 5), (0, 1)]);
        assert_eq!(messages(&answered.arrived), [4, 5, 0, 1]);
        assert_eq!(answered.greatest_sent_at, Some(Time::from_millis(50)));
        assert_eq!(messages(&flight.take_lost(WINDOW, TIMEOUT)), [2], "3 may yet be overtaken");
        assert_eq!((flight.bytes(), flight.next()), (500, 10));
        let again = flight.on_acks(&[(4, 5), (0, 1)]);
        assert!(again.arrived.is_empty() && again.greatest_sent_at.is_none());
        flight.on_acks(&[(3, 9)]);
        assert!(flight.is_empty() && flight.take_lost(WINDOW, TIMEOUT).is_empty());
    }

    #[test]
    fn acknowledgements_of_what_was_never_sent_mean_nothing() {
        let mut flight = flight();
        let answered = flight.on_acks(&[(9, u64::MAX)]);
        assert_eq!(messages(&answered.arrived), [9]);
        assert!(flight.on_acks(&[(50, 60)]).arrived.is_empty());
    }

    #[test]
    fn one_later_arrival_is_enough_after_a_timeout() {
        let mut flight = Flight::default();
        flight.push(Time::ZERO, Sent::Ping);
        flight.push(Time::from_millis(99), Sent::Ping);
        flight.push(Time::from_millis(100), Sent::Ping);
        flight.on_acks(&[(1, 1)]);
        assert!(flight.take_lost(WINDOW, TIMEOUT).is_empty());
        flight.on_acks(&[(2, 2)]);
        assert_eq!(flight.take_lost(WINDOW, TIMEOUT).len(), 1);
    }

    #[test]
    fn what_is_given_up_is_taken_out() {
        let mut flight = flight();
        assert!(!flight.is_idle());
        assert_eq!(flight.take_all().len(), 10);
        flight.push(Time::from_secs(1), Sent::Ping);
        assert!(flight.is_idle() && !flight.is_empty());
    }
}
