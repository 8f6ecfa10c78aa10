//! The link's own timers: greetings that do not come, partings that take too long, and the tick.

use anabranch_sansio::Time;
use anabranch_transport::ConnectionId;

use super::super::REPORT_INTERVAL;
use super::{Input, Link, Phase};

impl Link {
    pub(super) fn next_timer(&self) -> Option<(Time, &'static str)> {
        let newcomers = self.newcomers.values().map(|newcomer| (newcomer.until, "hello"));
        let parting = self.parting.values().map(|until| (*until, "parting"));
        let tick = self.next_tick.map(|at| (at, "report"));
        let answer = self.answer_until().map(|at| (at, "answer to hello"));
        let kept = self.kept_until().map(|at| (at, "word that all is written"));
        newcomers.chain(parting).chain(tick).chain(answer).chain(kept).min()
    }

    pub(super) fn on_timers(&mut self, now: Time) {
        for id in due(now, self.newcomers.iter().map(|(id, newcomer)| (*id, newcomer.until))) {
            self.newcomers.remove(&id);
            self.abort(id, "no hello came");
        }
        for id in due(now, self.parting.iter().map(|(id, until)| (*id, *until))) {
            self.parting.remove(&id);
            self.abort(id, "the parting took too long");
        }
        if self.answer_until().is_some_and(|at| at <= now)
            && let Some(peer) = &mut self.peer
        {
            let id = peer.id;
            peer.phase = Phase::Calling { answer_until: None };
            self.abort(id, "no answer to our hello came");
        }
        if self.kept_until().is_some_and(|at| at <= now) {
            self.on_kept(now);
        }
        if self.next_tick.is_some_and(|at| at <= now) {
            self.on_tick(now);
        }
        self.pump(now);
    }

    fn on_tick(&mut self, now: Time) {
        self.next_tick = Some(now + REPORT_INTERVAL);
        let stats = self.connection().map(|connection| connection.stats());
        let paths = stats.map(|stats| stats.paths).unwrap_or_default();
        let packets = paths.iter().map(|path| path.packets_received).sum();
        if let Some(peer) = &mut self.peer {
            peer.is_silent = packets == peer.packets;
            peer.packets = packets;
        }
        self.inputs.push_back(Input::Tick);
    }

    fn kept_until(&self) -> Option<Time> {
        self.peer.as_ref()?.kept_until
    }

    fn answer_until(&self) -> Option<Time> {
        match self.peer.as_ref()?.phase {
            Phase::Calling { answer_until } => answer_until,
            Phase::Active => None,
        }
    }
}

fn due(now: Time, timers: impl Iterator<Item = (ConnectionId, Time)>) -> Vec<ConnectionId> {
    timers.filter(|(_, at)| *at <= now).map(|(id, _)| id).collect()
}
