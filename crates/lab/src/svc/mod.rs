//! Layered video as experiments need it: sizes, send times, and what a viewer sees of it when some
//! of it is missing.

mod packets;
mod picture;
mod profile;
mod trace;

pub use packets::{Layer, PAYLOAD_MAX, VideoPacket, packets};
pub use picture::{Pictures, psnr_y};
pub use trace::{Frame, Trace, TraceError};
