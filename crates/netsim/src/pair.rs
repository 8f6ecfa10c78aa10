//! [`Pair`]: two machines of one kind that talk over one or several paths.

use std::net::IpAddr;
use std::time::Duration;

use anabranch_sansio::{FourTuple, Machine, Rng, Time};
use thiserror::Error;

use crate::{
    Carrier, Duplex, DuplexConfig, HostError, HostId, Hostility, NatConfig, NatId, RouteError,
    Simulation, SimulationError,
};

/// The port of both ends of a standard path (RFC 6951 section 4: SCTP over UDP).
const PORT: u16 = 9_899;

/// Standard paths are told apart by one byte of their addresses.
const MAX_STANDARD_PATHS: usize = 256;

/// Two machines of one kind that talk over one or several paths: the usual test.
///
/// The client begins, by the caller's choice of words; the network treats both alike.
///
/// ```no_run
/// use anabranch_netsim::{LinkConfig, Pair};
/// # use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit, Wakeup};
/// # struct Endpoint;
/// # impl Endpoint {
/// #     fn new(_: &[FourTuple], _: Rng) -> Self { Self }
/// #     fn connect(&mut self, _: Time) {}
/// #     fn is_connected(&self) -> bool { true }
/// # }
/// # impl Machine for Endpoint {
/// #     type Event = ();
/// #     fn handle_datagram(&mut self, _: Time, _: Datagram<'_>) {}
/// #     fn handle_timeout(&mut self, _: Time) {}
/// #     fn poll_transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<Transmit> { None }
/// #     fn poll_timeout(&self) -> Option<Wakeup> { None }
/// #     fn poll_event(&mut self) -> Option<()> { None }
/// # }
/// let links = [LinkConfig::wifi().into(), LinkConfig::mobile().into()];
/// let mut pair = Pair::new(7, &links, |_side, paths, rng| Endpoint::new(paths, rng));
/// pair.act_client(|client, now| client.connect(now))?;
/// pair.cut(0);
/// pair.run_until(|client, server| client.is_connected() && server.is_connected(), 1_000)?;
/// # Ok::<(), anabranch_netsim::SimulationError>(())
/// ```
pub struct Pair<M: Machine> {
    /// What runs them, for all that has no shorter word here.
    pub sim: Simulation<M>,
    paths: Vec<PairPath>,
}

/// One path of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairPath {
    /// As the client sees it.
    pub addresses: FourTuple,
    /// Forward is from client to server.
    pub links: Duplex,
}

/// How one path of a pair is to be.
#[derive(Debug, Clone, PartialEq)]
pub struct PathConfig {
    /// Names its links in captures and scenarios.
    pub name: String,
    /// As the client sees it. Several paths may share an address of one side, as two interfaces
    /// towards one server do.
    pub addresses: FourTuple,
    /// Forward is from client to server.
    pub links: DuplexConfig,
}

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The one that begins.
    Client,
    /// The other one.
    Server,
}

/// The client's host.
pub const CLIENT: HostId = HostId::nth(0);
/// The server's host.
pub const SERVER: HostId = HostId::nth(1);

/// Paths that make no pair.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PairError {
    /// An address is on both sides.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A path has addresses of two families.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// Two paths join the same two addresses, and differ in ports at most.
    #[error("two paths join {near} and {far}: give one end an address of its own on each path")]
    RepeatedPath {
        /// The client's address.
        near: IpAddr,
        /// The server's address.
        far: IpAddr,
    },
    /// There is no standard address for so many paths.
    #[error("path {n} has no standard addresses: give at most {MAX_STANDARD_PATHS} paths")]
    TooManyPaths {
        /// The path's number, counted from zero.
        n: usize,
    },
}

impl<M: Machine> Pair<M> {
    /// A pair with one path per configuration: see [`PathConfig::nth`].
    ///
    /// `make` is called once per side with the paths as that side sees them and a generator.
    ///
    /// # Panics
    /// With more paths than have standard addresses (256).
    pub fn new(
        seed: u64,
        links: &[DuplexConfig],
        make: impl FnMut(Side, &[FourTuple], Rng) -> M,
    ) -> Self {
        let paths = links.iter().enumerate().map(|(n, links)| PathConfig::nth(n, links.clone()));
        let pair = paths
            .collect::<Result<Vec<_>, _>>()
            .and_then(|paths| Self::with_paths(seed, &paths, make));
        match pair {
            Ok(pair) => pair,
            Err(error) => panic!("{error}"),
        }
    }

    /// A pair with these paths.
    ///
    /// # Errors
    /// An address is on both sides, a path mixes IPv4 and IPv6, or two paths join the same
    /// addresses.
    pub fn with_paths(
        seed: u64,
        paths: &[PathConfig],
        mut make: impl FnMut(Side, &[FourTuple], Rng) -> M,
    ) -> Result<Self, PairError> {
        for (n, path) in paths.iter().enumerate() {
            let (near, far) = path.ends();
            if paths.iter().take(n).any(|earlier| earlier.ends() == (near, far)) {
                return Err(PairError::RepeatedPath { near, far });
            }
        }
        let mut sim = Simulation::new(seed);
        for side in [Side::Client, Side::Server] {
            let seen: Vec<_> = paths.iter().map(|path| side.view(path.addresses)).collect();
            let mut addresses: Vec<_> = seen.iter().map(|path| path.local.ip()).collect();
            addresses.sort();
            addresses.dedup();
            let machine = make(side, &seen, sim.fork_rng());
            let host = sim.add_host(side.name(), &addresses, machine)?;
            debug_assert_eq!(host, side.host());
        }
        let mut joined = Vec::new();
        for path in paths {
            let links = sim.network_mut().connect(&path.name, path.ends(), path.links.clone())?;
            joined.push(PairPath { addresses: path.addresses, links });
        }
        Ok(Self { sim, paths: joined })
    }

    /// The client.
    #[must_use]
    pub fn client(&self) -> &M {
        self.sim.machine(CLIENT)
    }

    /// The client, to be changed: see [`Simulation::machine_mut`].
    pub fn client_mut(&mut self) -> &mut M {
        self.sim.machine_mut(CLIENT)
    }

    /// The server.
    #[must_use]
    pub fn server(&self) -> &M {
        self.sim.machine(SERVER)
    }

    /// The server, to be changed: see [`Simulation::machine_mut`].
    pub fn server_mut(&mut self) -> &mut M {
        self.sim.machine_mut(SERVER)
    }

    /// Calls the client with the present time and drains it: see [`Simulation::act`].
    ///
    /// # Errors
    /// The machine does not stop sending.
    pub fn act_client<T>(
        &mut self,
        action: impl FnOnce(&mut M, Time) -> T,
    ) -> Result<T, SimulationError> {
        self.sim.act(CLIENT, action)
    }

    /// Calls the server with the present time and drains it: see [`Simulation::act`].
    ///
    /// # Errors
    /// The machine does not stop sending.
    pub fn act_server<T>(
        &mut self,
        action: impl FnOnce(&mut M, Time) -> T,
    ) -> Result<T, SimulationError> {
        self.sim.act(SERVER, action)
    }

    /// What carries all that both send from now on. Usually it is UDP.
    pub fn set_carrier(&mut self, carrier: Carrier) {
        self.sim.set_carrier(CLIENT, carrier);
        self.sim.set_carrier(SERVER, carrier);
    }

    /// The present time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.sim.now()
    }

    /// The paths in order.
    #[must_use]
    pub fn paths(&self) -> &[PairPath] {
        &self.paths
    }

    /// Runs until `is_done`, which sees the client and the server: see [`Simulation::run_until`].
    ///
    /// # Errors
    /// As [`Simulation::run_until`].
    pub fn run_until(
        &mut self,
        mut is_done: impl FnMut(&M, &M) -> bool,
        max_steps: u64,
    ) -> Result<(), SimulationError> {
        self.sim.run_until(|sim| is_done(sim.machine(CLIENT), sim.machine(SERVER)), max_steps)
    }

    /// Runs for `span`: see [`Simulation::run_to`].
    ///
    /// # Errors
    /// As [`Simulation::step`].
    pub fn run_for(&mut self, span: Duration) -> Result<(), SimulationError> {
        self.sim.run_for(span)
    }

    /// Takes both links of a path down.
    ///
    /// # Panics
    /// If there is no such path.
    pub fn cut(&mut self, path: usize) {
        self.sim.cut_both(self.paths[path].links);
    }

    /// Brings both links of a path up again.
    ///
    /// # Panics
    /// If there is no such path.
    pub fn restore(&mut self, path: usize) {
        self.sim.restore_both(self.paths[path].links);
    }

    /// Changes both links of a path.
    ///
    /// # Panics
    /// If there is no such path.
    pub fn reconfigure(&mut self, path: usize, config: impl Into<DuplexConfig>) {
        self.sim.reconfigure_both(self.paths[path].links, config);
    }

    /// Puts a NAT in front of the client on a path, named as the path's links. Its public address
    /// is of those set aside for measurements (RFC 2544, RFC 5180): 198.18.n.1 or 2001:2::n:1 for
    /// path n.
    ///
    /// # Panics
    /// If there is no such path.
    pub fn add_nat(&mut self, path: usize, config: NatConfig) -> NatId {
        let PairPath { addresses, links } = self.paths[path];
        let ends = (addresses.local.ip(), addresses.remote.ip());
        let network = self.sim.network_mut();
        let name = network.name(links.forward).to_owned();
        let public = public_address(path, ends.0.is_ipv4());
        match network.add_nat(&name, ends, links, public, config) {
            Ok(nat) => nat,
            Err(error) => panic!("{error}"),
        }
    }

    /// Puts boxes in front of both links of a path that repeat, hold back and damage packets. The
    /// default is harmless and takes such boxes away; what they hold still goes on to the link.
    ///
    /// # Panics
    /// If there is no such path.
    pub fn harass(&mut self, path: usize, hostility: Hostility) {
        let PairPath { addresses, links } = self.paths[path];
        let (near, far) = (addresses.local.ip(), addresses.remote.ip());
        for (source, destination, link) in [(near, far, links.forward), (far, near, links.backward)]
        {
            let chain = hostility.chain(self.sim.network_mut(), link);
            let added = self.sim.network_mut().add_route(source, destination, chain);
            assert_eq!(added, Ok(()), "the addresses are joined already and the elements new");
        }
    }
}

fn public_address(path: usize, is_ipv4: bool) -> IpAddr {
    let net = (path % MAX_STANDARD_PATHS) as u8;
    if is_ipv4 {
        [198, 18, net, 1].into()
    } else {
        [0x2001, 2, 0, 0, 0, 0, net.into(), 1_u16].into()
    }
}

impl PathConfig {
    /// Path `n`, counted from zero, by standard: it is called `path n` and goes from 10.n.0.1 to
    /// 10.n.0.2, port 9899 on both sides (RFC 6951).
    ///
    /// # Errors
    /// `n` is more than 255.
    pub fn nth(n: usize, links: DuplexConfig) -> Result<Self, PairError> {
        let net = u8::try_from(n).map_err(|_| PairError::TooManyPaths { n })?;
        let (near, far) = ([10, net, 0, 1], [10, net, 0, 2]);
        let addresses = FourTuple::new((near, PORT).into(), (far, PORT).into());
        Ok(Self { name: format!("path {n}"), addresses, links })
    }

    fn ends(&self) -> (IpAddr, IpAddr) {
        (self.addresses.local.ip(), self.addresses.remote.ip())
    }
}

impl Side {
    /// `client` or `server`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    /// Its host in the pair's simulation.
    #[must_use]
    pub const fn host(self) -> HostId {
        match self {
            Self::Client => CLIENT,
            Self::Server => SERVER,
        }
    }

    fn view(self, path: FourTuple) -> FourTuple {
        match self {
            Self::Client => path,
            Self::Server => path.reversed(),
        }
    }
}
