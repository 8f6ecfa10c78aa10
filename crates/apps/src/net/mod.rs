//! From a URL to sockets and paths.

mod elsewhere;
mod error;
mod files;
mod interfaces;
mod own_addresses;
mod resolve;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anabranch_driver::{BindConfig, BindError, SocketSet, local_towards};
use anabranch_sansio::{FourTuple, Rng};

pub(crate) use elsewhere::{from_elsewhere, is_link_local, reachable};
pub use error::NetError;
pub(crate) use files::{pem, state_folder};
pub use interfaces::{Interfaces, Turn};
pub(crate) use own_addresses::OwnAddresses;

use crate::url::{LocalPath, Mode, SessionUrl};
use resolve::resolve;

/// Ports that are tried until one is free at all local addresses.
const PORT_TRIES: usize = 16;

/// A generator whose numbers nobody can guess.
///
/// # Errors
/// The system has no randomness.
pub fn unpredictable_rng() -> Result<Rng, NetError> {
    anabranch_driver::unpredictable_rng()
        .map_err(|error| NetError::NoRandomness { message: error.to_string() })
}

/// Sockets bound as a URL says, and where they lead.
#[derive(Debug)]
pub struct Network {
    /// For the driver.
    pub sockets: SocketSet,
    plan: Plan,
}

/// What is needed to call, again and again.
#[derive(Debug, Clone)]
pub struct Plan {
    mode: Mode,
    /// Where the sockets are bound.
    bound: Vec<SocketAddr>,
    /// Whether `bound` was asked for by `path=`.
    is_explicit: bool,
    /// Addresses of the one to call, the host's first.
    remotes: Vec<SocketAddr>,
}

impl Network {
    /// Resolves names and binds sockets.
    ///
    /// # Errors
    /// A name is unknown, or an address cannot be bound; says what would be right.
    pub async fn open(url: &SessionUrl) -> Result<Self, NetError> {
        match url.mode {
            Mode::Caller => Self::open_caller(url).await,
            Mode::Listener => Self::open_listener(url),
        }
    }

    /// The sockets for the driver, and the plan to call by.
    #[must_use]
    pub fn into_parts(self) -> (SocketSet, Plan) {
        (self.sockets, self.plan)
    }

    /// Resolves names and binds a socket at every interface that reaches the host of a caller's
    /// URL.
    ///
    /// # Errors
    /// As [`open`](Self::open); or no interface reaches the host.
    pub async fn open_over_all_interfaces(
        url: &SessionUrl,
    ) -> Result<(Self, Interfaces), NetError> {
        let remotes = remotes(url, true).await?;
        let (interfaces, sockets) = Interfaces::open(remotes.clone())?;
        let bound = interfaces.paths()?.iter().map(|path| path.local).collect();
        let plan = Plan { mode: Mode::Caller, bound, is_explicit: true, remotes };
        Ok((Self { sockets, plan }, interfaces))
    }

    async fn open_caller(url: &SessionUrl) -> Result<Self, NetError> {
        let remotes = remotes(url, !url.paths.is_empty()).await?;
        let wanted = caller_binds(&url.paths, &remotes)?;
        let (sockets, bound) = bind_at_one_port(&wanted)?;
        let is_explicit = !url.paths.is_empty();
        Ok(Self { sockets, plan: Plan { mode: Mode::Caller, bound, is_explicit, remotes } })
    }

    fn open_listener(url: &SessionUrl) -> Result<Self, NetError> {
        let mut sockets = SocketSet::new();
        let mut bound = Vec::new();
        let host = url.host.as_deref().and_then(|host| host.parse::<IpAddr>().ok());
        let wanted: Vec<BindConfig> = match host {
            Some(ip) => vec![SocketAddr::new(ip, url.port).into()],
            None => url.paths.iter().map(|path| bind_config(path, V4_ANY, url.port)).collect(),
        };
        let is_explicit = !wanted.is_empty();
        for config in wanted {
            bound.push(sockets.bind(config)?);
        }
        if !is_explicit {
            bound.push(sockets.bind(SocketAddr::new(V4_ANY, url.port))?);
            match sockets.bind(SocketAddr::new(V6_ANY, url.port)) {
                Ok(addr) => bound.push(addr),
                Err(BindError::NoFamily { .. }) => tracing::info!("this machine has no IPv6"),
                Err(error) => return Err(error.into()),
            }
        }
        let remotes = Vec::new();
        Ok(Self { sockets, plan: Plan { mode: Mode::Listener, bound, is_explicit, remotes } })
    }
}

impl Plan {
    /// Whether this end calls.
    #[must_use]
    pub fn calls(&self) -> bool {
        self.mode == Mode::Caller
    }

    /// Where the sockets are bound.
    #[must_use]
    pub fn bound(&self) -> &[SocketAddr] {
        &self.bound
    }

    /// Where callers on other machines find a listener.
    pub(crate) fn heard_at(&self) -> Option<SocketAddr> {
        self.bound.first().filter(|_| !self.calls()).copied().map(from_elsewhere)
    }

    /// Whom to call.
    #[must_use]
    pub fn remotes(&self) -> &[SocketAddr] {
        &self.remotes
    }

    /// Addresses that a listener announces to its callers: those that `path=` names.
    #[must_use]
    pub fn announced(&self) -> Vec<SocketAddr> {
        if self.is_explicit { self.bound.clone() } else { Vec::new() }
    }

    /// The paths to call over, the primary first: one for each local address, and one for each
    /// remote address that none leads to yet. Routes may change: ask before every call.
    ///
    /// # Errors
    /// No local address reaches any of the remote ones.
    pub fn paths(&self) -> Result<Vec<FourTuple>, NetError> {
        let mut paths: Vec<FourTuple> = Vec::new();
        for (nth, bound) in self.bound.iter().enumerate() {
            let of_family =
                self.remotes.iter().filter(|remote| remote.is_ipv4() == bound.is_ipv4());
            let of_family: Vec<_> = of_family.collect();
            // Two interfaces towards two addresses go side by side, not crosswise.
            let Some(remote) = of_family.get(nth % of_family.len().max(1)) else { continue };
            paths.extend(path(*bound, **remote));
        }
        for remote in &self.remotes {
            if paths.iter().any(|path| path.remote == *remote) {
                continue;
            }
            let bound = self.bound.iter().filter(|bound| bound.is_ipv4() == remote.is_ipv4());
            paths.extend(bound.take(1).filter_map(|bound| path(*bound, *remote)));
        }
        if paths.is_empty() {
            return Err(NetError::NoRoute { remotes: self.remotes.clone() });
        }
        Ok(paths)
    }
}

const V4_ANY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const V6_ANY: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

fn path(bound: SocketAddr, remote: SocketAddr) -> Option<FourTuple> {
    match local_towards(bound, remote) {
        Ok(local) => Some(FourTuple::new(local, remote)),
        Err(error) => {
            tracing::info!(%bound, %remote, %error, "no route");
            None
        }
    }
}

/// Whom a URL calls. Names may have several addresses of several machines: the first is called, and
/// those of the other family only where there may be a path of that family.
async fn remotes(url: &SessionUrl, of_both_families: bool) -> Result<Vec<SocketAddr>, NetError> {
    let host = url.host.as_deref().unwrap_or_default();
    let mut remotes = resolve(host, url.port).await?;
    keep_one_of_each_family(&mut remotes);
    if !of_both_families {
        remotes.truncate(1);
    }
    for peer in &url.peers {
        let found = resolve(&peer.host, peer.port).await?;
        remotes.extend(found.into_iter().take(1));
    }
    Ok(remotes)
}

fn keep_one_of_each_family(addrs: &mut Vec<SocketAddr>) {
    let first = |v4| addrs.iter().position(|addr| addr.is_ipv4() == v4);
    let (v4, v6) = (first(true), first(false));
    let mut index = 0..;
    addrs.retain(|_| {
        let index = index.next();
        index == v4 || index == v6
    });
}

/// What a caller binds: its paths, or whatever reaches the remote addresses.
fn caller_binds(paths: &[LocalPath], remotes: &[SocketAddr]) -> Result<Vec<BindConfig>, NetError> {
    let Some(primary) = remotes.first() else { return Err(NetError::NoRoute { remotes: vec![] }) };
    let any = |remote: &SocketAddr| if remote.is_ipv4() { V4_ANY } else { V6_ANY };
    if paths.is_empty() {
        let mut families: Vec<IpAddr> = remotes.iter().map(|remote| near(*remote, any)).collect();
        families.sort();
        families.dedup();
        return Ok(families.into_iter().map(|ip| SocketAddr::new(ip, 0).into()).collect());
    }
    for path in paths {
        if let LocalPath::Address(ip) = path
            && !remotes.iter().any(|remote| remote.is_ipv4() == ip.is_ipv4())
        {
            return Err(NetError::WrongFamily { path: *ip, remotes: remotes.to_vec() });
        }
    }
    Ok(paths.iter().map(|path| bind_config(path, any(primary), 0)).collect())
}

/// A peer on this machine is no reason to take packets from the network.
fn near(remote: SocketAddr, any: impl Fn(&SocketAddr) -> IpAddr) -> IpAddr {
    let any = any(&remote);
    if !remote.ip().is_loopback() {
        return any;
    }
    local_towards(SocketAddr::new(any, 0), remote).map_or(any, |local| local.ip())
}

fn bind_config(path: &LocalPath, any: IpAddr, port: u16) -> BindConfig {
    match path {
        LocalPath::Address(ip) => SocketAddr::new(*ip, port).into(),
        LocalPath::Interface(name) => BindConfig {
            interface: Some(name.clone()),
            ..BindConfig::from(SocketAddr::new(any, port))
        },
    }
}

/// Binds all addresses at one port that is free at each of them: in SCTP a host has one port at all
/// of its addresses, and the peer learns only the addresses.
fn bind_at_one_port(wanted: &[BindConfig]) -> Result<(SocketSet, Vec<SocketAddr>), NetError> {
    let mut in_use = None;
    for _ in 0..PORT_TRIES {
        match try_one_port(wanted) {
            Ok(bound) => return Ok(bound),
            Err(error @ BindError::PortInUse { .. }) => in_use = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    Err(in_use.map_or_else(|| io::Error::from(io::ErrorKind::AddrInUse).into(), NetError::from))
}

fn try_one_port(wanted: &[BindConfig]) -> Result<(SocketSet, Vec<SocketAddr>), BindError> {
    let mut sockets = SocketSet::new();
    let mut bound: Vec<SocketAddr> = Vec::new();
    for config in wanted {
        let mut config = config.clone();
        config.local.set_port(bound.first().map_or(0, SocketAddr::port));
        bound.push(sockets.bind(config)?);
    }
    Ok((sockets, bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(bound: &[&str], remotes: &[&str]) -> Plan {
        let parse = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        Plan { mode: Mode::Caller, bound: parse(bound), is_explicit: true, remotes: parse(remotes) }
    }

    fn paths(bound: &[&str], remotes: &[&str]) -> Vec<String> {
        let paths = plan(bound, remotes).paths().unwrap();
        paths.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn two_local_addresses_towards_one_are_two_paths() {
        assert_eq!(
            paths(&["127.0.0.1:7", "127.0.0.2:7"], &["127.0.0.9:9"]),
            ["127.0.0.1:7 -> 127.0.0.9:9", "127.0.0.2:7 -> 127.0.0.9:9"]
        );
    }

    #[test]
    fn several_addresses_on_both_sides_go_side_by_side() {
        assert_eq!(
            paths(&["127.0.0.1:7", "127.0.0.2:7"], &["127.0.0.8:9", "127.0.0.9:9"]),
            ["127.0.0.1:7 -> 127.0.0.8:9", "127.0.0.2:7 -> 127.0.0.9:9"]
        );
        assert_eq!(
            paths(&["127.0.0.1:7"], &["127.0.0.8:9", "127.0.0.9:9"]),
            ["127.0.0.1:7 -> 127.0.0.8:9", "127.0.0.1:7 -> 127.0.0.9:9"]
        );
    }

    #[test]
    fn families_are_not_mixed_within_a_path() {
        assert_eq!(
            paths(&["127.0.0.1:7", "[::1]:7"], &["[::1]:9", "127.0.0.9:9"]),
            ["127.0.0.1:7 -> 127.0.0.9:9", "[::1]:7 -> [::1]:9"]
        );
        let error = plan(&["127.0.0.1:7"], &["[::1]:9"]).paths().unwrap_err();
        assert!(matches!(error, NetError::NoRoute { .. }));
    }

    #[tokio::test]
    async fn all_sockets_of_a_caller_have_one_port() {
        let url = "anabranch://localhost:9?path=127.0.0.1,127.0.0.2".parse().unwrap();
        let (_sockets, plan) = Network::open(&url).await.unwrap().into_parts();
        let [first, second] = plan.bound() else { panic!("{plan:?}") };
        assert_eq!(first.port(), second.port());
        assert_ne!(first.ip(), second.ip());
    }

    #[tokio::test]
    async fn a_caller_of_this_machine_is_not_reachable_from_the_network() {
        let url = "anabranch://127.0.0.1:9".parse().unwrap();
        let (_sockets, plan) = Network::open(&url).await.unwrap().into_parts();
        assert!(plan.bound().iter().all(|addr| addr.ip().is_loopback()), "{plan:?}");
    }

    #[tokio::test]
    async fn what_cannot_be_bound_or_resolved_is_said_in_words() {
        let words =
            async |url: &str| Network::open(&url.parse().unwrap()).await.unwrap_err().to_string();
        let error = words("anabranch://127.0.0.1:9?path=192.0.2.77").await;
        assert!(error.contains("192.0.2.77 is not an address of this machine"), "{error}");
        let error = words("anabranch://127.0.0.1:9?path=::1").await;
        assert!(error.contains("path=::1 is IPv6, but 127.0.0.1:9 is not"), "{error}");
        let error = words("anabranch://no-such-host.invalid:9").await;
        assert!(error.contains("no-such-host.invalid is not known"), "{error}");
        let error = words("anabranch://127.0.0.1:9?path=nosuchif0").await;
        assert!(error.contains("nosuchif0"), "{error}");
    }
}
