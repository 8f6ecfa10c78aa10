//! Pages that break the protocol.

use anabranch_media::cutter::UnitCutter;
use anabranch_media::{Class, Layer, Track, Unit};
use anabranch_rooms::protocol::{FromMember, FromRoom, Kind, MemberNumber, Reason, Role};
use bytes::Bytes;

use crate::harness::{Got, MILLISECOND, Meeting, SECOND, hello, link, media};
use crate::page::{BINARY, DCEP, STRING, Seen};

fn lab(seed: u64) -> Meeting {
    Meeting::new(seed, &vec![link(20_000, 10); 3])
}

fn reason(lab: &Meeting, page: usize) -> Option<(Reason, String)> {
    lab.texts(page).find_map(|text| {
        let FromRoom::Bye { reason, text } = text else { return None };
        Some((*reason, text.clone()))
    })
}

#[test]
fn who_says_nothing_is_gone_after_six_seconds() {
    let mut lab = lab(1);
    lab.connect(0);
    lab.run_for(5 * SECOND);
    assert_eq!(lab.seen[0], [Seen::Connected]);
    let is_gone = |lab: &Meeting| lab.seen[0].len() > 1;
    assert!(lab.run_until(5 * SECOND, is_gone), "{:?}", lab.seen[0]);
}

#[test]
fn who_begins_with_other_words_or_another_version_is_told_why() {
    let mut lab = lab(2);
    lab.connect(0);
    lab.say(0, &FromMember::Text { text: "Hi".to_owned() });
    lab.run_for(200 * MILLISECOND);
    let (why, text) = reason(&lab, 0).expect("told");
    assert_eq!((why, text.as_str()), (Reason::Protocol, "The first words have to be a hello."));
    lab.connect(1);
    let FromMember::Hello { program, name, media, resume, .. } = hello("b", None) else { panic!() };
    lab.say(1, &FromMember::Hello { protocol: 2, program, name, media, resume });
    lab.run_for(200 * MILLISECOND);
    let (why, text) = reason(&lab, 1).expect("told");
    assert_eq!(why, Reason::Version);
    assert!(text.contains("reload the page"), "{text}");
    assert_eq!(lab.people(), 0);
}

#[test]
fn what_cannot_be_read_ends_the_visit_and_harms_nobody_else() {
    for (seed, bytes) in [(3, &b"{"[..]), (4, &[0xff; 100]), (5, br#"{"type":"text"}"#)] {
        let mut lab = lab(seed);
        lab.enter(0, "a");
        lab.enter(1, "b");
        lab.page(0, |page, now| page.send(now, 0, STRING, bytes));
        lab.run_for(200 * MILLISECOND);
        assert_eq!(reason(&lab, 0).expect("told").0, Reason::Protocol);
        assert!(reason(&lab, 1).is_none());
        assert_eq!(lab.people(), 1);
    }
}

#[test]
fn who_says_too_much_at_once_has_to_leave() {
    let mut lab = lab(6);
    lab.enter(0, "a");
    for _ in 0..60 {
        lab.say(0, &FromMember::WantKey { member: MemberNumber(99) });
    }
    lab.run_for(SECOND);
    let (why, text) = reason(&lab, 0).expect("told");
    assert_eq!((why, text.as_str()), (Reason::Protocol, "You said too much at once."));
}

#[test]
fn bytes_that_are_no_media_are_counted_and_reach_nobody() {
    let mut lab = lab(7);
    lab.enter(0, "a");
    lab.enter(1, "b");
    let piece = |track, class| {
        let unit = Unit {
            track: Track(track),
            class,
            layer: Layer::BASE,
            frame: 0,
            at: lab.now(),
            pts_us: 0,
            last_layer: true,
            discontinuity: false,
            bytes: Bytes::from_static(b"x"),
        };
        UnitCutter::new(1).cut(&unit).next().expect("a piece").encode()
    };
    // In the name of another member, of a class that nobody sends, and not even a piece.
    let wrong = [piece(3, Class::Audio), piece(0, Class::Tables), vec![0xff; 40], vec![0x21]];
    for bytes in &wrong {
        lab.page(0, |page, now| page.send(now, 4, BINARY, bytes));
    }
    lab.run_for(200 * MILLISECOND);
    assert!(!lab.got[1].iter().any(|(_, got)| matches!(got, Got::Media(_))));
    let malformed: Vec<_> = (lab.server().rooms().rooms())
        .flat_map(|(_, report)| report.members)
        .map(|member| member.malformed)
        .collect();
    assert_eq!(malformed, [wrong.len() as u64, 0]);
}

#[test]
fn a_secret_that_is_nobodys_makes_a_new_member() {
    let mut lab = lab(8);
    let first = lab.enter(0, "a");
    let second = lab.enter_as(1, "a", Some(String::new()));
    let third = lab.enter_as(2, "a", Some("0".repeat(32)));
    assert_eq!([first, second, third].map(|number| number.0), [1, 2, 3]);
    assert_eq!(lab.people(), 3);
}

#[test]
fn what_people_call_themselves_is_safe_to_show() {
    let mut lab = lab(9);
    lab.connect(0);
    let FromMember::Hello { protocol, program, resume, .. } = hello("x", None) else { panic!() };
    let name = format!("\u{1b}[2J<b>Eve</b>\n{}", "x".repeat(1_000));
    lab.say(0, &FromMember::Hello { protocol, program, name, media: media(), resume });
    lab.run_for(100 * MILLISECOND);
    let name = lab.server().rooms().rooms().next().expect("a room").1.members[0].name.clone();
    assert!(name.starts_with("[2J<b>Eve</b>x") && name.chars().count() == 60, "{name}");
}

#[test]
fn a_page_that_closes_a_channel_or_opens_one_of_its_own_disturbs_nothing() {
    let mut lab = lab(10);
    let alice = lab.enter(0, "a");
    lab.enter(1, "b");
    lab.turn_on(0, 1_000);
    lab.run_for(SECOND);
    let open = [&[3, 0, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0][..], b"chat"].concat();
    lab.page(1, |page, now| page.send(now, 40, DCEP, &open));
    lab.page(1, |page, now| page.reset(now, 3));
    lab.run_for(SECOND);
    let start = lab.now();
    lab.run_for(SECOND);
    assert!(lab.frames(1, Kind::Voice.of(alice), start).len() >= 48);
}

#[test]
fn who_never_gets_as_far_as_a_channel_takes_no_place_for_long() {
    let mut lab = lab(11);
    lab.page(0, |page, _| page.only_check());
    let offer = lab.page(0, |page, _| page.offer());
    let (room, from) = (lab.room, lab.pair.paths()[0].addresses.local.ip());
    let answer = lab.serve(|server, now| server.accept(now, room, Role::Attendee, &offer, from));
    let (_, answer) = answer.expect("a good offer");
    lab.page(0, |page, now| page.take_answer(now, &answer));
    lab.run_for(SECOND);
    assert_eq!(lab.server().waiting(), 1);
    lab.run_for(12 * SECOND);
    assert_eq!(lab.server().waiting(), 0);
}

#[test]
fn who_floods_a_room_with_media_does_not_silence_the_others() {
    let mut lab = Meeting::new(12, &[link(50_000, 10), link(20_000, 10), link(2_000, 10)]);
    let [flooder, bob, _] =
        [(0, "a"), (1, "b"), (2, "c")].map(|(page, name)| lab.enter(page, name));
    lab.turn_on(1, 500);
    let mut cutter = UnitCutter::new(7);
    let mut flood = |lab: &mut Meeting, number: u64| {
        for (track, class, stream, bytes) in
            [(0, Class::KeyFrame, 2, 12_000), (1, Class::Audio, 3, 900)]
        {
            let unit = Unit {
                track: Track(track),
                class,
                layer: Layer::BASE,
                frame: number,
                at: lab.now(),
                pts_us: 0,
                last_layer: true,
                discontinuity: false,
                bytes: vec![0; bytes].into(),
            };
            for piece in cutter.cut(&unit) {
                lab.page(0, |page, now| page.send(now, stream, BINARY, &piece.encode()));
            }
        }
    };
    lab.run_for(SECOND);
    let start = lab.now();
    // 24 Mbit/s of key pictures, and five times as much voice as anybody speaks.
    for number in 0..1_250 {
        flood(&mut lab, number);
        lab.run_for(4 * MILLISECOND);
    }
    let voice = lab.frames(2, Kind::Voice.of(bob), start);
    assert!(voice.len() >= 225, "{} of 250 frames", voice.len());
    let flooded = lab.frames(2, Kind::Voice.of(flooder), start);
    assert!(flooded.len() <= 620, "{} frames of who floods", flooded.len());
}

#[test]
fn offers_that_come_to_nothing_take_no_more_places_than_a_room_has_and_are_told_so() {
    let mut lab = lab(13);
    let offer = lab.page(0, |page, _| page.offer());
    let room = lab.room;
    let mut answers = Vec::new();
    for caller in 1..=13 {
        let from = std::net::Ipv4Addr::new(192, 0, 2, caller).into();
        answers
            .push(lab.serve(|server, now| server.accept(now, room, Role::Attendee, &offer, from)));
    }
    assert!(answers[..12].iter().all(Result::is_ok), "four members and eight beside");
    let error = answers[12].as_ref().expect_err("one more");
    assert!(error.to_string().starts_with("this room has 12 connections"), "{error}");
    lab.run_for(12 * SECOND);
    assert_eq!(lab.server().waiting(), 0);
    lab.enter(0, "a");
}
