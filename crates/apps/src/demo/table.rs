//! A [`Report`] as people read it.

use std::fmt;

use super::handoff::Handoff;
use super::report::Report;
use crate::page::protocol::{LayerStats, PathState, PathStats, Tally};

/// Cuts that are listed one by one; of more, the distribution is told.
const HANDOFFS_LISTED: usize = 6;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let treatments = self.treatments.map_or("your own mix", |preset| preset.name());
        writeln!(
            f,
            "{:.1} s of media, latency {} ms, treatments: {treatments}, seed {}\n",
            self.seconds, self.latency_ms, self.seed
        )?;
        self.write_pictures(f)?;
        write_handoffs(&self.handoffs, f)?;
        self.write_paths(f)?;
        self.write_layers(f)
    }
}

impl Report {
    fn write_pictures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frames = &self.frames;
        let base_only = frames.shown - frames.shown_full;
        writeln!(
            f,
            "pictures   {} shown ({} in full quality, {base_only} base only), {} lost ({} late)",
            frames.shown, frames.shown_full, frames.lost, frames.late
        )?;
        if let Some((is, full)) = self.psnr_y_db.zip(self.psnr_y_full_db) {
            writeln!(f, "quality    {is:.2} dB PSNR-Y; {full:.2} dB had everything come")?;
        }
        let delay = &self.delay_ms;
        writeln!(
            f,
            "delay      {:.0} ms median, {:.0} ms p95, {:.0} ms p99, {:.0} ms at most",
            delay.p50, delay.p95, delay.p99, delay.max
        )?;
        writeln!(f, "stillness  {:.0} ms at most between two pictures", self.longest_gap_ms)
    }

    fn write_paths(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\npath       state                   RTT       sent    arrived   lost packets"
        )?;
        for path in &self.paths {
            write_path(path, f)?;
        }
        let has_primary = self.paths.iter().any(|path| path.primary);
        if has_primary { writeln!(f, "           * carries the data") } else { Ok(()) }
    }

    fn write_layers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n                  messages                           given up when\n\
             layer             sent   in time    late  repeated  expired  unsent  repeated"
        )?;
        for layer in &self.layers {
            write_layer(layer, f)?;
        }
        Ok(())
    }
}

fn write_path(path: &PathStats, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let name = path.info.name.as_deref().unwrap_or("?");
    let state = match path.state {
        PathState::Active => "active",
        PathState::PotentiallyFailed => "potentially failed",
        PathState::Inactive => "inactive",
        PathState::Unconfirmed => "unconfirmed",
    };
    let rtt = path.rtt_ms.map_or_else(|| "–".to_owned(), |ms| format!("{ms:.1} ms"));
    let packets = path.sent_packets.unwrap_or_default();
    let lost = path.lost_packets.unwrap_or_default();
    let share = 100.0 * lost as f64 / packets.max(1) as f64;
    let name = format!("{name}{}", if path.primary { "*" } else { "" });
    writeln!(
        f,
        "{name:<10} {state:<18} {rtt:>8} {:>10} {:>10}   {lost} ({share:.1} %)",
        megabytes(path.sent_bytes),
        megabytes(path.delivered_bytes),
    )
}

fn write_layer(layer: &LayerStats, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let abandoned = layer.abandoned.unwrap_or_default();
    let messages = |tally: Option<Tally>| tally.unwrap_or_default().messages;
    writeln!(
        f,
        "{:<12} {:>9} {:>9} {:>7} {:>9} {:>8} {:>7} {:>9}",
        layer.id,
        messages(layer.sent),
        layer.in_time.messages,
        layer.late.messages,
        messages(layer.retransmitted),
        abandoned.lifetime.messages,
        abandoned.before_sending.messages,
        abandoned.retransmissions.messages,
    )
}

fn write_handoffs(handoffs: &[Handoff], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if handoffs.len() <= HANDOFFS_LISTED {
        return handoffs.iter().try_for_each(|handoff| {
            let after = match handoff.longest_gap_after_return_ms {
                Some(gap_ms) => format!(", {gap_ms:.0} ms after its return"),
                None => String::new(),
            };
            writeln!(
                f,
                "handoff    {} cut at {:.1} s: still for {:.0} ms{after}",
                handoff.link, handoff.cut_at_s, handoff.longest_gap_ms
            )
        });
    }
    let mut gaps: Vec<_> = handoffs.iter().map(|handoff| handoff.longest_gap_ms).collect();
    gaps.sort_unstable_by(f64::total_cmp);
    let at = |percent: usize| gaps.get((gaps.len() - 1) * percent / 100).copied().unwrap_or(0.0);
    writeln!(
        f,
        "handoffs   {} cuts: still for {:.0} ms in the median, {:.0} ms p90, {:.0} ms at most",
        gaps.len(),
        at(50),
        at(90),
        at(100)
    )
}

fn megabytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "–".to_owned(), |bytes| format!("{:.2} MB", bytes as f64 / 1e6))
}
