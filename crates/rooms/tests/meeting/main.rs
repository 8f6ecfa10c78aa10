//! Rooms and their members over simulated networks, on virtual time.

mod agents;
#[path = "../common/camera.rs"]
mod camera;
mod files;
mod flood;
mod forwarding;
mod harness;
mod hostile;
mod hosts;
mod lips;
mod members;
#[path = "../../../rtc/tests/browser/page.rs"]
mod page;
mod rooms;
