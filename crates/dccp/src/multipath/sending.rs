//! Which path takes what, and when.

use std::time::Duration;

use anabranch_sansio::{Time, Wakeup};

use super::group::{Group, State, Subflow};
use super::{Multipath, MultipathId, SubflowId};
use crate::connection::Connection;
use crate::endpoint::Endpoint;

/// Paths of a higher priority are congested when what waits would take them longer than this.
const CONGESTED: Duration = Duration::from_millis(50);

/// How long until a path that is silent is asked again for a sign of life.
pub(super) const PROBE_INTERVAL: Duration = Duration::from_millis(500);

/// RFC 9897 section 3.2.10: "Standby: do not use this path for traffic scheduling, if another path
/// (secondary or primary) is available."
const STANDBY: u8 = 1;

/// A path that could take the next datagram.
#[derive(Debug, Clone, Copy)]
struct Offer {
    name: SubflowId,
    priority: u8,
    is_relied_on: bool,
    is_ready: bool,
    arrives: Time,
    /// Bytes per second.
    rate: f64,
}

impl Multipath {
    /// Gives the paths what they may send now.
    pub(super) fn feed(&mut self, now: Time) {
        for id in self.groups.keys().copied().collect::<Vec<_>>() {
            while self.give_next(now, id) {}
            self.tell_whether_more_waits(id);
            self.finish(now, id);
        }
    }

    /// Gives a path the next datagram. False: there is none, or none may go.
    fn give_next(&mut self, now: Time, id: MultipathId) -> bool {
        let Self { groups, endpoint, config, .. } = self;
        let Some(group) = groups.get_mut(&id) else { return false };
        let can_send = matches!(group.state, State::Open | State::Finishing);
        let returned = group.returned.front().cloned();
        let new = || Some((group.next_number, group.queue.front()?.clone()));
        let is_new = returned.is_none();
        let Some((number, data)) = returned.or_else(new).filter(|_| can_send) else { return false };
        if let Some(plain) = group.plain {
            let connection = endpoint.connection_mut(plain);
            let is_taken = connection.is_some_and(|connection| connection.send(data).is_ok());
            return is_taken && group.pop(config.send_buffer).is_some();
        }
        let Some(name) = choose(now, group, endpoint) else { return false };
        let Some(subflow) = group.subflows.get_mut(&name) else { return false };
        let Some(connection) = endpoint.connection_mut(subflow.id) else { return false };
        if connection.send_numbered(number, data).is_err() {
            return false;
        }
        subflow.on_sent(now);
        if !is_new {
            return group.returned.pop_front().is_some();
        }
        group.next_number();
        group.stats.sent += 1;
        group.pop(config.send_buffer).is_some()
    }

    /// When a path may take what waits: a connection that holds nothing wakes nobody for that.
    pub(super) fn room_at(&self, group: &Group) -> Option<Wakeup> {
        let waits = !group.queue.is_empty() || !group.returned.is_empty();
        let subflows = group.subflows.values().filter(|subflow| waits && subflow.is_up());
        let room = subflows.filter_map(|subflow| {
            let connection = self.endpoint.connection(subflow.id).filter(|it| is_free(it))?;
            connection.may_send_at().filter(|at| *at > self.now)
        });
        Some(Wakeup { at: room.min()?, why: "room for data" })
    }

    /// Congestion control is to know that it is what holds data up.
    fn tell_whether_more_waits(&mut self, id: MultipathId) {
        let Self { groups, endpoint, .. } = self;
        let Some(group) = groups.get(&id) else { return };
        let waits = !group.queue.is_empty();
        for subflow in group.subflows.values() {
            let known = endpoint.connection(subflow.id).map(Connection::has_more);
            if known.is_some_and(|has_more| has_more != waits)
                && let Some(connection) = endpoint.connection_mut(subflow.id)
            {
                connection.set_has_more(waits);
            }
        }
    }
}

/// The path on which the next datagram arrives first, if it may go now.
///
/// RFC 9897 section 3.11.2: "A concurrent path usage method uses a scheduling design that could
/// seek to maximize reliability, throughput, minimizing latency, etc." Section 3.2.10: "Higher
/// numbers indicate higher priority. The peer should consider sending traffic first over higher
/// priority paths." So those of the highest priority take all but what would wait too long there.
fn choose(now: Time, group: &Group, endpoint: &Endpoint) -> Option<SubflowId> {
    let offers = group.subflows.iter().filter_map(|(name, subflow)| {
        let connection = endpoint.connection(subflow.id).filter(|_| subflow.is_up())?;
        offer(now, *name, subflow, connection, endpoint)
    });
    // "0: Do not use. The path is not available."
    let mut offers: Vec<Offer> = offers.filter(|offer| offer.priority > 0).collect();
    if offers.iter().any(|offer| offer.is_relied_on) {
        offers.retain(|offer| offer.is_relied_on);
    }
    if offers.iter().any(|offer| offer.priority > STANDBY) {
        offers.retain(|offer| offer.priority > STANDBY);
    }
    let waiting = group.queue_len as f64;
    let mut higher = 0.0;
    while let Some(priority) = offers.iter().map(|offer| offer.priority).max() {
        let is_congested = higher == 0.0 || waiting / higher > CONGESTED.as_secs_f64();
        let (class, rest): (Vec<_>, Vec<_>) =
            offers.into_iter().partition(|offer| offer.priority == priority);
        if !is_congested {
            return None;
        }
        if let Some(name) = earliest(&class, waiting) {
            return Some(name);
        }
        higher += class.iter().map(|offer| offer.rate).sum::<f64>();
        offers = rest;
    }
    None
}

/// A slower path that is ready gets a datagram only if all that waits would take longer over those
/// that are faster.
fn earliest(class: &[Offer], waiting: f64) -> Option<SubflowId> {
    let mut class = class.to_vec();
    class.sort_by_key(|offer| (offer.arrives, offer.name));
    let first = class.first()?.arrives;
    let mut rate = 0.0;
    for offer in class {
        let others_take = if rate > 0.0 { waiting / rate } else { 0.0 };
        if offer.is_ready && (offer.arrives - first).as_secs_f64() <= others_take {
            return Some(offer.name);
        }
        rate += offer.rate;
    }
    None
}

fn offer(
    now: Time,
    name: SubflowId,
    subflow: &Subflow,
    connection: &Connection,
    endpoint: &Endpoint,
) -> Option<Offer> {
    let congestion = connection.stats().congestion;
    let rtt = congestion.rtt.unwrap_or_default();
    let may_send_at = connection.may_send_at().unwrap_or(now).max(now);
    let window = congestion.window as f64 * connection.datagram_len_max() as f64;
    let rate = match congestion.rate {
        rate if rate > 0.0 => rate,
        _ => window / rtt.as_secs_f64().max(1e-3),
    };
    let is_free = is_free(connection);
    Some(Offer {
        name,
        priority: subflow.priority,
        is_relied_on: subflow.silent_at(endpoint).is_none_or(|at| at > now),
        is_ready: is_free && may_send_at <= now,
        // Where a window is full, nobody knows for how long: a round trip at most.
        arrives: may_send_at + rtt / 2 + if is_free { Duration::ZERO } else { rtt },
        rate,
    })
}

/// Whether a path could take a datagram, as far as its congestion control has it.
fn is_free(connection: &Connection) -> bool {
    connection.is_connected() && connection.waiting() == 0
}
