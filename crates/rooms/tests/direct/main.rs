//! Two agents that are alone in a room, behind NATs, on virtual time.

#[path = "../common/camera.rs"]
mod camera;
mod harness;
mod hostile;
mod keys;
mod private;
mod talking;
