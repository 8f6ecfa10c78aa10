//! Both ends of a media session: `anabranch-session`, with a film at one end and somebody who
//! watches it at the other.

mod assembly;
mod reel;
mod screen;
mod studio;

pub(super) use screen::Screen;
pub(super) use studio::Studio;
