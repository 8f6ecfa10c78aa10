//! [`Train`]: packets of one size that leave together.

use anabranch_sansio::{Ecn, FourTuple, Transmit};

/// Bytes of a transmission with several packets: what fits into the largest UDP datagram.
const TRAIN_LEN_MAX: usize = 65_507;

/// Gathers packets for UDP's segmentation offload, which cuts a transmission into datagrams of one
/// size, of which the last may be shorter.
///
/// Which packet comes next is known only when it is there: one that does not fit waits.
#[derive(Debug, Default)]
pub(super) struct Train {
    waiting: Option<(Head, Vec<u8>)>,
}

/// Where a packet goes, and how.
type Head = (FourTuple, Option<Ecn>);

impl Train {
    /// Appends packets to `buf`, at most so many; `next` appends one, if there is one.
    pub(super) fn fill(
        &mut self,
        buf: &mut Vec<u8>,
        segments_max: usize,
        mut next: impl FnMut(&mut Vec<u8>) -> Option<Head>,
    ) -> Option<Transmit> {
        let start = buf.len();
        let first = match self.waiting.take() {
            Some((head, packet)) => {
                buf.extend_from_slice(&packet);
                head
            }
            None => next(buf)?,
        };
        let segment = buf.len() - start;
        let mut last = segment;
        for _ in 1..segments_max {
            let end = buf.len();
            if last < segment || end - start + segment > TRAIN_LEN_MAX {
                break;
            }
            let Some(head) = next(buf) else { break };
            last = buf.len() - end;
            if head != first || last > segment || buf.len() - start > TRAIN_LEN_MAX {
                self.waiting = Some((head, buf.split_off(end)));
                break;
            }
        }
        let (path, ecn) = first;
        let segment_size = (buf.len() - start > segment).then_some(segment);
        Some(Transmit { ecn, segment_size, ..Transmit::datagram(path) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(port: u16) -> FourTuple {
        FourTuple::new(([10, 0, 0, 1], port).into(), ([10, 0, 0, 2], 2).into())
    }

    /// What leaves of packets with these lengths for these ports: the segment and all bytes.
    fn trains(segments_max: usize, packets: &[(usize, u16)]) -> Vec<(Option<usize>, usize)> {
        let mut packets = packets.iter();
        let mut train = Train::default();
        let mut told = Vec::new();
        loop {
            let mut buf = Vec::new();
            let transmit = train.fill(&mut buf, segments_max, |out| {
                let (len, port) = packets.next()?;
                out.resize(out.len() + len, 0);
                Some((path(*port), None))
            });
            let Some(transmit) = transmit else { return told };
            told.push((transmit.segment_size, buf.len()));
        }
    }

    #[test]
    fn packets_of_one_size_leave_together_and_a_shorter_one_is_the_last() {
        assert_eq!(trains(64, &[(100, 1); 5]), [(Some(100), 500)]);
        assert_eq!(trains(64, &[(100, 1), (40, 1), (100, 1)]), [(Some(100), 140), (None, 100)]);
        assert_eq!(trains(2, &[(100, 1); 5]), [(Some(100), 200), (Some(100), 200), (None, 100)]);
        assert_eq!(trains(1, &[(100, 1); 2]), [(None, 100), (None, 100)]);
    }

    #[test]
    fn what_is_longer_or_goes_elsewhere_leaves_next() {
        assert_eq!(trains(64, &[(40, 1), (100, 1), (100, 1)]), [(None, 40), (Some(100), 200)]);
        assert_eq!(trains(64, &[(100, 1), (100, 2), (100, 2)]), [(None, 100), (Some(100), 200)]);
    }

    #[test]
    fn a_train_is_no_longer_than_a_datagram_can_be() {
        let told = trains(100, &[(1_400, 1); 90]);
        assert!(told.iter().all(|(_, len)| *len <= TRAIN_LEN_MAX), "{told:?}");
        assert_eq!(told.iter().map(|(_, len)| len).sum::<usize>(), 90 * 1_400);
    }
}
