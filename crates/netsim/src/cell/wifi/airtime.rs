//! [`Airtime`]: how long frames and the gaps between them take.

use std::time::Duration;

use anabranch_sansio::Rate;

use crate::WifiStandard;

/// LLC and SNAP in front of an IP packet (IEEE 802.11-2016 annex M, RFC 1042).
const LLC_LEN: usize = 8;
/// The header of a data frame with three addresses, and its FCS.
const MAC_LEN: usize = 24 + 4;
/// The QoS Control field, which frames in A-MPDUs have.
const QOS_LEN: usize = 2;
/// IEEE 802.11-2016 section 9.7.1: in front of each frame in an A-MPDU.
const DELIMITER_LEN: usize = 4;
const ACK_LEN: usize = 14;
const CTS_LEN: usize = 14;
const RTS_LEN: usize = 20;
/// A compressed BlockAck: 64 frames.
const BLOCK_ACK_LEN: usize = 32;

/// Rates for frames that answer others: those that every station with OFDM has.
const BASIC_RATES: [Rate; 3] = [Rate::mbps(24), Rate::mbps(12), Rate::mbps(6)];

/// How long frames and the gaps between them take. All clauses are those of IEEE 802.11-2016.
#[derive(Debug, Clone, Copy)]
pub(super) struct Airtime {
    standard: WifiStandard,
    pub(super) slot: Duration,
    pub(super) sifs: Duration,
    /// Preamble and PHY header of a frame that all stations know.
    preamble: Duration,
    symbol: Duration,
    /// Silence that ERP-OFDM adds to each frame, so that decoders of 802.11a have their time.
    extension: Duration,
    /// SERVICE and tail bits around the frame.
    around_bits: u64,
    /// From the beginning of a frame until its receiver reports that there is one.
    rx_start_delay: Duration,
    pub(super) propagation: Duration,
}

impl Airtime {
    pub(super) const fn new(standard: WifiStandard) -> Self {
        let us = Duration::from_micros;
        let ofdm = Self {
            standard,
            slot: us(9),
            sifs: us(16),
            preamble: us(20),
            symbol: us(4),
            extension: us(0),
            around_bits: 16 + 6,
            rx_start_delay: us(20),
            propagation: us(0),
        };
        match standard {
            // Table 17-21.
            WifiStandard::A => ofdm,
            // Table 18-5, section 18.3.2.4.
            WifiStandard::G => Self { sifs: us(10), extension: us(6), ..ofdm },
            // Table 19-25.
            WifiStandard::N => Self { rx_start_delay: us(33), ..ofdm },
            // Bianchi 2000, table II.
            WifiStandard::Fhss => Self {
                slot: us(50),
                sifs: us(28),
                preamble: us(128),
                symbol: us(1),
                around_bits: 0,
                rx_start_delay: us(128),
                propagation: us(1),
                ..ofdm
            },
        }
    }

    /// How long the medium must be idle before slots count: DIFS (section 10.3.2.3.5), and for
    /// 802.11n AIFS of best effort, whose AIFSN is 3 (section 10.3.2.3.6, table 9-137).
    pub(super) fn ifs(&self) -> Duration {
        let slots = if self.standard == WifiStandard::N { 3 } else { 2 };
        self.sifs + slots * self.slot
    }

    /// The same after a frame that could not be read (EIFS, section 10.3.2.3.7): so that its
    /// receiver could have acknowledged it, at the lowest rate.
    pub(super) fn eifs(&self) -> Duration {
        self.sifs + self.control(ACK_LEN, Rate::ZERO) + self.ifs()
    }

    /// How long a sender waits for an answer to begin (section 10.3.2.9).
    pub(super) fn answer_timeout(&self) -> Duration {
        self.sifs + self.slot + self.rx_start_delay
    }

    /// The bytes of a frame that carries an IP packet.
    pub(super) const fn frame_len(&self, ip_len: usize) -> usize {
        let qos = if matches!(self.standard, WifiStandard::N) { QOS_LEN } else { 0 };
        match self.standard {
            // Bianchi's header of 272 bits has a fourth address.
            WifiStandard::Fhss => LLC_LEN + ip_len + MAC_LEN + 6,
            WifiStandard::A | WifiStandard::G | WifiStandard::N => LLC_LEN + ip_len + MAC_LEN + qos,
        }
    }

    /// The bytes of an A-MPDU to which a frame is added. All but the last are padded to four bytes.
    pub(super) const fn aggregate_len(&self, before: usize, frame_len: usize) -> usize {
        before.next_multiple_of(4) + DELIMITER_LEN + frame_len
    }

    /// A data frame, or an A-MPDU.
    pub(super) fn data(&self, len: usize, rate: Rate) -> Duration {
        self.preamble + self.ht_preamble(rate) + self.payload(len, rate)
    }

    pub(super) fn ack(&self, rate: Rate) -> Duration {
        self.control(ACK_LEN, rate)
    }

    pub(super) fn block_ack(&self, rate: Rate) -> Duration {
        self.control(BLOCK_ACK_LEN, rate)
    }

    pub(super) fn rts(&self, rate: Rate) -> Duration {
        self.control(RTS_LEN, rate)
    }

    pub(super) fn cts(&self, rate: Rate) -> Duration {
        self.control(CTS_LEN, rate)
    }

    /// A frame that others understand, at the highest basic rate that is not above that of the
    /// data (section 10.7.6.5.2).
    fn control(&self, len: usize, data: Rate) -> Duration {
        let lower = BASIC_RATES.into_iter().find(|basic| *basic <= data);
        let rate = match self.standard {
            WifiStandard::Fhss => Rate::mbps(1),
            WifiStandard::A | WifiStandard::G | WifiStandard::N => {
                lower.unwrap_or(BASIC_RATES[BASIC_RATES.len() - 1])
            }
        };
        self.preamble + self.payload(len, rate)
    }

    /// HT-SIG, HT-STF, and an HT-LTF for each stream (section 19.3.2, HT-mixed format).
    fn ht_preamble(&self, rate: Rate) -> Duration {
        let streams = if rate > Rate::mbps(65) { 2 } else { 1 };
        match self.standard {
            WifiStandard::N => Duration::from_micros(8 + 4 + 4 * streams),
            WifiStandard::A | WifiStandard::G | WifiStandard::Fhss => Duration::ZERO,
        }
    }

    /// Whole symbols (section 17.4.3, TXTIME).
    fn payload(&self, len: usize, rate: Rate) -> Duration {
        let bits_per_symbol = rate.bytes_in(8 * self.symbol).max(1);
        let bits = self.around_bits + 8 * len as u64;
        let symbols = u32::try_from(bits.div_ceil(bits_per_symbol)).unwrap_or(u32::MAX);
        self.symbol * symbols + self.extension
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn frames_take_whole_symbols_and_their_preambles() {
        let [a, g, n] = [WifiStandard::A, WifiStandard::G, WifiStandard::N].map(Airtime::new);
        // 1,536 bytes and 22 bits are 12,310 bits: 57 symbols of 216.
        assert_eq!(a.frame_len(1_500), 1_536);
        assert_eq!(a.data(1_536, Rate::mbps(54)), us(20 + 57 * 4));
        assert_eq!(g.data(1_536, Rate::mbps(54)), us(20 + 57 * 4 + 6));
        // 112 + 22 bits at 24 Mbit/s: 2 symbols of 96.
        assert_eq!(a.ack(Rate::mbps(54)), us(28));
        assert_eq!(a.ack(Rate::mbps(9)), us(20 + 6 * 4));
        // 1,538 bytes and 22 bits are 12,326 bits: 48 symbols of 260, or 24 of 520.
        assert_eq!(n.data(n.frame_len(1_500), Rate::mbps(65)), us(36 + 48 * 4));
        assert_eq!(n.data(n.frame_len(1_500), Rate::mbps(130)), us(40 + 24 * 4));
        assert_eq!(n.block_ack(Rate::mbps(65)), us(20 + 3 * 4));
    }

    #[test]
    fn gaps_are_those_of_the_standard() {
        let [a, g, n] = [WifiStandard::A, WifiStandard::G, WifiStandard::N].map(Airtime::new);
        assert_eq!([a.ifs(), g.ifs(), n.ifs()], [us(34), us(28), us(43)]);
        // SIFS, an ACK at 6 Mbit/s, DIFS.
        assert_eq!([a.eifs(), g.eifs()], [us(16 + 44 + 34), us(10 + 50 + 28)]);
        let fhss = Airtime::new(WifiStandard::Fhss);
        assert_eq!((fhss.ifs(), fhss.ack(Rate::mbps(1))), (us(128), us(112 + 128)));
    }

    #[test]
    fn frames_of_an_aggregate_are_padded_but_for_the_last() {
        let n = Airtime::new(WifiStandard::N);
        let one = n.aggregate_len(0, 1_538);
        assert_eq!((one, n.aggregate_len(one, 1_538)), (1_542, 1_544 + 1_542));
    }
}
