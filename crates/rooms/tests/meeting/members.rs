//! Who comes, goes and comes back, and what the others are told.

use anabranch_call::{Device, Media};
use anabranch_rooms::protocol::{FromMember, FromRoom, MemberNumber, PROTOCOL_VERSION, Reason};
use anabranch_rooms::{Event, Occurrence};

use crate::harness::{MILLISECOND, Meeting, SECOND, hello, link, media};
use crate::page::Seen;

const WIDE: u64 = 20_000;

fn meeting(seed: u64, pages: usize) -> Meeting {
    Meeting::new(seed, &vec![link(WIDE, 25); pages])
}

#[test]
fn who_enters_is_told_of_all_others_and_they_of_who_enters() {
    let mut lab = meeting(1, 2);
    assert_eq!(lab.enter(0, "Alice"), MemberNumber(1));
    assert_eq!(lab.enter(1, "Bob"), MemberNumber(2));
    lab.run_for(200 * MILLISECOND);
    let Some(FromRoom::Welcome { protocol, room, members, listeners, .. }) = lab.texts(1).next()
    else {
        panic!("no welcome")
    };
    assert_eq!((*protocol, room.title.as_str()), (PROTOCOL_VERSION, "The lab"));
    assert_eq!((members.len(), members[0].name.as_str()), (1, "Alice"));
    assert_eq!(members[0].media, media());
    assert!(listeners.text.contains("could listen"));
    let joined = lab.texts(0).any(
        |text| matches!(text, FromRoom::Joined { member } if member.name == "Bob" && !member.away),
    );
    assert!(joined);
    let expected = ["Alice", "Bob"].map(|name| Event {
        room: "lab".to_owned(),
        what: Occurrence::Joined { name: name.into() },
    });
    assert_eq!(lab.events, expected);
}

#[test]
fn what_somebody_writes_all_get_to_read_and_who_comes_later_too() {
    let mut lab = meeting(2, 3);
    lab.enter(0, "Alice");
    lab.enter(1, "Bob");
    lab.say(0, &FromMember::Text { text: "Hello".to_owned() });
    lab.say(0, &FromMember::Text { text: "  \u{7} ".to_owned() });
    lab.run_for(200 * MILLISECOND);
    for page in [0, 1] {
        let lines: Vec<_> = lab
            .texts(page)
            .filter_map(|text| {
                let FromRoom::Text(line) = text else { return None };
                Some((line.name.as_str(), line.text.as_str()))
            })
            .collect();
        assert_eq!(lines, [("Alice", "Hello")], "page {page}");
    }
    lab.enter(2, "Eve");
    let Some(FromRoom::Welcome { texts, .. }) = lab.texts(2).next() else { panic!("no welcome") };
    assert_eq!(texts.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["Hello"]);
}

#[test]
fn what_somebody_sends_from_now_on_the_others_are_told() {
    let mut lab = meeting(3, 2);
    let alice = lab.enter(0, "Alice");
    lab.enter(1, "Bob");
    let muted = Media { microphone: Device::Muted, ..media() };
    lab.say(0, &FromMember::Media { media: muted.clone(), voice_frames: 17 });
    lab.run_for(200 * MILLISECOND);
    let news = FromRoom::Media { member: alice, media: muted, voice_frames: 17 };
    assert!(lab.texts(1).any(|text| *text == news));
}

#[test]
fn who_leaves_is_gone_at_once_and_who_closes_the_page_too() {
    let mut lab = meeting(4, 3);
    let [alice, bob, eve] =
        [(0, "Alice"), (1, "Bob"), (2, "Eve")].map(|(page, name)| lab.enter(page, name));
    lab.say(0, &FromMember::Bye);
    lab.run_for(200 * MILLISECOND);
    assert!(lab.texts(0).any(|text| matches!(text, FromRoom::Bye { reason: Reason::Closed, .. })));
    let left = |number, text: &str| FromRoom::Left { member: number, text: text.to_owned() };
    assert!(lab.texts(2).any(|text| *text == left(alice, "Alice left.")));
    // A browser's connection ends before its last request comes.
    let id = lab.connections[1].expect("there");
    lab.serve(|server, now| server.hang_up(now, id, false));
    lab.run_for(200 * MILLISECOND);
    assert!(lab.texts(2).any(|text| *text == FromRoom::Away { member: bob }));
    lab.serve(|server, now| server.hang_up(now, id, true));
    lab.run_for(200 * MILLISECOND);
    assert!(lab.texts(2).any(|text| *text == left(bob, "Bob left.")));
    assert_eq!((lab.people(), eve), (1, MemberNumber(3)));
}

#[test]
fn who_comes_back_is_the_same_member_and_the_old_connection_ends() {
    let mut lab = meeting(5, 3);
    let alice = lab.enter(0, "Alice");
    lab.enter(1, "Bob");
    let (_, resume) = lab.welcome(0).expect("welcome");
    assert_eq!(lab.enter_as(2, "Alice", Some(resume)), alice);
    lab.run_for(SECOND);
    assert!(
        lab.texts(0).any(|text| matches!(text, FromRoom::Bye { reason: Reason::Elsewhere, .. }))
    );
    assert!(lab.texts(1).any(|text| *text == FromRoom::Back { member: alice }));
    assert!(
        !lab.texts(1).any(|text| matches!(text, FromRoom::Left { .. } | FromRoom::Away { .. }))
    );
    assert_eq!(lab.people(), 2);
}

#[test]
fn who_vanishes_is_away_and_gone_half_a_minute_later() {
    let mut lab = meeting(6, 3);
    let alice = lab.enter(0, "Alice");
    lab.enter(1, "Bob");
    let (_, resume) = lab.welcome(0).expect("welcome");
    lab.page(0, |page, _| page.vanish());
    let is_away = |lab: &Meeting| lab.texts(1).any(|it| *it == FromRoom::Away { member: alice });
    assert!(lab.run_until(12 * SECOND, is_away), "its checks ceased");
    assert_eq!(lab.people(), 2);
    let is_gone = |lab: &Meeting| {
        lab.texts(1).any(|it| matches!(it, FromRoom::Left { member, .. } if *member == alice))
    };
    assert!(lab.run_until(31 * SECOND, is_gone));
    // Too late: somebody new.
    assert_ne!(lab.enter_as(2, "Alice", Some(resume)), alice);
}

#[test]
fn a_beat_comes_ten_times_a_second() {
    let mut lab = meeting(7, 1);
    lab.enter(0, "Alice");
    let before = lab.beats[0];
    lab.run_for(10 * SECOND);
    assert!((98..=101).contains(&(lab.beats[0] - before)), "{}", lab.beats[0] - before);
}

#[test]
fn a_full_room_says_so_and_lets_in_who_comes_back() {
    let mut lab = meeting(8, 6);
    for (page, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        lab.enter(page, name);
    }
    let (number, resume) = lab.welcome(3).expect("welcome");
    lab.connect(4);
    lab.say(4, &hello("e", None));
    lab.run_for(200 * MILLISECOND);
    let text = "This room is full: 4 are there.".to_owned();
    let refusal = FromRoom::Bye { reason: Reason::Full, text };
    assert_eq!(lab.texts(4).next(), Some(&refusal));
    assert!(lab.run_until(4 * SECOND, |lab| !lab.seen[4].is_empty()
        && lab.seen[4].contains(&Seen::Closed)));
    assert_eq!(lab.enter_as(5, "d", Some(resume)), number);
}

#[test]
fn a_room_that_everybody_left_remembers_nothing() {
    let mut lab = meeting(9, 2);
    lab.enter(0, "Alice");
    lab.say(0, &FromMember::Text { text: "secret".to_owned() });
    lab.run_for(100 * MILLISECOND);
    lab.say(0, &FromMember::Bye);
    lab.run_for(100 * MILLISECOND);
    lab.enter(1, "Bob");
    let Some(FromRoom::Welcome { texts, .. }) = lab.texts(1).next() else { panic!("no welcome") };
    assert!(texts.is_empty());
}

#[test]
fn a_server_that_ends_says_so_to_all() {
    let mut lab = meeting(10, 2);
    lab.enter(0, "Alice");
    lab.enter(1, "Bob");
    lab.serve(|server, now| server.act(|rooms| rooms.close(now, "The server ends.")));
    lab.run_for(200 * MILLISECOND);
    for page in [0, 1] {
        let bye = FromRoom::Bye { reason: Reason::Closed, text: "The server ends.".to_owned() };
        assert!(lab.texts(page).any(|text| *text == bye));
    }
    assert_eq!(lab.people(), 0);
}

#[test]
fn regression_those_who_vanished_kept_others_out_of_a_full_room() {
    let mut lab = meeting(11, 5);
    for (page, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        lab.enter(page, name);
    }
    lab.page(0, |page, _| page.vanish());
    let is_away = |lab: &Meeting| lab.texts(1).any(|it| matches!(it, FromRoom::Away { .. }));
    assert!(lab.run_until(12 * SECOND, is_away));
    assert_eq!(lab.enter(4, "e"), MemberNumber(5));
    lab.run_for(200 * MILLISECOND);
    let text = "a made way for somebody who is here.".to_owned();
    let left = FromRoom::Left { member: MemberNumber(1), text };
    assert!(lab.texts(1).any(|it| *it == left));
    assert_eq!(lab.people(), 4);
}
