//! What the peer acknowledged (RFC 9260 section 6.2.1), and what follows from it.

use anabranch_congestion::Ack;
use anabranch_wire::Sack;

use super::{Context, DataSender};
use crate::path_name::PathSlot;
use crate::send::{LossDetection, PathAck, SackError};
use crate::trace::TraceKind;

impl DataSender {
    /// Takes a SACK that came over the path `via`.
    ///
    /// # Errors
    ///
    /// Says why it cannot be true; it changes nothing then.
    pub(crate) fn on_sack(
        &mut self,
        context: &mut Context<'_>,
        via: PathSlot,
        sack: &Sack<'_>,
    ) -> Result<(), SackError> {
        let paths = &self.paths;
        let rtts = |path| paths.at(path).rtt.round_trips();
        let is_newest = self.outstanding.on_sack(context.now, sack, via, rtts)?;
        context.journal.stats.sacks_received += u64::from(is_newest);
        let acks = self.outstanding.take_acks();
        for ack in &acks {
            self.on_path_ack(context, ack);
        }
        self.outstanding.recycle_acks(acks);
        if is_newest {
            let a_rwnd = sack.a_rwnd as usize;
            self.end_window_probe(a_rwnd);
            self.window.on_sack(a_rwnd, self.outstanding.bytes_outstanding());
        }
        self.settle_timers(context);
        Ok(())
    }

    /// A probe that the peer had no room for goes out again as soon as there is room, and not only
    /// when its timer, which backs off, expires.
    fn end_window_probe(&mut self, a_rwnd: usize) {
        let Some(probe) = self.window.probe else { return };
        let waits = self.outstanding.in_flight_len(probe);
        if waits.is_some_and(|len| len > a_rwnd) {
            return;
        }
        self.window.probe = None;
        if waits.is_some() {
            self.outstanding.retract(probe);
        }
    }

    fn on_path_ack(&mut self, context: &mut Context<'_>, ack: &PathAck) {
        let PathAck { path, acked, losses, .. } = *ack;
        self.on_spurious(context, ack);
        let flight = self.outstanding.flight(path);
        let target = self.paths.at_mut(path);
        if let Some(rtt) = ack.rtt {
            target.rtt.on_sample(rtt);
        }
        if ack.answered {
            let ack = Ack {
                now: context.now,
                acked,
                flight_before: ack.flight_before,
                flight,
                advanced: ack.advanced,
                in_recovery: ack.in_recovery,
                rtt: ack.rtt,
                delivered: ack.delivered,
                sample: ack.sample,
            };
            target.on_answer(context.now, |congestion| congestion.on_ack(&ack));
        }
        if acked > 0 {
            self.error_count = 0;
            self.note_acknowledged();
            let target = self.paths.at_mut(path);
            target.stats.bytes_acked += acked as u64;
            if let Some(search) = &mut target.mtu_search {
                search.on_acknowledged(context.ip_len_with(ack.longest));
            }
            let id = target.id;
            context.journal.trace(context.now, TraceKind::Acknowledged { path: id, bytes: acked });
        }
        // RFC 7829 section 3.2, rule 9: acknowledgements for chunks that went to several
        // destinations "SHOULD NOT clear the error count".
        if ack.proves_path {
            self.on_path_success(context, path);
        }
        self.on_losses(context, path, losses);
        // RFC 9260 section 6.3.2, R3: "Whenever a SACK chunk is received that acknowledges the DATA
        // chunk with the earliest outstanding TSN for that address, restart the T3-rtx timer for
        // that address with its current RTO (if there is still outstanding data on that address)."
        // RFC 8985 section 8: "When arming a RACK reordering timer or TLP PTO timer, the sender
        // SHOULD cancel any other pending timers": there, any answer shows that the path lives.
        let in_time = context.config.recovery.loss_detection == LossDetection::InTime;
        if ack.advanced || (in_time && acked > 0) {
            self.paths.at_mut(path).t3_rtx = None;
        }
        if acked > 0 || losses.chunks > 0 {
            self.trace_window(context, path);
        }
    }

    /// Tells the controllers of each chunk that was declared lost.
    pub(super) fn report_lost_chunks(&mut self, context: &Context<'_>) {
        let lost = self.outstanding.take_lost_chunks();
        for (path, chunk) in &lost {
            let target = self.paths.at_mut(*path);
            target.congestion.on_chunk_lost(context.now, chunk);
            let ip_len = context.ip_len_with(chunk.size);
            let search = target.mtu_search.as_mut();
            let falls = search.is_some_and(|search| search.on_lost(context.now, ip_len));
            self.is_mtu_unsettled |= falls;
        }
        self.outstanding.recycle_lost_chunks(lost);
    }
}
