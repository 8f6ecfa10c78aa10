//! [`Ledger`]: what the two ends of a call write to each other, and the files that each has.
//!
//! Whatever the peer says is checked here: what it writes, wants and brings is bounded, and only
//! what was announced and asked for is handed on.

use std::cmp::Ordering;
use std::collections::VecDeque;

use anabranch_sansio::Time;
use anabranch_session::CONTROL;
use anabranch_transport::{Connection, Outgoing, SendError};
use bytes::Bytes;

use crate::exchange::{
    Allowance, BlockId, Exchanged, FileEntry, FileList, FileMessage, FileNumber, FileQueue,
    LedgerView, MemberNumber, REQUEST_EVERY, REQUESTS_BURST, Takes, TextLine, WordsError,
    file_name, readable,
};
use crate::message::Message;
use crate::treatment::WORDS_STREAM;

/// Sentences that wait for room on the association.
const WORDS_MAX: usize = 256;

/// Texts that a page gets which comes later.
const TEXTS_MAX: usize = 200;

/// Who called, and the other one.
const CALLER: MemberNumber = MemberNumber(1);
const LISTENER: MemberNumber = MemberNumber(2);

/// What two ends write to each other, and the files that they have.
#[derive(Debug)]
pub(crate) struct Ledger {
    you: MemberNumber,
    peer: MemberNumber,
    our_name: String,
    their_name: String,
    takes: Takes,
    texts: VecDeque<TextLine>,
    ours: FileList,
    theirs: FileList,
    last_file: u32,
    /// What the peer wants of our files, and what it is asked for.
    to_peer: FileQueue,
    /// What our page wants of the peer's.
    to_page: FileQueue,
    /// The block of which parts are here.
    coming: Option<(BlockId, Vec<u8>)>,
    words: VecDeque<Bytes>,
    /// What the peer may say.
    allowance: Allowance,
    /// Messages of the peer's that were not taken.
    refused: u64,
    events: VecDeque<Exchanged>,
}

impl Ledger {
    /// A call began with a peer that takes this, who called if it is `incoming`.
    pub(crate) fn new(now: Time, incoming: bool, names: [Option<String>; 2], takes: Takes) -> Self {
        let (you, peer) = if incoming { (LISTENER, CALLER) } else { (CALLER, LISTENER) };
        let [our_name, their_name] = names;
        Self {
            you,
            peer,
            our_name: our_name.unwrap_or_else(|| "You".to_owned()),
            their_name: their_name.unwrap_or_else(|| "The other end".to_owned()),
            takes,
            texts: VecDeque::new(),
            ours: FileList::default(),
            theirs: FileList::default(),
            last_file: 0,
            to_peer: FileQueue::default(),
            to_page: FileQueue::default(),
            coming: None,
            words: VecDeque::new(),
            allowance: Allowance::new(now, REQUEST_EVERY, REQUESTS_BURST),
            refused: 0,
            events: VecDeque::new(),
        }
    }

    pub(crate) fn view(&self) -> LedgerView {
        let mut files = self.ours.list();
        files.extend(self.theirs.list());
        let texts = self.texts.iter().cloned().collect();
        LedgerView { you: self.you, takes: self.takes, texts, files }
    }

    pub(crate) const fn refused(&self) -> u64 {
        self.refused
    }

    pub(crate) fn poll_event(&mut self) -> Option<Exchanged> {
        self.events.pop_front()
    }

    /// This end writes something.
    pub(crate) fn write(&mut self, now: Time, text: &str) -> Result<(), WordsError> {
        let text = readable(text);
        if text.is_empty() {
            return Ok(());
        }
        if !self.takes.text {
            return Err(WordsError::NotTaken);
        }
        if !self.say(&Message::Text { text: text.clone() }) {
            return Err(WordsError::Full);
        }
        let (name, member) = (self.our_name.clone(), self.you);
        self.keep(TextLine { name, member, at_us: now.as_micros(), text });
        Ok(())
    }

    /// This end has a file for the peer.
    pub(crate) fn offer(&mut self, name: &str, size: u64, sha256: String) {
        let name = file_name(name);
        let file = FileNumber(self.last_file * 2 + u32::from(self.you.0));
        let entry = FileEntry { file, member: self.you, name: name.clone(), size, sha256 };
        let added = if self.takes.files {
            self.ours.add(entry)
        } else {
            Err("The other end's program takes no files: it is older, or has no page.".to_owned())
        };
        let entry = match added {
            Ok(entry) => entry,
            Err(text) => return self.tell(Exchanged::FileRefused { name, text }),
        };
        if entry.file != file {
            return self.tell(Exchanged::File(entry));
        }
        let FileEntry { name, sha256, .. } = entry.clone();
        if self.say(&Message::OfferFile { file, name, size, sha256 }) {
            self.last_file += 1;
            self.tell(Exchanged::File(entry));
        } else {
            self.ours.remove(file, self.you);
            let text = "Too much waits to be said: offer it again later.".to_owned();
            self.tell(Exchanged::FileRefused { name: entry.name, text });
        }
    }

    /// This end has a file no longer.
    pub(crate) fn withdraw(&mut self, file: FileNumber) {
        if self.ours.remove(file, self.you) {
            self.to_peer.forget(file);
            self.say(&Message::WithdrawFile { file });
            self.tell(Exchanged::FileGone(file));
        }
    }

    /// This end has none of its files any more.
    pub(crate) fn withdraw_all(&mut self) {
        for entry in self.ours.list() {
            self.withdraw(entry.file);
        }
    }

    /// What a page says about a block.
    pub(crate) fn on_page_block(&mut self, now: Time, payload: &Bytes) {
        match FileMessage::decode(payload) {
            Ok(FileMessage::Want { block, .. }) => {
                let is_there = matches!(self.theirs.owner(block), Some((_, Some(_))));
                if is_there && self.to_page.want(now, block) {
                    self.to_peer.ask(&FileMessage::Want { block, member: self.you });
                }
            }
            Ok(FileMessage::Block { block, bytes, .. }) => {
                if self.ours.owner(block) == Some((self.you, Some(bytes.len()))) {
                    let message = FileMessage::Block { block, member: self.you, bytes };
                    self.to_peer.bring(block, &message);
                }
            }
            Err(_) => {}
        }
    }

    /// What the peer says about a block.
    pub(crate) fn on_peer_block(&mut self, now: Time, payload: &Bytes) {
        let member = self.peer;
        let is_right = match FileMessage::decode(payload) {
            Ok(FileMessage::Want { block, .. }) => {
                let is_there = matches!(self.ours.owner(block), Some((_, Some(_))));
                if is_there && self.to_peer.want(now, block) {
                    let want = FileMessage::Want { block, member };
                    self.tell(Exchanged::Block(want.encode()));
                }
                // It may have been withdrawn while this was under way.
                true
            }
            Ok(FileMessage::Block { block, bytes, .. }) => self.on_part(block, &bytes),
            Err(_) => false,
        };
        self.refused += u64::from(!is_right);
        while let Some(block) = self.to_page.next_block() {
            self.tell(Exchanged::Block(block));
        }
    }

    /// Parts of a block come one after the other. False if it was not asked for, or is too long.
    fn on_part(&mut self, block: BlockId, bytes: &[u8]) -> bool {
        let Some((member, Some(len))) = self.theirs.owner(block) else { return false };
        if !self.to_page.wants(block) {
            return false;
        }
        let begun = self.coming.take().filter(|(coming, _)| *coming == block);
        let mut so_far = begun.map(|(_, bytes)| bytes).unwrap_or_default();
        so_far.extend_from_slice(bytes);
        match so_far.len().cmp(&len) {
            Ordering::Less => self.coming = Some((block, so_far)),
            Ordering::Equal => {
                let message = FileMessage::Block { block, member, bytes: so_far.into() };
                self.to_page.bring(block, &message);
            }
            Ordering::Greater => return false,
        }
        true
    }

    /// What the peer says in words.
    pub(crate) fn on_message(&mut self, now: Time, message: &Message) {
        if !self.allowance.take(now) {
            self.refused += 1;
            return;
        }
        match message {
            Message::Text { text } => {
                let text = readable(text);
                if !text.is_empty() {
                    let (name, member) = (self.their_name.clone(), self.peer);
                    self.keep(TextLine { name, member, at_us: now.as_micros(), text });
                }
            }
            Message::OfferFile { file, name, size, sha256 } => {
                self.on_offer(*file, file_name(name), *size, sha256.clone());
            }
            Message::WithdrawFile { file } => {
                if self.theirs.remove(*file, self.peer) {
                    self.to_page.forget(*file);
                    self.tell(Exchanged::FileGone(*file));
                }
            }
            Message::FileRefused { file, text } => self.on_refused(*file, text.clone()),
            Message::Call(_)
            | Message::Answer(_)
            | Message::Refuse(_)
            | Message::Media { .. }
            | Message::WantKey
            | Message::Path { .. }
            | Message::Report(_)
            | Message::Bye { .. }
            | Message::Unknown => {}
        }
    }

    /// Hands over what the connection has room for.
    pub(crate) fn flush(&mut self, now: Time, connection: &mut dyn Connection) {
        while let Some(payload) = self.words.front() {
            let message = Outgoing::new(WORDS_STREAM, CONTROL, payload.clone());
            match connection.send(now, message) {
                Err(SendError::Full) => return,
                // Whatever else stands against it: the peer is gone, and its event follows.
                Ok(()) | Err(_) => self.words.pop_front(),
            };
        }
        self.to_peer.send_in_parts(now, connection);
    }

    fn on_offer(&mut self, file: FileNumber, name: String, size: u64, sha256: String) {
        let is_its_number = file.0 % 2 == u32::from(self.peer.0) % 2;
        let entry = FileEntry { file, member: self.peer, name, size, sha256 };
        let added = if is_its_number {
            self.theirs.add(entry)
        } else {
            Err(format!("The number {} is none of the files of this end.", file.0))
        };
        match added {
            Ok(entry) if entry.file == file => self.tell(Exchanged::File(entry)),
            // It has these bytes here already.
            Ok(_) => {}
            Err(text) => {
                self.refused += 1;
                self.say(&Message::FileRefused { file, text });
            }
        }
    }

    fn on_refused(&mut self, file: FileNumber, text: String) {
        let entry = self.ours.list().into_iter().find(|entry| entry.file == file);
        if let Some(entry) = entry {
            self.ours.remove(file, self.you);
            self.to_peer.forget(file);
            self.tell(Exchanged::FileGone(file));
            self.tell(Exchanged::FileRefused { name: entry.name, text });
        }
    }

    fn keep(&mut self, line: TextLine) {
        if self.texts.len() >= TEXTS_MAX {
            self.texts.pop_front();
        }
        self.texts.push_back(line.clone());
        self.tell(Exchanged::Text(line));
    }

    /// False if there is no room for it.
    fn say(&mut self, message: &Message) -> bool {
        let has_room = self.words.len() < WORDS_MAX;
        if has_room {
            self.words.push_back(message.encode());
        }
        has_room
    }

    fn tell(&mut self, event: Exchanged) {
        self.events.push_back(event);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::exchange::{BLOCKS_WANTED_MAX, FILES_MAX};

    const NOW: Time = Time::ZERO;
    const ALL: Takes = Takes { text: true, files: true };

    fn ledger() -> Ledger {
        Ledger::new(NOW, false, [None, Some("Mallory".to_owned())], ALL)
    }

    fn offer(file: u32, size: u64) -> Message {
        let (file, sha256) = (FileNumber(file), format!("{file:064x}"));
        Message::OfferFile { file, name: "a".to_owned(), size, sha256 }
    }

    fn events(ledger: &mut Ledger) -> Vec<Exchanged> {
        std::iter::from_fn(|| ledger.poll_event()).collect()
    }

    fn block(file: u32, index: u32, len: usize) -> Bytes {
        let block = BlockId { file: FileNumber(file), index };
        FileMessage::Block { block, member: LISTENER, bytes: vec![0; len].into() }.encode()
    }

    fn want(file: u32, index: u32) -> Bytes {
        let block = BlockId { file: FileNumber(file), index };
        FileMessage::Want { block, member: LISTENER }.encode()
    }

    #[test]
    fn a_peer_that_writes_without_end_is_heard_as_much_as_a_page_may_say() {
        let mut ledger = ledger();
        for _ in 0..10_000 {
            ledger.on_message(NOW, &Message::Text { text: "spam".to_owned() });
        }
        assert_eq!(events(&mut ledger).len(), REQUESTS_BURST as usize);
        for second in 0..TEXTS_MAX as u64 {
            let now = NOW + Duration::from_secs(second);
            ledger.on_message(now, &Message::Text { text: format!("{second}") });
        }
        let texts = ledger.view().texts;
        assert_eq!(texts.len(), TEXTS_MAX);
        assert_eq!((texts[0].name.as_str(), texts[0].member), ("Mallory", LISTENER));
    }

    #[test]
    fn what_a_peer_announces_is_its_own_whole_and_bounded() {
        let mut ledger = ledger();
        for message in [offer(2, 0), offer(4, u64::MAX), offer(1, 9), offer(6, 9), offer(6, 9)] {
            ledger.on_message(NOW, &message);
        }
        assert_eq!(ledger.view().files.len(), 1);
        assert_eq!(ledger.refused(), 3, "empty, too long, a number of ours");
        for file in 0..2 * FILES_MAX as u64 {
            let now = NOW + Duration::from_secs(file);
            ledger.on_message(now, &offer(8 + 2 * file as u32, 9));
        }
        assert_eq!(ledger.view().files.len(), FILES_MAX);
        ledger.offer("mine", 7, "0".repeat(64));
        assert_eq!(ledger.view().files.len(), FILES_MAX + 1, "ours are counted apart");
    }

    #[test]
    fn a_peer_brings_what_it_was_asked_for_and_as_much_as_it_announced() {
        let mut ledger = ledger();
        ledger.on_message(NOW, &offer(2, 4_001));
        assert!(matches!(events(&mut ledger)[..], [Exchanged::File(_)]));
        ledger.on_peer_block(NOW, &block(2, 0, 4_000));
        assert_eq!((ledger.refused(), events(&mut ledger).len()), (1, 0), "not asked for");
        for index in [0, 1, 2] {
            ledger.on_page_block(NOW, &want(2, index));
        }
        let [first, second] = [block(2, 0, 3_000), block(2, 0, 1_000)];
        for bad in [block(2, 1, 2), block(2, 2, 1), block(4, 0, 9)] {
            ledger.on_peer_block(NOW, &bad);
        }
        ledger.on_peer_block(NOW, &Bytes::from_static(b"\x09"));
        assert_eq!((ledger.refused(), events(&mut ledger).len()), (5, 0));
        ledger.on_peer_block(NOW, &first);
        ledger.on_peer_block(NOW, &first);
        assert_eq!((ledger.refused(), events(&mut ledger).len()), (6, 0), "longer than it is");
        ledger.on_peer_block(NOW, &first);
        assert_eq!(events(&mut ledger), [], "a part of it");
        ledger.on_peer_block(NOW, &second);
        assert_eq!(events(&mut ledger), [Exchanged::Block(block(2, 0, 4_000))]);
        ledger.on_page_block(NOW, &want(2, 0));
        for right in [block(2, 0, 4_000), block(2, 1, 1)] {
            ledger.on_peer_block(NOW, &right);
            assert_eq!(events(&mut ledger), [Exchanged::Block(right.clone())]);
            ledger.on_peer_block(NOW, &right);
            assert_eq!(events(&mut ledger), [], "a second time");
        }
    }

    #[test]
    fn a_peer_gets_what_is_offered_and_waits_for_no_more_than_a_page_may() {
        let mut ledger = ledger();
        ledger.on_peer_block(NOW, &want(1, 0));
        assert_eq!(events(&mut ledger), [], "there is no such file");
        ledger.offer("film.mp4", 4_000_000, "0".repeat(64));
        let [Exchanged::File(entry)] = &events(&mut ledger)[..] else { panic!("an offer") };
        assert_eq!((entry.file, entry.member), (FileNumber(1), CALLER));
        for index in 0..2_000 {
            ledger.on_peer_block(NOW, &want(1, index));
        }
        assert_eq!(events(&mut ledger).len(), BLOCKS_WANTED_MAX);
        ledger.withdraw(FileNumber(1));
        assert_eq!(events(&mut ledger), [Exchanged::FileGone(FileNumber(1))]);
        ledger.on_peer_block(NOW, &want(1, 0));
        assert_eq!(events(&mut ledger), []);
    }

    #[test]
    fn a_file_that_the_peer_does_not_take_is_ours_no_longer() {
        let mut ledger = ledger();
        ledger.offer("film.mp4", 7, "0".repeat(64));
        events(&mut ledger);
        let text = "Too many.".to_owned();
        let file = FileNumber(1);
        ledger.on_message(NOW, &Message::FileRefused { file, text: text.clone() });
        ledger.on_message(NOW, &Message::FileRefused { file: FileNumber(99), text: text.clone() });
        let refused = Exchanged::FileRefused { name: "film.mp4".to_owned(), text };
        assert_eq!(events(&mut ledger), [Exchanged::FileGone(file), refused]);
        assert_eq!(ledger.view().files, []);
    }
}
