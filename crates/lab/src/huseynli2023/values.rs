//! [`Values`]: all parameters of the experiment.

use std::time::Duration;

use anabranch_netsim::settings::{Queue, Speed};
use anabranch_sansio::Rate;

use super::host::{Pace, STAMP};
use super::method::{Method, rfc};
use crate::footage::Footage;
use crate::parameter::{Kind, Parameter, Settings};
use crate::scenario::STEPS_MAX;

const ZERO: Duration = Duration::ZERO;
const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// What fits into a packet of 1500 bytes beside SCTP's headers.
const MESSAGE_MAX: u64 = 1_500 - 20 - 12 - 16;
/// Addresses that there are for receivers.
const FLOWS_MAX: u32 = 200;

/// The values of all parameters; by default the authors', and ours where they have none.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    pub(super) rate: Speed,
    pub(super) delay: Duration,
    pub(super) access_rate: Speed,
    pub(super) access_delay: Duration,
    pub(super) queue: Queue,
    /// Of the bottleneck's packets, both ways.
    pub(super) loss: f64,
    pub(super) duration: Duration,
    /// Bytes.
    pub(super) message: u64,
    /// Of the source at a constant rate, in bit/s.
    pub(super) stream_rate: u64,
    /// Whether pictures are sent at a constant rate.
    pub(super) even: bool,
    pub(super) flows: u32,
    /// A film of the user's, instead of the paper's.
    pub(super) film: Option<Footage>,
    /// In bit/s.
    pub(super) flow_rate: u64,
    /// Bytes.
    pub(super) buffer: usize,
    /// In per cent of the time between two messages.
    pub(super) load: u32,
    pub(super) random_times: bool,
    /// Zero: it takes its time for each message.
    pub(super) read_every: Duration,
    pub(super) bound: Duration,
    /// Whether messages of plain SCTP and ours stay in order.
    pub(super) ordered: bool,
    /// Whether SCTP and the list have our defaults for media, too.
    pub(super) our_transport: bool,
    /// Events of the simulator after which a run is ended.
    pub(super) steps_max: u64,
}

impl Default for Values {
    fn default() -> Self {
        Self {
            rate: Speed::Limited(Rate::mbps(20)),
            delay: MS * 10,
            access_rate: Speed::Limited(Rate::mbps(50)),
            access_delay: MS * 10,
            queue: Queue::Packets(50),
            loss: 0.0,
            duration: SECOND * 120,
            message: 1_310,
            stream_rate: 9_000_000,
            even: false,
            film: None,
            flows: 6,
            flow_rate: 500_000,
            buffer: 1 << 20,
            load: 95,
            random_times: true,
            read_every: ZERO,
            bound: MS * 500,
            ordered: true,
            our_transport: false,
            steps_max: STEPS_MAX,
        }
    }
}

impl Values {
    /// How long the reading program takes for a stream of so many messages.
    pub(super) fn pace(&self, messages: usize) -> Pace {
        if !self.read_every.is_zero() {
            return Pace::AllEvery(self.read_every);
        }
        let between = self.duration / messages.max(1) as u32;
        let mean = between * self.load / 100;
        Pace::PerMessage { mean, is_random: self.random_times }
    }

    /// Between two messages of a flow in the background.
    pub(super) fn flow_interval(&self) -> Duration {
        Duration::from_secs_f64(8.0 * self.message as f64 / self.flow_rate as f64)
    }
}

impl Settings for Values {
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::new("rate", "20M", "the bottleneck's", Kind::Speed(|it, rate| it.rate = rate)),
        Parameter::new(
            "delay",
            "10ms",
            "the bottleneck's, one way",
            Kind::Time(ZERO, SECOND, |it, delay| it.delay = delay),
        ),
        Parameter::new(
            "access-rate",
            "50M",
            "of the other links",
            Kind::Speed(|it, rate| it.access_rate = rate),
        ),
        Parameter::new(
            "access-delay",
            "10ms",
            "of the other links, one way",
            Kind::Time(ZERO, SECOND, |it, delay| it.access_delay = delay),
        ),
        Parameter::new(
            "queue",
            "50p",
            "what may wait in front of each link",
            Kind::Queue(|it, queue| it.queue = queue),
        ),
        Parameter::new(
            "loss",
            "0%",
            "packets lost by the bottleneck, both ways",
            Kind::Share(|it, loss| it.loss = loss),
        ),
        Parameter::new(
            "duration",
            "120s",
            "of all flows",
            Kind::Time(SECOND, HOUR, |it, span| it.duration = span),
        ),
        Parameter::new(
            "message",
            "1310B",
            "size of a message, at most",
            Kind::Bytes(STAMP, MESSAGE_MAX, |it, bytes| it.message = bytes),
        ),
        Parameter::new(
            "stream-rate",
            "9M",
            "of the stream that has a constant rate",
            Kind::Rate(|it, rate| it.stream_rate = rate.as_bps()),
        ),
        Parameter::new(
            "source",
            "its own",
            "a film (TS, MP4, Matroska) or a table of pictures (.csv), instead of the pictures \
             and sound here",
            Kind::File(|it, file| {
                it.film = Some(Footage::read(file)?);
                Ok(())
            }),
        ),
        Parameter::new(
            "even",
            "no",
            "whether pictures are sent at a constant rate, and not each in 40 ms",
            Kind::Switch(|it, yes| it.even = yes),
        ),
        Parameter::new(
            "flows",
            "6",
            "flows in the background",
            Kind::Count("", 0, FLOWS_MAX, |it, flows| it.flows = flows),
        ),
        Parameter::new(
            "flow-rate",
            "500k",
            "of each of them",
            Kind::Rate(|it, rate| it.flow_rate = rate.as_bps()),
        ),
        Parameter::new(
            "buffer",
            "1M",
            "receive buffer",
            Kind::Bytes(4 << 10, 1 << 30, |it, bytes| it.buffer = bytes as usize),
        ),
        Parameter::new(
            "load",
            "95",
            "time that the reader takes for a message, of the time between two",
            Kind::Count("%", 1, 200, |it, load| it.load = load),
        ),
        Parameter::new(
            "random-times",
            "yes",
            "whether that time is exponential, and not always the same",
            Kind::Switch(|it, yes| it.random_times = yes),
        ),
        Parameter::new(
            "read-every",
            "0ms",
            "reads all that waits so often, instead; 0: message by message",
            Kind::Time(ZERO, SECOND, |it, span| it.read_every = span),
        ),
        Parameter::new(
            "bound",
            "500ms",
            "what ours lets a message wait for newer ones",
            Kind::Time(ZERO, HOUR, |it, bound| it.bound = bound),
        ),
        Parameter::new(
            "ordered",
            "yes",
            "whether SCTP and ours keep the order of each stream",
            Kind::Switch(|it, yes| it.ordered = yes),
        ),
        Parameter::new(
            "our-transport",
            "no",
            "whether SCTP and the list have our defaults for media, but for their order",
            Kind::Switch(|it, yes| it.our_transport = yes),
        ),
        Parameter::new(
            "steps-max",
            "open: 1000000000",
            "events of the simulator after which a run is ended",
            Kind::Count("events", 1, u32::MAX, |it, events| it.steps_max = events.into()),
        ),
    ];

    fn check(&self) -> Result<(), String> {
        let of_flows = f64::from(self.flows) * self.flow_rate as f64;
        for (name, rate) in [("stream-rate", self.stream_rate as f64), ("flow-rate", of_flows)] {
            let messages = self.duration.as_secs_f64() * rate / (8.0 * self.message as f64);
            if messages > MESSAGES_MAX {
                return Err(format!(
                    "{name}: that is {messages:.0} messages, and {MESSAGES_MAX:.0} are the most: \
                     give a lower rate, or a shorter duration"
                ));
            }
        }
        self.check_links().map_err(|error| error.to_string())?;
        rfc(self).validate().map_err(|error| error.to_string())?;
        for method in Method::ALL {
            method.association(self).validate().map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// All that are read are kept until the run is over.
const MESSAGES_MAX: f64 = 1e7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::{Parameters, testing};

    #[test]
    fn the_papers_own_values_change_nothing() {
        testing::check_declared::<Values>();
    }

    #[test]
    fn the_reader_takes_its_share_of_the_time_between_two_messages() {
        let pace = Values { load: 80, ..Values::default() }.pace(12_000);
        let mean = Duration::from_millis(8);
        assert_eq!(pace, Pace::PerMessage { mean, is_random: true });
        let every = Duration::from_millis(25);
        let pace = Values { read_every: every, ..Values::default() }.pace(12_000);
        assert_eq!(pace, Pace::AllEvery(every));
    }

    #[test]
    fn what_makes_no_sense_together_is_refused_in_words() {
        for (text, words) in [
            ("stream-rate=unlimited", "stream-rate: \"unlimited\" cannot be"),
            ("flow-rate=1G", "flow-rate: that is"),
            ("stream-rate=100M,duration=3600s", "34351145 messages, and 10000000 are the most"),
            ("rate=unlimited,queue=10ms", "a queue of 10ms needs a rate"),
            ("loss=5", "loss: \"5\" is no loss"),
            ("lod=80", "there is no parameter lod: load is near"),
        ] {
            let error = Parameters::<Values>::read([text]).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
