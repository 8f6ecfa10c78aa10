//! Both ends of television: a server with one channel, as `anabranch serve` has it, and somebody
//! who watches it, as with `anabranch watch`.

mod programme;
mod station;
mod watcher;

pub(super) use programme::Programme;
pub(super) use station::Station;
pub(super) use watcher::Watcher;
