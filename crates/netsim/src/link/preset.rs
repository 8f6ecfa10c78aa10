//! [`Preset`]: links as people know them.

use std::time::Duration;

use anabranch_sansio::Rate;

use super::{LinkConfig, Loss, QueueLimit};
use crate::{Medium, Probability, WifiConfig, WifiStandard, WimaxConfig};

/// What a radio's driver keeps for each station.
const WIFI_QUEUE: QueueLimit = QueueLimit::Packets(100);
/// Almajeed 2011, section 3.1.
const WIMAX_QUEUE: QueueLimit = QueueLimit::Packets(50);
/// What all these media carry of IP.
const MTU: u16 = 1_500;

/// A kind of link by its name. The values are those of an ordinary day, one direction each; a study
/// that rests on them should say its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Preset {
    /// See [`LinkConfig::ethernet`].
    Ethernet,
    /// See [`LinkConfig::wifi`].
    Wifi,
    /// See [`LinkConfig::mobile`].
    Mobile,
    /// See [`LinkConfig::dsl`].
    Dsl,
    /// See [`LinkConfig::satellite`].
    Satellite,
    /// See [`LinkConfig::wifi_cell`].
    WifiCell,
    /// See [`LinkConfig::wimax_cell`].
    WimaxCell,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 7] = [
        Self::Ethernet,
        Self::Wifi,
        Self::Mobile,
        Self::Dsl,
        Self::Satellite,
        Self::WifiCell,
        Self::WimaxCell,
    ];

    /// Its values.
    #[must_use]
    pub fn config(self) -> LinkConfig {
        match self {
            Self::Ethernet => LinkConfig::ethernet(),
            Self::Wifi => LinkConfig::wifi(),
            Self::Mobile => LinkConfig::mobile(),
            Self::Dsl => LinkConfig::dsl(),
            Self::Satellite => LinkConfig::satellite(),
            Self::WifiCell => LinkConfig::wifi_cell(),
            Self::WimaxCell => LinkConfig::wimax_cell(),
        }
    }
}

/// What Ethernet carries, and what tunnels apart most other links too.
const ETHERNET_MTU: u16 = 1_500;

impl Medium {
    /// A station's link in a cell of its own: the usual rate and queue, 100 packets or 50, and no
    /// losses but by collisions.
    #[must_use]
    pub fn link(&self) -> LinkConfig {
        let (rate, queue) = match self {
            Self::Wifi(config) => (config.standard.usual_rate(), WIFI_QUEUE),
            Self::Wimax(_) => (WimaxConfig::usual_rate(), WIMAX_QUEUE),
        };
        let cell = Some(Self::clone(self).into());
        LinkConfig { rate: Some(rate), queue, mtu: MTU, cell, ..LinkConfig::default() }
    }
}

impl LinkConfig {
    /// A wired local network: 1 Gbit/s, 0.2 ms, no loss, a queue of 1,000 packets.
    #[must_use]
    pub fn ethernet() -> Self {
        Self {
            rate: Some(Rate::mbps(1_000)),
            delay: Duration::from_micros(200),
            mtu: ETHERNET_MTU,
            ..Self::default()
        }
    }

    /// Home Wi-Fi two walls away, and the access line behind it: 30 Mbit/s, 10 ms and up to 2 ms
    /// more for medium access, a queue of 100 ms, and 0.1 % lost in bursts of 3 where the radio's
    /// retransmissions gave up.
    #[must_use]
    pub fn wifi() -> Self {
        let rate = Rate::mbps(30);
        Self {
            rate: Some(rate),
            delay: Duration::from_millis(10),
            jitter: Duration::from_millis(2),
            queue: QueueLimit::lasting(Duration::from_millis(100), rate),
            loss: Loss::bursts(0.001, 3.0),
            mtu: ETHERNET_MTU,
            ..Self::default()
        }
    }

    /// LTE with fair reception: 12 Mbit/s, 30 ms and up to 8 ms more for scheduling, the deep queue
    /// of a base station (300 ms), and 0.05 % lost, since the radio repeats what it loses.
    #[must_use]
    pub fn mobile() -> Self {
        let rate = Rate::mbps(12);
        Self {
            rate: Some(rate),
            delay: Duration::from_millis(30),
            jitter: Duration::from_millis(8),
            queue: QueueLimit::lasting(Duration::from_millis(300), rate),
            loss: Loss::uniform(0.0005),
            mtu: ETHERNET_MTU,
            ..Self::default()
        }
    }

    /// A DSL line: 16 Mbit/s, 12 ms (interleaving), a queue of 150 ms, no loss beyond the queue's,
    /// 8 bytes of each packet taken by PPPoE.
    #[must_use]
    pub fn dsl() -> Self {
        let rate = Rate::mbps(16);
        Self {
            rate: Some(rate),
            delay: Duration::from_millis(12),
            queue: QueueLimit::lasting(Duration::from_millis(150), rate),
            mtu: ETHERNET_MTU - 8,
            ..Self::default()
        }
    }

    /// A geostationary satellite: 20 Mbit/s, 270 ms (two times 36,000 km, and coding), a queue of
    /// 500 ms, 0.1 % lost in bursts of 10 to rain and shadow.
    #[must_use]
    pub fn satellite() -> Self {
        let rate = Rate::mbps(20);
        Self {
            rate: Some(rate),
            delay: Duration::from_millis(270),
            queue: QueueLimit::lasting(Duration::from_millis(500), rate),
            loss: Loss::bursts(0.001, 10.0),
            mtu: ETHERNET_MTU,
            ..Self::default()
        }
    }

    /// A station of a Wi-Fi cell two walls from its access point: 802.11n, its frames at 65 Mbit/s
    /// (one stream, 64-QAM), of which 5 % are sent again, and a queue of 100 packets. The cell is
    /// its own, unless it is given a name.
    #[must_use]
    pub fn wifi_cell() -> Self {
        let medium = Medium::Wifi(WifiConfig::new(WifiStandard::N));
        Self { loss: Loss::uniform(0.05), ..medium.link() }
    }

    /// A station of a mobile WiMAX cell as in Almajeed 2011: frames of 5 ms, most of them uplink,
    /// 16-QAM 1/2, a queue of 50 packets, rtPS, and losses by a channel that is good for 20 frames
    /// on the air and bad for 17, on average, with 1 % and 5 % lost.
    #[must_use]
    pub fn wimax_cell() -> Self {
        let of = Probability::saturating;
        let loss = Loss::GilbertElliott {
            p: of(0.05),
            r: of(0.06),
            loss_good: of(0.01),
            loss_bad: of(0.05),
            tick: None,
        };
        Self { loss, ..Medium::Wimax(WimaxConfig::default()).link() }
    }
}
