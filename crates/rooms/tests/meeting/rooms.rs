//! Many rooms on one server at once.

use std::collections::BTreeMap;

use anabranch_media::Piece;
use anabranch_rooms::protocol::{FromMember, FromRoom, Kind, MemberNumber};
use anabranch_rooms::{RoomId, RoomLabel, Tokens};
use anabranch_sansio::Machine as _;

use crate::harness::{Got, MILLISECOND, Meeting, SECOND, link};

/// A picture of 1 Mbit/s at 25 a second.
const PICTURE: usize = 5_000;

/// Members of each of ten rooms.
const PEOPLE: [usize; 10] = [3, 3, 3, 3, 3, 3, 3, 3, 3, 16];

/// Who is where, and what each got of whom.
struct Crowd {
    lab: Meeting,
    rooms: Vec<RoomId>,
    /// Which room each page is in, and as whom.
    places: Vec<(usize, MemberNumber)>,
    /// Numbers of whole units, by who got them, who sent them, and of which kind.
    units: BTreeMap<(usize, usize, bool), Vec<u64>>,
}

impl Crowd {
    fn new(seed: u64) -> Self {
        let pages = PEOPLE.iter().sum();
        let mut lab = Meeting::new(seed, &vec![link(100_000, 2); pages]);
        let rooms = PEOPLE.iter().enumerate().map(|(at, people)| open(&mut lab, at, *people));
        let rooms = rooms.collect();
        Self { lab, rooms, places: Vec::new(), units: BTreeMap::new() }
    }

    /// Everybody goes where they belong.
    fn enter(&mut self) {
        for (room, people) in PEOPLE.iter().enumerate() {
            for _ in 0..*people {
                self.lab.room = self.rooms[room];
                let page = self.places.len();
                let number = self.lab.enter(page, &name(page));
                self.places.push((room, number));
            }
        }
    }

    /// All turn on their cameras, and each writes a line.
    fn begin(&mut self) {
        for page in 0..self.places.len() {
            self.lab.turn_on(page, PICTURE);
            self.lab.say(page, &FromMember::Text { text: name(page) });
        }
    }

    /// All talk, as their encoders are asked to: among sixteen each gets 0.8 Mbit/s.
    fn talk(&mut self, tenths: u32) {
        for _ in 0..tenths {
            self.lab.run_for(100 * MILLISECOND);
            for page in 0..self.places.len() {
                self.follow(page);
                self.take_media(page);
            }
        }
    }

    fn follow(&mut self, page: usize) {
        let rates = self.lab.texts(page).filter_map(|text| {
            let FromRoom::Encode { video_bps, .. } = text else { return None };
            Some(*video_bps as usize / 8 / 25)
        });
        let bytes = rates.last().expect("told");
        self.lab.set_picture(page, bytes.min(PICTURE));
    }

    /// What came since the last time; that of another room, or of nobody, is a fault.
    fn take_media(&mut self, page: usize) {
        let got = std::mem::take(&mut self.lab.got[page]);
        for (at, got) in got {
            match got {
                Got::Media(piece) => self.note(page, &piece),
                Got::Text(_) | Got::File(_) => self.lab.got[page].push((at, got)),
            }
        }
    }

    fn note(&mut self, page: usize, piece: &Piece) {
        // A page's camera has the page's number.
        let from = usize::from(piece.header.session);
        let (room, number) = self.places[from];
        assert_eq!(room, self.places[page].0, "page {page} got media of page {from}");
        assert_ne!(page, from, "their own media");
        let is_voice = piece.header.track == Kind::Voice.of(number);
        assert!(is_voice || piece.header.track == Kind::Picture.of(number));
        if piece.header.last {
            self.units.entry((page, from, is_voice)).or_default().push(piece.header.frame);
        }
    }

    fn of_the_same_room(&self, page: usize) -> Vec<usize> {
        (0..self.places.len())
            .filter(|other| self.places[*other].0 == self.places[page].0)
            .collect()
    }

    /// What was written to a page, in the order of the alphabet.
    fn lines(&self, page: usize) -> Vec<String> {
        let lines = self.lab.texts(page).filter_map(|text| {
            let FromRoom::Text(line) = text else { return None };
            Some(line.text.clone())
        });
        let mut lines: Vec<_> = lines.collect();
        lines.sort_unstable();
        lines
    }

    /// Every other one leaves in words, the others close their pages.
    fn leave(&mut self) {
        for page in 0..self.places.len() {
            let id = self.lab.connections[page].expect("there");
            if page % 2 == 0 {
                self.lab.say(page, &FromMember::Bye);
            } else {
                self.lab.serve(|server, now| server.hang_up(now, id, true));
            }
        }
    }

    /// How many bytes the server's whole state has, written down.
    fn size(&self) -> usize {
        format!("{:?}", self.lab.server()).len()
    }
}

fn name(page: usize) -> String {
    format!("page {page}")
}

fn open(lab: &mut Meeting, at: usize, members_max: usize) -> RoomId {
    let label = RoomLabel { name: format!("room-{at}"), title: format!("Room {at}"), members_max };
    let tokens = Tokens { attendees: format!("attendees {at}"), hosts: format!("hosts {at}") };
    lab.serve(|server, _| server.act(|rooms| rooms.add(label, tokens)))
}

/// Of numbers in some order, whether none is missing between the first and the last.
fn is_whole(units: &[u64]) -> bool {
    let mut units = units.to_vec();
    units.sort_unstable();
    units.windows(2).all(|pair| pair[1] == pair[0] + 1)
}

#[test]
fn ten_rooms_on_one_server_hear_and_see_their_own_members_and_nobody_else() {
    let mut crowd = Crowd::new(1);
    crowd.enter();
    crowd.begin();
    // Rates settle.
    crowd.talk(5);
    crowd.units.clear();
    crowd.talk(30);
    for page in 0..crowd.places.len() {
        let mates = crowd.of_the_same_room(page);
        for from in mates.iter().filter(|from| **from != page) {
            let voice = &crowd.units[&(page, *from, true)];
            assert!(voice.len() >= 149 && is_whole(voice), "{page} of {from}: {}", voice.len());
            let pictures = &crowd.units[&(page, *from, false)];
            let count = pictures.len();
            assert!(count >= 74 && is_whole(pictures), "{page} of {from}: {count}");
        }
        let mut lines: Vec<_> = mates.into_iter().map(name).collect();
        lines.sort_unstable();
        assert_eq!(crowd.lines(page), lines, "page {page}");
    }
}

#[test]
fn ten_rooms_that_everybody_left_cost_no_more_than_before() {
    let mut crowd = Crowd::new(2);
    let before = crowd.size();
    crowd.enter();
    crowd.begin();
    crowd.talk(3);
    let guests: Vec<_> = crowd.lab.server().rooms().rooms().flat_map(|it| it.1.members).collect();
    let guests: Vec<_> = guests.into_iter().filter_map(|member| member.guest).collect();
    assert_eq!(guests.len(), crowd.places.len());
    let during = crowd.size();
    crowd.leave();
    crowd.lab.run_for(15 * SECOND);
    let server = crowd.lab.server();
    assert_eq!((crowd.lab.people(), server.connections(), server.waiting()), (0, 0, 0));
    assert!(guests.iter().all(|guest| server.network(*guest).is_none()));
    assert_eq!(server.poll_timeout(), None);
    // Counters have more digits than before, and nothing else is left.
    let after = crowd.size();
    assert!(during > 20 * before && after < before + 100, "{before} {during} {after}");
}
