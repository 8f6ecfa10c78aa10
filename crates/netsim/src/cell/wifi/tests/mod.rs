//! Cells in full use and stations alone, beside what papers and hands calculate.

mod bianchi;
mod by_hand;
mod stations;

use super::WifiConfig;
use crate::cell::testing::{HEADERS, Saturated, assert_near};
use crate::{LinkConfig, Medium, QueueLimit};

/// A station's link whose frames all arrive unless they collide.
fn link(config: WifiConfig) -> LinkConfig {
    LinkConfig { queue: QueueLimit::Packets(1_000), ..Medium::Wifi(config).link() }
}

/// Stations that always have more to send.
fn saturated(config: WifiConfig, links: Vec<LinkConfig>, ip_len: usize) -> Saturated {
    Saturated::new(&Medium::Wifi(config), links, ip_len)
}
