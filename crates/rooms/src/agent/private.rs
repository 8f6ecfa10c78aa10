//! [`Private`]: what two agents say to each other beside media: words, and blocks of files.

use std::collections::BTreeSet;
use std::time::Duration;

use anabranch_call::exchange::{ASKS_MAX, Allowance, REQUEST_EVERY, REQUESTS_BURST};
use anabranch_sansio::Time;
use anabranch_transport::PathPreference;
use bytes::Bytes;

use super::Said;
use super::outbox::Outbox;
use crate::protocol::{BlockId, FILES_STREAM, FileMessage, FromMember, MemberNumber};

/// Words that are older than this have arrived: an association is given up sooner.
const ARRIVED_AFTER: Duration = Duration::from_secs(20);

/// Words and blocks of files for the other one of two, which nobody else gets.
#[derive(Debug)]
pub(super) struct Private {
    pub(super) outbox: Outbox,
    /// Blocks that the other one wants, and has not got.
    wanted: BTreeSet<BlockId>,
    /// What the other one may write.
    allowance: Allowance,
    /// When the page wrote something last.
    written: Option<Time>,
}

/// For whom it is what a page says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Addressed {
    /// For the room.
    Room(Said),
    /// For the other one alone: words, which whoever wrote them sees, too.
    Words(String),
    /// For the other one alone: something about a file, or words for which there is no room.
    Taken,
}

/// What the other one says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FromPeer {
    /// Something for the page.
    Said(Said),
    /// Words.
    Words(String),
}

impl Private {
    pub(super) fn new(now: Time) -> Self {
        Self {
            outbox: Outbox::default(),
            wanted: BTreeSet::new(),
            allowance: Allowance::new(now, REQUEST_EVERY, REQUESTS_BURST),
            written: None,
        }
    }

    /// Takes what is for the other one of what the page says.
    pub(super) fn push(&mut self, now: Time, said: Said) -> Addressed {
        if said.stream == FILES_STREAM {
            return match FileMessage::decode(&said.payload) {
                Ok(FileMessage::Want { .. }) => self.push_block(said.payload),
                Ok(FileMessage::Block { block, .. }) if self.wanted.remove(&block) => {
                    self.push_block(said.payload)
                }
                Ok(FileMessage::Block { .. }) | Err(_) => Addressed::Room(said),
            };
        }
        match said.is_text.then(|| FromMember::decode(&said.payload)) {
            Some(Ok(FromMember::Text { text })) if !text.is_empty() => {
                self.written = Some(now);
                let words = FromMember::Text { text: text.clone() };
                let is_said = self.say(&words, PathPreference::Any);
                if is_said { Addressed::Words(text) } else { Addressed::Taken }
            }
            Some(_) | None => Addressed::Room(said),
        }
    }

    /// Says something to the other agent, over this path if it stands; false if there is no room.
    pub(super) fn say(&mut self, message: &FromMember, path: PathPreference) -> bool {
        self.outbox.say(message.encode(), path)
    }

    fn push_block(&mut self, payload: Bytes) -> Addressed {
        self.outbox.push_block(payload);
        Addressed::Taken
    }

    /// A message about a file came from this member. Returns it as the room would send it.
    pub(super) fn on_file(&mut self, from: MemberNumber, payload: &Bytes) -> Option<Said> {
        let message = match FileMessage::decode(payload).ok()? {
            FileMessage::Want { block, .. } => {
                self.wanted.insert(block);
                if self.wanted.len() > ASKS_MAX {
                    // One of a file that is not there any more, for all that is known.
                    self.wanted.pop_first();
                }
                FileMessage::Want { block, member: from }
            }
            FileMessage::Block { block, bytes, .. } => {
                FileMessage::Block { block, member: from, bytes }
            }
        };
        Some(Said { stream: FILES_STREAM, is_text: false, payload: message.encode() })
    }

    /// Words came; they are taken as long as they are no more than a room takes of a page.
    pub(super) fn on_words(&mut self, now: Time, text: String) -> Option<FromPeer> {
        let is_taken = !text.is_empty() && self.allowance.take(now);
        is_taken.then_some(FromPeer::Words(text))
    }

    /// Whether something was written that may not have arrived where the association is lost.
    pub(super) fn may_lack_words(&self, now: Time) -> bool {
        self.written.is_some_and(|at| now - at < ARRIVED_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use super::super::outbox::WORDS_MAX;
    use super::*;
    use crate::protocol::FileNumber;

    const NOW: Time = Time::ZERO;
    const BLOCK: BlockId = BlockId { file: FileNumber(3), index: 7 };

    fn about_file(message: &FileMessage) -> Said {
        Said { stream: FILES_STREAM, is_text: false, payload: message.encode() }
    }

    fn text(message: &FromMember) -> Said {
        Said { stream: 0, is_text: true, payload: message.encode() }
    }

    fn block(member: u16) -> FileMessage {
        let (member, bytes) = (MemberNumber(member), Bytes::from_static(b"block"));
        FileMessage::Block { block: BLOCK, member, bytes }
    }

    #[test]
    fn words_are_for_the_other_one_and_all_else_in_words_is_for_the_room() {
        let mut private = Private::new(NOW);
        let hello = text(&FromMember::Text { text: "Hello".to_owned() });
        assert_eq!(private.push(NOW, hello), Addressed::Words("Hello".to_owned()));
        for words in [
            text(&FromMember::Bye),
            text(&FromMember::Text { text: String::new() }),
            Said { stream: 0, is_text: true, payload: Bytes::from_static(b"{") },
            Said { stream: 3, is_text: false, payload: Bytes::from_static(b"voice") },
        ] {
            assert_eq!(private.push(NOW, words.clone()), Addressed::Room(words));
        }
    }

    #[test]
    fn a_block_is_for_whoever_wanted_it_and_else_for_the_room() {
        let (mut here, mut there) = (Private::new(NOW), Private::new(NOW));
        let unasked = about_file(&block(2));
        assert_eq!(here.push(NOW, unasked.clone()), Addressed::Room(unasked));
        let want = FileMessage::Want { block: BLOCK, member: MemberNumber(0) };
        assert_eq!(there.push(NOW, about_file(&want)), Addressed::Taken);
        let got = here.on_file(MemberNumber(2), &there.outbox.pop_block().unwrap());
        let want = FileMessage::Want { block: BLOCK, member: MemberNumber(2) };
        assert_eq!(got, Some(about_file(&want)));
        assert_eq!(here.push(NOW, about_file(&block(2))), Addressed::Taken);
        let got = there.on_file(MemberNumber(1), &here.outbox.pop_block().unwrap());
        assert_eq!(got, Some(about_file(&block(1))));
        let again = about_file(&block(2));
        assert_eq!(here.push(NOW, again.clone()), Addressed::Room(again));
    }

    #[test]
    fn the_other_one_writes_and_wants_no_more_than_a_page_may() {
        let mut private = Private::new(NOW);
        let words = (0..500).filter_map(|_| private.on_words(NOW, "spam".to_owned()));
        assert_eq!(words.count(), REQUESTS_BURST as usize);
        for index in 0..2 * ASKS_MAX as u32 {
            let block = BlockId { index, ..BLOCK };
            let want = FileMessage::Want { block, member: MemberNumber(0) };
            private.on_file(MemberNumber(2), &want.encode());
        }
        assert_eq!(private.wanted.len(), ASKS_MAX);
        assert!(private.wanted.contains(&BlockId { index: 2 * ASKS_MAX as u32 - 1, ..BLOCK }));
        assert_eq!(private.on_file(MemberNumber(2), &Bytes::from_static(&[9, 9])), None);
    }

    #[test]
    fn words_for_which_there_is_no_room_are_not_shown_as_said() {
        let mut private = Private::new(NOW);
        let hello = || text(&FromMember::Text { text: "Hello".to_owned() });
        let said = (0..2 * WORDS_MAX).map(|_| private.push(NOW, hello()));
        let shown = said.filter(|addressed| matches!(addressed, Addressed::Words(_)));
        assert_eq!(shown.count(), WORDS_MAX);
    }

    #[test]
    fn what_was_written_just_now_may_not_have_arrived() {
        let mut private = Private::new(NOW);
        assert!(!private.may_lack_words(NOW));
        private.push(NOW, text(&FromMember::Text { text: "Hello".to_owned() }));
        assert!(private.may_lack_words(NOW + Duration::from_secs(1)));
        assert!(!private.may_lack_words(NOW + ARRIVED_AFTER));
    }
}
