//! [`Cbr`]: a source of packets of one length at a constant rate, over UDP, and its sink.

use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rate, Rng, Time, Transmit, Wakeup};

/// IP bytes of a packet (Al-Majeed 2011, table 2), and those before its payload.
const PACKET_LEN: usize = 1_000;
const HEADERS_LEN: usize = 28;

/// One end. The source never stops.
#[derive(Debug)]
pub(super) struct Cbr {
    path: FourTuple,
    gap: Duration,
    /// When the next packet leaves; the sink sends none.
    next: Option<Time>,
}

impl Cbr {
    /// Begins anywhere within the gap between two packets: sources keep no step with each other.
    pub(super) fn source(path: FourTuple, rate: Rate, rng: &mut Rng) -> Self {
        let gap = rate.time_for(PACKET_LEN as u64);
        Self { path, gap, next: Some(Time::ZERO + gap.mul_f64(rng.unit())) }
    }

    pub(super) const fn sink(path: FourTuple) -> Self {
        Self { path, gap: Duration::ZERO, next: None }
    }
}

impl Machine for Cbr {
    type Event = ();

    fn handle_datagram(&mut self, _now: Time, _datagram: Datagram<'_>) {}

    fn handle_timeout(&mut self, _now: Time) {}

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let next = self.next.as_mut().filter(|next| **next <= now)?;
        *next += self.gap;
        buf.resize(buf.len() + PACKET_LEN - HEADERS_LEN, 0x5a);
        Some(Transmit::datagram(self.path))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        Some(Wakeup { at: self.next?, why: "next packet" })
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_its_rate() {
        let path = FourTuple::new(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into());
        let mut source = Cbr::source(path, Rate::kbps(1_500), &mut Rng::from_u64(1));
        let (mut bytes, mut buf) = (0, Vec::new());
        while let Some(wakeup) = source.poll_timeout().filter(|it| it.at < Time::from_secs(10)) {
            while source.poll_transmit(wakeup.at, &mut buf).is_some() {
                bytes += buf.len() + HEADERS_LEN;
                buf.clear();
            }
        }
        assert!((bytes as f64 * 8.0 / 10.0 / 1.5e6 - 1.0).abs() < 0.001, "{bytes} bytes");
    }
}
