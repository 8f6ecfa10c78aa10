//! [`UrlError`]: what is wrong with an address, and what would be right.

use std::fmt;

use anabranch_keys::KeyError;
use anabranch_session::{LATENCY_MS_MAX, PassphraseLength};
use anabranch_transport::CONNECTIONS_MAX;
use thiserror::Error;

use super::session::{LATENCY_MS_MIN, STREAM_ID_MAX};

/// What is wrong with a URL.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UrlError {
    /// It begins otherwise.
    #[error("\"{url}\" is no {scheme} URL: it must begin with {scheme}://")]
    Scheme {
        /// What was given.
        url: String,
        /// What it must begin with.
        scheme: &'static str,
    },
    /// Another program reads it.
    #[error(
        "{scheme}:// is not read here: let ffmpeg do it, ffmpeg -i '{url}' -c copy -f mpegts \
         'udp://127.0.0.1:5000?pkt_size=1316', and give udp://127.0.0.1:5000"
    )]
    ByFfmpeg {
        /// How it begins.
        scheme: String,
        /// What was given.
        url: String,
    },
    /// Something follows the port.
    #[error("\"{path}\" after the port means nothing here: leave it out")]
    Path {
        /// What follows.
        path: String,
    },
    /// There is no port.
    #[error("{place} \"{text}\" has no port: write HOST:PORT, as in 192.0.2.1:9000")]
    NoPort {
        /// Where.
        place: Place,
        /// What was given.
        text: String,
    },
    /// The port is no number from 1 to 65535.
    #[error("port \"{port}\" does not exist: give 1 to 65535")]
    Port {
        /// What was given.
        port: String,
    },
    /// IPv6 without brackets, or brackets around something else.
    #[error("{place} \"{text}\" is not a host: write IPv6 addresses as [2001:db8::1]:9000")]
    Host {
        /// Where.
        place: Place,
        /// What was given.
        text: String,
    },
    /// A caller needs someone to call.
    #[error("mode=caller needs a host to call: anabranch://HOST:PORT")]
    NobodyToCall,
    /// A listener's address is its own.
    #[error("a listener listens at addresses of its own: \"{host}\" is a name, give an address")]
    ListenAtName {
        /// What was given.
        host: String,
    },
    /// Only one who calls knows whom.
    #[error("peer= is for callers: a listener learns its peer's addresses when it is called")]
    PeerOfListener,
    /// A listener has its address twice.
    #[error("the listener's address is given by the host and by path=: leave the host empty")]
    HostAndPaths,
    /// No such option.
    #[error("option {name}= does not exist: there are {known}")]
    UnknownOption {
        /// What was given.
        name: String,
        /// Those that exist.
        known: &'static str,
    },
    /// An option of a later version.
    #[error("option {name}= is not supported yet: {remedy}")]
    NotYet {
        /// What was given.
        name: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// A channel of nobody.
    #[error("a channel is one of another server: give anabranch://HOST:PORT?channel=3")]
    ChannelOfNobody,
    /// A room of nobody.
    #[error("a room is one of a server: give anabranch://HOST:PORT?room=NAME&token=TOKEN")]
    RoomOfNobody,
    /// A room in the open.
    #[error(
        "a room is entered encrypted: leave encryption=off away, or give a host of this machine \
         such as 127.0.0.1"
    )]
    OpenRoom,
    /// The page of a room.
    #[error(
        "this link opens in a browser, whose page tells what anabranch call takes: a link that \
         begins with anabranch://"
    )]
    PageOfRoom,
    /// Not a public key.
    #[error("{0}: copy it from what the other end prints")]
    Key(KeyError),
    /// Neither on nor off.
    #[error("encryption={value} makes no sense: give on or off")]
    Encryption {
        /// What was given.
        value: String,
    },
    /// Options that do not go together.
    #[error("{name}= has no effect with encryption=off: leave one of them out")]
    NotEncrypted {
        /// The other option.
        name: &'static str,
    },
    /// Who is called is known in one way.
    #[error("key= and ca= both say who the other end is: give one of them")]
    KeyAndAuthority,
    /// A certificate without its key, or a key without its certificate.
    #[error("certificate= and certificate_key= go together: give both files, or none")]
    HalfCertificate,
    /// DCCP has no keys.
    #[error(
        "{name}= cannot be kept over DCCP, which knows no keys: leave it out, or use anabranch://"
    )]
    NoKeysOverDccp {
        /// The option.
        name: &'static str,
    },
    /// DCCP does not encrypt.
    #[error("encryption=on is not possible over DCCP: leave it to anabranch://")]
    NoEncryptionOverDccp,
    /// DCCP does not encrypt, and nobody said that this is known.
    #[error(
        "over DCCP nothing is encrypted: write encryption=off if that is meant, or use anabranch://"
    )]
    OpenOverDccp,
    /// Nothing is sent twice.
    #[error("bond=dup is not there over DCCP: give bond=balance or bond=backup")]
    DupOverDccp,
    /// An association is one.
    #[error("connections= is for anabranch+dccp://: an SCTP association needs one")]
    ConnectionsOfSctp,
    /// Not a number of connections.
    #[error("connections={value} makes no sense: give auto, or 1 to {CONNECTIONS_MAX}")]
    Connections {
        /// What was given.
        value: String,
    },
    /// Only one who is called chooses among callers.
    #[error("allow= is for listeners: a caller names its peer's key by key=")]
    AllowOfCaller,
    /// An option without a value.
    #[error("option {name} has no value: write {name}=VALUE, or leave it out")]
    NoValue {
        /// The option.
        name: String,
    },
    /// An option twice.
    #[error("option {name}= is given twice: give it once")]
    Repeated {
        /// The option.
        name: String,
    },
    /// Percent signs that encode nothing, or no UTF-8.
    #[error("\"{text}\" is not encoded well: write % as %25, and other characters in UTF-8")]
    Encoding {
        /// What was given.
        text: String,
    },
    /// No such mode.
    #[error("mode={value} does not exist: give caller or listener")]
    Mode {
        /// What was given.
        value: String,
    },
    /// Not a latency.
    #[error(
        "latency={value} makes no sense: give milliseconds from {LATENCY_MS_MIN} to \
         {LATENCY_MS_MAX}"
    )]
    Latency {
        /// What was given.
        value: String,
    },
    /// No such way to use several paths.
    #[error("bond={value} does not exist: give balance, backup or dup")]
    Bond {
        /// What was given.
        value: String,
    },
    /// Neither an address nor the name of an interface.
    #[error("path={value} is neither an address nor an interface: write path=192.0.2.5,eth1")]
    LocalPath {
        /// What was given.
        value: String,
    },
    /// A path twice.
    #[error("path={value} is given twice: each path has an address of its own")]
    RepeatedPath {
        /// What was given.
        value: String,
    },
    /// Too many addresses.
    #[error("{name}= has {count} values: give at most {limit}")]
    TooMany {
        /// The option.
        name: &'static str,
        /// How many were given.
        count: usize,
        /// How many may be.
        limit: usize,
    },
    /// Too long.
    #[error("streamid= has {len} bytes: give at most {STREAM_ID_MAX}")]
    StreamIdLength {
        /// Its length.
        len: usize,
    },
    /// Too short or too long; it is not repeated here.
    #[error(transparent)]
    Passphrase(#[from] PassphraseLength),
    /// Not a program number.
    #[error("program={value} does not exist: give 1 to 65535, as the stream's tables number it")]
    Program {
        /// What was given.
        value: String,
    },
    /// An option of the other end.
    #[error("program= is the sender's choice: give it to anabranch send")]
    ProgramOfReceiver,
    /// Not a size of UDP datagrams.
    #[error("pkt_size={value} makes no sense: give a multiple of 188 from 188 to 65424")]
    PktSize {
        /// What was given.
        value: String,
    },
    /// Nobody who could send.
    #[error("source={value} sends nothing: give the address of one sender, as 192.0.2.1")]
    MulticastSource {
        /// What was given.
        value: String,
    },
    /// Packets to an address of our own come from anyone.
    #[error("source= chooses a sender of a group: give udp://232.1.2.3:5000?source=192.0.2.1")]
    SourceWithoutGroup,
    /// The socket library has no such call.
    #[error("source= is for IPv4 only: leave it out, a group of IPv6 is taken from all senders")]
    SourceOfIpv6,
    /// Not a time to live.
    #[error("ttl={value} makes no sense: give 1 to 255")]
    Ttl {
        /// What was given.
        value: String,
    },
    /// Not an address.
    #[error(
        "localaddr={value} is not an address: give one of this machine, as localaddr=192.0.2.5"
    )]
    LocalAddr {
        /// What was given.
        value: String,
    },
}

/// Where in a URL something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// After the scheme.
    Url,
    /// In the option `peer`.
    Peer,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Url => "the URL's host",
            Self::Peer => "peer",
        })
    }
}
