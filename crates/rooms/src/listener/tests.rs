//! A listener and what a room says, without a network.

use std::ops::Range;
use std::time::Duration;

use anabranch_call::{
    Device, Media, Picture, PictureFormat, PictureKind, Played, VideoFormat, VoiceFormat,
    picture_unit, voice_unit,
};
use anabranch_media::cutter::UnitCutter;
use anabranch_media::{Layer, Unit};
use anabranch_sansio::Rng;
use anabranch_session::treatment::MediaClass;
use bytes::Bytes;

use super::*;
use crate::MEMBERS_MAX;
use crate::protocol::{Listeners, PROTOCOL_VERSION, Role, RoomEntry, TextLine, forwarded};

pub(crate) const START: Time = Time::ZERO;

pub(crate) fn at(ms: u64) -> Time {
    START + Duration::from_millis(ms)
}

pub(crate) fn member(number: u16, media: Media) -> MemberEntry {
    let (number, name) = (MemberNumber(number), format!("member {number}"));
    MemberEntry { number, name, role: Role::Attendee, media, away: false }
}

pub(crate) fn said(words: &FromRoom) -> Said {
    Said { stream: 0, is_text: true, payload: words.encode() }
}

pub(crate) fn welcome(members: Vec<MemberEntry>) -> FromRoom {
    FromRoom::Welcome {
        protocol: PROTOCOL_VERSION,
        program: "a room".to_owned(),
        room: RoomEntry { name: "tea".to_owned(), title: "Tea".to_owned() },
        you: MemberNumber(9),
        role: Role::Attendee,
        locked: false,
        resume: "again".to_owned(),
        now_us: 0,
        members,
        texts: Vec::new(),
        files: Vec::new(),
        listeners: Listeners { is: "room".to_owned(), text: "The room could.".to_owned() },
    }
}

pub(crate) fn both_on(media: &mut Media) {
    let format = PictureFormat::Vp9;
    let codec = "vp09.00.10.08".to_owned();
    media.video = Some(VideoFormat { codec, format, width: None, height: None, fps: None });
    media.voice = Some(VoiceFormat::opus());
    (media.camera, media.microphone) = (Device::On, Device::On);
}

pub(crate) fn picture(ms: u64, kind: PictureKind) -> Picture {
    Picture { at: at(ms), kind, bytes: Bytes::from(vec![kind.class() as u8; 2_000]) }
}

/// What was reported and not taken yet.
fn events(listener: &mut Listener) -> Vec<ListenerEvent> {
    std::iter::from_fn(|| listener.poll_event()).collect()
}

/// In a room with these, of which it has heard.
fn among(members: Vec<MemberEntry>) -> Listener {
    let mut listener = Listener::new();
    listener.handle(START, said(&welcome(members)));
    events(&mut listener);
    listener
}

/// Somebody with camera and microphone.
fn talking(number: u16) -> MemberEntry {
    let mut media = Media::default();
    both_on(&mut media);
    member(number, media)
}

/// Somebody else in the room.
struct Talker {
    number: MemberNumber,
    cutter: UnitCutter,
    voice_frames: u64,
    pictures: u64,
}

impl Talker {
    fn new(number: u16) -> Self {
        let cutter = UnitCutter::new(5);
        Self { number: MemberNumber(number), cutter, voice_frames: 0, pictures: 0 }
    }

    fn voice(&mut self, at: Time, bytes: Bytes) -> Vec<Said> {
        let unit = voice_unit(self.voice_frames, at, bytes).unwrap();
        self.voice_frames += 1;
        self.cut(&unit)
    }

    fn picture(&mut self, picture: Picture) -> Vec<Said> {
        let unit = picture_unit(self.pictures, picture).unwrap();
        self.pictures += 1;
        self.cut(&unit)
    }

    /// As the room hands it on.
    fn cut(&mut self, unit: &Unit) -> Vec<Said> {
        let stream = MediaClass::of(unit.class, Layer::BASE).stream().0;
        let pieces = self.cutter.cut(unit).map(|piece| piece.encode().into());
        let forward = |piece| {
            let payload = forwarded(self.number, piece).unwrap().bytes;
            Said { stream, is_text: false, payload }
        };
        pieces.map(forward).collect()
    }
}

fn line(text: &str) -> FromRoom {
    let (name, member) = ("Bob".to_owned(), MemberNumber(2));
    FromRoom::Text(TextLine { name, member, at_us: 0, text: text.to_owned() })
}

#[test]
fn who_is_there_and_what_they_send_is_heard_from_the_rooms_words() {
    let mut listener = Listener::new();
    let left = FromRoom::Left { member: MemberNumber(2), text: "member 2 left.".to_owned() };
    let media = |number, media| FromRoom::Media { member: number, media, voice_frames: 0 };
    for words in [
        welcome(vec![member(1, Media::default())]),
        FromRoom::Joined { member: member(2, Media::default()) },
        media(MemberNumber(1), talking(1).media),
        media(MemberNumber(7), talking(7).media),
        left,
    ] {
        listener.handle(START, said(&words));
    }
    let (title, members) = ("Tea".to_owned(), vec![member(1, Media::default())]);
    let expected = [
        ListenerEvent::Entered { title, members },
        ListenerEvent::Listeners("The room could.".to_owned()),
        ListenerEvent::Joined { name: "member 2".to_owned() },
        ListenerEvent::Member(member(2, Media::default())),
        ListenerEvent::Member(talking(1)),
        ListenerEvent::Left { member: MemberNumber(2), text: "member 2 left.".to_owned() },
    ];
    assert_eq!(events(&mut listener), expected);
}

#[test]
fn what_is_for_the_page_alone_is_nothing_to_it() {
    let mut listener = among(vec![talking(1)]);
    for text in [r#"{"type":"want_key"}"#, r#"{"type":"of_tomorrow","members":3}"#, "{}", "Tea"] {
        listener.handle(START, Said { stream: 0, is_text: true, payload: text.into() });
    }
    listener.handle(START, Said { stream: FILES_STREAM, is_text: false, payload: "File".into() });
    assert_eq!(events(&mut listener), []);
    assert_eq!(listener.playback_timeout(START), None);
}

/// What two members send into the room of a third, each on its own clock.
#[test]
fn everybody_is_played_out_by_their_own_clock() {
    let mut listener = among(vec![talking(1), talking(2)]);
    let mut talkers = [1, 2].map(Talker::new);
    let (mut voice, mut pictures) = ([0; 2], [0; 2]);
    for step in 0..100 {
        let now = at(40 * step);
        for (number, talker) in talkers.iter_mut().enumerate() {
            // The clock of the second one is hours ahead.
            let theirs = now + Duration::from_secs(10_000) * number as u32;
            let kind = if step % 50 == 0 { PictureKind::Key } else { PictureKind::Reference };
            let bytes = vec![number as u8; 900].into();
            let mut heard = talker.picture(Picture { at: theirs, kind, bytes });
            for frame in 0..2 {
                let at = theirs + Duration::from_millis(20) * frame;
                heard.extend(talker.voice(at, vec![7; 80].into()));
            }
            heard.into_iter().for_each(|said| listener.handle(now, said));
        }
        for ms in 0..40 {
            while let Some((member, playback)) =
                listener.poll_playback(now + Duration::from_millis(ms))
            {
                let number = usize::from(member.0) - 1;
                match playback.what {
                    Played::Picture { bytes, .. } => {
                        assert_eq!(bytes, vec![number as u8; 900]);
                        pictures[number] += 1;
                    }
                    Played::Voice(bytes) => {
                        assert_eq!(bytes, vec![7; 80]);
                        voice[number] += 1;
                    }
                    Played::Concealed => panic!("nothing is missing"),
                }
            }
        }
    }
    assert!(voice.iter().all(|frames| (190..=200).contains(frames)), "{voice:?}");
    assert!(pictures.iter().all(|pictures| (95..=100).contains(pictures)), "{pictures:?}");
}

#[test]
fn pictures_that_cannot_be_decoded_name_their_member_once_in_a_while() {
    let mut listener = among(vec![talking(1), talking(2)]);
    let mut talker = Talker::new(2);
    let _lost = talker.picture(picture(0, PictureKind::Key));
    for said in talker.picture(picture(40, PictureKind::Reference)) {
        listener.handle(at(60), said);
    }
    let mut named = Vec::new();
    for ms in 60..400 {
        assert_eq!(listener.poll_playback(at(ms)), None);
        named.extend(std::iter::from_fn(|| listener.poll_key_wanted(at(ms))));
    }
    assert!((1..=2).contains(&named.len()), "{named:?} in 0.3 s");
    assert!(named.iter().all(|member| *member == MemberNumber(2)), "{named:?}");
}

#[test]
fn a_visit_begun_anew_knows_those_alone_whom_the_room_names_then() {
    let mut listener = among(vec![talking(1), talking(2)]);
    listener.handle(at(10), said(&welcome(vec![talking(2), talking(3)])));
    let entered = listener.poll_event();
    let Some(ListenerEvent::Entered { members, .. }) = entered else { panic!("{entered:?}") };
    assert_eq!(members, [talking(2), talking(3)]);
    for number in 1..=3 {
        for said in Talker::new(number).picture(picture(20, PictureKind::Key)) {
            listener.handle(at(30), said);
        }
    }
    let played = std::iter::from_fn(|| listener.poll_playback(at(1_000)));
    let played: Vec<_> = played.map(|(member, _)| member).collect();
    assert_eq!(played, [MemberNumber(2), MemberNumber(3)]);
}

#[test]
fn a_room_has_no_more_members_than_rooms_have() {
    let crowd = |numbers: Range<u16>| -> Vec<MemberEntry> {
        numbers.map(|number| member(number, Media::default())).collect()
    };
    let mut listener = among(crowd(1..2));
    for member in crowd(2..500) {
        listener.handle(at(1), said(&FromRoom::Joined { member }));
    }
    let joined = events(&mut listener).into_iter();
    let joined = joined.filter(|event| matches!(event, ListenerEvent::Joined { .. }));
    assert_eq!(joined.count(), MEMBERS_MAX - 1);
    listener.handle(at(2), said(&welcome(crowd(100..500))));
    let entered = listener.poll_event();
    let Some(ListenerEvent::Entered { members, .. }) = entered else { panic!("{entered:?}") };
    assert_eq!(members, crowd(100..100 + MEMBERS_MAX as u16));
}

#[test]
fn events_that_nobody_takes_are_kept_to_a_limit() {
    let mut listener = among(Vec::new());
    for _ in 0..EVENTS_MAX + 5 {
        listener.handle(START, said(&line("Hello")));
    }
    assert_eq!(events(&mut listener).len(), EVENTS_MAX);
}

/// One byte of it is another one.
fn damaged(rng: &mut Rng, bytes: &[u8]) -> Bytes {
    let mut bytes = bytes.to_vec();
    let place = rng.range(0..bytes.len() as u64) as usize;
    bytes[place] = rng.next_u32() as u8;
    bytes.into()
}

#[test]
fn what_a_room_may_not_say_does_no_harm() {
    let mut rng = Rng::from_u64(2);
    let mut listener = among(vec![talking(1), talking(2)]);
    let mut talkers = [1, 2].map(Talker::new);
    let words = [welcome(vec![talking(1)]), FromRoom::Joined { member: talking(2) }, line("Hi")];
    for step in 0..20_000 {
        let talker = &mut talkers[rng.range(0..2) as usize];
        let kind = if rng.chance(0.2) { PictureKind::Key } else { PictureKind::Reference };
        let mut heard = talker.picture(picture(step, kind));
        heard.extend(talker.voice(at(step), Bytes::from_static(b"voice")));
        heard.push(said(&words[rng.range(0..words.len() as u64) as usize]));
        for said in heard {
            let is_damaged = rng.chance(0.5);
            let payload =
                if is_damaged { damaged(&mut rng, &said.payload) } else { said.payload.clone() };
            listener.handle(at(step), Said { payload, ..said });
        }
        while listener.poll_playback(at(step)).is_some() {}
        while listener.poll_key_wanted(at(step)).is_some() || listener.poll_event().is_some() {}
    }
    let left = FromRoom::Left { member: MemberNumber(1), text: String::new() };
    listener.handle(at(20_000), said(&left));
    assert_eq!(events(&mut listener).len(), 1);
}
