//! Which connection takes what, and when.

use std::time::Duration;

use anabranch_dccp::{self as dccp, Endpoint};
use anabranch_sansio::Time;
use bytes::Bytes;

use super::super::flight::Sent;
use super::super::frame::{AckBlock, Acks, BLOCKS_MAX, Body, Fragment, Frame, Join, RANGES_MAX};
use super::trace::DataPart;
use super::{Member, Trunk};
use crate::{Connection as _, PathPreference, PathState};

/// What is put into a datagram.
pub(super) enum Post {
    Ping,
    Query,
    Fragment(Fragment),
    Acks(Acks),
    Want { path: u16, count: u32 },
    Closed(u16),
    Bye(Bytes),
}

/// A connection that could take the next datagram.
#[derive(Debug, Clone, Copy)]
struct Offer {
    member: u32,
    is_ready: bool,
    arrives: Time,
    rate: f64,
}

/// A datagram that wants a connection.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    preference: PathPreference,
    /// Bytes of its payload.
    len: usize,
}

impl Wanted {
    /// Words of the trunk's own, which any connection takes.
    const WORDS: Self = Self { preference: PathPreference::Any, len: 0 };
}

impl Trunk {
    /// Gives the DCCP connections what they may send now. False: they take nothing.
    pub(in super::super) fn feed(&mut self, now: Time, endpoint: &mut Endpoint) -> bool {
        self.now = now;
        let acks = self.feed_acks(now, endpoint);
        let words = self.feed_query(now, endpoint)
            || self.feed_closed(now, endpoint)
            || self.feed_bye(now, endpoint);
        let wants = self.feed_wants(now, endpoint);
        self.note_used();
        let data = self.feed_data(now, endpoint);
        let pings = self.feed_pings(now, endpoint);
        let waits = !self.queue.is_empty() || !self.again.is_empty();
        self.waiting_since = waits.then(|| self.waiting_since.unwrap_or(now));
        acks || words || wants || data || pings
    }

    /// When a connection may be given the next datagram; `None` while one waits there, or if it is
    /// not up.
    pub(super) fn ready_at(&self, endpoint: &Endpoint, member: &Member) -> Option<Time> {
        let connection = endpoint.connection(member.id).filter(|_| member.is_up)?;
        let is_free = connection.is_connected() && connection.waiting() == 0;
        is_free.then(|| connection.may_send_at().unwrap_or(Time::ZERO))
    }

    /// The connection of a path that is ready first.
    pub(super) fn first_ready(&self, endpoint: &Endpoint, path: u16) -> Option<(Time, u32)> {
        let ready = self.members_of(path);
        ready.filter_map(|(number, it)| Some((self.ready_at(endpoint, it)?, number))).min()
    }

    pub(super) fn ready_now(&self, now: Time, endpoint: &Endpoint, path: u16) -> Option<u32> {
        let (at, member) = self.first_ready(endpoint, path)?;
        (at <= now).then_some(member)
    }

    fn feed_acks(&mut self, now: Time, endpoint: &mut Endpoint) -> bool {
        let is_due = |path: &super::Path| path.ack_due.is_some_and(|at| at <= now);
        let mut due: Vec<u16> =
            self.paths.iter().filter(|(_, path)| is_due(path)).map(|(id, _)| *id).collect();
        if due.is_empty() && self.owes_limit() {
            due.extend(self.chosen_path());
        }
        let mut fed = false;
        for path in due {
            let Some(member) = self.ready_now(now, endpoint, path) else { continue };
            let acks = self.acks(now, path);
            if let Some(path) = self.paths.get_mut(&path) {
                path.ack_due = None;
            }
            self.told_limit = acks.limit;
            fed |= self.post(now, endpoint, member, Post::Acks(acks));
        }
        fed
    }

    /// Whether the peer may send so much more than it knows that it should know.
    pub(super) fn owes_limit(&self) -> bool {
        self.inbox.limit() >= self.told_limit + self.config.receive_buffer / 4
            && self.told_limit > super::LIMIT_INITIAL
            && !self.is_over()
    }

    fn acks(&mut self, now: Time, path: u16) -> Acks {
        let is_told = |member: &Member| member.has_news && (member.path == path || member.is_asked);
        let told = self.members.iter_mut().filter(|(_, member)| is_told(member));
        let news = told.take(BLOCKS_MAX);
        let blocks = news.map(|(number, member)| {
            (member.has_news, member.is_asked) = (false, false);
            let ranges = member.received.latest(RANGES_MAX);
            AckBlock { member: *number, delay: now - member.newest_at, ranges }
        });
        Acks { limit: self.inbox.limit(), blocks: blocks.collect() }
    }

    /// When a connection that is new says to whom it belongs: at once, and again where no answer
    /// comes. Where it is the only one that was lost, nothing else tells so.
    pub(super) fn joins_at(&self, member: &Member) -> Option<Time> {
        let path = self.paths.get(&member.path).filter(|_| member.is_up && !member.is_joined)?;
        Some(member.flight.last_sent_at().map_or(Time::ZERO, |at| at + path.timeout()))
    }

    /// Paths are asked that have not answered for long, and connections that are new.
    fn feed_pings(&mut self, now: Time, endpoint: &mut Endpoint) -> bool {
        let is_new = |member: &Member| self.joins_at(member).is_some_and(|at| at <= now);
        let new = self.members.iter().filter(|(_, member)| is_new(member));
        let mut asked: Vec<u32> = new.map(|(number, _)| *number).collect();
        for (id, path) in &self.paths {
            if path.ping_at() <= now {
                asked.extend(self.ready_now(now, endpoint, *id));
            }
        }
        let mut fed = false;
        for member in asked {
            let is_ready = self
                .members
                .get(&member)
                .and_then(|member| self.ready_at(endpoint, member))
                .is_some_and(|at| at <= now);
            fed |= is_ready && self.post(now, endpoint, member, Post::Ping);
        }
        fed
    }

    fn feed_query(&mut self, now: Time, endpoint: &mut Endpoint) -> bool {
        let has_path = self.paths.values().any(|path| path.state == PathState::Active);
        if !self.must_query || !has_path {
            return false;
        }
        let Some(member) = self.choose(now, endpoint, Wanted::WORDS) else { return false };
        self.must_query = false;
        self.post(now, endpoint, member, Post::Query)
    }

    /// Tells the peer which paths were closed.
    fn feed_closed(&mut self, now: Time, endpoint: &mut Endpoint) -> bool {
        if self.closed.is_empty() {
            return false;
        }
        let Some(member) = self.choose(now, endpoint, Wanted::WORDS) else { return false };
        let Some(path) = self.closed.pop() else { return false };
        self.post(now, endpoint, member, Post::Closed(path))
    }

    fn feed_bye(&mut self, now: Time, endpoint: &mut Endpoint) -> bool {
        if self.bye.is_none() {
            return false;
        }
        let Some(member) = self.choose(now, endpoint, Wanted::WORDS) else { return false };
        let words = self.bye.take().unwrap_or_default();
        self.post(now, endpoint, member, Post::Bye(words))
    }

    /// Says the last words on every path at once: nobody will repeat them.
    pub(super) fn post_everywhere(&mut self, now: Time, endpoint: &mut Endpoint, words: &Bytes) {
        let first_up = |path: &u16| self.members_of(*path).find(|(_, it)| it.is_up).map(|it| it.0);
        for member in self.paths.keys().filter_map(first_up).collect::<Vec<_>>() {
            self.post(now, endpoint, member, Post::Bye(words.clone()));
        }
    }

    fn feed_data(&mut self, now: Time, endpoint: &mut Endpoint) -> bool {
        self.queue.expire(now);
        let mut fed = false;
        while let Some(next) = self.next_datagram()
            && let Some(member) = self.choose(now, endpoint, next)
        {
            if !self.give_next(now, endpoint, member) {
                break;
            }
            fed = true;
        }
        self.tell_whether_more_waits(endpoint);
        fed
    }

    /// What is to be sent next, if something waits that may go.
    fn next_datagram(&self) -> Option<Wanted> {
        if let Some(fragment) = self.again.front() {
            return Some(Wanted { preference: PathPreference::Any, len: fragment.payload.len() });
        }
        let preference = self.queue.preference()?;
        Some(Wanted { preference, len: self.queue.next_len(self.whole_message_max())? })
    }

    /// Gives a connection the next message, or part of one.
    fn give_next(&mut self, now: Time, endpoint: &mut Endpoint, member: u32) -> bool {
        let whole = self.whole_message_max();
        let again = self.again.pop_front();
        let Some(fragment) = again.or_else(|| self.queue.pop(whole)) else { return false };
        if fragment.is_again {
            let stats = self.queue.stats_mut(fragment.stream);
            stats.chunks_retransmitted += 1;
            stats.bytes_retransmitted += fragment.payload.len() as u64;
        }
        self.post(now, endpoint, member, Post::Fragment(fragment))
    }

    /// Congestion control is to know that it is what holds data up.
    fn tell_whether_more_waits(&self, endpoint: &mut Endpoint) {
        let waits = !self.queue.is_empty() || !self.again.is_empty();
        for member in self.members.values() {
            let known = endpoint.connection(member.id).map(dccp::Connection::has_more);
            if known.is_some_and(|has_more| has_more != waits)
                && let Some(connection) = endpoint.connection_mut(member.id)
            {
                connection.set_has_more(waits);
            }
        }
    }

    /// The connection over which the next datagram arrives first, if it may go now: a slower one
    /// that is ready gets it only if all that waits would take longer over those that are faster.
    fn choose(&self, now: Time, endpoint: &Endpoint, wanted: Wanted) -> Option<u32> {
        let mut offers: Vec<Offer> = self.offers(now, endpoint, wanted).collect();
        offers.sort_by_key(|offer| (offer.arrives, offer.member));
        let earliest = offers.first()?.arrives;
        let waiting = self.queue.bytes() as f64;
        let mut rate = 0.0;
        for offer in offers {
            let others_take = if rate > 0.0 { waiting / rate } else { 0.0 };
            if offer.is_ready && offer.arrives - earliest <= Duration::from_secs_f64(others_take) {
                return Some(offer.member);
            }
            rate += offer.rate;
        }
        None
    }

    fn offers(
        &self,
        now: Time,
        endpoint: &Endpoint,
        wanted: Wanted,
    ) -> impl Iterator<Item = Offer> {
        let preferred = match wanted.preference {
            PathPreference::Prefer(id) => u16::try_from(id.0).ok().filter(|path| {
                self.paths.get(path).is_some_and(|path| path.state == PathState::Active)
            }),
            PathPreference::Any | PathPreference::Two => None,
        };
        let may_take = move |path| match preferred {
            Some(preferred) => path == preferred,
            None => self.is_usable(path),
        };
        // Beside the name of the trunk, a full packet has no room.
        let has_room_to_join = wanted.len + JOIN_LEN <= self.whole_message_max();
        let is_usable = move |number, it: &Member| {
            let has_room = it.is_joined || has_room_to_join;
            it.is_up && has_room && may_take(it.path) && self.is_used(number, it.path)
        };
        let usable = self.members.iter().filter(move |(number, it)| is_usable(**number, it));
        usable.filter_map(move |(number, member)| {
            let connection = endpoint.connection(member.id)?;
            let may_send_at = connection.may_send_at().unwrap_or(now);
            let rate = member.congestion.rate.max(1.0);
            let gap = Duration::from_secs_f64((member.congestion.segment_size / rate).min(1e3));
            let waits = gap * u32::try_from(connection.waiting()).unwrap_or(u32::MAX).min(1_000);
            let srtt = self.paths.get(&member.path).and_then(super::Path::srtt);
            let on_the_way = srtt.unwrap_or_default() / 2;
            Some(Offer {
                member: *number,
                is_ready: self.ready_at(endpoint, member).is_some_and(|at| at <= now),
                arrives: may_send_at.max(now) + waits + on_the_way,
                rate,
            })
        })
    }

    /// Hands a datagram to a DCCP connection. False: it does not take it.
    pub(super) fn post(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint,
        number: u32,
        post: Post,
    ) -> bool {
        let Some(member) = self.members.get(&number) else { return false };
        let Some(path) = self.paths.get_mut(&member.path) else { return false };
        let join = (!member.is_joined).then_some(Join {
            trunk: self.name,
            is_first: !self.is_known,
            is_automatic: self.is_automatic,
            path: member.path,
            generation: path.generation,
            member: number,
        });
        let datagram = member.flight.next();
        let part = post.part();
        let (body, sent) = post.into_body(datagram);
        let bytes = Frame { join, body }.encode();
        let len = bytes.len() as u64;
        let Some(connection) = endpoint.connection_mut(member.id) else { return false };
        if let Err(error) = connection.send(bytes) {
            tracing::debug!(%error, "datagram not taken");
            // What must arrive is not forgotten.
            self.give_up_unsent(sent);
            return false;
        }
        let counters = &mut path.counters;
        counters.packets_sent += 1;
        counters.bytes_sent += len;
        counters.chunks_sent += u64::from(part.is_some());
        counters.chunks_again += u64::from(part.is_some_and(|part| part.is_again));
        if let Some(sent) = sent {
            path.on_asked(now);
            if let Some(member) = self.members.get_mut(&number) {
                member.flight.push(now, sent);
            }
        }
        if let Some(part) = part {
            self.trace_data(now, number, &part);
        }
        true
    }

    fn give_up_unsent(&mut self, sent: Option<Sent>) {
        if let Some(sent) = sent {
            // It never was on a path.
            self.give_up(None, vec![sent]);
        }
    }
}

/// What a [`Join`] takes.
const JOIN_LEN: usize = 8 + 1 + 2 + 5 + 5;

impl Post {
    const fn part(&self) -> Option<DataPart> {
        let Self::Fragment(fragment) = self else { return None };
        let Fragment { stream, payload, is_again, .. } = fragment;
        Some(DataPart { stream: *stream, len: payload.len(), is_again: *is_again })
    }

    fn into_body(self, number: u64) -> (Body, Option<Sent>) {
        match self {
            Self::Ping => (Body::Ping { number }, Some(Sent::Ping)),
            Self::Query => (Body::Query { number }, Some(Sent::Query)),
            Self::Bye(reason) => (Body::Bye { number, reason }, Some(Sent::Bye)),
            Self::Acks(acks) => (Body::Acks(acks), None),
            Self::Want { path, count } => (Body::Want { path, count }, None),
            Self::Closed(path) => (Body::Closed { number, path }, Some(Sent::Closed(path))),
            Self::Fragment(fragment) => {
                let sent = match fragment.is_repeated {
                    true => Sent::Repeated(fragment.clone()),
                    false => Sent::Once {
                        stream: fragment.stream,
                        message: fragment.message,
                        len: fragment.payload.len(),
                    },
                };
                (Body::Fragment { number, fragment }, Some(sent))
            }
        }
    }
}
