//! A scenario's steps in real time.

use std::collections::VecDeque;
use std::future;

use anabranch_driver::emulator::{Direction, Emulator, UnknownLink};
use anabranch_netsim::{Action, NamedLink};
use tokio::time::{self, Instant};

/// Takes the steps of a scenario when their time has come.
#[derive(Debug)]
pub(super) struct Player {
    steps: VecDeque<Action>,
    /// When the next step is due; `None` is never.
    due: Option<Instant>,
}

impl Player {
    /// Starts now. Without steps nothing ever happens.
    pub(super) fn start(steps: Vec<Action>) -> Self {
        let due = (!steps.is_empty()).then(Instant::now);
        Self { steps: steps.into(), due }
    }

    /// Waits for the next thing that happens and does it; returns it in words. May be dropped while
    /// it waits.
    pub(super) async fn next(&mut self, emulator: &Emulator) -> Result<String, UnknownLink> {
        loop {
            let Some(due) = self.due else { return future::pending().await };
            time::sleep_until(due).await;
            let Some(step) = self.steps.pop_front() else {
                self.due = None;
                return Ok("the scenario is over; the links stay as they are".to_owned());
            };
            if let Action::Run(span) = step {
                self.due = due.checked_add(span);
                continue;
            }
            return take(&step, emulator);
        }
    }
}

fn take(step: &Action, emulator: &Emulator) -> Result<String, UnknownLink> {
    match step {
        Action::Link(link) => reconfigure(link, emulator),
        Action::Cut(name) => emulator.cut(name).map(|()| format!("{name} is cut")),
        Action::Restore(name) => emulator.restore(name).map(|()| format!("{name} is back")),
        Action::Rebind(name) => {
            emulator.rebind(name).map(|()| format!("{name} has new ports for its clients"))
        }
        // It has no other address; who is sent from other ports learns of it the same way.
        Action::Address(name) => {
            emulator.rebind(name).map(|()| format!("{name} has new ports, instead of an address"))
        }
        Action::Check(expectation) => Ok(format!("expected by now: {expectation}")),
        Action::Run(span) => Ok(format!("{span:?} pass")),
    }
}

fn reconfigure(link: &NamedLink, emulator: &Emulator) -> Result<String, UnknownLink> {
    let config = link.config();
    emulator.reconfigure(&link.name, Direction::Up, config.forward)?;
    emulator.reconfigure(&link.name, Direction::Down, config.backward)?;
    Ok(format!("{} is changed", link.name))
}
