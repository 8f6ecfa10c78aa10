//! [`DeferredReset`]: streams of the peer that begin anew once all before has arrived (RFC 6525
//! section 5.2.2).

use anabranch_wire::StreamId;

use super::Receiver;
use super::delivery::Completion;
use super::held::Held;
use super::reassembly::Complete;

/// A reset that waits for what the peer had sent before it.
#[derive(Debug)]
pub(super) struct DeferredReset {
    /// Sender's Last Assigned TSN, extended.
    last_assigned: u64,
    /// The streams, in order; none stands for all.
    streams: Vec<StreamId>,
    /// What arrived for these streams with a higher TSN.
    queued: Vec<(Completion, Complete)>,
}

impl DeferredReset {
    /// Whether what comes with this TSN is of a stream's new life.
    pub(super) fn precedes(&self, sequence: u64, stream: StreamId) -> bool {
        sequence > self.last_assigned && self.concerns(stream)
    }

    fn concerns(&self, stream: StreamId) -> bool {
        self.streams.is_empty() || self.streams.binary_search(&stream).is_ok()
    }

    /// Takes a message that belongs behind the reset; gives back any other.
    ///
    /// RFC 6525 section 5.2.2, E2: "any data arriving with a TSN larger than the Sender's Last
    /// Assigned TSN for the affected stream(s) MUST be queued locally and held until the cumulative
    /// acknowledgment point reaches the Sender's Last Assigned TSN."
    pub(super) fn hold(
        &mut self,
        sequence: u64,
        completion: Completion,
        message: Complete,
    ) -> Option<(Completion, Complete)> {
        if !self.precedes(sequence, message.stream) {
            return Some((completion, message));
        }
        self.queued.push((completion, message));
        None
    }

    pub(super) fn held(&self) -> Held {
        let lengths = self.queued.iter().map(|(_, message)| message.payload.len());
        lengths.fold(Held::default(), Held::with)
    }
}

impl Receiver {
    /// The peer begins these streams anew behind a TSN; none stands for all. Returns false if what
    /// it sent before has not all arrived: then it happens later, and
    /// [`settle_reset`](Self::settle_reset) says.
    pub(crate) fn reset(&mut self, last_assigned: u64, mut streams: Vec<StreamId>) -> bool {
        streams.sort_unstable();
        streams.dedup();
        let mut deferred = DeferredReset { last_assigned, streams, queued: Vec::new() };
        // A peer that asks anew means the same streams and what it sent since.
        if let Some(before) = self.deferred_reset.take() {
            deferred.queued = before.queued;
        }
        self.deferred_reset = Some(deferred);
        self.tracker.cumulative() >= last_assigned
    }

    /// Performs the reset that is due; returns its streams.
    pub(crate) fn settle_reset(&mut self) -> Option<Vec<StreamId>> {
        let cumulative = self.tracker.cumulative();
        let due = self.deferred_reset.take_if(|reset| reset.last_assigned <= cumulative)?;
        self.delivery.reset(&due.streams);
        self.reassembly.reset(|stream| due.concerns(stream));
        // E4: "Any queued TSNs (queued at step E2) MUST now be released and processed normally."
        for (completion, message) in due.queued {
            self.delivery.push(completion, message);
        }
        Some(due.streams)
    }
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::Time;
    use anabranch_wire::{Fsn, Level, Mid, Ppid, Tsn};

    use super::super::{Buffer, DataChunk, ReceiveOrder};
    use super::*;
    use crate::format::DataFormat;
    use crate::path_name::PathId;
    use crate::sequence::extend;

    fn receiver(streams: u16, format: DataFormat) -> Receiver {
        let buffer = Buffer {
            capacity: 1 << 16,
            message_size_max: 1 << 10,
            packet: 1 << 10,
            order: ReceiveOrder::Arrival,
        };
        Receiver::new(Tsn(1), streams, buffer, format)
    }

    fn data(tsn: u32, stream: u16, mid: u32) -> DataChunk<'static> {
        DataChunk {
            tsn: Tsn(tsn),
            stream: StreamId(stream),
            mid: Mid(mid),
            fsn: None,
            ppid: Ppid(tsn),
            unordered: false,
            beginning: true,
            ending: true,
            immediate: false,
            level: Level::Urgent,
            payload: b"media",
        }
    }

    fn arrive(receiver: &mut Receiver, chunks: &[DataChunk<'_>]) -> Vec<u32> {
        for chunk in chunks {
            receiver.on_data(Time::ZERO, PathId(0), chunk);
        }
        std::iter::from_fn(|| receiver.pop()).map(|message| message.ppid.0).collect()
    }

    #[test]
    fn a_reset_waits_for_what_was_sent_before_and_keeps_what_comes_after() {
        let mut receiver = receiver(4, DataFormat::Data);
        let last = extend(receiver.tracker.cumulative(), Tsn(3));
        assert_eq!(arrive(&mut receiver, &[data(1, 0, 0)]), [1]);
        assert!(!receiver.reset(last, vec![StreamId(0)]));
        // TSN 2 is missing; 4 is of the stream's new life, 5 of another stream.
        let early = [data(3, 0, 2), data(4, 0, 0), data(5, 1, 0)];
        assert_eq!(arrive(&mut receiver, &early), [5]);
        assert_eq!(receiver.settle_reset(), None);
        assert_eq!(arrive(&mut receiver, &[data(2, 0, 1)]), [2, 3]);
        assert_eq!(receiver.settle_reset(), Some(vec![StreamId(0)]));
        assert_eq!(arrive(&mut receiver, &[data(6, 0, 1)]), [4, 6]);
        assert!(receiver.held().is_empty());
        assert_eq!(receiver.settle_reset(), None);
    }

    #[test]
    fn a_reset_of_no_stream_is_one_of_all() {
        let mut receiver = receiver(4, DataFormat::Data);
        let last = extend(receiver.tracker.cumulative(), Tsn(2));
        arrive(&mut receiver, &[data(1, 0, 0), data(2, 3, 0)]);
        assert!(receiver.reset(last, Vec::new()));
        assert_eq!(receiver.settle_reset(), Some(Vec::new()));
        assert_eq!(arrive(&mut receiver, &[data(3, 0, 0), data(4, 3, 0)]), [3, 4]);
    }

    #[test]
    fn what_is_held_for_a_reset_counts_for_the_window() {
        let mut receiver = receiver(1, DataFormat::Data);
        let last = extend(receiver.tracker.cumulative(), Tsn(1));
        assert!(!receiver.reset(last, Vec::new()));
        arrive(&mut receiver, &[data(2, 0, 0), data(3, 0, 1)]);
        assert_eq!(receiver.held(), Held { payload: 2 * 5, records: 2 });
    }

    #[test]
    fn fragments_of_both_lives_of_a_stream_stay_apart() {
        let mut receiver = receiver(1, DataFormat::IData);
        let part = |tsn, fsn: u32, ending| DataChunk {
            fsn: Some(Fsn(fsn)),
            beginning: fsn == 0,
            ending,
            ..data(tsn, 0, 0)
        };
        let last = extend(receiver.tracker.cumulative(), Tsn(2));
        assert!(!receiver.reset(last, vec![StreamId(0)]));
        let early = [part(1, 0, false), part(3, 0, false), part(4, 1, true)];
        assert_eq!(arrive(&mut receiver, &early), [0; 0], "TSN 2 is missing");
        assert_eq!(arrive(&mut receiver, &[part(2, 1, true)]), [1]);
        assert_eq!(receiver.settle_reset(), Some(vec![StreamId(0)]));
        assert_eq!(arrive(&mut receiver, &[]), [3]);
        assert!(receiver.held().is_empty());
    }
}
