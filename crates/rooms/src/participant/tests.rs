//! A participant and the words of a room, without a network.

use anabranch_media::Piece;
use anabranch_media::piece::Header;
use anabranch_sansio::Rng;

use super::*;
use crate::listener::tests::{START, at, both_on, member, picture, said, welcome};
use crate::protocol::{Kind, Reason, TextLine, forwarded};

fn says(participant: &mut Participant, now: Time, words: &FromRoom) {
    participant.handle(now, said(words));
}

fn encode(video_bps: u64) -> FromRoom {
    FromRoom::Encode { video_bps, voice_bps: 24_000, why: String::new() }
}

/// In a room with member 1, who sees pictures.
fn inside() -> Participant {
    let mut participant = Participant::new("Ann".to_owned(), 5);
    participant.enter(START);
    says(&mut participant, START, &welcome(vec![member(1, Media::default())]));
    says(&mut participant, START, &encode(1_000_000));
    while participant.poll_said().is_some() || participant.poll_event().is_some() {}
    participant
}

/// The words that wait for the room.
fn words(participant: &mut Participant) -> Vec<FromMember> {
    let said = std::iter::from_fn(|| participant.poll_said());
    said.filter(|said| said.is_text)
        .map(|said| FromMember::decode(&said.payload).unwrap())
        .collect()
}

/// The streams and headers of the media that waits for the room.
fn pieces(participant: &mut Participant) -> Vec<(u16, Header)> {
    let said = std::iter::from_fn(|| participant.poll_said());
    said.filter(|said| !said.is_text)
        .map(|said| (said.stream, Piece::decode(said.payload).unwrap().header))
        .collect()
}

#[test]
fn it_greets_first_and_comes_back_as_the_same_member() {
    let mut participant = Participant::new("Ann".to_owned(), 5);
    participant.enter(START);
    let hello = words(&mut participant);
    let [FromMember::Hello { name, resume: None, .. }] = hello.as_slice() else {
        panic!("{hello:?}")
    };
    assert_eq!(name, "Ann");
    assert!(!participant.is_inside() && !participant.was_inside());
    says(&mut participant, at(50), &welcome(vec![member(1, Media::default())]));
    assert!(participant.is_inside());
    let Some(ListenerEvent::Entered { title, members }) = participant.poll_event() else {
        panic!("not entered")
    };
    assert_eq!((title.as_str(), members.len()), ("Tea", 1));
    participant.enter(at(9_000));
    assert!(!participant.is_inside() && participant.was_inside());
    let hello = words(&mut participant);
    let [FromMember::Hello { resume: Some(resume), .. }] = hello.as_slice() else {
        panic!("{hello:?}")
    };
    assert_eq!(resume, "again");
}

#[test]
fn nothing_of_it_is_sent_before_the_room_has_let_it_in_or_while_a_device_is_off() {
    let mut participant = Participant::new("Ann".to_owned(), 5);
    participant.set_media(both_on);
    participant.enter(START);
    participant.push_voice(START, Bytes::from_static(b"voice"));
    participant.push_picture(picture(0, PictureKind::Key));
    assert_eq!(pieces(&mut participant), []);
    let mut participant = inside();
    participant.push_voice(START, Bytes::from_static(b"voice"));
    participant.push_picture(picture(0, PictureKind::Key));
    assert_eq!(pieces(&mut participant), []);
}

#[test]
fn the_room_learns_what_it_sends_from_now_on_and_after_how_much_voice() {
    let mut participant = inside();
    participant.set_media(both_on);
    participant.push_voice(START, Bytes::from_static(b"voice"));
    participant.set_media(|media| media.microphone = Device::Muted);
    participant.set_media(|media| media.microphone = Device::Muted);
    participant.push_voice(START, Bytes::from_static(b"voice"));
    let said = words(&mut participant);
    let frames = said.iter().map(|words| {
        let FromMember::Media { voice_frames, .. } = words else { panic!("{words:?}") };
        *voice_frames
    });
    assert_eq!(frames.collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn regression_what_was_found_out_while_it_waited_at_the_door_was_never_told() {
    let mut participant = Participant::new("Ann".to_owned(), 5);
    participant.enter(START);
    participant.set_media(both_on);
    assert!(matches!(words(&mut participant)[..], [FromMember::Hello { .. }]));
    says(&mut participant, at(50), &welcome(Vec::new()));
    let said = words(&mut participant);
    let [FromMember::Media { media, voice_frames: 0 }] = said.as_slice() else {
        panic!("{said:?}")
    };
    assert_eq!(media.camera, Device::On);
}

#[test]
fn pictures_begin_with_a_key_picture_and_go_while_somebody_sees_them() {
    use PictureKind::{Disposable, Key, Reference};
    let mut participant = inside();
    participant.set_media(both_on);
    let sent = |participant: &mut Participant, kind| {
        participant.push_picture(picture(0, kind));
        let frames = pieces(participant).into_iter().map(|(_, header)| header.frame);
        frames.collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!([Reference, Key, Disposable].map(|kind| sent(&mut participant, kind)), [0, 1, 1]);
    says(&mut participant, START, &encode(0));
    assert_eq!([Key, Reference].map(|kind| sent(&mut participant, kind)), [0, 0]);
    says(&mut participant, START, &encode(500_000));
    assert_eq!([Reference, Key, Reference].map(|kind| sent(&mut participant, kind)), [0, 1, 1]);
}

#[test]
fn media_is_cut_and_put_on_streams_as_a_page_does() {
    let mut participant = inside();
    participant.set_media(both_on);
    participant.push_voice(at(20), Bytes::from_static(b"voice"));
    participant.push_picture(picture(40, PictureKind::Key));
    let mut said = std::iter::from_fn(|| participant.poll_said()).filter(|said| !said.is_text);
    let voice = said.next().unwrap();
    let taken = forwarded(MemberNumber(3), voice.payload).unwrap();
    assert_eq!((voice.stream, taken.kind, taken.frame), (3, Kind::Voice, 0));
    let pictures: Vec<Said> = said.collect();
    assert!(!pictures.is_empty());
    for said in pictures {
        let taken = forwarded(MemberNumber(3), said.payload).unwrap();
        assert_eq!((said.stream, taken.kind, taken.frame), (2, Kind::Picture, 0));
    }
}

#[test]
fn who_cannot_be_decoded_is_asked_for_a_key_picture_once_in_a_while() {
    let mut listener = inside();
    let mut talker = inside();
    talker.set_media(both_on);
    talker.push_picture(picture(0, PictureKind::Key));
    talker.push_picture(picture(40, PictureKind::Reference));
    let last = std::iter::from_fn(|| talker.poll_said()).filter(|said| !said.is_text).last();
    let last = last.unwrap();
    let payload = forwarded(MemberNumber(1), last.payload).unwrap().bytes;
    listener.handle(at(60), Said { payload, ..last });
    let mut asked = 0;
    for ms in 60..400 {
        assert_eq!(listener.poll_playback(at(ms)), None);
        asked += words(&mut listener).len();
    }
    assert!((1..=2).contains(&asked), "{asked} times in 0.3 s");
}

#[test]
fn whoever_comes_goes_or_writes_is_reported() {
    let mut participant = inside();
    says(&mut participant, at(1), &FromRoom::Joined { member: member(2, Media::default()) });
    let line = TextLine {
        name: "Bob".to_owned(),
        member: MemberNumber(2),
        at_us: 0,
        text: "Hello".to_owned(),
    };
    says(&mut participant, at(2), &FromRoom::Text(line));
    let left = FromRoom::Left { member: MemberNumber(2), text: "Bob left.".to_owned() };
    says(&mut participant, at(3), &left);
    let bye = FromRoom::Bye { reason: Reason::Removed, text: "Go.".to_owned() };
    says(&mut participant, at(4), &bye);
    let events: Vec<_> = std::iter::from_fn(|| participant.poll_event()).collect();
    assert_eq!(events[0], ListenerEvent::Joined { name: "member 2".to_owned() });
    assert_eq!(events[1], ListenerEvent::Member(member(2, Media::default())));
    let (name, text) = ("Bob".to_owned(), "Hello".to_owned());
    assert_eq!(events[2], ListenerEvent::Text { name, text });
    let (member, text) = (MemberNumber(2), "Bob left.".to_owned());
    assert_eq!(events[3], ListenerEvent::Left { member, text });
    assert_eq!(events[4], ListenerEvent::Bye { reason: Reason::Removed, text: "Go.".to_owned() });
    assert!(!participant.is_inside());
}

#[test]
fn what_a_room_may_not_say_does_no_harm() {
    let mut rng = Rng::from_u64(1);
    let mut participant = inside();
    for step in 0..20_000 {
        let len = rng.range(0..60) as usize;
        let mut bytes: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
        if rng.chance(0.5)
            && let Some(unit) = voice_unit(step, at(step), Bytes::from_static(b"voice"))
        {
            bytes = UnitCutter::new(rng.next_u32() as u16).cut(&unit).next().unwrap().encode();
            let place = rng.range(0..bytes.len() as u64) as usize;
            bytes[place] = rng.next_u32() as u8;
        }
        let (stream, is_text) = (rng.range(0..9) as u16, rng.chance(0.2));
        participant.handle(at(step), Said { stream, is_text, payload: bytes.into() });
        while participant.poll_playback(at(step)).is_some() {}
        while participant.poll_said().is_some() || participant.poll_event().is_some() {}
    }
    assert!(participant.is_inside());
}
