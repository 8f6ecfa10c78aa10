//! What a sender counts.

use anabranch_media::packetizer::PacketizerStats;
use anabranch_sansio::Rate;
use anabranch_transport::{ConnectionStats, StrangerStats, StreamStats};

use super::super::Report;
use super::super::backlog::Backlog;
use super::super::link::Streams;
use crate::treatment::MediaClass;

/// What a sender did and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct SenderStats {
    /// Media by class; in the order of [`MediaClass::ALL`].
    pub classes: [ClassStats; MediaClass::ALL.len()],
    /// The connection with the receiver, or the last one.
    pub connection: Option<ConnectionStats>,
    /// How the source was cut.
    pub packetizer: PacketizerStats,
    /// Bytes that wait for room in the transport's queue.
    pub backlog_bytes: usize,
    /// What the receiver said last.
    pub report: Option<Report>,
    /// Datagrams that belong to no connection.
    pub strangers: StrangerStats,
}

impl SenderStats {
    /// The counters of a class.
    #[must_use]
    pub const fn class(&self, class: MediaClass) -> &ClassStats {
        &self.classes[class.index()]
    }
}

/// What was sent of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassStats {
    /// What the transport did.
    pub stream: StreamStats,
    /// Messages dropped because more was pushed than could wait.
    pub dropped: u64,
    /// Messages that nobody was there to get.
    pub unsent: u64,
    /// Pictures that were left out whole, since the network does not carry them.
    pub left_out: u64,
    /// Pictures that were left out whole, since the receiver's output does not take them.
    pub left_out_for_output: u64,
    /// What the network carries beside all that is sent before this class; `None` where that is
    /// not known, or may be more.
    pub room: Option<Rate>,
}

/// Counters that outlive a connection.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// Of the connections that have ended.
    pub(super) streams: [StreamStats; MediaClass::ALL.len()],
    pub(super) unsent: [u64; MediaClass::ALL.len()],
    /// The last connection at its end.
    pub(super) last: Option<ConnectionStats>,
}

impl Totals {
    pub(super) const fn count_unsent(&mut self, class: MediaClass) {
        self.unsent[class.index()] += 1;
    }

    pub(super) fn on_connection_end(&mut self, stats: ConnectionStats, streams: &Streams) {
        for (total, stream) in self.streams.iter_mut().zip(streams) {
            total.add(stream);
        }
        self.last = Some(stats);
    }

    /// The counters of a class, those of the present connection included.
    pub(super) fn class(
        &self,
        class: MediaClass,
        present: &StreamStats,
        backlog: &Backlog,
    ) -> ClassStats {
        let mut stream = self.streams[class.index()];
        stream.add(present);
        ClassStats {
            stream,
            dropped: backlog.dropped(class),
            unsent: self.unsent[class.index()],
            ..ClassStats::default()
        }
    }
}
