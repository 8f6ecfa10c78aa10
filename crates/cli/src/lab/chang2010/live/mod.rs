//! Calls by round trip once more, for real: two agents, each on a host of its own, in real time,
//! with emulated links between them that are taken down.

mod agent;
mod hosts;
mod needs;
mod page;

use std::time::{Duration, Instant};

use anabranch_lab::Parameters;
use anabranch_lab::chang2010::{Cell, LiveCall, LiveEnd, LivePlan, Outcome, Values, film};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::time::{sleep, sleep_until};

use crate::failure::Failure;
use crate::signal;
pub(super) use agent::Recorded;
use agent::{Agent, Ends, Links, Place};
use hosts::{LINKS, Network};
pub(super) use needs::check;
use page::Page;

/// Frames of the last moment before somebody hangs up are not played any more.
const UNPLAYED: Duration = Duration::from_secs(1);

/// Live calls, and how they are made.
pub(super) struct Asked {
    pub(super) parameters: Parameters<Values>,
    pub(super) cells: Vec<Cell>,
    /// Cuts of each.
    pub(super) cuts: u32,
    /// How many go on at once.
    pub(super) jobs: usize,
    pub(super) recorded: Option<Recorded>,
}

/// What comes of all of them, in their order. All that was made for them goes when they are over,
/// or when somebody interrupts.
pub(super) async fn run(asked: Asked) -> Result<Vec<(Cell, Outcome)>, Failure> {
    let progress = progress(&asked)?;
    let calls: Vec<_> = asked.cells.iter().map(|cell| call(&asked, cell, &progress)).collect();
    let outcomes = stream::iter(calls).buffered(asked.jobs).try_collect::<Vec<_>>();
    let ended = tokio::select! {
        outcomes = outcomes => outcomes,
        () = signal::interrupted() => Err(Failure::failed("interrupted: no live call is kept")),
    };
    // What is simulated after this holds nothing that has to be cleaned up.
    signal::end_when_interrupted();
    progress.finish_and_clear();
    Ok(asked.cells.iter().copied().zip(ended?).collect())
}

/// Hidden where stderr is no terminal.
fn progress(asked: &Asked) -> Result<ProgressBar, Failure> {
    let total = asked.cells.len() as u64 * u64::from(asked.cuts);
    let style = ProgressStyle::with_template("{pos} of {len} live cuts {wide_bar} {eta} left");
    Ok(ProgressBar::new(total).with_style(style.map_err(Failure::failed)?))
}

/// Runs one call. What it made goes in the reverse order of its making.
async fn call(asked: &Asked, cell: &Cell, progress: &ProgressBar) -> Result<Outcome, Failure> {
    let failed = |failure: Failure| match failure {
        Failure::Usage(words) => Failure::failed(format!("{cell}, live: {words}")),
        Failure::Failed(cause) => Failure::failed(format!("{cell}, live: {cause}")),
    };
    let plan = LivePlan::of(cell, &asked.parameters, asked.cuts);
    let place = Place::new(&cell.name()).map_err(failed)?;
    let film_file = place.file("film.webm");
    std::fs::write(&film_file, film(cell, &asked.parameters, plan.film))?;
    let network = Network::new().await.map_err(failed)?;
    let links = Links::start(&network, &place, &plan.network, cell.seed).await.map_err(failed)?;
    let recorded = asked.recorded.as_ref();
    let ends = Ends { place: &place, film: &film_file, recorded, began: Instant::now() };
    let called = dial(&network, &ends, &plan, cell, progress).await.map_err(failed)?;
    links.end().await.map_err(failed)?;
    Ok(called.outcome(&asked.parameters))
}

async fn dial(
    network: &Network,
    ends: &Ends<'_>,
    plan: &LivePlan,
    cell: &Cell,
    progress: &ProgressBar,
) -> Result<LiveCall, Failure> {
    let url = format!("anabranch://:{}", hosts::PORT);
    let mut called = Agent::start("called", &network.called, &url, ends).await?;
    let link = called.page.until("the link to call", |told| told.link.clone()).await?;
    let mut caller =
        Agent::start("caller", &network.caller, &url_of(network, &link)?, ends).await?;
    caller.page.until("the call", page::Told::in_call).await?;
    let begin_us = micros(ends.began);
    let left_us = cut(network, &mut caller.page, plan, ends.began, progress).await?;
    let until_us = micros(ends.began) - UNPLAYED.as_micros() as i64;
    let unknown = || Failure::failed("an agent never told its time");
    let caller_us = caller.page.told().offset_us.ok_or_else(unknown)?;
    let called_us = called.page.told().offset_us.ok_or_else(unknown)?;
    caller.page.hang_up().await?;
    let end = |played, captured_offset_us, played_offset_us| LiveEnd {
        played,
        captured_offset_us,
        played_offset_us,
    };
    let heard_by_caller = caller.end(false).await?;
    let heard_by_called = called.end(true).await?;
    let ends =
        [end(heard_by_called, caller_us, called_us), end(heard_by_caller, called_us, caller_us)];
    let from_us = begin_us + plan.settled.as_micros() as i64;
    Ok(LiveCall { cell: *cell, left_us, from_us, until_us, ends })
}

/// What the caller is told: the listener's key, at the emulator's entrances.
fn url_of(network: &Network, link: &str) -> Result<String, Failure> {
    let (_, key) = link
        .split_once("key=")
        .ok_or_else(|| Failure::failed(format!("the listener's link has no key: {link}")))?;
    let [first, second] = [0, 1].map(|link| network.entrance(link));
    Ok(format!("anabranch://{first}?peer={second}&key={key}"))
}

/// Takes the path down that carries most, as often as planned; returns when each was left.
async fn cut(
    network: &Network,
    page: &mut Page,
    plan: &LivePlan,
    began: Instant,
    progress: &ProgressBar,
) -> Result<Vec<i64>, Failure> {
    let locals: Vec<_> = (0..LINKS.len()).map(|link| network.caller_at(link)).collect();
    let begin = tokio::time::Instant::now();
    let mut left_us = Vec::new();
    for at in &plan.cuts {
        sleep_until(begin + *at - plan.notice).await;
        page.until("both paths to stand", |told| told.all_stand(&locals)).await?;
        let (link, path) =
            page.until("a path that carries data", |told| told.busiest(&locals)).await?;
        left_us.push(micros(began));
        if !plan.notice.is_zero() {
            page.leave(path).await?;
            sleep(plan.notice).await;
        }
        network.take_down(link).await?;
        sleep(plan.away).await;
        network.bring_up(link).await?;
        if !plan.notice.is_zero() {
            page.use_again(path).await?;
        }
        progress.inc(1);
    }
    sleep(plan.after).await;
    Ok(left_us)
}

fn micros(began: Instant) -> i64 {
    began.elapsed().as_micros() as i64
}
