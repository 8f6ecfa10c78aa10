//! What two agents write to each other, and their files.

use std::time::Duration;

use anabranch_rooms::protocol::{BlockId, FileMessage, FileNumber, FromMember, FromRoom, TextLine};
use bytes::Bytes;

use crate::harness::{SECOND, World, behind, usual_nat};

/// Two who are alone in a room and talk past it, and a third one who is not there yet.
fn alone() -> World {
    let homes = [behind(usual_nat(), &[10]), behind(usual_nat(), &[15]), behind(usual_nat(), &[9])];
    let mut world = World::new(1, &homes);
    world.enter(0, "Alice");
    world.enter(1, "Bob");
    world.run_for(2 * SECOND);
    world
}

fn write(world: &mut World, at: usize, text: &str) {
    world.say(at, &FromMember::Text { text: text.to_owned() });
    world.run_for(SECOND / 2);
}

/// What a page has got to read, and of whom.
fn read(world: &World, at: usize) -> Vec<(String, String)> {
    lines(world, at).into_iter().map(|line| (line.name, line.text)).collect()
}

fn lines(world: &World, at: usize) -> Vec<TextLine> {
    let lines = world.texts(at).filter_map(|(_, words)| {
        let FromRoom::Text(line) = words else { return None };
        Some(line)
    });
    lines.collect()
}

fn line(name: &str, text: &str) -> (String, String) {
    (name.to_owned(), text.to_owned())
}

#[test]
fn what_two_write_to_each_other_alone_the_room_does_not_know() {
    let mut world = alone();
    write(&mut world, 0, "What I tell you");
    write(&mut world, 1, "is for me alone");
    let expected = [line("Alice", "What I tell you"), line("Bob", "is for me alone")];
    assert_eq!([0, 1].map(|at| read(&world, at)), [expected.to_vec(), expected.to_vec()]);
    world.enter(2, "Carol");
    world.run_for(SECOND);
    let known = world.texts(2).find_map(|(_, words)| {
        let FromRoom::Welcome { texts, .. } = words else { return None };
        Some(texts)
    });
    assert_eq!(known, Some(Vec::new()));
    write(&mut world, 1, "Hello Carol");
    let more = [line("Bob", "Hello Carol")];
    assert_eq!(read(&world, 2), more);
    assert_eq!(read(&world, 0), [&expected[..], &more].concat());
}

#[test]
fn lines_have_the_times_of_the_rooms_clock() {
    let mut world = alone();
    let now = Duration::from_micros(world.now().as_micros());
    write(&mut world, 0, "Now");
    for at in [0, 1] {
        let [TextLine { at_us, .. }] = lines(&world, at)[..] else { panic!("one line") };
        let time = Duration::from_micros(at_us);
        assert!(time.abs_diff(now) < Duration::from_millis(200), "{time:?}, not {now:?}");
    }
}

#[test]
fn blocks_of_files_go_to_the_other_one_as_the_room_would_send_them() {
    let mut world = alone();
    let sha256 = "ab".repeat(32);
    world.say(0, &FromMember::OfferFile { name: "film".to_owned(), size: 4_100, sha256 });
    world.run_for(SECOND / 2);
    let block = BlockId { file: FileNumber(1), index: 1 };
    let [alice, bob] = [0, 1].map(|at| world.number(at).expect("it is in"));
    world.say_of_files(1, &FileMessage::Want { block, member: bob });
    world.run_for(SECOND / 2);
    assert_eq!(world.files(0), [FileMessage::Want { block, member: bob }]);
    let bytes = Bytes::from(vec![7; 100]);
    world.say_of_files(0, &FileMessage::Block { block, member: bob, bytes: bytes.clone() });
    world.run_for(SECOND / 2);
    assert_eq!(world.files(1), [FileMessage::Block { block, member: alice, bytes }]);
}

#[test]
fn where_the_direct_association_is_gone_words_pass_the_room_again() {
    let mut world = alone();
    world.enter(2, "Carol");
    world.run_for(2 * SECOND);
    write(&mut world, 0, "All of you");
    for at in 0..3 {
        assert_eq!(read(&world, at), [line("Alice", "All of you")], "{at}");
    }
}
