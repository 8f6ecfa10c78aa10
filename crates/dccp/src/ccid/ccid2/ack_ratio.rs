//! [`AckRatio`]: congestion control on acknowledgements, RFC 4341 section 6.1.

use crate::seq::Seq;
use crate::tfrc::Arrival;

use super::NUMDUPACK;

/// How many data packets one acknowledgement of the peer is to answer.
#[derive(Debug)]
pub(super) struct AckRatio {
    ratio: u64,
    /// The greatest numbers of the peer that arrived, the greatest last.
    greatest: Vec<Seq>,
    /// Up to here it is decided what of the peer's is lost.
    settled: Option<Seq>,
    /// Whether acknowledgements were lost in this window of data.
    is_congested: bool,
    /// Windows in a row without such losses.
    quiet_windows: u64,
}

impl AckRatio {
    pub(super) const fn new() -> Self {
        Self {
            ratio: 2,
            greatest: Vec::new(),
            settled: None,
            is_congested: false,
            quiet_windows: 0,
        }
    }

    pub(super) const fn ratio(&self) -> u64 {
        self.ratio
    }

    /// A packet of the peer.
    ///
    /// RFC 4341 section 6.1.1: "a packet from the receiver is considered lost after at least
    /// NUMDUPACK packets with greater sequence numbers have been received", and "the sender SHOULD
    /// assume, for the purpose of Ack Ratio calculation, that every lost packet was a non-data
    /// packet."
    pub(super) fn on_arrival(&mut self, arrival: &Arrival) {
        let settled = *self.settled.get_or_insert(arrival.seq);
        if arrival.seq <= settled || self.greatest.contains(&arrival.seq) {
            return;
        }
        self.is_congested |= arrival.is_marked && !arrival.is_data;
        let at = self.greatest.partition_point(|seq| *seq < arrival.seq);
        self.greatest.insert(at, arrival.seq);
        let mut settled = settled;
        while let Some(next) = self.greatest.first().copied() {
            let is_gap = next > settled + 1;
            if is_gap && self.greatest.len() < NUMDUPACK {
                break;
            }
            self.is_congested |= is_gap;
            settled = next;
            self.greatest.remove(0);
        }
        self.settled = Some(settled);
    }

    /// A window of data was acknowledged.
    pub(super) fn on_window(&mut self, cwnd: u64) {
        if std::mem::take(&mut self.is_congested) {
            // RFC 4341 section 6.1.2: "For each congestion window of data with lost or marked
            // DCCP-Ack packets, Ack Ratio is doubled".
            self.ratio *= 2;
            self.quiet_windows = 0;
        } else {
            // "and for each cwnd/(R^2 - R) consecutive congestion windows of data with no lost or
            // marked DCCP-Ack packets, Ack Ratio is decreased by 1."
            self.quiet_windows += 1;
            let ratio = self.ratio;
            if ratio > 2 && self.quiet_windows >= cwnd / (ratio * ratio - ratio) {
                self.ratio -= 1;
                self.quiet_windows = 0;
            }
        }
        self.limit(cwnd);
    }

    /// A timeout has left a window of one packet.
    ///
    /// RFC 4341 section 6.1.2: "it MAY set Ack Ratio to one for half-connections with persistent
    /// congestion windows of 1 or 2 packets." Linux needs it: its receiver has no timer for delayed
    /// acknowledgements, and waits for a second packet before it answers the first.
    pub(super) fn on_timeout(&mut self) {
        self.ratio = 1;
        self.quiet_windows = 0;
    }

    /// RFC 4341 section 6.1.2: "(2) Ack Ratio does not exceed cwnd/2, rounded up, except that Ack
    /// Ratio 2 is always acceptable. (3) Ack Ratio is two or more for a congestion window of four
    /// or more packets."
    pub(super) fn limit(&mut self, cwnd: u64) {
        let least = if cwnd >= 4 { 2 } else { self.ratio.min(2) };
        self.ratio = self.ratio.min(cwnd.div_ceil(2)).max(least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SequenceNumber;

    fn arrive(ratio: &mut AckRatio, n: u64) {
        let seq = Seq::first(SequenceNumber::new(n));
        let (is_data, counter, is_marked, non_data_before) = (false, 0, false, 0);
        ratio.on_arrival(&Arrival { seq, is_data, counter, is_marked, non_data_before });
    }

    #[test]
    fn lost_acknowledgements_double_it_once_a_window() {
        let mut ratio = AckRatio::new();
        [1, 2, 4, 6, 7, 8].iter().for_each(|n| arrive(&mut ratio, *n));
        ratio.on_window(100);
        assert_eq!(ratio.ratio(), 4);
        [10, 11, 12].iter().for_each(|n| arrive(&mut ratio, *n));
        ratio.on_window(100);
        assert_eq!(ratio.ratio(), 8);
    }

    #[test]
    fn reordering_does_not() {
        let mut ratio = AckRatio::new();
        [1, 2, 4, 5, 3, 6, 7].iter().for_each(|n| arrive(&mut ratio, *n));
        ratio.on_window(100);
        assert_eq!(ratio.ratio(), 2);
    }

    #[test]
    fn quiet_windows_bring_it_back() {
        let mut ratio = AckRatio::new();
        ratio.ratio = 4;
        // 24 / (16 - 4) = 2 windows, then 24 / (9 - 3) = 4.
        let ratios: Vec<_> = (0..8)
            .map(|_| {
                ratio.on_window(24);
                ratio.ratio()
            })
            .collect();
        assert_eq!(ratios, [4, 3, 3, 3, 3, 2, 2, 2]);
    }

    #[test]
    fn a_small_window_limits_it() {
        let mut ratio = AckRatio::new();
        ratio.ratio = 16;
        ratio.limit(9);
        assert_eq!(ratio.ratio(), 5);
        ratio.limit(1);
        assert_eq!(ratio.ratio(), 2);
    }

    #[test]
    fn after_a_timeout_each_packet_is_to_be_answered_until_the_window_has_grown() {
        let mut ratio = AckRatio::new();
        ratio.on_timeout();
        let ratios = [1, 2, 3, 4, 3].map(|cwnd| {
            ratio.on_window(cwnd);
            ratio.ratio()
        });
        assert_eq!(ratios, [1, 1, 1, 2, 2]);
    }
}
