//! Keys over networks that lose, and that differ.

use std::time::Duration;

use anabranch_keys::{Identity, TlsKeys, Trust};
use anabranch_netsim::{LinkConfig, Loss, QueueLimit, Side};
use anabranch_sansio::{Rate, Time};
use anabranch_sctp::{
    Association, AssociationConfig, EncryptionPolicy, OutgoingMessage, PathSchedulerKind, StreamId,
};

use crate::ends::{Ends, config, encrypted};

#[test]
fn nine_of_ten_calls_have_keys_within_a_second_where_a_tenth_is_lost() {
    let link = LinkConfig {
        delay: Duration::from_millis(25),
        loss: Loss::uniform(0.1),
        ..LinkConfig::default()
    };
    let mut times: Vec<_> = (0..100)
        .map(|seed| {
            let identity = || Identity::generate().expect("randomness");
            let [client, server] = [(); 2].map(|()| encrypted(&identity(), Trust::Anyone));
            let mut ends = Ends::over(seed, std::slice::from_ref(&link), client, server);
            assert!(ends.run_until(Duration::from_secs(10), Ends::are_connected), "{seed}");
            ends.pair.now().as_millis()
        })
        .collect();
    times.sort_unstable();
    assert!(times[89] <= 1_000, "{times:?}");
}

#[test]
fn a_burst_of_losses_delays_a_call_for_media_by_little() {
    let link = LinkConfig {
        delay: Duration::from_millis(50),
        loss: Loss::bursts(0.1, 5.0),
        ..LinkConfig::default()
    };
    let mut times: Vec<_> = (0..300)
        .map(|seed| {
            let [client, server] = [(); 2].map(|()| {
                let identity = Identity::generate().expect("randomness");
                let encryption = encrypted(&identity, Trust::Anyone).extensions.encryption;
                let media = AssociationConfig::media();
                media.with(|config| config.extensions.encryption = encryption)
            });
            let mut ends = Ends::over(seed, std::slice::from_ref(&link), client, server);
            assert!(ends.run_until(Duration::from_secs(10), Ends::are_connected), "{seed}");
            ends.pair.now().as_millis()
        })
        .collect();
    times.sort_unstable();
    // Without a loss it takes three round trips and a half.
    assert_eq!(times[150], 350);
    assert!(times[296] <= 1_500 && times[299] <= 2_500, "{times:?}");
}

const RATE: Rate = Rate::mbps(500);
/// Neither path has room for all of it.
const OF_A_LINK: Rate = Rate::mbps(400);
const MESSAGE_LEN: usize = 1_150;
const STEP: Duration = Duration::from_millis(1);

/// A stream of messages, and what arrives of them.
struct Flow {
    ends: Ends,
    sent: u32,
    received: Vec<u32>,
    last: Time,
    /// The longest time without a message.
    gap: Duration,
}

impl Flow {
    /// Over two paths with round trips of 10 and 200 ms which lose one packet in a hundred.
    fn begin(records_max: u64) -> Self {
        let links = [5, 100].map(|delay| LinkConfig {
            rate: Some(OF_A_LINK),
            delay: Duration::from_millis(delay),
            queue: QueueLimit::lasting(Duration::from_millis(50), OF_A_LINK),
            loss: Loss::uniform(0.01),
            ..LinkConfig::default()
        });
        let [client, server] = [(); 2].map(|()| {
            let identity = Identity::generate().expect("randomness");
            let keys = TlsKeys::new(&identity, Trust::Anyone).expect("a key of its own");
            let keys = keys.with_limits(Duration::from_secs(3_600), records_max);
            config(Some(keys), EncryptionPolicy::Require).with(large)
        });
        let mut ends = Ends::over(7, &links, client, server);
        assert!(ends.run_until(Duration::from_secs(10), Ends::are_connected));
        ends.run_until(Duration::from_secs(1), |_| false);
        let last = ends.pair.now();
        Self { ends, sent: 0, received: Vec::new(), last, gap: Duration::ZERO }
    }

    fn go_on(&mut self, span: Duration) {
        let begin = self.ends.pair.now();
        while self.ends.pair.now() < begin + span {
            let now = self.ends.pair.now();
            let due = RATE.bytes_in(now + STEP - begin) / MESSAGE_LEN as u64;
            while u64::from(self.sent) < due {
                let mut payload = vec![7; MESSAGE_LEN];
                payload[..4].copy_from_slice(&self.sent.to_be_bytes());
                let mut message = OutgoingMessage::new(StreamId(1), payload.into());
                message.ordered = false;
                let send = |association: &mut Association| association.send(now, message);
                self.ends.act(Side::Client, send).expect("there is room");
                self.sent += 1;
            }
            self.listen();
        }
    }

    fn listen(&mut self) {
        self.ends.pair.run_for(STEP).expect("the machines come to rest");
        let now = self.ends.pair.now();
        let messages = self.ends.act(Side::Server, |association| {
            std::iter::from_fn(|| association.receive()).collect::<Vec<_>>()
        });
        let number = |bytes: &[u8]| u32::from_be_bytes(*bytes.first_chunk().expect("a number"));
        self.received.extend(messages.iter().map(|message| number(&message.payload)));
        self.gap = self.gap.max(now - self.last);
        if !messages.is_empty() {
            self.last = now;
        }
    }
}

/// Room for what is under way on the slower path.
fn large(config: &mut AssociationConfig) {
    config.buffers.send_buffer = 128 << 20;
    config.buffers.receive_buffer = 128 << 20;
    config.paths.path_scheduler = PathSchedulerKind::EarliestDelivery;
}

#[test]
fn keys_are_renewed_at_500_mbit_per_second_over_unlike_paths_without_a_loss_or_a_stall() {
    let mut flow = Flow::begin(12_000);
    flow.go_on(Duration::from_secs(1));
    while flow.received.len() < flow.sent as usize && flow.gap < Duration::from_secs(10) {
        flow.listen();
    }
    for side in [Side::Client, Side::Server] {
        let stats = flow.ends.act(side, |association| association.stats().encryption.unwrap());
        assert!(stats.epochs > 3, "{stats:?}");
        assert_eq!((stats.forged, stats.unsealed), (0, 0), "{stats:?}");
    }
    flow.received.sort_unstable();
    assert!(flow.received.into_iter().eq(0..flow.sent));
    assert!(flow.gap <= Duration::from_millis(200), "{:?}", flow.gap);
}
