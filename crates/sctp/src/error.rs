//! Errors of calls. What the network does wrong is never an error of a call: see
//! [`Event::Closed`](crate::Event::Closed).

use std::time::Duration;

use thiserror::Error;

/// Why streams are not reset.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResetError {
    /// The handshake is not done, or the association is ending.
    #[error("streams are reset between the handshake and the shutdown only")]
    NotEstablished,
    /// The peer did not announce RFC 6525.
    #[error("the peer does not support stream reconfiguration (RFC 6525)")]
    NotSupported,
    /// There is no such stream.
    #[error("stream {stream} does not exist: the association has streams 0 to {last}")]
    InvalidStream {
        /// The stream that was asked for.
        stream: u16,
        /// The highest one there is.
        last: u16,
    },
}

/// Why no streams are added.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AddStreamsError {
    /// The handshake is not done, or the association is ending.
    #[error("streams are added between the handshake and the shutdown only")]
    NotEstablished,
    /// The peer did not announce RFC 6525.
    #[error("the peer does not support stream reconfiguration (RFC 6525)")]
    NotSupported,
    /// More than can be told apart.
    #[error("there would be {streams} streams, but an association has at most {limit}")]
    TooMany {
        /// Streams that there would be in that direction.
        streams: u32,
        /// The most that there may be.
        limit: u16,
    },
}

/// Why an [`AssociationConfig`](crate::AssociationConfig) cannot work.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// What waits for no time at all, never stops.
    #[error("{name} is 0, but a timeout must take some time")]
    ZeroTimeout {
        /// The field.
        name: &'static str,
    },
    /// No RTO is within the bounds.
    #[error("rto_min is {min:?} and rto_max {max:?}, but the first must not be above the second")]
    RtoBounds {
        /// `TimerConfig::rto_min`.
        min: Duration,
        /// `TimerConfig::rto_max`.
        max: Duration,
    },
    /// Nothing is between what packets may have and what they may have at most.
    #[error(
        "larger packets are searched for up to {search_max} bytes: it must be {path_mtu}, which \
         they may have from the start, to {limit}"
    )]
    PathMtuSearch {
        /// IP bytes.
        search_max: usize,
        /// IP bytes.
        path_mtu: usize,
        /// IP bytes.
        limit: usize,
    },
    /// Too little for headers and data.
    #[error("the path MTU is {path_mtu} bytes, but at least {min} are needed")]
    PathMtu {
        /// `PathConfig::path_mtu`.
        path_mtu: usize,
        /// The least that works.
        min: usize,
    },
    /// More than headers take.
    #[error("{header_overhead} bytes of headers were given, but at most {limit} are possible")]
    HeaderOverhead {
        /// `PathConfig::header_overhead`.
        header_overhead: usize,
        /// The most that works.
        limit: usize,
    },
    /// RFC 9260 section 3.3.2 allows no association without streams.
    #[error("{outbound} outbound and {inbound} inbound streams, but each must be at least 1")]
    NoStreams {
        /// `StreamConfig::outbound_streams`.
        outbound: u16,
        /// `StreamConfig::inbound_streams_max`.
        inbound: u16,
    },
    /// RFC 9260 section 3.3.2 has peers refuse a smaller one.
    #[error("the receive buffer has {receive_buffer} bytes, but RFC 9260 asks for at least {min}")]
    ReceiveBuffer {
        /// `BufferConfig::receive_buffer`.
        receive_buffer: usize,
        /// The least a_rwnd.
        min: u32,
    },
    /// No message has no bytes.
    #[error("message_size_max is 0, but a message has at least one byte")]
    NoMessages,
    /// None, or more than can be told apart.
    #[error("paths_max is {paths_max}, but it must be from 1 to {limit}")]
    Paths {
        /// `PathConfig::paths_max`.
        paths_max: usize,
        /// The most that works.
        limit: usize,
    },
    /// The draft of the DTLS chunk, section 3.2: support of RFC 4895 "MUST NOT be negotiated in
    /// combination with the support of the DTLS chunk."
    #[error("authentication and encryption are both set, but the DTLS chunk allows one of them")]
    AuthenticationAndEncryption,
    /// Nothing would ever be sent.
    #[error("max_burst is 0 packets, but at least 1 must go out; None sets no limit")]
    NoBurst,
    /// Nothing would ever be sent.
    #[error("the fixed congestion window is 0, but at least 1 byte must go out")]
    NoWindow,
    /// Such a source would send nothing.
    #[error(
        "rate_max is 0, at which nothing is ever sent: give the source's rate, or leave it away"
    )]
    NoRate,
}

/// Why no association was begun.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No path was given.
    #[error("no path to the peer was given: at least one is needed")]
    NoPath,
    /// More paths than the association may have.
    #[error("{paths} paths were given, but an association has at most {limit}")]
    TooManyPaths {
        /// Paths that were asked for.
        paths: usize,
        /// `PathConfig::paths_max`.
        limit: usize,
    },
    /// The endpoint has all the associations that it may have.
    #[error("the endpoint has {limit} associations, which is its limit")]
    TooManyAssociations {
        /// `EndpointConfig::associations_max`.
        limit: usize,
    },
    /// It could not work.
    #[error("the configuration of the association cannot work: {0}")]
    Config(#[from] ConfigError),
    /// There is an association with this peer already.
    #[error("an association over this path between these SCTP ports exists already")]
    Exists,
}
