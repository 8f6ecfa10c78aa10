//! [`Window`]: what the peer has room for.

/// The peer's receive window as we know it, and the state of probing it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Window {
    pub(super) rwnd: usize,
    /// Whether one chunk may be sent although the window is closed.
    probe_allowed: bool,
    /// The chunk that was sent although the window was closed.
    pub(super) probe: Option<u64>,
    /// Whether a SACK came since the last probe or timeout.
    answered: bool,
}

impl Window {
    /// The window of a fresh association.
    pub(super) fn announced(a_rwnd: usize) -> Self {
        Self { rwnd: a_rwnd, ..Self::default() }
    }

    /// RFC 9260 section 6.1, rule A: "the data sender MUST NOT transmit new data to any destination
    /// transport address if its peer's rwnd indicates that the peer has no buffer space (i.e., rwnd
    /// is smaller than the size of the next DATA chunk; see Section 6.2.1), except for zero window
    /// probes."
    pub(super) const fn admits(&self, payload: usize) -> bool {
        payload <= self.rwnd || self.probe_allowed
    }

    /// New data was sent.
    pub(super) fn on_sent(&mut self, sequence: u64, payload: usize) {
        if payload > self.rwnd {
            self.probe = Some(sequence);
        }
        self.probe_allowed = false;
        self.rwnd = self.rwnd.saturating_sub(payload);
    }

    /// One chunk may be sent although the window is closed.
    pub(super) const fn allow_probe(&mut self) {
        self.probe_allowed = true;
        self.answered = false;
    }

    /// Whether a chunk is under way that was sent although the window was closed.
    pub(super) const fn is_probed(&self) -> bool {
        self.probe.is_some()
    }

    /// A SACK told the window, and how much of it is taken.
    pub(super) fn on_sack(&mut self, a_rwnd: usize, in_flight: usize) {
        // RFC 9260 section 6.2.1, D ii: "Set rwnd equal to the newly received a_rwnd minus the
        // number of bytes still outstanding after processing the Cumulative TSN Ack and the Gap Ack
        // Blocks."
        self.rwnd = a_rwnd.saturating_sub(in_flight);
        self.probe_allowed = false;
        self.answered = true;
    }

    /// Whether the timeout that is being handled is one of a zero window probe that the peer
    /// answered.
    ///
    /// RFC 9260 section 6.1, rule A: "If the sender continues to receive SACK chunks from the peer
    /// while doing zero window probing, the unacknowledged window probes SHOULD NOT increment the
    /// error counter for the association or any destination transport address."; "Zero window
    /// probing does not affect the calculation of cwnd."
    pub(super) fn take_answered_probe(&mut self) -> bool {
        let answered = std::mem::take(&mut self.answered);
        self.rwnd == 0 && self.probe.is_some() && answered
    }
}
