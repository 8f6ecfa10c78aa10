//! Path schedulers: where the next packet of new data goes.

use std::fmt::{self, Debug};
use std::time::Duration;

use anabranch_sansio::{Rate, Time};

use crate::path_name::{PathId, PathSlot};

/// Chooses among the paths that can carry data. A message that prefers a path takes that one as
/// long as it is active, and is not asked about here.
pub trait PathScheduler: Debug + Send {
    /// The path that takes the next packet of a message now, one that
    /// [is open](Outlook::is_open); `None` if the message waits for a better one.
    fn choose(&mut self, demand: &Demand<'_>, outlooks: &[Outlook]) -> Option<PathId>;
}

/// Makes the path scheduler of an association: the kinds of [`PathSchedulerKind`], or a user's own.
pub trait PathSchedulerFactory: Debug + Send + Sync {
    /// A scheduler; `None` where data takes one path at a time, the primary one while it works.
    fn build(&self) -> Option<Box<dyn PathScheduler>>;
}

/// The message whose next packet looks for a path.
#[derive(Clone, Copy)]
pub struct Demand<'a> {
    /// The time.
    pub now: Time,
    /// When the message is of no use any more.
    pub expires: Option<Time>,
    /// Bytes that the peer's window has room for.
    pub peer_window: usize,
    /// Tells the bytes that wait to be sent and are as urgent as this message, itself included.
    pub(crate) backlog: &'a dyn Fn() -> usize,
}

impl Demand<'_> {
    /// Bytes that wait to be sent and are as urgent as this message, itself included.
    #[must_use]
    pub fn backlog(&self) -> usize {
        (self.backlog)()
    }
}

impl fmt::Debug for Demand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { now, expires, peer_window, .. } = self;
        f.debug_struct("Demand")
            .field("now", now)
            .field("expires", expires)
            .field("peer_window", peer_window)
            .finish_non_exhaustive()
    }
}

/// What is known of a path that can carry data.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Outlook {
    pub(crate) slot: PathSlot,
    /// Which path.
    pub id: PathId,
    /// Whether a packet may go out now: there is room in the window and in the path's share of the
    /// peer's buffer, and the pace allows it.
    pub is_open: bool,
    /// The smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// How long it takes until a packet that goes this way next has arrived.
    pub arrival: Duration,
    /// How fast the path carries data.
    pub rate: Rate,
    /// Whether the rate doubles each round trip.
    pub slow_start: bool,
    /// The share of the window that is in flight.
    pub usage: f64,
    /// The congestion window.
    pub window: usize,
    /// The slow-start threshold; the largest number before the first loss.
    pub ssthresh: usize,
    /// The share of DATA chunks that was lost.
    pub loss_rate: f64,
}

/// The path schedulers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PathSchedulerKind {
    /// RFC 9260 section 6.4: "an endpoint SHOULD always transmit to the primary path", and to
    /// another one while the primary fails.
    #[default]
    Primary,
    /// Concurrent multipath transfer (Iyengar 2006, section III): each path takes new data as soon
    /// as its window allows, the least used one first.
    AsWindowAllows,
    /// The path with the lowest round-trip time that has room; the next one when it has none.
    LowestRtt,
    /// The path where it will arrive first, given what is in flight, the rate and the round trip. A
    /// slower path gets data only if that comes in before all that waits had come over the faster
    /// ones alone, so that no path delays what another could have carried in time; and only if the
    /// peer can keep what overtakes it.
    EarliestDelivery,
    /// Everything takes two paths: the open one where it arrives first, and the one least likely to
    /// fail together with that. [`PathPreference::Two`](crate::PathPreference::Two) does so for
    /// single messages.
    Duplicate,
}

impl PathSchedulerKind {
    /// Whether all messages take two paths.
    pub(crate) const fn doubles(self) -> bool {
        matches!(self, Self::Duplicate)
    }
}

impl PathSchedulerFactory for PathSchedulerKind {
    fn build(&self) -> Option<Box<dyn PathScheduler>> {
        Some(match self {
            Self::Primary => return None,
            Self::AsWindowAllows => Box::new(AsWindowAllows),
            Self::LowestRtt => Box::new(LowestRtt),
            Self::EarliestDelivery => Box::new(EarliestDelivery),
            Self::Duplicate => Box::new(Duplicate),
        })
    }
}

#[derive(Debug)]
struct AsWindowAllows;

impl PathScheduler for AsWindowAllows {
    fn choose(&mut self, _demand: &Demand<'_>, outlooks: &[Outlook]) -> Option<PathId> {
        let open = outlooks.iter().filter(|path| path.is_open);
        open.min_by(|a, b| a.usage.total_cmp(&b.usage)).map(|path| path.id)
    }
}

#[derive(Debug)]
struct LowestRtt;

impl PathScheduler for LowestRtt {
    fn choose(&mut self, _demand: &Demand<'_>, outlooks: &[Outlook]) -> Option<PathId> {
        let open = outlooks.iter().filter(|path| path.is_open);
        open.min_by_key(|path| path.srtt).map(|path| path.id)
    }
}

#[derive(Debug)]
struct EarliestDelivery;

impl PathScheduler for EarliestDelivery {
    fn choose(&mut self, demand: &Demand<'_>, outlooks: &[Outlook]) -> Option<PathId> {
        let earliest = outlooks.iter().min_by_key(|path| path.arrival)?;
        if earliest.is_open {
            return Some(earliest.id);
        }
        let open = outlooks.iter().filter(|path| path.is_open);
        let next = open.min_by_key(|path| path.arrival)?;
        let lead = |path: &Outlook| next.arrival.saturating_sub(path.arrival);
        let meanwhile = outlooks.iter().map(|path| path.bytes_in(lead(path)));
        let meanwhile = meanwhile.fold(0, u64::saturating_add);
        next.is_worth_it(demand, earliest, meanwhile).then_some(next.id)
    }
}

/// Where the first of two copies goes.
#[derive(Debug)]
struct Duplicate;

impl PathScheduler for Duplicate {
    fn choose(&mut self, _demand: &Demand<'_>, outlooks: &[Outlook]) -> Option<PathId> {
        let open = outlooks.iter().filter(|path| path.is_open);
        open.min_by_key(|path| path.arrival).map(|path| path.id)
    }
}

impl Outlook {
    /// What the path brings in a span of time from the first packet on.
    fn bytes_in(&self, span: Duration) -> u64 {
        if !self.slow_start || self.srtt.is_zero() {
            return self.rate.bytes_in(span);
        }
        let rounds = span.as_secs_f64() / self.srtt.as_secs_f64();
        (self.rate.bytes_in(self.srtt) as f64 * (rounds.exp2() - 1.0)) as u64
    }

    /// Whether a message goes out here, although `earliest` would bring it sooner once it has room.
    /// `meanwhile` is what all faster paths bring until a packet has come in over this one.
    ///
    /// To wait pays as long as the faster paths are done with everything by then (ECF, Lim 2017).
    /// What they bring waits at the peer for the slow packet, and they stand still when its window
    /// is full (BLEST, Ferlin 2016).
    fn is_worth_it(&self, demand: &Demand<'_>, earliest: &Self, meanwhile: u64) -> bool {
        let comes_in_time =
            |path: &Self| demand.expires.is_none_or(|expires| demand.now + path.arrival <= expires);
        if !comes_in_time(self) && comes_in_time(earliest) {
            return false;
        }
        meanwhile <= demand.peer_window as u64 && meanwhile <= demand.backlog() as u64
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// A path of 8 Mbit/s that is open: 1,000 bytes take a millisecond.
    pub(in super::super) fn outlook(id: u8, srtt_ms: u64) -> Outlook {
        Outlook {
            slot: PathSlot(id),
            id: PathId(id.into()),
            is_open: true,
            srtt: Duration::from_millis(srtt_ms),
            arrival: Duration::from_millis(srtt_ms / 2),
            rate: Rate::mbps(8),
            slow_start: false,
            usage: 0.5,
            window: 20_000,
            ssthresh: usize::MAX,
            loss_rate: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::outlook;
    use super::*;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// One that has room for the next packet only after some time.
    fn full(outlook: Outlook, wait_ms: u64) -> Outlook {
        Outlook { is_open: false, arrival: outlook.arrival + millis(wait_ms), ..outlook }
    }

    fn choose(kind: PathSchedulerKind, outlooks: &[Outlook]) -> Option<u32> {
        choose_with(kind, outlooks, usize::MAX, usize::MAX, None)
    }

    fn choose_with(
        kind: PathSchedulerKind,
        outlooks: &[Outlook],
        waiting: usize,
        peer_window: usize,
        lifetime: Option<Duration>,
    ) -> Option<u32> {
        let now = Time::from_secs(1);
        let expires = lifetime.map(|lifetime| now + lifetime);
        let demand = Demand { now, expires, peer_window, backlog: &|| waiting };
        kind.build().unwrap().choose(&demand, outlooks).map(|path| path.0)
    }

    #[test]
    fn as_window_allows_takes_the_least_used_path_that_has_room() {
        let kind = PathSchedulerKind::AsWindowAllows;
        let used = |id, usage| Outlook { usage, ..outlook(id, 20) };
        assert_eq!(choose(kind, &[used(0, 0.6), used(1, 0.4), used(2, 0.5)]), Some(1));
        assert_eq!(choose(kind, &[used(0, 0.6), full(used(1, 0.4), 1)]), Some(0));
        assert_eq!(choose(kind, &[full(used(0, 1.0), 1)]), None);
    }

    #[test]
    fn lowest_rtt_fills_the_fast_path_first() {
        let kind = PathSchedulerKind::LowestRtt;
        assert_eq!(choose(kind, &[outlook(0, 200), outlook(1, 20)]), Some(1));
        assert_eq!(choose(kind, &[outlook(0, 200), full(outlook(1, 20), 1)]), Some(0));
    }

    #[test]
    fn earliest_delivery_waits_for_the_fast_path_while_that_pays() {
        let kind = PathSchedulerKind::EarliestDelivery;
        // The fast path brings the packet after 15 ms, the slow one after 100 ms.
        let outlooks = [outlook(0, 200), full(outlook(1, 20), 5)];
        let with_backlog = |bytes| choose_with(kind, &outlooks, bytes, usize::MAX, None);
        assert_eq!(with_backlog(84_000), None, "all of it comes faster over the fast path");
        assert_eq!(with_backlog(86_000), Some(0));
    }

    #[test]
    fn earliest_delivery_trusts_a_window_that_doubles() {
        let fast = Outlook { slow_start: true, ..full(outlook(1, 20), 10) };
        let outlooks = [outlook(0, 200), fast];
        let kind = PathSchedulerKind::EarliestDelivery;
        // Four round trips carry 20 + 40 + 80 + 160 kB.
        assert_eq!(choose_with(kind, &outlooks, 299_000, usize::MAX, None), None);
        assert_eq!(choose_with(kind, &outlooks, 301_000, usize::MAX, None), Some(0));
    }

    #[test]
    fn earliest_delivery_counts_all_faster_paths_together() {
        let outlooks = [outlook(0, 200), full(outlook(1, 20), 5), full(outlook(2, 20), 5)];
        let kind = PathSchedulerKind::EarliestDelivery;
        assert_eq!(choose_with(kind, &outlooks, 160_000, usize::MAX, None), None);
        assert_eq!(choose_with(kind, &outlooks, 180_000, usize::MAX, None), Some(0));
    }

    #[test]
    fn earliest_delivery_leaves_a_path_out_that_would_fill_the_peers_buffer() {
        let outlooks = [outlook(0, 200), full(outlook(1, 20), 5)];
        let kind = PathSchedulerKind::EarliestDelivery;
        assert_eq!(choose_with(kind, &outlooks, usize::MAX, 84_000, None), None);
        assert_eq!(choose_with(kind, &outlooks, usize::MAX, 86_000, None), Some(0));
    }

    #[test]
    fn earliest_delivery_does_not_send_where_a_message_would_come_too_late() {
        let outlooks = [outlook(0, 200), full(outlook(1, 20), 5)];
        let kind = PathSchedulerKind::EarliestDelivery;
        let living = |ms| choose_with(kind, &outlooks, usize::MAX, usize::MAX, Some(millis(ms)));
        assert_eq!(living(99), None);
        assert_eq!(living(100), Some(0));
        assert_eq!(living(10), Some(0), "too late on both: the deadline decides nothing");
    }
}
