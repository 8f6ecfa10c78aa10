//! Agents: members who come over an association of their own, over several paths.

use anabranch_call::PathUse;
use anabranch_rooms::protocol::{FromMember, FromRoom, Kind, MemberNumber, Reason};

use crate::harness::{MILLISECOND, Meeting, SECOND, TOKEN, link};

const WIDE: u64 = 20_000;

/// An agent over two paths, and a browser's page.
fn meeting(seed: u64) -> (Meeting, MemberNumber, MemberNumber) {
    let mut lab =
        Meeting::with_agents(seed, &[link(WIDE, 20), link(WIDE, 35), link(WIDE, 25)], &[0], TOKEN);
    let alice = lab.enter_by_agent(0, "Alice");
    let bob = lab.enter(2, "Bob");
    (lab, alice, bob)
}

/// Numbers that are missing between the first and the last.
fn missing(frames: &[u64]) -> u64 {
    let (Some(first), Some(last)) = (frames.first(), frames.last()) else { return u64::MAX };
    last - first + 1 - frames.len() as u64
}

#[test]
fn an_agent_and_a_page_hear_and_see_each_other() {
    let (mut lab, alice, bob) = meeting(1);
    lab.turn_on(0, 1_000);
    lab.turn_on(2, 1_000);
    lab.run_for(3 * SECOND);
    let since = lab.now();
    lab.run_for(10 * SECOND);
    for (to, from) in [(2, alice), (0, bob)] {
        let voice = lab.frames(to, Kind::Voice.of(from), since);
        assert!(voice.len() >= 498 && missing(&voice) == 0, "{from:?}: {}", voice.len());
        let pictures = lab.frames(to, Kind::Picture.of(from), since);
        assert!(pictures.len() >= 248 && missing(&pictures) == 0, "{from:?}: {}", pictures.len());
    }
    let stats = lab.agent(0, |it, _| it.stats()).unwrap();
    assert_eq!(stats.network.paths.len(), 2);
    let carries = stats.network.paths.iter().filter(|path| path.bytes_sent > 10_000).count();
    assert_eq!(carries, 2, "voice takes both");
}

#[test]
fn two_agents_hear_and_see_each_other_though_each_loses_a_path() {
    let links = [link(WIDE, 20), link(WIDE, 35), link(WIDE, 25), link(WIDE, 30)];
    let mut lab = Meeting::with_agents(2, &links, &[0, 2], TOKEN);
    let (alice, bob) = (lab.enter_by_agent(0, "Alice"), lab.enter_by_agent(2, "Bob"));
    lab.turn_on(0, 1_000);
    lab.turn_on(2, 1_000);
    lab.run_for(3 * SECOND);
    let since = lab.now();
    lab.pair.cut(0);
    lab.run_for(2 * SECOND);
    lab.pair.cut(3);
    lab.run_for(6 * SECOND);
    for (to, from) in [(2, alice), (0, bob)] {
        let voice = lab.frames(to, Kind::Voice.of(from), since);
        assert!(voice.len() >= 395 && missing(&voice) == 0, "{from:?}: {}", voice.len());
        assert!(!lab.frames(to, Kind::Picture.of(from), since).is_empty(), "{from:?}");
    }
}

#[test]
fn the_death_of_a_path_costs_no_frame_of_voice_either_way() {
    for (seed, path) in [(11, 0), (12, 1), (13, 0), (14, 1)] {
        let (mut lab, alice, bob) = meeting(seed);
        lab.turn_on(0, 1_000);
        lab.turn_on(2, 1_000);
        lab.run_for(3 * SECOND);
        let since = lab.now();
        lab.pair.cut(path);
        lab.run_for(8 * SECOND);
        for (to, from) in [(2, alice), (0, bob)] {
            let voice = lab.frames(to, Kind::Voice.of(from), since);
            assert!(voice.len() >= 395 && missing(&voice) == 0, "{seed}: {}", voice.len());
            let pictures = lab.frames(to, Kind::Picture.of(from), since);
            assert!(missing(&pictures) <= 4, "{seed}: {}", missing(&pictures));
        }
        assert!(!lab.texts(2).any(|text| matches!(text, FromRoom::Away { .. })), "{seed}");
        let said = lab.logged(0).iter().any(|line| line.contains(", nothing lost."));
        assert!(said, "{:?}", lab.logged(0));
    }
}

#[test]
fn the_only_network_is_exchanged_for_another_without_leaving() {
    let links = [link(WIDE, 20), link(WIDE, 35), link(WIDE, 25)];
    let mut lab = Meeting::with_agents(15, &links, &[0], TOKEN);
    let paths: Vec<_> = lab.pair.paths().iter().map(|path| path.addresses).collect();
    lab.call_over(0, &paths[..1]);
    let alice = lab.greet(0, "Alice", None);
    lab.enter(2, "Bob");
    lab.turn_on(0, 1_000);
    lab.run_for(3 * SECOND);
    for (from, to) in [(0, 1), (1, 0)] {
        let since = lab.now();
        lab.pair.restore(to);
        lab.pair.cut(from);
        lab.agent(0, |it, now| {
            it.close_paths_from(now, paths[from].local);
            it.open_path(now, paths[to]);
        });
        lab.run_for(6 * SECOND);
        let voice = lab.frames(2, Kind::Voice.of(alice), since);
        assert!(voice.len() >= 295 && missing(&voice) == 0, "{from}: {}", voice.len());
        let pictures = lab.frames(2, Kind::Picture.of(alice), since);
        assert!(missing(&pictures) <= 2, "{from}: {}", missing(&pictures));
    }
    assert!(!lab.texts(2).any(|text| matches!(text, FromRoom::Away { .. })));
}

#[test]
fn a_path_that_is_left_on_purpose_carries_nothing_any_more_and_costs_nothing() {
    let (mut lab, alice, bob) = meeting(21);
    lab.turn_on(0, 1_000);
    lab.turn_on(2, 1_000);
    lab.run_for(3 * SECOND);
    let since = lab.now();
    let paths = lab.agent(0, |it, _| it.stats()).unwrap().network.paths;
    lab.agent(0, |it, now| it.leave_path(now, paths[0].id)).unwrap();
    lab.run_for(4 * SECOND);
    for (to, from) in [(2, alice), (0, bob)] {
        for kind in [Kind::Voice, Kind::Picture] {
            let frames = lab.frames(to, kind.of(from), since);
            assert!(!frames.is_empty() && missing(&frames) == 0, "{from:?}");
        }
    }
    let sent = |lab: &mut Meeting| {
        let path = lab.agent(0, |it, _| it.stats()).unwrap().network.paths.swap_remove(0);
        assert!(!path.is_wanted);
        path.bytes_sent
    };
    let before = sent(&mut lab);
    lab.run_for(4 * SECOND);
    assert!(sent(&mut lab) - before < 1_000, "answers to heartbeats alone");
    let said = lab.logged(0).last().unwrap();
    assert!(said.contains("was left as planned, nothing lost"), "{said}");
}

#[test]
fn a_path_that_is_spared_is_spared_by_the_room_too() {
    let (mut lab, _, _) = meeting(22);
    lab.turn_on(2, 3_000);
    lab.run_for(2 * SECOND);
    let paths = lab.agent(0, |it, _| it.stats()).unwrap().network.paths;
    lab.agent(0, |it, now| it.set_path_use(now, paths[0].id, PathUse::Spare)).unwrap();
    lab.run_for(SECOND);
    let received = |lab: &mut Meeting| {
        let paths = lab.agent(0, |it, _| it.stats()).unwrap().network.paths;
        (paths[0].bytes_received, paths[1].bytes_received)
    };
    let before = received(&mut lab);
    lab.run_for(4 * SECOND);
    let after = received(&mut lab);
    assert!(after.0 - before.0 < 5_000, "heartbeats alone: {}", after.0 - before.0);
    assert!(after.1 - before.1 > 250_000, "{}", after.1 - before.1);
}

#[test]
fn a_token_that_opens_nothing_is_refused_in_words() {
    let links = [link(WIDE, 20), link(WIDE, 35)];
    let mut lab = Meeting::with_agents(31, &links, &[0], "another");
    lab.call_by_agent(0);
    lab.say(0, &crate::harness::hello("Eve", None));
    lab.run_for(2 * SECOND);
    let byes: Vec<_> = lab
        .texts(0)
        .filter_map(|text| {
            let FromRoom::Bye { reason, text } = text else { return None };
            Some((*reason, text.as_str()))
        })
        .collect();
    let expected = "This link opens no room here. Ask for a new one.";
    assert_eq!(byes, [(Reason::Token, expected)]);
    assert_eq!(lab.people(), 0);
    assert_eq!(lab.server().agents(), 0, "its connection has ended");
}

#[test]
fn the_page_of_an_agent_is_told_what_its_networks_carry() {
    let links = [link(500, 20), link(300, 35), link(WIDE, 25)];
    let mut lab = Meeting::with_agents(41, &links, &[0], TOKEN);
    let alice = lab.enter_by_agent(0, "Alice");
    lab.enter(2, "Bob");
    lab.turn_on(0, 8_000);
    let asked = |lab: &Meeting| {
        let asked = lab.texts(0).filter_map(|text| {
            let FromRoom::Encode { video_bps, .. } = text else { return None };
            Some(*video_bps)
        });
        asked.last()
    };
    let follow = |lab: &mut Meeting, seconds: u32| {
        for _ in 0..5 * seconds {
            let bytes = asked(lab).unwrap() / 8 / 25;
            lab.set_picture(0, bytes as usize);
            lab.run_for(SECOND / 5);
        }
    };
    follow(&mut lab, 8);
    let since = lab.now();
    follow(&mut lab, 10);
    let last = asked(&lab).unwrap();
    assert!((200_000..750_000).contains(&last), "{last}");
    let voice = lab.frames(2, Kind::Voice.of(alice), since);
    assert!(voice.len() >= 495 && missing(&voice) == 0, "{} {}", voice.len(), missing(&voice));
    let pictures = lab.frames(2, Kind::Picture.of(alice), since);
    assert!(!pictures.is_empty(), "key pictures are asked for");
}

#[test]
fn who_leaves_is_gone_and_whose_page_begins_anew_is_the_same() {
    let (mut lab, alice, _) = meeting(51);
    let (_, resume) = lab.welcome(0).unwrap();
    lab.agent(0, |it, now| it.break_off(now));
    lab.run_for(SECOND);
    assert!(lab.texts(2).any(|text| *text == FromRoom::Away { member: alice }));
    lab.got[0].clear();
    lab.seen[0].clear();
    lab.call_by_agent(0);
    assert_eq!(lab.greet(0, "Alice", Some(resume)), alice);
    lab.run_for(500 * MILLISECOND);
    assert!(lab.texts(2).any(|text| *text == FromRoom::Back { member: alice }));
    lab.agent(0, |it, now| it.leave(now));
    lab.run_for(SECOND);
    let left = |text: &FromRoom| matches!(text, FromRoom::Left { member, .. } if *member == alice);
    assert!(lab.texts(2).any(left));
    assert!(lab.agent(0, |it, _| it.is_quiet()));
}

#[test]
fn an_agent_that_says_nothing_or_nonsense_is_let_go() {
    let links = [link(WIDE, 20), link(WIDE, 35)];
    let mut lab = Meeting::with_agents(61, &links, &[0], TOKEN);
    lab.call_by_agent(0);
    lab.run_for(10 * SECOND);
    assert_eq!(lab.server().agents(), 0, "it entered, and said no hello");
    lab.call_by_agent(0);
    lab.greet(0, "Alice", None);
    let wish = |local: &str| FromMember::Path {
        r#use: PathUse::Never,
        local: local.to_owned(),
        remote: "nowhere".to_owned(),
    };
    for local in ["", "192.0.2.1:9", "\u{202e}"] {
        lab.say(0, &wish(local));
    }
    lab.run_for(SECOND);
    assert_eq!(lab.people(), 1, "the last path is not closed");
}
