//! [`SctpConfig`]: how associations for media are set up, in media's words.

use std::time::Duration;

use anabranch_sansio::Rate;
use anabranch_sctp::{
    AssociationConfig, Encryption, EndpointConfig, PathSchedulerKind, ReceiveOrder,
    RetransmissionPolicy,
};

use crate::Bond;

/// How the associations of an [`SctpTransport`](super::SctpTransport) are set up.
#[derive(Debug, Clone)]
pub struct SctpConfig {
    /// What is here beyond the methods of this type is SCTP's own, for those who study it.
    pub association: AssociationConfig,
    /// Whether callers are served. Default: no.
    pub listen: bool,
    /// Associations that may exist at once.
    pub connections_max: usize,
    /// Datagrams of one size that a single transmission may hold (UDP segmentation offload).
    /// Default: 1.
    pub segments_max: usize,
}

impl SctpConfig {
    /// For live media on networks of every kind.
    #[must_use]
    pub fn media() -> Self {
        Self::of(AssociationConfig::media())
    }

    /// On top of these settings.
    #[must_use]
    pub fn of(association: AssociationConfig) -> Self {
        let EndpointConfig { associations_max, segments_max, .. } = EndpointConfig::default();
        Self { association, listen: false, connections_max: associations_max, segments_max }
    }

    /// Encrypted, or in the open.
    #[must_use]
    pub fn with_encryption(mut self, encryption: Option<Encryption>) -> Self {
        self.association.extensions.encryption = encryption;
        self
    }

    /// Whether it is encrypted.
    #[must_use]
    pub const fn is_encrypted(&self) -> bool {
        self.association.extensions.encryption.is_some()
    }

    /// With this way to use several paths.
    #[must_use]
    pub fn with_bond(mut self, bond: Bond) -> Self {
        let (path_scheduler, retransmission_policy) = match bond {
            Bond::Balance => (PathSchedulerKind::EarliestDelivery, RetransmissionPolicy::Earliest),
            Bond::Backup => (PathSchedulerKind::Primary, RetransmissionPolicy::Rfc9260),
            Bond::Dup => (PathSchedulerKind::Duplicate, RetransmissionPolicy::Earliest),
        };
        self.association.paths.path_scheduler = path_scheduler;
        self.association.recovery.retransmission_policy = retransmission_policy;
        self
    }

    /// With so many streams each way.
    #[must_use]
    pub const fn with_streams(mut self, streams: u16) -> Self {
        self.association.streams.outbound_streams = streams;
        self.association.streams.inbound_streams_max = streams;
        self
    }

    /// With packets of `first` IP bytes from the start; longer ones are tried out up to `largest`.
    #[must_use]
    pub const fn with_path_mtu(mut self, first: usize, largest: Option<usize>) -> Self {
        self.association.paths.path_mtu = first;
        self.association.paths.path_mtu_search_max = largest;
        self
    }

    /// The peer learns our paths by their packets alone, not by addresses.
    #[must_use]
    pub const fn with_unannounced_addresses(mut self) -> Self {
        self.association.paths.announces_addresses = false;
        self
    }

    /// A call fails after so many packets without an answer, sent at even intervals.
    #[must_use]
    pub const fn with_call_attempts(mut self, attempts: u32) -> Self {
        self.association.recovery.max_init_retransmits = attempts;
        self.association.timers.t1_steady = attempts;
        self
    }

    /// A peer that leaves so many packets in a row unanswered is lost.
    #[must_use]
    pub const fn with_retransmissions_max(mut self, retransmissions: u32) -> Self {
        self.association.recovery.association_max_retrans = retransmissions;
        self
    }

    /// The end of a message's lifetime may be noticed so late, and a second copy leave.
    #[must_use]
    pub const fn with_slack(mut self, slack: Duration) -> Self {
        self.association.timers.slack = slack;
        self
    }

    /// Messages have at most so many bytes.
    #[must_use]
    pub const fn with_message_size_max(mut self, bytes: usize) -> Self {
        self.association.buffers.message_size_max = bytes;
        self
    }

    /// At most so many bytes wait to be sent.
    #[must_use]
    pub const fn with_send_buffer(mut self, bytes: usize) -> Self {
        self.association.buffers.send_buffer = bytes;
        self
    }

    /// At most so many bytes wait to be read.
    #[must_use]
    pub const fn with_receive_buffer(mut self, bytes: usize) -> Self {
        self.association.buffers.receive_buffer = bytes;
        self
    }

    /// What matters most is read first; a message waits no longer than this behind newer ones.
    #[must_use]
    pub const fn with_priority(mut self, wait_max: Duration) -> Self {
        self.association.buffers.receive_order = ReceiveOrder::Priority { wait_max };
        self
    }

    /// Data may begin at this rate, paced.
    #[must_use]
    pub const fn with_start_rate(mut self, rate: Rate) -> Self {
        self.association.window.start_rate = Some(rate);
        self
    }

    /// No more than this goes out.
    #[must_use]
    pub const fn with_rate_max(mut self, rate: Rate) -> Self {
        self.association.window.rate_max = Some(rate);
        self
    }

    /// A longer wait in the network's queues is a reason to send less.
    #[must_use]
    pub const fn with_queuing_delay_max(mut self, delay: Duration) -> Self {
        self.association.window.queuing_delay_max = Some(delay);
        self
    }

    /// What is urgent goes ahead of the window of a path that takes over from another.
    #[must_use]
    pub const fn with_urgent_ahead(mut self) -> Self {
        self.association.recovery.urgent_ahead = true;
        self
    }

    pub(super) fn endpoint(self) -> EndpointConfig {
        EndpointConfig {
            association: self.association,
            accept: self.listen,
            associations_max: self.connections_max,
            segments_max: self.segments_max,
            ..EndpointConfig::default()
        }
    }
}
