//! [`Strategy`]: how the video is sent.

use std::fmt;
use std::str::FromStr;

use anabranch_sctp::Reliability;

use crate::svc::Layer;

/// One way to send a video of two layers, by the paper's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    /// SCTP on both links at once (CMT-SCTP), a stream for each layer.
    CmtMulti(Treatment),
    /// SCTP with failover, a stream for each layer.
    SctpMulti(Treatment),
    /// SCTP with failover, one stream.
    Sctp(Treatment),
    /// RTP, a link for each layer.
    RtpMulti,
    /// RTP on the first link.
    Rtp,
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
    pub const ALL: [Self; 15] = [
        Self::CmtMulti(Treatment::Reliable),
        Self::CmtMulti(Treatment::Unreliable(0)),
        Self::CmtMulti(Treatment::Unreliable(1)),
        Self::CmtMulti(Treatment::Mixed(0)),
        Self::CmtMulti(Treatment::Mixed(1)),
        Self::SctpMulti(Treatment::Reliable),
        Self::SctpMulti(Treatment::Unreliable(0)),
        Self::SctpMulti(Treatment::Unreliable(1)),
        Self::SctpMulti(Treatment::Mixed(0)),
        Self::SctpMulti(Treatment::Mixed(1)),
        Self::Sctp(Treatment::Reliable),
        Self::Sctp(Treatment::Unreliable(0)),
        Self::Sctp(Treatment::Unreliable(1)),
        Self::RtpMulti,
        Self::Rtp,
    ];
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
            Self::CmtMulti(treatment) => format!("CMTMulti{treatment}"),
            Self::SctpMulti(treatment) => format!("SCTPMulti{treatment}"),
            Self::Sctp(treatment) => format!("SCTP{treatment}"),
            Self::RtpMulti => "RTPMulti".to_owned(),
            Self::Rtp => "RTP".to_owned(),
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
