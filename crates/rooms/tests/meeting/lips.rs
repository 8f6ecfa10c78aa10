//! Lips move with the voice in a room: what it forwards is heard and seen together.

use std::time::Duration;

use anabranch_call::{Played, Playout};
use anabranch_media::Track;
use anabranch_rooms::protocol::{Kind, MemberNumber};
use anabranch_sansio::Time;

use crate::harness::{Got, MILLISECOND, Meeting, SECOND, link};

/// The goal.
const APART_MAX: Duration = Duration::from_millis(40);

/// Half of what lies between two frames of voice, microseconds.
const SAME_MOMENT_US: u64 = 10_000;

/// What was played of a member: when it was captured, microseconds of its clock, and when it was
/// heard or seen.
#[derive(Default)]
struct Plays {
    voice: Vec<(u64, Time)>,
    pictures: Vec<(u64, Time)>,
}

/// Plays what a page got of a member, as a member without a page does.
fn plays(lab: &Meeting, page: usize, of: MemberNumber) -> Plays {
    let mut playout = Playout::new();
    let mut plays = Plays::default();
    let mut now = Time::ZERO;
    for (at, got) in &lab.got[page] {
        let Got::Media(piece) = got else { continue };
        let track = match piece.header.track {
            track if track == Kind::Picture.of(of) => Track(0),
            track if track == Kind::Voice.of(of) => Track(1),
            _ => continue,
        };
        while now < *at {
            now = (now + MILLISECOND).min(*at);
            plays.take(&mut playout, now);
        }
        let mut piece = piece.clone();
        piece.header.track = track;
        playout.push_piece(*at, piece);
        plays.take(&mut playout, now);
    }
    plays
}

impl Plays {
    fn take(&mut self, playout: &mut Playout, now: Time) {
        while let Some(playback) = playout.poll(now) {
            let play = (playback.captured_us, playback.play_at.max(now));
            match playback.what {
                Played::Voice(_) => self.voice.push(play),
                Played::Picture { .. } => self.pictures.push(play),
                Played::Concealed => {}
            }
        }
    }

    /// How far each picture was from the voice that was captured with it, either way.
    fn apart(&self) -> Vec<Duration> {
        let distances = self.pictures.iter().filter_map(|(captured, shown)| {
            let with = |at: &u64| captured.abs_diff(*at) <= SAME_MOMENT_US;
            let (spoken, heard) = self.voice.iter().find(|(spoken, _)| with(spoken))?;
            let after = Duration::from_micros(*captured) + (*heard - Time::ZERO);
            let before = Duration::from_micros(*spoken) + (*shown - Time::ZERO);
            Some(after.abs_diff(before))
        });
        distances.collect()
    }
}

#[test]
fn lips_move_with_the_voice_within_40_ms_for_members_near_and_far() {
    let mut lab = Meeting::new(31, &[link(20_000, 10), link(20_000, 25), link(4_000, 80)]);
    let members: Vec<_> = (0..3).map(|page| lab.enter(page, &format!("Page {page}"))).collect();
    (0..3).for_each(|page| lab.turn_on(page, 1_000));
    lab.run_for(12 * SECOND);
    for page in 0..3 {
        for (_, member) in members.iter().enumerate().filter(|(of, _)| *of != page) {
            let apart = plays(&lab, page, *member).apart();
            assert!(apart.len() >= 250, "{page} sees {member:?}: {} pictures", apart.len());
            let most = apart.iter().max().unwrap();
            assert!(*most <= APART_MAX, "{page} sees {member:?}: {most:?}");
        }
    }
}
