//! Where our values differ from the paper's, and what the runs show about why.

use super::super::paper::{FULL, published};
use super::super::strategy::{SctpStrategy, Strategy, Treatment};
use super::super::table::Row;

/// A delay differs when it is off by more than this share of the paper's, and by more than
/// [`DELAY_S`].
const DELAY_SHARE: f64 = 0.2;
/// Less does not show in a picture: an eighth of a frame's time.
const DELAY_S: f64 = 0.005;
/// What is missing from the whole video's PSNR-Y differs from this on.
const PSNR_Y_DB: f64 = 0.1;

/// A value that differs, with what the runs of its cell show.
pub(super) struct Difference {
    pub(super) row: Row,
    pub(super) ours: String,
    pub(super) paper: String,
    pub(super) why: String,
}

/// All that differs, in the order of the tables: first the delay, then the picture of each cell.
pub(super) fn differences(rows: &[Row], full_psnr_y_db: f64) -> Vec<Difference> {
    let of_row = |row: &Row| {
        let (delay_s, psnr_y_db) = published(row.strategy, row.mbps, row.loss)?;
        let pictures = of_pictures(row, full_psnr_y_db - row.psnr_y_db.mean, FULL - psnr_y_db);
        Some([of_delay(row, delay_s), pictures])
    };
    rows.iter().filter_map(of_row).flatten().flatten().collect()
}

fn of_delay(row: &Row, paper_s: f64) -> Option<Difference> {
    let apart = (row.delay_s.mean - paper_s).abs();
    if apart <= DELAY_S || apart <= DELAY_SHARE * paper_s {
        return None;
    }
    Some(Difference {
        row: *row,
        ours: format!("{:.4} s", row.delay_s),
        paper: format!("{paper_s:.4} s"),
        why: why_delay(row),
    })
}

fn of_pictures(row: &Row, missing_db: f64, paper_missing_db: f64) -> Option<Difference> {
    if (missing_db - paper_missing_db).abs() <= PSNR_Y_DB {
        return None;
    }
    Some(Difference {
        row: *row,
        ours: format!("{missing_db:.2} dB missing"),
        paper: format!("{paper_missing_db:.2} dB missing"),
        why: why_pictures(row, missing_db),
    })
}

/// By what happened in the cell: timers weigh most, then a full link, then single losses.
fn why_delay(row: &Row) -> String {
    let Row { lost_on_links, refused_by_queues, retransmissions, timeouts, .. } = *row;
    if timeouts >= 0.5 {
        return format!(
            "{timeouts:.0} retransmission timers expired, and each silences a link for 1 s at \
             least and begins its window anew: how many expire decides the delay, and that \
             depends on which retransmissions are lost again. {lost_on_links:.0} packets were \
             lost, {retransmissions:.0} sent again."
        );
    }
    if refused_by_queues > lost_on_links {
        return format!(
            "Nearly all delay is backlog of the seconds in which the video exceeds the link: it \
             follows the rates of our source, and the window after each of the \
             {refused_by_queues:.0} packets that the queue refused."
        );
    }
    format!(
        "All {lost_on_links:.0} losses were found by three reports and repaired within about a \
         round trip; no timer expired. In ns-2 some of them waited for the timer of at least 1 s."
    )
}

fn why_pictures(row: &Row, missing_db: f64) -> String {
    let missing = row.packets - row.arrived;
    match row.strategy {
        Strategy::Sctp(
            SctpStrategy::CmtMulti(Treatment::Unreliable(0) | Treatment::Mixed(0))
            | SctpStrategy::Multi(Treatment::Unreliable(0) | Treatment::Mixed(0))
            | SctpStrategy::Single(Treatment::Unreliable(0)),
        ) => format!(
            "Nothing is sent again: {missing:.0} packets never came, and each takes a picture. \
             The paper's value fits its other reading, one retransmission."
        ),
        Strategy::Sctp(_) | Strategy::Tcp => format!(
            "{missing:.0} packets were lost twice. In ns-2 the receiver starves when its window \
             is full of what waits for packets that are not sent again; ours is told to skip them \
             (FORWARD TSN) and goes on."
        ),
        Strategy::Rtp(_) => format!(
            "{missing:.0} packets never came: as the paper's, nothing is sent again. A picture \
             that is shown once more costs {:.1} dB on average in our video; what it costs in the \
             paper's is a matter of its pictures.",
            missing_db * row.frames / row.frames_repeated.max(1.0),
        ),
    }
}
