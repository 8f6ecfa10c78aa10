//! [`RateSignal`]: what an association can carry now.

use anabranch_sansio::Rate;

/// What an association can carry now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSignal {
    /// New payload in a second, without headers and without what is sent again or twice: what is
    /// left for the application.
    pub carries: Rate,
    /// Whether more may be possible: nothing waited for two seconds, so that the paths were not
    /// full, or they are still being tried out.
    pub is_at_least: bool,
    /// Bytes that wait to be sent for the first time.
    pub queued: usize,
}
