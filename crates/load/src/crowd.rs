//! [`Crowd`]: viewers that watch, and press keys.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anabranch_driver::Clock;
use anabranch_sansio::{Rng, Time};
use anabranch_television::ViewerEvent;
use anabranch_television::channel::ChannelId;
use tokio::time::MissedTickBehavior;

use crate::record::Record;
use crate::seat::{Kind, Seat};
use crate::server::Server;

/// How often keys are pressed, as many as are due.
const TICK: Duration = Duration::from_millis(10);

/// How many viewers come at once: a server admits only so many handshakes of one address.
const ARRIVALS_AT_ONCE: usize = 8;

/// Between two such groups.
const ARRIVAL_PAUSE: Duration = Duration::from_millis(100);

/// How long the last to leave may take.
const FAREWELL_MAX: Duration = Duration::from_secs(5);

/// How long the last to come may take to be let in.
const WELCOME_MAX: Duration = Duration::from_secs(15);

/// A viewer and what it experiences.
pub(crate) struct Member {
    pub(crate) kind: Kind,
    seat: Seat,
    record: Arc<Mutex<Record>>,
}

/// Viewers of one server.
pub(crate) struct Crowd {
    clock: Clock,
    rng: Rng,
    pub(crate) members: Vec<Member>,
}

impl Member {
    /// What the viewer experienced so far.
    pub(crate) fn record(&self) -> MutexGuard<'_, Record> {
        lock(&self.record)
    }

    fn press(&self, now: Time, channel: ChannelId) {
        self.record().on_key(now, channel);
        self.seat.tune(channel);
    }
}

impl Crowd {
    /// Seats so many viewers of each kind, and waits until they are welcome.
    pub(crate) async fn gather(
        server: &Server,
        kinds: &[(Kind, usize)],
        seed: u64,
    ) -> io::Result<Self> {
        let clock = Clock::start();
        let mut crowd = Self { clock, rng: Rng::from_u64(seed), members: Vec::new() };
        for &(kind, count) in kinds {
            for number in 0..count {
                let seat = Seat::take(kind, server, clock, crowd.rng.fork()).await?;
                let record = Arc::new(Mutex::new(Record::default()));
                tokio::spawn(watch(seat.clone(), Arc::clone(&record), clock));
                crowd.members.push(Member { kind, seat, record });
                if number % ARRIVALS_AT_ONCE == ARRIVALS_AT_ONCE - 1 {
                    tokio::time::sleep(ARRIVAL_PAUSE).await;
                }
            }
        }
        crowd.settle().await?;
        Ok(crowd)
    }

    /// Waits for the last welcome; everybody presses a first key.
    async fn settle(&mut self) -> io::Result<()> {
        let deadline = self.clock.now() + WELCOME_MAX;
        while self.members.iter().any(|member| member.record().channels.is_empty()) {
            if let Some(reason) = self.members.iter().find_map(|m| m.record().closed.clone()) {
                return Err(io::Error::other(format!("a viewer was not let in: {reason}")));
            }
            if self.clock.now() > deadline {
                let text = "the server let not all viewers in, or has no channel on air";
                return Err(io::Error::other(text));
            }
            tokio::time::sleep(TICK).await;
        }
        (0..self.members.len()).for_each(|index| self.zap(index));
        Ok(())
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Lets the viewers watch for `span`, and press this many keys a second together.
    pub(crate) async fn watch(&mut self, span: Duration, zaps_per_second: f64) {
        let begin = self.now();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut pressed = 0.0;
        while self.now() < begin + span {
            ticks.tick().await;
            let due = (self.now() - begin).as_secs_f64() * zaps_per_second;
            while pressed + 1.0 <= due {
                pressed += 1.0;
                let index = self.rng.range(0..self.members.len() as u64) as usize;
                self.zap(index);
            }
        }
        let now = self.now();
        self.members.iter().for_each(|member| member.record().settle(now));
    }

    /// All viewers go. Who has not gone after a while is gone anyhow; true if there is nobody.
    pub(crate) async fn leave(self) -> bool {
        self.members.iter().for_each(|member| member.seat.leave());
        let deadline = self.now() + FAREWELL_MAX;
        while self.members.iter().any(|member| member.record().closed.is_none()) {
            if self.now() >= deadline {
                return false;
            }
            tokio::time::sleep(TICK).await;
        }
        true
    }

    /// One viewer presses the key of another channel.
    fn zap(&mut self, index: usize) {
        let member = &self.members[index];
        let others: Vec<ChannelId> = {
            let record = member.record();
            if record.closed.is_some() {
                return;
            }
            let watches = record.watches();
            let is_other = |channel: &ChannelId| Some(*channel) != watches;
            record.channels.iter().copied().filter(is_other).collect()
        };
        if others.is_empty() {
            return;
        }
        let channel = others[self.rng.range(0..others.len() as u64) as usize];
        member.press(self.clock.now(), channel);
    }
}

/// Takes down what a viewer experiences, until it is out.
async fn watch(seat: Seat, record: Arc<Mutex<Record>>, clock: Clock) {
    loop {
        match seat.next().await {
            Ok(event) => {
                lock(&record).on_event(clock.now(), &event);
                if let ViewerEvent::Urgent(urgent) = event {
                    seat.seen(urgent.id);
                }
            }
            Err(reason) => {
                lock(&record).closed.get_or_insert(reason);
                return;
            }
        }
    }
}

fn lock(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}
