//! [`CellConfig`]: which cell a link is in, and what that cell is like.

use anabranch_sansio::Rate;

use super::{Service, WifiConfig, WimaxConfig};
use crate::{LinkConfig, QueueLimit};

/// What a radio's driver keeps for each station.
const WIFI_QUEUE: QueueLimit = QueueLimit::Packets(100);
/// Almajeed 2011, section 3.1.
const WIMAX_QUEUE: QueueLimit = QueueLimit::Packets(50);
/// What all these media carry of IP.
const MTU: u16 = 1_500;

/// Which cell a link is in, and what that cell is like.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct CellConfig {
    /// Links whose cells have one name share that cell; it is what the first of them says. Without
    /// a name, the cell belongs to both directions of this link alone.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub name: Option<String>,
    /// What the links share.
    pub medium: Medium,
    /// What this link is promised in a WiMAX cell. Default rtPS.
    #[cfg_attr(feature = "serde", serde(default))]
    pub service: Service,
}

/// What the links of a cell share.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Medium {
    /// A channel of IEEE 802.11.
    Wifi(WifiConfig),
    /// A channel of IEEE 802.16, mobile WiMAX.
    Wimax(WimaxConfig),
}

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

    /// The rates that its frames can have, in rising order.
    #[must_use]
    pub fn rates(&self) -> Vec<Rate> {
        match self {
            Self::Wifi(config) => config.standard.rates(),
            Self::Wimax(_) => WimaxConfig::rates(),
        }
    }

    /// Its name with the edition of the standard, for people.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Wifi(config) => config.standard.as_str(),
            Self::Wimax(_) => "WiMAX",
        }
    }
}

impl From<Medium> for CellConfig {
    /// A cell of a link's own.
    fn from(medium: Medium) -> Self {
        Self { name: None, medium, service: Service::default() }
    }
}
