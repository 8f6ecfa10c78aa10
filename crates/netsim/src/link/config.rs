//! [`LinkConfig`]: all that can be chosen about a link.

use std::time::Duration;

use anabranch_sansio::Rate;

#[cfg(feature = "serde")]
use super::data::LinkData;
use super::{Loss, Trace};
use crate::{CellConfig, Probability};

/// For how long a packet is held back at most unless it is chosen: at 1 Mbit/s and more, full
/// packets overtake it.
const HOLD_MAX: Duration = Duration::from_millis(10);

/// All that can be chosen about a link. The default is a perfect link: unlimited rate, no delay.
///
/// As data (TOML or JSON, with the feature `serde`), each field may be left out; then it is the
/// preset's if one is named, and the default otherwise:
///
/// | field | unit or form |
/// |---|---|
/// | `preset` | the name of a [`Preset`](super::Preset) |
/// | `rate_mbps` | Mbit/s of IP packets, or `"unlimited"` |
/// | `trace_ms` | instead of a rate, a [`Trace`]: `[0, 3, 3, 12]` |
/// | `delay_ms` | ms one way |
/// | `jitter_ms` | ms, drawn uniformly from 0 to this and added to the delay |
/// | `queue` | `{ packets = 100 }` or `{ bytes = 65536 }` |
/// | `loss` | `"none"` or a model, as below |
/// | `reorder` | the share of packets held back, from 0 to 1 |
/// | `hold_max_ms` | ms, for how long at most |
/// | `mtu_bytes` | bytes of an IP packet |
/// | `cell` | the cell that it is in: a [`CellConfig`] |
///
/// Models of loss are `{ uniform = { probability = 0.01 } }` and
/// `{ gilbert_elliott = { p = 0.01, r = 0.3 } }`, the latter with `loss_good = 0` and
/// `loss_bad = 1` unless given.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "LinkData", into = "LinkData"))]
pub struct LinkConfig {
    /// How many bits of IP packets are sent per second; `None` is unlimited. Default `None`.
    pub rate: Option<Rate>,
    /// When packets may be sent, instead of at a rate; `rate` does not count then. Default `None`.
    pub trace: Option<Trace>,
    /// How long a packet travels after it was sent. Default 0.
    pub delay: Duration,
    /// Up to this much, drawn uniformly per packet, is added to the delay. As packets stay in
    /// order, one that is held up holds up those behind it. Default 0.
    pub jitter: Duration,
    /// How much may wait while another packet is being sent. Default 1,000 packets, as Linux
    /// gives an interface (`txqueuelen`).
    pub queue: QueueLimit,
    /// Which packets do not arrive. Default none.
    pub loss: Loss,
    /// How many packets are held back after all delays, so that later ones overtake them. Default
    /// none.
    pub reorder: Probability,
    /// For how long at most; the time is drawn uniformly from just above zero. Default 10 ms.
    pub hold_max: Duration,
    /// The longest IP packet, in bytes. Longer ones are dropped, as if all forbade fragmentation.
    /// Default 65,535, the longest there is.
    pub mtu: u16,
    /// The cell whose medium sends its packets. `rate` is then that of its frames on the air (the
    /// medium's usual one if there is none), and `loss` the share of frames lost there, before
    /// they are sent again. Default none.
    pub cell: Option<CellConfig>,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            rate: None,
            trace: None,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            queue: QueueLimit::default(),
            loss: Loss::None,
            reorder: Probability::NEVER,
            hold_max: HOLD_MAX,
            mtu: u16::MAX,
            cell: None,
        }
    }
}

/// How much may wait in a queue. The packet that is being sent does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum QueueLimit {
    /// This many packets of any length.
    Packets(u32),
    /// This many IP bytes ([`Packet::ip_len`](crate::Packet::ip_len)).
    Bytes(u64),
}

impl QueueLimit {
    /// As many bytes as `rate` sends in `span`.
    #[must_use]
    pub fn lasting(span: Duration, rate: Rate) -> Self {
        Self::Bytes(rate.bytes_in(span))
    }
}

impl Default for QueueLimit {
    fn default() -> Self {
        Self::Packets(1_000)
    }
}
