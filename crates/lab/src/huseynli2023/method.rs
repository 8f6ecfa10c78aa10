//! [`Method`]: in which order the reader gets what waits.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anabranch_sctp::{
    AssociationConfig, CongestionControl, Level, OutgoingMessage, ReceiveOrder, StreamId,
};
use bytes::Bytes;

use super::values::Values;

/// Longer than any run: the paper's list lets the least important wait as long as that.
const FOREVER: Duration = Duration::from_secs(24 * 60 * 60);

/// In which order the reader gets what waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Plain SCTP: as it arrived, in order.
    Sctp,
    /// The paper's list: what was sent again first, then I, P and B; the order within the stream is
    /// given up.
    SctpPq,
    /// Ours: the same levels, each on a stream of its own that stays in order, and nothing waits
    /// for longer than a bound.
    Anabranch,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sctp, Self::SctpPq, Self::Anabranch];

    /// Of both ends of the stream.
    pub(super) fn association(self, values: &Values) -> AssociationConfig {
        let config = match self {
            Self::Sctp | Self::SctpPq if !values.our_transport => rfc(values),
            Self::Sctp | Self::SctpPq | Self::Anabranch => {
                on_this_network(AssociationConfig::media(), values)
            }
        };
        config.with(|config| {
            // The marks tell the reader what was sent again, whether it is read first or not.
            config.extensions.level_marks = true;
            config.buffers.receive_order = match self {
                Self::Sctp => ReceiveOrder::Arrival,
                Self::SctpPq => ReceiveOrder::Priority { wait_max: FOREVER },
                Self::Anabranch => ReceiveOrder::Priority { wait_max: values.bound },
            };
        })
    }

    /// A message of the stream, as this method sends it.
    pub(super) fn message(self, level: Level, payload: Bytes, ordered: bool) -> OutgoingMessage {
        let stream = match self {
            Self::Sctp | Self::SctpPq => StreamId(0),
            Self::Anabranch => StreamId(level.index() as u16),
        };
        let ordered = ordered && self != Self::SctpPq;
        OutgoingMessage { level, ordered, ..OutgoingMessage::new(stream, payload) }
    }
}

/// What ns-2's SCTP begins with: an RTO of 3 s at first and of 1 to 60 s later, an initial window
/// of two packets, SACKs delayed by 200 ms, bursts of at most four packets.
pub(super) fn rfc(values: &Values) -> AssociationConfig {
    on_this_network(AssociationConfig::default(), values).with(|config| {
        config.timers.rto_initial = Duration::from_secs(3);
        config.timers.t1_initial = Duration::from_secs(3);
        config.window.congestion_control = CongestionControl::SmallInitialWindow;
    })
}

/// Straight on IP, and a source that does not wait for the network.
fn on_this_network(config: AssociationConfig, values: &Values) -> AssociationConfig {
    config.with(|config| {
        config.paths.path_mtu = 1_500;
        config.paths.header_overhead = 20;
        config.buffers.send_buffer = usize::MAX >> 1;
        config.buffers.receive_buffer = values.buffer;
        config.buffers.message_size_max = values.message as usize;
    })
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sctp => "SCTP",
            Self::SctpPq => "SCTP-PQ",
            Self::Anabranch => "Anabranch",
        })
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|method| method.to_string() == name);
        found.ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(Self::to_string).collect();
            format!("there is no method '{name}': give one of {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for method in Method::ALL {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        let error = "PQ".parse::<Method>().unwrap_err();
        assert!(error.contains("'PQ'") && error.contains("SCTP-PQ"), "{error}");
    }

    #[test]
    fn all_methods_can_work() {
        for method in Method::ALL {
            assert_eq!(method.association(&Values::default()).validate(), Ok(()), "{method}");
        }
    }
}
