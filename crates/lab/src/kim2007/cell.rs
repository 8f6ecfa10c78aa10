//! [`Cell`]: one point of a figure's line with one seed.

use std::fmt;
use std::time::Duration;

use anabranch_netsim::SimulationError;
use anabranch_sansio::Rate;

use super::carrier::Carrier;
use super::measure::Outcome;
use super::peer::{Peer, SctpPeer, TcpPeer, UdpPeer};
use super::scenario::Scenario;
use super::sensitivity::Variation;
use super::setup::{Network, Setup};
use super::values::Values;
use super::{switching, transfer};
use crate::recording::{RecordTo, Recording};
use crate::{CellError, Parameters};

/// Of the link between server and client: Fast Ethernet.
pub const LINK_RATE: Rate = Rate::mbps(100);

/// One point of a figure's line with one seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// The test, which decides the figure.
    pub scenario: Scenario,
    /// What carries the channels.
    pub carrier: Carrier,
    /// Streams that a channel is spread over.
    pub streams: u16,
    /// Packets that are lost, in per cent.
    pub loss_percent: u32,
    /// One way, in milliseconds.
    pub delay_ms: u32,
    /// Decides all that is random.
    pub seed: u64,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, carrier, streams, loss_percent, delay_ms, seed } = self;
        write!(f, "figure {}, {carrier}, ", scenario.figure())?;
        if *scenario == Scenario::Streams {
            write!(f, "streams: {streams}, ")?;
        }
        write!(f, "loss {loss_percent} %, delay {delay_ms} ms, seed {seed}")
    }
}

impl Cell {
    /// Runs it as the paper did.
    ///
    /// # Errors
    /// A machine misbehaved: it did not stop sending or did not come to rest.
    pub fn run(&self) -> Result<Outcome, CellError> {
        self.measure(Variation::AsRun, &Parameters::default(), RecordTo::default())
    }

    pub(super) fn run_varied(&self, variation: Variation) -> Result<Outcome, CellError> {
        self.measure(variation, &Parameters::default(), RecordTo::default())
    }

    /// Runs it with these parameters and records what goes by.
    ///
    /// # Errors
    /// As [`run`](Self::run), or a writer's.
    pub fn run_recorded(
        &self,
        parameters: &Parameters<Values>,
        to: RecordTo,
    ) -> Result<Outcome, CellError> {
        self.measure(Variation::AsRun, parameters, to)
    }

    fn measure(
        &self,
        variation: Variation,
        parameters: &Parameters<Values>,
        to: RecordTo,
    ) -> Result<Outcome, CellError> {
        let setup = variation.apply(self.setup(parameters.values()));
        let name = match parameters.set_again() {
            set if set.is_empty() => self.to_string(),
            set => format!("{self}, {set}"),
        };
        let mut recording = Recording::new(to);
        let outcome = match self.carrier {
            Carrier::Tcp => self.run_over::<TcpPeer>(&setup, &name, &mut recording),
            Carrier::Udp => self.run_over::<UdpPeer>(&setup, &name, &mut recording),
            Carrier::Sctp | Carrier::PrSctp | Carrier::Anabranch | Carrier::AnabranchPr => {
                self.run_over::<SctpPeer>(&setup, &name, &mut recording)
            }
        };
        let outcome = outcome.map_err(|cause| CellError::simulation(self, cause))?;
        recording.end().map_err(|cause| CellError::recording(self, cause))?;
        Ok(outcome)
    }

    fn run_over<P: Peer>(
        &self,
        setup: &Setup,
        name: &str,
        recording: &mut Recording,
    ) -> Result<Outcome, SimulationError> {
        Ok(match self.scenario {
            Scenario::Switching => {
                Outcome::of_switching(&switching::run::<P>(setup, self.seed, name, recording)?)
            }
            Scenario::Loss | Scenario::Streams | Scenario::Channels => Outcome::of_transfer(
                setup.start,
                &transfer::run::<P>(setup, self.seed, name, recording)?,
            ),
        })
    }

    pub(super) fn setup(&self, values: &Values) -> Setup {
        let channels = values.channels(self.scenario);
        let network = Network {
            rate: values.rate.clone(),
            queue: values.queue,
            mtu: values.mtu as u16,
            delay: Duration::from_millis(self.delay_ms.into()),
            loss: f64::from(self.loss_percent) / 100.0,
            loses_both_ways: values.loses_both_ways,
        };
        Setup {
            channels,
            messages: values.messages().div_ceil(channels.into()),
            streams: self.streams,
            ..Setup::new(self.carrier, network, values)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footage::testing::{FILM, MP4, with_source};

    #[test]
    fn a_film_goes_by_each_carrier_in_each_test() {
        for file in [FILM, MP4] {
            let parameters: Parameters<Values> =
                with_source(file, ",loss=0%,streams=2,streams-loss=0%,delays=20ms").unwrap();
            for scenario in Scenario::ALL {
                for cell in parameters.values().cells_of_seed(scenario, 1) {
                    if cell.loss_percent > 0 {
                        continue;
                    }
                    let outcome = cell.run_recorded(&parameters, RecordTo::default()).unwrap();
                    if scenario == Scenario::Switching {
                        assert!(
                            outcome.switching_s.is_some_and(|s| s < 0.3),
                            "{cell}: {outcome:?}"
                        );
                        continue;
                    }
                    let messages = parameters.values().messages();
                    assert!(
                        outcome.messages.abs_diff(messages as usize) < 3,
                        "{cell}: {outcome:?}"
                    );
                    assert_eq!(outcome.received, outcome.messages, "{cell}");
                    let lasts = outcome.completion_s.unwrap_or_default();
                    assert!((2.5..3.5).contains(&lasts), "{cell}: {outcome:?}");
                }
            }
        }
    }
}
