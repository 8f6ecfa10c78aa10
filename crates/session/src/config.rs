//! The settings of a session.

use std::time::Duration;

use anabranch_sansio::{Rate, Rng};
use anabranch_transport::{
    Bond, DccpConfig, DccpTransport, Encryption, SctpConfig, SctpTransport, SharedTransport,
    Transport,
};

use super::SourceFormat;
use super::outlet::behind_max;
use crate::treatment::TreatmentTable;

/// SCTP's own port at both ends. Peers are told apart by the UDP ports around it.
pub const SCTP_PORT: u16 = 9_899;

/// How long a peer may take to say who it is, and to answer when we did.
pub const GREETING_TIMEOUT: Duration = Duration::from_secs(5);

/// Callers that may be connected without having been heard yet. More are not answered.
pub const NEWCOMERS_MAX: usize = 16;

/// The peer, those who come, and as many who go.
const PEERS_MAX: usize = 1 + 2 * NEWCOMERS_MAX;

/// Bytes of media that may wait for room in the transport's own queue: at 20 Mbit/s three seconds.
pub const BACKLOG_DEFAULT: usize = 8 << 20;

/// Unanswered handshake packets after which a call has failed, one each 60 ms: 5 s, after which
/// the caller says so and tries again. Where losses come in bursts, what matters is how often it is
/// tried, since a burst of a sparse exchange lasts for as many packets.
const INIT_RETRANSMITS_MAX: u32 = 80;

/// Unanswered packets after which the peer is lost: some 9 s of silence on all paths.
const RETRANSMISSIONS_MAX: u32 = 8;

/// The longest latency that a session may have, in milliseconds: a minute.
pub const LATENCY_MS_MAX: u32 = 60_000;

/// The share of the latency for which media may gather, so that it is handled together.
const REST_SHARE: u32 = 16;

/// A shorter rest would spare nothing: a stream of 10 Mbit/s has a packet each millisecond.
const REST_MIN: Duration = Duration::from_millis(1);

/// A longer rest would spare little more.
const REST_MAX: Duration = Duration::from_millis(8);

/// The share with several paths. Where one of two dies, what has to go over the other came too late
/// with longer rests: with 8 ms of 200, three of five cuts cost up to 0.8 % of a stream.
const REST_SHARE_MULTIHOMED: u32 = 25;

/// The longest rest with several paths.
const REST_MAX_MULTIHOMED: Duration = Duration::from_millis(5);

/// How long a session of this latency may rest while media gathers, at either end: whoever wakes
/// up for each packet of a stream spends most of the time on waking up.
pub(super) fn rest(latency: Duration, is_multihomed: bool) -> Duration {
    let (share, longest) = match is_multihomed {
        true => (REST_SHARE_MULTIHOMED, REST_MAX_MULTIHOMED),
        false => (REST_SHARE, REST_MAX),
    };
    (latency / share).clamp(REST_MIN, longest)
}

/// The share of the latency that media may wait in the network: what is lost has to be noticed and
/// to come again within the rest.
const QUEUING_SHARE: u32 = 4;

/// A queuing delay that is no reason to send less: delayed SACKs and the jitter of Wi-Fi are as
/// long.
const QUEUING_DELAY_MIN: Duration = Duration::from_millis(40);

/// IP bytes that packets may have from the start: every link of IPv6 carries them.
pub const PATH_MTU_BASE: usize = 1_280;

/// IP bytes up to which longer ones are tried out, as Ethernet carries them.
pub const PATH_MTU_MAX: usize = 1_500;

/// How fast media may begin: what a source brings in its own time is sent at once, and paced only
/// beyond this. A narrower link shows within a round trip.
const START_RATE: Rate = Rate::mbps(30);

/// Bytes of a message: of a large piece, or a part of a picture.
const MESSAGE_SIZE_MAX: usize = 64 << 10;

/// Datagrams that one transmission may hold; the kernel takes up to 64.
const SEGMENTS_MAX: usize = 32;

/// What both ends of a session choose.
#[derive(Debug, Clone)]
pub struct SessionConfig {
    /// Whether callers are served.
    pub listen: bool,
    /// Time from the sender's hand to the receiver's that this end wants; the larger one of both
    /// holds.
    pub latency: Duration,
    /// The stream's name. A listener with one refuses callers with another.
    pub stream_id: Option<String>,
    /// Whether a receiver says when all is written
    /// ([`Receiver::confirm`](super::Receiver::confirm)): a sender that gives nothing up waits for
    /// that before it ends.
    pub confirms: bool,
    /// How SCTP behaves, for a session over it.
    pub sctp: SctpConfig,
    /// How DCCP behaves: who calls, calls over that instead; a listener takes callers over both,
    /// unless it encrypts.
    pub dccp: Option<DccpConfig>,
}

impl SessionConfig {
    /// A session for media, without a name.
    #[must_use]
    pub fn new(listen: bool, latency: Duration) -> Self {
        // What waits for a slow output for longer than this is left out: it has no claim to go
        // before what is still of use.
        let wait_max = latency + behind_max(latency);
        let sctp = SctpConfig {
            listen,
            connections_max: PEERS_MAX,
            segments_max: SEGMENTS_MAX,
            ..SctpConfig::media()
        };
        let sctp = sctp
            .with_call_attempts(INIT_RETRANSMITS_MAX)
            .with_retransmissions_max(RETRANSMISSIONS_MAX)
            .with_message_size_max(MESSAGE_SIZE_MAX)
            .with_path_mtu(PATH_MTU_BASE, Some(PATH_MTU_MAX))
            .with_priority(wait_max)
            .with_start_rate(START_RATE)
            .with_slack(rest(latency, false))
            .with_queuing_delay_max((latency / QUEUING_SHARE).max(QUEUING_DELAY_MIN));
        Self { listen, latency, stream_id: None, confirms: false, sctp, dccp: None }
    }

    /// The same with another way to use several paths.
    #[must_use]
    pub fn with_bond(mut self, bond: Bond) -> Self {
        self.sctp = self.sctp.with_bond(bond);
        self
    }

    /// The same, encrypted.
    #[must_use]
    pub fn with_encryption(mut self, encryption: Option<Encryption>) -> Self {
        self.sctp = self.sctp.with_encryption(encryption);
        self
    }

    /// The same over DCCP: what can be given up is sent once, and nothing is encrypted. A listener
    /// takes callers over SCTP beside those over DCCP; one that encrypts takes those alone.
    #[must_use]
    pub fn over_dccp(mut self, dccp: DccpConfig) -> Self {
        self.dccp = Some(dccp);
        self
    }

    /// The transport that is as this says.
    pub(super) fn transport(&self, rng: Rng) -> Box<dyn Transport> {
        match &self.dccp {
            _ if self.listen => Box::new(self.shared(rng)),
            Some(_) => Box::new(self.dccp(rng)),
            None => Box::new(self.sctp(rng)),
        }
    }

    /// A listener's: where DCCP takes no calls, its callers are told so.
    fn shared(&self, mut rng: Rng) -> SharedTransport {
        let dccp = self.dccp(rng.fork());
        SharedTransport::new(self.sctp(rng), dccp)
    }

    fn dccp(&self, rng: Rng) -> DccpTransport {
        let listen = self.listen && !self.sctp.is_encrypted() && self.dccp.is_some();
        let dccp = self.dccp.clone().unwrap_or_default();
        DccpTransport::new(DccpConfig { listen, trunks_max: PEERS_MAX, ..dccp }, rng)
    }

    fn sctp(&self, rng: Rng) -> SctpTransport {
        let config = SctpConfig { listen: self.listen, ..self.sctp.clone() };
        SctpTransport::new(config, SCTP_PORT, rng)
    }
}

/// What a sender is told.
#[derive(Debug, Clone)]
pub struct SenderConfig {
    /// The session.
    pub session: SessionConfig,
    /// What is sent.
    pub format: SourceFormat,
    /// How.
    pub treatments: TreatmentTable,
    /// Bytes of media that may wait, beside the transport's own queue.
    pub backlog: usize,
}

impl SenderConfig {
    /// A transport stream with the default treatments.
    #[must_use]
    pub fn mpeg_ts(session: SessionConfig) -> Self {
        let treatments = TreatmentTable::default();
        Self { session, format: SourceFormat::MpegTs, treatments, backlog: BACKLOG_DEFAULT }
    }
}

/// What a receiver is told.
#[derive(Debug, Clone)]
pub struct ReceiverConfig {
    /// The session.
    pub session: SessionConfig,
    /// Bytes of media that may wait for their time.
    pub playout_bytes_max: usize,
    /// How many [`Arrival`](super::Arrival)s are kept for
    /// [`Receiver::poll_arrival`](super::Receiver::poll_arrival); 0: none. When nobody reads, the
    /// oldest go.
    pub arrivals_max: usize,
}

impl ReceiverConfig {
    /// With the default limits.
    #[must_use]
    pub const fn new(session: SessionConfig) -> Self {
        let playout_bytes_max = anabranch_media::playout::Config::MAX_BYTES_DEFAULT;
        Self { session, playout_bytes_max, arrivals_max: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_takes_a_small_part_of_the_latency_and_a_smaller_one_with_several_paths() {
        for (latency_ms, alone_us, multihomed_us) in [
            (1, 1_000, 1_000),
            (40, 2_500, 1_600),
            (100, 6_250, 4_000),
            (200, 8_000, 5_000),
            (60_000, 8_000, 5_000),
        ] {
            let latency = Duration::from_millis(latency_ms);
            for (is_multihomed, us) in [(false, alone_us), (true, multihomed_us)] {
                let rest = rest(latency, is_multihomed);
                assert_eq!(rest, Duration::from_micros(us), "{latency_ms} ms");
            }
        }
    }
}
