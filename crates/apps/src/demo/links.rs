//! The emulated links of the demo, and what people set them to.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_driver::DriverError;
use anabranch_driver::emulator::{
    Direction, EmulatedLink, EmulatedLinkStats, Emulator, EmulatorConfig, EmulatorError,
    UnknownLink,
};
use anabranch_netsim::{LinkConfig, Loss, NamedLink, QueueLimit, Trace};
use anabranch_sansio::Rate;

use super::timeline::LinkChange;
use crate::page::protocol::{LinkRanges, LinkSettings, Range};

/// What the page offers.
pub(super) const RANGES: LinkRanges = LinkRanges {
    rate_kbps: Range(100.0, 100_000.0),
    delay_ms: Range(0.0, 1_000.0),
    loss_percent: Range(0.0, 50.0),
};

/// What a queue holds unless it is chosen: as much as the link sends in this time, as in a home
/// router of today.
const QUEUE: Duration = Duration::from_millis(100);

/// Even the slowest link can hold the packets of a picture.
const QUEUE_BYTES_MIN: u64 = 64 << 10;

/// What Ethernet, and most tunnels and radio links, carry.
const MTU: u16 = 1_500;

/// Home Wi-Fi some walls away: round trips of 20 ms.
#[must_use]
pub fn wifi() -> NamedLink {
    named("wifi", Rate::mbps(20), Duration::from_millis(10), 0.001)
}

/// LTE with fair reception: round trips of 50 ms.
#[must_use]
pub fn mobile() -> NamedLink {
    named("mobile", Rate::mbps(12), Duration::from_millis(25), 0.0005)
}

fn named(name: &str, rate: Rate, delay: Duration, loss: f64) -> NamedLink {
    let forward = LinkConfig {
        rate: Some(rate),
        delay,
        queue: queue_of(rate),
        loss: Loss::uniform(loss),
        mtu: MTU,
        ..LinkConfig::default()
    };
    NamedLink { name: name.to_owned(), forward, backward: None }
}

fn queue_of(rate: Rate) -> QueueLimit {
    QueueLimit::Bytes(rate.bytes_in(QUEUE).max(QUEUE_BYTES_MIN))
}

/// Changes to a link; what is left out stays.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct LinkSpec {
    /// How fast it sends. Its queue then holds what it sends in 100 ms.
    rate: Option<Rate>,
    /// One way.
    delay: Option<Duration>,
    /// The share of packets lost, 0 to 1, each by itself.
    loss: Option<f64>,
}

impl LinkSpec {
    /// The link with these changes, in both directions.
    fn apply(self, link: NamedLink) -> NamedLink {
        let change = |config: LinkConfig| LinkConfig {
            rate: self.rate.or(config.rate),
            trace: config.trace.filter(|_| self.rate.is_none()),
            queue: self.rate.map_or(config.queue, queue_of),
            delay: self.delay.unwrap_or(config.delay),
            loss: self.loss.map_or(config.loss, Loss::uniform),
            ..config
        };
        let backward = link.backward.map(change);
        NamedLink { forward: change(link.forward), backward, ..link }
    }
}

fn millis(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1e3)
}

/// The links while the demo runs, each between a pair of ends.
#[derive(Debug)]
pub(super) struct Links {
    emulator: Emulator,
    names: Vec<String>,
}

impl Links {
    /// Starts one link in front of each target.
    pub(super) fn spawn(
        links: &[NamedLink],
        targets: &[SocketAddr],
        seed: u64,
    ) -> Result<Self, EmulatorError> {
        let pairs = links.iter().zip(targets);
        let emulated = pairs.map(|(link, target)| EmulatedLink {
            name: link.name.clone(),
            listen: SocketAddr::new(target.ip(), 0),
            target: *target,
            up: link.config().forward,
            down: link.config().backward,
        });
        let emulator = Emulator::spawn(EmulatorConfig { links: emulated.collect(), seed })?;
        Ok(Self { emulator, names: links.iter().map(|link| link.name.clone()).collect() })
    }

    /// Their names, in the order of the paths.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Where they listen, in the order of the paths.
    pub(super) fn listen_addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.stats().into_iter().map(|link| link.listen)
    }

    /// Counters and settings, in the order of the paths.
    pub(super) fn stats(&self) -> Vec<EmulatedLinkStats> {
        self.emulator.stats()
    }

    /// Ends them.
    pub(super) fn close(&self) {
        self.emulator.close();
    }

    /// Waits for their end.
    pub(super) async fn closed(&self) -> Result<(), DriverError> {
        self.emulator.closed().await
    }

    /// Lets something happen to a link.
    pub(super) fn change(&self, change: &LinkChange) -> Result<(), UnknownLink> {
        match change {
            LinkChange::Cut(link) => self.emulator.cut(link),
            LinkChange::Restore(link) => self.emulator.restore(link),
            LinkChange::Rebind(link) => self.emulator.rebind(link),
            LinkChange::Set(link) => {
                let both = link.config();
                self.emulator.reconfigure(&link.name, Direction::Up, both.forward)?;
                self.emulator.reconfigure(&link.name, Direction::Down, both.backward)
            }
        }
    }
}

/// What the page shows of a link: the direction that media takes.
pub(super) fn settings_of(link: &EmulatedLinkStats) -> LinkSettings {
    let config = &link.up_config;
    let unlimited = RANGES.rate_kbps.1;
    let rate = config.trace.as_ref().map(Trace::mean_rate).or(config.rate);
    LinkSettings {
        rate_kbps: rate.map_or(unlimited, |rate| rate.as_bps() as f64 / 1e3),
        delay_ms: config.delay.as_secs_f64() * 1e3,
        // A share of 0.005 is not exactly half a percent in binary.
        loss_percent: (config.loss.mean() * 1e6).round() / 1e4,
        cut: !link.is_up,
    }
}

/// What the page wants of a link, as steps from what it is. A page sets both directions alike.
pub(super) fn changes_to(link: &EmulatedLinkStats, wanted: &LinkSettings) -> Vec<LinkChange> {
    let now = settings_of(link);
    let mut changes = Vec::new();
    if (now.rate_kbps, now.delay_ms, now.loss_percent)
        != (wanted.rate_kbps, wanted.delay_ms, wanted.loss_percent)
    {
        let spec = LinkSpec {
            rate: (now.rate_kbps != wanted.rate_kbps)
                .then(|| Rate::bps((wanted.rate_kbps * 1e3).round() as u64)),
            delay: (now.delay_ms != wanted.delay_ms).then(|| millis(wanted.delay_ms)),
            loss: (now.loss_percent != wanted.loss_percent).then(|| wanted.loss_percent / 100.0),
        };
        let name = link.name.clone();
        let is = NamedLink {
            name,
            forward: link.up_config.clone(),
            backward: Some(link.down_config.clone()),
        };
        changes.push(LinkChange::Set(Box::new(spec.apply(is))));
    }
    if now.cut != wanted.cut {
        let name = link.name.clone();
        changes.push(if wanted.cut { LinkChange::Cut(name) } else { LinkChange::Restore(name) });
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links() -> Links {
        let targets = ["127.0.0.1:9".parse().unwrap(), "127.0.0.1:10".parse().unwrap()];
        Links::spawn(&[wifi(), mobile()], &targets, 1).unwrap()
    }

    #[test]
    fn what_is_left_out_stays() {
        let spec =
            LinkSpec { rate: Some(Rate::kbps(2_500)), loss: Some(0.01), ..LinkSpec::default() };
        let link = spec.apply(wifi());
        assert_eq!(link.forward.rate, Some(Rate::kbps(2_500)));
        assert_eq!(link.forward.loss, Loss::uniform(0.01));
        assert_eq!(link.forward.delay, wifi().forward.delay);
        assert_eq!(link.forward.queue, QueueLimit::Bytes(QUEUE_BYTES_MIN));
        assert_eq!(LinkSpec::default().apply(mobile()), mobile());
    }

    #[tokio::test]
    async fn a_trace_stays_until_the_page_moves_the_rate() {
        let trace = Trace::new(vec![1, 2, 3]).unwrap();
        let mut link = mobile();
        link.forward.trace = Some(trace.clone());
        let targets = ["127.0.0.1:9".parse().unwrap()];
        let links = Links::spawn(&[link], &targets, 1).unwrap();
        let before = links.stats().remove(0);
        let mut wanted = settings_of(&before);
        assert_eq!(wanted.rate_kbps, 12_000.0, "the trace's mean");
        wanted.delay_ms += 5.0;
        let set = |wanted: &LinkSettings| {
            changes_to(&before, wanted).iter().for_each(|change| links.change(change).unwrap());
            links.stats().remove(0).up_config
        };
        assert_eq!(set(&wanted).trace, Some(trace));
        wanted.rate_kbps = 1_000.0;
        let slower = set(&wanted);
        assert_eq!((slower.trace, slower.rate), (None, Some(Rate::mbps(1))));
    }

    #[tokio::test]
    async fn the_page_changes_only_what_it_moved() {
        let links = links();
        let before = links.stats();
        let mut wanted = settings_of(&before[0]);
        assert_eq!((wanted.rate_kbps, wanted.delay_ms, wanted.loss_percent), (20_000.0, 10.0, 0.1));
        assert_eq!(changes_to(&before[0], &wanted), []);

        wanted.delay_ms = 35.0;
        wanted.cut = true;
        for change in changes_to(&before[0], &wanted) {
            links.change(&change).unwrap();
        }
        let after = links.stats();
        assert_eq!(settings_of(&after[0]), wanted);
        assert_eq!(after[0].up_config, after[0].down_config);
        assert_eq!(after[0].up_config.queue, before[0].up_config.queue);
        assert_eq!(settings_of(&after[1]), settings_of(&before[1]));

        wanted.cut = false;
        assert_eq!(changes_to(&after[0], &wanted), [LinkChange::Restore("wifi".into())]);
    }
}
