//! Several connections over one path.

use anabranch_dccp::wire::ServiceCode;
use anabranch_dccp::{Bundle, BundleConfig, BundleEvent};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use bytes::Bytes;

use super::PORTS;
use crate::scenario::options::DccpOptions;
use crate::scenario::sink::Sink;
use crate::scenario::transport::{Change, Counters, Transport};

/// One end of a bundle.
#[derive(Debug)]
pub(super) struct BundleTransport {
    bundle: Bundle,
    service_code: ServiceCode,
    path: Option<FourTuple>,
    /// Messages in a row that go by one connection.
    group: u64,
    /// Messages that were taken.
    taken: u64,
    /// What the endpoint refused to begin.
    refused: Option<String>,
}

impl BundleTransport {
    pub(super) fn new(
        options: &DccpOptions,
        (config, group): (BundleConfig, u64),
        path: Option<FourTuple>,
        accept: bool,
        rng: Rng,
    ) -> Self {
        let service_code = options.service_code;
        let mut bundle = Bundle::new(options.endpoint(), config, rng);
        if accept {
            bundle.listen(PORTS.1, vec![service_code]);
        }
        Self { bundle, service_code, path, group, taken: 0, refused: None }
    }
}

impl Transport for BundleTransport {
    fn open(&mut self, now: Time) {
        let Some(path) = self.path else { return };
        if let Err(error) = self.bundle.connect(now, path, PORTS, self.service_code) {
            self.refused = Some(error.to_string());
        }
    }

    fn send(&mut self, _now: Time, message: Bytes) -> bool {
        let is_taken = self.bundle.send(self.taken / self.group, &message).is_ok();
        self.taken += u64::from(is_taken);
        is_taken
    }

    fn receive(&mut self, now: Time, sink: &mut Sink) {
        while let Some(message) = self.bundle.receive() {
            sink.message(now, &message);
        }
    }

    fn counters(&self) -> Counters {
        let waiting = self.bundle.waiting() as u64;
        Counters { sent_once: Some(self.taken - waiting), ..Counters::default() }
    }
}

impl Machine for BundleTransport {
    type Event = Change;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.bundle.handle_datagram(now, datagram);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.bundle.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.bundle.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.bundle.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<Change> {
        if let Some(reason) = self.refused.take() {
            return Some(Change::Ended(reason));
        }
        Some(match self.bundle.poll_event()? {
            BundleEvent::Connected | BundleEvent::Writable => Change::Ready,
            BundleEvent::Closed => Change::Ended("its connections were closed".to_owned()),
            BundleEvent::Readable | BundleEvent::Member(..) | _ => Change::Other,
        })
    }

    fn set_tracing(&mut self, on: bool) {
        self.bundle.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.bundle.poll_trace()
    }
}
