//! [`Simulation`]: machines on hosts, joined by a network, in virtual time.

mod error;
mod hosts;

use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::IpAddr;
use std::time::Duration;

use anabranch_sansio::{Datagram, Machine, Rng, Time, TraceRecord, Transmit};

pub use error::SimulationError;
pub use hosts::{HostError, HostStats};

use crate::agenda::Agenda;
use crate::{
    Capture, CaptureScope, Carrier, Duplex, DuplexConfig, Element, HostId, LinkConfig, LinkId,
    Network, Packet, Sighting,
};
use hosts::Hosts;

/// A machine that is woken more often than this without time passing is in a busy loop.
pub const MAX_WAKEUPS_PER_INSTANT: u32 = 1_000;
/// A machine that hands out more transmits than this at once will never end.
pub const MAX_TRANSMITS_AT_ONCE: u32 = 1 << 16;
/// More steps than this without time passing are chatter over a network without delay.
pub const MAX_STEPS_PER_INSTANT: u32 = 1 << 18;
/// At most this many events wait to be polled.
pub const MAX_EVENTS_HELD: usize = 1 << 20;

/// The network's place in the agenda; hosts follow.
const NETWORK: usize = 0;

/// Machines on hosts, joined by a network, in virtual time.
///
/// Time jumps from one event to the next. Events of one instant happen in a fixed order: first
/// those of the network, its elements in the order they were added, then those of the hosts in
/// theirs. After every call that changes a machine, all its outputs are drained.
///
/// All randomness comes from one seed, so a run can be repeated exactly.
pub struct Simulation<M: Machine> {
    now: Time,
    rng: Rng,
    network: Network,
    hosts: Hosts<M>,
    agenda: Agenda,
    events: VecDeque<(HostId, M::Event)>,
    filter: Option<Filter>,
    steps_this_instant: u32,
    steps: u64,
    steps_max: u64,
    outbox: Vec<u8>,
    /// Packets that hosts sent so far.
    sent: u64,
    tracer: Option<Tracer>,
}

type Tracer = Box<dyn FnMut(HostId, TraceRecord) + Send>;

type Filter = Box<dyn FnMut(Time, HostId, &mut Packet) -> Verdict + Send>;

/// What a filter decides about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes into the network, as the filter leaves it.
    Pass,
    /// It is lost.
    Drop,
}

/// What [`Simulation::step`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A host took a packet.
    Received(HostId),
    /// A host's timer fired, or its machine had been changed from outside.
    Woken(HostId),
    /// Packets moved inside the network, and none arrived.
    Moved,
}

impl<M: Machine> Simulation<M> {
    /// A simulation without hosts. The seed decides everything random in it.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::from_u64(seed);
        let network = Network::new(rng.fork());
        let mut agenda = Agenda::default();
        agenda.add();
        Self {
            now: Time::ZERO,
            rng,
            network,
            hosts: Hosts::default(),
            agenda,
            events: VecDeque::new(),
            filter: None,
            steps_this_instant: 0,
            steps: 0,
            steps_max: u64::MAX,
            outbox: Vec::new(),
            sent: 0,
            tracer: None,
        }
    }

    /// A generator for a machine that is to be added.
    pub fn fork_rng(&mut self) -> Rng {
        self.rng.fork()
    }

    /// Adds a host that runs `machine`.
    ///
    /// # Errors
    /// Another host has one of the addresses.
    pub fn add_host(
        &mut self,
        name: impl Into<String>,
        addresses: &[IpAddr],
        machine: M,
    ) -> Result<HostId, HostError> {
        let host = self.hosts.add(name.into(), addresses, machine)?;
        self.agenda.add();
        self.agenda.set(place(host), Some(self.now));
        Ok(host)
    }

    /// Has the machines that there are keep records of what they do and why, and hands them on as
    /// they come.
    pub fn trace(&mut self, tracer: impl FnMut(HostId, TraceRecord) + Send + 'static) {
        self.tracer = Some(Box::new(tracer));
        for host in self.hosts.ids() {
            self.hosts.get_mut(host).machine.set_tracing(true);
        }
    }

    /// Gives a host one more address.
    ///
    /// # Errors
    /// A host has it already.
    pub fn add_address(&mut self, host: HostId, address: IpAddr) -> Result<(), HostError> {
        self.hosts.add_address(host, address)
    }

    /// Takes an address away from whichever host has it. Packets from and to it are then dropped.
    pub fn remove_address(&mut self, address: IpAddr) {
        self.hosts.remove_address(address);
    }

    /// What carries all that a host sends from now on. Usually it is UDP.
    pub fn set_carrier(&mut self, host: HostId, carrier: Carrier) {
        self.hosts.get_mut(host).carrier = carrier;
    }

    /// The time of the last event, or the end of the last run if that is later.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The machine of a host.
    #[must_use]
    pub fn machine(&self, host: HostId) -> &M {
        &self.hosts.get(host).machine
    }

    /// The machine of a host, to be changed. The next step drains its outputs.
    pub fn machine_mut(&mut self, host: HostId) -> &mut M {
        self.agenda.set(place(host), Some(self.now));
        &mut self.hosts.get_mut(host).machine
    }

    /// Calls a machine with the present time and drains its outputs at once.
    ///
    /// # Errors
    /// The machine does not stop sending.
    pub fn act<T>(
        &mut self,
        host: HostId,
        action: impl FnOnce(&mut M, Time) -> T,
    ) -> Result<T, SimulationError> {
        let now = self.now;
        let result = action(&mut self.hosts.get_mut(host).machine, now);
        self.drain(host)?;
        Ok(result)
    }

    /// The network, to look at.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The network, to build or change. It is told the time by the caller: [`now`](Self::now).
    pub fn network_mut(&mut self) -> &mut Network {
        // What is changed may be due at once.
        self.agenda.set(NETWORK, Some(self.now));
        &mut self.network
    }

    /// Changes a link: see [`Link::reconfigure`](crate::Link::reconfigure).
    pub fn reconfigure(&mut self, link: LinkId, config: LinkConfig) {
        self.network.reconfigure(self.now, link, config);
        self.settle_network();
    }

    /// Takes a link down: see [`Link::cut`](crate::Link::cut).
    pub fn cut(&mut self, link: LinkId) {
        self.network.cut(self.now, link);
        self.settle_network();
    }

    /// Brings a link up again: see [`Link::restore`](crate::Link::restore).
    pub fn restore(&mut self, link: LinkId) {
        self.network.restore(self.now, link);
        self.settle_network();
    }

    /// Changes both directions.
    pub fn reconfigure_both(&mut self, links: Duplex, config: impl Into<DuplexConfig>) {
        let config = config.into();
        self.reconfigure(links.forward, config.forward);
        self.reconfigure(links.backward, config.backward);
    }

    /// Takes both directions down.
    pub fn cut_both(&mut self, links: Duplex) {
        self.cut(links.forward);
        self.cut(links.backward);
    }

    /// Brings both directions up again.
    pub fn restore_both(&mut self, links: Duplex) {
        self.restore(links.forward);
        self.restore(links.backward);
    }

    /// Has the NAT of this name forget all its mappings. False if there is none.
    pub fn rebind(&mut self, nat: &str) -> bool {
        let nat = self.network.nat(nat);
        nat.map(|nat| self.network.rebind(nat)).is_some()
    }

    /// Gives the NAT of this name the public address that follows its own. False if there is none.
    pub fn readdress(&mut self, nat: &str) -> bool {
        let Some(nat) = self.network.nat(nat) else { return false };
        let next = match self.network.public_address(nat) {
            IpAddr::V4(address) => IpAddr::V4(address.to_bits().wrapping_add(1).into()),
            IpAddr::V6(address) => IpAddr::V6(address.to_bits().wrapping_add(1).into()),
        };
        // It is of the same family.
        self.network.renumber(nat, next).is_ok()
    }

    /// What a host sent and received.
    #[must_use]
    pub fn stats(&self, host: HostId) -> HostStats {
        self.hosts.get(host).stats
    }

    /// The name of a host.
    #[must_use]
    pub fn name(&self, host: HostId) -> &str {
        &self.hosts.get(host).name
    }

    /// Shows every packet that a host sends to `filter` first.
    pub fn set_filter(
        &mut self,
        filter: impl FnMut(Time, HostId, &mut Packet) -> Verdict + Send + 'static,
    ) {
        self.filter = Some(Box::new(filter));
    }

    /// Lets all packets pass again.
    pub fn clear_filter(&mut self) {
        self.filter = None;
    }

    /// Loses the next `packets` packets that a host sends.
    pub fn drop_next(&mut self, host: HostId, packets: u32) {
        self.hosts.get_mut(host).to_drop = packets;
    }

    /// Begins a capture. The comment, in the file's header, should say how to run this again.
    ///
    /// # Errors
    /// The writer's.
    pub fn capture<W: Write + Send + 'static>(
        &mut self,
        scope: CaptureScope,
        comment: &str,
        writer: W,
    ) -> io::Result<Capture<W>> {
        let capture = Capture::begin(&self.network, scope, comment, writer)?;
        self.network.add_observer(capture.share());
        Ok(capture)
    }

    /// Puts a packet into the network as if its source had sent it.
    pub fn inject(&mut self, mut packet: Packet) {
        self.sent += 1;
        packet.journey.number = self.sent;
        self.network.handle_packet(self.now, packet);
        self.settle_network();
    }

    /// The next event of any machine.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<(HostId, M::Event)> {
        self.events.pop_front()
    }

    /// All events of one host that have not been polled yet; those of others stay.
    pub fn take_events(&mut self, host: HostId) -> Vec<M::Event> {
        let (taken, kept) = self.events.drain(..).partition::<VecDeque<_>, _>(|(h, _)| *h == host);
        self.events = kept;
        taken.into_iter().map(|(_, event)| event).collect()
    }

    /// When the next step happens, if ever.
    #[must_use]
    pub fn next_step_at(&self) -> Option<Time> {
        self.agenda.first().map(|(at, _)| at.max(self.now))
    }

    /// Ends a run that takes more steps than this, those before this call included: from then on
    /// [`step`](Self::step) is an error. Without it there is no limit.
    pub const fn limit_steps(&mut self, steps_max: u64) {
        self.steps_max = steps_max;
    }

    /// Goes to the next thing that happens. `None`: nothing will, unless a machine is called.
    ///
    /// # Errors
    /// Something does not end within its limit: see [`SimulationError`].
    pub fn step(&mut self) -> Result<Option<Step>, SimulationError> {
        let Some((at, place)) = self.agenda.first() else { return Ok(None) };
        if self.steps >= self.steps_max {
            return Err(SimulationError::Endless { at: self.now, steps: self.steps_max });
        }
        self.steps += 1;
        self.go_to(at);
        self.steps_this_instant += 1;
        if self.steps_this_instant > MAX_STEPS_PER_INSTANT {
            return Err(SimulationError::Chatter { at: self.now });
        }
        let step =
            if place == NETWORK { self.step_network()? } else { self.wake(HostId(place - 1))? };
        Ok(Some(step))
    }

    /// Runs up to and including `end`, where the clock then stands. Events wait to be polled.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn run_to(&mut self, end: Time) -> Result<(), SimulationError> {
        while self.next_step_at().is_some_and(|at| at <= end) {
            self.step()?;
        }
        self.go_to(end);
        Ok(())
    }

    /// Runs for `span`.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn run_for(&mut self, span: Duration) -> Result<(), SimulationError> {
        self.run_to(self.now + span)
    }

    /// Runs up to and including `end` and hands every event to `on_event`, which may act on the
    /// simulation as an application would.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn run_to_with(
        &mut self,
        end: Time,
        mut on_event: impl FnMut(&mut Self, HostId, M::Event),
    ) -> Result<(), SimulationError> {
        loop {
            while let Some((host, event)) = self.events.pop_front() {
                on_event(self, host, event);
            }
            if self.next_step_at().is_none_or(|at| at > end) {
                break;
            }
            self.step()?;
        }
        self.go_to(end);
        Ok(())
    }

    /// Runs until `is_done`, which is asked before each step.
    ///
    /// # Errors
    /// It is not done after `max_steps`, or nothing happens any more; or as [`step`](Self::step).
    pub fn run_until(
        &mut self,
        mut is_done: impl FnMut(&Self) -> bool,
        max_steps: u64,
    ) -> Result<(), SimulationError> {
        for _ in 0..max_steps {
            if is_done(self) {
                return Ok(());
            }
            if self.step()?.is_none() {
                return Err(SimulationError::Idle { at: self.now });
            }
        }
        if is_done(self) {
            return Ok(());
        }
        Err(SimulationError::NotDone { at: self.now, steps: max_steps })
    }

    /// Moves the clock to `at` without anything happening meanwhile, as if everybody had been
    /// suspended: all that was due happens late, at `at`.
    pub fn jump_to(&mut self, at: Time) {
        self.go_to(at);
    }

    fn go_to(&mut self, at: Time) {
        if at > self.now {
            self.now = at;
            self.steps_this_instant = 0;
        }
    }

    fn step_network(&mut self) -> Result<Step, SimulationError> {
        let Some(packet) = self.network.poll_packet(self.now) else {
            self.settle_network();
            return Ok(Step::Moved);
        };
        self.settle_network();
        let Some(host) = self.hosts.at(packet.path.remote.ip()) else {
            self.network.drop_unrouted(self.now, packet);
            return Ok(Step::Moved);
        };
        self.network.tell(self.now, Sighting::Received { host, packet: &packet });
        let receiver = self.hosts.get_mut(host);
        receiver.stats.received.add(&packet);
        let (path, ecn) = (packet.path.reversed(), packet.ecn);
        receiver.machine.handle_datagram(self.now, Datagram { path, ecn, bytes: &packet.bytes });
        self.network.recycle(packet.bytes);
        self.drain(host)?;
        Ok(Step::Received(host))
    }

    fn wake(&mut self, host: HostId) -> Result<Step, SimulationError> {
        let woken = self.hosts.get_mut(host);
        if let Some(wakeup) = woken.machine.poll_timeout().filter(|wakeup| wakeup.at <= self.now) {
            if woken.count_wakeup(self.now) > MAX_WAKEUPS_PER_INSTANT {
                let host = woken.name.clone();
                return Err(SimulationError::BusyLoop { host, why: wakeup.why, at: self.now });
            }
            woken.machine.handle_timeout(self.now);
        }
        self.drain(host)?;
        Ok(Step::Woken(host))
    }

    /// Takes all outputs of a machine and asks when it is due.
    fn drain(&mut self, host: HostId) -> Result<(), SimulationError> {
        let mut transmits = 0;
        let mut outbox = std::mem::take(&mut self.outbox);
        while let Some(transmit) =
            self.hosts.get_mut(host).machine.poll_transmit(self.now, &mut outbox)
        {
            transmits += 1;
            if transmits > MAX_TRANSMITS_AT_ONCE {
                let host = self.hosts.get(host).name.clone();
                return Err(SimulationError::EndlessTransmit { host, at: self.now });
            }
            self.transmit(host, transmit, &outbox);
            outbox.clear();
        }
        self.outbox = outbox;
        if transmits > 0 {
            self.settle_network();
        }
        let machine = &mut self.hosts.get_mut(host).machine;
        while let Some(event) = machine.poll_event() {
            self.events.push_back((host, event));
            if self.events.len() > MAX_EVENTS_HELD {
                return Err(SimulationError::EventsNotPolled { at: self.now });
            }
        }
        self.agenda.set(place(host), machine.poll_timeout().map(|wakeup| wakeup.at));
        if let Some(tracer) = &mut self.tracer {
            while let Some(record) = machine.poll_trace() {
                tracer(host, record);
            }
        }
        Ok(())
    }

    /// Splits a burst into its datagrams and sends each.
    fn transmit(&mut self, host: HostId, transmit: Transmit, bytes: &[u8]) {
        let segment_size = transmit.segment_size.unwrap_or(bytes.len()).max(1);
        if bytes.is_empty() {
            return self.send(host, transmit, bytes);
        }
        for segment in bytes.chunks(segment_size) {
            self.send(host, transmit, segment);
        }
    }

    fn send(&mut self, host: HostId, transmit: Transmit, bytes: &[u8]) {
        let mut buffer = self.network.buffer();
        buffer.extend_from_slice(bytes);
        let Transmit { path, ecn, may_fragment, .. } = transmit;
        let sender = self.hosts.get_mut(host);
        self.sent += 1;
        let mut packet = Packet { ecn, may_fragment, ..Packet::new(path, sender.carrier, buffer) };
        packet.journey.number = self.sent;
        sender.stats.sent.add(&packet);
        self.network.tell(self.now, Sighting::Sent { host, packet: &packet });
        if let Some(left) = sender.to_drop.checked_sub(1) {
            sender.to_drop = left;
            sender.stats.filtered.add(&packet);
            return self.network.recycle(packet.bytes);
        }
        if let Some(filter) = &mut self.filter
            && filter(self.now, host, &mut packet) == Verdict::Drop
        {
            sender.stats.filtered.add(&packet);
            return self.network.recycle(packet.bytes);
        }
        if self.hosts.at(packet.path.local.ip()) != Some(host) {
            return self.network.drop_unrouted(self.now, packet);
        }
        self.network.handle_packet(self.now, packet);
    }

    fn settle_network(&mut self) {
        self.agenda.set(NETWORK, self.network.poll_timeout());
    }
}

fn place(host: HostId) -> usize {
    host.0 + 1
}
