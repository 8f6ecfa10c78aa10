//! [`OptionType`]: RFC 4340 section 5.8, table 3; RFC 4342 section 8, table 1.

use std::fmt;

/// The type of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OptionType(pub u8);

impl OptionType {
    /// Fills the options up to a word.
    pub const PADDING: Self = Self(0);
    /// The next option must be understood.
    pub const MANDATORY: Self = Self(1);
    /// The receiver cannot take more.
    pub const SLOW_RECEIVER: Self = Self(2);
    /// The sender's feature is to change.
    pub const CHANGE_L: Self = Self(32);
    /// The sender's feature has changed.
    pub const CONFIRM_L: Self = Self(33);
    /// The receiver's feature is to change.
    pub const CHANGE_R: Self = Self(34);
    /// The receiver's feature has changed.
    pub const CONFIRM_R: Self = Self(35);
    /// A server's cookie.
    pub const INIT_COOKIE: Self = Self(36);
    /// Packets without data before this one.
    pub const NDP_COUNT: Self = Self(37);
    /// What has arrived; ECN Nonce Echo 0.
    pub const ACK_VECTOR_0: Self = Self(38);
    /// What has arrived; ECN Nonce Echo 1.
    pub const ACK_VECTOR_1: Self = Self(39);
    /// Whose data were dropped.
    pub const DATA_DROPPED: Self = Self(40);
    /// When the packet was sent.
    pub const TIMESTAMP: Self = Self(41);
    /// When the packet was sent that is answered.
    pub const TIMESTAMP_ECHO: Self = Self(42);
    /// How long the acknowledgement waited.
    pub const ELAPSED_TIME: Self = Self(43);
    /// CRC-32c of the data.
    pub const DATA_CHECKSUM: Self = Self(44);
    /// RFC 9897: several paths at once.
    pub const MULTIPATH: Self = Self(46);
    /// CCID 3: packets per loss event.
    pub const LOSS_EVENT_RATE: Self = Self(192);
    /// CCID 3: the latest loss intervals.
    pub const LOSS_INTERVALS: Self = Self(193);
    /// CCID 3: bytes per second that arrive.
    pub const RECEIVE_RATE: Self = Self(194);

    /// Whether it has neither length nor data.
    #[must_use]
    pub const fn is_single_byte(self) -> bool {
        // RFC 4340 section 5.8: "Options with types 0 through 31 are single-byte options."
        self.0 < 32
    }

    /// Whether it counts on a Data packet.
    #[must_use]
    pub const fn may_stand_on_data(self) -> bool {
        // RFC 4340 section 5.8: "when the DCCP-Data? column value is N, the corresponding option
        // MUST be ignored when received on a DCCP-Data packet." The same is so for CCID 3's.
        matches!(
            self,
            Self::PADDING
                | Self::SLOW_RECEIVER
                | Self::NDP_COUNT
                | Self::TIMESTAMP
                | Self::TIMESTAMP_ECHO
                | Self::DATA_CHECKSUM
                | Self::MULTIPATH
        )
    }
}

impl fmt::Display for OptionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::PADDING => "Padding",
            Self::MANDATORY => "Mandatory",
            Self::SLOW_RECEIVER => "Slow Receiver",
            Self::CHANGE_L => "Change L",
            Self::CONFIRM_L => "Confirm L",
            Self::CHANGE_R => "Change R",
            Self::CONFIRM_R => "Confirm R",
            Self::INIT_COOKIE => "Init Cookie",
            Self::NDP_COUNT => "NDP Count",
            Self::ACK_VECTOR_0 => "Ack Vector [Nonce 0]",
            Self::ACK_VECTOR_1 => "Ack Vector [Nonce 1]",
            Self::DATA_DROPPED => "Data Dropped",
            Self::TIMESTAMP => "Timestamp",
            Self::TIMESTAMP_ECHO => "Timestamp Echo",
            Self::ELAPSED_TIME => "Elapsed Time",
            Self::DATA_CHECKSUM => "Data Checksum",
            Self::MULTIPATH => "Multipath",
            Self::LOSS_EVENT_RATE => "Loss Event Rate",
            Self::LOSS_INTERVALS => "Loss Intervals",
            Self::RECEIVE_RATE => "Receive Rate",
            Self(code) => return write!(f, "type {code}"),
        };
        f.write_str(name)
    }
}
