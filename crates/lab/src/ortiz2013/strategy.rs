//! [`Strategy`]: how the video is sent.

use std::fmt;
use std::str::FromStr;

use anabranch_sctp::Reliability;

use super::values::Values;
use crate::svc::Layer;

/// One way to send a video of two layers, by the paper's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    /// One association over both links.
    Sctp(SctpStrategy),
    /// RTP over UDP.
    Rtp(RtpStrategy),
    /// TCP on the first link, both layers in one stream of bytes.
    Tcp,
}

/// How an association uses its streams and links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SctpStrategy {
    /// Both links at once (CMT-SCTP), a stream for each layer.
    CmtMulti(Treatment),
    /// The first link, the second one for what was lost; a stream for each layer.
    Multi(Treatment),
    /// The same with one stream.
    Single(Treatment),
    /// Ours, with all that this transport does for media: both links by the time of arrival,
    /// losses found in time, each packet delivered as it comes, and less time and a lower rank for
    /// the enhancement.
    Anabranch,
}

/// Which links RTP uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RtpStrategy {
    /// The first one for the base layer, the second one for the enhancement.
    Multi,
    /// The first one for both layers.
    Single,
}

/// How hard SCTP tries to deliver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Treatment {
    /// Both layers until they arrive.
    Reliable,
    /// Neither layer more than so many times again. The paper calls both 0 and "at least one"
    /// unreliable.
    Unreliable(u32),
    /// The base layer until it arrives, the enhancement at most so many times again.
    Mixed(u32),
}

impl Strategy {
    /// All of them, in the order of the paper's tables.
    pub const ALL: [Self; 17] = [
        Self::Sctp(SctpStrategy::CmtMulti(Treatment::Reliable)),
        Self::Sctp(SctpStrategy::CmtMulti(Treatment::Unreliable(0))),
        Self::Sctp(SctpStrategy::CmtMulti(Treatment::Unreliable(1))),
        Self::Sctp(SctpStrategy::CmtMulti(Treatment::Mixed(0))),
        Self::Sctp(SctpStrategy::CmtMulti(Treatment::Mixed(1))),
        Self::Sctp(SctpStrategy::Multi(Treatment::Reliable)),
        Self::Sctp(SctpStrategy::Multi(Treatment::Unreliable(0))),
        Self::Sctp(SctpStrategy::Multi(Treatment::Unreliable(1))),
        Self::Sctp(SctpStrategy::Multi(Treatment::Mixed(0))),
        Self::Sctp(SctpStrategy::Multi(Treatment::Mixed(1))),
        Self::Sctp(SctpStrategy::Single(Treatment::Reliable)),
        Self::Sctp(SctpStrategy::Single(Treatment::Unreliable(0))),
        Self::Sctp(SctpStrategy::Single(Treatment::Unreliable(1))),
        Self::Rtp(RtpStrategy::Multi),
        Self::Rtp(RtpStrategy::Single),
        Self::Tcp,
        Self::OURS,
    ];

    /// The one that is not the paper's.
    pub const OURS: Self = Self::Sctp(SctpStrategy::Anabranch);
}

impl SctpStrategy {
    /// How hard it tries to deliver a packet of a layer.
    #[must_use]
    pub const fn reliability(self, layer: Layer, values: &Values) -> Reliability {
        match (self, layer) {
            (
                Self::CmtMulti(treatment) | Self::Multi(treatment) | Self::Single(treatment),
                layer,
            ) => treatment.reliability(layer),
            (Self::Anabranch, Layer::Base) => Reliability::Lifetime(values.latency),
            (Self::Anabranch, Layer::Enhancement) => Reliability::Lifetime(values.lifetime),
        }
    }
}

impl Treatment {
    /// What becomes of a lost packet of a layer.
    #[must_use]
    pub const fn reliability(self, layer: Layer) -> Reliability {
        match (self, layer) {
            (Self::Reliable, _) | (Self::Mixed(_), Layer::Base) => Reliability::Reliable,
            (Self::Unreliable(max), _) | (Self::Mixed(max), Layer::Enhancement) => {
                Reliability::MaxRetransmissions(max)
            }
        }
    }
}

impl fmt::Display for Treatment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reliable => f.write_str("Reliable"),
            Self::Unreliable(max) => write!(f, "Unreliable{max}"),
            Self::Mixed(max) => write!(f, "Mixed{max}"),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Sctp(SctpStrategy::CmtMulti(treatment)) => format!("CMTMulti{treatment}"),
            Self::Sctp(SctpStrategy::Multi(treatment)) => format!("SCTPMulti{treatment}"),
            Self::Sctp(SctpStrategy::Single(treatment)) => format!("SCTP{treatment}"),
            Self::Sctp(SctpStrategy::Anabranch) => "Anabranch".to_owned(),
            Self::Rtp(RtpStrategy::Multi) => "RTPMulti".to_owned(),
            Self::Rtp(RtpStrategy::Single) => "RTP".to_owned(),
            Self::Tcp => "TCP".to_owned(),
        };
        f.pad(&name)
    }
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|strategy| strategy.to_string() == name);
        found.ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(Self::to_string).collect();
            format!("there is no strategy '{name}': give one of {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.to_string().parse(), Ok(strategy));
        }
        let error = "UDP".parse::<Strategy>().unwrap_err();
        assert!(error.contains("'UDP'") && error.contains("SCTPMultiReliable"), "{error}");
    }

    #[test]
    fn mixed_protects_the_base_alone() {
        let mixed = Treatment::Mixed(1);
        assert_eq!(mixed.reliability(Layer::Base), Reliability::Reliable);
        let enhancement = mixed.reliability(Layer::Enhancement);
        assert_eq!(enhancement, Reliability::MaxRetransmissions(1));
    }
}
