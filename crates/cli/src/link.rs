//! Links as people set them, as flags or as `rate=10M,delay=20ms,down.loss=1%`.

use std::time::Duration;

use anabranch_netsim::Preset;
use anabranch_netsim::settings::{
    self, DirectionSettings, LinkSettings, Queue, SettingsError, Speed,
};
use clap::Args;

use crate::values;

/// What both directions of a link are told.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub(crate) struct LinkFlags {
    /// A kind of link, which the flags below change: ethernet, wifi, mobile, dsl, satellite,
    /// wifi-cell or wimax-cell.
    #[arg(long, requires = "listen", value_parser = settings::preset)]
    preset: Option<Preset>,
    /// Bits per second of IP packets, such as 500k, 10M, unlimited; or trace:FILE, which has on
    /// each line a millisecond at which 1500 bytes can leave, and is repeated (Mahimahi's format).
    #[arg(long, requires = "listen", value_parser = values::speed)]
    rate: Option<Speed>,
    /// How long a packet travels one way, such as 20ms.
    #[arg(long, requires = "listen", value_parser = settings::time, value_name = "TIME")]
    delay: Option<Duration>,
    /// Up to this much more delay, drawn for each packet; the order stays.
    #[arg(long, requires = "listen", value_parser = settings::time, value_name = "TIME")]
    jitter: Option<Duration>,
    /// Share of packets lost, such as 1%.
    #[arg(long, requires = "listen", value_parser = settings::loss, value_name = "PERCENT")]
    loss: Option<f64>,
    /// Losses come in bursts of this many packets on average, instead of one by one.
    #[arg(long, requires = "listen", value_parser = settings::burst, value_name = "N")]
    burst: Option<f64>,
    /// Share of packets held back, so that later ones overtake them, such as 1%.
    #[arg(long, requires = "listen", value_parser = settings::loss, value_name = "PERCENT")]
    reorder: Option<f64>,
    /// For how long at most they are held back, drawn for each; 10ms unless given.
    #[arg(long, requires = "listen", value_parser = settings::time, value_name = "TIME")]
    hold: Option<Duration>,
    /// What may wait to be sent: 100ms (at the rate, or a trace's mean), 64K (bytes) or 50p
    /// (packets). Unless given, 100ms and at least 64K where a rate is given, 1000p for a trace.
    #[arg(long, requires = "listen", value_parser = settings::queue)]
    queue: Option<Queue>,
    /// The longest IP packet; longer ones are dropped.
    #[arg(long, requires = "listen", value_parser = settings::mtu, value_name = "BYTES")]
    mtu: Option<u16>,
}

impl From<LinkFlags> for DirectionSettings {
    fn from(flags: LinkFlags) -> Self {
        let LinkFlags { preset, rate, delay, jitter, loss, burst, reorder, hold, queue, mtu } =
            flags;
        Self { preset, rate, delay, jitter, loss, burst, reorder, hold, queue, mtu }
    }
}

/// A link's settings as one argument.
pub(crate) fn link_settings(text: &str) -> Result<LinkSettings, SettingsError> {
    LinkSettings::parse(text, &values::read)
}
