//! [`Host`]: an endpoint, and the program that uses it.

use anabranch_sansio::{Datagram, Machine, Time, TraceRecord, Transmit, Wakeup};
use anabranch_sctp::Endpoint;

/// What uses an endpoint: it is asked after whatever happened there.
pub(crate) trait Program {
    /// Reads, writes and takes events.
    fn attend(&mut self, now: Time, endpoint: &mut Endpoint);

    /// When it wants to be asked without anything having happened.
    fn wakes_at(&self, endpoint: &Endpoint) -> Option<Time>;
}

/// An endpoint, and the program that uses it.
pub(crate) struct Host<P> {
    pub(crate) endpoint: Endpoint,
    pub(crate) program: P,
}

impl<P: Program> Machine for Host<P> {
    type Event = ();

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.endpoint.handle_datagram(now, datagram);
        self.program.attend(now, &mut self.endpoint);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.endpoint.handle_timeout(now);
        self.program.attend(now, &mut self.endpoint);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.endpoint.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let at = self.program.wakes_at(&self.endpoint);
        let program = at.map(|at| Wakeup { at, why: "the program" });
        program.into_iter().chain(self.endpoint.poll_timeout()).min()
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }

    fn set_tracing(&mut self, on: bool) {
        self.endpoint.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.endpoint.poll_trace()
    }
}
