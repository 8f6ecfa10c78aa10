//! `anabranch watch`: the native client of a television server.

mod choice;
mod page;
mod run;
mod standing;
mod words;

pub use choice::{Choice, NoSuchChannel};
pub use page::WatchPage;
pub use run::{WatchOptions, Watched, watch};
pub use standing::Watching;
