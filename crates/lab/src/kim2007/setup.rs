//! [`Setup`]: all that decides a run but its seed.

use std::sync::Arc;
use std::time::Duration;

use anabranch_netsim::settings::{DirectionSettings, Queue, SettingsError, Speed};
use anabranch_netsim::{DuplexConfig, LinkConfig, Loss, Pair, PathConfig};
use anabranch_sansio::Time;
use anabranch_sctp::{AssociationConfig, Reliability};
use anabranch_tcp::Config as TcpConfig;

use super::carrier::{Carrier, lifetime, linux_tcp};
use super::peer::Peer;
use super::values::Values;
use crate::footage::Footage;

/// Of the client; each further TCP connection has the next one.
pub(super) const CLIENT_PORT: u16 = 40_001;
const SERVER_PORT: u16 = 40_000;

/// What connections have to stand, and more where the way is long.
const HANDSHAKE: Duration = Duration::from_secs(1);

/// All that decides a run but its seed.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) network: Network,
    pub(super) tcp: TcpConfig,
    pub(super) association: AssociationConfig,
    pub(super) is_timed: bool,
    pub(super) is_ordered: bool,
    /// R of equation 1.
    pub(super) rate_control: Duration,
    /// Bytes that a server's transport takes before they are sent and acknowledged; then the server
    /// waits.
    pub(super) send_buffer: usize,
    /// Channels that are sent at once.
    pub(super) channels: u16,
    /// Streams that each channel's messages go around.
    pub(super) streams: u16,
    /// Whether all channels share one stream.
    pub(super) is_on_one_stream: bool,
    /// Bytes of a message.
    pub(super) message_len: usize,
    /// Messages of each channel, and of the whole file.
    pub(super) messages: u32,
    pub(super) messages_of_file: u32,
    /// What a message takes at its channel's rate.
    pub(super) own_time: Duration,
    /// How messages follow each other, whichever channel's.
    pub(super) pace: Pace,
    /// When the first message is ready: connections stand by then.
    pub(super) start: Time,
    /// Events of the simulator after which a run is ended.
    pub(super) steps_max: u64,
}

/// How messages follow each other.
#[derive(Debug, Clone)]
pub(super) enum Pace {
    /// So long after one another.
    Even(Duration),
    /// Each when the film has the last byte of it, over and over.
    Film {
        /// From the beginning of the film.
        ready: Arc<[Duration]>,
        /// From one beginning to the next.
        round: Duration,
    },
}

impl Pace {
    /// A film whose units, in a row, are cut into messages; the last one is filled up.
    pub(super) fn of_film(film: &Footage, message_len: usize) -> Self {
        let (mut ready, mut bytes) = (Vec::new(), 0);
        let mut last = Duration::ZERO;
        for unit in &*film.units {
            bytes += unit.bytes;
            last = unit.due.1;
            ready.extend(std::iter::repeat_n(last, bytes / message_len));
            bytes %= message_len;
        }
        if bytes > 0 {
            ready.push(last);
        }
        Self::Film { ready: ready.into(), round: film.round }
    }

    /// From this message to the next, counted from zero.
    pub(super) fn after(&self, message: usize) -> Duration {
        match self {
            Self::Even(interval) => *interval,
            Self::Film { ready, round } => {
                let (this, next) = (message % ready.len(), (message + 1) % ready.len());
                let wrapped = if next <= this { *round } else { Duration::ZERO };
                (ready[next] + wrapped).saturating_sub(ready[this])
            }
        }
    }
}

/// Between server and client.
#[derive(Debug, Clone)]
pub(super) struct Network {
    pub(super) rate: Speed,
    pub(super) queue: Queue,
    pub(super) mtu: u16,
    /// One way.
    pub(super) delay: Duration,
    /// Probability that a packet is lost.
    pub(super) loss: f64,
    /// Whether what the client sends is lost as well.
    pub(super) loses_both_ways: bool,
}

impl Setup {
    pub(super) fn new(carrier: Carrier, network: Network, values: &Values) -> Self {
        Self {
            start: Time::ZERO + HANDSHAKE.max(network.delay * 8),
            network,
            tcp: linux_tcp(values),
            association: carrier.association(values),
            is_timed: carrier.is_timed(),
            is_ordered: carrier != Carrier::AnabranchPr,
            rate_control: values.rate_control,
            send_buffer: carrier.send_buffer(values),
            channels: 1,
            streams: 1,
            is_on_one_stream: false,
            message_len: values.message as usize,
            messages: values.messages(),
            messages_of_file: values.messages(),
            own_time: values.interval(),
            pace: values.pace(),
            steps_max: values.steps_max,
        }
    }

    /// How hard SCTP tries to deliver a message.
    pub(super) fn reliability(&self) -> Reliability {
        match self.is_timed {
            true => Reliability::Lifetime(lifetime(self.rate_control, self.own_time)),
            false => Reliability::Reliable,
        }
    }

    /// The two hosts, on a network that loses nothing yet.
    pub(super) fn pair<P: Peer>(&self, seed: u64) -> Pair<P> {
        let path = PathConfig::nth(0, Network { loss: 0.0, ..self.network.clone() }.links());
        let path = path.map(|mut path| {
            path.addresses.local.set_port(CLIENT_PORT);
            path.addresses.remote.set_port(SERVER_PORT);
            path
        });
        let pair = path.and_then(|path| {
            Pair::with_paths(seed, &[path], |side, paths, rng| P::new(side, paths[0], self, rng))
        });
        let mut pair = pair.expect("one standard path makes a pair");
        pair.set_carrier(P::PROTOCOL);
        pair.sim.limit_steps(self.steps_max);
        pair
    }
}

/// Packets that both links lost so far.
pub(super) fn lost_on_links<P: Peer>(pair: &Pair<P>) -> u64 {
    let links = pair.sim.network().links();
    links.map(|(_, _, link)| link.stats().dropped.total().packets).sum()
}

impl Network {
    /// The media goes backward: the client is the one who begins.
    pub(super) fn links(&self) -> DuplexConfig {
        self.directions().expect("what makes no sense together was refused")
    }

    pub(super) fn directions(&self) -> Result<DuplexConfig, SettingsError> {
        let settings = DirectionSettings {
            rate: Some(self.rate.clone()),
            delay: Some(self.delay),
            queue: Some(self.queue),
            mtu: Some(self.mtu),
            ..DirectionSettings::default()
        };
        let link = settings.change(LinkConfig::default())?;
        let with = |loss: f64| LinkConfig { loss: Loss::uniform(loss), ..link.clone() };
        let forward = with(if self.loses_both_ways { self.loss } else { 0.0 });
        Ok(DuplexConfig { forward, backward: with(self.loss) })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::footage::testing::{FILM, TABLE};

    #[test]
    fn a_film_is_sent_at_its_own_times_and_begins_again() {
        for (file, ends) in [(FILM, 2.8..3.2), (TABLE, 12.0..12.01)] {
            let film = Footage::read(file).unwrap();
            let pace = Pace::of_film(&film, 1_000);
            let bytes: usize = film.units.iter().map(|unit| unit.bytes).sum();
            let messages = bytes.div_ceil(1_000);
            let of_round = |round: usize| -> Duration {
                (0..messages).map(|nth| pace.after(round * messages + nth)).sum()
            };
            assert!(ends.contains(&of_round(0).as_secs_f64()), "{file}: {:?}", of_round(0));
            assert_eq!(of_round(0), of_round(1), "{file}");
            let gaps: BTreeSet<_> = (0..messages).map(|nth| pace.after(nth)).collect();
            assert!(gaps.len() > 1, "{file}: each at its own time");
        }
    }
}
