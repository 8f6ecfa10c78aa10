//! [`Call`]: an end of a call over an association.

use std::time::Duration;

use anabranch_call::{Monitor, Verdict};
use anabranch_sansio::{FourTuple, Machine as _, Rng, Time};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, Endpoint, EndpointConfig, Event,
    OutgoingMessage, PathId, PathPreference, PathState, Reliability, StreamId,
};
use bytes::Bytes;

use super::log::Log;
use super::media::{Frame, Kind, Part, Source};
use crate::host::{Host, Program};

const PORTS: (u16, u16) = (5_000, 5_001);

/// Chang 2010, table 2: the stream of handoff packets.
const HANDOFF_STREAM: StreamId = StreamId(9);
/// Streams that a call takes: control, voice, video.
const STREAMS: u16 = 3;
/// Section 3.5: "DATA part, the size of this segment is variable (min 0, max 1016 bytes)."
const DATA_MAX: usize = 1_016;
/// A frame of ours is one message, as long as associations take them.
const WHOLE: usize = usize::MAX;

/// An end of a call over an association.
pub(super) struct Call {
    /// As this end sees them.
    paths: Vec<FourTuple>,
    /// Who calls does so at once.
    config: Option<AssociationConfig>,
    association: Option<AssociationId>,
    /// Numbers of paths by their names in the association.
    known: Vec<(PathId, usize)>,
    treatment: Treatment,
    sources: [Source; 2],
    /// The stream of control packets; voice and video have the next ones.
    base: u16,
    /// Where pictures go, if that was chosen.
    preferred: Option<PathId>,
    pub(super) log: Log,
}

/// How frames are sent, and what happens when a path is silent.
#[derive(Debug, Clone)]
pub(super) enum Treatment {
    /// The paper's; without a monitor only SCTP notices.
    Papers { reliability: Reliability, monitor: Option<Watch> },
    /// Ours: unordered, each as long as it can be of use, voice over two paths.
    Ours { voice: Duration, video: Duration },
}

/// Chang 2010, section 2: the monitor of a call, by the addresses' numbers.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    pub(super) rule: Monitor<usize>,
    pub(super) threshold: Duration,
    /// Whether another address is available by SCTP's word, heartbeats and all, and not by data
    /// that came from it.
    pub(super) believes_sctp: bool,
}

/// Both ends are made alike.
pub(super) struct End {
    pub(super) config: AssociationConfig,
    pub(super) treatment: Treatment,
    pub(super) sources: [Source; 2],
}

impl End {
    pub(super) fn caller(self, paths: &[FourTuple], rng: Rng) -> Host<Call> {
        let endpoint = Endpoint::new(EndpointConfig::default(), rng);
        let config = Some(self.config);
        Host { endpoint, program: Call::new(paths, config, self.treatment, self.sources) }
    }

    pub(super) fn called(self, paths: &[FourTuple], rng: Rng) -> Host<Call> {
        let association = self.config;
        let config = EndpointConfig { accept: true, association, ..EndpointConfig::default() };
        let mut endpoint = Endpoint::new(config, rng);
        endpoint.set_local_addresses(paths.iter().map(|path| path.local).collect());
        Host { endpoint, program: Call::new(paths, None, self.treatment, self.sources) }
    }
}

impl Call {
    fn new(
        paths: &[FourTuple],
        config: Option<AssociationConfig>,
        treatment: Treatment,
        sources: [Source; 2],
    ) -> Self {
        Self {
            paths: paths.to_vec(),
            config,
            association: None,
            known: Vec::new(),
            treatment,
            sources,
            base: 0,
            preferred: None,
            log: Log::default(),
        }
    }

    /// Somebody knows that this path will be gone soon, and pictures take the other one.
    pub(super) fn leave(&mut self, endpoint: &Endpoint, path: usize) {
        let association = self.association.and_then(|id| endpoint.association(id));
        let Some(association) = association else { return };
        self.learn_paths(association);
        let other = self.known.iter().find(|(_, number)| *number != path);
        self.preferred = other.map(|(id, _)| *id);
    }

    fn call(&mut self, now: Time, endpoint: &mut Endpoint) {
        let Some(config) = self.config.take() else { return };
        let id = endpoint.connect(now, &self.paths, PORTS, config);
        self.association = Some(id.expect("a fresh endpoint takes these paths"));
    }

    fn take_events(&mut self, now: Time, endpoint: &mut Endpoint) {
        while let Some((id, event)) = endpoint.poll_event() {
            if matches!(event, Event::Connected { .. }) {
                self.association = Some(id);
                self.begin(now, endpoint);
            }
            if matches!(event, Event::DataPathChanged { .. }) && self.is_left_to_sctp() {
                self.log.switched.push(now);
            }
        }
    }

    const fn is_left_to_sctp(&self) -> bool {
        matches!(self.treatment, Treatment::Papers { monitor: None, .. })
    }

    fn begin(&mut self, now: Time, endpoint: &mut Endpoint) {
        let Some(association) = self.association.and_then(|id| endpoint.association_mut(id)) else {
            return;
        };
        for kind in Kind::ALL {
            // Voice goes before pictures, in all ways of calling.
            association.set_stream_priority(self.stream_of(kind), kind.index() as u16);
        }
        self.say(now, association, StreamId(self.base), "call");
    }

    fn read(&mut self, now: Time, association: &mut Association) {
        while let Some(message) = association.receive() {
            let Some(path) = self.number_of(association, message.path) else { continue };
            if let Treatment::Papers { monitor: Some(monitor), .. } = &mut self.treatment {
                monitor.rule.heard(now, path);
            }
            if message.stream == HANDOFF_STREAM {
                self.log.handoff_packets += 1;
            } else if let Some(part) = Part::decode(&message.payload) {
                self.log.take(now, part, message.payload.len(), path);
            }
        }
    }

    fn number_of(&mut self, association: &Association, path: PathId) -> Option<usize> {
        if !self.known.iter().any(|(id, _)| *id == path) {
            self.learn_paths(association);
        }
        self.known.iter().find(|(id, _)| *id == path).map(|(_, number)| *number)
    }

    fn learn_paths(&mut self, association: &Association) {
        let paths = association.stats().paths;
        let number = |tuple: FourTuple| self.paths.iter().position(|path| *path == tuple);
        self.known = paths.iter().filter_map(|path| Some((path.id, number(path.tuple)?))).collect();
    }

    fn check(&mut self, now: Time, association: &mut Association) {
        let Treatment::Papers { monitor: Some(monitor), .. } = &mut self.treatment else { return };
        // Nobody is silent once the call is over.
        if now < monitor.rule.next_at() || now >= self.sources[0].end {
            return;
        }
        let paths = association.stats().paths;
        let state = |number: usize| {
            let is_it = |path: &&anabranch_sctp::PathReport| path.tuple == self.paths[number];
            paths.iter().find(is_it).map_or(PathState::Inactive, |path| path.state)
        };
        let (believes_sctp, threshold) = (monitor.believes_sctp, monitor.threshold);
        let is_available = |number: usize, silence| match believes_sctp {
            true => state(number) == PathState::Active,
            false => silence < threshold,
        };
        match monitor.rule.check(now, is_available) {
            Verdict::Stay => {}
            Verdict::Switch(number) => {
                let path = paths.iter().find(|path| path.tuple == self.paths[number]);
                let Some(path) = path.map(|path| path.id) else { return };
                self.hand_over(now, association, path);
            }
            Verdict::End => {
                association.abort("no path is left");
                self.log.ended = Some(now);
            }
        }
    }

    /// Section 3.6: "When the application performs handoff procedure in order to avoid blocking
    /// with previous packet, the base streaming number will increase by 3."
    fn hand_over(&mut self, now: Time, association: &mut Association, path: PathId) {
        association.set_primary(path);
        self.log.switched.push(now);
        self.base = (self.base + STREAMS) % HANDOFF_STREAM.0;
        self.say(now, association, HANDOFF_STREAM, "handoff");
        for kind in Kind::ALL {
            association.set_stream_priority(self.stream_of(kind), kind.index() as u16);
        }
        self.say(now, association, StreamId(self.base), "goes on");
    }

    /// A word that must arrive. An association that takes none is over.
    fn say(&self, now: Time, association: &mut Association, stream: StreamId, word: &'static str) {
        let message = OutgoingMessage::new(stream, Bytes::from_static(word.as_bytes()));
        let _ = association.send(now, message);
    }

    const fn stream_of(&self, kind: Kind) -> StreamId {
        StreamId(self.base + 1 + kind.index() as u16)
    }

    /// What a full buffer does not take is lost, as is what comes before or after the association.
    fn speak(&mut self, now: Time, mut association: Option<&mut Association>) {
        for kind in Kind::ALL {
            while let Some(frame) = self.sources[kind.index()].take(now) {
                self.log.taken[kind.index()] = frame.number + 1;
                let Some(association) = association.as_mut() else { continue };
                for message in self.messages(frame) {
                    let _ = association.send(now, message);
                }
            }
        }
    }

    fn messages(&self, frame: Frame) -> Vec<OutgoingMessage> {
        let stream = self.stream_of(frame.kind);
        match &self.treatment {
            Treatment::Papers { reliability, .. } => {
                let message = |payload| OutgoingMessage {
                    reliability: *reliability,
                    ..OutgoingMessage::new(stream, payload)
                };
                frame.messages(DATA_MAX).map(message).collect()
            }
            Treatment::Ours { voice, video } => {
                let (lifetime, path) = match (frame.kind, self.preferred) {
                    (Kind::Voice, _) => (*voice, PathPreference::Two),
                    (Kind::Video, Some(path)) => (*video, PathPreference::Prefer(path)),
                    (Kind::Video, None) => (*video, PathPreference::Any),
                };
                let message = |payload| OutgoingMessage {
                    ordered: false,
                    reliability: Reliability::Lifetime(lifetime),
                    path,
                    ..OutgoingMessage::new(stream, payload)
                };
                frame.messages(WHOLE).map(message).collect()
            }
        }
    }
}

impl Program for Call {
    fn attend(&mut self, now: Time, endpoint: &mut Endpoint) {
        self.call(now, endpoint);
        self.take_events(now, endpoint);
        let association = self.association.and_then(|id| endpoint.association_mut(id));
        let mut association = association.filter(|it| it.is_established());
        if let Some(association) = association.as_mut() {
            self.read(now, association);
            self.check(now, association);
        }
        self.speak(now, association);
    }

    fn wakes_at(&self, endpoint: &Endpoint) -> Option<Time> {
        if self.config.is_some() {
            return Some(Time::ZERO);
        }
        let association = self.association.and_then(|id| endpoint.association(id));
        let check = match &self.treatment {
            Treatment::Papers { monitor: Some(monitor), .. } => Some(monitor.rule.next_at()),
            Treatment::Papers { .. } | Treatment::Ours { .. } => None,
        };
        let check = check.filter(|at| {
            *at < self.sources[0].end && association.is_some_and(Association::is_established)
        });
        self.sources.iter().filter_map(Source::next_at).chain(check).min()
    }
}
