//! [`Screen`]: the end of a media session that receives.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anabranch_media::playout::{Released, Timeliness};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use anabranch_session::{Event, Receiver, ReceiverConfig};

use super::assembly::{Assembly, Whole, forget_to};
use crate::scenario::delays::Delays;
use crate::scenario::end::{Received, Seen};
use crate::scenario::frames::FlowFrames;
use crate::scenario::options::MediaOptions;
use crate::scenario::stream::{UnitKey, counts};

/// Arrivals that are kept until the next look: more than come at one moment.
const ARRIVALS_MAX: usize = 1 << 12;

/// Takes what the session hands on in its time.
#[derive(Debug)]
pub(in crate::scenario) struct Screen {
    receiver: Receiver,
    assembly: Assembly,
    /// When the film ends, and how much later its end is to be seen.
    stop: Time,
    latency: Duration,
    /// When the last part so far of each unit came, and when it was sent.
    coming: BTreeMap<UnitKey, (Time, Time)>,
    /// Units of which a part came late.
    late: BTreeSet<UnitKey>,
    intact: u64,
    bytes_in_time: u64,
    first: Option<Time>,
    delays: Delays,
    frames: Option<FlowFrames>,
}

impl Screen {
    pub(in crate::scenario) fn new(
        options: &MediaOptions,
        paths: &[FourTuple],
        stop: Time,
        rng: Rng,
    ) -> Self {
        let session = ReceiverConfig::new(options.session(true));
        let config = ReceiverConfig { arrivals_max: ARRIVALS_MAX, ..session };
        let mut receiver = Receiver::new(config, rng);
        receiver.set_local_addresses(paths.iter().map(|path| path.local).collect());
        Self {
            receiver,
            assembly: Assembly::new(&options.video),
            stop,
            latency: options.latency,
            coming: BTreeMap::new(),
            late: BTreeSet::new(),
            intact: 0,
            bytes_in_time: 0,
            first: None,
            delays: Delays::new(),
            frames: None,
        }
    }

    /// Has every unit told to a table.
    pub(in crate::scenario) fn record(&mut self, frames: FlowFrames) {
        self.frames = Some(frames);
    }

    /// What arrived, now that the film is over.
    pub(in crate::scenario) fn received(&mut self) -> Received<'_> {
        let stillness = self.assembly.stillness(self.stop, self.latency);
        Received {
            arrived: self.intact,
            bytes_in_time: self.bytes_in_time,
            first: self.first,
            delays: &self.delays,
            seen: Some(Seen {
                late: self.late.len() as u64,
                freezes: stillness.freezes,
                frozen: stillness.frozen,
            }),
            ended: None,
        }
    }

    fn attend(&mut self, now: Time) {
        let mut is_due = false;
        while let Some(event) = self.receiver.poll_event() {
            is_due |= event == Event::MediaDue;
        }
        self.note_arrivals();
        while is_due && let Some(released) = self.receiver.poll_release(now) {
            self.take(now, &released);
        }
    }

    fn note_arrivals(&mut self) {
        while let Some(arrival) = self.receiver.poll_arrival() {
            if !counts(arrival.class) {
                continue;
            }
            let key = (arrival.track, arrival.frame, arrival.layer);
            let (came, sent) = self.coming.entry(key).or_insert((arrival.at, arrival.sent));
            (*came, *sent) = (arrival.at, arrival.sent.max(*sent));
            if arrival.timeliness == Timeliness::Late {
                self.late.insert(key);
            }
        }
    }

    fn take(&mut self, now: Time, released: &Released) {
        let Some(Whole { key, bytes }) = self.assembly.take(now, released) else { return };
        self.first.get_or_insert(now);
        self.note_delay(key);
        self.intact += u64::from(!self.late.contains(&key));
        if now <= self.stop + self.latency {
            self.bytes_in_time += bytes;
        }
    }

    fn note_delay(&mut self, key: UnitKey) {
        if let Some((came, sent)) = self.coming.get(&key) {
            self.delays.record(came.saturating_since(*sent));
            if let Some(frames) = &self.frames {
                frames.on_complete(key, *came, self.late.contains(&key));
            }
        }
        // What is before it was given up.
        forget_to(&mut self.coming, key);
    }
}

impl Machine for Screen {
    type Event = ();

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.receiver.handle_datagram(now, datagram);
        self.attend(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.receiver.handle_timeout(now);
        self.attend(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.receiver.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.receiver.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }

    fn set_tracing(&mut self, on: bool) {
        self.receiver.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.receiver.poll_trace()
    }
}
