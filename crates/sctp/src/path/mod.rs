//! Paths: pairs of transport addresses, each with its own RTT, congestion control and liveness.

mod controller;
mod mtu_search;
mod pairing;
mod rtt;
mod set;

use std::time::Duration;

use anabranch_sansio::{FourTuple, Rate, Rng, Time};

use crate::config::AssociationConfig;
use crate::earliest::Earliest;
use crate::path_choice::Outlook;
use crate::path_name::{PathId, PathSlot, PathState};
use crate::stats::PathStats;
use anabranch_congestion::{Pacer, SentData};

use controller::Controller;
pub(crate) use mtu_search::MtuSearch;
pub(crate) use pairing::pair_addresses;
pub(crate) use rtt::RttEstimator;
pub(crate) use set::PathSet;

/// Who wants a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The user gave it: it stays.
    User,
    /// The peer announced it, or called over it.
    Peer,
    /// A packet with our verification tag came over it.
    Arrival,
}

/// Whether a path belongs to the association, or for how long yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Membership {
    /// It does, or may turn out to.
    Member,
    /// It was a candidate that came to nothing: its place is free.
    Abandoned,
    /// The peer wants it deleted (RFC 5061), which it is as soon as there is another one.
    Doomed,
    /// The peer has deleted it.
    Deleted,
}

/// What arrived over a path before it was confirmed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidacy {
    /// When the first packet came.
    pub(crate) since: Time,
    /// Whether more than heartbeats came.
    pub(crate) moves_traffic: bool,
}

/// One path: what is known about it, and its timers.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) slot: PathSlot,
    pub(crate) id: PathId,
    /// Whether the user knows of it.
    pub(crate) is_announced: bool,
    pub(crate) tuple: FourTuple,
    pub(crate) origin: Origin,
    pub(crate) state: PathState,
    /// Whether data takes it only while no other path stands: the user's choice.
    pub(crate) is_spared: bool,
    pub(crate) rtt: RttEstimator,
    pub(crate) congestion: Controller,
    /// Releases data at the controller's rate.
    pub(crate) pacer: Pacer,
    /// Whether a controller without a rate is paced by its window.
    paces_window: bool,
    /// T3-rtx.
    pub(crate) t3_rtx: Option<Time>,
    /// The reordering timer or the probe timeout, of which one runs at most.
    pub(crate) loss_timer: Option<(Time, LossTimer)>,
    pub(crate) heartbeat: Heartbeat,
    /// 'HB.interval', where it is not the association's.
    pub(crate) heartbeat_interval: Option<Duration>,
    /// Whether the user switched heartbeats off.
    pub(crate) has_no_heartbeats: bool,
    /// RFC 9260 section 8.2: consecutive timeouts and unanswered heartbeats.
    pub(crate) error_count: u32,
    /// When a packet last came over it.
    pub(crate) last_heard: Option<Time>,
    /// Exists where larger packets are searched for, once the association is there.
    pub(crate) mtu_search: Option<MtuSearch>,
    /// What arrived over it before it was confirmed, if anything did.
    pub(crate) candidacy: Option<Candidacy>,
    pub(crate) membership: Membership,
    /// When data was last sent here.
    pub(crate) last_data_sent: Option<Time>,
    /// RFC 9260 section 6.1, rule D: flight size up to which this arrival lets us send.
    pub(crate) burst_ceiling: usize,
    pub(crate) stats: PathStats,
}

/// What a timer of loss detection in time is for (RFC 8985 section 5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LossTimer {
    /// The RACK reordering timer.
    Reordering,
    /// The TLP PTO.
    Probe,
}

impl LossTimer {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Reordering => "reordering",
            Self::Probe => "loss probe",
        }
    }
}

/// The heartbeat timer of a path and what it waits for.
#[derive(Debug, Default)]
pub(crate) struct Heartbeat {
    /// When to act next.
    pub(crate) timer: Option<Time>,
    /// Whether the last heartbeat was not answered yet.
    pub(crate) awaits_answer: bool,
    /// Those in a row that were not, and were not taken for an error.
    pub(crate) repeats: u32,
    /// The last heartbeats, the newest first, so that an answer that takes longer than the timeout
    /// still counts.
    recent: [Option<SentHeartbeat>; RECENT_MAX],
}

/// Heartbeats whose answers count: one a second for as long as a queue of a phone's network holds.
const RECENT_MAX: usize = 16;

/// A heartbeat that is on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentHeartbeat {
    nonce: u64,
    pub(crate) at: Time,
    /// Whether an earlier one was answered after this one was sent: its own answer tells how long
    /// it took, and nothing else.
    pub(crate) is_overtaken: bool,
}

impl Heartbeat {
    /// A heartbeat with this nonce goes out.
    pub(crate) fn on_sent(&mut self, now: Time, nonce: u64) {
        self.recent.rotate_right(1);
        self.recent[0] = Some(SentHeartbeat { nonce, at: now, is_overtaken: false });
        self.awaits_answer = true;
    }

    /// The answer to the heartbeat with this nonce came in. `None` if none of the last ones had it,
    /// or a later one was answered.
    pub(crate) fn on_answer(&mut self, nonce: u64) -> Option<SentHeartbeat> {
        let is_it = |sent: &Option<SentHeartbeat>| sent.is_some_and(|sent| sent.nonce == nonce);
        let place = self.recent.iter().position(is_it)?;
        let answered = self.recent[place]?;
        self.recent[place..].fill(None);
        self.recent.iter_mut().flatten().for_each(|later| later.is_overtaken = true);
        if !answered.is_overtaken {
            self.awaits_answer = false;
            self.repeats = 0;
        }
        Some(answered)
    }
}

impl Path {
    pub(crate) fn new(
        (slot, id): (PathSlot, PathId),
        (tuple, origin): (FourTuple, Origin),
        state: PathState,
        config: &AssociationConfig,
        rng: &mut Rng,
    ) -> Self {
        Self {
            slot,
            id,
            // A candidate may not be the peer.
            is_announced: origin != Origin::Arrival,
            tuple,
            origin,
            state,
            is_spared: false,
            rtt: RttEstimator::new(config),
            congestion: Controller::new(config, rng),
            pacer: Pacer::default(),
            paces_window: config.window.pacing,
            t3_rtx: None,
            loss_timer: None,
            heartbeat: Heartbeat::default(),
            heartbeat_interval: None,
            has_no_heartbeats: false,
            error_count: 0,
            last_heard: None,
            mtu_search: None,
            candidacy: None,
            membership: Membership::Member,
            last_data_sent: None,
            burst_ceiling: usize::MAX,
            stats: PathStats::default(),
        }
    }

    /// Starts congestion control and RTT anew (a restarted peer: RFC 9260 section 5.2.4, action A).
    pub(crate) fn reset(&mut self, config: &AssociationConfig, rng: &mut Rng) {
        self.rtt = RttEstimator::new(config);
        self.congestion = Controller::new(config, rng);
        self.pacer = Pacer::default();
        self.t3_rtx = None;
        self.loss_timer = None;
        self.heartbeat = Heartbeat::default();
        self.error_count = 0;
        if self.membership != Membership::Abandoned {
            self.membership = Membership::Member;
        }
        self.last_data_sent = None;
    }

    /// The peer, which had deleted it, has it again.
    pub(crate) fn restore(&mut self, config: &AssociationConfig, rng: &mut Rng) {
        self.reset(config, rng);
        self.state = PathState::Unconfirmed;
        self.origin = Origin::Peer;
    }

    /// Whether data may be sent here at all.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.state != PathState::Unconfirmed
    }

    /// Whether the peer has deleted it.
    pub(crate) fn is_deleted(&self) -> bool {
        self.membership == Membership::Deleted
    }

    /// Whether the peer wants it deleted.
    pub(crate) fn is_doomed(&self) -> bool {
        self.membership == Membership::Doomed
    }

    /// Whether it was a candidate, and is one no more.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.membership == Membership::Abandoned
    }

    /// Whether heartbeats may go out here that nobody asked for.
    ///
    /// RFC 7829 section 3.2, rule 5: "if the Path Heartbeat function is disabled for the
    /// destination address in question, HEARTBEATs MUST NOT be sent." Paths are verified all the
    /// same (RFC 9260 section 5.4).
    pub(crate) fn may_be_probed(&self) -> bool {
        !self.has_no_heartbeats || !self.is_confirmed()
    }

    /// When to find out more about how long packets may be.
    pub(crate) fn mtu_timer(&self) -> Option<Time> {
        self.mtu_search.as_ref().map(MtuSearch::timer)
    }

    /// All of the path's timers that run.
    pub(crate) fn offer_timers(&self, earliest: &mut Earliest) {
        earliest.offer(self.t3_rtx, "T3-rtx");
        earliest.offer(self.heartbeat.timer, "heartbeat");
        earliest.offer(self.mtu_timer(), "path MTU");
        if let Some((at, timer)) = self.loss_timer {
            earliest.offer(Some(at), timer.name());
        }
    }

    /// How long `len` bytes take to be sent, as far as the window lets foresee: what does not fit
    /// into it now waits for round trips, each of which frees the window once, or doubles it in
    /// slow start.
    pub(crate) fn time_to_send(&self, len: usize, in_flight: usize) -> Duration {
        let metrics = self.congestion.metrics();
        let rest = len.saturating_sub(metrics.window.saturating_sub(in_flight));
        if rest == 0 {
            return Duration::ZERO;
        }
        let windows = rest as f64 / metrics.window.max(1) as f64;
        let rounds = if metrics.slow_start { (1.0 + windows).log2() } else { windows };
        self.rtt.srtt().map_or(Duration::ZERO, |srtt| srtt.mul_f64(rounds))
    }

    /// When the next packet of `packet` bytes would arrive here, and how well the path does. It has
    /// at most `share` bytes of the peer's buffer for itself.
    pub(crate) fn outlook(&self, now: Time, flight: (usize, usize), packet: usize) -> Outlook {
        let (in_flight, share) = flight;
        let metrics = self.congestion.metrics();
        let srtt = self.rtt.srtt().unwrap_or_default();
        let rate = self.rate();
        let excess = (in_flight + packet).saturating_sub(metrics.window.min(share));
        // How long a full path that was never measured takes is not known: it holds up no other.
        let is_measurable = in_flight > 0 && rate != Rate::ZERO;
        let for_room = if is_measurable { rate.time_for(excess as u64) } else { Duration::ZERO };
        let for_pace = self.pacer.opens_at().map_or(Duration::ZERO, |at| at - now);
        Outlook {
            slot: self.slot,
            id: self.id,
            is_open: false,
            srtt,
            arrival: for_room.max(for_pace).saturating_add(srtt / 2),
            rate,
            slow_start: metrics.slow_start,
            usage: in_flight as f64 / metrics.window.max(1) as f64,
            window: metrics.window,
            ssthresh: metrics.ssthresh.unwrap_or(usize::MAX),
            loss_rate: self.stats.chunks_lost as f64 / self.stats.chunks_sent.max(1) as f64,
        }
    }

    /// The rate that the controller would send at, paced or by its window.
    pub(crate) fn rate(&self) -> Rate {
        let srtt = self.rtt.srtt().unwrap_or_default();
        let window_rate = || Rate::of(self.congestion.metrics().window as u64, srtt);
        self.congestion.pacing_rate().unwrap_or_else(window_rate)
    }

    /// Data goes out in packets of at most `packet` bytes: tells the controller and the pacer.
    pub(crate) fn on_data_sent(&mut self, sent: &SentData, packet: usize) {
        self.last_data_sent = Some(sent.now);
        self.congestion.on_sent(sent);
        if let Some(rate) = self.pacing_rate() {
            self.pacer.on_sent(sent.now, sent.bytes, packet, rate);
        }
    }

    /// Something was answered: tells the controller by `tell`, and the pacer if data may go out
    /// more than twice as fast from now on. Rates that rise and fall a little average out, and
    /// would not if each rise counted.
    pub(crate) fn on_answer(&mut self, now: Time, tell: impl FnOnce(&mut Controller)) {
        let before = self.pacing_rate();
        tell(&mut self.congestion);
        if let (Some(before), Some(after)) = (before, self.pacing_rate())
            && after.as_bps() / 2 > before.as_bps()
        {
            self.pacer.speed_up(now, before, after);
        }
    }

    /// What congestion control lets the path carry.
    pub(crate) fn allowed_rate(&self) -> Rate {
        let by_window = || {
            let window = self.congestion.metrics().window as u64;
            Rate::of(window, self.rtt.srtt().unwrap_or_default())
        };
        self.congestion.bandwidth().unwrap_or_else(by_window)
    }

    /// How fast data may go out, if that is limited.
    ///
    /// RFC 9002 section 7.7 paces a window by "rate = N * congestion_window / smoothed_rtt": "Using
    /// a value for "N" that is small, but at least 1 (for example, 1.25) ensures that variations in
    /// RTT do not result in underutilization of the congestion window." While the window doubles
    /// each round trip, so does the rate.
    fn pacing_rate(&self) -> Option<Rate> {
        if let Some(rate) = self.congestion.pacing_rate() {
            return Some(rate);
        }
        // Where clocks are coarse a round trip may seem to take no time: there is no pace then.
        let srtt = self.rtt.srtt().filter(|srtt| self.paces_window && !srtt.is_zero())?;
        let metrics = self.congestion.metrics();
        let percent = if metrics.slow_start { 200 } else { 125 };
        Some(Rate::of(metrics.window as u64 * percent / 100, srtt))
    }

    /// The window shrinks while nothing is sent; to be called before sending.
    pub(crate) fn account_idle_time(&mut self, now: Time, in_flight: usize) {
        let Some(last) = self.last_data_sent.filter(|_| in_flight == 0) else { return };
        let rto = self.rtt.rto().max(Duration::from_millis(1));
        let periods = (now - last).as_nanos() / rto.as_nanos();
        if periods > 0 {
            self.congestion.on_idle(u32::try_from(periods).unwrap_or(u32::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;
    use crate::CongestionControl;

    #[test]
    fn regression_a_round_trip_of_no_time_stopped_a_paced_window_for_good() {
        let addr = SocketAddr::from(([10, 0, 0, 1], 9));
        let tuple = FourTuple::new(addr, addr);
        let congestion_control = CongestionControl::Cubic;
        let config = AssociationConfig::default().with(|config| {
            config.window.pacing = true;
            config.window.congestion_control = congestion_control;
        });
        let first = (tuple, Origin::User);
        let rng = &mut Rng::from_u64(1);
        let mut path = Path::new((PathSlot(0), PathId(0)), first, PathState::Active, &config, rng);
        path.rtt.on_sample(Duration::ZERO);
        assert_eq!(path.pacing_rate(), None);
        path.rtt.on_sample(Duration::from_millis(80));
        assert!(path.pacing_rate().is_some_and(|rate| rate > Rate::mbps(1)));
    }
}
