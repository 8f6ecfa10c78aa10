//! Files that members have for others.

use std::collections::BTreeMap;

use anabranch_media::Track;
use anabranch_rooms::protocol::{
    BLOCK_LEN, BLOCKS_WANTED_MAX, BlockId, FILE_LEN_MAX, FileEntry, FileMessage, FileNumber,
    FromMember, FromRoom, MemberNumber,
};
use bytes::Bytes;

use crate::harness::{MILLISECOND, Meeting, SECOND, link};

const SOON: std::time::Duration = MILLISECOND.saturating_mul(200);
const ALICE: MemberNumber = MemberNumber(1);
const BOB: MemberNumber = MemberNumber(2);

/// Alice, who has a file of so many bytes, and Bob, each over a link of so many kbit/s.
fn lab(seed: u64, kbps: u64, size: usize) -> (Meeting, FileEntry) {
    let mut lab = Meeting::new(seed, &vec![link(kbps, 25); 3]);
    lab.enter(0, "Alice");
    lab.enter(1, "Bob");
    offer(&mut lab, 0, size as u64);
    let file = listed(&lab, 1).pop().expect("a file");
    (lab, file)
}

fn offer(lab: &mut Meeting, page: usize, size: u64) {
    let (name, sha256) = ("notes.txt".to_owned(), format!("{size:064x}"));
    lab.say(page, &FromMember::OfferFile { name, size, sha256 });
    lab.run_for(SOON);
}

fn listed(lab: &Meeting, page: usize) -> Vec<FileEntry> {
    let entries = lab.texts(page).filter_map(|text| {
        let FromRoom::File(entry) = text else { return None };
        Some(entry.clone())
    });
    entries.collect()
}

fn want(lab: &mut Meeting, page: usize, file: FileNumber, index: u32) {
    let block = BlockId { file, index };
    lab.say_of_files(page, &FileMessage::Want { block, member: MemberNumber(0) });
}

/// What a block of the file holds.
fn content(index: u32, len: usize) -> Bytes {
    (0..len).map(|at| (index as usize * 31 + at) as u8).collect()
}

/// Answers what a page was asked for since it answered last.
struct Owner {
    page: usize,
    size: usize,
    answered: usize,
}

impl Owner {
    fn answer(&mut self, lab: &mut Meeting) {
        let asked: Vec<_> = lab.files(self.page).skip(self.answered).cloned().collect();
        for message in asked {
            self.answered += 1;
            let FileMessage::Want { block, member } = message else { panic!("{message:?}") };
            let left = self.size - block.index as usize * BLOCK_LEN;
            let bytes = content(block.index, left.min(BLOCK_LEN));
            lab.say_of_files(self.page, &FileMessage::Block { block, member, bytes });
        }
    }
}

/// Asks for all blocks, so many at once; returns what came.
fn fetch(lab: &mut Meeting, size: usize, file: FileNumber, window: usize) -> BTreeMap<u32, Bytes> {
    let blocks = size.div_ceil(BLOCK_LEN) as u32;
    let mut owner = Owner { page: 0, size, answered: 0 };
    let (mut next, mut got) = (0, BTreeMap::new());
    let end = lab.now() + 60 * SECOND;
    while got.len() < blocks as usize && lab.now() < end {
        while next < blocks && next as usize - got.len() < window {
            want(lab, 1, file, next);
            next += 1;
        }
        lab.run_for(5 * MILLISECOND);
        owner.answer(lab);
        for message in lab.files(1) {
            let FileMessage::Block { block, member, bytes } = message else { panic!() };
            assert_eq!((block.file, *member), (file, ALICE));
            got.insert(block.index, bytes.clone());
        }
    }
    got
}

fn malformed(lab: &Meeting) -> u64 {
    let rooms = lab.server().rooms().rooms();
    rooms.flat_map(|(_, room)| room.members).map(|member| member.malformed).sum()
}

#[test]
fn all_are_told_of_a_file_who_comes_later_too_until_it_is_withdrawn() {
    let (mut lab, file) = lab(1, 20_000, 10_000);
    assert_eq!((file.member, &*file.name, file.size), (ALICE, "notes.txt", 10_000));
    assert_eq!(listed(&lab, 0), std::slice::from_ref(&file), "the owner, too");
    lab.enter(2, "Carol");
    let Some(FromRoom::Welcome { files, .. }) = lab.texts(2).next() else { panic!("no welcome") };
    assert_eq!(*files, std::slice::from_ref(&file));
    // The same once more is the same.
    offer(&mut lab, 0, 10_000);
    assert_eq!(listed(&lab, 1), [file.clone(), file.clone()]);

    lab.say(1, &FromMember::WithdrawFile { file: file.file });
    lab.run_for(SOON);
    let gone = FromRoom::FileGone { file: file.file };
    assert!(lab.texts(2).all(|text| *text != gone), "it is not Bob's");
    lab.say(0, &FromMember::WithdrawFile { file: file.file });
    lab.run_for(SOON);
    for page in 0..3 {
        assert!(lab.texts(page).any(|text| *text == gone), "page {page}");
    }
}

#[test]
fn the_files_of_who_left_are_gone() {
    let (mut lab, _) = lab(2, 20_000, 10_000);
    lab.say(0, &FromMember::Bye);
    lab.run_for(SOON);
    lab.enter(2, "Carol");
    let Some(FromRoom::Welcome { files, .. }) = lab.texts(2).next() else { panic!("no welcome") };
    assert!(files.is_empty());
}

#[test]
fn a_file_arrives_whole() {
    let size = 2_000_001;
    let (mut lab, file) = lab(3, 20_000, size);
    let begun = lab.now();
    let got = fetch(&mut lab, size, file.file, BLOCKS_WANTED_MAX);
    let whole: Vec<u8> = got.values().flatten().copied().collect();
    assert_eq!(whole.len(), size);
    assert!(got.iter().all(|(index, bytes)| *bytes == content(*index, bytes.len())));
    assert_eq!(malformed(&lab), 0);
    // 16 Mbit over 20 Mbit/s, twice; the first of the two begins slowly.
    let took = lab.now() - begun;
    assert!(took < 3 * SECOND, "{took:?}");
}

#[test]
fn neither_voice_nor_pictures_wait_for_a_file() {
    let size = 20_000_000;
    let since = SECOND;
    let media = |with_file: bool| {
        let (mut lab, file) = lab(4, 1_000, size);
        lab.turn_on(0, 1_250);
        lab.run_for(4 * SECOND);
        let begun = lab.now() + since;
        let mut owner = Owner { page: 0, size, answered: 0 };
        let mut next = 0;
        while lab.now() < begun + 15 * SECOND {
            if with_file {
                // As much at once as there may be: the page that asks takes care as well.
                let came = lab.files(1).count() as u32;
                while next - came < BLOCKS_WANTED_MAX as u32 {
                    want(&mut lab, 1, file.file, next);
                    next += 1;
                }
                // The owner's own network is not what is tried.
                if owner.answered < came as usize + 16 {
                    owner.answer(&mut lab);
                }
            }
            lab.run_for(5 * MILLISECOND);
        }
        let frames = |kind| lab.frames(1, Track(ALICE.0 * 2 + kind), begun).len();
        (frames(1), frames(0), lab.files(1).count() * BLOCK_LEN)
    };
    let (voice_alone, pictures_alone, _) = media(false);
    let (voice, pictures, bytes) = media(true);
    assert!(voice + 1 >= voice_alone, "voice {voice} of {voice_alone}");
    assert!(pictures + 3 >= pictures_alone, "pictures {pictures} of {pictures_alone}");
    // 1 Mbit/s, of which media takes 0.3.
    assert!(bytes > 600_000, "{bytes} of the file");
}

#[test]
fn what_is_no_file_is_refused_in_words() {
    let (mut lab, _) = lab(5, 20_000, 1);
    let sha256 = "ab".repeat(32);
    for (size, sha256, expected) in [
        (0, &*sha256, "A file has 1 to 4294967296 bytes, not 0."),
        (FILE_LEN_MAX + 1, &sha256, "A file has 1 to 4294967296 bytes, not 4294967297."),
        (1, "AB", "What it comes with is no SHA-256."),
        (1, &"xy".repeat(32), "What it comes with is no SHA-256."),
    ] {
        let (name, sha256) = ("a".to_owned(), sha256.to_owned());
        lab.say(1, &FromMember::OfferFile { name: name.clone(), size, sha256 });
        lab.run_for(SOON);
        let refusal = FromRoom::FileRefused { name, text: expected.to_owned() };
        assert!(lab.texts(1).any(|text| *text == refusal), "{expected}");
        assert!(lab.texts(0).all(|text| *text != refusal));
    }
}

#[test]
fn a_room_has_a_hundred_files_at_most() {
    let (mut lab, _) = lab(6, 20_000, 1);
    for size in 2..=101 {
        offer(&mut lab, 0, size);
    }
    assert_eq!(listed(&lab, 1).len(), 100);
    let text = "There are 100 files already: somebody has to remove one.".to_owned();
    let refusal = FromRoom::FileRefused { name: "notes.txt".to_owned(), text };
    assert!(lab.texts(0).any(|text| *text == refusal));
}

#[test]
fn nobody_gets_more_than_was_announced_or_asked_for() {
    let (mut lab, file) = lab(7, 20_000, 1_000);
    let number = file.file;
    let block = |index| BlockId { file: number, index };
    // Bob asks for more than there is.
    want(&mut lab, 1, number, 1);
    want(&mut lab, 1, FileNumber(77), 0);
    lab.run_for(SOON);
    assert_eq!((lab.files(0).count(), malformed(&lab)), (0, 2));
    // Alice sends what nobody asked for.
    let bring = |lab: &mut Meeting, page, index, len| {
        let bytes = content(index, len);
        lab.say_of_files(page, &FileMessage::Block { block: block(index), member: BOB, bytes });
        lab.run_for(SOON);
    };
    bring(&mut lab, 0, 0, 1_000);
    assert_eq!(lab.files(1).count(), 0);
    // Bob asks; what is longer or shorter than announced, or not from Alice, is not it.
    want(&mut lab, 1, number, 0);
    lab.run_for(SOON);
    assert_eq!(lab.files(0).count(), 1);
    bring(&mut lab, 0, 0, 1_001);
    bring(&mut lab, 0, 0, 999);
    bring(&mut lab, 0, 7, 1_000);
    bring(&mut lab, 1, 0, 1_000);
    assert_eq!(lab.files(1).count(), 0);
    bring(&mut lab, 0, 0, 1_000);
    bring(&mut lab, 0, 0, 1_000);
    assert_eq!(lab.files(1).count(), 1, "once");
    assert_eq!(malformed(&lab), 2 + 4);
}

#[test]
fn a_flood_of_wishes_reaches_nobody() {
    let (mut lab, file) = lab(8, 20_000, 4_000_000);
    for _ in 0..3 {
        for index in 0..1_000 {
            want(&mut lab, 1, file.file, index);
        }
        lab.run_for(SOON);
    }
    assert_eq!(lab.files(0).count(), BLOCKS_WANTED_MAX);
}

#[test]
fn regression_blocks_that_never_came_kept_all_others_from_being_asked_for() {
    let (mut lab, file) = lab(10, 20_000, 4_000_000);
    lab.enter(2, "Carol");
    offer(&mut lab, 2, 9_000);
    let other = listed(&lab, 1).pop().expect("Carol's");
    // Alice answers none, and leaves.
    for index in 0..BLOCKS_WANTED_MAX as u32 {
        want(&mut lab, 1, file.file, index);
    }
    lab.run_for(SOON);
    lab.say(0, &FromMember::Bye);
    lab.run_for(2 * SECOND);
    want(&mut lab, 1, other.file, 0);
    lab.run_for(SOON);
    let block = BlockId { file: other.file, index: 0 };
    let asked: Vec<_> = lab.files(2).collect();
    assert_eq!(asked, [&FileMessage::Want { block, member: BOB }]);
}

#[test]
fn who_was_away_is_asked_when_it_is_back() {
    let (mut lab, file) = lab(9, 20_000, 8_000);
    let (_, resume) = lab.welcome(0).expect("welcome");
    lab.page(0, |page, _| page.vanish());
    let is_away = |lab: &Meeting| lab.texts(1).any(|it| *it == FromRoom::Away { member: ALICE });
    // It is asked, and does not hear it.
    want(&mut lab, 1, file.file, 0);
    assert!(lab.run_until(12 * SECOND, is_away));
    want(&mut lab, 1, file.file, 1);
    lab.run_for(SOON);
    assert_eq!((lab.files(0).count(), malformed(&lab)), (0, 0));
    assert_eq!(lab.enter_as(2, "Alice", Some(resume)), ALICE);
    want(&mut lab, 1, file.file, 0);
    want(&mut lab, 1, file.file, 1);
    lab.run_for(SOON);
    let asked: Vec<_> = lab.files(2).collect();
    let block = |index| BlockId { file: file.file, index };
    let wants = [0, 1].map(|index| FileMessage::Want { block: block(index), member: BOB });
    assert_eq!(asked, [&wants[0], &wants[1]]);
}
