//! Events of a session as sentences.

use std::time::Duration;

use anabranch_sansio::PathId;
use anabranch_sansio::Rate;
use anabranch_session::dropping::Notice;
use anabranch_session::treatment::MediaClass;
use anabranch_session::{Event, Role};
use anabranch_transport::{PathEvent, PathReport, PathState};

use super::Severity;

/// What people should read about an event, if anything. Before media flows, the paths' states tell
/// nothing that the call's end does not.
pub(crate) fn sentence_of(
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
        Event::Path(event) => return path_sentence(event, name).filter(|_| is_connected),
        Event::Dropping(Notice::LeftOut { class, pictures, span }) => {
            (Severity::Warning, left_out(*class, *pictures, *span, None))
        }
        Event::OutputBehind(Notice::LeftOut { class, pictures, span }) => {
            let why = match role {
                Role::Sender => "the receiver's output does not take all",
                Role::Receiver => "the output does not take all",
            };
            (Severity::Warning, left_out_because(*class, *pictures, *span, why))
        }
        Event::Dropping(Notice::WholeAgain { class })
        | Event::OutputBehind(Notice::WholeAgain { class }) => {
            (Severity::Info, whole_again(*class))
        }
        Event::Refused(_)
        | Event::SourceChanged(_)
        | Event::Writable
        | Event::RateChanged(_)
        | Event::MediaDue
        | Event::Disconnected(_) => return None,
    };
    Some(told)
}

fn path_sentence(
    event: &PathEvent,
    name: impl Fn(&PathId) -> String,
) -> Option<(Severity, String)> {
    let told = match event {
        PathEvent::Added { path, tuple } => (Severity::Info, format!("{path} is new: {tuple}")),
        PathEvent::Removed { path, last } => {
            (Severity::Info, format!("{path} ({}) made way for another one", last.tuple))
        }
        PathEvent::Moved { path, from, to } => {
            let text = format!("{path} leads to {} now, no longer to {}", to.remote, from.remote);
            (Severity::Info, text)
        }
        PathEvent::StateChanged { path, from, to } => {
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
        PathEvent::DataPathChanged { to, .. } => {
            (Severity::Info, format!("media takes {} now", name(to)))
        }
    };
    Some(told)
}

/// Pictures of a class are left out that the network does not carry.
pub(crate) fn left_out(
    class: MediaClass,
    pictures: u64,
    span: Duration,
    carried: Option<Rate>,
) -> String {
    let carried = carried.map_or_else(
        || "the network does not carry all".to_owned(),
        |rate| format!("the network carries {rate}"),
    );
    left_out_because(class, pictures, span, &carried)
}

fn left_out_because(class: MediaClass, pictures: u64, span: Duration, why: &str) -> String {
    let span = match span.as_secs_f64().round() as u64 {
        0 | 1 => "second".to_owned(),
        seconds => format!("{seconds} seconds"),
    };
    if class == MediaClass::Enhancement {
        return format!(
            "{pictures} pictures went without their enhancement in the last {span}: {why}"
        );
    }
    format!("{pictures} {class} pictures were left out in the last {span}: {why}")
}

/// All pictures of a class go again.
pub(crate) fn whole_again(class: MediaClass) -> String {
    if class == MediaClass::Enhancement {
        return "all pictures go with their enhancement again".to_owned();
    }
    format!("all {class} pictures go again")
}
