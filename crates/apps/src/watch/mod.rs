//! `anabranch watch`: the native client of a television server.

mod choice;
mod line;
mod page;
mod run;
mod standing;
mod words;

pub use choice::{Choice, NoSuchChannel};
pub(crate) use line::{Hello, Line};
pub use page::WatchPage;
pub use run::{WatchOptions, Watched, watch};
pub use standing::Watching;
pub(crate) use words::urgent;
