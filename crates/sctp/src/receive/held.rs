//! [`Held`]: what a peer makes us keep.

/// What a message or a run of fragments costs beside its bytes.
const RECORD_OVERHEAD: usize = 96;

/// Messages and runs of fragments that are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Payload bytes, which is what the peer counts against our window.
    pub(super) payload: usize,
    /// How many of them there are.
    pub(super) records: usize,
}

impl Held {
    pub(super) const fn add(&mut self, payload: usize) {
        self.payload += payload;
        self.records += 1;
    }

    pub(super) const fn remove(&mut self, payload: usize) {
        self.payload -= payload;
        self.records -= 1;
    }

    pub(super) const fn and(self, other: Self) -> Self {
        let (payload, records) = (self.payload + other.payload, self.records + other.records);
        Self { payload, records }
    }

    /// These and one more.
    pub(super) const fn with(mut self, payload: usize) -> Self {
        self.add(payload);
        self
    }

    pub(super) const fn is_empty(self) -> bool {
        self.records == 0
    }

    /// Bytes that are taken, overhead included.
    pub(crate) const fn cost(self) -> usize {
        self.payload + self.records * RECORD_OVERHEAD
    }
}
