//! Events of a session as sentences.

use anabranch_sctp::{PathId, PathReport, PathState};

use super::Severity;
use crate::session::{Event, Role};

/// What people should read about an event, if anything. Before media flows, the paths' states tell
/// nothing that the call's end does not.
pub(crate) fn words_of(
    event: &Event,
    role: Role,
    is_connected: bool,
    paths: &[PathReport],
) -> Option<(Severity, String)> {
    let name = |id: &PathId| {
        let tuple = paths.iter().find(|path| path.id == *id).map(|path| path.tuple);
        tuple.map_or_else(|| id.to_string(), |tuple| format!("{id} ({tuple})"))
    };
    let told = match event {
        Event::Connected(agreement) => {
            let verb = if agreement.incoming { "called us" } else { "answers" };
            let other = match role {
                Role::Sender => "receiver",
                Role::Receiver => "sender",
            };
            let text = format!(
                "connected: the {other} at {} ({}) {verb}; latency {} ms",
                agreement.path.remote,
                agreement.program,
                agreement.latency.as_millis()
            );
            (Severity::Info, text)
        }
        Event::TurnedAway { remote, refusal } => {
            (Severity::Warning, format!("{remote} was refused: {refusal}"))
        }
        Event::PathAdded { .. }
        | Event::PathMoved { .. }
        | Event::PathStateChanged { .. }
        | Event::DataPathChanged { .. }
            if !is_connected =>
        {
            return None;
        }
        Event::PathAdded { path, tuple } => (Severity::Info, format!("{path} is new: {tuple}")),
        Event::PathMoved { path, from, to } => {
            let text = format!("{path} leads to {} now, no longer to {}", to.remote, from.remote);
            (Severity::Info, text)
        }
        Event::PathStateChanged { path, from, to } => {
            let name = name(path);
            match (from, to) {
                (PathState::Unconfirmed, PathState::Active) => {
                    (Severity::Info, format!("{name} works"))
                }
                (_, PathState::Active) => (Severity::Info, format!("{name} is back")),
                (_, PathState::Inactive) => (Severity::Warning, format!("{name} failed")),
                (_, PathState::PotentiallyFailed) => {
                    (Severity::Warning, format!("{name} does not answer"))
                }
                (_, PathState::Unconfirmed) => return None,
            }
        }
        Event::DataPathChanged { to, .. } => {
            (Severity::Info, format!("media takes {} now", name(to)))
        }
        Event::Refused(_)
        | Event::SourceChanged(_)
        | Event::Writable
        | Event::MediaDue
        | Event::Disconnected(_) => return None,
    };
    Some(told)
}
