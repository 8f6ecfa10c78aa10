//! [`Values`]: all parameters of the experiment.

use std::time::Duration;

use anabranch_netsim::settings::Speed;
use anabranch_netsim::{LinkConfig, Medium, QueueLimit, WifiConfig, WifiStandard};
use anabranch_sansio::{Rate, Time};
use anabranch_sctp::{AssociationConfig, PathSchedulerKind, Reliability, RetransmissionPolicy};

use super::cell::{Method, Place};
use super::media::{Frames, Kind, Reel, Source};
use crate::footage::Footage;
use crate::parameter::{Kind as Reads, Parameter, Settings};
use crate::scenario::STEPS_MAX;

const ZERO: Duration = Duration::ZERO;
const MINUTE: Duration = Duration::from_secs(60);
const MTU: u16 = 1_500;
/// IPv4's header: SCTP straight on IP.
const HEADER: usize = 20;
/// Both ways, of what Wi-Fi carries.
const VIDEO_MAX: Rate = Rate::mbps(40);
/// Bytes: its messages have at least a thousand, and are counted by 16 bits.
const PICTURE_MAX: usize = 60_000_000;
/// When cameras and microphones are switched on.
pub(super) const START: Time = Time::from_secs(4);

/// The values of all parameters; by default the paper's.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    wired: Speed,
    wireless: Speed,
    /// Whether what is wireless is a Wi-Fi cell, not a link.
    has_cell: bool,
    /// One way.
    pub(super) delay: Duration,
    queue: u32,
    video_rate: Speed,
    voice_rate: Speed,
    frames: u32,
    /// Of the user's, instead of both videos.
    film: Option<Reel>,
    voice_every: Duration,
    /// Zero stands for no end.
    lifetime: Duration,
    rto_min: Duration,
    rto_initial: Duration,
    path_max_retrans: u32,
    heartbeat: Duration,
    pub(super) check: Duration,
    pub(super) believes_sctp: bool,
    pub(super) usha_threshold: Duration,
    call_video: Speed,
    call_voice: Speed,
    /// From the word that a path will go to its end.
    pub(super) notice: Duration,
    /// Beside the one-way delay, before a frame is late.
    pub(super) patience: Duration,
    /// Events of the simulator after which a run is ended.
    pub(super) steps_max: u64,
}

impl Default for Values {
    fn default() -> Self {
        Self {
            wired: Speed::Limited(Rate::mbps(100)),
            wireless: Speed::Limited(Rate::mbps(54)),
            has_cell: true,
            delay: Duration::from_millis(1),
            queue: 100,
            video_rate: Speed::Limited(Rate::bps(9_899_360)),
            voice_rate: Speed::Limited(Rate::kbps(936)),
            frames: 25,
            film: None,
            voice_every: Duration::from_millis(20),
            lifetime: Duration::from_secs(3),
            rto_min: Duration::from_secs(1),
            rto_initial: Duration::from_secs(3),
            path_max_retrans: 5,
            heartbeat: Duration::from_secs(30),
            check: Duration::from_millis(200),
            believes_sctp: false,
            usha_threshold: Duration::from_millis(1_500),
            call_video: Speed::Limited(Rate::mbps(2)),
            call_voice: Speed::Limited(Rate::kbps(40)),
            notice: Duration::from_millis(500),
            patience: Duration::from_millis(150),
            steps_max: STEPS_MAX,
        }
    }
}

impl Values {
    /// Of a path at this place.
    pub(super) fn link(&self, place: Place, is_wireless: bool) -> LinkConfig {
        let delay = self.delay(place);
        if is_wireless && self.has_cell {
            let medium = Medium::Wifi(WifiConfig::new(WifiStandard::G));
            return LinkConfig { delay, ..medium.link() };
        }
        let speed = if is_wireless { &self.wireless } else { &self.wired };
        LinkConfig {
            rate: speed.mean(),
            delay,
            queue: QueueLimit::Packets(self.queue),
            mtu: MTU,
            ..LinkConfig::default()
        }
    }

    /// A wired and a wireless path at this place, as scenarios of `anabranch emulate` describe
    /// them.
    pub(super) fn written(&self, place: Place) -> String {
        let path = |name: &str, speed: &Speed| {
            let rate = speed.mean().map_or(0, Rate::as_bps);
            format!(
                "[[links]]\nname = \"{name}\"\nrate = \"{rate}bit/s\"\nqueue = \"{}p\"\n\
                 mtu = {MTU}\n",
                self.queue
            )
        };
        let delay = format!("delay = \"{}us\"\n", self.delay(place).as_micros());
        let wired = path("wired", &self.wired) + &delay;
        let wireless = match self.has_cell {
            true => "[[cells]]\nname = \"air\"\nkind = \"wifi\"\nstandard = \"g\"\n\
                     [[links]]\nname = \"wireless\"\ncell = \"air\"\n"
                .to_owned(),
            false => path("wireless", &self.wireless),
        };
        format!("{wired}{wireless}{delay}")
    }

    /// One way.
    pub(super) fn delay(&self, place: Place) -> Duration {
        match place {
            Place::Handoff(_) => self.delay,
            Place::Rtt(ms) => Duration::from_millis(ms.into()) / 2,
        }
    }

    /// What is said and seen at one end.
    pub(super) fn sources(&self, place: Place, end: Time) -> [Source; 2] {
        let (voice, video) = match place {
            Place::Handoff(_) => (&self.voice_rate, &self.video_rate),
            Place::Rtt(_) => (&self.call_voice, &self.call_video),
        };
        Kind::ALL.map(|kind| {
            let even = |rate: &Speed, every| {
                let len = rate.mean().map_or(0, |rate| rate.bytes_in(every)) as usize;
                Frames::Even { every, len }
            };
            let frames = match (kind, &self.film) {
                (Kind::Voice, _) => even(voice, self.voice_every),
                (Kind::Video, None) => even(video, Duration::from_secs(1) / self.frames),
                (Kind::Video, Some(reel)) => Frames::Film(reel.clone()),
            };
            Source { kind, frames, next: 0, start: START, end }
        })
    }

    /// Of both ends.
    pub(super) fn association(&self, method: Method) -> AssociationConfig {
        let config = match method {
            Method::Sctp | Method::Timed(_) | Method::Usha => self.papers(),
            Method::Unplanned | Method::Planned => AssociationConfig::media().with(|config| {
                config.paths.path_scheduler = PathSchedulerKind::EarliestDelivery;
                config.recovery.retransmission_policy = RetransmissionPolicy::Earliest;
                config.window.start_rate = self.start_rate();
            }),
        };
        config.with(|config| {
            config.paths.path_mtu = MTU.into();
            config.paths.header_overhead = HEADER;
        })
    }

    /// What the video takes.
    fn start_rate(&self) -> Option<Rate> {
        self.film.as_ref().map_or_else(|| self.video_rate.mean(), |film| Some(film.rate))
    }

    /// A film has its own rates and times.
    fn check_film(&self) -> Result<(), String> {
        let Some(film) = &self.film else { return Ok(()) };
        let own = Self::default();
        let changes = (&self.video_rate, &self.call_video, self.frames);
        if changes != (&own.video_rate, &own.call_video, own.frames) {
            return Err("source: a film has its own rate and times: leave video, call-video and \
                        frames out"
                .to_owned());
        }
        if film.rate > VIDEO_MAX {
            return Err(
                "source: a call both ways has no room here: give a film of at most 40M".to_owned()
            );
        }
        if film.longest() > PICTURE_MAX {
            return Err(format!(
                "source: a picture has {} bytes: give a film whose pictures have at most \
                 {PICTURE_MAX}",
                film.longest()
            ));
        }
        Ok(())
    }

    /// Chang 2010, section 4. There were no potentially failed paths (RFC 7829) then.
    fn papers(&self) -> AssociationConfig {
        AssociationConfig::default().with(|config| {
            config.timers.rto_min = self.rto_min;
            config.timers.rto_initial = self.rto_initial;
            config.timers.t1_initial = self.rto_initial;
            config.timers.rto_max = MINUTE;
            config.timers.heartbeat_interval = self.heartbeat;
            config.paths.path_max_retrans = self.path_max_retrans;
            config.paths.potentially_failed_max_retrans = self.path_max_retrans;
            config.recovery.association_max_retrans = 10;
            config.recovery.max_init_retransmits = 8;
        })
    }

    pub(super) const fn reliability(&self) -> Reliability {
        match self.lifetime.is_zero() {
            true => Reliability::Reliable,
            false => Reliability::Lifetime(self.lifetime),
        }
    }
}

impl Settings for Values {
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::new(
            "wired",
            "100M",
            "rate of wired paths",
            Reads::Rate(|it, to| it.wired = Speed::Limited(to)),
        ),
        Parameter::new(
            "wireless",
            "54M",
            "rate of wireless paths where they are links",
            Reads::Rate(|it, to| it.wireless = Speed::Limited(to)),
        ),
        Parameter::new(
            "cell",
            "yes",
            "whether a wireless path is a Wi-Fi cell (802.11g), not a link",
            Reads::Switch(|it, is_on| it.has_cell = is_on),
        ),
        Parameter::new(
            "delay",
            "open: 1ms",
            "of each path, one way, in the four handoffs",
            Reads::Time(ZERO, Duration::from_secs(1), |it, to| it.delay = to),
        ),
        Parameter::new(
            "queue",
            "open: 100",
            "what may wait at a link",
            Reads::Count("packets", 1, 100_000, |it, to| it.queue = to),
        ),
        Parameter::new(
            "video",
            "9899360bit/s",
            "rate of the video",
            Reads::Rate(|it, to| it.video_rate = Speed::Limited(to)),
        ),
        Parameter::new(
            "voice",
            "936k",
            "rate of the voice",
            Reads::Rate(|it, to| it.voice_rate = Speed::Limited(to)),
        ),
        Parameter::new(
            "frames",
            "open: 25",
            "pictures in a second",
            Reads::Count("pictures", 1, 120, |it, to| it.frames = to),
        ),
        Parameter::new(
            "source",
            "its own",
            "a film (TS, MP4, Matroska) or a table of pictures (.csv): its pictures instead of \
             both videos; the voice stays",
            Reads::File(|it, file| {
                it.film = Some(Reel::from(&Footage::read(file)?));
                Ok(())
            }),
        ),
        Parameter::new(
            "voice-every",
            "open: 20ms",
            "what a frame of voice lasts",
            Reads::Time(Duration::from_millis(5), Duration::from_secs(1), |it, to| {
                it.voice_every = to;
            }),
        ),
        Parameter::new(
            "lifetime",
            "open: 3s",
            "how long PR-SCTP tries; 0 for no end",
            Reads::Time(ZERO, MINUTE, |it, to| it.lifetime = to),
        ),
        Parameter::new(
            "rto-min",
            "1s",
            "least retransmission timeout",
            Reads::Time(Duration::from_millis(1), MINUTE, |it, to| it.rto_min = to),
        ),
        Parameter::new(
            "rto-initial",
            "3s",
            "first retransmission timeout",
            Reads::Time(Duration::from_millis(1), MINUTE, |it, to| it.rto_initial = to),
        ),
        Parameter::new(
            "path-max",
            "5",
            "retransmissions after which a path counts as dead",
            Reads::Count("attempts", 0, 20, |it, to| it.path_max_retrans = to),
        ),
        Parameter::new(
            "heartbeat",
            "open: 30s",
            "interval of heartbeats on idle paths",
            Reads::Time(ZERO, MINUTE, |it, to| it.heartbeat = to),
        ),
        Parameter::new(
            "check",
            "200ms",
            "interval of the monitor's checks",
            Reads::Time(Duration::from_millis(1), MINUTE, |it, to| it.check = to),
        ),
        Parameter::new(
            "by-state",
            "open: no",
            "whether the monitor takes a path that SCTP calls active, not one that data came over",
            Reads::Switch(|it, is_on| it.believes_sctp = is_on),
        ),
        Parameter::new(
            "usha",
            "open: 1500ms",
            "silence after which the TCP connects anew",
            Reads::Time(Duration::from_millis(1), MINUTE, |it, to| it.usha_threshold = to),
        ),
        Parameter::new(
            "call-video",
            "open: 2M",
            "the video by round trips",
            Reads::Rate(|it, to| it.call_video = Speed::Limited(to)),
        ),
        Parameter::new(
            "call-voice",
            "open: 40k",
            "the voice by round trips",
            Reads::Rate(|it, to| it.call_voice = Speed::Limited(to)),
        ),
        Parameter::new(
            "notice",
            "open: 500ms",
            "how long before its end a path is left on purpose",
            Reads::Time(ZERO, Duration::from_secs(1), |it, to| it.notice = to),
        ),
        Parameter::new(
            "patience",
            "open: 150ms",
            "beside the one-way delay, before a frame is late",
            Reads::Time(ZERO, Duration::from_secs(1), |it, to| it.patience = to),
        ),
        Parameter::new(
            "steps-max",
            "open: 1000000000",
            "events of the simulator after which a run is ended",
            Reads::Count("events", 1, u32::MAX, |it, events| it.steps_max = events.into()),
        ),
    ];

    fn check(&self) -> Result<(), String> {
        for (name, rate) in [("video", &self.video_rate), ("call-video", &self.call_video)] {
            if rate.mean().is_some_and(|rate| rate > VIDEO_MAX) {
                return Err(format!("{name}: a call both ways has no room here: give at most 40M"));
            }
        }
        self.check_film()?;
        if self.rto_min > MINUTE {
            return Err("rto-min: it is above RTO.Max: give at most 60s".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chang2010::Handoff;
    use crate::footage::testing as footage;
    use crate::parameter::testing::check_declared;

    #[test]
    fn every_way_of_calling_can_work() {
        for method in Method::ALL {
            let config = Values::default().association(method);
            assert_eq!(config.validate(), Ok(()), "{method}");
        }
    }

    #[test]
    fn a_network_that_is_written_down_is_the_simulated_one() {
        let nothing = |path: &str| Err(format!("no file is needed, and {path} asked for"));
        for set in ["cell=yes", "cell=no,wired=9M,queue=7"] {
            let parameters = crate::Parameters::<Values>::read([set]).unwrap();
            let values = parameters.values();
            let place = Place::Rtt(50);
            let written = values.written(place);
            let scenario = anabranch_netsim::Scenario::from_toml(&written, &nothing).unwrap();
            let links: Vec<_> = scenario.links.iter().map(|link| link.config().forward).collect();
            let unnamed = |link: &LinkConfig| {
                let mut link = link.clone();
                if let Some(cell) = &mut link.cell {
                    cell.name = None;
                }
                link
            };
            let expected = [false, true].map(|is_wireless| values.link(place, is_wireless));
            assert_eq!(links.iter().map(unnamed).collect::<Vec<_>>(), expected, "{written}");
        }
    }

    #[test]
    fn rates_that_no_call_has_are_refused() {
        for (set, words) in [("video=trace:x", "x"), ("call-video=1G", "give at most 40M")] {
            let error = crate::Parameters::<Values>::read([set]).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_film_takes_the_cameras_place_and_begins_again() {
        let parameters = footage::with_source::<Values>(footage::FILM, "").unwrap();
        for place in [Place::Handoff(Handoff::WiredToWired), Place::Rtt(50)] {
            let [voice, video] = parameters.values().sources(place, START + MINUTE);
            assert_eq!(voice.frame(50).0, START + Duration::from_secs(1));
            let (first, again) = (video.frame(3), video.frame(78));
            assert_eq!(first.1, again.1, "75 pictures later");
            assert!((2.8..3.2).contains(&(again.0 - first.0).as_secs_f64()), "{again:?}");
            assert!((0..75).any(|number| video.frame(number).1 != first.1), "sizes of their own");
        }
        for set in [",frames=30", ",video=2M", ",call-video=1M"] {
            let error = footage::with_source::<Values>(footage::FILM, set).unwrap_err();
            assert!(error.contains("leave video, call-video and frames out"), "{error}");
        }
        footage::check_refusals::<Values>();
    }

    #[test]
    fn what_is_declared_is_what_runs() {
        check_declared::<Values>();
    }
}
