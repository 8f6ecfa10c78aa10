//! [`Studio`]: the end of a media session that sends.

use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use anabranch_session::{Event, Sender, SenderConfig};

use super::reel::Reel;
use crate::scenario::end::Sent;
use crate::scenario::frames::FlowFrames;
use crate::scenario::options::MediaOptions;
use crate::scenario::own::Own;
use crate::scenario::transport::Counters;

/// How long it waits before it calls again, as `anabranch send` does.
const CALL_AGAIN: Duration = Duration::from_secs(1);

/// Calls the other end, and sends a film from when there is a session.
#[derive(Debug)]
pub(in crate::scenario) struct Studio {
    sender: Sender,
    paths: Vec<FourTuple>,
    reel: Reel,
    start: Time,
    stop: Time,
    calls_at: Option<Time>,
    /// When the film began.
    begun: Option<Time>,
    units: u64,
    ended: Option<String>,
    frames: Option<FlowFrames>,
}

impl Studio {
    pub(in crate::scenario) fn new(
        options: &MediaOptions,
        own: &Own,
        paths: Vec<FourTuple>,
        (start, stop): (Time, Time),
        rng: Rng,
    ) -> Self {
        let reel = Reel::new(&options.video);
        let mut session = options.session(false);
        own.configure(&mut session.sctp.association);
        let config = SenderConfig {
            format: reel.format(),
            treatments: options.treatment.table(),
            ..SenderConfig::mpeg_ts(session)
        };
        Self {
            sender: Sender::new(config, rng),
            paths,
            reel,
            start,
            stop,
            calls_at: Some(start),
            begun: None,
            units: 0,
            ended: None,
            frames: None,
        }
    }

    /// Has every unit told to a table.
    pub(in crate::scenario) fn record(&mut self, frames: FlowFrames) {
        self.frames = Some(frames);
    }

    pub(in crate::scenario) fn sent(&self) -> Sent {
        let mut counters = Counters::default();
        for class in &self.sender.stats().classes {
            counters.retransmitted += class.stream.chunks_retransmitted;
            counters.given_up += class.stream.abandoned() + class.left_out + class.dropped;
        }
        let ended = self.ended.clone();
        Sent { start: self.start, messages: self.units, is_paced: true, counters, ended }
    }

    /// When the next picture or packet is ready.
    fn next_at(&self) -> Option<Time> {
        let at = self.begun? + self.reel.next_offset();
        (at < self.stop).then_some(at)
    }

    fn attend(&mut self, now: Time) {
        while let Some(event) = self.sender.poll_event() {
            match event {
                Event::Connected(_) => self.begun = self.begun.or(Some(now)),
                Event::Refused(refusal) => self.lose(now, refusal.to_string()),
                Event::Disconnected(how) => self.lose(now, how.to_string()),
                Event::TurnedAway { .. }
                | Event::Path(_)
                | Event::SourceChanged(_)
                | Event::Writable
                | Event::MediaDue
                | Event::RateChanged(_)
                | Event::Dropping(_)
                | Event::OutputBehind(_) => {}
            }
        }
        while let Some(at) = self.next_at().filter(|at| *at <= now) {
            let (units, sent) = self.reel.send(now, at, &mut self.sender, self.frames.as_ref());
            self.units += units;
            if let Err(error) = sent {
                self.ended.get_or_insert(error.to_string());
            }
        }
    }

    fn lose(&mut self, now: Time, reason: String) {
        self.ended.get_or_insert(reason);
        self.calls_at = (now + CALL_AGAIN < self.stop).then_some(now + CALL_AGAIN);
    }
}

impl Machine for Studio {
    type Event = ();

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.sender.handle_datagram(now, datagram);
        self.attend(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.calls_at.take_if(|at| *at <= now).is_some()
            && let Err(error) = self.sender.connect(now, &self.paths)
        {
            self.ended.get_or_insert(error.to_string());
        }
        self.sender.handle_timeout(now);
        self.attend(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.sender.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let call = self.calls_at.map(|at| Wakeup { at, why: "a call" });
        let picture = self.next_at().map(|at| Wakeup { at, why: "media is ready" });
        call.into_iter().chain(picture).chain(self.sender.poll_timeout()).min()
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }

    fn set_tracing(&mut self, on: bool) {
        self.sender.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.sender.poll_trace()
    }
}
