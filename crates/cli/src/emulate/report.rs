//! What the emulator's counters look like: live lines, and the closing table.

use std::fmt::Write as _;
use std::time::Duration;

use anabranch_driver::emulator::EmulatedLinkStats;
use anabranch_netsim::{LinkConfig, LinkStats, Loss, Probability, QueueLimit, Traffic};
use anabranch_sansio::Rate;

/// Where a link listens and how it is set.
pub(super) fn opening(link: &EmulatedLinkStats) -> String {
    format!(
        "listening on {} for {} ({})\n  up:   {}\n  down: {}\n",
        link.listen,
        link.target,
        link.name,
        setting(&link.up_config),
        setting(&link.down_config),
    )
}

/// What has happened on a link in the last `span`, in one line.
pub(super) fn live(now: &EmulatedLinkStats, before: &EmulatedLinkStats, span: Duration) -> String {
    let state = if now.is_up { "" } else { " cut" };
    format!(
        "{:<10.10}{state:<4} up {} down {}",
        now.name,
        moving(&now.up, &before.up, span),
        moving(&now.down, &before.down, span),
    )
}

/// What became of all packets.
pub(super) fn closing(links: &[EmulatedLinkStats]) -> String {
    let mut table = format!(
        "{:<12} {:<4} {:>10} {:>10} {:>8} {:>10} {:>8} {:>8}\n",
        "link", "way", "packets", "delivered", "lost", "queue full", "cut", "too long"
    );
    for link in links {
        for (way, stats) in [("up", &link.up), ("down", &link.down)] {
            table.push_str(&row(&link.name, way, stats));
        }
    }
    for link in links {
        table.push_str(&remarks(link));
    }
    table
}

fn setting(config: &LinkConfig) -> String {
    let mut text = format!("{}, {:?}", speed(config), config.delay);
    if !config.jitter.is_zero() {
        // Writing to a string cannot fail.
        let _ = write!(text, " and up to {:?} more", config.jitter);
    }
    let _ = match config.loss {
        _ if config.cell.is_some() => {
            write!(text, ", {}% of frames lost", percent(config.loss.mean()))
        }
        Loss::None => write!(text, ", no loss"),
        Loss::Uniform { .. } => write!(text, ", {}% lost", percent(config.loss.mean())),
        Loss::GilbertElliott { .. } => {
            write!(text, ", {}% lost in bursts", percent(config.loss.mean()))
        }
    };
    if config.reorder > Probability::NEVER {
        let (share, most) = (percent(config.reorder.as_f64()), config.hold_max);
        let _ = write!(text, ", {share}% held back for up to {most:?}");
    }
    if config.rate.is_some() || config.trace.is_some() {
        let _ = match config.queue {
            QueueLimit::Packets(packets) => write!(text, ", queue of {packets} packets"),
            QueueLimit::Bytes(bytes) => write!(text, ", queue of {bytes} bytes"),
        };
    }
    text
}

fn speed(config: &LinkConfig) -> String {
    if let (Some(cell), Some(rate)) = (&config.cell, config.rate) {
        return format!("{} at {rate}", cell.medium.as_str());
    }
    match (&config.trace, config.rate) {
        (Some(trace), _) => {
            format!("a trace of {:?} at {} on average", trace.period(), trace.mean_rate())
        }
        (None, Some(rate)) => rate.to_string(),
        (None, None) => "unlimited rate".to_owned(),
    }
}

/// A share in percent, to three digits behind the point and no zeros at the end.
fn percent(share: f64) -> f64 {
    (share * 1e5).round() / 1e3
}

fn moving(now: &LinkStats, before: &LinkStats, span: Duration) -> String {
    let rate = Rate::of(now.delivered.bytes.saturating_sub(before.delivered.bytes), span);
    let dropped = since(now.dropped.total(), before.dropped.total());
    let share = match since(now.delivered, before.delivered) + dropped {
        0 => 0.0,
        all => dropped as f64 / all as f64,
    };
    format!("{:>13} {:>5.1} % lost", rate.to_string(), share * 100.0)
}

fn since(now: Traffic, before: Traffic) -> u64 {
    now.packets.saturating_sub(before.packets)
}

fn row(name: &str, way: &str, stats: &LinkStats) -> String {
    let drops = &stats.dropped;
    format!(
        "{name:<12} {way:<4} {:>10} {:>10} {:>8} {:>10} {:>8} {:>8}\n",
        stats.offered.packets,
        stats.delivered.packets,
        (drops.loss + drops.retries).packets,
        drops.queue.packets,
        drops.cut.packets,
        drops.mtu.packets,
    )
}

fn remarks(link: &EmulatedLinkStats) -> String {
    let mut text = format!(
        "{}: {}; packets left {:.2} ms late on average, {:.2} ms at most\n",
        link.name,
        clients(link.clients),
        millis(link.lateness.mean()),
        millis(link.lateness.max),
    );
    for (packets, why) in [
        (link.refused, "had no room or no socket for their client"),
        (link.up.repeated + link.down.repeated, "were sent again on the air"),
        (link.strangers, "came from elsewhere than the target and were dropped"),
    ] {
        if packets > 0 {
            let _ = writeln!(text, "{}: {packets} packets {why}", link.name);
        }
    }
    text
}

fn clients(number: usize) -> String {
    if number == 1 { "1 client".to_owned() } else { format!("{number} clients") }
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use anabranch_driver::emulator::Lateness;
    use anabranch_netsim::Drops;

    use super::*;

    fn traffic(packets: u64) -> Traffic {
        Traffic { packets, bytes: packets * 1_250 }
    }

    fn stats(delivered: u64, lost: u64) -> EmulatedLinkStats {
        let one = LinkStats {
            offered: traffic(delivered + lost),
            delivered: traffic(delivered),
            dropped: Drops { loss: traffic(lost), ..Drops::default() },
            ..LinkStats::default()
        };
        EmulatedLinkStats {
            name: "wifi".to_owned(),
            listen: "127.0.0.1:7000".parse().unwrap(),
            target: "127.0.0.1:9000".parse().unwrap(),
            is_up: true,
            up_config: LinkConfig::wifi(),
            down_config: LinkConfig::default(),
            up: one,
            down: LinkStats::default(),
            clients: 1,
            evicted: 0,
            refused: 3,
            strangers: 0,
            lateness: Lateness::default(),
        }
    }

    #[test]
    fn an_opening_says_how_the_link_is_set() {
        let expected = "listening on 127.0.0.1:7000 for 127.0.0.1:9000 (wifi)\n  \
            up:   30.00 Mbit/s, 10ms and up to 2ms more, 0.1% lost in bursts, queue of 375000 bytes\
            \n  down: unlimited rate, 0ns, no loss\n";
        assert_eq!(opening(&stats(0, 0)), expected);
    }

    #[test]
    fn an_opening_names_the_standard_of_a_cell() {
        let config = LinkConfig::wifi_cell();
        let expected = "802.11n at 65.00 Mbit/s, 0ns, 5% of frames lost, queue of 100 packets";
        assert_eq!(setting(&config), expected);
    }

    #[test]
    fn a_live_line_tells_of_the_last_span_only_and_fits_a_terminal() {
        let line = live(&stats(1_900, 200), &stats(1_000, 100), Duration::from_secs(1));
        assert!(line.contains("9.00 Mbit/s  10.0 % lost"), "{line}");
        assert!(line.contains("0 bit/s   0.0 % lost"), "{line}");
        assert!(line.len() < 80, "{line}");
        let cut = EmulatedLinkStats { is_up: false, ..stats(0, 0) };
        assert!(live(&cut, &cut, Duration::from_secs(1)).starts_with("wifi       cut up"));
    }

    #[test]
    fn the_closing_table_counts_every_packet_and_remarks_on_the_odd_ones() {
        let table = closing(&[stats(90, 10)]);
        let lines: Vec<_> = table.lines().collect();
        let words: Vec<_> = lines[1].split_whitespace().collect();
        assert_eq!(words, ["wifi", "up", "100", "90", "10", "0", "0", "0"]);
        assert_eq!(lines.len(), 5, "{table}");
        assert!(lines[4].starts_with("wifi: 3 packets had no room"), "{table}");
        assert!(lines.iter().all(|line| line.len() < 80), "{table}");
    }
}
