//! What a page and our server do together, on virtual time.

mod channels;
mod connecting;
mod harness;
mod page;
mod restarting;
