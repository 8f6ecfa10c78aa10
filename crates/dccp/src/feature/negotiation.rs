//! [`Negotiation`]: the values of all features, and how far their changes have come.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::{Time, Wakeup};

use super::{Feature, Owner};
use crate::seq::Seq;
use crate::wire::{FeatureNumber, FeatureOption, FeatureOptionKind, OptionsBuf, PacketOption};

/// Confirms that wait for a packet with an Acknowledgement Number. What comes on top is left to be
/// asked again.
const CONFIRMS_MAX: usize = 32;

/// RFC 4340 section 6.6.3: "The timer interval is initially set to not less than one round-trip
/// time, and should back off to not less than 64 seconds."
const RETRANSMISSION_MAX: Duration = Duration::from_secs(64);
const RETRANSMISSION_MIN: Duration = Duration::from_millis(200);

/// The values of all features, and how far their changes have come.
#[derive(Debug)]
pub(crate) struct Negotiation {
    is_server: bool,
    slots: Box<Slots>,
    /// Whether one of them has something new to be sent, as of what was written last and wanted
    /// since: each packet asks. What the peer wants, too, is confirmed by a packet anyhow.
    has_news: bool,
    confirms: VecDeque<Confirm>,
    /// FGSR: the greatest number of a packet with feature options.
    greatest_received: Option<Seq>,
    /// FGSS: the greatest number of a packet with a new Change.
    greatest_sent: Option<Seq>,
    /// When the Changes that wait for an answer are sent again.
    retransmission: Option<Time>,
    interval: Duration,
    /// What the interval begins with: a round-trip time.
    interval_min: Duration,
    /// Whether Changes that were sent are due again.
    is_due: bool,
}

/// All features of both ends, each in its place in [`Feature::ALL`]: several are asked for with
/// each packet.
#[derive(Debug)]
struct Slots {
    local: [Slot; Feature::ALL.len()],
    remote: [Slot; Feature::ALL.len()],
}

/// A feature at one end.
#[derive(Debug)]
struct Slot {
    value: u64,
    /// What we accept, the best first; of a non-negotiable feature, nothing.
    preferences: Vec<u8>,
    /// What a non-negotiable feature of ours is to become.
    proposal: u64,
    is_mandatory: bool,
    /// Whether both ends have spoken of it.
    is_agreed: bool,
    /// Whether the peer does not know it: it is asked for no more.
    is_unknown: bool,
    state: State,
}

/// RFC 4340 section 6.6.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Stable,
    /// Stable, and a Change is to be sent.
    Wanted,
    Changing,
    /// Changing, and what we want has changed since.
    Unstable,
}

#[derive(Debug)]
struct Confirm {
    kind: FeatureOptionKind,
    feature: FeatureNumber,
    values: Vec<u8>,
}

/// Why a connection cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeatureFault {
    /// Reset Code 5.
    OptionError,
    /// Reset Code 6.
    MandatoryError,
}

impl Negotiation {
    pub(crate) fn new(is_server: bool) -> Self {
        Self {
            is_server,
            slots: Box::new(Slots::new()),
            has_news: false,
            confirms: VecDeque::new(),
            greatest_received: None,
            greatest_sent: None,
            retransmission: None,
            interval: RETRANSMISSION_MIN,
            interval_min: RETRANSMISSION_MIN,
            is_due: false,
        }
    }

    /// The value that is in force.
    pub(crate) fn value(&self, owner: Owner, feature: Feature) -> u64 {
        self.slots.of(owner, feature).value
    }

    pub(crate) fn is_on(&self, owner: Owner, feature: Feature) -> bool {
        self.value(owner, feature) == 1
    }

    /// Whether no Change of it is under way.
    pub(crate) fn is_settled(&self, owner: Owner, feature: Feature) -> bool {
        self.slots.of(owner, feature).state == State::Stable
    }

    /// Says which values are accepted, the best first, without asking for a change.
    pub(crate) fn accept(&mut self, owner: Owner, feature: Feature, preferences: &[u8]) {
        self.slots.of_mut(owner, feature).preferences = preferences.to_vec();
    }

    /// Asks for one of these values, the best first, unless the best one is in force, or both ends
    /// have agreed on one of them.
    ///
    /// If what is in force is none of them, the peer must agree or the connection ends.
    pub(crate) fn want(&mut self, owner: Owner, feature: Feature, preferences: &[u8]) {
        let slot = self.slots.of_mut(owner, feature);
        slot.preferences = preferences.to_vec();
        let current = u8::try_from(slot.value).ok();
        let is_best = preferences.first().copied() == current;
        let is_accepted = preferences.iter().any(|value| Some(*value) == current);
        let is_settled = slot.is_unknown || slot.is_agreed && is_accepted;
        if slot.state == State::Stable && !is_best && !is_settled {
            slot.state = State::Wanted;
            slot.is_mandatory = feature.is_required() && !is_accepted;
            self.has_news = true;
        }
    }

    /// Sets a non-negotiable feature of ours, unless the peer does not know it.
    pub(crate) fn set(&mut self, feature: Feature, value: u64) {
        let slot = self.slots.of_mut(Owner::Local, feature);
        if slot.proposal == value || slot.is_unknown {
            return;
        }
        slot.proposal = value;
        slot.state = match slot.state {
            State::Stable | State::Wanted => State::Wanted,
            // RFC 4340 section 6.6.5: "an endpoint that changes its preference list while in the
            // CHANGING state MUST transition to the UNSTABLE state."
            State::Changing | State::Unstable => State::Unstable,
        };
        self.has_news = true;
    }

    /// Answers that a feature is none that we know.
    pub(crate) fn deny(&mut self, owner: Owner, feature: FeatureNumber) {
        self.confirm(owner, feature, Vec::new());
    }

    /// Whether a packet should be sent for the options that wait, if none would be.
    pub(crate) fn must_send(&self) -> bool {
        !self.confirms.is_empty() || self.is_due || self.has_news
    }

    /// Adds what is to be said to a packet. `repeats`: Changes that have been sent are sent again.
    /// They fit, or wait for the next packet.
    pub(crate) fn write(
        &mut self,
        now: Time,
        seq: Seq,
        has_acknowledgement: bool,
        repeats: bool,
        options: &mut OptionsBuf,
    ) {
        // RFC 4340 section 6.6.1: "any packet including a Confirm option MUST carry an
        // Acknowledgement Number."
        while has_acknowledgement && let Some(confirm) = self.confirms.front() {
            if !options.push(&PacketOption::Feature(confirm.option())) {
                break;
            }
            self.confirms.pop_front();
        }
        // What was due may have been answered since.
        let repeats = std::mem::take(&mut self.is_due) || repeats;
        let mut waits = false;
        for (owner, feature, slot) in self.slots.iter_mut() {
            let is_new = slot.is_to_be_sent();
            if !(is_new || repeats && slot.state == State::Changing) {
                continue;
            }
            waits = true;
            if !slot.write_change(owner, feature, options) {
                continue;
            }
            slot.state = State::Changing;
            if is_new {
                self.greatest_sent = Some(seq);
            }
        }
        if waits {
            self.retransmission = Some(now + self.interval);
        }
        self.has_news = self.slots.any(Slot::is_to_be_sent);
    }

    /// Takes an option of a packet that has passed all checks.
    pub(crate) fn on_option(
        &mut self,
        seq: Seq,
        acknowledgement: Option<Seq>,
        option: &FeatureOption<'_>,
        is_mandatory: bool,
    ) -> Result<(), FeatureFault> {
        use FeatureOptionKind::{ChangeL, ChangeR, ConfirmL, ConfirmR};
        let owner = match option.kind {
            ChangeL | ConfirmL => Owner::Remote,
            ChangeR | ConfirmR => Owner::Local,
        };
        let is_change = matches!(option.kind, ChangeL | ChangeR);
        let known = Feature::of(option.feature).filter(|feature| self.applies(owner, *feature));
        // RFC 4340 section 6.6.2: "First, check for unknown features".
        let Some(feature) = known else {
            if is_mandatory {
                return Err(FeatureFault::MandatoryError);
            }
            // RFC 4340 section 6.6.7: "Endpoints MUST respond to unknown Change options with Empty
            // Confirm options".
            if is_change {
                self.confirm(owner, option.feature, Vec::new());
            }
            return Ok(());
        };
        // "Second, check for reordering".
        let is_old = self.greatest_received.is_some_and(|greatest| seq <= greatest);
        let state = self.slots.of(owner, feature).state;
        if is_old || state == State::Unstable {
            return Ok(());
        }
        if is_change {
            return self.on_change(owner, feature, option.values, is_mandatory);
        }
        // RFC 4340 section 6.6.4: "if it has no Acknowledgement Number, OR if its Acknowledgement
        // Number is less than FGSS, then its Confirm options MUST be ignored."
        let answers = match (acknowledgement, self.greatest_sent) {
            (Some(acknowledgement), Some(greatest_sent)) => acknowledgement >= greatest_sent,
            _ => false,
        };
        if !answers || state != State::Changing {
            return Ok(());
        }
        // The peer answers: what is changed next begins without the backoff of what was lost.
        self.interval = self.interval_min;
        self.on_confirm(owner, feature, option.values)
    }

    /// Notes that a packet had feature options, when all of them have been taken.
    pub(crate) fn on_packet(&mut self, seq: Seq) {
        self.greatest_received = self.greatest_received.max(Some(seq));
    }

    pub(crate) fn poll_timeout(&self) -> Option<Wakeup> {
        let at = self.retransmission.filter(|_| !self.is_due)?;
        Some(Wakeup { at, why: "feature negotiation" })
    }

    /// `rtt`: a round-trip time, as well as it is known.
    pub(crate) fn handle_timeout(&mut self, now: Time, rtt: Duration) {
        if self.retransmission.is_none_or(|at| at > now) {
            return;
        }
        self.retransmission = None;
        self.interval_min = RETRANSMISSION_MIN.max(rtt);
        if self.slots.any(|slot| slot.state == State::Changing) {
            self.is_due = true;
            self.interval = (self.interval * 2).min(RETRANSMISSION_MAX).max(self.interval_min);
        } else {
            self.interval = self.interval_min;
        }
    }

    /// RFC 4340 section 10.3: features from 128 on are a CCID's, those from 192 on "for features
    /// located at the HC-Receiver".
    fn applies(&self, owner: Owner, feature: Feature) -> bool {
        let sender = match owner {
            Owner::Local => Owner::Remote,
            Owner::Remote => Owner::Local,
        };
        feature != Feature::SendLossEventRate || self.value(sender, Feature::Ccid) == 3
    }

    fn on_change(
        &mut self,
        owner: Owner,
        feature: Feature,
        values: &[u8],
        is_mandatory: bool,
    ) -> Result<(), FeatureFault> {
        let slot = self.slots.of_mut(owner, feature);
        let accepted = match feature.non_negotiable_len() {
            // RFC 4340 section 6.3.2: "Change R and Confirm L options MUST NOT be sent for
            // non-negotiable features".
            Some(_) if owner == Owner::Local => None,
            Some(_) => feature.read_value(values).map(|value| (value, values.to_vec())),
            None if values.is_empty() => None,
            None => {
                let shared = reconcile(self.is_server, &slot.preferences, values);
                // RFC 4340 section 6.6.9: the connection MUST be reset if, "for server-priority
                // features, there was no shared entry in the two endpoints' preference lists."
                if shared.is_none() && is_mandatory {
                    return Err(FeatureFault::MandatoryError);
                }
                // RFC 4340 section 6.3.1: "If there is no shared entry, the feature's value MUST
                // NOT change, and the Confirm option will confirm the feature's previous value".
                let value = shared.unwrap_or(slot.value as u8);
                let confirmed = std::iter::once(value).chain(slot.preferences.iter().copied());
                Some((u64::from(value), confirmed.collect()))
            }
        };
        let number = feature.number();
        match accepted {
            Some((value, confirmed)) => {
                slot.value = value;
                slot.is_agreed = true;
                // RFC 4340 section 6.6.6: "Such received Change options can act as responses to the
                // original Change options."
                slot.state = State::Stable;
                self.confirm(owner, number, confirmed);
            }
            None if is_mandatory => return Err(FeatureFault::MandatoryError),
            None => self.confirm(owner, number, Vec::new()),
        }
        Ok(())
    }

    fn on_confirm(
        &mut self,
        owner: Owner,
        feature: Feature,
        values: &[u8],
    ) -> Result<(), FeatureFault> {
        let slot = self.slots.of_mut(owner, feature);
        if values.is_empty() {
            // RFC 4340 section 6.6.7: "The CHANGING endpoint SHOULD reset the connection (with
            // Reset Code 5, "Option Error") if it receives an empty Confirm option for such a
            // feature."
            if feature.is_required() {
                return Err(FeatureFault::OptionError);
            }
            slot.state = State::Stable;
            slot.proposal = slot.value;
            (slot.is_agreed, slot.is_unknown) = (true, true);
            return Ok(());
        }
        let confirmed = match feature.non_negotiable_len() {
            Some(_) => feature.read_value(values).filter(|value| *value == slot.proposal),
            None => confirmed_value(self.is_server, slot, values),
        };
        // RFC 4340 section 6.6.8: "An endpoint receiving an invalid Confirm option MUST reset the
        // connection, with Reset Code 5, "Option Error"."
        slot.value = confirmed.ok_or(FeatureFault::OptionError)?;
        slot.is_agreed = true;
        slot.state = State::Stable;
        Ok(())
    }

    /// Answers a Change of a feature of `owner`.
    fn confirm(&mut self, owner: Owner, feature: FeatureNumber, values: Vec<u8>) {
        let kind = match owner {
            Owner::Local => FeatureOptionKind::ConfirmL,
            Owner::Remote => FeatureOptionKind::ConfirmR,
        };
        // One answer for each feature: a later Change replaces the one before.
        self.confirms.retain(|waiting| (waiting.kind, waiting.feature) != (kind, feature));
        if self.confirms.len() < CONFIRMS_MAX {
            self.confirms.push_back(Confirm { kind, feature, values });
        }
    }
}

impl Slots {
    fn new() -> Self {
        let of_one = || Feature::ALL.map(Slot::new);
        Self { local: of_one(), remote: of_one() }
    }

    const fn of(&self, owner: Owner, feature: Feature) -> &Slot {
        match owner {
            Owner::Local => &self.local[feature as usize],
            Owner::Remote => &self.remote[feature as usize],
        }
    }

    const fn of_mut(&mut self, owner: Owner, feature: Feature) -> &mut Slot {
        match owner {
            Owner::Local => &mut self.local[feature as usize],
            Owner::Remote => &mut self.remote[feature as usize],
        }
    }

    fn any(&self, is_it: impl Fn(&Slot) -> bool) -> bool {
        self.local.iter().chain(&self.remote).any(is_it)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = (Owner, Feature, &mut Slot)> {
        let of = |owner| move |(feature, slot)| (owner, feature, slot);
        let local = Feature::ALL.into_iter().zip(&mut self.local).map(of(Owner::Local));
        local.chain(Feature::ALL.into_iter().zip(&mut self.remote).map(of(Owner::Remote)))
    }
}

impl Slot {
    fn new(feature: Feature) -> Self {
        Self {
            value: feature.initial(),
            preferences: vec![feature.initial() as u8],
            proposal: feature.initial(),
            is_mandatory: false,
            is_agreed: false,
            is_unknown: false,
            state: State::Stable,
        }
    }

    const fn is_to_be_sent(&self) -> bool {
        matches!(self.state, State::Wanted | State::Unstable)
    }

    fn write_change(&self, owner: Owner, feature: Feature, options: &mut OptionsBuf) -> bool {
        let kind = match owner {
            Owner::Local => FeatureOptionKind::ChangeL,
            Owner::Remote => FeatureOptionKind::ChangeR,
        };
        let value = feature.value_bytes(self.proposal);
        let is_negotiable = feature.non_negotiable_len().is_none();
        let values = if is_negotiable { &self.preferences } else { &value };
        let option = FeatureOption { kind, feature: feature.number(), values };
        if self.is_mandatory {
            options.push_mandatory(&PacketOption::Feature(option))
        } else {
            options.push(&PacketOption::Feature(option))
        }
    }
}

impl Confirm {
    fn option(&self) -> FeatureOption<'_> {
        FeatureOption { kind: self.kind, feature: self.feature, values: &self.values }
    }
}

/// RFC 4340 section 6.3.1: "To reconcile the preference lists, select the first entry in the
/// server's list that also occurs in the client's list."
fn reconcile(is_server: bool, ours: &[u8], theirs: &[u8]) -> Option<u8> {
    let (server, client) = if is_server { (ours, theirs) } else { (theirs, ours) };
    server.iter().copied().find(|value| client.contains(value))
}

/// The value that a Confirm names, if it is the right one.
fn confirmed_value(is_server: bool, slot: &Slot, values: &[u8]) -> Option<u64> {
    let (&value, theirs) = values.split_first()?;
    // RFC 4340 section 6.6.8: "Any Confirm option that selects the wrong value, based on the two
    // preference lists and the relevant reconciliation rule, is invalid." The list may be left out.
    let right = reconcile(is_server, &slot.preferences, theirs);
    let is_right = theirs.is_empty() || right.map_or(slot.value, u64::from) == u64::from(value);
    is_right.then_some(value.into())
}

#[cfg(test)]
mod tests;
