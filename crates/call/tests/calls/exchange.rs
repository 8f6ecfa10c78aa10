//! What two people write to each other, and the files that they have.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anabranch_call::Event;
use anabranch_call::exchange::{
    BLOCK_LEN, BlockId, Exchanged, FileEntry, FileMessage, MemberNumber, Takes, WordsError,
    block_len,
};
use anabranch_sansio::Rate;
use bytes::Bytes;

use crate::harness::{Person, Talk, link};

const ALL: Takes = Takes { text: true, files: true };
const SECOND: Duration = Duration::from_secs(1);

/// A call of two whose pages take everything.
fn talk(seed: u64, loss: f64) -> Talk {
    let links = [link(Rate::mbps(8), 20, loss), link(Rate::mbps(4), 30, loss)];
    Talk::with(seed, &links, |mut config| {
        config.takes = ALL;
        config
    })
}

fn exchanged(person: &Person) -> impl Iterator<Item = &Exchanged> {
    person.events.iter().filter_map(|event| {
        let Event::Exchanged(exchanged) = event else { return None };
        Some(exchanged)
    })
}

fn texts(person: &Person) -> Vec<(&str, u16, &str)> {
    let lines = exchanged(person).filter_map(|exchanged| {
        let Exchanged::Text(line) = exchanged else { return None };
        Some((line.name.as_str(), line.member.0, line.text.as_str()))
    });
    lines.collect()
}

fn file(person: &Person) -> Option<FileEntry> {
    exchanged(person).find_map(|exchanged| {
        let Exchanged::File(entry) = exchanged else { return None };
        Some(entry.clone())
    })
}

fn refusals(person: &Person) -> Vec<(&str, &str)> {
    let refused = exchanged(person).filter_map(|exchanged| {
        let Exchanged::FileRefused { name, text } = exchanged else { return None };
        Some((name.as_str(), text.as_str()))
    });
    refused.collect()
}

/// Two pages: Alice's has the file, Bob's gets it.
#[derive(Default)]
struct Pages {
    bytes: Vec<u8>,
    got: BTreeMap<u32, Bytes>,
    asked: BTreeSet<u32>,
    read: [usize; 2],
}

impl Pages {
    fn blocks(&self) -> u32 {
        self.bytes.len().div_ceil(BLOCK_LEN) as u32
    }

    fn offer(&self, talk: &mut Talk, name: &str) {
        let (name, size) = (name.to_owned(), self.bytes.len() as u64);
        talk.act_client(|agent, now| agent.offer_file(now, &name, size, "0".repeat(64)));
    }

    /// Bob's page has some blocks under way at once; Alice's answers.
    fn turn(&mut self, talk: &mut Talk, entry: &FileEntry) {
        for message in new_blocks(&talk.client, &mut self.read[0]) {
            let FileMessage::Want { block, member } = message else { panic!("{message:?}") };
            assert_eq!(member, MemberNumber(2));
            let begin = block.index as usize * BLOCK_LEN;
            let len = block_len(self.bytes.len() as u64, block.index).expect("a block");
            let bytes = Bytes::copy_from_slice(&self.bytes[begin..begin + len]);
            let brought = FileMessage::Block { block, member, bytes }.encode();
            talk.act_client(|agent, now| agent.push_block(now, &brought));
        }
        for message in new_blocks(&talk.server, &mut self.read[1]) {
            let FileMessage::Block { block, bytes, .. } = message else { panic!("{message:?}") };
            self.asked.remove(&block.index);
            self.got.insert(block.index, bytes);
        }
        let wanted = (0..self.blocks()).find(|index| {
            !self.asked.contains(index) && !self.got.contains_key(index) && self.asked.len() < 24
        });
        if let Some(index) = wanted {
            self.asked.insert(index);
            let block = BlockId { file: entry.file, index };
            let want = FileMessage::Want { block, member: MemberNumber(0) }.encode();
            talk.act_server(|agent, now| agent.push_block(now, &want));
        }
    }

    fn is_whole(&self) -> bool {
        self.got.len() == self.blocks() as usize
    }

    fn whole(&self) -> Vec<u8> {
        self.got.values().flatten().copied().collect()
    }
}

fn new_blocks(person: &Person, read: &mut usize) -> Vec<FileMessage> {
    let new = person.events.iter().skip(*read).filter_map(|event| {
        let Event::Exchanged(Exchanged::Block(block)) = event else { return None };
        FileMessage::decode(block).ok()
    });
    let new = new.collect();
    *read = person.events.len();
    new
}

#[test]
fn what_one_writes_is_read_at_both_ends_in_order_whatever_is_lost() {
    for seed in 0..10 {
        let mut talk = talk(seed, 0.05);
        talk.begin();
        for line in ["Hello\n<b>Bob</b>\x1b[2J", "  ", "and again"] {
            talk.act_client(|agent, now| agent.write(now, line)).expect("a peer that reads");
        }
        talk.act_server(|agent, now| agent.write(now, "Hello Alice")).expect("a peer that reads");
        talk.run_for(2 * SECOND);
        let alice = [("Alice", 1, "Hello\n<b>Bob</b>[2J"), ("Alice", 1, "and again")];
        let bob = ("Bob", 2, "Hello Alice");
        assert_eq!(texts(&talk.server), [bob, alice[0], alice[1]], "seed {seed}");
        let mut both = texts(&talk.client);
        both.sort_unstable();
        assert_eq!(both, [alice[0], alice[1], bob].map(|line| line), "seed {seed}");
        let view = talk.pair.server().exchange().expect("a call");
        assert_eq!((view.you, view.takes, view.texts.len()), (MemberNumber(2), ALL, 3));
    }
}

#[test]
fn what_is_written_with_the_first_breath_comes_after_the_call_has_begun() {
    for seed in 0..20 {
        let mut talk = talk(seed, 0.2);
        talk.call();
        talk.run_until(5 * SECOND, |talk| talk.pair.server().is_in_call());
        talk.act_server(|agent, now| agent.write(now, "Hello Alice")).expect("a peer that reads");
        talk.run_for(5 * SECOND);
        assert_eq!(texts(&talk.client), [("Bob", 2, "Hello Alice")], "seed {seed}");
        let began = talk.client.events.iter().position(|it| matches!(it, Event::Began(_)));
        let wrote = talk.client.events.iter().position(|it| matches!(it, Event::Exchanged(_)));
        assert!(began < wrote, "seed {seed}: {began:?}, {wrote:?}");
    }
}

#[test]
fn a_file_is_whole_though_a_path_dies_and_no_voice_waits_for_it() {
    let mut talk = talk(3, 0.0);
    talk.begin();
    talk.run_until_all_paths_stand();
    let bytes = (0..500_001_u32).map(|at| (at * 31 % 251) as u8).collect();
    let mut pages = Pages { bytes, ..Pages::default() };
    pages.offer(&mut talk, "../film\n.mp4");
    talk.run_until(SECOND, |talk| file(&talk.server).is_some());
    let entry = file(&talk.server).expect("an offer");
    assert_eq!((entry.name.as_str(), entry.member), ("_film.mp4", MemberNumber(1)));
    assert_eq!(file(&talk.client), Some(entry.clone()));
    let end = talk.pair.now() + 20 * SECOND;
    while !pages.is_whole() {
        assert!(talk.pair.now() < end, "{} of {} blocks", pages.got.len(), pages.blocks());
        pages.turn(&mut talk, &entry);
        talk.run_for(Duration::from_millis(2));
        if pages.got.len() == 40 {
            talk.pair.cut(0);
        }
    }
    assert_eq!(pages.whole(), pages.bytes);
    assert_eq!(talk.server.late(Duration::from_millis(200)), 0);
    assert_eq!((talk.server.unheard(), talk.server.concealed.len()), (0, 0));
    talk.act_client(|agent, now| agent.withdraw_files(now));
    talk.run_for(SECOND);
    assert!(exchanged(&talk.server).any(|it| *it == Exchanged::FileGone(entry.file)));
    assert_eq!(talk.pair.server().exchange().map(|view| view.files), Some(Vec::new()));
}

#[test]
fn pictures_come_as_often_and_voice_in_time_though_a_peer_asks_for_all_that_it_may() {
    let rate = |with_file: bool| {
        let links = [link(Rate::mbps(2), 20, 0.0)];
        let mut talk = Talk::with(5, &links, |mut config| {
            config.takes = ALL;
            config
        });
        talk.begin();
        let mut pages = Pages { bytes: vec![7; 4_000_000], ..Pages::default() };
        pages.offer(&mut talk, "film.mp4");
        talk.run_for(SECOND);
        let entry = file(&talk.server).expect("an offer");
        let (begin, seen) = (talk.pair.now(), talk.server.seen.len());
        let (mut sum, mut steps) = (0, 0);
        while talk.pair.now() < begin + 20 * SECOND {
            (sum, steps) = (sum + talk.client.rate.as_bps(), steps + 1);
            if with_file {
                pages.turn(&mut talk, &entry);
            }
            talk.run_for(Duration::from_millis(2));
        }
        assert!(pages.got.len() > 100 || !with_file, "{} blocks came", pages.got.len());
        let late = talk.server.late(Duration::from_millis(250));
        assert_eq!(late, 0, "voice that waited");
        (Rate::bps(sum / steps), talk.server.seen.len() - seen)
    };
    let ((alone, alone_seen), (beside, seen)) = (rate(false), rate(true));
    assert!(beside.as_bps() * 2 >= alone.as_bps(), "{beside} beside a file, {alone} alone");
    assert!(seen >= alone_seen, "{seen} pictures beside a file, {alone_seen} alone");
}

#[test]
fn who_takes_no_texts_and_files_is_sent_none_and_the_writer_is_told() {
    let links = [link(Rate::mbps(8), 10, 0.0)];
    let mut talk = Talk::with(1, &links, |mut config| {
        config.takes = if config.listen { Takes::default() } else { ALL };
        config
    });
    let written = talk.act_client(|agent, now| agent.write(now, "Hello"));
    assert_eq!(written, Err(WordsError::NoCall));
    talk.begin();
    let written = talk.act_client(|agent, now| agent.write(now, "Hello"));
    assert_eq!(written, Err(WordsError::NotTaken));
    let pages = Pages { bytes: vec![1], ..Pages::default() };
    pages.offer(&mut talk, "a.txt");
    talk.act_server(|agent, now| agent.write(now, "But you do")).expect("a peer that reads");
    talk.run_for(SECOND);
    assert_eq!(exchanged(&talk.server).count(), 1, "its own words");
    let [(name, text)] = refusals(&talk.client)[..] else { panic!("one refusal") };
    assert!(name == "a.txt" && text.contains("takes no files"), "{text}");
    assert_eq!(texts(&talk.client), [("Bob", 2, "But you do")]);
}

#[test]
fn a_file_that_is_too_large_is_refused_in_words() {
    let mut talk = talk(1, 0.0);
    talk.begin();
    for size in [0, 5_000_000_000] {
        talk.act_client(|agent, now| agent.offer_file(now, "film", size, "0".repeat(64)));
    }
    talk.run_for(SECOND);
    let words = refusals(&talk.client);
    assert_eq!(words.len(), 2);
    assert!(words[1].1.contains("1 to 4294967296 bytes, not 5000000000"), "{words:?}");
    assert_eq!(exchanged(&talk.server).count(), 0);
}
