//! Losses and what follows from them: T3-rtx (RFC 9260 section 6.3), and the timers of loss
//! detection in time (RFC 8985 sections 6.2 and 7).

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::PacketWriter;

use super::liveness::Peer;
use super::packets::Bundle;
use super::{Context, DataSender, Phase};
use crate::config::AssociationConfig;
use crate::path::{LossTimer, Path};
use crate::path_name::{PathSlot, PathState};
use crate::receive::SACK_SPACING_MAX;
use crate::send::{LossDetection, Losses, Occasion, PathAck, Unanswered};
use crate::trace::TraceKind;

/// Packets that a SACK may wait for (RFC 9260 section 6.2: "at least one SACK chunk every second
/// packet").
const PACKETS_PER_SACK: u64 = 2;

/// The shortest time after which a silent path is probed: below it, what the peer's machine does
/// beside would look like a loss (RFC 9002 section 6.1.2 has 1 ms for a timer's granularity).
const PROBE_TIMEOUT_MIN: Duration = Duration::from_millis(10);

impl DataSender {
    /// What was found lost from a SACK or by the reordering timer is sent again.
    pub(super) fn on_losses(&mut self, context: &mut Context<'_>, path: PathSlot, losses: Losses) {
        self.book_losses(context, path, losses);
        // RFC 9260 section 7.2.4, step 3: "When a Fast Retransmit is being performed, the sender
        // SHOULD ignore the value of cwnd and SHOULD NOT delay retransmission for this single
        // packet."
        if losses.enters_recovery {
            self.urgent.fast_retransmit = Some(path);
        }
    }

    fn book_losses(&mut self, context: &mut Context<'_>, path: PathSlot, losses: Losses) {
        if losses.chunks > 0 {
            let target = self.paths.at_mut(path);
            target.stats.chunks_lost += losses.chunks as u64;
            let (path, chunks) = (target.id, losses.chunks);
            context.journal.trace(context.now, TraceKind::Lost { path, chunks, timeout: false });
        }
        if losses.enters_recovery {
            context.journal.stats.fast_recoveries += 1;
            self.paths.at_mut(path).congestion.on_loss(context.now);
        }
    }

    /// What a SACK says of retransmissions that had no reason.
    pub(super) fn on_spurious(&mut self, context: &mut Context<'_>, ack: &PathAck) {
        let target = self.paths.at_mut(ack.path);
        target.stats.spurious_retransmissions += ack.spurious;
        let Some(undone) = ack.undone else { return };
        target.stats.reductions_undone += 1;
        target.congestion.undo_loss(context.now);
        if undone.timeout {
            target.rtt.undo_back_off();
        }
    }

    /// RFC 9260 section 6.3.3.
    pub(crate) fn on_t3_rtx(&mut self, context: &mut Context<'_>, path: PathSlot) -> Peer {
        self.paths.at_mut(path).t3_rtx = None;
        if self.outstanding.flight(path) == 0 && !self.outstanding.is_forward_tsn_due() {
            self.allow_window_probe(path);
            return Peer::Reachable;
        }
        self.time_out(context, path)
    }

    /// Nothing was answered on a path for so long that all in flight there counts as lost.
    fn time_out(&mut self, context: &mut Context<'_>, path: PathSlot) -> Peer {
        let probing = self.window.take_answered_probe();
        let losses = self.give_up_flight(context, path);
        // RFC 3758 section 3.5, A5: "Any time the T3-rtx timer expires, on any destination, the
        // sender SHOULD try to advance the "Advanced.Peer.Ack.Point"".
        self.outstanding.advance();
        self.forwarded = None;
        let target = self.paths.at_mut(path);
        target.stats.timeouts += 1;
        target.stats.chunks_lost += losses.chunks as u64;
        let search = target.mtu_search.as_mut();
        self.is_mtu_unsettled |= search.is_some_and(|search| search.on_timeout(context.now));
        let target = self.paths.at(path);
        let (id, chunks) = (target.id, losses.chunks);
        context.journal.trace(context.now, TraceKind::Lost { path: id, chunks, timeout: true });
        let mut peer = Peer::Reachable;
        let is_steady = self.takes_steady_timeout(context);
        if !is_steady {
            self.paths.at_mut(path).rtt.back_off();
        }
        if !probing && !is_steady {
            self.paths.at_mut(path).congestion.on_timeout(context.now);
            peer = self.on_path_error(context, path, true);
        }
        // The window after a timeout is one packet, and what was sent a moment ago fills it.
        if self.outstanding.flight(path) > 0 {
            self.urgent.fast_retransmit = Some(path);
        }
        self.settle_timers(context);
        peer
    }

    /// Whether a timeout is one of those that the handshake of keys may have before T3-rtx backs
    /// off.
    fn takes_steady_timeout(&mut self, context: &Context<'_>) -> bool {
        match &mut self.steady_timeouts {
            Some(count) if *count < context.config.timers.t1_steady => *count += 1,
            Some(_) => {
                self.end_steady_timeouts();
                return false;
            }
            None => return false,
        }
        true
    }

    /// The handshake of keys continues that of SCTP: T3-rtx runs as T1 does.
    pub(super) fn begin_steady_timeouts(&mut self, config: &AssociationConfig) {
        self.steady_timeouts = Some(0);
        let t1 = (config.timers.t1_steady > 0).then_some(config.timers.t1_initial);
        self.paths.iter_mut().for_each(|path| path.rtt.follow_t1(t1));
    }

    fn end_steady_timeouts(&mut self) {
        self.steady_timeouts = None;
        self.paths.iter_mut().for_each(|path| path.rtt.follow_t1(None));
    }

    /// The peer acknowledged data. Once there are keys, that is the end of their handshake.
    pub(super) fn note_acknowledged(&mut self) {
        if self.steady_timeouts.is_some() && !self.queue.awaits_keys() {
            self.end_steady_timeouts();
        }
    }

    /// With another path to take over, all that is in flight is sent again there at once; what was
    /// sent a moment ago stays in flight where there is none (RFC 8985 section 6.3).
    fn give_up_flight(&mut self, context: &Context<'_>, path: PathSlot) -> Losses {
        let has_alternate = self.paths.has_alternate(path);
        match context.config.recovery.loss_detection {
            LossDetection::InTime if !has_alternate => {
                let srtt = self.paths.at(path).rtt.srtt();
                let age = self.outstanding.overdue_age(path, srtt);
                self.outstanding.give_up_overdue(context.now, path, age, true)
            }
            LossDetection::InTime | LossDetection::Rfc9260 | LossDetection::OncePerWindow => {
                self.outstanding.on_timeout(path)
            }
        }
    }

    /// The timer ran because the peer's window is closed.
    ///
    /// RFC 9260 section 6.1, rule A: "The sender SHOULD send the first zero window probe after 1
    /// RTO when it detects that the receiver has closed its window and SHOULD increase the probe
    /// interval exponentially afterwards."
    fn allow_window_probe(&mut self, path: PathSlot) {
        if !self.queue.has_eligible() {
            return;
        }
        self.window.allow_probe();
        self.paths.at_mut(path).rtt.back_off();
    }

    /// The reordering timer or the probe timeout of a path expired. Returns for how long the answer
    /// to a HEARTBEAT is awaited, if one is to ask whether the path lives.
    #[must_use]
    pub(crate) fn on_loss_timer(
        &mut self,
        context: &mut Context<'_>,
        path: PathSlot,
    ) -> Option<Duration> {
        let (_, timer) = self.paths.at_mut(path).loss_timer.take()?;
        let heartbeat = match timer {
            LossTimer::Reordering => {
                let srtt = self.paths.at(path).rtt.srtt();
                let losses = self.outstanding.detect_losses(context.now, path, srtt);
                self.on_losses(context, path, losses);
                None
            }
            LossTimer::Probe => self.on_probe_timeout(context, path),
        };
        // What may not be sent again was abandoned.
        self.outstanding.advance();
        self.settle_timers(context);
        heartbeat
    }

    /// RFC 8985 section 7.3: "If both conditions are met, then the sender SHOULD transmit a
    /// previously unsent data segment, if one exists and the receive window allows".
    ///
    /// With another path to take over, what is overdue goes there without delay, and the silent one
    /// is asked by a HEARTBEAT, whose answer nothing else can be taken for.
    fn on_probe_timeout(&mut self, context: &mut Context<'_>, path: PathSlot) -> Option<Duration> {
        self.paths.at_mut(path).stats.probes_sent += 1;
        self.outstanding.begin_probe(path);
        // "After attempting to send a loss probe, regardless of whether a loss probe was sent, the
        // sender MUST re-arm the RTO timer, not the PTO timer, if the FlightSize is not zero."
        let target = self.paths.at_mut(path);
        target.t3_rtx = Some(context.now + target.rtt.rto());
        if self.paths.has_alternate(path) && self.paths.at(path).may_be_probed() {
            let patience = self.paths.at(path).rtt.patience();
            // Where data takes several paths, what was sent last does not wait to be overdue too:
            // it holds up all that the others bring.
            let concurrent = self.is_concurrent();
            let age = if concurrent { Duration::ZERO } else { patience };
            let losses = self.outstanding.give_up_overdue(context.now, path, age, false);
            self.book_losses(context, path, losses);
            self.outstanding.probe_by_heartbeat(path);
            return Some(patience);
        }
        self.urgent.loss_probe = Some(path);
        None
    }

    /// The HEARTBEAT that probed a silent path was not answered either: as good as a timeout.
    /// `None` if the last HEARTBEAT was not such a probe.
    pub(crate) fn on_probe_unanswered(
        &mut self,
        context: &mut Context<'_>,
        path: PathSlot,
    ) -> Option<Peer> {
        if !self.outstanding.is_probed_by_heartbeat(path) {
            return None;
        }
        self.paths.at_mut(path).heartbeat.awaits_answer = false;
        Some(self.time_out(context, path))
    }

    /// A HEARTBEAT was answered on a path.
    pub(crate) fn on_heartbeat_answered(&mut self, context: &mut Context<'_>, path: PathSlot) {
        if self.outstanding.is_probed_by_heartbeat(path) {
            // The silent path lives: what is in flight there has all of its RTO again.
            self.paths.at_mut(path).t3_rtx = None;
        }
        self.outstanding.on_heartbeat_answered(context.now, path);
        self.settle_timers(context);
        // RFC 9260 section 8.1: "The receiver of the HEARTBEAT ACK chunk MAY choose not to clear
        // the counter if there is outstanding data on the association."
        if self.outstanding.is_empty() {
            self.error_count = 0;
        }
        let stands_again = self.paths.at(path).state != PathState::Active;
        self.on_path_success(context, path);
        if stands_again {
            self.leave_dead_paths(context);
        }
    }

    /// The packet that probes a path is written; if there was nothing to send, with the chunk that
    /// was sent last.
    pub(super) fn end_probe(
        &mut self,
        context: &mut Context<'_>,
        bundle: &Bundle<'_>,
        brings_data: bool,
        writer: &mut PacketWriter<'_>,
    ) {
        let path = bundle.path;
        let candidate = self.outstanding.probe_candidate(path).filter(|_| !brings_data);
        let fitting = candidate.filter(|(_, size)| bundle.takes(context, *size, writer.len()));
        if let Some((sequence, size)) = fitting {
            self.begin_sending(context, path, size);
            self.outstanding.send_again(context.now, sequence, path);
            self.write_chunk(context, bundle, (sequence, Occasion::Again), writer);
        }
        if brings_data || fitting.is_some() {
            self.outstanding.on_probe_sent(path);
        }
    }

    /// T3-rtx runs where something is in flight, and nowhere else: what is new shall have all of
    /// its RTO.
    ///
    /// RFC 9260 section 6.3.2, R2: "Whenever all outstanding data sent to an address have been
    /// acknowledged, turn off the T3-rtx timer of that address."; RFC 3758 section 3.5, C5: "If a
    /// FORWARD TSN is sent, the sender MUST assure that at least one T3-rtx timer is running."
    pub(crate) fn settle_timers(&mut self, context: &Context<'_>) {
        if context.phase == Phase::Handshake {
            return;
        }
        let forwards = self.outstanding.is_forward_tsn_due();
        for path in self.paths.ids() {
            let reports = forwards && path == self.paths.current();
            let awaits = reports || self.outstanding.flight(path) > 0;
            let target = self.paths.at_mut(path);
            let expires = context.now + target.rtt.rto();
            target.t3_rtx = awaits.then(|| target.t3_rtx.unwrap_or(expires));
            self.settle_loss_timer(context.config, path);
        }
    }

    /// Sets the reordering timer or the probe timeout of a path (RFC 8985 section 8).
    pub(super) fn settle_loss_timer(&mut self, config: &AssociationConfig, path: PathSlot) {
        if config.recovery.loss_detection != LossDetection::InTime {
            return;
        }
        let due = self.outstanding.reordering_due(path);
        self.paths.at_mut(path).loss_timer = match (due, self.probe_at(config, path)) {
            (Some(due), Some(probe)) if probe < due => Some((probe, LossTimer::Probe)),
            (Some(due), _) => Some((due, LossTimer::Reordering)),
            (None, probe) => probe.map(|at| (at, LossTimer::Probe)),
        };
    }

    /// When a silent path is probed: after a timeout without any answer; and a timeout after the
    /// last packet was sent, if there was no answer for half of that time (RFC 9002 section 6.2.1
    /// counts from the last packet too, where RFC 8985 section 7.2 begins anew with each answer).
    ///
    /// RFC 8985 section 8 has a timer of its own for the probes of a closed window: here T3-rtx.
    fn probe_at(&mut self, config: &AssociationConfig, path: PathSlot) -> Option<Time> {
        if self.outstanding.flight(path) == 0 || self.window.is_probed() {
            return None;
        }
        let unanswered = self.outstanding.unanswered(path)?;
        let since = unanswered.since();
        let in_flight = self.outstanding.flight(path);
        let target = self.paths.at(path);
        let timeout = probe_timeout(target)?;
        if self.is_concurrent() && self.paths.has_alternate(path) {
            let at = self.probe_beside_others_at(config, path, unanswered)?;
            return Some(target.t3_rtx.map_or(at, |t3_rtx| at.min(t3_rtx)));
        }
        // The SACK of a single packet may be delayed; of several, every second gets one at once,
        // unless they are spaced in time.
        let delay = match in_flight <= config.packet_size_max() {
            true => config.sack_delay(),
            false if self.has_spaced_sacks() => SACK_SPACING_MAX,
            false => Duration::ZERO,
        };
        let last = target.last_data_sent.unwrap_or(since);
        let in_pause = (last + timeout).max(since + timeout / 2) + delay;
        let at = in_pause.min(since + timeout + config.sack_delay());
        // RFC 8985 section 7.2: "if the time at which an RTO would fire ... is sooner than the
        // computed time for the PTO, then the sender schedules a TLP to be sent at that RTO time."
        Some(target.t3_rtx.map_or(at, |t3_rtx| at.min(t3_rtx)))
    }

    /// When a silent path is probed while others carry data at the same time: a probe costs little
    /// there, and all that came over them waits for what is missing here. A timeout is as short as
    /// RFC 9002 has it, the smoothed round trip with its variation or the delay of a SACK, and
    /// begins with the last answer.
    ///
    /// It begins with the transmission of the oldest chunk where the peer answered on another path
    /// when the answer was due on this one, and this one has been silent for half a round trip and
    /// the time of the packets that a SACK waits for: while a queue grows, SACKs come later than
    /// expected, but go on to come. Without an answer elsewhere, a SACK may be lost that would have
    /// spoken of all paths.
    fn probe_beside_others_at(
        &self,
        config: &AssociationConfig,
        path: PathSlot,
        unanswered: Unanswered,
    ) -> Option<Time> {
        let target = self.paths.at(path);
        let srtt = target.rtt.srtt()?;
        let patience = target.rtt.patience().max(PROBE_TIMEOUT_MIN);
        let since = unanswered.since();
        // What takes two paths anyway waits for neither.
        let waits = !config.paths.doubles();
        if waits && self.has_answered_elsewhere(path, unanswered.sent_at + srtt) {
            let packets = PACKETS_PER_SACK * config.packet_size_max() as u64;
            let spacing = target.rate().time_for(packets);
            let silence = (srtt / 2).saturating_add(spacing).max(PROBE_TIMEOUT_MIN).min(patience);
            return Some((unanswered.sent_at + patience).max(since + silence));
        }
        Some(since + patience)
    }

    /// Whether the peer has answered on another path than `path` since then.
    fn has_answered_elsewhere(&self, path: PathSlot, since: Time) -> bool {
        let others = self.paths.ids().filter(|other| *other != path);
        others.filter_map(|other| self.outstanding.answered_at(other)).any(|at| at > since)
    }
}

/// RFC 8985 section 7.2: "the default PTO interval is 2*SRTT". RFC 9002 section 6.2.1 counts with
/// the variation of the RTT, which can be more than another SRTT.
fn probe_timeout(path: &Path) -> Option<Duration> {
    let srtt = path.rtt.srtt()?;
    let variation = 4 * path.rtt.rttvar().unwrap_or_default();
    Some((srtt + srtt.max(variation)).max(PROBE_TIMEOUT_MIN))
}
