//! [`MtuSearch`]: how long the packets may be that a path carries (RFC 8899, DPLPMTUD).

use std::time::Duration;

use anabranch_sansio::Time;

/// RFC 8899 section 5.1.2: "The MAX_PROBES is the maximum value of the PROBE_COUNT counter ... The
/// default value of MAX_PROBES is 3."
const MAX_PROBES: u32 = 3;

/// RFC 8899 section 5.1.1, PROBE_TIMER: "This value MUST NOT be smaller than 1 second". It also
/// "SHOULD be larger than 15 seconds": a path that takes longer than this to answer has a longer
/// RTO, which is waited for.
const PROBE_TIMER_MIN: Duration = Duration::from_secs(1);

/// RFC 8899 section 5.1.1, PMTU_RAISE_TIMER: "This timer has a period of 600 seconds".
const PMTU_RAISE_TIMER: Duration = Duration::from_secs(600);

/// What is tried first, before the largest: it passes through the usual tunnels.
const USUAL: usize = 1_400;

/// What is tried one after the other where the largest does not pass: Ethernet less the headers of
/// PPPoE, of tunnels in IPv4 and IPv6, of WireGuard, and what lies between.
const SIZES: [usize; 9] = [1_320, 1_360, USUAL, 1_420, 1_440, 1_460, 1_480, 1_492, 1_500];

/// Packets longer than the base that were lost in a row, and none such delivered, that speak for a
/// path that carries none any more. A burst of losses as long costs a round trip of shorter
/// packets.
const LOSSES_MAX: u32 = 64;

/// Timeouts in a row that do.
const TIMEOUTS_MAX: u32 = 2;

/// Finds the largest packet that passes, by probes that carry no data, and notices when it does not
/// pass any more. Sizes are those of IP packets.
#[derive(Debug)]
pub(crate) struct MtuSearch {
    /// BASE_PLPMTU, which is taken to pass; also MIN_PLPMTU.
    base: usize,
    /// MAX_PLPMTU.
    limit: usize,
    /// The PLPMTU: the largest that passed.
    passed: usize,
    /// The smallest that did not, if any.
    refused: Option<usize>,
    /// What was sent last to find out more, and how often.
    probe: Option<Probe>,
    /// When to send the next probe.
    timer: Time,
    losses: u32,
    timeouts: u32,
}

#[derive(Debug, Clone, Copy)]
struct Probe {
    size: usize,
    nonce: u64,
    count: u32,
}

impl MtuSearch {
    /// A search that begins at `now`, above `base`.
    pub(crate) const fn new(now: Time, base: usize, limit: usize) -> Self {
        Self {
            base,
            limit,
            passed: base,
            refused: None,
            probe: None,
            timer: now,
            losses: 0,
            timeouts: 0,
        }
    }

    /// IP bytes that a packet may have.
    pub(crate) const fn path_mtu(&self) -> usize {
        self.passed
    }

    /// When to call [`next_probe`](Self::next_probe).
    pub(crate) const fn timer(&self) -> Time {
        self.timer
    }

    /// Nothing can be asked before then.
    pub(crate) const fn postpone(&mut self, until: Time) {
        self.timer = until;
    }

    /// The timer has expired: the size of the probe to be sent, if there is anything to find out.
    pub(crate) fn next_probe(&mut self, now: Time, nonce: u64, rto: Duration) -> Option<usize> {
        let again = self.probe.filter(|probe| probe.count < MAX_PROBES);
        let (size, count) = match (again, self.probe) {
            (Some(probe), _) => (probe.size, probe.count + 1),
            (None, unanswered) => {
                self.refused = unanswered.map_or(self.refused, |probe| Some(probe.size));
                let Some(size) = self.next_size() else {
                    self.complete(now);
                    return None;
                };
                (size, 1)
            }
        };
        self.probe = Some(Probe { size, nonce, count });
        self.timer = now + rto.max(PROBE_TIMER_MIN);
        Some(size)
    }

    /// The answer to a probe has come; true if larger packets pass than before.
    pub(crate) fn on_answer(&mut self, now: Time, nonce: u64) -> bool {
        let Some(probe) = self.probe.take_if(|probe| probe.nonce == nonce) else { return false };
        self.passed = self.passed.max(probe.size);
        self.timer = now;
        true
    }

    /// A chunk of a packet of at least `len` IP bytes was acknowledged.
    pub(crate) const fn on_acknowledged(&mut self, len: usize) {
        self.timeouts = 0;
        if len > self.base {
            self.losses = 0;
        }
    }

    /// The same was lost; true if such packets do not pass any more.
    ///
    /// RFC 8899 section 4.3: "A PL can utilize an event that indicates the network path no longer
    /// sustains the sender's PLPMTU size."
    pub(crate) fn on_lost(&mut self, now: Time, len: usize) -> bool {
        if len > self.base {
            self.losses += 1;
        }
        self.losses >= LOSSES_MAX && self.begin_anew(now)
    }

    /// Nothing was answered for a retransmission timeout; true if long packets are given up.
    pub(crate) fn on_timeout(&mut self, now: Time) -> bool {
        self.timeouts += 1;
        self.timeouts >= TIMEOUTS_MAX && self.begin_anew(now)
    }

    fn begin_anew(&mut self, now: Time) -> bool {
        let falls = self.passed > self.base;
        if falls {
            *self = Self::new(now, self.base, self.limit);
        }
        (self.losses, self.timeouts) = (0, 0);
        falls
    }

    /// RFC 8899 section 5.2: "If the PMTU_RAISE_TIMER expires, the PLPMTUD method re-enters the
    /// Search Phase".
    fn complete(&mut self, now: Time) {
        self.probe = None;
        self.refused = None;
        self.timer = now + PMTU_RAISE_TIMER;
    }

    fn next_size(&self) -> Option<usize> {
        let Some(refused) = self.refused else {
            let usual = (self.passed < USUAL && USUAL < self.limit).then_some(USUAL);
            return usual.or_else(|| (self.passed < self.limit).then_some(self.limit));
        };
        SIZES.into_iter().find(|size| *size > self.passed && *size < refused)
    }
}
