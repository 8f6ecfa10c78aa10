//! [`FeatureOption`]: Change and Confirm, RFC 4340 section 6.

use std::fmt;

use super::OptionType;

/// A feature: RFC 4340 section 6.4, table 4; RFC 4342 section 8, table 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeatureNumber(pub u8);

impl FeatureNumber {
    /// Which congestion control its owner sends under.
    pub const CCID: Self = Self(1);
    /// Whether its owner may send short sequence numbers.
    pub const ALLOW_SHORT_SEQNOS: Self = Self(2);
    /// How many packets its owner expects to be under way.
    pub const SEQUENCE_WINDOW: Self = Self(3);
    /// Whether its owner cannot read ECN marks.
    pub const ECN_INCAPABLE: Self = Self(4);
    /// How many of its owner's data packets one acknowledgement answers.
    pub const ACK_RATIO: Self = Self(5);
    /// Whether its owner sends Ack Vectors.
    pub const SEND_ACK_VECTOR: Self = Self(6);
    /// Whether its owner sends NDP Counts.
    pub const SEND_NDP_COUNT: Self = Self(7);
    /// Which checksum coverages its owner accepts.
    pub const MINIMUM_CHECKSUM_COVERAGE: Self = Self(8);
    /// Whether its owner checks Data Checksums.
    pub const CHECK_DATA_CHECKSUM: Self = Self(9);
    /// Whether its owner takes part in Multipath DCCP, and in which version (RFC 9897).
    pub const MULTIPATH_CAPABLE: Self = Self(10);
    /// CCID 3: whether its owner sends Loss Event Rates.
    pub const SEND_LOSS_EVENT_RATE: Self = Self(192);
}

impl fmt::Display for FeatureNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::CCID => "CCID",
            Self::ALLOW_SHORT_SEQNOS => "Allow Short Seqnos",
            Self::SEQUENCE_WINDOW => "Sequence Window",
            Self::ECN_INCAPABLE => "ECN Incapable",
            Self::ACK_RATIO => "Ack Ratio",
            Self::SEND_ACK_VECTOR => "Send Ack Vector",
            Self::SEND_NDP_COUNT => "Send NDP Count",
            Self::MINIMUM_CHECKSUM_COVERAGE => "Minimum Checksum Coverage",
            Self::CHECK_DATA_CHECKSUM => "Check Data Checksum",
            Self::MULTIPATH_CAPABLE => "Multipath Capable",
            Self::SEND_LOSS_EVENT_RATE => "Send Loss Event Rate",
            Self(number) => return write!(f, "feature {number}"),
        };
        f.write_str(name)
    }
}

/// What a feature option does, and whose feature it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureOptionKind {
    /// The sender of the option is to change its feature.
    ChangeL,
    /// The sender of the option has changed its feature.
    ConfirmL,
    /// The receiver of the option is to change its feature.
    ChangeR,
    /// The receiver of the option has been told to change its feature.
    ConfirmR,
}

impl FeatureOptionKind {
    /// The type of such an option.
    #[must_use]
    pub const fn option_type(self) -> OptionType {
        match self {
            Self::ChangeL => OptionType::CHANGE_L,
            Self::ConfirmL => OptionType::CONFIRM_L,
            Self::ChangeR => OptionType::CHANGE_R,
            Self::ConfirmR => OptionType::CONFIRM_R,
        }
    }

    const fn of(ty: OptionType) -> Option<Self> {
        match ty {
            OptionType::CHANGE_L => Some(Self::ChangeL),
            OptionType::CONFIRM_L => Some(Self::ConfirmL),
            OptionType::CHANGE_R => Some(Self::ChangeR),
            OptionType::CONFIRM_R => Some(Self::ConfirmR),
            _ => None,
        }
    }
}

/// A Change or a Confirm.
///
/// ```text
/// +--------+--------+--------+--------+--------
/// |  Type  | Length |Feature#| Value(s) ...
/// +--------+--------+--------+--------+--------
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureOption<'a> {
    /// Which of the four options it is.
    pub kind: FeatureOptionKind,
    /// The feature.
    pub feature: FeatureNumber,
    /// Preferences, the new value, or both; of an empty Confirm, nothing.
    pub values: &'a [u8],
}

impl<'a> FeatureOption<'a> {
    pub(super) fn decode(ty: OptionType, data: &'a [u8]) -> Option<Self> {
        let (feature, values) = data.split_first()?;
        let kind = FeatureOptionKind::of(ty)?;
        Some(Self { kind, feature: FeatureNumber(*feature), values })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.feature.0);
        out.extend_from_slice(self.values);
    }
}
