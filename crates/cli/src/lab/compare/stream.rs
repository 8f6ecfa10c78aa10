//! [`Stream`]: what is sent and what arrives; and [`Meter`], the plain one of 10 Mbit/s.

use std::time::Duration;

use serde::Serialize;

/// What is sent through a tool, datagram by datagram, and what becomes of it.
pub(super) trait Stream {
    /// When the next datagram is due, since the beginning; `None` when all has been sent.
    fn next_at(&self) -> Option<Duration>;
    /// The next datagram, which is sent now.
    fn send(&mut self, now: Duration) -> Vec<u8>;
    /// Takes in what arrived at this time since the beginning.
    fn take(&mut self, now: Duration, datagram: &[u8]);
    /// What was sent before does not count.
    fn begin(&mut self);
    /// Whether anything came.
    fn has_any(&self) -> bool;
}

/// A packet of MPEG-TS.
const TS_PACKET: usize = 188;
/// Packets in a datagram, as programs send them.
pub(super) const PACKETS_PER_DATAGRAM: usize = 7;
/// Bytes of a datagram.
pub(super) const DATAGRAM: usize = TS_PACKET * PACKETS_PER_DATAGRAM;
/// How often there is a datagram: 10 Mbit/s.
const INTERVAL: Duration = Duration::from_nanos(DATAGRAM as u64 * 8 * 100);

/// The identifier of the packets: no table lists it, so that no tool looks into them.
const PID: u16 = 0x0123;
/// Before the sequence number and the time.
const MARK: [u8; 4] = *b"ABCM";
/// The header and the mark.
const NUMBER_AT: usize = 8;

/// A datagram: each of its packets has a sequence number, and the time since the beginning.
fn datagram(number: u64, at: Duration) -> [u8; DATAGRAM] {
    let mut bytes = [0xff; DATAGRAM];
    let [high, low] = PID.to_be_bytes();
    let first = number * PACKETS_PER_DATAGRAM as u64;
    for (sequence, packet) in (first..).zip(bytes.chunks_exact_mut(TS_PACKET)) {
        packet[..4].copy_from_slice(&[0x47, high, low, 0x10 | (sequence & 0xf) as u8]);
        packet[4..NUMBER_AT].copy_from_slice(&MARK);
        packet[NUMBER_AT..NUMBER_AT + 8].copy_from_slice(&sequence.to_be_bytes());
        let nanos = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        packet[NUMBER_AT + 8..NUMBER_AT + 16].copy_from_slice(&nanos.to_be_bytes());
    }
    bytes
}

/// What is sent and what arrives, packet by packet.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// How long each packet was under way, by its sequence number.
    delays: Vec<Option<Duration>>,
    /// The first packet that counts.
    from: usize,
}

/// What a stream was like at its far end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct Received {
    /// Of all packets that were sent, those that came in time.
    pub(super) in_time_percent: f64,
    /// The longest piece of the stream without a packet that came in time.
    pub(super) longest_hole_ms: f64,
    /// What was added to the link's own delay: the median, and 99 of 100.
    pub(super) added_p50_ms: f64,
    pub(super) added_p99_ms: f64,
}

impl Meter {
    /// Datagrams that were sent.
    fn sent(&self) -> u64 {
        (self.delays.len() / PACKETS_PER_DATAGRAM) as u64
    }

    /// Bytes that were sent, and those of them that came.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let counted = self.counted();
        let came = counted.iter().flatten().count();
        ((counted.len() * TS_PACKET) as u64, (came * TS_PACKET) as u64)
    }

    /// What is in time when it is under way no longer than `limit`, of which `one_way` is the
    /// link's.
    pub(super) fn judge(&self, one_way: Duration, limit: Duration) -> Received {
        let counted = self.counted();
        let is_in_time = |delay: &Option<Duration>| delay.is_some_and(|delay| delay <= limit);
        let in_time = counted.iter().filter(|delay| is_in_time(delay)).count();
        let holes = counted.chunk_by(|a, b| is_in_time(a) == is_in_time(b));
        let longest = holes.filter(|run| !is_in_time(&run[0])).map(<[_]>::len).max().unwrap_or(0);
        let mut delays: Vec<_> = counted.iter().flatten().collect();
        delays.sort();
        if delays.is_empty() {
            return Received { longest_hole_ms: hole_ms(counted.len()), ..Received::default() };
        }
        let added = |share: f64| {
            let at = ((delays.len() - 1) as f64 * share) as usize;
            millis(delays[at].saturating_sub(one_way))
        };
        Received {
            in_time_percent: 100.0 * in_time as f64 / counted.len() as f64,
            longest_hole_ms: hole_ms(longest),
            added_p50_ms: added(0.5),
            added_p99_ms: added(0.99),
        }
    }

    fn counted(&self) -> &[Option<Duration>] {
        self.delays.get(self.from..).unwrap_or_default()
    }
}

impl Stream for Meter {
    fn next_at(&self) -> Option<Duration> {
        let nanos = INTERVAL.as_nanos() as u64 * (self.sent() + 1);
        Some(Duration::from_nanos(nanos))
    }

    fn send(&mut self, now: Duration) -> Vec<u8> {
        let bytes = datagram(self.sent(), now).to_vec();
        self.delays.extend([None; PACKETS_PER_DATAGRAM]);
        bytes
    }

    /// What is none of our packets is not counted; neither is a packet that came before.
    fn take(&mut self, now: Duration, datagram: &[u8]) {
        for packet in datagram.chunks_exact(TS_PACKET) {
            let Some((sequence, sent)) = read(packet) else { continue };
            let slot = usize::try_from(sequence).ok().and_then(|n| self.delays.get_mut(n));
            if let Some(slot) = slot {
                slot.get_or_insert(now.saturating_sub(sent));
            }
        }
    }

    fn begin(&mut self) {
        self.from = self.delays.len();
    }

    fn has_any(&self) -> bool {
        self.delays.iter().any(Option::is_some)
    }
}

fn hole_ms(packets: usize) -> f64 {
    millis(INTERVAL) * packets as f64 / PACKETS_PER_DATAGRAM as f64
}

pub(super) fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// The sequence number and the time of one of our packets.
fn read(packet: &[u8]) -> Option<(u64, Duration)> {
    let number = |at: usize| Some(u64::from_be_bytes(*packet.get(at..)?.first_chunk()?));
    if packet.get(4..NUMBER_AT)? != MARK {
        return None;
    }
    Some((number(NUMBER_AT)?, Duration::from_nanos(number(NUMBER_AT + 8)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// A meter after so many datagrams.
    fn meter(datagrams: u64) -> Meter {
        let mut meter = Meter::default();
        for number in 0..datagrams {
            assert_eq!(meter.next_at(), Some(INTERVAL * (number as u32 + 1)));
            assert_eq!(meter.send(ms(1)), datagram(number, ms(1)));
        }
        meter
    }

    #[test]
    fn what_comes_late_or_never_is_missing_and_makes_holes() {
        let mut meter = meter(10);
        for number in [0, 1, 4, 5, 6, 7, 9] {
            let sent = ms(number);
            let delay = if number == 5 { ms(400) } else { ms(125) };
            meter.take(sent + delay, &datagram(number, sent));
        }
        let found = meter.judge(ms(25), ms(225));
        assert!((found.in_time_percent - 60.0).abs() < 1e-9, "{found:?}");
        assert!((found.longest_hole_ms - 2.0 * millis(INTERVAL)).abs() < 1e-9, "{found:?}");
        assert_eq!((found.added_p50_ms, found.added_p99_ms), (100.0, 375.0));
        assert_eq!(meter.bytes(), (10 * DATAGRAM as u64, 7 * DATAGRAM as u64));
    }

    #[test]
    fn what_was_sent_before_does_not_count() {
        let mut meter = meter(2);
        assert!(!meter.has_any());
        meter.begin();
        assert_eq!(meter.send(ms(1)), datagram(2, ms(1)));
        (1..3).for_each(|number| meter.take(ms(50), &datagram(number, ms(10))));
        assert_eq!(meter.judge(ms(25), ms(100)).in_time_percent, 100.0);
        assert_eq!(meter.bytes(), (DATAGRAM as u64, DATAGRAM as u64));
    }

    #[test]
    fn repeated_and_foreign_packets_are_not_counted() {
        let mut meter = meter(1);
        meter.take(ms(5), &[0x47; DATAGRAM]);
        meter.take(ms(5), &datagram(7, ms(0)));
        assert!(!meter.has_any());
        assert_eq!(meter.judge(ms(0), ms(10)).longest_hole_ms, millis(INTERVAL));
        meter.take(ms(5), &datagram(0, ms(0)));
        meter.take(ms(90), &datagram(0, ms(0)));
        assert_eq!(meter.judge(ms(0), ms(10)).in_time_percent, 100.0);
    }
}
