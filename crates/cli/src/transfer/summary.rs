//! How a transfer went, in a table.

use std::fmt::Write as _;

use anabranch_apps::service::{ClassSnapshot, PathSnapshot, Snapshot};
use anabranch_session::Role;

/// The closing words; empty if nothing was ever sent or received.
pub(super) fn summary(snapshot: &Snapshot) -> String {
    let Some(association) = &snapshot.association else { return String::new() };
    if snapshot.media_bytes == 0 {
        return String::new();
    }
    let mut text = match snapshot.role {
        Role::Sender => sender_table(&snapshot.classes),
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

/// What was sent, how much of that was given up later, and what was never sent.
fn sender_table(classes: &[ClassSnapshot]) -> String {
    let mut text = format!(
        "{:<12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n",
        "sent", "messages", "kB", "kB again", "kB twice", "given up", "unsent"
    );
    let (mut left_out, mut left_out_for_output) = (0, 0);
    for class in classes {
        let Some(sent) = &class.sent else { continue };
        left_out += sent.left_out;
        left_out_for_output += sent.left_out_for_output;
        let _infallible = writeln!(
            text,
            "{:<12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
            class.class,
            sent.sent_messages,
            sent.sent_bytes / 1_000,
            sent.retransmitted_bytes / 1_000,
            sent.copied_bytes / 1_000,
            sent.abandoned_expired + sent.abandoned_retransmissions,
            sent.abandoned_unsent + sent.dropped
        );
    }
    for (why, pictures) in [
        ("the network does not carry all", left_out),
        ("the receiver's output does not take all", left_out_for_output),
    ] {
        if pictures > 0 {
            let _infallible = writeln!(text, "left out, since {why}: {pictures} pictures");
        }
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
    // A receiver sends so little that one loss is a large share: of how many is said beside it.
    let of_sent = |loss| format!("{:.2} % of {} sent", 100.0 * loss, path.sent_chunks);
    let loss = path.loss.map_or_else(|| "-".to_owned(), of_sent);
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

#[cfg(test)]
mod tests {
    use anabranch_apps::service::SentSnapshot;

    use super::*;

    #[test]
    fn what_was_given_up_is_of_what_was_sent_and_what_never_left_stands_beside_it() {
        let sent = SentSnapshot {
            sent_messages: 3_358,
            abandoned_retransmissions: 150,
            abandoned_expired: 12,
            abandoned_unsent: 70,
            dropped: 5,
            left_out: 9,
            ..SentSnapshot::default()
        };
        let class = ClassSnapshot { class: "reference", sent: Some(sent), arrived: None };
        let table = sender_table(&[class]);
        let lines: Vec<_> = table.lines().collect();
        let row: Vec<_> = lines[1].split_whitespace().collect();
        assert_eq!(row, ["reference", "3358", "0", "0", "0", "162", "75"]);
        assert_eq!(lines[2], "left out, since the network does not carry all: 9 pictures");
        assert!(lines.iter().all(|line| line.len() <= 80), "{table}");
    }
}
