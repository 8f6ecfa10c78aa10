//! [`WifiConfig`]: what can be chosen about a Wi-Fi cell.

use anabranch_sansio::Rate;

/// So many bytes can an A-MPDU of 802.11n have (IEEE 802.11-2016, table 9-19).
const AGGREGATE_BYTES_MAX: u32 = 65_535;

/// What can be chosen about a Wi-Fi cell. All stations hear each other and the access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct WifiConfig {
    /// Which physical layer it has, and with it slots, gaps between frames, and rates.
    pub standard: WifiStandard,
    /// The smallest and the largest contention window, in slots: 15 and 1,023 (IEEE 802.11-2016,
    /// table 17-21 and, for best effort, table 9-137).
    pub contention_window: (u32, u32),
    /// How often a frame is sent before it is given up; `None`: until it arrives. Default 7
    /// (dot11ShortRetryLimit).
    pub attempts_max: Option<u32>,
    /// Frames longer than this many bytes are announced by RTS and CTS; `None`: none
    /// (dot11RTSThreshold, whose default is beyond any frame).
    pub rts_over: Option<u32>,
    /// How many bytes share one transmission of 802.11n (A-MPDU); 0: each packet has its own.
    pub aggregate_bytes: u32,
}

impl WifiConfig {
    /// The defaults of the standard.
    #[must_use]
    pub const fn new(standard: WifiStandard) -> Self {
        let aggregate_bytes = match standard {
            WifiStandard::N => AGGREGATE_BYTES_MAX,
            WifiStandard::A | WifiStandard::G | WifiStandard::Fhss => 0,
        };
        let contention_window = (15, 1_023);
        Self { standard, contention_window, attempts_max: Some(7), rts_over: None, aggregate_bytes }
    }
}

/// A physical layer of IEEE 802.11, on a channel of 20 MHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum WifiStandard {
    /// Frequency hopping at 1 Mbit/s (1997), with which papers on the access method calculate.
    Fhss,
    /// 802.11a: OFDM at 5 GHz.
    A,
    /// 802.11g without older stations: OFDM at 2.4 GHz.
    G,
    /// 802.11n at 5 GHz: one or two streams, long guard interval, A-MPDUs.
    N,
}

impl WifiStandard {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Fhss, Self::A, Self::G, Self::N];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fhss => "802.11 FHSS",
            Self::A => "802.11a",
            Self::G => "802.11g",
            Self::N => "802.11n",
        }
    }

    /// The rates of its data frames, in rising order.
    #[must_use]
    pub fn rates(self) -> Vec<Rate> {
        let kbps: &[u64] = match self {
            Self::Fhss => &[1_000],
            // IEEE 802.11-2016 table 17-4.
            Self::A | Self::G => &[6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000],
            // Tables 19-27 and 19-28, each rate with the fewest streams.
            Self::N => &[
                6_500, 13_000, 19_500, 26_000, 39_000, 52_000, 58_500, 65_000, 78_000, 104_000,
                117_000, 130_000,
            ],
        };
        kbps.iter().map(|kbps| Rate::kbps(*kbps)).collect()
    }

    /// The highest with one stream, which a station has unless it is given another.
    #[must_use]
    pub const fn usual_rate(self) -> Rate {
        match self {
            Self::Fhss => Rate::mbps(1),
            Self::A | Self::G => Rate::mbps(54),
            Self::N => Rate::mbps(65),
        }
    }
}
