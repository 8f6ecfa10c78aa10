//! What connections do together, by theme, on virtual time.

mod packets;
