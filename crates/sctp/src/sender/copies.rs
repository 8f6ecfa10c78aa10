//! What goes out twice: messages that shall take two paths, and the last chance of a lost chunk.

use anabranch_wire::PacketWriter;

use super::packets::Bundle;
use super::{Context, DataSender};
use crate::config::AssociationConfig;
use crate::path_choice::Outlook;
use crate::path_name::PathSlot;
use crate::send::{LossDetection, Occasion, PathPreference};

impl DataSender {
    /// A new chunk went out over `path`: its message may be one that takes two.
    pub(super) fn plan_duplicate(
        &mut self,
        config: &AssociationConfig,
        path: PathSlot,
        sequence: u64,
        preference: PathPreference,
    ) {
        let takes_two = preference == PathPreference::Two || config.paths.doubles();
        if !takes_two {
            return;
        }
        // A copy over a path that may be dead is better than none.
        let partner = self.partner_of(path).or_else(|| self.paths.alternate_of(path));
        if let Some(partner) = partner {
            self.outstanding.plan_copy(sequence, partner, None);
        }
    }

    /// The path that is least likely to fail together with another one, among those that answer.
    pub(super) fn partner_of(&self, path: PathSlot) -> Option<PathSlot> {
        self.paths.alternate_among(path, |other| !self.is_suspect(other.slot))
    }

    /// A lost chunk was sent again over `path`. If the loss of this transmission could be noticed
    /// only after the lifetime of its message, the chunk goes out twice: on another path where one
    /// brings it in time, or else on the same one half of the remaining time later, so that a burst
    /// of losses does not take both.
    ///
    /// The lifetime ends at the sender. Where it is the receiver's buffer, as in a media session,
    /// nothing that is sent later is played.
    pub(super) fn plan_last_chance(
        &mut self,
        context: &Context<'_>,
        path: PathSlot,
        sequence: u64,
        outlooks: &[Outlook],
    ) {
        let is_in_time = context.config.recovery.loss_detection == LossDetection::InTime;
        if !is_in_time || !context.config.recovery.last_chance_twice {
            return;
        }
        let Some(expires) = self.outstanding.expires(sequence) else { return };
        let (left, patience) = (expires - context.now, self.paths.at(path).rtt.patience());
        if left.is_zero() || patience.is_zero() || left > patience {
            return;
        }
        let others = outlooks.iter().filter(|other| other.slot != path && other.arrival <= left);
        match others.min_by_key(|other| other.arrival) {
            Some(other) => self.outstanding.plan_copy(sequence, other.slot, None),
            None => self.outstanding.plan_copy(sequence, path, Some(context.now + left / 2)),
        }
    }

    /// Writes the copies that wait for a path; false if some of them did not fit.
    pub(super) fn write_copies(
        &mut self,
        context: &mut Context<'_>,
        bundle: &Bundle<'_>,
        writer: &mut PacketWriter<'_>,
    ) -> bool {
        if !self.outstanding.has_any_copies() {
            return true;
        }
        let path = bundle.path;
        while let Some((sequence, size)) = self.outstanding.next_copy(path) {
            if !bundle.takes(context, size, writer.len()) {
                return false;
            }
            self.begin_sending(context, path, size);
            self.outstanding.send_copy(context.now, sequence, path);
            self.write_chunk(context, bundle, (sequence, Occasion::Copy), writer);
        }
        true
    }
}
