//! What the paper says about each of its figures, and what ours shows of it.

use super::super::cell::Setup;
use super::super::measure::{Measured, Second};
use super::super::strategy::{RtpStrategy, SctpStrategy, Strategy, Treatment};

/// The number of a strategy's figure in the paper, and what the text says of its shape.
pub(super) fn paper_figure(strategy: Strategy) -> Option<(u32, &'static str)> {
    const CMT: &str = "uses both interfaces fully.";
    const SINGLE: &str =
        "makes sparse use of the second interface, for what was lost on the first.";
    const STARVED: &str = "makes sparse use of the second interface; the receiver gets nothing \
                           more from about the middle on, since ns-2's unreliable SCTP drops all \
                           that comes once the receive window is full.";
    Some(match strategy {
        Strategy::Sctp(SctpStrategy::CmtMulti(treatment)) => (number(2, treatment), CMT),
        Strategy::Sctp(SctpStrategy::Multi(treatment)) => {
            (number(5, treatment), starved(treatment, STARVED, SINGLE))
        }
        Strategy::Sctp(SctpStrategy::Single(treatment)) => {
            (number(8, treatment), starved(treatment, STARVED, SINGLE))
        }
        Strategy::Rtp(RtpStrategy::Multi) => {
            (10, "uses the second interface more than the first, as the enhancement is larger.")
        }
        Strategy::Rtp(RtpStrategy::Single) => (
            11,
            "loses clearly where the video exceeds 30 Mbit/s, and has the worst PSNR and the best \
             delay of all.",
        ),
        Strategy::Tcp => {
            (12, "does well at first; once packets are lost, the delay grows prohibitively.")
        }
        Strategy::Sctp(SctpStrategy::Anabranch) => return None,
    })
}

/// What the file of a strategy's figure is called, without ending.
#[must_use]
pub fn figure_name(strategy: Strategy) -> String {
    match paper_figure(strategy) {
        Some((number, _)) => format!("figure-{number:02}-{strategy}"),
        None => format!("figure-{strategy}"),
    }
}

/// Reliable, unreliable and mixed follow each other.
const fn number(first: u32, treatment: Treatment) -> u32 {
    match treatment {
        Treatment::Reliable => first,
        Treatment::Unreliable(_) => first + 1,
        Treatment::Mixed(_) => first + 2,
    }
}

const fn starved(treatment: Treatment, yes: &'static str, no: &'static str) -> &'static str {
    match treatment {
        Treatment::Reliable => no,
        Treatment::Unreliable(_) | Treatment::Mixed(_) => yes,
    }
}

/// The same features of ours, in words.
pub(super) fn observed(setup: &Setup, measured: &Measured) -> String {
    let seconds = &measured.seconds[..];
    let split = (setup.values().loss_from[0].as_secs() as usize).min(seconds.len());
    let (before, after) = seconds.split_at(split);
    let after = &after[..after.len().min(setup.whole_s.saturating_sub(split))];
    let sum = |of: fn(&Second) -> f64| seconds.iter().map(of).sum::<f64>();
    let (eth0, eth1) = (sum(|second| second.eth0_mbps), sum(|second| second.eth1_mbps));
    let course = match (before, after) {
        ([], all) | (all, []) => format!(
            "mean delay {}; missing at the receiver {} Mbit/s",
            delay(all),
            missing_mbps(all)
        ),
        (before, after) => format!(
            "mean delay {} in the first {split} s and {} after; missing at the receiver {} and {} \
             Mbit/s",
            delay(before),
            delay(after),
            missing_mbps(before),
            missing_mbps(after)
        ),
    };
    format!(
        "eth1 carries {:.1} % of all bytes; {course}; at rest after {} s; timers expired: {}.",
        100.0 * eth1 / (eth0 + eth1).max(f64::MIN_POSITIVE),
        measured.outcome.duration_s,
        measured.outcome.timeouts,
    )
}

/// A dash where nothing arrived.
fn delay(seconds: &[Second]) -> String {
    match mean(seconds, |second| second.delay_s) {
        Some(delay_s) if delay_s < 1.0 => format!("{:.1} ms", delay_s * 1e3),
        Some(delay_s) => format!("{delay_s:.1} s"),
        None => "\u{2013}".to_owned(),
    }
}

fn missing_mbps(seconds: &[Second]) -> String {
    format!("{:.2}", mean(seconds, |second| Some(second.loss_mbps)).unwrap_or_default())
}

/// `None` where there is nothing.
fn mean(seconds: &[Second], of: impl Fn(&Second) -> Option<f64>) -> Option<f64> {
    let values: Vec<_> = seconds.iter().filter_map(of).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
