//! [`Layout`]: where in a frame what is sent.

use std::time::Duration;

use anabranch_sansio::Rate;

use crate::WimaxConfig;

/// 1,024 samples at 8 MHz, which is 8/7 of the channel, and an eighth of them as guard (IEEE
/// 802.16-2009 section 8.4.2.3).
const SYMBOL: Duration = Duration::from_micros(144);
/// From downlink to uplink, and back (WiMAX Forum, mobile system profile, 7 MHz).
const TTG: Duration = Duration::from_micros(188);
const RTG: Duration = Duration::from_micros(60);

/// Band AMC, two bins by three symbols (section 8.4.6.3): a slot has 48 data subcarriers.
pub(super) const SUBCHANNELS: u32 = 48;
const SLOT_SYMBOLS: u32 = 3;
/// How long a slot is on the air.
pub(super) const SLOT: Duration = Duration::from_micros(144 * 3);
/// The maps are in a zone of PUSC (section 8.4.6.1.2): slots of 48 data subcarriers over two
/// symbols, 30 beside each other.
const MAP_SUBCHANNELS: u32 = 30;
const MAP_SLOT_SYMBOLS: u32 = 2;
/// QPSK 1/2 without repetition.
const MAP_SLOT_LEN: u32 = 6;
/// The FCH: QPSK 1/2, four times (section 8.4.4.4).
const FCH_SLOTS: u32 = 4;
const PREAMBLE_SYMBOLS: u32 = 1;
/// Ranging and requests for bandwidth by code: eight subchannels of AMC (section 8.4.7) for three
/// symbols.
const RANGING_SLOTS: u32 = 8;

/// DL-MAP (section 6.3.2.3.2): MAC header, type, PHY synchronization, DCD count, base station,
/// number of symbols, CRC; and the IE that begins the zone of AMC.
const DL_MAP_BITS: u32 = (6 + 1 + 4 + 1 + 6 + 1 + 4) * 8 + 60;
/// DL-MAP_IE with one CID (section 8.4.5.3): DIUC 4, CIDs 8 + 16, symbol 8, subchannel 8, boosting
/// 3, symbols 5, subchannels 6, repetition 2.
const DL_IE_BITS: u32 = 60;
/// UL-MAP (section 6.3.2.3.4): MAC header, type, reserved, UCD count, start, number of symbols,
/// CRC; and the IE of the ranging region, 52 bits.
const UL_MAP_BITS: u32 = (6 + 1 + 1 + 1 + 4 + 1 + 4) * 8 + 52;
/// UL-MAP_IE (section 8.4.5.4): CID 16, UIUC 4, duration 10, repetition 2.
const UL_IE_BITS: u32 = 32;

/// Where in a frame what is sent. All clauses are those of IEEE 802.16-2009.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    down_symbols: u32,
    up_symbols: u32,
}

impl Layout {
    pub(super) fn new(config: &WimaxConfig) -> Self {
        let symbols = (config.frame() - TTG - RTG).as_nanos() / SYMBOL.as_nanos();
        let symbols = symbols as u32;
        let (down, up) = config.split;
        // The uplink has whole slots, and the downlink at least a preamble, the maps and one.
        let most = symbols - (PREAMBLE_SYMBOLS + MAP_SLOT_SYMBOLS + SLOT_SYMBOLS);
        let share = (symbols * up / (down + up).max(1)).clamp(SLOT_SYMBOLS, most);
        let up_symbols = share / SLOT_SYMBOLS * SLOT_SYMBOLS;
        Self { down_symbols: symbols - up_symbols, up_symbols }
    }

    /// When the uplink begins, from the beginning of the frame on.
    pub(super) fn up_begins(&self) -> Duration {
        self.down_symbols * SYMBOL + TTG
    }

    /// Slots that each subchannel of the uplink has, one behind the other.
    fn up_rows(&self) -> u32 {
        self.up_symbols / SLOT_SYMBOLS
    }

    /// Slots for grants and polls.
    pub(super) fn up_slots(&self) -> u32 {
        (self.up_rows() * SUBCHANNELS).saturating_sub(RANGING_SLOTS)
    }

    /// When a burst of the uplink ends that has these slots, from the beginning of the uplink on.
    /// Slots lie one behind the other in time first (section 8.4.3.4).
    pub(super) fn up_burst_ends(&self, before: u32, slots: u32) -> Duration {
        (before % self.up_rows() + slots).min(self.up_rows()) * SLOT
    }

    /// How long preamble and maps are, that tell of so many bursts.
    pub(super) fn maps(&self, down_bursts: u32, up_bursts: u32) -> Duration {
        (PREAMBLE_SYMBOLS + Self::map_symbols(down_bursts, up_bursts)) * SYMBOL
    }

    /// Slots for data behind these maps.
    pub(super) fn down_slots(&self, down_bursts: u32, up_bursts: u32) -> u32 {
        let taken = PREAMBLE_SYMBOLS + Self::map_symbols(down_bursts, up_bursts);
        self.down_symbols.saturating_sub(taken) / SLOT_SYMBOLS * SUBCHANNELS
    }

    fn map_symbols(down_bursts: u32, up_bursts: u32) -> u32 {
        let down = (DL_MAP_BITS + down_bursts * DL_IE_BITS).div_ceil(8);
        let up = (UL_MAP_BITS + up_bursts * UL_IE_BITS).div_ceil(8);
        let slots = FCH_SLOTS + (down + up).div_ceil(MAP_SLOT_LEN);
        slots.div_ceil(MAP_SUBCHANNELS) * MAP_SLOT_SYMBOLS
    }
}

/// The bytes of a slot at this rate: 12 with 16-QAM 1/2. Rates are rounded where they are stated.
pub(super) fn slot_len(rate: Rate) -> usize {
    let bits = rate.as_bps() as f64 * SLOT.as_secs_f64() / f64::from(SUBCHANNELS);
    (bits / 8.0).round().max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(frame_us: u32) -> Layout {
        Layout::new(&WimaxConfig { frame_us, ..WimaxConfig::default() })
    }

    #[test]
    fn frames_have_as_many_symbols_as_the_standard_gives_them() {
        // 4,752 us are 33 symbols, as in the WiMAX Forum's profile; a quarter of them is downlink.
        let symbols = |frame_us| (layout(frame_us).down_symbols, layout(frame_us).up_symbols);
        assert_eq!(symbols(5_000), (9, 24));
        assert_eq!(symbols(8_000), (53 - 39, 39));
        assert_eq!(symbols(12_500), (85 - 63, 63));
        assert_eq!(symbols(20_000), (137 - 102, 102));
        for frame_us in WimaxConfig::FRAMES_US {
            let end = layout(frame_us).up_begins() + layout(frame_us).up_symbols * SYMBOL + RTG;
            assert!(end <= Duration::from_micros(frame_us.into()), "{frame_us}");
        }
    }

    #[test]
    fn maps_take_what_their_elements_take() {
        // 31 + 8 and 25 + 4 bytes are 12 slots, 4 of FCH: two symbols hold 30.
        let layout = layout(5_000);
        assert_eq!(layout.maps(1, 1), 3 * SYMBOL);
        assert_eq!(layout.down_slots(1, 1), 2 * SUBCHANNELS);
        assert_eq!((layout.up_rows(), layout.up_slots()), (8, 8 * 48 - 8));
        // 20 bursts each way: 181 and 105 bytes are 48 slots.
        assert_eq!(layout.maps(20, 20), 5 * SYMBOL);
        assert_eq!(layout.down_slots(20, 20), SUBCHANNELS);
    }

    #[test]
    fn a_burst_of_the_uplink_ends_with_the_last_row_that_it_reaches() {
        let ends = |before, slots| layout(5_000).up_burst_ends(before, slots).as_micros() / 432;
        assert_eq!([ends(0, 1), ends(0, 8), ends(0, 85)], [1, 8, 8]);
        assert_eq!([ends(10, 1), ends(10, 6), ends(10, 7)], [3, 8, 8]);
    }

    #[test]
    fn slots_carry_what_their_modulation_gives_48_subcarriers() {
        let lens: Vec<usize> = WimaxConfig::rates().into_iter().map(slot_len).collect();
        assert_eq!(lens, [6, 9, 12, 18, 24, 27]);
    }
}
