//! [`Packet`]: the 188 bytes of a transport stream packet, read in place.

use std::fmt;
use std::time::Duration;

/// Length of a packet (ISO/IEC 13818-1 section 2.4.3.1: "Transport stream packets shall be 188
/// bytes long").
pub const PACKET_LEN: usize = 188;

/// The first byte of every packet.
pub const SYNC_BYTE: u8 = 0x47;

/// The null packet as nearly all multiplexers write it.
pub const NULL_PACKET: [u8; PACKET_LEN] = {
    let mut bytes = [0xff; PACKET_LEN];
    bytes[0] = SYNC_BYTE;
    bytes[1] = 0x1f;
    bytes[3] = 0x10;
    bytes
};

/// Packet identifier: 13 bits that name a track, a table or nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(u16);

impl Pid {
    /// The program association table.
    pub const PAT: Self = Self(0x0000);
    /// Null packets.
    pub const NULL: Self = Self(0x1fff);
    /// The last of those that standards give to tables (ISO/IEC 13818-1 table 2-3, ETSI
    /// EN 300 468 table 1).
    const LAST_RESERVED: Self = Self(0x001f);
    /// The tables of ATSC A/65.
    const PSIP: Self = Self(0x1ffb);

    /// The lower 13 bits of a number.
    #[must_use]
    pub const fn new(bits: u16) -> Self {
        Self(bits & 0x1fff)
    }

    /// As a number.
    #[must_use]
    pub const fn as_u16(self) -> u16 {
        self.0
    }

    /// True for the PIDs that standards give to tables.
    #[must_use]
    pub fn is_reserved_for_tables(self) -> bool {
        self <= Self::LAST_RESERVED || self == Self::PSIP
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

impl fmt::Debug for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A program clock reference: 27 MHz, wraps after 26.5 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pcr(u64);

impl Pcr {
    /// Ticks in a second.
    pub const HZ: u64 = 27_000_000;
    /// The number of values (ISO/IEC 13818-1 section 2.4.3.5: 33 bits of 90 kHz, times 300).
    pub const MODULUS: u64 = (1 << 33) * 300;

    /// The value of a number of 27 MHz ticks, wrapped.
    #[must_use]
    pub const fn from_ticks(ticks: u64) -> Self {
        Self(ticks % Self::MODULUS)
    }

    /// 27 MHz ticks, below [`Pcr::MODULUS`].
    #[must_use]
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Ticks from `earlier` to this, as if less than half a wrap lay between: negative when this
    /// is the earlier one.
    #[must_use]
    pub const fn ticks_since(self, earlier: Self) -> i64 {
        let forward = (self.0 + Self::MODULUS - earlier.0) % Self::MODULUS;
        if forward < Self::MODULUS / 2 {
            forward as i64
        } else {
            forward as i64 - Self::MODULUS as i64
        }
    }

    /// A number of ticks as a time.
    #[must_use]
    pub const fn duration(ticks: u64) -> Duration {
        let rest = ticks % Self::HZ * 1_000_000_000 / Self::HZ;
        Duration::new(ticks / Self::HZ, rest as u32)
    }
}

/// A packet with the right length and sync byte; all else in it may be wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Packet([u8; PACKET_LEN]);

impl Packet {
    /// The packet with these bytes, if they begin with the sync byte.
    #[must_use]
    pub const fn new(bytes: [u8; PACKET_LEN]) -> Option<Self> {
        if bytes[0] == SYNC_BYTE { Some(Self(bytes)) } else { None }
    }

    /// All of it.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; PACKET_LEN] {
        &self.0
    }

    /// True if it was damaged before it came here: only the PID may be of use.
    #[must_use]
    pub const fn transport_error(&self) -> bool {
        self.0[1] & 0x80 != 0
    }

    /// True if a PES packet or a section starts in it.
    #[must_use]
    pub const fn payload_unit_start(&self) -> bool {
        self.0[1] & 0x40 != 0
    }

    /// Whose packet it is.
    #[must_use]
    pub const fn pid(&self) -> Pid {
        Pid::new(u16::from_be_bytes([self.0[1], self.0[2]]))
    }

    /// True if its payload is encrypted.
    #[must_use]
    pub const fn is_scrambled(&self) -> bool {
        self.0[3] & 0xc0 != 0
    }

    /// True if it has a payload, by its header.
    #[must_use]
    pub const fn has_payload(&self) -> bool {
        self.0[3] & 0x10 != 0
    }

    /// Counts the packets of a PID that have a payload, modulo 16.
    #[must_use]
    pub const fn continuity_counter(&self) -> u8 {
        self.0[3] & 0x0f
    }

    /// The adaptation field after its length byte; `None` if there is none or it is too long.
    fn adaptation_field(&self) -> Option<&[u8]> {
        if self.0[3] & 0x20 == 0 {
            return None;
        }
        self.0.get(5..5 + usize::from(self.0[4]))
    }

    fn adaptation_flag(&self, mask: u8) -> bool {
        self.adaptation_field().and_then(<[u8]>::first).is_some_and(|flags| flags & mask != 0)
    }

    /// True if the clock or the continuity counter breaks here on purpose.
    #[must_use]
    pub fn discontinuity(&self) -> bool {
        self.adaptation_flag(0x80)
    }

    /// True if decoding can begin with the access unit that starts here.
    #[must_use]
    pub fn random_access(&self) -> bool {
        self.adaptation_flag(0x40)
    }

    /// The clock reference in it, if any.
    #[must_use]
    pub fn pcr(&self) -> Option<Pcr> {
        let field = self.adaptation_field()?;
        if field.first()? & 0x10 == 0 {
            return None;
        }
        let bytes = field.get(1..7)?.first_chunk::<6>()?;
        let [a, b, c, d, e, f] = bytes.map(u64::from);
        let base = a << 25 | b << 17 | c << 9 | d << 1 | e >> 7;
        Some(Pcr::from_ticks(base * 300 + ((e & 1) << 8 | f)))
    }

    /// What it carries; empty if its header says so or makes no sense.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        if !self.has_payload() {
            return &[];
        }
        let start = if self.0[3] & 0x20 == 0 { 4 } else { 5 + usize::from(self.0[4]) };
        self.0.get(start..).unwrap_or_default()
    }
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packet")
            .field("pid", &self.pid())
            .field("start", &self.payload_unit_start())
            .field("counter", &self.continuity_counter())
            .field("payload", &self.payload().len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod build {
    //! Packets for tests.

    use super::*;

    /// A packet of `pid`; stuffing in the adaptation field fills what the payload leaves.
    pub(crate) fn packet(pid: u16, start: bool, counter: u8, payload: &[u8]) -> Packet {
        with_adaptation(pid, start, counter, 0, None, payload)
    }

    /// The same with adaptation flags and a PCR.
    pub(crate) fn with_adaptation(
        pid: u16,
        start: bool,
        counter: u8,
        flags: u8,
        pcr: Option<Pcr>,
        payload: &[u8],
    ) -> Packet {
        let room = PACKET_LEN - 4;
        assert!(payload.len() <= room, "a payload of {} bytes", payload.len());
        let mut bytes = vec![SYNC_BYTE, u8::from(start) << 6 | (pid >> 8) as u8, pid as u8];
        let adaptation = payload.len() < room || flags != 0 || pcr.is_some();
        let payload_flag = if payload.is_empty() { 0 } else { 0x10 };
        bytes.push(if adaptation { 0x20 } else { 0 } | payload_flag | (counter & 0xf));
        if adaptation {
            let field_len = room - 1 - payload.len();
            bytes.push(field_len as u8);
            if field_len > 0 {
                bytes.push(flags | if pcr.is_some() { 0x10 } else { 0 });
            }
            if let Some(pcr) = pcr {
                let (base, extension) = (pcr.ticks() / 300, pcr.ticks() % 300);
                bytes.extend_from_slice(&((base >> 1) as u32).to_be_bytes());
                bytes.push((base as u8) << 7 | 0x7e | (extension >> 8) as u8);
                bytes.push(extension as u8);
            }
            bytes.resize(PACKET_LEN - payload.len(), 0xff);
        }
        bytes.extend_from_slice(payload);
        Packet::new(bytes.try_into().unwrap()).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pcr_is_read_as_it_was_written() {
        for ticks in [0, 1, 299, 300, 123_456_789, Pcr::MODULUS - 1] {
            let pcr = Pcr::from_ticks(ticks);
            let packet = build::with_adaptation(0x100, true, 3, 0xc0, Some(pcr), b"media");
            assert_eq!(packet.pcr(), Some(pcr));
            assert_eq!(packet.payload(), b"media");
            assert!(packet.discontinuity() && packet.random_access());
        }
    }

    #[test]
    fn pcr_differences_survive_the_wrap() {
        let before = Pcr::from_ticks(Pcr::MODULUS - 27);
        let after = Pcr::from_ticks(27);
        assert_eq!(after.ticks_since(before), 54);
        assert_eq!(before.ticks_since(after), -54);
        assert_eq!(Pcr::duration(Pcr::MODULUS).as_secs(), 95_443);
    }

    #[test]
    fn an_adaptation_field_longer_than_the_packet_leaves_no_payload() {
        let mut bytes = NULL_PACKET;
        bytes[3] = 0x30;
        bytes[4] = 184;
        let packet = Packet::new(bytes).unwrap();
        assert_eq!(packet.payload(), b"");
        assert_eq!(packet.pcr(), None);
        assert!(!packet.random_access());
    }

    #[test]
    fn the_null_packet_is_one() {
        let packet = Packet::new(NULL_PACKET).unwrap();
        assert_eq!(packet.pid(), Pid::NULL);
        assert_eq!(packet.payload().len(), 184);
    }
}
