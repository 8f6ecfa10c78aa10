//! [`Values`]: all parameters of the experiment.

use std::time::Duration;

use anabranch_netsim::settings::{DirectionSettings, Queue, SettingsError, Speed};
use anabranch_netsim::{DuplexConfig, LinkConfig, Loss};
use anabranch_sansio::{Rate, Time};

use super::cell::{LOSSES, RATES_MBPS};
use super::sctp;
use super::video::{Video, end_of};
use crate::parameter::{Kind, Parameter, Settings};
use crate::scenario::STEPS_MAX;

/// Bytes of a packet beside its video: with them the paper's packets of 1460 bytes fill an MTU of
/// 1500, and SCTP's headers are not longer.
const OVERHEAD: u16 = 52;
const MTU_MIN: u32 = 576;
/// Of an Ethernet with jumbo frames.
pub(super) const MTU_MAX: u32 = 9_000;

/// Bytes of a film's pictures: a little more than those of the video that comes with this crate.
/// Where the links are slower than the film, most of them wait at the sender.
const FILM_MAX: usize = 256 << 20;
/// How long a film may take.
pub(super) const FILM_TIME_MAX: Duration = Duration::from_secs(600);

/// What connections have to stand, and more where the way is long.
const HANDSHAKE: Duration = Duration::from_secs(1);

const ZERO: Duration = Duration::ZERO;
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const MS: Duration = Duration::from_millis(1);

/// The values of all parameters; by default the paper's, and ours where it is about ours.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    rates: Vec<Speed>,
    losses: Vec<f64>,
    burst: Option<f64>,
    delay: Duration,
    jitter: Duration,
    queue: Queue,
    mtu: u16,
    /// When the first link and the second one begin to lose packets, from the beginning of the
    /// video.
    pub(super) loss_from: [Duration; 2],
    /// Frames in a second.
    pub(super) frame_rate: u32,
    /// What is not there by then will not come.
    pub(super) patience: Duration,
    /// Receive buffers, in bytes.
    pub(super) sctp_buffer: usize,
    pub(super) tcp_buffer: usize,
    pub(super) our_buffer: usize,
    pub(super) sctp_rto_min: Duration,
    pub(super) tcp_rto_min: Duration,
    pub(super) our_rto_min: Duration,
    /// What a viewer of ours waits for the base layer at most.
    pub(super) latency: Duration,
    /// For how long ours sends the enhancement.
    pub(super) lifetime: Duration,
    /// Instead of the video that comes with this crate.
    pub(super) source: Option<Video>,
    /// Events of the simulator after which a run is ended.
    pub(super) steps_max: u64,
}

impl Default for Values {
    fn default() -> Self {
        Self {
            rates: RATES_MBPS.map(|mbps| Speed::Limited(Rate::mbps(mbps.into()))).to_vec(),
            losses: LOSSES.to_vec(),
            burst: None,
            delay: Duration::from_millis(5),
            jitter: ZERO,
            queue: Queue::Packets(50),
            mtu: 1_500,
            loss_from: [20, 40].map(Duration::from_secs),
            frame_rate: 25,
            patience: Duration::from_secs(300),
            sctp_buffer: 65_536,
            tcp_buffer: 65_535,
            our_buffer: 4 << 20,
            sctp_rto_min: Duration::from_secs(1),
            tcp_rto_min: Duration::from_millis(200),
            our_rto_min: Duration::from_millis(100),
            latency: Duration::from_millis(200),
            // Three quarters of it, as our senders have it for enhancements.
            lifetime: Duration::from_millis(150),
            source: None,
            steps_max: STEPS_MAX,
        }
    }
}

impl Values {
    /// The links' rates in Mbit/s: of a recorded link the mean.
    #[must_use]
    pub fn rates_mbps(&self) -> Vec<f64> {
        self.rates.iter().filter_map(mbps).collect()
    }

    /// The links' packet error rates.
    #[must_use]
    pub fn losses(&self) -> &[f64] {
        &self.losses
    }

    /// A link of this rate, which loses packets towards the receiver alone.
    pub(super) fn link(&self, rate_mbps: f64, loss: f64) -> DuplexConfig {
        let known = self.rates.iter().find(|speed| mbps(speed) == Some(rate_mbps)).cloned();
        let rate = || Speed::Limited(Rate::bps((rate_mbps * 1e6).round() as u64));
        let (forward, backward) = self
            .directions(known.unwrap_or_else(rate), loss)
            .expect("what makes no sense together was refused");
        DuplexConfig { forward, backward }
    }

    fn directions(
        &self,
        rate: Speed,
        loss: f64,
    ) -> Result<(LinkConfig, LinkConfig), SettingsError> {
        let settings = DirectionSettings {
            rate: Some(rate),
            delay: Some(self.delay),
            jitter: Some(self.jitter),
            queue: Some(self.queue),
            mtu: Some(self.mtu),
            ..DirectionSettings::default()
        };
        let backward = settings.change(LinkConfig::default())?;
        let forward = match self.burst.filter(|_| loss > 0.0) {
            Some(_) => DirectionSettings { loss: Some(loss), burst: self.burst, ..settings }
                .change(LinkConfig::default())?,
            // A loss of nothing draws as any other: so a seed means the same losses ever since.
            None => LinkConfig { loss: Loss::uniform(loss), ..backward.clone() },
        };
        Ok((forward, backward))
    }

    /// When the video begins: connections stand by then.
    pub(super) fn start(&self) -> Time {
        Time::ZERO + HANDSHAKE.max((self.delay + self.jitter) * 8)
    }

    pub(super) const fn mtu(&self) -> u16 {
        self.mtu
    }

    /// Bytes of video in a full packet.
    pub(super) const fn payload_max(&self) -> u32 {
        (self.mtu - OVERHEAD) as u32
    }

    pub(super) fn frame_time(&self) -> Duration {
        Duration::from_nanos(1_000_000_000 / u64::from(self.frame_rate))
    }

    /// A film has its own times, and a sender room for it.
    fn check_film(&self) -> Result<(), String> {
        let Some(film) = self.source.as_ref().and_then(Video::film) else { return Ok(()) };
        if self.frame_rate != Self::default().frame_rate {
            return Err("source: a film has its own times: leave frame-rate out".to_owned());
        }
        let bytes: usize = film.iter().map(|picture| picture.bytes).sum();
        if bytes > FILM_MAX {
            return Err(format!(
                "source: its pictures have {bytes} bytes: give a film of at most {FILM_MAX}"
            ));
        }
        if end_of(film) > FILM_TIME_MAX {
            let most = FILM_TIME_MAX.as_secs();
            return Err(format!("source: it takes longer than {most} s: give a shorter film"));
        }
        Ok(())
    }
}

fn mbps(speed: &Speed) -> Option<f64> {
    speed.mean().map(|rate| rate.as_bps() as f64 / 1e6)
}

impl Settings for Values {
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::new(
            "rate",
            "30M, 45M, 60M",
            "rate of both links",
            Kind::Speeds(|it, rates| it.rates = rates),
        ),
        Parameter::new(
            "loss",
            "0%, 0.01%, 0.1%, 1%",
            "share of packets lost towards the receiver",
            Kind::Shares(|it, losses| it.losses = losses),
        ),
        Parameter::new(
            "burst",
            "none",
            "how many are lost in a row on average",
            Kind::Burst(|it, burst| it.burst = burst),
        ),
        Parameter::new(
            "onset",
            "20s, 40s",
            "when the first link and the second one begin to lose",
            Kind::TwoTimes(ZERO, HOUR, |it, onset| it.loss_from = onset),
        ),
        Parameter::new(
            "delay",
            "5ms",
            "of both links, one way",
            Kind::Time(ZERO, MINUTE, |it, delay| it.delay = delay),
        ),
        Parameter::new(
            "rtt",
            "10ms",
            "the delay both ways, instead of it",
            Kind::Time(ZERO, MINUTE, |it: &mut Self, rtt| it.delay = rtt / 2),
        )
        .same_as("delay"),
        Parameter::new(
            "jitter",
            "0",
            "up to so much more delay; the order stays",
            Kind::Time(ZERO, MINUTE, |it, jitter| it.jitter = jitter),
        ),
        Parameter::new(
            "queue",
            "50p",
            "what may wait in front of a link; a time is at its rate",
            Kind::Queue(|it, queue| it.queue = queue),
        ),
        Parameter::new(
            "mtu",
            "1500",
            "the longest IP packet; packets of video fill it",
            Kind::Count("bytes", MTU_MIN, MTU_MAX, |it, mtu| it.mtu = mtu as u16),
        ),
        Parameter::new(
            "source",
            "its own",
            "a film (TS, MP4, Matroska) or a table of pictures (.csv), instead of the video here: \
             pictures that others need are the base layer; not decoded and scored, but for a table \
             of two layers",
            Kind::File(|it, file| {
                it.source = Some(Video::read(file)?);
                Ok(())
            }),
        ),
        Parameter::new(
            "frame-rate",
            "25",
            "of the video; a film has its own times",
            Kind::Count("1/s", 1, 240, |it, rate| it.frame_rate = rate),
        ),
        Parameter::new(
            "buffer",
            "64K",
            "receive buffer of the paper's SCTP",
            Kind::Bytes(2 << 10, 1 << 30, |it, bytes| it.sctp_buffer = bytes as usize),
        ),
        Parameter::new(
            "tcp-buffer",
            "65535B",
            "receive buffer of TCP",
            Kind::Bytes(2 << 10, 1 << 30, |it, bytes| it.tcp_buffer = bytes as usize),
        ),
        Parameter::new(
            "our-buffer",
            "4M",
            "receive buffer of ours",
            Kind::Bytes(2 << 10, 1 << 30, |it, bytes| it.our_buffer = bytes as usize),
        ),
        Parameter::new(
            "rto-min",
            "1s",
            "shortest retransmission timeout of the paper's SCTP",
            Kind::Time(MS, MINUTE, |it, least| it.sctp_rto_min = least),
        ),
        Parameter::new(
            "tcp-rto-min",
            "200ms",
            "the same of TCP",
            Kind::Time(MS, MINUTE, |it, least| it.tcp_rto_min = least),
        ),
        Parameter::new(
            "our-rto-min",
            "100ms",
            "the same of ours",
            Kind::Time(MS, MINUTE, |it, least| it.our_rto_min = least),
        ),
        Parameter::new(
            "latency",
            "200ms",
            "for how long ours sends the base layer again",
            Kind::Time(MS, MINUTE, |it, latency| it.latency = latency),
        ),
        Parameter::new(
            "lifetime",
            "150ms",
            "for how long ours sends the enhancement again",
            Kind::Time(MS, MINUTE, |it, lifetime| it.lifetime = lifetime),
        ),
        Parameter::new(
            "patience",
            "300s",
            "what has not arrived so long after the last packet will not",
            Kind::Time(ZERO, HOUR, |it, patience| it.patience = patience),
        ),
        Parameter::new(
            "steps-max",
            "open: 1000000000",
            "events of the simulator after which a run is ended",
            Kind::Count("events", 1, u32::MAX, |it, events| it.steps_max = events.into()),
        ),
    ];

    fn check(&self) -> Result<(), String> {
        let rates = self.rates_mbps();
        if rates.len() < self.rates.len() {
            return Err("rate: an unlimited link has no axis: give a rate, such as 1G".to_owned());
        }
        for (index, rate) in rates.iter().enumerate() {
            if rates[..index].contains(rate) {
                return Err(format!("rate: {rate} Mbit/s is given twice: give it once"));
            }
        }
        for (index, loss) in self.losses.iter().enumerate() {
            if self.losses[..index].contains(loss) {
                return Err(format!("loss: {}% is given twice: give it once", loss * 100.0));
            }
        }
        for rate in &self.rates {
            for loss in &self.losses {
                self.directions(rate.clone(), *loss).map_err(|error| error.to_string())?;
            }
        }
        if self.burst.is_some() && self.losses.iter().all(|loss| *loss == 0.0) {
            return Err("a burst without loss: give a loss, too, such as loss=1%".to_owned());
        }
        self.check_film()?;
        sctp::check(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footage::testing as film;
    use crate::parameter::{Parameters, testing};

    fn read(text: &str) -> Result<Values, String> {
        let read = Parameters::<Values>::read([text]);
        read.map(|it| it.values().clone()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_papers_own_values_change_nothing() {
        testing::check_declared::<Values>();
    }

    #[test]
    fn what_makes_no_sense_together_is_refused_in_words() {
        for (text, words) in [
            ("rate=unlimited", "rate: an unlimited link has no axis: give a rate"),
            ("rate=20M,20000k", "rate: 20 Mbit/s is given twice"),
            ("loss=1%,1%", "loss: 1% is given twice"),
            ("burst=4,loss=0", "a burst without loss"),
            ("burst=2,loss=75%", "cannot come in bursts of 2: give a burst of at least 3.0"),
            ("rate=trace:/nowhere", "rate: /nowhere cannot be read"),
            ("source=/nowhere.csv", "source: /nowhere.csv: No such file"),
            ("source=/proc/self/status", "not an MPEG transport stream"),
            ("buffer=1K", "buffer: \"1K\" cannot be: give 2K to 1G"),
            ("mtu=100", "mtu: \"100\" cannot be: give 576 to 9000"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_no_film_and_no_table_is_refused_in_words() {
        film::check_refusals::<Values>();
        let error = film::with_source::<Values>(film::FILM, ",frame-rate=30").unwrap_err();
        assert!(error.contains("a film has its own times: leave frame-rate out"), "{error}");
        let many = "P,1\n".repeat(15_001);
        for (table, words) in [
            ("a,b\n1,2\n", "not a trace of layered video"),
            ("type,bytes\n", "it has no pictures: give at least one line"),
            ("type,bytes\nI,300000000\n", "300000000 bytes: give a film of at most 268435456"),
            (&format!("type,bytes\n{many}"), "it takes longer than 600 s: give a shorter film"),
        ] {
            let name = format!("anabranch-ortiz2013-{}.csv", std::process::id());
            let file = std::env::temp_dir().join(name);
            std::fs::write(&file, table).unwrap();
            let error = film::with_source::<Values>(&file.display().to_string(), "").unwrap_err();
            std::fs::remove_file(&file).unwrap();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_link_is_what_was_set() {
        let values = read("rate=8M,queue=100ms,burst=4,loss=0,2%,rtt=80ms").unwrap();
        let link = values.link(8.0, 0.02);
        assert_eq!(link.forward.queue, anabranch_netsim::QueueLimit::Bytes(100_000));
        assert_eq!(link.forward.loss, Loss::bursts(0.02, 4.0));
        assert_eq!(link.backward.loss, Loss::None);
        assert_eq!(link.backward.delay, Duration::from_millis(40));
        assert_eq!(values.link(8.0, 0.0).forward.loss, Loss::uniform(0.0));
    }
}
