//! [`Screen`]: the end of a media session that receives.

use std::collections::{BTreeMap, BTreeSet};

use anabranch_media::cutter::UnitJoiner;
use anabranch_media::playout::{Released, Timeliness};
use anabranch_media::{Layer, Unit};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use anabranch_session::{Event, Receiver, ReceiverConfig};

use crate::scenario::delays::Delays;
use crate::scenario::end::{Received, Seen};
use crate::scenario::frames::FlowFrames;
use crate::scenario::judge::Judge;
use crate::scenario::options::MediaOptions;

/// Arrivals that are kept until the next look: more than come at one moment.
const ARRIVALS_MAX: usize = 1 << 12;

/// A layer of a picture: its number first.
type UnitKey = (u64, Layer);

/// Takes what the session hands on in its time.
#[derive(Debug)]
pub(in crate::scenario) struct Screen {
    receiver: Receiver,
    joiner: UnitJoiner,
    judge: Judge,
    stop: Time,
    /// When the last part so far of each unit came.
    coming: BTreeMap<UnitKey, Time>,
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
            joiner: UnitJoiner::new(),
            judge: Judge::new(options.film.clone()),
            stop: stop + options.latency,
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
        self.judge.on_end(self.stop);
        Received {
            arrived: self.intact,
            bytes_in_time: self.bytes_in_time,
            first: self.first,
            delays: &self.delays,
            seen: Some(Seen {
                late: self.late.len() as u64,
                freezes: self.judge.freezes,
                frozen: self.judge.frozen,
            }),
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
            let unit = (arrival.frame, arrival.layer);
            self.coming.insert(unit, arrival.at);
            if arrival.timeliness == Timeliness::Late {
                self.late.insert(unit);
            }
        }
    }

    fn take(&mut self, now: Time, released: &Released) {
        let Some(unit) = self.joiner.push(released) else { return };
        let key = (unit.frame, unit.layer);
        self.first.get_or_insert(now);
        self.note_delay(key, &unit);
        self.intact += u64::from(!self.late.contains(&key));
        if now <= self.stop {
            self.bytes_in_time += unit.bytes.len() as u64;
        }
        if unit.layer == Layer(0) {
            self.judge.on_picture(now, unit.frame);
        }
    }

    fn note_delay(&mut self, key: UnitKey, unit: &Unit) {
        if let Some(came) = self.coming.get(&key) {
            self.delays.record(came.saturating_since(unit.at));
            if let Some(frames) = &self.frames {
                frames.on_complete(key.0, key.1, *came, self.late.contains(&key));
            }
        }
        // What is before it was given up.
        self.coming = self.coming.split_off(&key);
        self.coming.remove(&key);
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
