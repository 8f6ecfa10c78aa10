//! [`Others`]: who else is in the room, and what arrived of each.

use std::collections::BTreeMap;

use anabranch_call::{Device, Media, Playback, Playout};
use anabranch_media::Piece;
use anabranch_sansio::{Time, Wakeup};

use crate::MEMBERS_MAX;
use crate::protocol::{MemberEntry, MemberNumber, member_of};

/// Who else is in the room.
#[derive(Debug, Default)]
pub(super) struct Others(BTreeMap<MemberNumber, Other>);

/// A member, and what arrived of its voice and pictures.
#[derive(Debug)]
struct Other {
    entry: MemberEntry,
    playout: Playout,
}

impl Others {
    /// These are there, and nobody else: who was before goes on as before.
    pub(super) fn keep(&mut self, members: &[MemberEntry]) {
        self.0.retain(|number, _| members.iter().any(|member| member.number == *number));
    }

    /// A member is there; false if that makes more than a room has.
    pub(super) fn insert(&mut self, member: &MemberEntry) -> bool {
        if self.0.len() >= MEMBERS_MAX && !self.0.contains_key(&member.number) {
            return false;
        }
        let new = || Other { entry: member.clone(), playout: Playout::new() };
        self.0.entry(member.number).or_insert_with(new).entry.clone_from(member);
        true
    }

    pub(super) fn remove(&mut self, member: MemberNumber) {
        self.0.remove(&member);
    }

    /// A member sends something else from now on, after so many frames of voice. Returns what is
    /// known of it, if it is there.
    pub(super) fn set_media(
        &mut self,
        member: MemberNumber,
        media: Media,
        voice_frames: u64,
    ) -> Option<MemberEntry> {
        let other = self.0.get_mut(&member)?;
        if media.microphone != Device::On {
            other.playout.mute_from(voice_frames);
        }
        other.entry.media = media;
        Some(other.entry.clone())
    }

    /// A piece came, numbered by the room. Of whoever is not there it is dropped.
    pub(super) fn push(&mut self, now: Time, mut piece: Piece) {
        let (member, track) = member_of(piece.header.track);
        if let Some(other) = self.0.get_mut(&member) {
            piece.header.track = track;
            other.playout.push_piece(now, piece);
        }
    }

    pub(super) fn poll(&mut self, now: Time) -> Option<(MemberNumber, Playback)> {
        self.0.iter_mut().find_map(|(number, other)| Some((*number, other.playout.poll(now)?)))
    }

    pub(super) fn poll_timeout(&self, now: Time) -> Option<Wakeup> {
        self.0.values().filter_map(|other| other.playout.poll_timeout(now)).min()
    }

    /// The next one whose pictures cannot be decoded before a key picture.
    pub(super) fn poll_key_wanted(&mut self, now: Time) -> Option<MemberNumber> {
        let wants = |(number, other): (&MemberNumber, &mut Other)| {
            other.playout.take_key_wanted(now).then_some(*number)
        };
        self.0.iter_mut().find_map(wants)
    }
}
