//! One connection over several paths.

use anabranch_dccp::wire::ServiceCode;
use anabranch_dccp::{Multipath, MultipathConfig, MultipathEvent, MultipathId};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use bytes::Bytes;

use super::{PORTS, ended};
use crate::scenario::options::DccpOptions;
use crate::scenario::sink::Sink;
use crate::scenario::transport::{Change, Counters, Transport};

/// One end of a connection over several paths.
#[derive(Debug)]
pub(super) struct MultipathTransport {
    host: Multipath,
    service_code: ServiceCode,
    paths: Vec<FourTuple>,
    id: Option<MultipathId>,
    /// Messages that were taken.
    taken: u64,
    /// What the endpoint refused to begin.
    refused: Option<String>,
}

impl MultipathTransport {
    pub(super) fn new(
        options: &DccpOptions,
        config: MultipathConfig,
        paths: Vec<FourTuple>,
        accept: bool,
        rng: Rng,
    ) -> Self {
        let service_code = options.service_code;
        let mut host = Multipath::new(options.endpoint(), config, rng);
        if accept {
            host.listen(PORTS.1, vec![service_code]);
        }
        Self { host, service_code, paths, id: None, taken: 0, refused: None }
    }
}

impl Transport for MultipathTransport {
    fn open(&mut self, now: Time) {
        match self.host.connect(now, &self.paths, PORTS, self.service_code) {
            Ok(id) => self.id = Some(id),
            Err(error) => self.refused = Some(error.to_string()),
        }
    }

    fn send(&mut self, now: Time, message: Bytes) -> bool {
        let is_taken = self.id.is_some_and(|id| self.host.send(now, id, message).is_ok());
        self.taken += u64::from(is_taken);
        is_taken
    }

    fn receive(&mut self, now: Time, sink: &mut Sink) {
        let Some(id) = self.id else { return };
        while let Some(message) = self.host.receive(id) {
            sink.message(now, &message);
        }
    }

    fn counters(&self) -> Counters {
        // When it is over, nothing waits any more.
        let stats = self.id.and_then(|id| self.host.stats(id));
        let sent = stats.map_or(self.taken, |stats| stats.sent);
        Counters { sent_once: Some(sent), ..Counters::default() }
    }
}

impl Machine for MultipathTransport {
    type Event = Change;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.host.handle_datagram(now, datagram);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.host.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.host.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.host.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<Change> {
        if let Some(reason) = self.refused.take() {
            return Some(Change::Ended(reason));
        }
        let (id, event) = self.host.poll_event()?;
        Some(match event {
            MultipathEvent::Connected { .. } => {
                self.id = Some(id);
                Change::Ready
            }
            MultipathEvent::Writable => Change::Ready,
            MultipathEvent::Closed(reason) => Change::Ended(ended(reason)),
            MultipathEvent::Joined(_)
            | MultipathEvent::Left(..)
            | MultipathEvent::Prioritized(..)
            | MultipathEvent::AddressAdded { .. }
            | MultipathEvent::AddressRemoved(_)
            | MultipathEvent::Readable
            | _ => Change::Other,
        })
    }

    fn set_tracing(&mut self, on: bool) {
        self.host.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.host.poll_trace()
    }
}
