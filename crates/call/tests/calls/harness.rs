//! Two agents who talk and see each other, over links that fail.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_call::{
    Agent, CallConfig, CallPath, CallStats, Device, Event, Media, Picture, PictureFormat,
    PictureKind, Played, VideoFormat, VoiceFormat,
};
use anabranch_netsim::{CLIENT, DuplexConfig, LinkConfig, Loss, Pair, SERVER, Side};
use anabranch_sansio::{FourTuple, Rate, Time};
use anabranch_transport::PathState;

/// How finely time passes.
const STEP: Duration = Duration::from_millis(2);

/// Bytes of a frame of voice: 32 kbit/s.
const VOICE_LEN: usize = 80;

/// Pictures a second, every other one disposable.
const PICTURE_MS: u64 = 40;

/// A link with this rate, one-way delay and loss.
pub(crate) fn link(rate: Rate, delay_ms: u64, loss: f64) -> DuplexConfig {
    LinkConfig {
        rate: Some(rate),
        delay: Duration::from_millis(delay_ms),
        loss: if loss > 0.0 { Loss::uniform(loss) } else { Loss::None },
        ..LinkConfig::default()
    }
    .into()
}

/// What one end says and shows, and what it heard and saw of the other.
#[derive(Debug, Default)]
pub(crate) struct Person {
    next_voice: u64,
    next_picture: u64,
    voice_at: Time,
    picture_at: Time,
    /// What its encoder is asked for.
    pub(crate) rate: Rate,
    /// Each change of that.
    pub(crate) rates: Vec<(Time, Rate)>,
    wants_key: bool,
    keys: u64,
    /// Frames of voice that were heard: number, captured, began to sound.
    pub(crate) heard: Vec<(u64, Time, Time)>,
    /// Frames that were concealed: when.
    pub(crate) concealed: Vec<Time>,
    /// Pictures that were shown: captured, shown.
    pub(crate) seen: Vec<(Time, Time)>,
    pub(crate) events: Vec<Event>,
    decoder: Decoder,
}

/// What a decoder of pictures makes of them: it must never lack a reference.
#[derive(Debug, Default)]
struct Decoder {
    /// References so far, as the encoder numbered them.
    references: u64,
    begun: bool,
}

impl Decoder {
    fn decode(&mut self, kind: PictureKind, bytes: &[u8]) {
        let before = u64::from_be_bytes(bytes[..8].try_into().expect("eight bytes"));
        if kind == PictureKind::Key {
            (self.references, self.begun) = (before, true);
        }
        assert!(self.begun, "it begins with a key picture");
        assert_eq!(self.references, before, "a {kind:?} picture lacks a reference");
        self.references += u64::from(kind.is_reference());
    }
}

/// A call between two people.
pub(crate) struct Talk {
    pub(crate) pair: Pair<Agent>,
    pub(crate) paths: Vec<FourTuple>,
    pub(crate) client: Person,
    pub(crate) server: Person,
    references: [u64; 2],
}

pub(crate) fn config(listen: bool, name: &str) -> CallConfig {
    let video = VideoFormat {
        codec: "vp09.00.31.08".to_owned(),
        format: PictureFormat::Vp9,
        width: Some(640),
        height: Some(360),
        fps: Some(25.0),
    };
    let media = Media {
        voice: Some(VoiceFormat::opus()),
        video: Some(video),
        microphone: Device::On,
        camera: Device::On,
    };
    CallConfig { name: Some(name.to_owned()), media, ..CallConfig::new(listen) }
}

impl Talk {
    /// Both ends, before the call.
    pub(crate) fn new(seed: u64, links: &[DuplexConfig]) -> Self {
        Self::with(seed, links, |config| config)
    }

    /// Both ends with other settings, before the call.
    pub(crate) fn with(
        seed: u64,
        links: &[DuplexConfig],
        set: impl Fn(CallConfig) -> CallConfig,
    ) -> Self {
        let mut paths = Vec::new();
        let pair = Pair::new(seed, links, |side, seen, rng| match side {
            Side::Client => {
                paths = seen.to_vec();
                Agent::new(set(config(false, "Alice")), rng)
            }
            Side::Server => Agent::new(set(config(true, "Bob")), rng),
        });
        let (client, server) = (Person::default(), Person::default());
        Self { pair, paths, client, server, references: [0; 2] }
    }

    /// The call has begun and run for two seconds.
    pub(crate) fn begun(seed: u64, links: &[DuplexConfig]) -> Self {
        let mut talk = Self::new(seed, links);
        talk.begin();
        talk
    }

    /// Calls, and goes on for two seconds.
    pub(crate) fn begin(&mut self) {
        self.call();
        self.run_until(Duration::from_secs(5), |talk| {
            talk.pair.client().is_in_call() && talk.pair.server().is_in_call()
        });
        self.run_for(Duration::from_secs(2));
    }

    pub(crate) fn call(&mut self) {
        let paths = self.paths.clone();
        self.act_client(|agent, now| agent.connect(now, &paths).expect("a call"));
    }

    pub(crate) fn act_client<T>(&mut self, act: impl FnOnce(&mut Agent, Time) -> T) -> T {
        self.pair.act_client(act).expect("quiet")
    }

    pub(crate) fn act_server<T>(&mut self, act: impl FnOnce(&mut Agent, Time) -> T) -> T {
        self.pair.act_server(act).expect("quiet")
    }

    pub(crate) fn stats(&self, side: Side) -> CallStats {
        match side {
            Side::Client => self.pair.client().stats(),
            Side::Server => self.pair.server().stats(),
        }
    }

    /// A path as one end sees it.
    pub(crate) fn path(&self, side: Side, index: usize) -> CallPath {
        let tuple = match side {
            Side::Client => self.paths[index],
            Side::Server => self.paths[index].reversed(),
        };
        let paths = self.stats(side).paths;
        paths.into_iter().find(|path| path.report.tuple == tuple).expect("the path")
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.pair.now() + span;
        while self.pair.now() < end {
            self.step();
        }
    }

    pub(crate) fn run_until(&mut self, at_most: Duration, is_done: impl Fn(&Self) -> bool) {
        let end = self.pair.now() + at_most;
        while !is_done(self) {
            assert!(self.pair.now() < end, "not done after {at_most:?}");
            self.step();
        }
    }

    /// Runs until both paths of both ends stand.
    pub(crate) fn run_until_all_paths_stand(&mut self) {
        self.run_until(Duration::from_secs(10), |talk| {
            [Side::Client, Side::Server].into_iter().all(|side| {
                (0..2).all(|path| talk.path(side, path).report.state == PathState::Active)
            })
        });
    }

    fn step(&mut self) {
        self.pair.run_for(STEP).expect("a network at peace");
        for (side, host) in [(Side::Client, CLIENT), (Side::Server, SERVER)] {
            let events = self.pair.sim.take_events(host);
            let person = match side {
                Side::Client => &mut self.client,
                Side::Server => &mut self.server,
            };
            let references = &mut self.references[usize::from(side == Side::Server)];
            let act = |agent: &mut Agent, now: Time| {
                person.take(now, events);
                person.speak(agent, now, references);
                person.listen(agent, now);
            };
            match side {
                Side::Client => self.pair.act_client(act),
                Side::Server => self.pair.act_server(act),
            }
            .expect("quiet");
        }
    }
}

impl Person {
    fn take(&mut self, now: Time, events: Vec<Event>) {
        for event in events {
            if let Event::Encode(rate) = &event {
                self.rate = *rate;
                self.rates.push((now, *rate));
            }
            self.wants_key |= matches!(event, Event::KeyWanted);
            self.events.push(event);
        }
    }

    /// Captures what is due: voice each 20 ms, a picture each 40 ms, as large as was asked for.
    fn speak(&mut self, agent: &mut Agent, now: Time, references: &mut u64) {
        if !agent.is_in_call() {
            (self.voice_at, self.picture_at) = (now, now);
            return;
        }
        if now >= self.voice_at {
            self.voice_at += Duration::from_millis(20);
            self.next_voice += 1;
            agent.push_voice(now, now, vec![0x48; VOICE_LEN].into());
        }
        if now >= self.picture_at && self.rate > Rate::ZERO {
            self.picture_at += Duration::from_millis(PICTURE_MS);
            self.show(agent, now, references);
        }
    }

    fn show(&mut self, agent: &mut Agent, now: Time, references: &mut u64) {
        let mean = self.rate.bytes_in(Duration::from_millis(PICTURE_MS)).max(16);
        let (kind, len) = match (std::mem::take(&mut self.wants_key), self.next_picture % 2) {
            (true, _) => (PictureKind::Key, mean * 3),
            (false, 0) => (PictureKind::Reference, mean * 6 / 5),
            (false, _) => (PictureKind::Disposable, mean * 4 / 5),
        };
        self.keys += u64::from(kind == PictureKind::Key);
        self.next_picture += 1;
        let mut bytes = vec![0; len as usize];
        bytes[..8].copy_from_slice(&references.to_be_bytes());
        *references += u64::from(kind.is_reference());
        agent.push_picture(now, Picture { at: now, kind, bytes: bytes.into() });
    }

    fn listen(&mut self, agent: &mut Agent, now: Time) {
        while let Some(playback) = agent.poll_playback(now) {
            let captured = Time::from_micros(playback.captured_us);
            match playback.what {
                Played::Voice(_) => self.heard.push((playback.frame, captured, playback.play_at)),
                Played::Concealed => self.concealed.push(now),
                Played::Picture { kind, bytes, .. } => {
                    self.decoder.decode(kind, &bytes);
                    self.seen.push((captured, playback.play_at.max(now)));
                }
            }
        }
    }

    /// Frames of voice of which mouth to ear took longer than this.
    pub(crate) fn late(&self, most: Duration) -> usize {
        self.heard.iter().filter(|(_, captured, at)| *at - *captured > most).count()
    }

    /// The longest time between two pictures that were shown, from `since` on.
    pub(crate) fn longest_freeze(&self, since: Time, until: Time) -> Duration {
        let shown: Vec<Time> = self.seen.iter().map(|(_, at)| *at).collect();
        let gaps = shown.windows(2).filter(|pair| pair[1] > since && pair[0] < until);
        gaps.map(|pair| pair[1] - pair[0]).max().unwrap_or(Duration::MAX)
    }

    /// Frames that were said and neither heard nor concealed: numbers that are missing.
    pub(crate) fn unheard(&self) -> u64 {
        let numbers: BTreeMap<u64, ()> = self.heard.iter().map(|(n, ..)| (*n, ())).collect();
        let (Some((first, ())), Some((last, ()))) =
            (numbers.first_key_value(), numbers.last_key_value())
        else {
            return 0;
        };
        last - first + 1 - numbers.len() as u64
    }

    pub(crate) fn logged(&self) -> Vec<String> {
        let lines = self.events.iter().filter_map(|event| {
            let Event::Log(line) = event else { return None };
            Some(line.text.clone())
        });
        lines.collect()
    }
}

/// The value below which 95 of 100 are.
pub(crate) fn p95(mut values: Vec<Duration>) -> Duration {
    values.sort_unstable();
    values[values.len() * 95 / 100]
}
