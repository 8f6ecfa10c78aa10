//! How a transfer stands, in one line.

use anabranch_apps::service::Watching;
use anabranch_apps::service::{AssociationSnapshot, PathSnapshot, Snapshot, State};
use anabranch_sansio::Rate;

/// What every terminal shows of a line.
const COLUMNS: usize = 80;

/// The line that is overwritten on a terminal.
pub(super) fn status(snapshot: &Snapshot) -> String {
    let seconds = snapshot.at_ms / 1_000;
    let clock = format!("{}:{:02}", seconds / 60, seconds % 60);
    let state = match snapshot.state {
        State::Waiting => "waiting",
        State::Calling => "calling",
        State::Connected => return connected(snapshot, &clock),
    };
    format!("{clock}  {state}")
}

/// The same for who watches.
pub(super) fn watching_status(watching: &Watching) -> String {
    let seconds = watching.at_ms / 1_000;
    let clock = format!("{}:{:02}", seconds / 60, seconds % 60);
    let Some(association) = &watching.association else { return format!("{clock}  calling") };
    let channel = match (watching.channel, &watching.name) {
        (Some(number), Some(name)) => format!("{number} {name}"),
        (_, _) => "no channel".to_owned(),
    };
    let Watching { pictures, missing, .. } = watching;
    let rate = Rate::bps(watching.received_bps);
    let line = format!("{clock}  {channel}  {rate}  {pictures} pictures  {missing} missing");
    with_paths(&line, &association.paths)
}

fn connected(snapshot: &Snapshot, clock: &str) -> String {
    let rate = Rate::bps(snapshot.media_bps);
    let media = match &snapshot.playout {
        Some(playout) => {
            let counters = &playout.counters;
            let (late, lost) = (counters.late.total(), counters.skipped_items);
            let buffer = counters.queued_bytes / 1_000;
            format!("{late} late  {lost} lost  buffer {buffer} kB")
        }
        None => {
            let given_up: u64 = snapshot.classes.iter().map(given_up).sum();
            let association = snapshot.association.as_ref();
            let queue = association.map_or(0, |it| it.queued_bytes);
            let carries = association.map_or_else(String::new, carries);
            let queue = match queue / 1_000 {
                0 => String::new(),
                kilobytes => format!("  queue {kilobytes} kB"),
            };
            format!("{carries}{given_up} given up{queue}")
        }
    };
    let paths = snapshot.association.as_ref().map_or(&[][..], |it| &it.paths);
    with_paths(&format!("{clock}  {rate}  {media}"), paths)
}

/// The line with its paths behind it; without their losses where they do not fit.
fn with_paths(line: &str, paths: &[PathSnapshot]) -> String {
    let of = |loss_too| paths.iter().map(|it| path(it, loss_too)).collect::<Vec<_>>().join("  ");
    let whole = format!("{line}  {}", of(true));
    if whole.chars().count() <= COLUMNS { whole } else { format!("{line}  {}", of(false)) }
}

/// What the network carries.
fn carries(association: &AssociationSnapshot) -> String {
    let Some(bps) = association.carries_bps else { return String::new() };
    let or_more = if association.carries_at_least { "≥" } else { "" };
    format!("of {or_more}{}  ", Rate::bps(bps))
}

/// Messages of a class that were given up or dropped, and pictures that were left out.
pub(super) fn given_up(class: &anabranch_apps::service::ClassSnapshot) -> u64 {
    class.sent.as_ref().map_or(0, |sent| {
        sent.abandoned_unsent
            + sent.abandoned_expired
            + sent.abandoned_retransmissions
            + sent.dropped
            + sent.left_out
            + sent.left_out_for_output
    })
}

fn path(path: &PathSnapshot, loss_too: bool) -> String {
    let mark = if path.current { "*" } else { "" };
    let rtt = path.rtt_ms.map_or_else(|| "-".to_owned(), |rtt| format!("{rtt:.0}"));
    let loss = path.loss.filter(|_| loss_too);
    let loss = loss.map_or_else(String::new, |loss| format!(" {:.1}%", 100.0 * loss));
    let state = if path.state == "active" { String::new() } else { words(path.state) };
    format!("[{}{mark} {rtt}ms{loss}{state}]", path.id)
}

fn words(state: &str) -> String {
    format!(" {}", state.replace('_', " "))
}
