//! [`Config`]: how a connection behaves.

use std::time::Duration;

use anabranch_congestion::{Bbr, CongestionController, Cubic};
use anabranch_sansio::Rng;

use crate::reno::Reno;

/// How a connection behaves. The default is what the RFCs recommend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Bytes of the largest IP packet. Default: 1,500.
    pub mtu: usize,
    /// Bytes that may wait to be sent or acknowledged. Default: 4 MiB.
    pub send_buffer: usize,
    /// Bytes that may wait to be read, out of order or in order; the window is never larger. Above
    /// 65,535 the window is scaled (RFC 7323). Default: 4 MiB.
    pub receive_buffer: usize,
    /// Whether selective acknowledgments are offered (RFC 2018). They are used if both ends do.
    /// Default: yes.
    pub sack: bool,
    /// Whether what was sent again is found to be lost again by what was sent after it and arrived
    /// (RFC 8985), instead of by the timer; with selective acknowledgments only. Default: no.
    pub rack: bool,
    /// What a partial acknowledgment does where there are no selective ones. Default:
    /// [`FastRecovery::NewReno`].
    pub fast_recovery: FastRecovery,
    /// The congestion controller. Default: [`CongestionControl::Reno`].
    pub congestion_control: CongestionControl,
    /// IW, the initial window in segments. Default: 10 (RFC 6928).
    pub initial_window: usize,
    /// Nagle's algorithm: whether a short segment waits until all before it is acknowledged.
    /// Default: yes (RFC 9293 section 3.7.4).
    pub nagle: bool,
    /// Segments in order that one acknowledgment answers. Default: 2 (RFC 5681 section 4.2).
    pub segments_per_ack: u32,
    /// How long a single segment in order waits for its acknowledgment, 0.5 s at most. Default:
    /// 40 ms, as most systems.
    pub ack_delay: Duration,
    /// RTO before the first measurement. Default: 1 s (RFC 6298, 2.1).
    pub rto_initial: Duration,
    /// RTO at least. Default: 1 s (RFC 6298, 2.4); most systems have 0.2 s.
    pub rto_min: Duration,
    /// RTO at most. Default: 60 s (RFC 6298, 2.5).
    pub rto_max: Duration,
    /// Timeouts in a row after which the connection is given up. Default: 10, which are more than
    /// the 100 s of RFC 9293 section 3.8.3.
    pub retries: u32,
    /// How long the end that closed first answers late segments. Default: 4 minutes, twice
    /// the MSL of RFC 9293 section 3.4.2.
    pub time_wait: Duration,
}

/// Fast recovery without selective acknowledgments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FastRecovery {
    /// RFC 6582: a partial acknowledgment has the next lost segment sent again.
    #[default]
    NewReno,
    /// RFC 5681 alone: the first acknowledgment of new data ends it, and what else was lost of that
    /// window is left to the timer. For comparisons with what was measured so.
    Reno,
}

/// The congestion controllers there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CongestionControl {
    /// RFC 5681: see [`Reno`]. With the recovery of RFC 6582 this is NewReno.
    #[default]
    Reno,
    /// RFC 9438, the CUBIC of today: see [`Cubic`].
    Cubic,
    /// RFC 8312, the CUBIC of before, as Linux has it to this day.
    CubicRfc8312,
    /// The third version of BBR (draft-ietf-ccwg-bbr), which paces what it sends: see [`Bbr`].
    Bbr,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mtu: 1_500,
            send_buffer: 4 << 20,
            receive_buffer: 4 << 20,
            sack: true,
            rack: false,
            fast_recovery: FastRecovery::default(),
            congestion_control: CongestionControl::default(),
            initial_window: 10,
            nagle: true,
            segments_per_ack: 2,
            ack_delay: Duration::from_millis(40),
            rto_initial: Duration::from_secs(1),
            rto_min: Duration::from_secs(1),
            rto_max: Duration::from_secs(60),
            retries: 10,
            time_wait: Duration::from_secs(240),
        }
    }
}

impl Config {
    /// What Linux does where the RFCs leave it open or recommend something else: CUBIC as of RFC
    /// 8312, retransmissions lost again found by time (RFC 8985), RTO of 200 ms at least.
    #[must_use]
    pub fn linux() -> Self {
        Self {
            congestion_control: CongestionControl::CubicRfc8312,
            rack: true,
            rto_min: Duration::from_millis(200),
            ..Self::default()
        }
    }

    /// A controller for segments of `smss` bytes.
    pub(crate) fn controller(&self, smss: usize, rng: Rng) -> Box<dyn CongestionController> {
        match self.congestion_control {
            CongestionControl::Reno => Box::new(Reno::new(smss, self.initial_window)),
            CongestionControl::Cubic => Box::new(Cubic::new(smss)),
            CongestionControl::CubicRfc8312 => Box::new(Cubic::rfc8312(smss)),
            CongestionControl::Bbr => Box::new(Bbr::new(smss, rng)),
        }
    }
}
