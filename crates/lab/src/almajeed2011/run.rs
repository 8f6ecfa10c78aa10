//! A cell, run: the network warms up, then the video leaves as fast as its carrier lets it.

use std::time::Duration;

use anabranch_dccp::{BundleEvent, MultipathEvent};
use anabranch_netsim::{HostId, Simulation, SimulationError};
use anabranch_sctp::{OutgoingMessage, StreamId};
use bytes::Bytes;

use super::cell::Cell;
use super::host::{Happening, Host};
use super::measure::Delivery;
use super::network::{Flow, Network, PORTS, SERVICE, sctp_config};
use super::slices::Video;
use super::values::Values;
use super::watch::{HEADER_LEN, Watch, number_of};
use crate::CellError;
use crate::recording::Recording;

/// How often transfers are fed, and connections looked at.
const STEP: Duration = Duration::from_millis(500);
/// What is not there by then will not come.
const PATIENCE: Duration = Duration::from_secs(900);
/// What is under way when the last packet has been sent.
const UNDER_WAY: Duration = Duration::from_secs(2);

/// What a transfer is fed with.
static DATA: [u8; 16 << 10] = [0x5a; 16 << 10];

pub(super) fn run(
    cell: &Cell,
    values: &Values,
    video: &Video,
    recording: &mut Recording,
) -> Result<Delivery, CellError> {
    let mut network = Network::new(cell, values);
    let watch = Watch::new(network.video, video.len());
    network.sim.network_mut().add_observer(watch.clone());
    let Flow { sender, receiver, .. } = network.video;
    recording.begin_among(cell, &mut network.sim, move |host| match host {
        host if host == sender => Some("sender"),
        host if host == receiver => Some("receiver"),
        _ => None,
    });
    let ends = Ends {
        watch,
        video: network.video,
        beside: network.beside.iter().map(|flow| (flow.receiver, 0)).collect(),
        unsent: Vec::new(),
        is_over: false,
    };
    let run = Run { sim: network.sim, transfers: network.transfers, ends, samples: Vec::new() };
    run.whole(video, values.warm_up).map_err(|cause| CellError::simulation(cell, cause))
}

struct Run {
    sim: Simulation<Host>,
    transfers: Vec<Flow>,
    ends: Ends,
    /// Round-trip time in seconds and loss event rate of each connection, now and then.
    samples: Vec<(f64, f64)>,
}

/// What applications know.
struct Ends {
    watch: Watch,
    video: Flow,
    /// Where each TCP beside the video ends, and the bytes that it brought.
    beside: Vec<(HostId, u64)>,
    /// The video, until there is a path of several to send it by.
    unsent: Vec<Bytes>,
    /// Whether all connections of the video are over.
    is_over: bool,
}

impl Run {
    fn whole(mut self, video: &Video, warm_up: Duration) -> Result<Delivery, SimulationError> {
        for flow in &self.transfers {
            self.sim.act(flow.sender, |host, now| {
                if let Host::Tcp(end) = host {
                    end.connect(now);
                }
            })?;
        }
        self.run_for(warm_up)?;
        self.ends.beside.iter_mut().for_each(|(_, bytes)| *bytes = 0);
        let start = self.sim.now();
        self.send(video)?;
        while !self.is_over() && self.sim.now() < start + PATIENCE {
            self.run_for(STEP)?;
            self.sample();
        }
        let seconds = (self.sim.now() - start).as_secs_f64();
        let kbps = |(_, bytes): &(HostId, u64)| *bytes as f64 * 8.0 / seconds / 1e3;
        let beside_kbps = self.ends.beside.iter().map(kbps).collect();
        self.run_for(UNDER_WAY)?;
        let watched = self.ends.watch.lock();
        Ok(Delivery {
            slices: watched.slices.clone(),
            start,
            ended: self.sim.now(),
            lost_on_air: watched.lost_on_air,
            refused_by_queues: watched.refused_by_queues,
            feedback_lost: watched.feedback_lost as f64 / watched.feedback_sent.max(1) as f64,
            samples: self.samples,
            beside_kbps,
        })
    }

    /// Hands the whole video over.
    fn send(&mut self, video: &Video) -> Result<(), SimulationError> {
        let flow = self.ends.video;
        let paths: Vec<_> = flow.paths().collect();
        let unsent = &mut self.ends.unsent;
        self.sim.act(flow.sender, |host, now| match host {
            Host::Bundle(bundle) => {
                bundle.connect(now, flow.path, PORTS, SERVICE).expect("a fresh endpoint");
                for (group, number) in video.in_groups() {
                    bundle.send(group, video.slice(number)).expect("room for the whole video");
                }
                bundle.close(now);
            }
            Host::Multipath(multipath) => {
                multipath.connect(now, &paths, PORTS, SERVICE).expect("a fresh endpoint");
                let slices = 0..video.len();
                *unsent = slices.map(|number| with_number(number, video.slice(number))).collect();
            }
            Host::Sctp(end) => {
                let id = end
                    .connect(now, &paths, PORTS, sctp_config(paths.len()))
                    .expect("a fresh endpoint");
                let association = end.association_mut(id).expect("it was just made");
                for number in 0..video.len() {
                    let payload = with_number(number, video.slice(number));
                    let message = OutgoingMessage::new(StreamId(0), payload);
                    let message = OutgoingMessage { ordered: false, ..message };
                    association.send(now, message).expect("room for the whole video");
                }
            }
            Host::Tcp(_) | Host::Cbr(_) => {}
        })
    }

    /// Whether all of the video has left and been answered.
    fn is_over(&self) -> bool {
        match self.sim.machine(self.ends.video.sender) {
            Host::Sctp(end) => end.associations().all(|id| {
                end.association(id).is_none_or(|association| association.unacknowledged() == 0)
            }),
            Host::Bundle(_) | Host::Multipath(_) | Host::Tcp(_) | Host::Cbr(_) => self.ends.is_over,
        }
    }

    fn run_for(&mut self, span: Duration) -> Result<(), SimulationError> {
        let end = self.sim.now() + span;
        while self.sim.now() < end {
            self.feed()?;
            let step = end.min(self.sim.now() + STEP);
            let ends = &mut self.ends;
            let mut failed = Ok(());
            self.sim.run_to_with(step, |sim, host, happening| {
                if failed.is_ok() {
                    failed = ends.happened(sim, host, &happening);
                }
            })?;
            failed?;
        }
        Ok(())
    }

    /// Keeps the transfers busy.
    fn feed(&mut self) -> Result<(), SimulationError> {
        for flow in &self.transfers {
            self.sim.act(flow.sender, |host, now| {
                if let Host::Tcp(end) = host {
                    while end.send(now, Bytes::from_static(&DATA)).is_ok() {}
                }
            })?;
        }
        Ok(())
    }

    fn sample(&mut self) {
        let connections: Vec<_> = match self.sim.machine(self.ends.video.sender) {
            Host::Bundle(bundle) => bundle.members().map(|(_, it)| it.congestion).collect(),
            Host::Multipath(host) => {
                let paths = host.connections().flat_map(|id| host.subflows(id));
                paths.map(|(.., it)| it.congestion).collect()
            }
            Host::Sctp(_) | Host::Tcp(_) | Host::Cbr(_) => return,
        };
        self.samples.extend(connections.into_iter().filter_map(|congestion| {
            Some((congestion.rtt?.as_secs_f64(), congestion.loss_event_rate))
        }));
    }
}

impl Ends {
    fn happened(
        &mut self,
        sim: &mut Simulation<Host>,
        host: HostId,
        happening: &Happening,
    ) -> Result<(), SimulationError> {
        let is_end = matches!(
            happening,
            Happening::Bundle(BundleEvent::Closed)
                | Happening::Multipath(_, MultipathEvent::Closed(_))
        );
        self.is_over |= is_end && host == self.video.sender;
        let now = sim.now();
        let (watch, unsent) = (&self.watch, &mut self.unsent);
        let bytes = sim.act(host, |machine, _| match (machine, happening) {
            (Host::Tcp(end), Happening::Tcp) => {
                std::iter::from_fn(|| end.receive(now)).map(|data| data.len() as u64).sum()
            }
            (Host::Multipath(end), Happening::Multipath(id, MultipathEvent::Connected { .. })) => {
                // The receiver of the video has nothing to send.
                if host == self.video.sender {
                    for slice in unsent.drain(..) {
                        end.send(now, *id, slice).expect("room for the whole video");
                    }
                    end.close(now, *id);
                }
                0
            }
            (Host::Multipath(end), Happening::Multipath(id, _)) => {
                while end.receive(*id).is_some() {}
                0
            }
            (Host::Bundle(bundle), Happening::Bundle(_)) => {
                while bundle.receive().is_some() {}
                0
            }
            (Host::Sctp(end), Happening::Sctp(id)) => {
                let Some(association) = end.association_mut(*id) else { return 0 };
                while let Some(message) = association.receive() {
                    if let Some(number) = number_of(&message.payload) {
                        watch.lock().arrived(now, number);
                    }
                }
                0
            }
            _ => 0,
        })?;
        let beside = self.beside.iter_mut().filter(|(receiver, _)| *receiver == host);
        beside.for_each(|(_, sum)| *sum += bytes);
        Ok(())
    }
}

/// As a bundle has it: so both carriers have the same to carry.
fn with_number(number: usize, slice: &[u8]) -> Bytes {
    let mut payload = vec![0; HEADER_LEN - 8];
    payload.extend((number as u64).to_be_bytes());
    payload.extend_from_slice(slice);
    payload.into()
}
