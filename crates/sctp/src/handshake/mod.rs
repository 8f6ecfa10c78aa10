//! Parts of the four-way handshake that both ends share: what INIT and INIT ACK announce, and the
//! State Cookie.

mod announcement;
mod cookie;

pub(crate) use announcement::{Announcement, Refusal, encode_parameters, pad_init};
pub(crate) use cookie::{Cookie, CookieError, CookieJar, TieTags};
