//! [`Best`]: what could be shown of a stream over a narrow link, whoever chooses the pictures.
//!
//! Packets are served in the order in which they are due, which is that of their deadlines: no
//! other order brings more of them in time. Sound always goes, and before pictures. Of the
//! pictures, any may be left out, with those that need it. What is lost, repeated or answered
//! costs nothing, so that nothing real does better.

use std::ops::Range;
use std::time::Duration;

use anabranch_media::Class;
use anabranch_media::ts::{PACKET_LEN, Packet};
use anabranch_sansio::Rate;

use super::content::Content;

/// How far ahead the chooser sees that is told something of what is to come.
const AHEAD: Duration = Duration::from_secs(1);

/// The shortest freeze that is tried.
const FREEZE_FIRST: Duration = Duration::from_millis(100);

/// What could be shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Best {
    /// The most intact pictures that a chooser can have who knows all that is to come.
    pub(super) intact: usize,
    /// The same of one who sees [`AHEAD`].
    pub(super) intact_ahead: usize,
    /// The least that the longest freeze lasts, if nothing else counts.
    pub(super) freeze: Duration,
}

/// What a link carries of a stream's packets, by the time since the stream began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carries {
    pub(super) usual: Rate,
    /// And for a while.
    pub(super) narrow: Rate,
    pub(super) from: Duration,
    pub(super) until: Duration,
}

impl Carries {
    /// Packets that pass between two times.
    fn packets(&self, from: Duration, until: Duration) -> f64 {
        let within = until.min(self.until).saturating_sub(from.max(self.from));
        let outside = until.saturating_sub(from).saturating_sub(within);
        let bits = self.narrow.as_bps() as f64 * within.as_secs_f64()
            + self.usual.as_bps() as f64 * outside.as_secs_f64();
        bits / (8 * PACKET_LEN) as f64
    }
}

impl Best {
    /// Of a stream whose packets are due at these times, over a link that carries so much.
    pub(super) fn of(
        content: &Content,
        packets: &[(Duration, Packet)],
        carries: Carries,
        latency: Duration,
    ) -> Self {
        let link = Link { carries, latency };
        let pictures = pictures(content, packets);
        Self {
            intact: link.most(Waiting::default(), &pictures).0,
            intact_ahead: link.most_ahead(&pictures),
            freeze: link.least_freeze(&pictures),
        }
    }
}

/// A picture, and the packets from its first one to that of the next picture.
#[derive(Debug)]
struct Picture {
    class: Class,
    at: Duration,
    /// When each is due, and whether it is sound.
    packets: Vec<(Duration, bool)>,
}

fn pictures(content: &Content, packets: &[(Duration, Packet)]) -> Vec<Picture> {
    let due = |position: usize| packets.get(position).map(|(at, _)| *at);
    let all = |ranges: &[Range<usize>], is_sound| {
        let positions = ranges.iter().cloned().flatten();
        positions.filter_map(move |n| Some((due(n)?, is_sound))).collect::<Vec<_>>()
    };
    let mut sound = all(content.sound(), true);
    sound.sort_unstable();
    let mut pictures: Vec<_> = content
        .pictures()
        .map(|(class, at, ranges)| Picture { class, at, packets: all(ranges, false) })
        .collect();
    let begins: Vec<_> = pictures.iter().skip(1).map(|picture| picture.at).collect();
    let ends = begins.into_iter().chain([Duration::MAX]);
    let mut rest = sound.as_slice();
    for (picture, end) in pictures.iter_mut().zip(ends) {
        let (own, others) = rest.split_at(rest.partition_point(|(at, _)| *at < end));
        picture.packets.extend_from_slice(own);
        picture.packets.sort_unstable();
        rest = others;
    }
    pictures
}

/// What waits in front of the link at some time.
#[derive(Debug, Clone, Copy, Default)]
struct Waiting {
    packets: f64,
    at: Duration,
    /// Whether the last reference, and all that it needs, was taken.
    follows: bool,
}

/// A way to choose so far.
#[derive(Debug, Clone, Copy)]
struct Choice {
    waiting: Waiting,
    /// Pictures taken.
    taken: usize,
    /// The last of them is due then.
    shown: Duration,
    /// Whether the first picture was taken.
    first: bool,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    carries: Carries,
    latency: Duration,
}

impl Link {
    /// What waits once the packets of a picture are due; `None` if it was to be taken and cannot.
    fn pass(&self, mut waiting: Waiting, picture: &Picture, takes: bool) -> Option<Waiting> {
        if takes && picture.class != Class::KeyFrame && !waiting.follows {
            return None;
        }
        for &(at, is_sound) in &picture.packets {
            if !is_sound && !takes {
                continue;
            }
            let served = self.carries.packets(waiting.at, at);
            waiting.packets = (waiting.packets - served).max(0.0) + 1.0;
            waiting.at = at;
            if !is_sound && waiting.packets > self.carries.packets(at, at + self.latency) {
                return None;
            }
        }
        // Ways to choose are compared at one time.
        let end = picture.packets.last().map_or(waiting.at, |(at, _)| *at);
        waiting.packets = (waiting.packets - self.carries.packets(waiting.at, end)).max(0.0);
        waiting.at = end;
        if picture.class != Class::Disposable {
            waiting.follows = takes;
        }
        Some(waiting)
    }

    /// Both ways to go on from each choice.
    fn step(&self, choices: &[Choice], picture: &Picture, is_first: bool) -> Vec<Choice> {
        let go_on = |choice: &Choice, takes: bool| {
            let waiting = self.pass(choice.waiting, picture, takes)?;
            let mut choice = Choice { waiting, ..*choice };
            if takes {
                choice.taken += 1;
                choice.shown = picture.at;
            }
            choice.first = if is_first { takes } else { choice.first };
            Some(choice)
        };
        let both = |choice| [go_on(choice, true), go_on(choice, false)];
        choices.iter().flat_map(both).flatten().collect()
    }

    /// The most pictures that can be taken from there on, and whether the first is one of them.
    fn most(&self, waiting: Waiting, pictures: &[Picture]) -> (usize, bool) {
        let mut choices = vec![Choice { waiting, taken: 0, shown: waiting.at, first: false }];
        for (n, picture) in pictures.iter().enumerate() {
            choices = best(self.step(&choices, picture, n == 0), |choice| choice.taken);
        }
        let most = choices.iter().max_by_key(|choice| (choice.taken, choice.first));
        most.map_or((0, false), |choice| (choice.taken, choice.first))
    }

    /// How many pictures are taken where each is chosen for the sake of those within [`AHEAD`].
    fn most_ahead(&self, pictures: &[Picture]) -> usize {
        let (mut waiting, mut taken) = (Waiting::default(), 0);
        for (n, picture) in pictures.iter().enumerate() {
            let seen = pictures[n..].partition_point(|next| next.at <= picture.at + AHEAD);
            let takes = self.most(waiting, &pictures[n..n + seen]).1;
            waiting = self.pass(waiting, picture, takes).unwrap_or(waiting);
            taken += usize::from(takes);
        }
        taken
    }

    /// The least span that no freeze has to exceed.
    fn least_freeze(&self, pictures: &[Picture]) -> Duration {
        let end = pictures.last().map_or(Duration::ZERO, |picture| picture.at);
        // Few choices have to be kept where freezes are short: longer ones are tried last.
        let (mut least, mut enough) = (Duration::ZERO, FREEZE_FIRST.min(end));
        while enough < end && !self.can_do_with(pictures, enough) {
            (least, enough) = (enough, (2 * enough).min(end));
        }
        while enough - least > Duration::from_millis(1) {
            let span = (least + enough) / 2;
            if self.can_do_with(pictures, span) {
                enough = span;
            } else {
                least = span;
            }
        }
        enough
    }

    /// Whether pictures can be chosen so that no freeze is longer than that.
    fn can_do_with(&self, pictures: &[Picture], freeze: Duration) -> bool {
        let waiting = Waiting::default();
        let mut choices = vec![Choice { waiting, taken: 0, shown: waiting.at, first: false }];
        for picture in pictures {
            choices.retain(|choice| picture.at <= choice.shown + freeze);
            choices = best(self.step(&choices, picture, false), |choice| choice.shown);
        }
        !choices.is_empty()
    }
}

/// Without the choices that are no better than another one in anything that counts later.
fn best<T: Ord>(mut choices: Vec<Choice>, gain: impl Fn(&Choice) -> T) -> Vec<Choice> {
    choices.sort_by(|a, b| {
        let by_waiting = a.waiting.packets.total_cmp(&b.waiting.packets);
        gain(b).cmp(&gain(a)).then(by_waiting)
    });
    // The least that waits, of those with as much gain or more: with and without the references.
    let mut least = [f64::INFINITY; 2];
    choices.retain(|choice| {
        let waiting = choice.waiting;
        let rivals = if waiting.follows { &least[1..] } else { &least[..] };
        let is_better = rivals.iter().all(|rival| waiting.packets < *rival);
        if is_better {
            least[usize::from(waiting.follows)] = waiting.packets;
        }
        is_better
    });
    choices
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture of so many packets each 40 ms; the rate is 10 packets in that time.
    fn stream(pictures: &[(Class, usize)]) -> Vec<Picture> {
        let picture = |(n, &(class, packets)): (u32, &(Class, usize))| {
            let at = Duration::from_millis(40) * n;
            Picture { class, at, packets: vec![(at, false); packets] }
        };
        (0..).zip(pictures).map(picture).collect()
    }

    fn link(latency_ms: u64) -> Link {
        let usual = Rate::bps(10 * 8 * PACKET_LEN as u64 * 25);
        let carries = Carries { usual, narrow: usual, from: Duration::ZERO, until: Duration::ZERO };
        Link { carries, latency: Duration::from_millis(latency_ms) }
    }

    const KEY: Class = Class::KeyFrame;
    const REFERENCE: Class = Class::Reference;
    const DISPOSABLE: Class = Class::Disposable;

    #[test]
    fn all_is_taken_where_all_fits() {
        let pictures = stream(&[(KEY, 30), (DISPOSABLE, 2), (DISPOSABLE, 2), (REFERENCE, 6)]);
        let link = link(120);
        assert_eq!(link.most(Waiting::default(), &pictures), (4, true));
        assert_eq!(link.most_ahead(&pictures), 4);
        assert_eq!(link.least_freeze(&pictures).as_millis(), 40);
    }

    #[test]
    fn a_reference_that_does_not_fit_costs_all_that_need_it() {
        let small = [(REFERENCE, 1), (DISPOSABLE, 1), (DISPOSABLE, 1)];
        let pictures = stream(&[&[(KEY, 10), (REFERENCE, 31)], &small[..]].concat());
        assert_eq!(link(120).most(Waiting::default(), &pictures).0, 1);
        assert_eq!(link(160).most(Waiting::default(), &pictures).0, 5);
    }

    #[test]
    fn a_picture_makes_way_for_several_later_ones() {
        // Behind the large one two of the small ones fit, without it all four.
        let small = [(DISPOSABLE, 15); 4];
        let pictures = stream(&[&[(KEY, 10), (DISPOSABLE, 60)], &small[..]].concat());
        let link = link(240);
        assert_eq!(link.most(Waiting::default(), &pictures).0, 5);
        assert_eq!(link.most_ahead(&pictures), 5);
    }

    #[test]
    fn who_sees_a_second_ahead_keeps_no_room_for_what_comes_later() {
        let mut later = vec![(KEY, 10), (DISPOSABLE, 280)];
        later.extend([(DISPOSABLE, 10); 30]);
        let link = link(1_200);
        let pictures = stream(&later);
        assert_eq!(link.most(Waiting::default(), &pictures).0, 32);
        let mut key = later;
        key.push((KEY, 200));
        key.extend([(REFERENCE, 10); 20]);
        let pictures = stream(&key);
        let most = link.most(Waiting::default(), &pictures).0;
        assert!(link.most_ahead(&pictures) < most, "{most}");
    }

    #[test]
    fn no_choice_avoids_a_freeze_where_references_do_not_fit() {
        let mut all = vec![(KEY, 10)];
        all.extend([(REFERENCE, 14); 24]);
        all.push((KEY, 10));
        // Each leaves four more than there were, and 50 may wait: ten can be taken of 24.
        let freeze = link(200).least_freeze(&stream(&all));
        assert_eq!(freeze.as_millis(), 15 * 40);
    }

    #[test]
    fn sound_takes_its_room_first() {
        let mut pictures = stream(&[(KEY, 10), (DISPOSABLE, 10), (DISPOSABLE, 10)]);
        let link = link(40);
        assert_eq!(link.most(Waiting::default(), &pictures).0, 3);
        let at = pictures[1].at;
        pictures[1].packets.insert(0, (at, true));
        assert_eq!(link.most(Waiting::default(), &pictures).0, 2);
    }
}
