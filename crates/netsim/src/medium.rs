//! [`CellConfig`]: which cell a link is in, and what that cell is like.

mod wifi;
mod wimax;

use anabranch_sansio::Rate;

pub use wifi::{WifiConfig, WifiStandard};
pub use wimax::{Scheduling, Service, WimaxConfig};

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
