//! Chang, Young, Tsai and Fang, 2010: calls over timed PR-SCTP that go on when a path dies.
//!
//! Two hosts with two interfaces each, and a call of voice and video both ways. A path is cut, and
//! somebody notices: SCTP's counters of errors, the paper's monitor of what was heard, a TCP that
//! connects anew, or our stack.

mod call;
mod cell;
mod live;
mod log;
mod measure;
mod media;
mod network;
mod paper;
mod reconnect;
mod report;
mod statement;
mod table;
mod values;
mod variation;

pub use cell::{Cell, Handoff, Method, Place, cells};
pub use live::{
    LIVE_CUTS, LiveCall, LiveEnd, LivePlan, Played, PlayedError, film, is_live, live_cells,
};
pub use measure::{Counts, Outcome};
pub use paper::THRESHOLDS_MS;
pub use report::{Experiment, Figures, figures};
pub use statement::statements;
pub use table::{Row, cells_csv, gaps_csv, live_csv, rows, tables, variations_csv};
pub use values::Values;
pub use variation::Variation;
