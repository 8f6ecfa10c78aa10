//! The three-way handshake (RFC 9293 section 3.5).

use std::time::Duration;

use anabranch_sansio::{Rng, Time, Wakeup};

use super::{CloseReason, Open};
use crate::Config;
use crate::receive::Receiver;
use crate::segment::{Segment, window_shift};
use crate::send::{FIRST, Rto, Sender, SenderStart};
use crate::sequence::NumberSpace;

/// RFC 9293 section 3.7.1: "If an MSS Option is not received at connection setup, TCP
/// implementations MUST assume a default send MSS of 536 (576 - 40) for IPv4".
const MSS_DEFAULT: u16 = 536;

/// SYN-SENT or SYN-RECEIVED.
#[derive(Debug)]
pub(super) struct Handshake {
    space: NumberSpace,
    /// What is announced.
    mss: u16,
    shift: u8,
    sack: bool,
    window: u16,
    /// The peer's SYN: in SYN-RECEIVED.
    peer: Option<PeerSyn>,
    must_send: bool,
    sent_at: Time,
    timer: Time,
    rto: Duration,
    retries: u32,
    /// What the controller leaves to chance.
    rng: Rng,
}

/// What the peer's SYN says.
#[derive(Debug, Clone, Copy)]
struct PeerSyn {
    space: NumberSpace,
    mss: u16,
    shift: Option<u8>,
    sack: bool,
}

/// What a segment does to a handshake.
pub(super) enum Step {
    Waits,
    /// It is of another connection.
    Refused,
    /// The peer does not want it.
    Reset,
    Done(Box<Open>),
}

impl PeerSyn {
    fn of(syn: &Segment) -> Self {
        Self {
            space: NumberSpace::new(syn.sequence_number),
            mss: syn.mss.unwrap_or(MSS_DEFAULT).max(1),
            shift: syn.window_shift,
            sack: syn.sack_permitted,
        }
    }
}

impl Handshake {
    /// SYN-SENT.
    pub(super) fn active(config: &Config, mss: u16, now: Time, rng: &mut Rng) -> Self {
        Self {
            space: NumberSpace::new(rng.next_u32()),
            mss,
            shift: window_shift(config.receive_buffer),
            sack: config.sack,
            // The window field of a SYN is never scaled (RFC 7323 section 2.2).
            window: u16::try_from(config.receive_buffer).unwrap_or(u16::MAX),
            peer: None,
            must_send: true,
            sent_at: now,
            timer: now + config.rto_initial,
            rto: config.rto_initial,
            retries: 0,
            rng: rng.fork(),
        }
    }

    /// SYN-RECEIVED, if the segment is a SYN.
    pub(super) fn passive(
        config: &Config,
        mss: u16,
        now: Time,
        rng: &mut Rng,
        syn: &Segment,
    ) -> Option<Self> {
        let is_syn = syn.syn && !syn.rst && syn.acknowledgment_number.is_none();
        let peer = is_syn.then(|| PeerSyn::of(syn));
        peer.map(|peer| Self { peer: Some(peer), ..Self::active(config, mss, now, rng) })
    }

    pub(super) fn on_segment(&mut self, config: &Config, now: Time, segment: &Segment) -> Step {
        let acknowledges = segment.acknowledgment_number == Some(self.space.number(FIRST));
        let Some(peer) = self.peer else {
            return self.on_segment_in_syn_sent(config, now, segment, acknowledges);
        };
        if segment.rst {
            let is_theirs = segment.sequence_number == peer.space.number(FIRST);
            return if is_theirs { Step::Reset } else { Step::Waits };
        }
        if segment.syn {
            // Our answer was lost.
            self.must_send |= segment.sequence_number == peer.space.number(0);
            return Step::Waits;
        }
        match (segment.acknowledgment_number, acknowledges) {
            (Some(_), true) => Step::Done(self.open(config, now, peer, segment)),
            (Some(_), false) => Step::Refused,
            (None, _) => Step::Waits,
        }
    }

    fn on_segment_in_syn_sent(
        &mut self,
        config: &Config,
        now: Time,
        segment: &Segment,
        acknowledges: bool,
    ) -> Step {
        if segment.acknowledgment_number.is_some() && !acknowledges {
            return Step::Refused;
        }
        match (segment.rst, segment.syn && acknowledges) {
            (true, _) if acknowledges => Step::Reset,
            (false, true) => {
                let mut open = self.open(config, now, PeerSyn::of(segment), segment);
                open.receiver.acknowledge_now();
                Step::Done(open)
            }
            (true, _) | (false, false) => Step::Waits,
        }
    }

    fn open(&self, config: &Config, now: Time, peer: PeerSyn, segment: &Segment) -> Box<Open> {
        let mut rto = Rto::new(config);
        if self.retries > 0 {
            rto.reinitialize();
        } else {
            rto.on_sample(now - self.sent_at);
        }
        // RFC 7323 section 1.3: both ends must send the option for either to use it.
        let (our_shift, peer_shift) = peer.shift.map_or((0, 0), |shift| (self.shift, shift));
        let field_shift = if segment.syn { 0 } else { peer_shift };
        let start = SenderStart {
            space: self.space,
            smss: usize::from(self.mss.min(peer.mss)),
            has_sack: self.sack && peer.sack,
            window: u64::from(segment.window) << field_shift,
            rto,
        };
        let has_sack = start.has_sack;
        let receiver = Receiver::new(config, peer.space, usize::from(self.mss), our_shift);
        let sender = Sender::new(config, start, now, self.rng.clone());
        Box::new(Open::new(config, sender, receiver, peer_shift, has_sack))
    }

    pub(super) fn poll(&mut self, _now: Time) -> Option<Segment> {
        if !std::mem::take(&mut self.must_send) {
            return None;
        }
        Some(Segment {
            sequence_number: self.space.number(0),
            acknowledgment_number: self.peer.map(|peer| peer.space.number(FIRST)),
            syn: true,
            window: self.window,
            mss: Some(self.mss),
            // The answer has what the question had.
            window_shift: self.peer.is_none_or(|peer| peer.shift.is_some()).then_some(self.shift),
            sack_permitted: self.sack && self.peer.is_none_or(|peer| peer.sack),
            ..Segment::default()
        })
    }

    pub(super) const fn poll_timeout(&self) -> Wakeup {
        Wakeup { at: self.timer, why: "SYN retransmission" }
    }

    pub(super) fn handle_timeout(&mut self, config: &Config, now: Time) -> Option<CloseReason> {
        if self.timer > now {
            return None;
        }
        self.retries += 1;
        if self.retries > config.retries {
            return Some(CloseReason::TimedOut);
        }
        self.rto = (self.rto * 2).min(config.rto_max);
        self.timer = now + self.rto;
        self.must_send = true;
        None
    }
}
