//! [`MessageEnd`]: one end of a flow of messages, its application included.

use anabranch_sansio::{Datagram, Machine, Time, TraceRecord, Transmit, Wakeup};

use super::end::{Received, Sent};
use super::sink::{Sink, message};
use super::source::Source;
use super::transport::{Change, Transport};

/// One end of a flow: a transport, and the application that sends or reads.
pub(super) struct MessageEnd {
    transport: Box<dyn Transport + Send>,
    application: Application,
    /// When it calls the other end, if it has yet to.
    opens_at: Option<Time>,
    /// Whether the transport takes messages, as far as is known.
    is_ready: bool,
    ended: Option<String>,
}

/// What uses a transport.
enum Application {
    Sends(Source),
    Reads(Sink),
}

impl MessageEnd {
    /// The end that sends, from the source's start on.
    pub(super) fn sender(transport: Box<dyn Transport + Send>, source: Source) -> Self {
        let opens_at = Some(source.start);
        let application = Application::Sends(source);
        Self { transport, application, opens_at, is_ready: false, ended: None }
    }

    /// The end that reads.
    pub(super) fn receiver(transport: Box<dyn Transport + Send>, sink: Sink) -> Self {
        let application = Application::Reads(sink);
        Self { transport, application, opens_at: None, is_ready: false, ended: None }
    }

    pub(super) fn sent(&mut self) -> Option<Sent> {
        let Application::Sends(source) = &mut self.application else { return None };
        Some(Sent {
            start: source.start,
            messages: source.offered(),
            is_paced: source.is_paced(),
            counters: self.transport.counters(),
            ended: self.ended.clone(),
        })
    }

    pub(super) const fn received(&self) -> Option<Received<'_>> {
        match &self.application {
            Application::Reads(sink) => Some(sink.received()),
            Application::Sends(_) => None,
        }
    }

    const fn source(&self) -> Option<&Source> {
        match &self.application {
            Application::Sends(source) => Some(source),
            Application::Reads(_) => None,
        }
    }

    /// Does what an application does after something happened. Whether it sent something.
    fn attend(&mut self, now: Time) -> bool {
        while let Some(change) = self.transport.poll_event() {
            match change {
                Change::Ready => self.is_ready = true,
                Change::Ended(reason) => {
                    self.is_ready = false;
                    self.ended.get_or_insert(reason);
                }
                Change::Other => {}
            }
        }
        match &mut self.application {
            Application::Reads(sink) => {
                self.transport.receive(now, sink);
                false
            }
            Application::Sends(source) => {
                let mut has_sent = false;
                while self.is_ready
                    && let Some(ready) = source.ready(now)
                {
                    self.is_ready = self.transport.send(now, message(ready, source.size()));
                    if self.is_ready {
                        source.take();
                        has_sent = true;
                    }
                }
                has_sent
            }
        }
    }
}

impl Machine for MessageEnd {
    type Event = ();

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.transport.handle_datagram(now, datagram);
        self.attend(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.opens_at.take_if(|at| *at <= now).is_some() {
            self.transport.open(now);
        }
        self.transport.handle_timeout(now);
        self.attend(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        if let Some(transmit) = self.transport.poll_transmit(now, buf) {
            return Some(transmit);
        }
        // What went out may have made room for more.
        if self.attend(now) { self.transport.poll_transmit(now, buf) } else { None }
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let open = self.opens_at.map(|at| Wakeup { at, why: "the flow begins" });
        let source = self.source().filter(|_| self.is_ready).and_then(Source::wakes_at);
        let source = source.map(|at| Wakeup { at, why: "a message is ready" });
        open.into_iter().chain(source).chain(self.transport.poll_timeout()).min()
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }

    fn set_tracing(&mut self, on: bool) {
        self.transport.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.transport.poll_trace()
    }
}
