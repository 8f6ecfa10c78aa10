//! What an end of a call is told.

use std::time::Duration;

use anabranch_sansio::{Rate, Rng};
use anabranch_session::{Bond, NEWCOMERS_MAX, PATH_MTU_BASE, SCTP_PORT, SessionConfig};
use anabranch_transport::{Encryption, SctpConfig, SctpTransport, Transport};

use crate::Media;
use crate::exchange::Takes;

/// How long one frame of voice lasts.
pub const FRAME: Duration = Duration::from_millis(20);

/// Silence on all paths after which an end says that it has no network.
pub const SILENCE_NOTICED: Duration = Duration::from_secs(1);

/// Silence on all paths after which the call ends.
pub const SILENCE_MAX: Duration = Duration::from_secs(30);

/// The shortest threshold of [`CallConfig::with_threshold`]: an idle path brings a packet each 0.2
/// to 0.4 s.
pub const THRESHOLD_MIN: Duration = Duration::from_millis(500);

/// The longest one.
pub const THRESHOLD_MAX: Duration = SILENCE_MAX;

/// The most that an encoder of pictures is asked for.
pub const VIDEO_RATE_MAX: Rate = Rate::kbps(2_500);

/// The latency that the association is set up for: what a repetition takes at a round trip of
/// 100 ms. Voice waits as long as its own playout says.
const LATENCY: Duration = Duration::from_millis(200);

/// Callers may begin so fast: an encoder's first pictures. A narrower link shows within a round
/// trip.
const START_RATE: Rate = Rate::mbps(3);

/// What may wait in the network's queues: voice waits behind it. Radio links vary by as much.
const QUEUING_DELAY_MAX: Duration = Duration::from_millis(60);

/// What goes out at most while pictures of [`CallConfig::video_rate_max`] are asked for: voice,
/// what is sent again, and key pictures.
const ALLOWANCE: f64 = 1.2;

/// Timeouts in a row that a peer survives: at one each second, longer than [`SILENCE_MAX`], after
/// which the call ends by its own count.
const RETRANSMISSIONS_MAX: u32 = 100;

/// Heartbeats of an idle path within a threshold, beside what they wait for an answer.
const HEARTBEATS: u32 = 5;

/// The peer, those who come, and as many who go.
const PEERS_MAX: usize = 1 + 2 * NEWCOMERS_MAX;

/// Datagrams that one transmission may hold.
const SEGMENTS_MAX: usize = 16;

/// What an end of a call is told.
#[derive(Debug, Clone)]
pub struct CallConfig {
    /// Whether callers are served.
    pub listen: bool,
    /// What this end calls itself.
    pub name: Option<String>,
    /// What it sends at first.
    pub media: Media,
    /// What it takes of the peer beside voice and pictures.
    pub takes: Takes,
    /// The most that its encoder of pictures is asked for.
    pub video_rate_max: Rate,
    /// A path that was silent for so long is left; see [`with_threshold`](Self::with_threshold).
    pub threshold: Option<Duration>,
    /// How SCTP behaves.
    pub sctp: SctpConfig,
}

impl CallConfig {
    /// A call over all paths, without a name, in the open.
    #[must_use]
    pub fn new(listen: bool) -> Self {
        let session = SessionConfig::new(listen, LATENCY).with_bond(Bond::Balance);
        let sctp = session
            .sctp
            // What is spoken is short, and a longer picture's packet only holds it up.
            .with_path_mtu(PATH_MTU_BASE, None)
            .with_start_rate(START_RATE)
            .with_queuing_delay_max(QUEUING_DELAY_MAX)
            .with_retransmissions_max(RETRANSMISSIONS_MAX)
            // A path that takes over what another one lost is full for a moment.
            .with_urgent_ahead();
        Self {
            listen,
            name: None,
            media: Media::default(),
            takes: Takes::default(),
            video_rate_max: VIDEO_RATE_MAX,
            threshold: None,
            sctp: SctpConfig { connections_max: PEERS_MAX, segments_max: SEGMENTS_MAX, ..sctp },
        }
    }

    /// The same, encrypted.
    #[must_use]
    pub fn with_encryption(mut self, encryption: Option<Encryption>) -> Self {
        self.sctp = self.sctp.with_encryption(encryption);
        self
    }

    /// The same by the handoff of Chang 2010, section 2, in place of ours: all goes over one path,
    /// which is left when nothing came over it for `threshold`, from [`THRESHOLD_MIN`] to
    /// [`THRESHOLD_MAX`]; the call ends when there is no other one.
    #[must_use]
    pub fn with_threshold(mut self, threshold: Duration) -> Self {
        let threshold = threshold.clamp(THRESHOLD_MIN, THRESHOLD_MAX);
        self.threshold = Some(threshold);
        self.sctp = self.sctp.with_bond(Bond::Backup);
        let association = &mut self.sctp.association;
        // Timeouts are not what a path is left for, however many.
        association.paths.path_max_retrans = RETRANSMISSIONS_MAX;
        association.paths.potentially_failed_max_retrans = RETRANSMISSIONS_MAX;
        let interval = association.timers.heartbeat_interval;
        association.timers.heartbeat_interval = interval.min(threshold / HEARTBEATS);
        self
    }

    pub(crate) fn transport(&self, rng: Rng) -> Box<dyn Transport> {
        let rate_max = Rate::bps((self.video_rate_max.as_bps() as f64 * ALLOWANCE) as u64);
        let config = SctpConfig { listen: self.listen, ..self.sctp.clone() };
        let config = config.with_rate_max(rate_max);
        Box::new(SctpTransport::new(config, SCTP_PORT, rng))
    }
}
