//! [`Values`]: all parameters of the experiments.

use std::time::Duration;

use anabranch_netsim::settings::{Queue, SettingsError, Speed};

use super::carrier::Carrier;
use super::cell::{Cell, LINK_RATE};
use super::scenario::Scenario;
use super::setup::Pace;
use crate::footage::Footage;
use crate::parameter::{Kind, Parameter, Settings};
use crate::scenario::STEPS_MAX;

/// Bytes around a message in a packet, at most: those of SCTP on IPv4.
const OVERHEAD: u32 = 48;
const MTU_MIN: u32 = 576;
/// Of an Ethernet with jumbo frames.
const MTU_MAX: u32 = 9_000;
/// The longest delay: handshakes are over when the media begins.
const DELAY_MAX_MS: u32 = 1_000;

const ZERO: Duration = Duration::ZERO;
const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// The values of all parameters; by default the paper's, and ours where it is about ours.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    /// Of the link.
    pub(super) rate: Speed,
    pub(super) queue: Queue,
    pub(super) mtu: u32,
    pub(super) loses_both_ways: bool,
    /// One way, in figures 8 to 11.
    delay: Duration,
    /// Bytes of a message, and of the file.
    pub(super) message: u32,
    file: u64,
    /// Of a channel, in bit/s.
    media_rate: u64,
    /// Of the user's, instead of the file.
    film: Option<Footage>,
    /// Channels of figure 11.
    channels: u32,
    /// On the figures' axes: in per cent, streams and milliseconds.
    losses: Vec<u32>,
    streams: Vec<u32>,
    stream_losses: Vec<u32>,
    channel_losses: Vec<u32>,
    delays_ms: Vec<u32>,
    switch_losses: Vec<u32>,
    /// R of equation 1.
    pub(super) rate_control: Duration,
    pub(super) tcp_send_buffer: usize,
    pub(super) tcp_buffer: usize,
    pub(super) sctp_send_buffer: usize,
    pub(super) sctp_buffer: usize,
    pub(super) our_send_buffer: usize,
    pub(super) our_buffer: usize,
    pub(super) tcp_rto_min: Duration,
    pub(super) sctp_rto_min: Duration,
    pub(super) our_rto_min: Duration,
    pub(super) nagle: bool,
    /// Events of the simulator after which a run is ended.
    pub(super) steps_max: u64,
}

impl Default for Values {
    fn default() -> Self {
        Self {
            rate: Speed::Limited(LINK_RATE),
            queue: Queue::Packets(1_000),
            mtu: 1_500,
            loses_both_ways: true,
            delay: Duration::from_millis(10),
            message: 1_024,
            file: 2 << 20,
            media_rate: 1_024_000,
            film: None,
            channels: 3,
            losses: (0..=10).collect(),
            streams: (1..=10).collect(),
            stream_losses: vec![1, 3, 5, 10],
            channel_losses: vec![0, 1, 3, 5, 10],
            delays_ms: (1..=10).map(|tens| tens * 10).collect(),
            switch_losses: vec![0],
            rate_control: Duration::from_millis(500),
            // Linux 2.6.16 begins with 16 kB for TCP; for SCTP with 110,592 bytes, of which a
            // message of 1024 takes about 1,450, its descriptors counted.
            tcp_send_buffer: 16 << 10,
            tcp_buffer: 87_380,
            sctp_send_buffer: 76 << 10,
            sctp_buffer: 55_296,
            our_send_buffer: 4 << 20,
            our_buffer: 4 << 20,
            tcp_rto_min: Duration::from_millis(200),
            sctp_rto_min: SECOND,
            our_rto_min: Duration::from_millis(100),
            nagle: true,
            steps_max: STEPS_MAX,
        }
    }
}

impl Values {
    /// The values on a figure's horizontal axis: loss in per cent, streams, or delay in ms.
    #[must_use]
    pub fn points(&self, scenario: Scenario) -> &[u32] {
        match scenario {
            Scenario::Loss => &self.losses,
            Scenario::Streams => &self.streams,
            Scenario::Channels => &self.channel_losses,
            Scenario::Switching => &self.delays_ms,
        }
    }

    /// What is lost in per cent, where that is not on the horizontal axis: a line for each.
    #[must_use]
    pub fn losses(&self, scenario: Scenario) -> &[u32] {
        match scenario {
            Scenario::Streams => &self.stream_losses,
            Scenario::Switching => &self.switch_losses,
            Scenario::Loss | Scenario::Channels => &[0],
        }
    }

    /// The cells of a figure, line by line, with the seeds 1 to `seeds` of a point beside each
    /// other.
    #[must_use]
    pub fn cells(&self, scenario: Scenario, seeds: u64) -> Vec<Cell> {
        let first = self.cells_of_seed(scenario, 1).into_iter();
        first.flat_map(|cell| (1..=seeds).map(move |seed| Cell { seed, ..cell })).collect()
    }

    /// The cells of a figure with one seed, line by line.
    #[must_use]
    pub fn cells_of_seed(&self, scenario: Scenario, seed: u64) -> Vec<Cell> {
        let mut cells = Vec::new();
        for carrier in scenario.carriers() {
            for loss in self.losses(scenario) {
                let of_point = |point: &u32| self.cell(scenario, *carrier, *loss, *point, seed);
                cells.extend(self.points(scenario).iter().map(of_point));
            }
        }
        cells
    }

    pub(super) fn cell(
        &self,
        scenario: Scenario,
        carrier: Carrier,
        loss_percent: u32,
        point: u32,
        seed: u64,
    ) -> Cell {
        let delay_ms = self.delay.as_millis() as u32;
        let cell = Cell { scenario, carrier, streams: 1, loss_percent, delay_ms, seed };
        match scenario {
            Scenario::Loss | Scenario::Channels => Cell { loss_percent: point, ..cell },
            Scenario::Streams => Cell { streams: point as u16, ..cell },
            Scenario::Switching => Cell { delay_ms: point, ..cell },
        }
    }

    /// Channels that there are.
    pub(super) const fn channels(&self, scenario: Scenario) -> u16 {
        match scenario {
            Scenario::Loss | Scenario::Streams => 1,
            Scenario::Channels => self.channels as u16,
            Scenario::Switching => 2,
        }
    }

    /// Messages of the file.
    pub(super) fn messages(&self) -> u32 {
        self.bytes().div_ceil(self.message.into()) as u32
    }

    /// Of the file.
    fn bytes(&self) -> u64 {
        match &self.film {
            Some(film) => film.units.iter().map(|unit| unit.bytes as u64).sum(),
            None => self.file,
        }
    }

    /// Between two messages of a channel: their own time, of a film the mean.
    pub(super) fn interval(&self) -> Duration {
        match &self.film {
            Some(film) => film.round / self.messages().max(1),
            None => {
                Duration::from_nanos(8 * u64::from(self.message) * 1_000_000_000 / self.media_rate)
            }
        }
    }

    /// How messages follow each other.
    pub(super) fn pace(&self) -> Pace {
        match &self.film {
            Some(film) => Pace::of_film(film, self.message as usize),
            None => Pace::Even(self.interval()),
        }
    }

    /// A film has its own size and its own rate.
    fn check_film(&self) -> Result<(), String> {
        let Some(film) = &self.film else { return Ok(()) };
        let own = Self::default();
        if (self.file, self.media_rate) != (own.file, own.media_rate) {
            return Err("source: a film has its own size and rate: leave file and media-rate out"
                .to_owned());
        }
        if film.round > MEDIA_MAX {
            let most = MEDIA_MAX.as_secs();
            return Err(format!("source: it takes longer than {most} s: give a shorter film"));
        }
        Ok(())
    }
}

impl Settings for Values {
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::new(
            "loss",
            "0%, 1%, 2%, 3%, 4%, 5%, 6%, 7%, 8%, 9%, 10%",
            "axis of figures 8 and 9: packets lost",
            Kind::Percents(|it, losses| it.losses = sorted(losses)),
        ),
        Parameter::new(
            "streams",
            "1, 2, 3, 4, 5, 6, 7, 8, 9, 10",
            "axis of figure 10: streams of a channel",
            Kind::Counts("", 1, 1_000, |it, streams| it.streams = sorted(streams)),
        ),
        Parameter::new(
            "streams-loss",
            "1%, 3%, 5%, 10%",
            "lines of figure 10: packets lost",
            Kind::Percents(|it, losses| it.stream_losses = sorted(losses)),
        ),
        Parameter::new(
            "channels",
            "3",
            "channels of figure 11, in one connection",
            Kind::Count("", 1, 64, |it, channels| it.channels = channels),
        ),
        Parameter::new(
            "channels-loss",
            "0%, 1%, 3%, 5%, 10%",
            "axis of figure 11: packets lost",
            Kind::Percents(|it, losses| it.channel_losses = sorted(losses)),
        ),
        Parameter::new(
            "delays",
            "10ms, 20ms, 30ms, 40ms, 50ms, 60ms, 70ms, 80ms, 90ms, 100ms",
            "axis of figure 12: the link's delay, one way",
            Kind::Millis(DELAY_MAX_MS, |it, delays| it.delays_ms = sorted(delays)),
        ),
        Parameter::new(
            "switch-loss",
            "0%",
            "lines of figure 12: packets lost",
            Kind::Percents(|it, losses| it.switch_losses = sorted(losses)),
        ),
        Parameter::new(
            "delay",
            "10ms",
            "the link's in figures 8 to 11, one way",
            Kind::Time(ZERO, SECOND, |it, delay| it.delay = delay),
        ),
        Parameter::new(
            "rtt",
            "20ms",
            "the delay both ways, instead of it",
            Kind::Time(ZERO, SECOND, |it: &mut Self, rtt| it.delay = rtt / 2),
        )
        .same_as("delay"),
        Parameter::new("rate", "100M", "the link's", Kind::Speed(|it, rate| it.rate = rate)),
        Parameter::new(
            "queue",
            "1000p",
            "what may wait in front of the link; a time is at its rate",
            Kind::Queue(|it, queue| it.queue = queue),
        ),
        Parameter::new(
            "mtu",
            "1500",
            "the longest IP packet",
            Kind::Count("bytes", MTU_MIN, MTU_MAX, |it, mtu| it.mtu = mtu),
        ),
        Parameter::new(
            "acks-lost",
            "yes",
            "whether what the client sends is lost, too",
            Kind::Switch(|it, yes| it.loses_both_ways = yes),
        ),
        Parameter::new(
            "message",
            "1K",
            "size of a message",
            Kind::Bytes(32, 8 << 10, |it, bytes| it.message = bytes as u32),
        ),
        Parameter::new(
            "file",
            "2M",
            "what is sent in figures 8 to 11",
            Kind::Bytes(1 << 10, 1 << 30, |it, bytes| it.file = bytes),
        ),
        Parameter::new(
            "media-rate",
            "1024k",
            "of a channel",
            Kind::Rate(|it, rate| it.media_rate = rate.as_bps()),
        ),
        Parameter::new(
            "source",
            "its own",
            "a film (TS, MP4, Matroska) or a table of pictures (.csv), instead of the file: its \
             pictures and sound at their own times",
            Kind::File(|it, file| {
                it.film = Some(Footage::read(file)?);
                Ok(())
            }),
        ),
        Parameter::new(
            "lifetime",
            "500ms",
            "R of equation 1, what a message may take beside its own time",
            Kind::Time(ZERO, MINUTE, |it, spare| it.rate_control = spare),
        ),
        Parameter::new(
            "tcp-send-buffer",
            "16K",
            "what TCP takes before the server waits",
            Kind::Bytes(BUFFER_MIN, BUFFER_MAX, |it, bytes| it.tcp_send_buffer = bytes as usize),
        ),
        Parameter::new(
            "tcp-buffer",
            "87380B",
            "receive buffer of TCP",
            Kind::Bytes(BUFFER_MIN, BUFFER_MAX, |it, bytes| it.tcp_buffer = bytes as usize),
        ),
        Parameter::new(
            "send-buffer",
            "76K",
            "what SCTP takes before the server waits",
            Kind::Bytes(BUFFER_MIN, BUFFER_MAX, |it, bytes| it.sctp_send_buffer = bytes as usize),
        ),
        Parameter::new(
            "buffer",
            "54K",
            "receive buffer of SCTP",
            Kind::Bytes(BUFFER_MIN, BUFFER_MAX, |it, bytes| it.sctp_buffer = bytes as usize),
        ),
        Parameter::new(
            "our-send-buffer",
            "4M",
            "what ours takes before the server waits",
            Kind::Bytes(BUFFER_MIN, BUFFER_MAX, |it, bytes| it.our_send_buffer = bytes as usize),
        ),
        Parameter::new(
            "our-buffer",
            "4M",
            "receive buffer of ours",
            Kind::Bytes(BUFFER_MIN, BUFFER_MAX, |it, bytes| it.our_buffer = bytes as usize),
        ),
        Parameter::new(
            "tcp-rto-min",
            "200ms",
            "shortest retransmission timeout of TCP",
            Kind::Time(MS, MINUTE, |it, least| it.tcp_rto_min = least),
        ),
        Parameter::new(
            "rto-min",
            "1s",
            "the same of SCTP",
            Kind::Time(MS, MINUTE, |it, least| it.sctp_rto_min = least),
        ),
        Parameter::new(
            "our-rto-min",
            "100ms",
            "the same of ours",
            Kind::Time(MS, MINUTE, |it, least| it.our_rto_min = least),
        ),
        Parameter::new(
            "nagle",
            "yes",
            "whether TCP has Nagle's algorithm",
            Kind::Switch(|it, yes| it.nagle = yes),
        ),
        Parameter::new(
            "steps-max",
            "open: 1000000000",
            "events of the simulator after which a run is ended",
            Kind::Count("events", 1, u32::MAX, |it, events| it.steps_max = events.into()),
        ),
    ];

    fn check(&self) -> Result<(), String> {
        if self.message + OVERHEAD > self.mtu {
            let most = self.mtu - OVERHEAD;
            return Err(format!(
                "message: {} bytes and their headers are longer than the MTU of {}: give at most \
                 {most}B, or a larger mtu",
                self.message, self.mtu
            ));
        }
        if !self.delay.as_nanos().is_multiple_of(1_000_000) {
            return Err("delay: give whole milliseconds".to_owned());
        }
        self.check_film()?;
        if self.film.is_none() && self.interval() * self.messages() > MEDIA_MAX {
            return Err(format!(
                "file: at media-rate it takes longer than {} s: give a smaller file, or a higher \
                 rate",
                MEDIA_MAX.as_secs()
            ));
        }
        let cell = self.cell(Scenario::Loss, Carrier::Udp, 0, 0, 0);
        let links = cell.setup(self).network.directions();
        links.map_err(|error: SettingsError| error.to_string())?;
        for carrier in [Carrier::Sctp, Carrier::Anabranch] {
            carrier.association(self).validate().map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

const BUFFER_MIN: u64 = 2 << 10;
const BUFFER_MAX: u64 = 1 << 30;
/// A server that waits must be done before it is given up.
const MEDIA_MAX: Duration = Duration::from_secs(600);

/// As axes have them.
fn sorted(mut values: Vec<u32>) -> Vec<u32> {
    values.sort_unstable();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footage::testing as testing_film;
    use crate::parameter::{Parameters, testing};

    #[test]
    fn the_papers_own_values_change_nothing() {
        testing::check_declared::<Values>();
    }

    #[test]
    fn the_file_takes_16_seconds_and_a_third() {
        let values = Values::default();
        assert_eq!(values.interval(), Duration::from_millis(8));
        assert_eq!(values.interval() * values.messages(), Duration::from_millis(16_384));
    }

    #[test]
    fn what_makes_no_sense_together_is_refused_in_words() {
        for (text, words) in [
            ("message=1470B", "longer than the MTU of 1500: give at most 1452B, or a larger mtu"),
            ("rate=unlimited,queue=10ms", "a queue of 10ms needs a rate"),
            ("rtt=15ms", "delay: give whole milliseconds"),
            ("media-rate=unlimited", "media-rate: \"unlimited\" cannot be: give 1bit/s to 1000G"),
            ("media-rate=trace:FILE", "give 1bit/s to 1000G"),
            ("media-rate=8k", "file: at media-rate it takes longer than 600 s"),
            ("loss=0.5%", "loss: \"0.5%\" cannot be: give some whole per cents"),
            ("loses=5%", "there is no parameter loses: loss is near"),
        ] {
            let error = Parameters::<Values>::read([text]).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_film_takes_the_place_of_the_file() {
        let parameters = testing_film::with_source::<Values>(testing_film::FILM, "").unwrap();
        let values = parameters.values();
        // 102 kB in three seconds, of which packets' headers and tables are no part.
        assert!((70..100).contains(&values.messages()), "{}", values.messages());
        let spans = values.interval() * values.messages();
        assert!((2.8..3.2).contains(&spans.as_secs_f64()), "{spans:?}");
        let more = |set| testing_film::with_source::<Values>(testing_film::FILM, set).unwrap_err();
        for set in [",file=1M", ",media-rate=2M"] {
            assert!(more(set).contains("leave file and media-rate out"), "{}", more(set));
        }
        testing_film::check_refusals::<Values>();
    }

    #[test]
    fn axes_and_lines_are_what_was_set() {
        let text = "loss=20%,0%,streams=4,streams-loss=2%";
        let parameters = Parameters::<Values>::read([text]).unwrap();
        let values = parameters.values();
        assert_eq!(values.points(Scenario::Loss), [0, 20]);
        assert_eq!(values.cells(Scenario::Loss, 3).len(), 2 * 3 * Carrier::ALL.len());
        let cells = values.cells_of_seed(Scenario::Streams, 7);
        assert!(cells.iter().all(|cell| (cell.streams, cell.loss_percent) == (4, 2)));
    }
}
