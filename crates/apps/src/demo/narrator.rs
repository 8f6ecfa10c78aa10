//! [`Narrator`]: what happens, in words.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_driver::emulator::EmulatedLinkStats;
use anabranch_netsim::NamedLink;
use anabranch_sansio::Time;
use anabranch_sctp::{PathId, PathState};

use super::clip::ClipLayer;
use super::links::settings_of;
use super::timeline::LinkChange;
use crate::page::protocol::{AbandonedTally, EventKind, NewEvent, Severity};

/// What happens often is told once in so much time, gathered.
const GATHER: Duration = Duration::from_secs(1);

/// Finds the words for what happens.
#[derive(Debug)]
pub(super) struct Narrator {
    names: Vec<String>,
    states: BTreeMap<PathId, PathState>,
    /// Links that were set anew since the last word about it.
    changed: BTreeMap<String, Time>,
    gathered_at: Time,
    abandoned: BTreeMap<ClipLayer, [u64; 3]>,
}

/// Why messages are given up, in the order of their counters.
const REASONS: [&str; 3] = ["lifetime", "retransmissions", "before sending"];

impl Narrator {
    pub(super) fn new(links: &[NamedLink]) -> Self {
        Self {
            names: links.iter().map(|link| link.name.clone()).collect(),
            states: BTreeMap::new(),
            changed: BTreeMap::new(),
            gathered_at: Time::ZERO,
            abandoned: BTreeMap::new(),
        }
    }

    /// A path's state changed.
    pub(super) fn path_state(&mut self, path: PathId, to: PathState) -> NewEvent {
        let name = self.name(path);
        let before = self.states.insert(path, to);
        let (severity, kind, text) = match to {
            PathState::PotentiallyFailed => (
                Severity::Warning,
                EventKind::PathPotentiallyFailed,
                format!("{name} does not answer."),
            ),
            PathState::Inactive => {
                (Severity::Bad, EventKind::PathFailed, format!("{name} failed."))
            }
            PathState::Active if before.is_some_and(has_failed) => {
                (Severity::Good, EventKind::PathActive, format!("{name} is back."))
            }
            PathState::Active => {
                (Severity::Info, EventKind::PathActive, format!("{name} answers and can be used."))
            }
            PathState::Unconfirmed => {
                (Severity::Info, EventKind::PathAdded, format!("{name} is being tried."))
            }
        };
        event(severity, kind, Some(path), text)
    }

    /// Data takes another path.
    pub(super) fn data_path(&self, from: PathId, to: PathId) -> NewEvent {
        let failed = self.states.get(&from).copied().is_some_and(has_failed);
        let name = self.name(to);
        let text = if failed {
            format!("Data now goes over {name}.")
        } else {
            format!("Data goes over {name} again.")
        };
        event(Severity::Info, EventKind::PrimaryChanged, Some(to), text)
    }

    /// A link was cut, restored or set anew. The last is told later, gathered.
    pub(super) fn link(&mut self, now: Time, change: &LinkChange) -> Option<NewEvent> {
        let path = self.path_of(change.link());
        match change {
            LinkChange::Cut(link) => {
                let text = format!("The link of {link} was cut.");
                Some(event(Severity::Warning, EventKind::LinkCut, path, text))
            }
            LinkChange::Restore(link) => {
                let text = format!("The link of {link} was mended.");
                Some(event(Severity::Info, EventKind::LinkRestored, path, text))
            }
            LinkChange::Set(link) => {
                self.changed.insert(link.name.clone(), now);
                None
            }
        }
    }

    /// What was gathered, if it is time to tell it.
    pub(super) fn gathered(
        &mut self,
        now: Time,
        links: &[EmulatedLinkStats],
        abandoned: &[(ClipLayer, AbandonedTally)],
    ) -> Vec<NewEvent> {
        if now - self.gathered_at < GATHER {
            return Vec::new();
        }
        self.gathered_at = now;
        let mut events: Vec<_> =
            links.iter().filter_map(|link| self.link_settled(now, link)).collect();
        events.extend(self.newly_abandoned(abandoned));
        events
    }

    /// A slider that moves is not told of before it rests.
    fn link_settled(&mut self, now: Time, link: &EmulatedLinkStats) -> Option<NewEvent> {
        self.changed.get(&link.name).filter(|moved| now - **moved >= GATHER / 2)?;
        self.changed.remove(&link.name);
        let set = settings_of(link);
        let text = format!(
            "The link of {} now has {} Mbit/s, a delay of {} ms and {} % loss.",
            link.name,
            set.rate_kbps / 1e3,
            set.delay_ms,
            set.loss_percent
        );
        Some(event(Severity::Info, EventKind::LinkChanged, self.path_of(&link.name), text))
    }

    fn newly_abandoned(&mut self, now: &[(ClipLayer, AbandonedTally)]) -> Option<NewEvent> {
        let mut total = 0;
        let mut parts = Vec::new();
        for (layer, tally) in now {
            let counts = [tally.lifetime, tally.retransmissions, tally.before_sending];
            let counts = counts.map(|tally| tally.messages);
            let before = self.abandoned.insert(*layer, counts).unwrap_or_default();
            for ((count, before), reason) in counts.into_iter().zip(before).zip(REASONS) {
                let new = count.saturating_sub(before);
                if new > 0 {
                    total += new;
                    parts.push(format!("{new} of {} ({reason})", layer.noun()));
                }
            }
        }
        let plural = if total == 1 { "message" } else { "messages" };
        (total > 0).then(|| {
            let text =
                format!("{total} {plural} abandoned in the last second: {}.", parts.join(", "));
            event(Severity::Warning, EventKind::Abandoned, None, text)
        })
    }

    fn name(&self, path: PathId) -> String {
        let name = self.names.get(usize::from(path.0)).cloned();
        name.unwrap_or_else(|| format!("path {}", page_id(path)))
    }

    fn path_of(&self, link: &str) -> Option<PathId> {
        let index = self.names.iter().position(|name| name == link)?;
        u8::try_from(index).ok().map(PathId)
    }
}

/// Pages count paths from 1.
pub(super) fn page_id(path: PathId) -> u32 {
    u32::from(path.0) + 1
}

fn has_failed(state: PathState) -> bool {
    matches!(state, PathState::PotentiallyFailed | PathState::Inactive)
}

pub(super) fn event(
    severity: Severity,
    kind: EventKind,
    path: Option<PathId>,
    text: String,
) -> NewEvent {
    NewEvent { severity, kind, path: path.map(page_id), text }
}

#[cfg(test)]
mod tests {
    use super::super::links::{mobile, wifi};
    use super::*;
    use crate::page::protocol::Tally;

    const WIFI: PathId = PathId(0);
    const MOBILE: PathId = PathId(1);

    fn narrator() -> Narrator {
        Narrator::new(&[wifi(), mobile()])
    }

    #[test]
    fn a_handoff_and_the_return_are_told_in_words() {
        let mut narrator = narrator();
        let texts = [
            narrator.path_state(MOBILE, PathState::Active),
            narrator.link(Time::ZERO, &LinkChange::Cut("wifi".into())).unwrap(),
            narrator.path_state(WIFI, PathState::PotentiallyFailed),
            narrator.data_path(WIFI, MOBILE),
            narrator.path_state(WIFI, PathState::Inactive),
            narrator.link(Time::ZERO, &LinkChange::Restore("wifi".into())).unwrap(),
            narrator.path_state(WIFI, PathState::Active),
            narrator.data_path(MOBILE, WIFI),
        ]
        .map(|event| event.text);
        let expected = [
            "mobile answers and can be used.",
            "The link of wifi was cut.",
            "wifi does not answer.",
            "Data now goes over mobile.",
            "wifi failed.",
            "The link of wifi was mended.",
            "wifi is back.",
            "Data goes over wifi again.",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn what_was_abandoned_is_told_once_a_second_by_layer_and_reason() {
        let mut narrator = narrator();
        let tally = |messages| Tally { messages, bytes: 0 };
        let counters = |lifetime, before| {
            let before_sending = tally(before);
            let abandoned =
                AbandonedTally { lifetime: tally(lifetime), before_sending, ..Default::default() };
            [(ClipLayer::Enhancement, abandoned), (ClipLayer::Base, AbandonedTally::default())]
        };
        let at = |ms| Time::from_millis(ms);
        assert_eq!(narrator.gathered(at(1_000), &[], &counters(0, 0)), []);
        assert_eq!(narrator.gathered(at(1_500), &[], &counters(9, 0)), []);
        let [told] = &narrator.gathered(at(2_000), &[], &counters(11, 1))[..] else { panic!() };
        assert_eq!(
            told.text,
            "12 messages abandoned in the last second: 11 of the enhancement (lifetime), 1 of the \
             enhancement (before sending)."
        );
        assert_eq!(narrator.gathered(at(3_000), &[], &counters(11, 1)), []);
    }

    #[tokio::test]
    async fn a_slider_is_told_of_when_it_rests() {
        let mut narrator = narrator();
        let targets = ["127.0.0.1:9".parse().unwrap()];
        let links = super::super::links::Links::spawn(&[wifi()], &targets, 1).unwrap();
        let change = LinkChange::Set(Box::new(wifi()));
        assert_eq!(narrator.link(Time::from_millis(900), &change), None);
        assert_eq!(narrator.gathered(Time::from_millis(1_000), &links.stats(), &[]), []);
        let told = narrator.gathered(Time::from_millis(2_000), &links.stats(), &[]);
        assert_eq!(
            told[0].text,
            "The link of wifi now has 20 Mbit/s, a delay of 10 ms and 0.1 % loss."
        );
        assert_eq!(narrator.gathered(Time::from_millis(3_000), &links.stats(), &[]), []);
    }
}
