//! [`SessionUrl`]: `anabranch://…`.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anabranch_keys::PublicKey;
use anabranch_session::{Bond, LATENCY_MS_MAX, Passphrase, SessionConfig, UnknownBond};
use anabranch_transport::{CONNECTIONS_MAX, Connections, DccpConfig};
use serde::Deserialize;

use super::error::{Place, UrlError};
use super::query::{Parts, host_and_port};

pub(super) const SCHEME: &str = "anabranch";

/// Over DCCP instead of SCTP.
const SCHEME_DCCP: &str = "anabranch+dccp";

/// The latency of an end that does not say.
pub const LATENCY_DEFAULT: Duration = Duration::from_millis(200);

/// Below this, even a perfect network is too slow for the packets of one frame.
pub const LATENCY_MS_MIN: u32 = 20;

/// Bytes of a stream's name, as in SRT.
pub const STREAM_ID_MAX: usize = 512;

/// Local addresses, and further addresses of the peer.
const ADDRESSES_MAX: usize = 8;

/// The longest name of a Linux interface.
const INTERFACE_LEN_MAX: usize = 15;

const KNOWN: &str = "mode, latency, path, peer, bond, streamid, passphrase, key, allow, ca, \
                     certificate, certificate_key, encryption, program, token";

const KNOWN_OVER_DCCP: &str = "mode, latency, path, peer, connections, bond, streamid, encryption, \
                               program";

/// Who begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// This end.
    Caller,
    /// The other end.
    Listener,
}

/// An address of this machine that is to be a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocalPath {
    /// By its address.
    Address(IpAddr),
    /// By its interface's name.
    Interface(String),
}

/// A host, by name or address, and maybe a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// A name, or an address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// Whether a session is encrypted, and between whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Security {
    /// It is.
    Encrypted(Credentials),
    /// It is not: who sees the packets can read and alter them.
    Open,
}

/// Who the other end must be, and what it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Credentials {
    /// The keys of which the peer must have one; empty: any, unless there is a CA.
    pub allowed: Vec<PublicKey>,
    /// The file with the CAs of which the peer must have a certificate, in PEM.
    pub authority: Option<PathBuf>,
    /// What we have of a CA ourselves.
    pub certificate: Option<CertificateFiles>,
}

/// A certificate and its key, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, and those that lead from it to the CA's.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

impl Credentials {
    /// Files that belong together, as they are given. One of a pair alone is none.
    #[must_use]
    pub fn pair(
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
    ) -> Option<Option<CertificateFiles>> {
        match (certificate, key) {
            (Some(certificate), Some(key)) => Some(Some(CertificateFiles { certificate, key })),
            (None, None) => Some(None),
            (_, _) => None,
        }
    }

    /// The same, with files that are named relative to this folder.
    #[must_use]
    pub fn relative_to(self, folder: &Path) -> Self {
        let Self { allowed, authority, certificate } = self;
        let certificate = certificate.map(|files| CertificateFiles {
            certificate: folder.join(files.certificate),
            key: folder.join(files.key),
        });
        Self { allowed, authority: authority.map(|file| folder.join(file)), certificate }
    }
}

/// Whether all is encrypted, as users say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EncryptionSwitch {
    /// It is.
    #[default]
    On,
    /// It is not.
    Off,
}

impl FromStr for EncryptionSwitch {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        match text {
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            _ => Err(UrlError::Encryption { value: text.to_owned() }),
        }
    }
}

/// What carries a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// One SCTP association.
    Sctp,
    /// DCCP connections, which send once what may be given up, and do not encrypt.
    Dccp {
        /// How many over each path.
        connections: Connections,
    },
}

/// With whom to speak and how: see the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionUrl {
    /// What carries it.
    pub carrier: Carrier,
    /// Who begins.
    pub mode: Mode,
    /// Whom to call, or where to listen; `None`: everywhere.
    pub host: Option<String>,
    /// Its port.
    pub port: u16,
    /// The latency that this end wants.
    pub latency: Duration,
    /// Local addresses; empty: whatever the routing table says.
    pub paths: Vec<LocalPath>,
    /// Further addresses of the one called.
    pub peers: Vec<HostPort>,
    /// How this end uses several paths.
    pub bond: Bond,
    /// The stream's name.
    pub stream_id: Option<String>,
    /// What both ends must know.
    pub passphrase: Option<Passphrase>,
    /// Whether all is encrypted, and between whom.
    pub security: Security,
    /// The one program to send.
    pub program: Option<u16>,
    /// What entitles a viewer to channels that are not open to all.
    pub token: Option<String>,
}

impl FromStr for SessionUrl {
    type Err = UrlError;

    fn from_str(url: &str) -> Result<Self, UrlError> {
        let is_over_dccp =
            url.strip_prefix(SCHEME_DCCP).is_some_and(|rest| rest.starts_with("://"));
        let scheme = if is_over_dccp { SCHEME_DCCP } else { SCHEME };
        Self::parse_scheme(url, scheme, |_, _| Ok(false))
    }
}

impl SessionUrl {
    /// Reads one with options that a session does not have; `take` answers whether one was such.
    pub(super) fn parse_with(
        url: &str,
        take: impl FnMut(&str, &str) -> Result<bool, UrlError>,
    ) -> Result<Self, UrlError> {
        Self::parse_scheme(url, SCHEME, take)
    }

    fn parse_scheme(
        url: &str,
        scheme: &'static str,
        mut take: impl FnMut(&str, &str) -> Result<bool, UrlError>,
    ) -> Result<Self, UrlError> {
        let parts = Parts::of(url, scheme)?;
        let (host, port) = host_and_port(parts.authority, Place::Url)?;
        let Some(port) = port else {
            return Err(UrlError::NoPort { place: Place::Url, text: parts.authority.to_owned() });
        };
        let is_over_dccp = scheme == SCHEME_DCCP;
        let mut options = Options { is_over_dccp, ..Options::default() };
        for option in parts.options() {
            let (name, value) = option?;
            if !take(name, &value)? {
                options.take(name, &value)?;
            }
        }
        let host = (!host.is_empty()).then(|| host.to_owned());
        options.finish(host, port)
    }

    /// The same, with files that are named relative to this folder.
    pub(crate) fn relative_to(mut self, folder: &Path) -> Self {
        if let Security::Encrypted(credentials) = self.security {
            self.security = Security::Encrypted(credentials.relative_to(folder));
        }
        self
    }

    /// The session that it asks for, without keys.
    pub(crate) fn session(&self) -> SessionConfig {
        let listens = self.mode == Mode::Listener;
        let mut session = SessionConfig::new(listens, self.latency).with_bond(self.bond);
        session.stream_id.clone_from(&self.stream_id);
        let one_path = self.bond == Bond::Backup;
        let dccp = DccpConfig { one_path, ..DccpConfig::default() };
        match self.carrier {
            Carrier::Dccp { connections } => session.over_dccp(DccpConfig { connections, ..dccp }),
            Carrier::Sctp if listens && self.takes_dccp() => session.over_dccp(dccp),
            Carrier::Sctp => session,
        }
    }

    /// Whether a listener takes callers over DCCP, which neither encrypts nor sends all twice.
    fn takes_dccp(&self) -> bool {
        self.security == Security::Open && self.bond != Bond::Dup
    }
}

/// The options as they come.
#[derive(Debug, Default)]
struct Options {
    is_over_dccp: bool,
    connections: Option<Connections>,
    mode: Option<Mode>,
    latency: Option<Duration>,
    paths: Option<Vec<LocalPath>>,
    /// Hosts whose port may be missing.
    peers: Option<Vec<(String, Option<u16>)>>,
    bond: Option<Bond>,
    stream_id: Option<String>,
    passphrase: Option<Passphrase>,
    key: Option<PublicKey>,
    allow: Option<Vec<PublicKey>>,
    authority: Option<PathBuf>,
    certificate: Option<PathBuf>,
    certificate_key: Option<PathBuf>,
    encryption: Option<EncryptionSwitch>,
    program: Option<u16>,
    token: Option<String>,
}

impl Options {
    fn take(&mut self, name: &str, value: &str) -> Result<(), UrlError> {
        match name {
            "mode" => set(&mut self.mode, name, mode(value)?),
            "latency" => set(&mut self.latency, name, latency(value)?),
            "path" => set(&mut self.paths, name, local_paths(value)?),
            "peer" => set(&mut self.peers, name, peers(value)?),
            "bond" => set(&mut self.bond, name, bond(value)?),
            "streamid" => set(&mut self.stream_id, name, stream_id(value)?),
            "passphrase" => set(&mut self.passphrase, name, passphrase(value)?),
            "key" => set(&mut self.key, name, key(value)?),
            "allow" => set(&mut self.allow, name, allowed(value)?),
            "ca" => set(&mut self.authority, name, value.into()),
            "certificate" => set(&mut self.certificate, name, value.into()),
            "certificate_key" => set(&mut self.certificate_key, name, value.into()),
            "encryption" => set(&mut self.encryption, name, value.parse()?),
            "program" => set(&mut self.program, name, program(value)?),
            "token" => set(&mut self.token, name, value.to_owned()),
            "connections" if self.is_over_dccp => {
                set(&mut self.connections, name, connections(value)?)
            }
            "connections" => Err(UrlError::ConnectionsOfSctp),
            _ => Err(unknown(name, self.is_over_dccp)),
        }
    }

    fn security(&self, host: Option<&str>) -> Result<Security, UrlError> {
        let needs = [
            ("key", self.key.is_some()),
            ("allow", self.allow.is_some()),
            ("ca", self.authority.is_some()),
            ("certificate", self.certificate.is_some()),
            ("certificate_key", self.certificate_key.is_some()),
            ("passphrase", self.passphrase.is_some()),
        ];
        let needed_by = needs.iter().find(|(_, is_given)| *is_given).map(|(name, _)| *name);
        if self.is_over_dccp {
            return match (self.encryption, needed_by) {
                (_, Some(name)) => Err(UrlError::NoKeysOverDccp { name }),
                (Some(EncryptionSwitch::On), None) => Err(UrlError::NoEncryptionOverDccp),
                (None, None) if !host.is_some_and(is_loopback) => Err(UrlError::OpenOverDccp),
                (Some(EncryptionSwitch::Off) | None, None) => Ok(Security::Open),
            };
        }
        match (self.encryption, needed_by) {
            (Some(EncryptionSwitch::Off), Some(name)) => Err(UrlError::NotEncrypted { name }),
            (Some(EncryptionSwitch::Off), None) => Ok(Security::Open),
            (Some(EncryptionSwitch::On) | None, _) => self.credentials().map(Security::Encrypted),
        }
    }

    fn credentials(&self) -> Result<Credentials, UrlError> {
        if self.key.is_some() && self.authority.is_some() {
            return Err(UrlError::KeyAndAuthority);
        }
        let allowed = self.key.into_iter().chain(self.allow.iter().flatten().copied());
        let pair = Credentials::pair(self.certificate.clone(), self.certificate_key.clone());
        Ok(Credentials {
            allowed: allowed.collect(),
            authority: self.authority.clone(),
            certificate: pair.ok_or(UrlError::HalfCertificate)?,
        })
    }

    fn carrier(&self) -> Result<Carrier, UrlError> {
        if !self.is_over_dccp {
            return Ok(Carrier::Sctp);
        }
        if self.bond == Some(Bond::Dup) {
            return Err(UrlError::DupOverDccp);
        }
        if self.token.is_some() {
            return Err(unknown("token", true));
        }
        let connections = self.connections.unwrap_or(DccpConfig::default().connections);
        Ok(Carrier::Dccp { connections })
    }

    fn finish(self, host: Option<String>, port: u16) -> Result<SessionUrl, UrlError> {
        let by_host = if host.is_some() { Mode::Caller } else { Mode::Listener };
        let mode = self.mode.unwrap_or(by_host);
        let security = self.security(host.as_deref())?;
        let carrier = self.carrier()?;
        let paths = self.paths.unwrap_or_default();
        match (mode, &host) {
            (Mode::Caller, None) => return Err(UrlError::NobodyToCall),
            (Mode::Listener, _) if self.peers.is_some() => return Err(UrlError::PeerOfListener),
            (Mode::Listener, Some(_)) if !paths.is_empty() => return Err(UrlError::HostAndPaths),
            (Mode::Listener, Some(host)) if host.parse::<IpAddr>().is_err() => {
                return Err(UrlError::ListenAtName { host: host.clone() });
            }
            (Mode::Caller, _) if self.allow.is_some() => return Err(UrlError::AllowOfCaller),
            (Mode::Caller | Mode::Listener, _) => {}
        }
        let peers = self.peers.unwrap_or_default().into_iter();
        Ok(SessionUrl {
            carrier,
            mode,
            host,
            port,
            latency: self.latency.unwrap_or(LATENCY_DEFAULT),
            paths,
            peers: peers.map(|(host, own)| HostPort { host, port: own.unwrap_or(port) }).collect(),
            bond: self.bond.unwrap_or_default(),
            stream_id: self.stream_id,
            passphrase: self.passphrase,
            security,
            program: self.program,
            token: self.token,
        })
    }
}

/// Whether a host is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

pub(super) fn set<T>(field: &mut Option<T>, name: &str, value: T) -> Result<(), UrlError> {
    match field.replace(value) {
        Some(_) => Err(UrlError::Repeated { name: name.to_owned() }),
        None => Ok(()),
    }
}

fn unknown(name: &str, is_over_dccp: bool) -> UrlError {
    let remedy = match name {
        "pbkeylen" | "psk" => "all is encrypted, and both ends choose the cipher; leave it out",
        "group" | "grouptype" => "write bond=balance, bond=backup or bond=dup",
        "fec" | "packetfilter" => "losses are repaired by retransmission only; leave it out",
        "maxbw" | "inputbw" | "oheadbw" => {
            "the rate follows the network's congestion control; leave it out"
        }
        _ => {
            let known = if is_over_dccp { KNOWN_OVER_DCCP } else { KNOWN };
            return UrlError::UnknownOption { name: name.to_owned(), known };
        }
    };
    UrlError::NotYet { name: name.to_owned(), remedy }
}

fn mode(value: &str) -> Result<Mode, UrlError> {
    match value {
        "caller" => Ok(Mode::Caller),
        "listener" => Ok(Mode::Listener),
        _ => Err(UrlError::Mode { value: value.to_owned() }),
    }
}

fn latency(value: &str) -> Result<Duration, UrlError> {
    let ms = value.parse().ok().filter(|ms| (LATENCY_MS_MIN..=LATENCY_MS_MAX).contains(ms));
    let ms: u32 = ms.ok_or_else(|| UrlError::Latency { value: value.to_owned() })?;
    Ok(Duration::from_millis(ms.into()))
}

fn local_paths(value: &str) -> Result<Vec<LocalPath>, UrlError> {
    let mut paths = Vec::new();
    for text in value.split(',') {
        let path = local_path(text)?;
        if paths.contains(&path) {
            return Err(UrlError::RepeatedPath { value: text.to_owned() });
        }
        paths.push(path);
    }
    bounded("path", paths)
}

fn local_path(text: &str) -> Result<LocalPath, UrlError> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if let Ok(address) = bare.parse::<IpAddr>()
        && !address.is_unspecified()
        && !address.is_multicast()
    {
        return Ok(LocalPath::Address(address));
    }
    let has_name = text.bytes().any(|byte| byte.is_ascii_alphabetic());
    let fits = (1..=INTERFACE_LEN_MAX).contains(&text.len());
    let is_plain = !text.contains(|c: char| c == ':' || c == '/' || c.is_whitespace());
    if !(has_name && fits && is_plain) {
        return Err(UrlError::LocalPath { value: text.to_owned() });
    }
    Ok(LocalPath::Interface(text.to_owned()))
}

fn peers(value: &str) -> Result<Vec<(String, Option<u16>)>, UrlError> {
    let peers = value.split(',').map(|text| {
        // An IPv6 address alone needs no brackets: no port follows.
        if text.parse::<IpAddr>().is_ok() {
            return Ok((text.to_owned(), None));
        }
        let (host, port) = host_and_port(text, Place::Peer)?;
        if host.is_empty() {
            return Err(UrlError::Host { place: Place::Peer, text: text.to_owned() });
        }
        Ok((host.to_owned(), port))
    });
    bounded("peer", peers.collect::<Result<_, _>>()?)
}

fn bounded<T>(name: &'static str, values: Vec<T>) -> Result<Vec<T>, UrlError> {
    let (count, limit) = (values.len(), ADDRESSES_MAX);
    if count > limit { Err(UrlError::TooMany { name, count, limit }) } else { Ok(values) }
}

fn bond(value: &str) -> Result<Bond, UrlError> {
    value.parse().map_err(|_: UnknownBond| UrlError::Bond { value: value.to_owned() })
}

fn connections(value: &str) -> Result<Connections, UrlError> {
    if value == "auto" {
        return Ok(Connections::Auto);
    }
    let count = value.parse().ok().filter(|count| (1..=CONNECTIONS_MAX).contains(count));
    let count = count.ok_or_else(|| UrlError::Connections { value: value.to_owned() })?;
    Ok(Connections::Fixed(count))
}

fn stream_id(value: &str) -> Result<String, UrlError> {
    let len = value.len();
    if len > STREAM_ID_MAX { Err(UrlError::StreamIdLength { len }) } else { Ok(value.to_owned()) }
}

fn key(value: &str) -> Result<PublicKey, UrlError> {
    value.parse().map_err(UrlError::Key)
}

fn allowed(value: &str) -> Result<Vec<PublicKey>, UrlError> {
    value.split(',').map(key).collect()
}

fn passphrase(value: &str) -> Result<Passphrase, UrlError> {
    Ok(value.parse()?)
}

fn program(value: &str) -> Result<u16, UrlError> {
    let number = value.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| UrlError::Program { value: value.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<SessionUrl, UrlError> {
        url.parse()
    }

    fn words(url: &str) -> String {
        parse(url).unwrap_err().to_string()
    }

    #[test]
    fn a_listener_needs_a_port_only() {
        let url = parse("anabranch://:9000").unwrap();
        assert_eq!((url.mode, url.host, url.port), (Mode::Listener, None, 9000));
        assert_eq!(url.latency, LATENCY_DEFAULT);
        let url = parse("anabranch://[::1]:9000?mode=listener&latency=50").unwrap();
        assert_eq!((url.mode, url.host.as_deref()), (Mode::Listener, Some("::1")));
        assert_eq!(url.latency, Duration::from_millis(50));
    }

    #[test]
    fn a_caller_names_its_paths_and_its_peers() {
        let url = parse(
            "anabranch://studio.example:9000?path=192.0.2.5,wwan0,2001:db8::5&\
             peer=198.51.100.9,[2001:db8::9]:9001,2001:db8::8&bond=balance&streamid=cam%201&\
             passphrase=long%20and%20secret&program=3&token=a.b.c",
        )
        .unwrap();
        let address = |text: &str| LocalPath::Address(text.parse().unwrap());
        assert_eq!(url.mode, Mode::Caller);
        let interface = LocalPath::Interface("wwan0".to_owned());
        assert_eq!(url.paths, [address("192.0.2.5"), interface, address("2001:db8::5")]);
        let peer = |host: &str, port| HostPort { host: host.to_owned(), port };
        assert_eq!(
            url.peers,
            [peer("198.51.100.9", 9000), peer("2001:db8::9", 9001), peer("2001:db8::8", 9000)]
        );
        assert_eq!(url.bond, Bond::Balance);
        assert_eq!((url.stream_id.as_deref(), url.program), (Some("cam 1"), Some(3)));
        assert_eq!(url.token.as_deref(), Some("a.b.c"));
        assert_eq!(url.passphrase, Some("long and secret".parse().unwrap()));
    }

    #[test]
    fn options_of_later_versions_are_refused_with_what_to_do() {
        for name in ["pbkeylen", "group", "fec", "maxbw"] {
            let error = words(&format!("anabranch://h:1?{name}=x"));
            assert!(error.contains("is not supported yet: "), "{error}");
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn senseless_urls_are_refused_with_what_would_be_right() {
        let expected = [
            ("srt://h:1", "it must begin with anabranch://"),
            ("anabranch:h:1", "it must begin with anabranch://"),
            ("anabranch://h", "has no port: write HOST:PORT"),
            ("anabranch://h:0", "port \"0\" does not exist: give 1 to 65535"),
            ("anabranch://h:70000", "give 1 to 65535"),
            ("anabranch://2001:db8::1:9000", "write IPv6 addresses as [2001:db8::1]:9000"),
            ("anabranch://[192.0.2.1]:9", "write IPv6 addresses as"),
            ("anabranch://a b:9", "is not a host"),
            ("anabranch://h:1/live", "\"/live\" after the port means nothing"),
            ("anabranch://:1?mode=caller", "needs a host to call"),
            ("anabranch://h:1?mode=listener", "\"h\" is a name, give an address"),
            ("anabranch://:1?peer=192.0.2.1", "peer= is for callers"),
            ("anabranch://192.0.2.1:1?mode=listener&path=192.0.2.1", "leave the host empty"),
            ("anabranch://h:1?mode=both", "give caller or listener"),
            ("anabranch://h:1?latency=5", "milliseconds from 20 to 60000"),
            ("anabranch://h:1?latency=0.2", "milliseconds from 20 to 60000"),
            ("anabranch://h:1?latency=", "option latency has no value"),
            ("anabranch://h:1?latency", "option latency has no value"),
            ("anabranch://h:1?latency=50&latency=60", "option latency= is given twice"),
            ("anabranch://h:1?lag=50", "there are mode, latency, path"),
            ("anabranch://h:1?path=10.0.0.1,10.0.0.1", "path=10.0.0.1 is given twice"),
            ("anabranch://h:1?path=10.0.0.1:99", "neither an address nor an interface"),
            ("anabranch://h:1?path=0.0.0.0", "neither an address nor an interface"),
            ("anabranch://h:1?path=a,b,c,d,e,f,g,h,i", "has 9 values: give at most 8"),
            ("anabranch://h:1?peer=:5", "peer \":5\" is not a host"),
            ("anabranch://h:1?bond=both", "give balance, backup or dup"),
            ("anabranch://h:1?program=0", "give 1 to 65535"),
            ("anabranch://h:1?certificate=a.pem", "certificate= and certificate_key= go together"),
            ("anabranch://:1?certificate_key=a.key", "certificate= and certificate_key= go"),
            ("anabranch://h:1?ca=a.pem&encryption=off", "ca= has no effect with encryption=off"),
            ("anabranch://h:1?passphrase=short", "has 5 bytes: give 10 to 79"),
            ("anabranch://h:1?streamid=%zz", "write % as %25"),
            ("anabranch://h:1?streamid=%ff", "in UTF-8"),
        ];
        for (url, part) in expected {
            let error = words(url);
            assert!(error.contains(part), "{url}: {error}");
        }
        let long = "x".repeat(STREAM_ID_MAX + 1);
        let error = words(&format!("anabranch://h:1?streamid={long}"));
        assert_eq!(error, "streamid= has 513 bytes: give at most 512");
    }

    #[test]
    fn over_dccp_a_session_has_connections_and_no_encryption() {
        let url = parse("anabranch+dccp://:9000?encryption=off&latency=500").unwrap();
        assert_eq!((url.mode, &url.security), (Mode::Listener, &Security::Open));
        assert_eq!(url.carrier, Carrier::Dccp { connections: Connections::Fixed(4) });
        let url = parse("anabranch+dccp://127.0.0.1:9000?connections=32&bond=backup").unwrap();
        assert_eq!(url.carrier, Carrier::Dccp { connections: Connections::Fixed(32) });
        let auto = parse("anabranch+dccp://127.0.0.1:9000?connections=auto").unwrap();
        assert_eq!(auto.carrier, Carrier::Dccp { connections: Connections::Auto });
        let dccp = url.session().dccp.unwrap();
        assert_eq!((dccp.connections, dccp.one_path), (Connections::Fixed(32), true));
        assert_eq!(parse("anabranch://h:1").unwrap().carrier, Carrier::Sctp);
    }

    #[test]
    fn what_dccp_cannot_do_is_refused_in_words() {
        let expected = [
            ("anabranch+dccp://h:1", "over DCCP nothing is encrypted: write encryption=off"),
            ("anabranch+dccp://:1", "write encryption=off"),
            ("anabranch+dccp://h:1?encryption=on", "leave it to anabranch://"),
            ("anabranch+dccp://h:1?passphrase=0123456789", "passphrase= cannot be kept over DCCP"),
            ("anabranch+dccp://h:1?encryption=off&passphrase=0123456789", "passphrase= cannot"),
            ("anabranch+dccp://h:1?encryption=off&connections=0", "give auto, or 1 to 32"),
            ("anabranch+dccp://h:1?encryption=off&connections=33", "give auto, or 1 to 32"),
            ("anabranch+dccp://h:1?encryption=off&bond=dup", "give bond=balance or bond=backup"),
            ("anabranch+dccp://h:1?encryption=off&lag=5", "there are mode, latency, path, peer, c"),
            ("anabranch+dccp://h:1?encryption=off&token=x", "option token= does not exist"),
            ("anabranch+dccp://h?encryption=off", "has no port"),
            ("anabranch://h:1?connections=4", "connections= is for anabranch+dccp://"),
            ("anabranch+sctp://h:1", "it must begin with anabranch://"),
        ];
        for (url, part) in expected {
            let error = words(url);
            assert!(error.contains(part), "{url}: {error}");
        }
        let key = "anabranch+dccp://h:1?encryption=off&key=";
        let key = format!("{key}{}", anabranch_keys::Identity::generate().unwrap().public_key());
        assert!(words(&key).contains("key= cannot be kept over DCCP"), "{}", words(&key));
        assert!(words(&key.replace("key=", "allow=")).contains("allow= cannot be kept over DCCP"));
        let authority = words("anabranch+dccp://h:1?encryption=off&ca=a.pem");
        assert!(authority.contains("ca= cannot be kept over DCCP"), "{authority}");
    }

    #[test]
    fn certificates_and_their_ca_are_files() {
        let url = parse("anabranch://h:1?ca=ca.pem&certificate=/c.pem&certificate_key=c.key");
        let Security::Encrypted(credentials) = url.unwrap().security else { panic!("encrypted") };
        let credentials = credentials.relative_to(Path::new("/tv"));
        assert_eq!(credentials.authority, Some("/tv/ca.pem".into()));
        let files = CertificateFiles { certificate: "/c.pem".into(), key: "/tv/c.key".into() };
        assert_eq!(credentials.certificate, Some(files));
        let key = anabranch_keys::Identity::generate().unwrap().public_key();
        let error = words(&format!("anabranch://h:1?ca=ca.pem&key={key}"));
        assert!(error.contains("key= and ca= both say who the other end is"), "{error}");
    }
}
