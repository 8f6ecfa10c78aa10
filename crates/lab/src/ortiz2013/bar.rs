//! [`Standing`]: our strategy beside the best of the paper's.

use std::fmt::Write as _;

use super::cell::Setup;
use super::strategy::Strategy;
use super::table::Row;

/// Ours is to be at most this much slower than the fastest of the others, in seconds.
pub const DELAY_MARGIN_S: f64 = 0.005;
/// Ours is to show at most this much less than the whole video has, in dB.
pub const PSNR_Y_MARGIN_DB: f64 = 0.1;

/// One network: our strategy and the one of the others that has the lowest delay there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// The other one.
    pub fastest: Row,
    /// Ours.
    pub ours: Row,
    /// PSNR-Y of the whole video, in dB; none of a film, which is not scored.
    pub full_psnr_y_db: Option<f64>,
}

impl Standing {
    /// Whether ours is as fast as the fastest and as sharp as the video, within the margins: then
    /// no other strategy is better in both. Nobody knows it of a film.
    #[must_use]
    pub fn is_within_bar(&self) -> Option<bool> {
        let slower = self.ours.delay_s.mean - self.fastest.delay_s.mean;
        let less = self.full_psnr_y_db? - self.ours.psnr_y_db?.mean;
        Some(slower <= DELAY_MARGIN_S && less <= PSNR_Y_MARGIN_DB)
    }
}

/// Every network in which ours and another strategy were run.
#[must_use]
pub fn standings(rows: &[Row], full_psnr_y_db: Option<f64>) -> Vec<Standing> {
    let ours = rows.iter().filter(|row| row.strategy == Strategy::OURS);
    let standing = |ours: &Row| {
        let others = rows.iter().filter(|row| {
            let is_there =
                row.mbps.total_cmp(&ours.mbps).is_eq() && row.loss.total_cmp(&ours.loss).is_eq();
            is_there && row.strategy != Strategy::OURS
        });
        let fastest = others.min_by(|a, b| a.delay_s.mean.total_cmp(&b.delay_s.mean))?;
        Some(Standing { fastest: *fastest, ours: *ours, full_psnr_y_db })
    };
    ours.filter_map(standing).collect()
}

/// What ours has that the others have not.
#[must_use]
pub(super) fn terms(setup: &Setup) -> String {
    let values = setup.values();
    let kib = |bytes: usize| bytes as f64 / 1_024.0;
    format!(
        "Ours does not run on the others' terms: its receive window has {:.0} KiB, SCTP's {:.0} \
         and TCP's {:.0}; its retransmission timer lasts {:?} at least, SCTP's {:?} and TCP's \
         {:?}; and each of its packets is delivered as it comes, where SCTP and TCP deliver in \
         order.",
        kib(values.our_buffer),
        kib(values.sctp_buffer),
        kib(values.tcp_buffer),
        values.our_rto_min,
        values.sctp_rto_min,
        values.tcp_rto_min,
    )
}

/// The standings as a table; nothing where there are none.
#[must_use]
pub fn standings_table(standings: &[Standing], setup: &Setup) -> String {
    let Some(first) = standings.first() else { return String::new() };
    let bar = match first.full_psnr_y_db {
        Some(full_psnr_y_db) => format!(
            "the bar: {} ms above it, {PSNR_Y_MARGIN_DB} dB below {full_psnr_y_db:.2} dB",
            DELAY_MARGIN_S * 1e3,
        ),
        None => format!("delay / {}", setup.seen_as()),
    };
    let mut text = format!("Ours beside the fastest of the others; {bar}\n");
    for standing in standings {
        let Standing { fastest, ours, .. } = standing;
        // Writing to a string does not fail.
        let verdict = match standing.is_within_bar() {
            Some(true) => "   within",
            Some(false) => "   MISSED",
            None => "",
        };
        let _ = writeln!(
            text,
            "{:>2} Mbit/s, loss {:<7} {:22} {}   {:10} {}{verdict}",
            ours.mbps,
            ours.loss,
            fastest.strategy,
            pair(fastest),
            ours.strategy,
            pair(ours),
        );
    }
    text.push_str(&terms(setup));
    text.push_str("\n\n");
    text
}

fn pair(row: &Row) -> String {
    let seen = row.psnr_y_db.map_or_else(|| row.seen(), |it| format!("{:.2} dB", it.mean));
    format!("{:.4} s / {seen}", row.delay_s.mean)
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::super::strategy::RtpStrategy;
    use super::super::table::testing::row;
    use super::*;
    use crate::parameter::Parameters;

    const FULL: f64 = 34.5;

    fn standing(delay_s: f64, psnr_y_db: f64) -> Vec<Standing> {
        let rtp = Strategy::Rtp(RtpStrategy::Single);
        let slow = Strategy::Rtp(RtpStrategy::Multi);
        let elsewhere = Row { mbps: 60.0, ..row(rtp, 0.001, 30.0) };
        let ours = row(Strategy::OURS, delay_s, psnr_y_db);
        standings(&[row(slow, 0.02, FULL), row(rtp, 0.01, 30.0), elsewhere, ours], Some(FULL))
    }

    #[test]
    fn the_bar_is_the_fastest_delay_and_the_whole_videos_psnr_of_the_same_network() {
        assert_eq!(standing(0.0149, 34.41)[0].is_within_bar(), Some(true));
        assert_eq!(standing(0.0151, 34.41)[0].is_within_bar(), Some(false));
        assert_eq!(standing(0.0149, 34.39)[0].is_within_bar(), Some(false));
    }

    #[test]
    fn the_terms_are_those_of_the_parameters() {
        let said = |settings: &[&str]| {
            let parameters = Parameters::read(settings.iter().copied()).expect("right");
            terms(&Setup::with(Source::Plain, parameters))
        };
        let usual = said(&[]);
        assert!(usual.contains("has 4096 KiB, SCTP's 64 and TCP's 64;"), "{usual}");
        assert!(usual.contains("lasts 100ms at least, SCTP's 1s and TCP's 200ms;"), "{usual}");
        let others = said(&["our-buffer=1M,our-rto-min=1s,buffer=256K"]);
        assert!(others.contains("has 1024 KiB, SCTP's 256"), "{others}");
        assert!(others.contains("lasts 1s at least"), "{others}");
    }

    #[test]
    fn a_miss_is_said_aloud_and_nothing_to_compare_with_is_nothing() {
        let setup = Setup::new(Source::Plain);
        let text = standings_table(&standing(0.02, 34.5), &setup);
        assert!(text.contains("RTP                    0.0100 s / 30.00 dB"), "{text}");
        assert!(text.contains("0.0200 s / 34.50 dB   MISSED"), "{text}");
        let alone = standings(&[row(Strategy::OURS, 0.1, 30.0)], Some(FULL));
        assert_eq!(standings_table(&alone, &setup), "");
    }
}
