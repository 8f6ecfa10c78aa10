//! [`Wifi`]: stations that take turns by the distributed coordination function of IEEE 802.11.
//!
//! All clauses are those of IEEE 802.11-2016. All stations hear each other. What a contention
//! comes to, from the first frame to the end of the last answer, is decided when it begins; nothing
//! that happens meanwhile can change it.

mod airtime;
mod contender;
mod frames;
#[cfg(test)]
mod tests;

use anabranch_sansio::{Rng, Time};

use super::End;
use crate::{Link, Packet, WifiConfig};
use airtime::Airtime;
use contender::Contender;
use frames::{Burst, Frames};

/// The medium of a Wi-Fi cell.
#[derive(Debug)]
pub(super) struct Wifi {
    config: WifiConfig,
    airtime: Airtime,
    contenders: Vec<Contender>,
    /// The frames of each link.
    frames: Vec<Frames>,
    /// Which contender sends on each link.
    senders: Vec<usize>,
    busy_until: Time,
    /// Draws backoffs.
    rng: Rng,
}

/// Who sends what, and when it begins.
struct Attempt {
    contender: usize,
    burst: Burst,
    begins: Time,
}

impl Wifi {
    pub(super) fn new(config: WifiConfig, rng: Rng) -> Self {
        Self {
            airtime: Airtime::new(config.standard),
            config,
            contenders: Vec::new(),
            frames: Vec::new(),
            senders: Vec::new(),
            busy_until: Time::ZERO,
            rng,
        }
    }

    /// Adds a link that sends at this end.
    pub(super) fn add(&mut self, end: End) {
        let link = self.frames.len();
        self.frames.push(Frames::default());
        let known = self.contenders.iter().position(|contender| contender.end == end);
        let contender = known.unwrap_or_else(|| {
            self.contenders.push(Contender::new(end, &self.config));
            self.contenders.len() - 1
        });
        self.contenders[contender].add_link(link);
        self.senders.push(contender);
    }

    /// A packet waits in the queue of a link.
    pub(super) fn on_packet(&mut self, now: Time, link: usize) {
        let is_busy = now < self.busy_until;
        let contender = &mut self.contenders[self.senders[link]];
        contender.want(now, is_busy, self.airtime.slot, &mut self.rng);
    }

    /// A link was cut: its frames.
    pub(super) fn on_cut(&mut self, link: usize) -> Vec<Packet> {
        self.frames[link].clear()
    }

    /// When the next transmission begins, if nothing else comes.
    pub(super) fn next_at(&self) -> Option<Time> {
        self.contenders.iter().filter_map(|contender| contender.due(self.airtime.slot)).min()
    }

    /// Sends what is due at `now`.
    pub(super) fn act(&mut self, now: Time, links: &mut [Link]) {
        let attempts = self.attempts(now, links);
        match attempts.as_slice() {
            [] => {}
            [alone] => self.exchange(alone, links),
            colliding => self.collide(colliding, links),
        }
        for contender in &mut self.contenders {
            let frames = &self.frames;
            let has_something = |link: usize| !frames[link].is_empty() || links[link].has_waiting();
            if !contender.has_any(has_something) {
                contender.rest();
            }
        }
    }

    /// Who sends now. A slot is the time that a station takes to notice another's frame and to act
    /// on it (section 10.3.7): who is due within one after the first sends too.
    fn attempts(&mut self, now: Time, links: &mut [Link]) -> Vec<Attempt> {
        let slot = self.airtime.slot;
        let mut attempts = Vec::new();
        for (number, contender) in self.contenders.iter_mut().enumerate() {
            let Some(begins) = contender.due(slot).filter(|due| *due < now + slot) else {
                contender.freeze(now, slot);
                continue;
            };
            let frames = &self.frames;
            let has_something = |link: usize| !frames[link].is_empty() || links[link].has_waiting();
            let Some(link) = contender.take_turn(has_something) else {
                contender.rest();
                continue;
            };
            let burst = self.frames[link].compose(
                begins,
                link,
                &mut links[link],
                &self.airtime,
                &self.config,
            );
            attempts.push(Attempt { contender: number, burst, begins });
        }
        attempts
    }

    /// One sends alone, and what arrives is acknowledged.
    fn exchange(&mut self, attempt: &Attempt, links: &mut [Link]) {
        let Attempt { contender, burst, begins } = *attempt;
        let airtime = self.airtime;
        let mut data_begins = begins;
        if burst.is_announced(&self.config) {
            let announced = airtime.rts(burst.rate) + airtime.sifs + airtime.cts(burst.rate);
            data_begins += announced + airtime.sifs + 2 * airtime.propagation;
        }
        let arrival = data_begins + burst.airtime(&airtime) + airtime.propagation;
        let answered = arrival + airtime.sifs + burst.answer(&airtime) + airtime.propagation;
        let link = &mut links[burst.link];
        let frames = &mut self.frames[burst.link];
        let arrives = |link: &mut Link| !link.loses_frame(arrival);
        let outcome = frames.sent(burst.count, link, self.config.attempts_max, arrives);
        frames.release(arrival, link);
        // Section 10.3.2.4: who heard the frame keeps silent for its answer too, which the Duration
        // field announces, whether or not it comes.
        self.occupy(answered);
        for other in &mut self.contenders {
            other.resume(answered + airtime.ifs());
        }
        let sender = &mut self.contenders[contender];
        if outcome.any_arrived || outcome.any_given_up {
            sender.succeed(&self.config, &mut self.rng);
        } else {
            sender.fail(&self.config, &mut self.rng);
        }
    }

    /// Several send at once, and nothing of it can be read.
    fn collide(&mut self, attempts: &[Attempt], links: &mut [Link]) {
        let airtime = self.airtime;
        let end = |attempt: &Attempt| {
            let is_announced = attempt.burst.is_announced(&self.config);
            let rts = is_announced.then(|| airtime.rts(attempt.burst.rate));
            attempt.begins + rts.unwrap_or_else(|| attempt.burst.airtime(&airtime))
        };
        let last = attempts.iter().map(end).max().unwrap_or(Time::ZERO) + airtime.propagation;
        let ends: Vec<Time> = attempts.iter().map(end).collect();
        self.occupy(last);
        for other in &mut self.contenders {
            other.resume(last + airtime.eifs());
        }
        for (attempt, end) in attempts.iter().zip(ends) {
            let link = &mut links[attempt.burst.link];
            let frames = &mut self.frames[attempt.burst.link];
            let max = self.config.attempts_max;
            let outcome = frames.sent(attempt.burst.count, link, max, |_| false);
            frames.release(end, link);
            let sender = &mut self.contenders[attempt.contender];
            sender.resume(last.max(end + airtime.answer_timeout()) + airtime.ifs());
            if outcome.any_given_up {
                sender.succeed(&self.config, &mut self.rng);
            } else {
                sender.fail(&self.config, &mut self.rng);
            }
        }
    }

    fn occupy(&mut self, until: Time) {
        self.busy_until = self.busy_until.max(until);
    }
}
