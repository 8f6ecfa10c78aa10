//! `call`: two people, each with an agent that owns the network, and a page, files or programs for
//! camera and microphone. `docs/call.md` describes what passes between them.

mod media;
mod page;
mod record;
mod run;

pub use media::{DeviceSource, NoDeviceSource};
pub use page::CallPage;
pub use run::{CallOptions, call};
