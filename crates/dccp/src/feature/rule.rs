//! [`Feature`]: what each feature's values are, and how they are agreed on.

use crate::wire::FeatureNumber;

/// A feature that we know: RFC 4340 section 6.4, table 4; RFC 4342 section 8, table 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Feature {
    Ccid,
    AllowShortSeqnos,
    SequenceWindow,
    EcnIncapable,
    AckRatio,
    SendAckVector,
    SendNdpCount,
    MinimumChecksumCoverage,
    CheckDataChecksum,
    SendLossEventRate,
}

/// Whose feature: each exists once at either end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// Ours: the peer speaks of it with "R" options.
    Local,
    /// The peer's: it speaks of it with "L" options.
    Remote,
}

/// RFC 4340 section 7.5.2: "The minimum valid Sequence Window value is Wmin = 32. The maximum valid
/// Sequence Window value is Wmax = 2^46 - 1".
pub(crate) const SEQUENCE_WINDOW_MIN: u64 = 32;
pub(crate) const SEQUENCE_WINDOW_MAX: u64 = (1 << 46) - 1;

impl Feature {
    /// In their order.
    pub(crate) const ALL: [Self; 10] = [
        Self::Ccid,
        Self::AllowShortSeqnos,
        Self::SequenceWindow,
        Self::EcnIncapable,
        Self::AckRatio,
        Self::SendAckVector,
        Self::SendNdpCount,
        Self::MinimumChecksumCoverage,
        Self::CheckDataChecksum,
        Self::SendLossEventRate,
    ];

    pub(crate) fn of(number: FeatureNumber) -> Option<Self> {
        Self::ALL.into_iter().find(|feature| feature.number() == number)
    }

    pub(crate) const fn number(self) -> FeatureNumber {
        match self {
            Self::Ccid => FeatureNumber::CCID,
            Self::AllowShortSeqnos => FeatureNumber::ALLOW_SHORT_SEQNOS,
            Self::SequenceWindow => FeatureNumber::SEQUENCE_WINDOW,
            Self::EcnIncapable => FeatureNumber::ECN_INCAPABLE,
            Self::AckRatio => FeatureNumber::ACK_RATIO,
            Self::SendAckVector => FeatureNumber::SEND_ACK_VECTOR,
            Self::SendNdpCount => FeatureNumber::SEND_NDP_COUNT,
            Self::MinimumChecksumCoverage => FeatureNumber::MINIMUM_CHECKSUM_COVERAGE,
            Self::CheckDataChecksum => FeatureNumber::CHECK_DATA_CHECKSUM,
            Self::SendLossEventRate => FeatureNumber::SEND_LOSS_EVENT_RATE,
        }
    }

    /// Bytes of a value where the value is its owner's choice alone; `None` where a list of
    /// preferences decides.
    ///
    /// RFC 4340 section 6.3: "All current DCCP features use one of two reconciliation rules:
    /// server-priority ("SP") and non-negotiable ("NN")."
    pub(crate) const fn non_negotiable_len(self) -> Option<usize> {
        match self {
            Self::SequenceWindow => Some(6),
            Self::AckRatio => Some(2),
            Self::Ccid
            | Self::AllowShortSeqnos
            | Self::EcnIncapable
            | Self::SendAckVector
            | Self::SendNdpCount
            | Self::MinimumChecksumCoverage
            | Self::CheckDataChecksum
            | Self::SendLossEventRate => None,
        }
    }

    /// The value that a connection begins with.
    pub(crate) const fn initial(self) -> u64 {
        match self {
            Self::Ccid | Self::AckRatio => 2,
            Self::SequenceWindow => 100,
            Self::AllowShortSeqnos
            | Self::EcnIncapable
            | Self::SendAckVector
            | Self::SendNdpCount
            | Self::MinimumChecksumCoverage
            | Self::CheckDataChecksum
            | Self::SendLossEventRate => 0,
        }
    }

    /// Whether every DCCP understands it, so that who does not is none.
    pub(crate) const fn is_required(self) -> bool {
        matches!(self, Self::Ccid | Self::AllowShortSeqnos | Self::SequenceWindow)
    }

    /// The value of a non-negotiable feature, if it is one.
    pub(crate) fn read_value(self, bytes: &[u8]) -> Option<u64> {
        let value = bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        let is_valid = if self == Self::SequenceWindow {
            (SEQUENCE_WINDOW_MIN..=SEQUENCE_WINDOW_MAX).contains(&value)
        } else {
            // RFC 4340 section 6.6.8: "a "Change L(Ack Ratio, 0)" option is never valid."
            value > 0
        };
        (self.non_negotiable_len() == Some(bytes.len()) && is_valid).then_some(value)
    }

    /// The bytes of a value.
    pub(crate) fn value_bytes(self, value: u64) -> Vec<u8> {
        let len = self.non_negotiable_len().unwrap_or(1);
        value.to_be_bytes().into_iter().skip(size_of::<u64>() - len).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_listed_in_their_order() {
        assert!(Feature::ALL.into_iter().map(|feature| feature as usize).eq(0..10));
    }
}
