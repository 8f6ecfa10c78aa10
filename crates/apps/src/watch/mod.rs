//! `anabranch watch`: the native client of a television server.

mod line;
mod page;
mod run;
mod titles;

pub(crate) use line::{Hello, Line, Whom};
pub use page::WatchPage;
pub use run::{WatchOptions, Watched, watch};
pub(crate) use titles::urgent;
