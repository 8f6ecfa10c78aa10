//! How a transfer went, in a table.

use std::fmt::Write as _;

use anabranch_apps::service::{PathSnapshot, Snapshot};
use anabranch_session::Role;

use super::status::given_up;

/// The closing words; empty if nothing was ever sent or received.
pub(super) fn summary(snapshot: &Snapshot) -> String {
    let Some(association) = &snapshot.association else { return String::new() };
    if snapshot.media_bytes == 0 {
        return String::new();
    }
    let mut text = match snapshot.role {
        Role::Sender => sender_table(snapshot),
        Role::Receiver => receiver_table(snapshot),
    };
    for path in &association.paths {
        text += &path_line(path);
    }
    if let Some(advised) = snapshot.advised_latency_ms {
        let in_force = snapshot.latency_ms;
        let _infallible = writeln!(
            text,
            "advised latency: {advised} ms, by round trip and loss; {in_force} ms was in force"
        );
    }
    text
}

fn sender_table(snapshot: &Snapshot) -> String {
    let mut text = format!(
        "{:<12} {:>9} {:>9} {:>9} {:>9} {:>9}\n",
        "sent", "messages", "kB", "kB again", "kB twice", "given up"
    );
    for class in &snapshot.classes {
        let Some(sent) = &class.sent else { continue };
        let _infallible = writeln!(
            text,
            "{:<12} {:>9} {:>9} {:>9} {:>9} {:>9}",
            class.class,
            sent.sent_messages,
            sent.sent_bytes / 1_000,
            sent.retransmitted_bytes / 1_000,
            sent.copied_bytes / 1_000,
            given_up(class)
        );
    }
    text
}

fn receiver_table(snapshot: &Snapshot) -> String {
    let mut text = format!("{:<12} {:>9} {:>9} {:>9}\n", "received", "in time", "kB", "late");
    for class in &snapshot.classes {
        let Some(arrived) = &class.arrived else { continue };
        let _infallible = writeln!(
            text,
            "{:<12} {:>9} {:>9} {:>9}",
            class.class,
            arrived.in_time_messages,
            arrived.in_time_bytes / 1_000,
            arrived.late_messages
        );
    }
    let Some(playout) = &snapshot.playout else { return text };
    let counters = &playout.counters;
    let whole = if counters.skipped_items == 0 { "nothing is missing" } else { "not complete" };
    let _infallible = writeln!(
        text,
        "handed on: {} packets, {} missing: {whole}",
        counters.released_items, counters.skipped_items
    );
    text += &left_out_line(snapshot);
    if let Some(jitter) = &playout.pcr_jitter {
        let _infallible = writeln!(
            text,
            "PCR jitter: {:.2} ms mean, {:.2} ms at most in 99 of 100",
            jitter.mean_us as f64 / 1e3,
            jitter.p99_us as f64 / 1e3
        );
    }
    text
}

/// What was left out for the reader of the output, apart from what the network lost.
fn left_out_line(snapshot: &Snapshot) -> String {
    let here = snapshot.classes.iter().filter_map(|class| class.arrived.as_ref());
    let here: u64 = here.map(|arrived| arrived.left_out_for_output).sum();
    let there = snapshot.measures.as_ref().map_or(0, |measures| measures.left_out_for_output);
    match here + there {
        0 => String::new(),
        pictures => format!(
            "left out, since the output did not take all: {pictures} pictures, {there} of them by \
             the sender\n"
        ),
    }
}

fn path_line(path: &PathSnapshot) -> String {
    let rtt = path.rtt_ms.map_or_else(|| "-".to_owned(), |rtt| format!("{rtt:.1} ms"));
    let loss = path.loss.map_or_else(|| "-".to_owned(), |loss| format!("{:.2} %", 100.0 * loss));
    format!(
        "path {}  {} -> {}  {}\n        RTT {rtt}  loss {loss}  {} kB out, {} kB in\n",
        path.id,
        path.local,
        path.remote,
        path.state.replace('_', " "),
        path.sent_bytes / 1_000,
        path.received_bytes / 1_000
    )
}
