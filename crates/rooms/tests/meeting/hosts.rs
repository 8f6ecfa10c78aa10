//! Hosts, and who runs the room: locking, removing, closing.

use anabranch_rooms::protocol::{FromMember, FromRoom, MemberNumber, Reason, Role};
use anabranch_rooms::{Event, Occurrence};

use crate::harness::{MILLISECOND, Meeting, SECOND, hello, link};
use crate::page::Seen;

const SOON: std::time::Duration = MILLISECOND.saturating_mul(200);

/// A host, an attendee, and pages that are not in yet.
fn lab(seed: u64, pages: usize) -> Meeting {
    let mut lab = Meeting::new(seed, &vec![link(20_000, 25); pages]);
    lab.enter_as_host(0, "Alice");
    lab.enter(1, "Bob");
    lab
}

fn lock(lab: &mut Meeting, page: usize, locked: bool) {
    lab.say(page, &FromMember::Lock { locked });
    lab.run_for(SOON);
}

fn bye(lab: &Meeting, page: usize) -> Option<(Reason, &str)> {
    lab.texts(page).find_map(|text| {
        let FromRoom::Bye { reason, text } = text else { return None };
        Some((*reason, text.as_str()))
    })
}

fn knocks(lab: &Meeting, page: usize) -> Vec<&str> {
    let names = lab.texts(page).filter_map(|text| {
        let FromRoom::Knocked { name } = text else { return None };
        Some(name.as_str())
    });
    names.collect()
}

#[test]
fn everybody_knows_who_is_a_host() {
    let lab = lab(1, 2);
    let Some(FromRoom::Welcome { role, locked, members, .. }) = lab.texts(1).next() else {
        panic!("no welcome")
    };
    assert_eq!((*role, *locked, members[0].role), (Role::Attendee, false, Role::Host));
    let Some(FromRoom::Welcome { role, .. }) = lab.texts(0).next() else { panic!("no welcome") };
    assert_eq!(*role, Role::Host);
}

#[test]
fn into_a_locked_room_nobody_comes_until_it_is_unlocked() {
    let mut lab = lab(2, 4);
    lock(&mut lab, 0, true);
    let news = FromRoom::Locked { locked: true, text: "Alice locked the room.".to_owned() };
    for page in [0, 1] {
        assert_eq!(lab.texts(page).filter(|text| **text == news).count(), 1, "page {page}");
    }
    // Locked twice is locked once.
    lock(&mut lab, 0, true);
    assert_eq!(lab.texts(1).filter(|text| **text == news).count(), 1);

    lab.connect(2);
    lab.say(2, &hello("Eve", None));
    lab.run_for(SOON);
    let text = "This room is locked. Its host was told that you are here: try again in a moment.";
    assert_eq!(bye(&lab, 2), Some((Reason::Locked, text)));
    assert_eq!(knocks(&lab, 0), ["Eve"]);
    assert!(knocks(&lab, 1).is_empty(), "Bob is no host");
    assert_eq!(lab.people(), 2);
    let text = "Eve knocks: the room is locked".to_owned();
    let refused = Event { room: "lab".to_owned(), what: Occurrence::Refused { text } };
    assert!(lab.events.contains(&refused));

    lock(&mut lab, 0, false);
    lab.enter(3, "Eve");
    assert_eq!(lab.people(), 3);
}

#[test]
fn a_host_and_who_was_there_come_into_a_locked_room() {
    let mut lab = lab(3, 4);
    lock(&mut lab, 0, true);
    let (bob, resume) = lab.welcome(1).expect("welcome");
    lab.page(1, |page, _| page.vanish());
    assert_eq!(lab.enter_as(2, "Bob", Some(resume)), bob);
    lab.enter_as_host(3, "Carol");
    let Some(FromRoom::Welcome { locked, .. }) = lab.texts(3).next() else { panic!("no welcome") };
    assert!(*locked);
}

#[test]
fn hosts_are_told_of_a_crowd_at_the_door_once_in_two_seconds() {
    let mut lab = lab(4, 6);
    lock(&mut lab, 0, true);
    for page in 2..6 {
        lab.connect(page);
        lab.say(page, &hello("Eve", None));
        lab.run_for(100 * MILLISECOND);
    }
    assert_eq!(knocks(&lab, 0), ["Eve"]);
}

#[test]
fn a_locked_room_without_a_host_says_so() {
    let mut lab = lab(5, 3);
    lock(&mut lab, 0, true);
    lab.say(0, &FromMember::Bye);
    lab.connect(2);
    lab.say(2, &hello("Eve", None));
    lab.run_for(SOON);
    let text = "This room is locked, and no host of it is there.";
    assert_eq!(bye(&lab, 2), Some((Reason::Locked, text)));
}

#[test]
fn a_room_that_everybody_left_is_open_again() {
    let mut lab = lab(6, 3);
    lock(&mut lab, 0, true);
    lab.say(0, &FromMember::Bye);
    lab.say(1, &FromMember::Bye);
    lab.run_for(SOON);
    lab.enter(2, "Eve");
    let Some(FromRoom::Welcome { locked, .. }) = lab.texts(2).next() else { panic!("no welcome") };
    assert!(!*locked);
}

#[test]
fn who_is_removed_is_told_and_does_not_come_back_as_who_it_was() {
    let mut lab = lab(7, 4);
    lab.enter(2, "Carol");
    let (bob, resume) = lab.welcome(1).expect("welcome");
    lab.say(0, &FromMember::Remove { member: bob });
    lab.run_for(SOON);
    let text = "Alice removed you from the room.";
    assert_eq!(bye(&lab, 1), Some((Reason::Removed, text)));
    let text = "Bob was removed by Alice.".to_owned();
    let left = FromRoom::Left { member: bob, text: text.clone() };
    for page in [0, 2] {
        assert_eq!(lab.texts(page).filter(|text| **text == left).count(), 1, "page {page}");
    }
    let event = Event { room: "lab".to_owned(), what: Occurrence::Left { text } };
    assert!(lab.events.contains(&event));
    assert!(lab.run_until(4 * SECOND, |lab| lab.seen[1].contains(&Seen::Closed)));
    assert_ne!(lab.enter_as(3, "Bob", Some(resume)), bob);
}

#[test]
fn who_is_away_can_be_removed_and_one_removes_neither_oneself_nor_nobody() {
    let mut lab = lab(8, 2);
    let (bob, _) = lab.welcome(1).expect("welcome");
    lab.page(1, |page, _| page.vanish());
    let is_away = |lab: &Meeting| lab.texts(0).any(|it| *it == FromRoom::Away { member: bob });
    assert!(lab.run_until(12 * SECOND, is_away));
    let (alice, _) = lab.welcome(0).expect("welcome");
    for member in [alice, MemberNumber(77), bob] {
        lab.say(0, &FromMember::Remove { member });
    }
    lab.run_for(SOON);
    assert_eq!((lab.people(), bye(&lab, 0)), (1, None));
}

#[test]
fn who_is_no_host_and_acts_as_one_has_to_leave() {
    for request in
        [FromMember::Lock { locked: true }, FromMember::Remove { member: MemberNumber(1) }]
    {
        let mut lab = lab(9, 2);
        lab.say(1, &request);
        lab.run_for(SOON);
        let text = "Only a host locks a room, or removes somebody.";
        assert_eq!(bye(&lab, 1), Some((Reason::Protocol, text)));
        let locked = lab.texts(0).any(|text| matches!(text, FromRoom::Locked { .. }));
        assert!(!locked && lab.people() == 1, "Alice stays in an open room");
    }
}

#[test]
fn who_runs_the_room_locks_removes_and_closes() {
    let mut lab = lab(10, 3);
    let (room, (bob, _)) = (lab.room, lab.welcome(1).expect("welcome"));
    assert!(lab.serve(|server, _| server.act(|rooms| rooms.set_locked(room, true))));
    lab.run_for(SOON);
    let text = "The operator locked the room.".to_owned();
    assert!(lab.texts(0).any(|it| *it == FromRoom::Locked { locked: true, text: text.clone() }));
    assert!(lab.server().rooms().room(room).expect("there").is_locked);

    let remove = |lab: &mut Meeting, number| {
        lab.serve(|server, now| server.act(|rooms| rooms.remove_member(now, room, number)))
    };
    assert!(!remove(&mut lab, MemberNumber(77)));
    assert!(remove(&mut lab, bob));
    lab.run_for(SOON);
    let text = "The operator removed you from the room.";
    assert_eq!(bye(&lab, 1), Some((Reason::Removed, text)));

    // Somebody is on the way in.
    lab.connect(2);
    let close = |lab: &mut Meeting| {
        lab.serve(|server, now| server.act(|rooms| rooms.close_room(now, room, "It is closed.")))
    };
    assert!(close(&mut lab) && !close(&mut lab));
    lab.run_for(SOON);
    for page in [0, 2] {
        assert_eq!(bye(&lab, page), Some((Reason::Closed, "It is closed.")));
    }
    assert_eq!(lab.server().rooms().rooms().count(), 0);
}
