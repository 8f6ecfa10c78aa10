//! [`Values`]: all parameters of the experiment.

use std::time::Duration;

use anabranch_netsim::settings::Speed;
use anabranch_netsim::{
    CellConfig, DuplexConfig, LinkConfig, Loss, Medium, Probability, QueueLimit, Scheduling,
    Service, WimaxConfig,
};
use anabranch_sansio::Rate;
use anabranch_tcp as tcp;

use super::cell::{Cell, Scenario};
use super::slices::SLICE_MAX;
use super::watch::HEADER_LEN;
use crate::footage::Footage;
use crate::parameter::{Kind, Parameter, Settings};
use crate::scenario::STEPS_MAX;

const ZERO: Duration = Duration::ZERO;
const MINUTE: Duration = Duration::from_secs(60);
/// Beside the bottleneck: Al-Majeed 2011, section 3.3.
const WIRE: Rate = Rate::mbps(100);
const MTU: u16 = 1_500;
/// As their words stand in the parameter.
const SCHEDULINGS: [Scheduling; 3] =
    [Scheduling::MaxMin, Scheduling::Proportional, Scheduling::InTurn];

/// The values of all parameters; by default the paper's.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    /// Of the user's, instead of the video that comes with this crate.
    pub(super) film: Option<Footage>,
    pub(super) cbr: Speed,
    pub(super) has_ftp: bool,
    /// Parts of a frame: downlink and uplink of the first cell.
    split: (u32, u32),
    nrtps_poll: u32,
    scheduling: Scheduling,
    good_loss: f64,
    stay_good: f64,
    stay_bad: f64,
    /// How long until the channel's states change; zero: from one MPDU to the next.
    loss_tick: Duration,
    is_downlink_lossy: bool,
    /// Of the cell of who receives, user to user.
    is_far_cell_lossy: bool,
    queue: u32,
    bottleneck: Speed,
    delay: Duration,
    /// Whether what node B sends to the first cell goes on to its stations.
    pub(super) is_core_on_radio: bool,
    pub(super) has_own_queue: bool,
    pub(super) has_own_feedback_queue: bool,
    /// One way, from the base station to who receives the video there.
    beyond: Duration,
    pub(super) start_gap: Duration,
    pub(super) is_interleaving_swapped: bool,
    pub(super) has_actual_size: bool,
    pub(super) gives_way_to_delay: bool,
    pub(super) begins_with_packet: bool,
    /// Of a TCP: its initial window in segments, and its receiver's in bytes.
    tcp_start: u32,
    tcp_window: u64,
    pub(super) warm_up: Duration,
    pub(super) start_up: Duration,
    pub(super) has_tcp_beside: bool,
    /// Events of the simulator after which a run is ended.
    pub(super) steps_max: u64,
}

impl Default for Values {
    fn default() -> Self {
        Self {
            film: None,
            cbr: Speed::Limited(Rate::kbps(1_500)),
            has_ftp: true,
            split: (1, 3),
            nrtps_poll: 10,
            scheduling: Scheduling::MaxMin,
            good_loss: 0.01,
            stay_good: 0.95,
            stay_bad: 0.94,
            loss_tick: ZERO,
            is_downlink_lossy: true,
            is_far_cell_lossy: true,
            queue: 50,
            bottleneck: Speed::Limited(Rate::mbps(5)),
            delay: Duration::from_millis(2),
            is_core_on_radio: true,
            has_own_queue: true,
            has_own_feedback_queue: true,
            beyond: ZERO,
            start_gap: Duration::from_millis(500),
            is_interleaving_swapped: false,
            has_actual_size: true,
            gives_way_to_delay: true,
            begins_with_packet: false,
            tcp_start: 10,
            tcp_window: 4 << 20,
            warm_up: Duration::from_secs(20),
            start_up: Duration::from_secs(6),
            has_tcp_beside: false,
            steps_max: STEPS_MAX,
        }
    }
}

impl Values {
    /// A station's link in a cell of this name, and the one back.
    pub(super) fn radio(&self, cell: &Cell, name: &str, service: Service) -> DuplexConfig {
        let split = match cell.scenario {
            Scenario::BaseStation | Scenario::NodeC => self.split,
            // Al-Majeed 2011, section 4.3: "The UL/DL sub-frame ratio is now better set to be split
            // equally."
            Scenario::UserToUser => (1, 1),
        };
        let medium = Medium::Wimax(WimaxConfig {
            frame_us: cell.frame_us,
            split,
            nrtps_poll: self.nrtps_poll,
            scheduling: self.scheduling,
        });
        let up = LinkConfig {
            queue: QueueLimit::Packets(self.queue),
            loss: self.channel(cell),
            cell: Some(CellConfig {
                name: Some(name.to_owned()),
                service,
                ..medium.clone().into()
            }),
            ..medium.link()
        };
        let loss = if self.is_downlink_lossy { up.loss } else { Loss::None };
        DuplexConfig { backward: LinkConfig { loss, ..up.clone() }, forward: up }
    }

    /// The link of who receives in its cell, user to user, and the one back.
    pub(super) fn far_radio(&self, cell: &Cell, name: &str) -> DuplexConfig {
        let radio = self.radio(cell, name, Service::Rtps);
        if self.is_far_cell_lossy {
            return radio;
        }
        let [forward, backward] =
            [radio.forward, radio.backward].map(|link| LinkConfig { loss: Loss::None, ..link });
        DuplexConfig { forward, backward }
    }

    /// Al-Majeed 2011, section 3.5.
    fn channel(&self, cell: &Cell) -> Loss {
        let of = Probability::saturating;
        Loss::GilbertElliott {
            p: of(1.0 - self.stay_good),
            r: of(1.0 - self.stay_bad),
            loss_good: of(self.good_loss),
            loss_bad: of(f64::from(cell.bad_loss_percent) / 100.0),
            tick: (!self.loss_tick.is_zero()).then_some(self.loss_tick),
        }
    }

    /// A link of the core network.
    pub(super) fn wire(&self) -> LinkConfig {
        LinkConfig {
            rate: Some(WIRE),
            delay: self.delay,
            queue: QueueLimit::Packets(self.queue),
            mtu: MTU,
            ..LinkConfig::default()
        }
    }

    /// What lies between the base station and who receives the video there, if anything.
    pub(super) fn beyond(&self) -> Option<LinkConfig> {
        let link = LinkConfig { delay: self.beyond, ..LinkConfig::default() };
        (!self.beyond.is_zero()).then_some(link)
    }

    pub(super) fn tcp(&self) -> tcp::Config {
        tcp::Config {
            initial_window: self.tcp_start as usize,
            receive_buffer: usize::try_from(self.tcp_window).unwrap_or(usize::MAX),
            ..tcp::Config::default()
        }
    }

    /// The one between its routers.
    pub(super) fn bottleneck(&self) -> LinkConfig {
        LinkConfig { rate: self.bottleneck.mean(), ..self.wire() }
    }
}

fn only(shares: &[f64]) -> f64 {
    shares.first().copied().unwrap_or_default()
}

/// Bytes of its pictures in slices, each with its header.
fn bytes_to_send(film: &Footage) -> usize {
    film.pictures().map(|it| it.bytes + it.bytes.div_ceil(SLICE_MAX) * HEADER_LEN).sum()
}

/// All of it waits at the sender: a bundle and an association have room for twice as much.
const FILM_MAX: usize = 32 << 20;
/// Far beyond what the cells carry: more would only be lost, packet by packet.
const CBR_MAX: Rate = Rate::mbps(100);

impl Settings for Values {
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::new(
            "source",
            "its own",
            "a film (TS, MP4, Matroska) or a table of pictures (.csv): its pictures, which are not \
             decoded and scored",
            Kind::File(|it, file| {
                it.film = Some(Footage::read(file)?);
                Ok(())
            }),
        ),
        Parameter::new(
            "cbr",
            "1500k",
            "each stream of constant rate beside the video",
            Kind::Rate(|it, rate| it.cbr = Speed::Limited(rate)),
        ),
        Parameter::new(
            "ftp",
            "yes",
            "whether TCP transfers go on beside the video",
            Kind::Switch(|it, is_on| it.has_ftp = is_on),
        ),
        Parameter::new(
            "down",
            "1",
            "parts of a frame for the downlink, but from user to user",
            Kind::Count("parts", 1, 9, |it, parts| it.split.0 = parts),
        ),
        Parameter::new(
            "up",
            "3",
            "parts of it for the uplink",
            Kind::Count("parts", 1, 9, |it, parts| it.split.1 = parts),
        ),
        Parameter::new(
            "nrtps-poll",
            "open: 10",
            "nrtPS is polled once in so many frames",
            Kind::Count("frames", 1, 100, |it, frames| it.nrtps_poll = frames),
        ),
        Parameter::new(
            "scheduling",
            "open: max-min",
            "how flows of a service share the slots of a frame",
            Kind::Choice(&["max-min", "proportional", "in-turn"], |it, place| {
                it.scheduling = SCHEDULINGS[place];
            }),
        ),
        Parameter::new(
            "good-loss",
            "1%",
            "share of MPDUs lost in the good state",
            Kind::Shares(|it, shares| it.good_loss = only(&shares)),
        ),
        Parameter::new(
            "stay-good",
            "95%",
            "how often the good state stays for the next MPDU",
            Kind::Shares(|it, shares| it.stay_good = only(&shares)),
        ),
        Parameter::new(
            "stay-bad",
            "94%",
            "how often the bad state stays",
            Kind::Shares(|it, shares| it.stay_bad = only(&shares)),
        ),
        Parameter::new(
            "loss-tick",
            "open: 0",
            "how long until the state may change, instead of from MPDU to MPDU (0)",
            Kind::Time(ZERO, MINUTE, |it, tick| it.loss_tick = tick),
        ),
        Parameter::new(
            "lossy-downlink",
            "open: yes",
            "whether the channel loses what goes down, too",
            Kind::Switch(|it, is_on| it.is_downlink_lossy = is_on),
        ),
        Parameter::new(
            "lossy-far-cell",
            "open: yes",
            "whether the cell of who receives, user to user, loses packets, too",
            Kind::Switch(|it, is_on| it.is_far_cell_lossy = is_on),
        ),
        Parameter::new(
            "queue",
            "50",
            "what may wait at each station, at the base station for each, and at routers",
            Kind::Count("packets", 1, 10_000, |it, packets| it.queue = packets),
        ),
        Parameter::new(
            "bottleneck",
            "5M",
            "rate between the routers",
            Kind::Rate(|it, rate| it.bottleneck = Speed::Limited(rate)),
        ),
        Parameter::new(
            "delay",
            "2ms",
            "of each wire, one way",
            Kind::Time(ZERO, MINUTE, |it, delay| it.delay = delay),
        ),
        Parameter::new(
            "core-on-radio",
            "open: yes",
            "whether what node B sends to the cell goes on to its stations, not only to the base \
             station",
            Kind::Switch(|it, is_on| it.is_core_on_radio = is_on),
        ),
        Parameter::new(
            "own-queue",
            "open: yes",
            "whether the video has a queue to itself at its station",
            Kind::Switch(|it, is_on| it.has_own_queue = is_on),
        ),
        Parameter::new(
            "own-feedback",
            "open: yes",
            "whether its feedback has one at the base station",
            Kind::Switch(|it, is_on| it.has_own_feedback_queue = is_on),
        ),
        Parameter::new(
            "beyond",
            "0",
            "one way, behind the base station where the video ends there",
            Kind::Time(ZERO, MINUTE, |it, delay| it.beyond = delay),
        ),
        Parameter::new(
            "start-gap",
            "500ms",
            "from the beginning of one connection to that of the next",
            Kind::Time(ZERO, MINUTE, |it, gap| it.start_gap = gap),
        ),
        Parameter::new(
            "swapped",
            "no",
            "whether packets take turns where groups do, and the other way round",
            Kind::Switch(|it, is_on| it.is_interleaving_swapped = is_on),
        ),
        Parameter::new(
            "actual-size",
            "yes",
            "whether the equation has each packet's own size, not the mean",
            Kind::Switch(|it, is_on| it.has_actual_size = is_on),
        ),
        Parameter::new(
            "give-way",
            "open: yes",
            "whether the rate gives way when the round trip grows (RFC 5348 section 4.5)",
            Kind::Switch(|it, is_on| it.gives_way_to_delay = is_on),
        ),
        Parameter::new(
            "packet-start",
            "open: no",
            "whether a connection begins with a packet a second (RFC 3448), not with an initial \
             window in a round trip (RFC 5348)",
            Kind::Switch(|it, is_on| it.begins_with_packet = is_on),
        ),
        Parameter::new(
            "tcp-start",
            "open: 10",
            "initial window of a TCP",
            Kind::Count("segments", 1, 100, |it, segments| it.tcp_start = segments),
        ),
        Parameter::new(
            "tcp-window",
            "open: 4M",
            "what a TCP may have under way",
            Kind::Bytes(4 << 10, 64 << 20, |it, bytes| it.tcp_window = bytes),
        ),
        Parameter::new(
            "warm-up",
            "20s",
            "what goes on before the video begins",
            Kind::Time(ZERO, MINUTE, |it, span| it.warm_up = span),
        ),
        Parameter::new(
            "start-up",
            "6s",
            "what a viewer waits before the first picture, for what is in time",
            Kind::Time(ZERO, MINUTE, |it, span| it.start_up = span),
        ),
        Parameter::new(
            "tcp-beside",
            "no",
            "whether a TCP sends from the same queue to the same place",
            Kind::Switch(|it, is_on| it.has_tcp_beside = is_on),
        ),
        Parameter::new(
            "steps-max",
            "open: 1000000000",
            "events of the simulator after which a run is ended",
            Kind::Count("events", 1, u32::MAX, |it, events| it.steps_max = events.into()),
        ),
    ];

    fn check(&self) -> Result<(), String> {
        if self.cbr.mean().is_some_and(|rate| rate > CBR_MAX) {
            return Err("cbr: no link here has room for it: give at most 100M".to_owned());
        }
        let bytes = self.film.as_ref().map_or(0, bytes_to_send);
        if bytes > FILM_MAX {
            return Err(format!(
                "source: its pictures take {bytes} bytes to send: give a film of at most {FILM_MAX}"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_is_what_runs() {
        crate::parameter::testing::check_declared::<Values>();
    }

    #[test]
    fn a_film_that_a_sender_has_no_room_for_is_refused() {
        let table = std::env::temp_dir().join(format!("anabranch-{}.csv", std::process::id()));
        std::fs::write(&table, "type,bytes\nI,40000000\n").unwrap();
        let set = format!("source={}", table.display());
        let error = crate::Parameters::<Values>::read([set.as_str()]).unwrap_err().to_string();
        std::fs::remove_file(&table).unwrap();
        assert!(error.contains("to send: give a film of at most 33554432"), "{error}");
    }

    #[test]
    fn what_is_no_film_is_refused_in_words() {
        crate::footage::testing::check_refusals::<Values>();
    }

    #[test]
    fn a_scheduling_that_there_is_not_is_refused_with_those_that_there_are() {
        let error = crate::Parameters::<Values>::read(["scheduling=fifo"]).unwrap_err().to_string();
        let expected = "scheduling: \"fifo\" cannot be: give max-min or proportional or in-turn";
        assert_eq!(error, expected);
    }

    #[test]
    fn a_stream_that_no_link_has_room_for_is_refused() {
        let error = crate::Parameters::<Values>::read(["cbr=1000G"]).unwrap_err().to_string();
        assert!(error.contains("give at most 100M"), "{error}");
    }
}
