//! [`Station`]: the end that sends.

use std::sync::Arc;

use anabranch_media::{Class, Layer, Unit};
use anabranch_rtc::CertificateError;
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use anabranch_television::channel::{ChannelId, Label};
use anabranch_television::{OpenToAll, Server, ServerConfig, Television, TelevisionConfig};

use super::Programme;
use crate::scenario::end::Sent;
use crate::scenario::frames::{FlowFrames, Offered};
use crate::scenario::options::TelevisionOptions;
use crate::scenario::own::Own;
use crate::scenario::transport::Counters;

/// A server with one channel, which is on air from the beginning of the run.
#[derive(Debug)]
pub(in crate::scenario) struct Station {
    server: Server,
    channel: ChannelId,
    programme: Arc<Programme>,
    /// When the viewer calls.
    start: Time,
    stop: Time,
    /// The number of what comes next.
    next: u64,
    /// From the last key picture on: where whoever begins to watch enters.
    kept: Vec<Unit>,
    watching: usize,
    /// What was sent for somebody, or would have been.
    units: u64,
    frames: Option<FlowFrames>,
}

impl Station {
    pub(in crate::scenario) fn new(
        options: &TelevisionOptions,
        own: &Own,
        paths: &[FourTuple],
        (start, stop): (Time, Time),
        rng: Rng,
    ) -> Result<Self, CertificateError> {
        let mut config = ServerConfig::default();
        config.native.association.extensions.encryption.clone_from(&options.encryption);
        own.configure(&mut config.native.association);
        let television = Television::new(TelevisionConfig::default(), Box::new(OpenToAll));
        let mut server = Server::new(television, config, rng)?;
        server.set_local_addresses(paths.iter().map(|path| path.local).collect());
        let formats = options.programme.formats();
        let channel = server.act(|television| {
            let label = Label { number: 1, name: "film".to_owned(), group: None, open: true };
            let channel = television.add_channel(label);
            television.begin(channel, formats.video, formats.audio);
            channel
        });
        Ok(Self {
            server,
            channel,
            programme: Arc::clone(&options.programme),
            start,
            stop,
            next: 0,
            kept: Vec::new(),
            watching: 0,
            units: 0,
            frames: None,
        })
    }

    /// Has every unit told to a table.
    pub(in crate::scenario) fn record(&mut self, frames: FlowFrames) {
        self.frames = Some(frames);
    }

    pub(in crate::scenario) fn sent(&self) -> Sent {
        let viewers = self.server.television().viewers();
        let networks = viewers.filter_map(|viewer| self.server.network(viewer.id));
        let paths = networks.flat_map(|network| network.paths);
        let retransmitted = paths.map(|path| path.chunks_retransmitted).sum();
        let counters = Counters { retransmitted, ..Counters::default() };
        let (start, messages) = (self.start, self.units);
        Sent { start, messages, is_paced: true, counters, ended: None }
    }

    /// When the next picture or frame of sound is ready.
    fn next_at(&self) -> Option<Time> {
        let at = Time::ZERO + self.programme.offset(self.next);
        (at < self.stop).then_some(at)
    }

    fn attend(&mut self, now: Time) {
        let watching = self.server.television().watched_by(self.channel);
        if watching > self.watching {
            // Ready for the one who came now.
            let kept = std::mem::take(&mut self.kept);
            kept.iter().for_each(|unit| self.offer(unit, now));
            self.kept = kept;
        }
        self.watching = watching;
        while let Some(at) = self.next_at().filter(|at| *at <= now) {
            for unit in self.programme.units(self.next, at) {
                if unit.class == Class::KeyFrame && unit.layer == Layer::BASE {
                    self.kept.clear();
                }
                if self.watching > 0 {
                    self.offer(&unit, at);
                }
                let channel = self.channel;
                self.server.act(|television| television.push(channel, &unit));
                self.kept.push(unit);
            }
            self.next += 1;
        }
    }

    fn offer(&mut self, unit: &Unit, ready: Time) {
        self.units += 1;
        if let Some(frames) = &self.frames {
            frames.on_ready(Offered::unit(unit).ready_at(ready));
        }
    }
}

impl Machine for Station {
    type Event = ();

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.server.handle_datagram(now, datagram);
        self.attend(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.server.handle_timeout(now);
        self.attend(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.server.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let next = self.next_at().map(|at| Wakeup { at, why: "media is ready" });
        next.into_iter().chain(self.server.poll_timeout()).min()
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }

    fn set_tracing(&mut self, on: bool) {
        self.server.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.server.poll_trace()
    }
}
