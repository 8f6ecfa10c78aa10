//! What befalls a studio: senders that come back, ports that change, strangers.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_netsim::Verdict;
use anabranch_sansio::{Datagram, Machine as _, Rng};

use super::harness::{Party, Studio};
use crate::{Sender, SenderConfig, SessionConfig};

impl Studio {
    /// The sender's process dies and comes back: nobody tells the receiver.
    pub(super) fn replace_sender(&mut self, seed: u64) {
        let config = SenderConfig::mpeg_ts(SessionConfig::new(false, Duration::from_millis(200)));
        self.replace_sender_by(Sender::new(config, Rng::from_u64(seed)));
    }

    /// The same, with another one that comes back.
    pub(super) fn replace_sender_by(&mut self, fresh: Sender) {
        *self.pair.client_mut() = Party::Sender(Box::new(fresh));
        self.next = 0;
        self.start = None;
    }

    /// The sender calls from other ports from now on, and nobody is at the old ones.
    pub(super) fn lose_packets_to_old_ports(&mut self) {
        let old: Vec<SocketAddr> = self.paths.iter().map(|path| path.local).collect();
        self.pair.sim.set_filter(move |_, _, packet| match old.contains(&packet.path.remote) {
            true => Verdict::Drop,
            false => Verdict::Pass,
        });
        for path in &mut self.paths {
            path.local.set_port(path.local.port() + 1);
        }
    }

    /// A datagram reaches the receiver out of nowhere.
    pub(super) fn inject(&mut self, bytes: &[u8]) {
        let path = self.paths[0].reversed();
        self.act_receiver(|receiver, now| {
            receiver.handle_datagram(now, Datagram { path, ecn: None, bytes });
        });
    }
}
