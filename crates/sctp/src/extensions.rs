//! [`SupportedExtensions`]: what both ends must know to be used.

use crate::format::DataFormat;

/// Extensions that both ends must know to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SupportedExtensions {
    /// RFC 3758.
    pub(crate) forward_tsn: bool,
    /// Delayed acknowledgements for CMT (DAC of Iyengar 2006, section V).
    pub(crate) cmt_delayed_ack: bool,
    /// SACKs that are spaced in time.
    pub(crate) spaced_sacks: bool,
    /// Levels in the flags of DATA and I-DATA chunks.
    pub(crate) level_marks: bool,
    /// RFC 6525.
    pub(crate) re_config: bool,
    /// RFC 5061.
    pub(crate) asconf: bool,
    /// RFC 8260: user message interleaving.
    pub(crate) i_data: bool,
    /// RFC 8260: partial reliability together with that.
    pub(crate) i_forward_tsn: bool,
    /// RFC 9653: packets without a checksum, as DTLS finds errors.
    pub(crate) zero_checksum: bool,
    /// The same of packets that hold a DTLS chunk, and of those alone.
    pub(crate) zero_checksum_of_sealed: bool,
}

impl SupportedExtensions {
    /// What an INIT ACK most likely will tell, as far as it matters to messages that are handed
    /// over before: that lifetimes hold, and how long the longest header is.
    pub(crate) const BEFORE_THE_PEER_TOLD: Self = Self {
        forward_tsn: true,
        cmt_delayed_ack: false,
        spaced_sacks: false,
        level_marks: false,
        re_config: false,
        asconf: false,
        i_data: true,
        i_forward_tsn: true,
        zero_checksum: false,
        zero_checksum_of_sealed: false,
    };

    /// What both ends know.
    pub(crate) const fn shared(self, other: Self) -> Self {
        Self {
            forward_tsn: self.forward_tsn && other.forward_tsn,
            cmt_delayed_ack: self.cmt_delayed_ack && other.cmt_delayed_ack,
            spaced_sacks: self.spaced_sacks && other.spaced_sacks,
            level_marks: self.level_marks && other.level_marks,
            re_config: self.re_config && other.re_config,
            asconf: self.asconf && other.asconf,
            i_data: self.i_data && other.i_data,
            i_forward_tsn: self.i_forward_tsn && other.i_forward_tsn,
            zero_checksum: self.zero_checksum && other.zero_checksum,
            zero_checksum_of_sealed: self.zero_checksum_of_sealed && other.zero_checksum_of_sealed,
        }
    }

    /// What carries user data where both ends know this.
    pub(crate) const fn data_format(self) -> DataFormat {
        if self.i_data { DataFormat::IData } else { DataFormat::Data }
    }

    /// Whether messages can be abandoned where both ends know this.
    ///
    /// RFC 8260 section 2.3.1: "The partial reliability extension is negotiated and can be used in
    /// combination with user message interleaving only if both endpoints indicated their support of
    /// user message interleaving and the I-FORWARD-TSN chunk."
    pub(crate) const fn partial_reliability(self) -> bool {
        if self.i_data { self.i_forward_tsn } else { self.forward_tsn }
    }

    /// As a cookie keeps them.
    pub(crate) fn to_bits(self) -> u16 {
        u16::from(self.forward_tsn)
            | u16::from(self.cmt_delayed_ack) << 1
            | u16::from(self.re_config) << 2
            | u16::from(self.i_data) << 3
            | u16::from(self.i_forward_tsn) << 4
            | u16::from(self.zero_checksum) << 5
            | u16::from(self.spaced_sacks) << 6
            | u16::from(self.asconf) << 7
            | u16::from(self.level_marks) << 8
            | u16::from(self.zero_checksum_of_sealed) << 9
    }

    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self {
            forward_tsn: bits & 1 != 0,
            cmt_delayed_ack: bits & 2 != 0,
            re_config: bits & 4 != 0,
            asconf: bits & 0x80 != 0,
            i_data: bits & 8 != 0,
            i_forward_tsn: bits & 0x10 != 0,
            zero_checksum: bits & 0x20 != 0,
            spaced_sacks: bits & 0x40 != 0,
            level_marks: bits & 0x100 != 0,
            zero_checksum_of_sealed: bits & 0x200 != 0,
        }
    }
}
