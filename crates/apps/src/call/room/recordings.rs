//! [`Recordings`]: what is played out of each member of a room, in a folder of its own.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use anabranch_call::Playback;
use anabranch_rooms::protocol::{MemberEntry, MemberNumber};

use super::super::record::{Recorder, unwritable};
use crate::service::ServiceError;

/// Characters of a name that a folder's has.
const NAME_CHARS_MAX: usize = 40;

/// A folder with a folder for each of the others: `NUMBER-NAME`.
pub(super) struct Recordings {
    folder: PathBuf,
    of: BTreeMap<MemberNumber, Recorder>,
}

impl Recordings {
    /// Makes the folder.
    pub(super) fn create(folder: PathBuf) -> Result<Self, ServiceError> {
        match fs::create_dir_all(&folder) {
            Ok(()) => Ok(Self { folder, of: BTreeMap::new() }),
            Err(source) => Err(unwritable(Some(&folder), source)),
        }
    }

    /// A member is there, or sends something else from now on.
    pub(super) fn begin(&mut self, member: &MemberEntry) -> Result<(), ServiceError> {
        let begun = match self.of.get_mut(&member.number) {
            Some(recorder) => recorder.set_media(&member.media),
            None => self.add(member),
        };
        self.check(begun)
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

    /// A member is gone: all of it is on the disk.
    pub(super) fn end(&mut self, member: MemberNumber) -> Result<(), ServiceError> {
        let finished = self.of.remove(&member).map_or(Ok(()), |mut recorder| recorder.finish());
        self.check(finished)
    }

    /// All of everybody is on the disk.
    pub(super) fn finish(&mut self) -> Result<(), ServiceError> {
        let finished = self.of.values_mut().try_for_each(Recorder::finish);
        self.check(finished)
    }

    fn add(&mut self, member: &MemberEntry) -> io::Result<()> {
        let folder = self.folder.join(folder_name(member));
        let mut recorder = Recorder::create(&folder)?;
        recorder.begin(&member.media)?;
        self.of.insert(member.number, recorder);
        Ok(())
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
    use anabranch_call::Media;
    use anabranch_rooms::protocol::Role;

    use super::*;

    #[test]
    fn a_name_is_no_path() {
        let member = |name: &str| MemberEntry {
            number: MemberNumber(7),
            name: name.to_owned(),
            role: Role::Attendee,
            media: Media::default(),
            away: false,
        };
        assert_eq!(folder_name(&member("Zoë")), "7-Zoë");
        assert_eq!(folder_name(&member("../../etc/passwd")), "7-______etc_passwd");
        assert_eq!(folder_name(&member(&"x".repeat(60))), format!("7-{}", "x".repeat(40)));
    }
}
