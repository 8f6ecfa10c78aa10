//! Viewers and servers that get no time for a while: no network has less room for that.

use std::time::Duration;

use anabranch_media::Class;
use anabranch_media::decoding::MediaTrack;
use anabranch_netsim::LinkConfig;
use anabranch_sansio::Time;
use anabranch_television::channel::ChannelId;

use crate::broadcast::{LAYERED, Programming, THREE_MBPS};
use crate::harness::{MILLISECOND, SECOND, Studio, link};
use crate::lounge::{Got, Lounge};

/// How long a viewer may do without something once nobody is held up any more.
const BAR: Duration = Duration::from_secs(3);

/// How long machines are held up.
const STALLS_MS: [u32; 4] = [500, 1_000, 2_500, 5_000];

/// Who is held up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Viewer,
    Server,
}

#[test]
fn regression_a_native_viewer_that_stalled_stayed_at_one_picture_a_second() {
    for (stall, programming) in cases() {
        let mut studio = Studio::new(1, network());
        let channel = studio.add(1, programming);
        check(&mut studio, channel, Who::Viewer, stall, programming);
    }
}

#[test]
fn a_browser_that_stalled_gets_all_again_within_three_seconds() {
    for stall in STALLS_MS.map(|ms| ms * MILLISECOND) {
        let mut lounge = Lounge::new(1, network());
        let channel = lounge.add(1, THREE_MBPS);
        check(&mut lounge, channel, Who::Viewer, stall, THREE_MBPS);
    }
}

#[test]
fn regression_a_server_that_was_held_up_took_its_own_delay_for_its_viewers() {
    for (stall, programming) in cases() {
        let mut studio = Studio::new(2, network());
        let channel = studio.add(1, programming);
        check(&mut studio, channel, Who::Server, stall, programming);
    }
    for stall in STALLS_MS.map(|ms| ms * MILLISECOND) {
        let mut lounge = Lounge::new(2, network());
        let channel = lounge.add(1, THREE_MBPS);
        check(&mut lounge, channel, Who::Server, stall, THREE_MBPS);
    }
}

fn cases() -> impl Iterator<Item = (Duration, Programming)> {
    let of = |ms: u32| [THREE_MBPS, LAYERED].map(|programming| (ms * MILLISECOND, programming));
    STALLS_MS.into_iter().flat_map(of)
}

/// With room for six such channels.
fn network() -> LinkConfig {
    link(20, 5, 0.0)
}

/// A server, a viewer, and someone who is held up.
trait Scene {
    fn watch(&mut self, channel: ChannelId);
    fn run_for(&mut self, span: Duration);
    fn hold(&mut self, who: Who);
    fn release(&mut self, who: Who);
    fn now(&self) -> Time;
    /// When the pictures came to the server of which a layer came.
    fn came(&self) -> Vec<Time>;
}

macro_rules! scene {
    ($scene:ty, $self:ident => $came:expr) => {
        impl Scene for $scene {
            fn watch(&mut self, channel: ChannelId) {
                self.run_for(2 * SECOND);
                self.zap(channel, SECOND).expect("a picture");
            }

            fn run_for(&mut self, span: Duration) {
                self.run_for(span);
            }

            fn hold(&mut self, who: Who) {
                match who {
                    Who::Viewer => self.pair.act_client(|held, _| held.hold()),
                    Who::Server => self.pair.act_server(|held, _| held.hold()),
                }
                .expect("quiet");
            }

            fn release(&mut self, who: Who) {
                match who {
                    Who::Viewer => self.pair.act_client(|held, now| held.release(now)),
                    Who::Server => self.pair.act_server(|held, now| held.release(now)),
                }
                .expect("quiet");
            }

            fn now(&self) -> Time {
                self.now()
            }

            fn came(&$self) -> Vec<Time> {
                $came
            }
        }
    };
}

scene!(Studio, self => {
    let pictures = self.units.iter().filter(|(_, unit)| unit.kind() == MediaTrack::Video);
    pictures.map(|(_, unit)| unit.unit.at).collect()
});
scene!(Lounge, self => {
    let picture = |(_, got): &(Time, Got)| match got {
        Got::Media(_, media) if media.header.index == 0 && media.header.class != Class::Audio => {
            Some(media.header.first_at())
        }
        Got::Media(..) | Got::Text(..) => None,
    };
    self.got.iter().filter_map(picture).collect()
});

/// All layers of all pictures come again.
fn check(
    scene: &mut impl Scene,
    channel: ChannelId,
    who: Who,
    stall: Duration,
    programming: Programming,
) {
    scene.watch(channel);
    scene.run_for(3 * SECOND);
    scene.hold(who);
    scene.run_for(stall);
    scene.release(who);
    let from = scene.now() + BAR;
    scene.run_for(BAR + 5 * SECOND);
    let came = scene.came().iter().filter(|at| **at >= from).count();
    let layers = if programming.enhancement > 0 { 2 } else { 1 };
    // The last one is still on its way.
    let all = layers * 5 * 25 - layers;
    assert!(came >= all, "{came} of {all} after {who:?} was held up for {stall:?}");
}
