//! [`Paths`]: how each path is used, handoffs, and what they cost in words.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anabranch_sansio::{FourTuple, PathId, Time};
use anabranch_transport::{Connection, PathEvent, PathReport, PathState};
use serde::{Deserialize, Serialize};

use crate::heard::{Heard, VoiceCounts};
use crate::{LogKind, LogLine, PathError};

/// How long after a path died its cost is known: what was under way has been repeated by then.
const COST_KNOWN_AFTER: Duration = Duration::from_secs(1);

/// What arrived before a path's death was noticed belongs to its cost.
const NOTICED_WITHIN: Duration = Duration::from_millis(600);

/// How long a path that is left waits for what is in flight on it.
const LEAVE_MAX: Duration = Duration::from_secs(10);

/// A path that is left stays so long at least: what the peer had under way over it arrives.
const LEAVE_MIN: Duration = Duration::from_millis(500);

/// A gap that nobody hears.
const UNHEARD: Duration = Duration::from_millis(10);

/// Paths that are remembered.
const PATHS_MAX: usize = 64;

/// How a path is to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathUse {
    /// Carries data.
    #[default]
    Use,
    /// Carries data only while no other stands.
    Spare,
    /// Is closed.
    Never,
}

impl PathUse {
    /// As in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Use => "use",
            Self::Spare => "spare",
            Self::Never => "never",
        }
    }
}

impl fmt::Display for PathUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What is known of a path beside what the transport says.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PathNote {
    /// How this end wants it used.
    pub ours: PathUse,
    /// Whether the peer wants it spared.
    pub peer_spares: bool,
    /// What the last change away from it cost: how long no voice came, beyond a frame.
    pub handoff: Option<Duration>,
}

/// A path died, and what that cost is not known yet.
#[derive(Debug)]
struct Death {
    path: PathId,
    name: String,
    at: Time,
    before: VoiceCounts,
}

/// A path that is being left on purpose.
#[derive(Debug)]
struct Leaving {
    path: PathId,
    since: Time,
    before: VoiceCounts,
}

/// How each path is used.
#[derive(Debug, Default)]
pub struct Paths {
    names: BTreeMap<IpAddr, String>,
    /// How paths to these addresses are told from others of the same interface.
    remotes: BTreeMap<SocketAddr, String>,
    notes: BTreeMap<PathId, PathNote>,
    deaths: Vec<Death>,
    leaving: Vec<Leaving>,
}

impl Paths {
    /// The same names for another call.
    pub fn begin(&mut self) {
        *self = self.of_same_names();
    }

    /// The same names, for another connection.
    #[must_use]
    pub fn of_same_names(&self) -> Self {
        Self { names: self.names.clone(), ..Self::default() }
    }

    /// What people call the interface with this address.
    pub fn name_address(&mut self, address: IpAddr, name: String) {
        if self.names.len() < PATHS_MAX || self.names.contains_key(&address) {
            self.names.insert(address, name);
        }
    }

    /// What follows an interface's name where a path leads to this address.
    pub fn name_remote(&mut self, remote: SocketAddr, suffix: &str) {
        if self.remotes.len() < PATHS_MAX {
            self.remotes.insert(remote, suffix.to_owned());
        }
    }

    /// What is known of a path beside what the transport says.
    #[must_use]
    pub fn note(&self, path: PathId) -> PathNote {
        self.notes.get(&path).copied().unwrap_or_default()
    }

    /// What people call a path: its interface, or what tells it from the others.
    #[must_use]
    pub fn name(&self, id: PathId, tuple: FourTuple) -> String {
        let known = self.names.get(&tuple.local.ip());
        let name = known.cloned().unwrap_or_else(|| format!("path {}", id.0));
        match self.remotes.get(&tuple.remote) {
            Some(suffix) => format!("{name} {suffix}"),
            None => name,
        }
    }

    fn name_of(&self, path: &PathReport) -> String {
        self.name(path.id, path.tuple)
    }

    fn note_mut(&mut self, path: PathId) -> Option<&mut PathNote> {
        if self.notes.len() >= PATHS_MAX && !self.notes.contains_key(&path) {
            return None;
        }
        Some(self.notes.entry(path).or_default())
    }

    /// How a path is to be used from now on, as this end wants it.
    ///
    /// # Errors
    /// There is no such path, or no other one that stands.
    pub fn set_use(
        &mut self,
        now: Time,
        id: PathId,
        wanted: PathUse,
        connection: &mut dyn Connection,
    ) -> Result<PathReport, PathError> {
        let paths = connection.stats().paths;
        let path = paths.iter().find(|path| path.id == id).ok_or(PathError::Unknown(id))?;
        if wanted == PathUse::Never && !has_other(&paths, id) {
            return Err(PathError::LastOne(id));
        }
        if let Some(note) = self.note_mut(id) {
            note.ours = wanted;
        }
        self.apply(id, connection);
        match wanted {
            PathUse::Never => close(now, path, &paths, connection),
            PathUse::Use | PathUse::Spare if path.state != PathState::Active => {
                let _opened = connection.open_path(now, path.tuple);
            }
            PathUse::Use | PathUse::Spare => {}
        }
        self.leaving.retain(|leaving| leaving.path != id);
        Ok(path.clone())
    }

    /// Leaves a path on purpose: new data goes elsewhere from now on, and it is closed when nothing
    /// is under way on it.
    ///
    /// # Errors
    /// There is no such path, or no other one that stands.
    pub fn leave(
        &mut self,
        now: Time,
        id: PathId,
        counts: VoiceCounts,
        connection: &mut dyn Connection,
    ) -> Result<PathReport, PathError> {
        let paths = connection.stats().paths;
        if !paths.iter().any(|path| path.id == id) {
            return Err(PathError::Unknown(id));
        }
        if !has_other(&paths, id) {
            return Err(PathError::LastOne(id));
        }
        let report = self.set_use(now, id, PathUse::Spare, connection)?;
        self.leaving.push(Leaving { path: id, since: now, before: counts });
        Ok(report)
    }

    /// The peer wants a path used so; it is the one with these addresses, or the one that its words
    /// came over.
    pub fn on_peer_use(
        &mut self,
        now: Time,
        wanted: PathUse,
        (theirs, came_over): ((&str, &str), PathId),
        connection: &mut dyn Connection,
    ) {
        let paths = connection.stats().paths;
        let address = |text: &str| text.parse::<SocketAddr>().ok();
        let named = address(theirs.0).zip(address(theirs.1));
        let named = named.and_then(|(local, remote)| {
            let tuple = FourTuple::new(remote, local);
            paths.iter().find(|path| path.tuple == tuple)
        });
        let Some(path) = named.or_else(|| paths.iter().find(|path| path.id == came_over)) else {
            return;
        };
        let id = path.id;
        if let Some(note) = self.note_mut(id) {
            note.peer_spares = wanted != PathUse::Use;
        }
        self.apply(id, connection);
        if wanted == PathUse::Never && has_other(&paths, id) {
            close(now, path, &paths, connection);
        }
    }

    /// Takes what the transport says of a path; sentences about it go to `log`.
    pub fn on_event(
        &mut self,
        now: Time,
        event: &PathEvent,
        (paths, heard): (&[PathReport], &dyn Heard),
        log: &mut Vec<LogLine>,
    ) {
        let report = |id: PathId| paths.iter().find(|path| path.id == id);
        match event {
            PathEvent::Added { path, tuple } => {
                let text = format!("{} is there.", capital(&self.name(*path, *tuple)));
                log.push(line(now, LogKind::PathAdded, *path, text));
            }
            PathEvent::StateChanged { path, from, to } => {
                let Some(report) = report(*path) else { return };
                let name = self.name_of(report);
                if *from == PathState::Active {
                    self.on_death(now, *path, name, heard);
                } else if *to == PathState::Active && *from != PathState::Unconfirmed {
                    self.on_recovery(now, *path, &name, log);
                }
            }
            PathEvent::Removed { path, last } => {
                let name = self.name_of(last);
                if last.state == PathState::Active {
                    self.on_death(now, *path, name, heard);
                }
            }
            PathEvent::Moved { .. } | PathEvent::DataPathChanged { .. } => {}
        }
    }

    fn on_death(&mut self, now: Time, path: PathId, name: String, heard: &dyn Heard) {
        let is_meant = self.note(path).ours == PathUse::Never;
        if is_meant || self.deaths.len() >= PATHS_MAX {
            return;
        }
        let before = heard.voice_counts();
        if !self.deaths.iter().any(|death| death.path == path) {
            self.deaths.push(Death { path, name, at: now, before });
        }
    }

    fn on_recovery(&mut self, now: Time, path: PathId, name: &str, log: &mut Vec<LogLine>) {
        if self.note(path).ours == PathUse::Never {
            // What the peer still sends over it is answered.
            return;
        }
        let known = self.deaths.len();
        self.deaths.retain(|death| death.path != path);
        let text = match known == self.deaths.len() {
            true => format!("{} is back.", capital(name)),
            false => format!("{} did not answer for a moment.", capital(name)),
        };
        log.push(line(now, LogKind::PathActive, path, text));
    }

    /// A tenth of a second is over: handoffs go on, and costs become known.
    pub fn tick(
        &mut self,
        now: Time,
        heard: &dyn Heard,
        connection: &mut dyn Connection,
        log: &mut Vec<LogLine>,
    ) {
        let paths = connection.stats().paths;
        for death in take_if(&mut self.deaths, |death| now - death.at >= COST_KNOWN_AFTER) {
            self.tell_cost(now, &death, (&paths, heard), log);
        }
        let is_empty = |leaving: &Leaving| {
            let path = paths.iter().find(|path| path.id == leaving.path);
            let waited = now - leaving.since;
            let is_quiet = path.is_none_or(|path| path.in_flight == 0);
            waited >= LEAVE_MAX || waited >= LEAVE_MIN && is_quiet
        };
        for left in take_if(&mut self.leaving, is_empty) {
            self.finish_leaving(now, &left, (&paths, heard), connection, log);
        }
    }

    fn tell_cost(
        &mut self,
        now: Time,
        death: &Death,
        (paths, heard): (&[PathReport], &dyn Heard),
        log: &mut Vec<LogLine>,
    ) {
        let since = death.at.saturating_sub(NOTICED_WITHIN);
        let gap = heard.longest_gap_since(since).unwrap_or_default();
        let others = paths.iter().filter(|path| path.id != death.path);
        let heir =
            others.filter(|path| path.state == PathState::Active).min_by_key(|path| path.srtt);
        let name = capital(&death.name);
        let text = match heir {
            None => format!("{name} lost, and no other path stands."),
            Some(heir) => {
                let lost = losses(death.before, heard.voice_counts());
                let heir = self.name_of(heir);
                match gap > UNHEARD {
                    true => {
                        let ms = gap.as_millis();
                        format!("{name} lost; went on over {heir} after {ms} ms, {lost}.")
                    }
                    false => format!("{name} lost; went on over {heir} without a gap, {lost}."),
                }
            }
        };
        if let Some(note) = self.note_mut(death.path) {
            note.handoff = Some(gap);
        }
        log.push(line(now, LogKind::PathFailed, death.path, text));
    }

    fn finish_leaving(
        &mut self,
        now: Time,
        left: &Leaving,
        (paths, heard): (&[PathReport], &dyn Heard),
        connection: &mut dyn Connection,
        log: &mut Vec<LogLine>,
    ) {
        let Some(path) = paths.iter().find(|path| path.id == left.path) else { return };
        let gap = heard.longest_gap_since(left.since).unwrap_or_default();
        let name = capital(&self.name_of(path));
        let lost = losses(left.before, heard.voice_counts());
        if let Some(note) = self.note_mut(left.path) {
            note.ours = PathUse::Never;
            note.handoff = Some(gap);
        }
        close(now, path, paths, connection);
        let text = format!("{name} was left as planned, {lost}.");
        log.push(line(now, LogKind::Handoff, left.path, text));
    }

    /// Tells the transport what both ends want of a path.
    fn apply(&self, id: PathId, connection: &mut dyn Connection) {
        let note = self.note(id);
        connection.spare_path(id, note.ours != PathUse::Use || note.peer_spares);
    }
}

/// The default route moved to this interface, and pictures with it.
#[must_use]
pub fn route_moved(name: &str) -> String {
    format!("The default route moved to {name}; went over to it.")
}

/// Whether another path stands.
fn has_other(paths: &[PathReport], id: PathId) -> bool {
    paths.iter().any(|path| path.id != id && path.state == PathState::Active)
}

/// Closes a path whose own address no other path has. Of one that shares it, nothing else is to be
/// closed: it stays spared.
fn close(now: Time, path: &PathReport, paths: &[PathReport], connection: &mut dyn Connection) {
    let shares = |other: &PathReport| other.id != path.id && other.tuple.local == path.tuple.local;
    if !paths.iter().any(shares) {
        connection.close_paths_from(now, path.tuple.local);
    }
}

/// What was missing before may only have been late.
fn losses(before: VoiceCounts, after: VoiceCounts) -> String {
    match after.concealed.saturating_sub(before.concealed) {
        0 => "nothing lost".to_owned(),
        1 => "one frame of voice lost".to_owned(),
        count => format!("{count} frames of voice lost"),
    }
}

fn line(at: Time, kind: LogKind, path: PathId, text: String) -> LogLine {
    LogLine { at, kind, path: Some(path), text }
}

pub(crate) fn capital(name: &str) -> String {
    match name.strip_prefix("path ") {
        Some(number) => format!("Path {number}"),
        None => name.to_owned(),
    }
}

fn take_if<T>(all: &mut Vec<T>, is_due: impl Fn(&T) -> bool) -> Vec<T> {
    let (due, rest) = std::mem::take(all).into_iter().partition(is_due);
    *all = rest;
    due
}
