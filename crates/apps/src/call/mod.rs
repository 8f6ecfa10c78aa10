//! `call`: two people, each with an agent that owns the network, and a page, files or programs for
//! camera and microphone; or such a page and a room. `docs/call.md` describes what passes between
//! them.

mod media;
mod page;
mod path_meter;
mod record;
mod room;
mod run;

pub use anabranch_call::{THRESHOLD_MAX, THRESHOLD_MIN};
pub use media::{DeviceSource, NoDeviceSource};
pub use page::CallPage;
pub use room::{ProgramOptions, RoomPage, VisitOptions, Visitor, visit};
pub use run::{CallOptions, call};
