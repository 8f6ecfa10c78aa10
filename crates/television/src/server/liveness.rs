//! [`Liveness`]: whether a viewer is there, and takes what it is sent.

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_transport::Connection;

use super::Carrier;

/// A viewer of which nothing is heard, or that takes nothing, for so long is given up. What it held
/// is free within ten seconds, whatever the round trip is; the association may fail before.
const PATIENCE: Duration = Duration::from_secs(8);

/// When a viewer was last heard, and when it last took what it was sent.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    /// Since when something waits for the viewer, and the bytes that it had taken by then.
    owing: Option<(Time, u64)>,
    /// When to look again.
    next: Option<Time>,
}

impl Liveness {
    /// Looks at a viewer's connection. Returns what is wrong if it must end.
    pub(super) fn look(
        &mut self,
        now: Time,
        carrier: Carrier,
        connection: &dyn Connection,
    ) -> Option<&'static str> {
        // A native viewer answers heartbeats, several in each second; inside DTLS they are rare,
        // and connectivity checks tell who is there.
        let heard = connection.last_heard().filter(|_| carrier == Carrier::Native);
        let silent = heard.map(|at| at + PATIENCE);
        let stalled = self.owing(now, connection).map(|since| since + PATIENCE);
        self.next = None;
        if silent.is_some_and(|at| at <= now) {
            return Some("nothing was heard of the viewer for eight seconds");
        }
        if stalled.is_some_and(|at| at <= now) {
            return Some("the viewer took nothing of what it was sent for eight seconds");
        }
        self.next = silent.into_iter().chain(stalled).min();
        None
    }

    /// When to [`look`](Self::look) again, if nothing else is to be done before.
    pub(super) const fn next(&self) -> Option<Time> {
        self.next
    }

    /// Since when the viewer owes an acknowledgement. Only one of data counts: who has no room
    /// answers probes, and skips what its server gives up, for ever.
    fn owing(&mut self, now: Time, connection: &dyn Connection) -> Option<Time> {
        let acked = connection.bytes_acked();
        if self.owing.is_some_and(|(_, before)| before != acked) {
            self.owing = None;
        }
        if self.owing.is_none() && !connection.is_drained() {
            self.owing = Some((now, acked));
        }
        self.owing.map(|(since, _)| since)
    }
}
