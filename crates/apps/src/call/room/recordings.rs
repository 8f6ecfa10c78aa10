//! [`Recordings`]: what is played out of each member of a room, in a folder of its own.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use anabranch_call::Playback;
use anabranch_rooms::ListenerEvent;
use anabranch_rooms::protocol::{MemberEntry, MemberNumber};

use super::super::record::{Recorder, unwritable};
use crate::service::ServiceError;

/// Characters of a name that a folder's has.
const NAME_CHARS_MAX: usize = 40;

/// A folder with a folder for each of the others: `NUMBER-NAME`.
pub(super) struct Recordings {
    folder: PathBuf,
    of: BTreeMap<MemberNumber, Recorder>,
    /// The sets of files that whoever comes with these numbers begins with: those before are
    /// earlier visits'.
    next_sets: BTreeMap<MemberNumber, u32>,
}

impl Recordings {
    /// Makes the folder.
    pub(super) fn create(folder: PathBuf) -> Result<Self, ServiceError> {
        match fs::create_dir_all(&folder) {
            Ok(()) => Ok(Self { folder, of: BTreeMap::new(), next_sets: BTreeMap::new() }),
            Err(source) => Err(unwritable(Some(&folder), source)),
        }
    }

    /// Follows who comes, sends something else from now on, and goes.
    pub(super) fn note(&mut self, event: &ListenerEvent) -> Result<(), ServiceError> {
        match event {
            ListenerEvent::Entered { members, .. } => {
                self.keep(members)?;
                members.iter().try_for_each(|member| self.begin(member))
            }
            ListenerEvent::Member(member) => self.begin(member),
            ListenerEvent::Left { member, .. } => self.end(*member),
            ListenerEvent::Joined { .. }
            | ListenerEvent::Text { .. }
            | ListenerEvent::Listeners(_)
            | ListenerEvent::Bye { .. } => Ok(()),
        }
    }

    /// Something of a member's was played out.
    pub(super) fn take(
        &mut self,
        member: MemberNumber,
        playback: &Playback,
    ) -> Result<(), ServiceError> {
        let taken = self.of.get_mut(&member).map_or(Ok(()), |recorder| recorder.take(playback));
        self.check(taken)
    }

    /// All of everybody is on the disk.
    pub(super) fn finish(&mut self) -> Result<(), ServiceError> {
        self.keep(&[])
    }

    /// Only these are there.
    fn keep(&mut self, members: &[MemberEntry]) -> Result<(), ServiceError> {
        let is_gone = |number: &&MemberNumber| members.iter().all(|it| it.number != **number);
        let gone: Vec<_> = self.of.keys().filter(is_gone).copied().collect();
        gone.into_iter().try_for_each(|member| self.end(member))
    }

    /// A member is there, or sends something else from now on.
    fn begin(&mut self, member: &MemberEntry) -> Result<(), ServiceError> {
        let begun = match self.of.get_mut(&member.number) {
            Some(recorder) => recorder.set_media(&member.media),
            None => self.add(member),
        };
        self.check(begun)
    }

    fn add(&mut self, member: &MemberEntry) -> io::Result<()> {
        let folder = self.folder.join(folder_name(member));
        let set = self.next_sets.get(&member.number).copied().unwrap_or(1);
        let mut recorder = Recorder::create(&folder, set)?;
        recorder.begin(&member.media)?;
        self.of.insert(member.number, recorder);
        Ok(())
    }

    /// A member is gone: all of it is on the disk.
    fn end(&mut self, member: MemberNumber) -> Result<(), ServiceError> {
        let Some(mut recorder) = self.of.remove(&member) else { return Ok(()) };
        self.next_sets.insert(member, recorder.set() + 1);
        let finished = recorder.finish();
        self.check(finished)
    }

    fn check(&self, result: io::Result<()>) -> Result<(), ServiceError> {
        result.map_err(|source| unwritable(Some(&self.folder), source))
    }
}

/// A member's folder: its number, which nobody else has, and what of its name is no path, is not
/// hidden, and can be typed.
fn folder_name(member: &MemberEntry) -> String {
    let plain = |c: char| if c.is_alphanumeric() { c } else { '_' };
    let name: String = member.name.chars().take(NAME_CHARS_MAX).map(plain).collect();
    format!("{}-{name}", member.number.0)
}

#[cfg(test)]
mod tests {
    use anabranch_call::{Media, Played};
    use anabranch_rooms::protocol::Role;
    use anabranch_sansio::Time;

    use super::*;

    fn member(name: &str) -> MemberEntry {
        MemberEntry {
            number: MemberNumber(7),
            name: name.to_owned(),
            role: Role::Attendee,
            media: Media::default(),
            away: false,
        }
    }

    #[test]
    fn who_is_met_again_has_files_of_their_own_and_those_of_earlier_programs_are_replaced() {
        let folder = std::env::temp_dir().join(format!("anabranch-met-{}", std::process::id()));
        let tables = ["played.csv", "played-2.csv", "played-3.csv"];
        let lines = || {
            let read = |table| fs::read_to_string(folder.join("7-Zoë").join(table));
            tables.map(|table| read(table).map_or(0, |table| table.lines().count()))
        };
        let entered = |members| ListenerEvent::Entered { title: String::new(), members };
        let play = |recordings: &mut Recordings| {
            let (play_at, what) = (Time::ZERO, Played::Concealed);
            let playback = Playback { play_at, captured_us: 0, frame: 0, what };
            recordings.take(MemberNumber(7), &playback).unwrap();
        };
        let mut recordings = Recordings::create(folder.clone()).unwrap();
        recordings.note(&entered(vec![member("Zoë")])).unwrap();
        play(&mut recordings);
        recordings.note(&ListenerEvent::Member(member("Zoë"))).unwrap();
        play(&mut recordings);
        recordings.finish().unwrap();
        play(&mut recordings);
        assert_eq!(lines(), [3, 0, 0]);
        recordings.note(&entered(vec![member("Zoë")])).unwrap();
        play(&mut recordings);
        recordings.note(&entered(Vec::new())).unwrap();
        assert_eq!(lines(), [3, 2, 0]);
        let mut recordings = Recordings::create(folder.clone()).unwrap();
        recordings.note(&entered(vec![member("Zoë")])).unwrap();
        recordings.finish().unwrap();
        assert_eq!(lines(), [1, 2, 0]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_name_is_no_path() {
        assert_eq!(folder_name(&member("Zoë")), "7-Zoë");
        assert_eq!(folder_name(&member("../../etc/passwd")), "7-______etc_passwd");
        assert_eq!(folder_name(&member(&"x".repeat(60))), format!("7-{}", "x".repeat(40)));
    }
}
