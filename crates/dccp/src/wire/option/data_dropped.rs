//! [`DataDropped`]: RFC 4340 section 11.7.

/// Whose data did not reach the application as usual, from the packet that is acknowledged towards
/// older ones.
///
/// Each byte is a block, normal or not:
///
/// ```text
///  0 1 2 3 4 5 6 7                  0 1 2 3 4 5 6 7
/// +-+-+-+-+-+-+-+-+                +-+-+-+-+-+-+-+-+
/// |0| Run Length  |       or       |1|DrpCd|Run Len|
/// +-+-+-+-+-+-+-+-+                +-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataDropped<'a>(&'a [u8]);

/// Why data were not delivered: RFC 4340 section 11.7, table 7. Three bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DropCode(pub u8);

impl DropCode {
    /// The protocol does not allow data there.
    pub const PROTOCOL_CONSTRAINTS: Self = Self(0);
    /// The application takes no more.
    pub const APPLICATION_NOT_LISTENING: Self = Self(1);
    /// The receive buffer was full.
    pub const RECEIVE_BUFFER: Self = Self(2);
    /// They were damaged.
    pub const CORRUPT: Self = Self(3);
    /// They were damaged, and the application has them all the same.
    pub const DELIVERED_CORRUPT: Self = Self(7);
}

/// Packets in a row with one fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropRun {
    /// Why their data were dropped; none: they were not, or the packets have not arrived.
    pub code: Option<DropCode>,
    /// How many they are: 1 to 128, or to 16 if they were dropped.
    pub len: u8,
}

impl DropRun {
    const fn decode(byte: u8) -> Self {
        if byte & 0x80 == 0 {
            return Self { code: None, len: byte + 1 };
        }
        Self { code: Some(DropCode(byte >> 4 & 7)), len: (byte & 0xf) + 1 }
    }

    const fn encode(self) -> u8 {
        let len = self.len.saturating_sub(1);
        match self.code {
            None => len & 0x7f,
            Some(DropCode(code)) => 0x80 | (code & 7) << 4 | (len & 0xf),
        }
    }

    /// RFC 4340 section 11.7: "Run lengths of more than 128 (for Normal Blocks) or 16 (for Drop
    /// Blocks) must be encoded in multiple Blocks."
    const fn len_max(code: Option<DropCode>) -> u8 {
        if code.is_some() { 16 } else { 128 }
    }
}

impl<'a> DataDropped<'a> {
    /// The blocks with these bytes. See [`DropRuns`].
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// The blocks, the newest first.
    pub fn runs(&self) -> impl Iterator<Item = DropRun> + use<'a> {
        self.0.iter().copied().map(DropRun::decode)
    }
}

/// The bytes of a Data Dropped option that is being written, or of several if one does not hold
/// them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DropRuns(Vec<u8>);

impl DropRuns {
    /// Appends `len` packets that are older than all before.
    pub fn push(&mut self, code: Option<DropCode>, mut len: u64) {
        while len > 0 {
            let part = len.min(DropRun::len_max(code).into());
            self.0.push(DropRun { code, len: part as u8 }.encode());
            len -= part;
        }
    }

    /// The contents of the options, in their order.
    pub fn options(&self) -> impl Iterator<Item = DataDropped<'_>> {
        self.0.chunks(super::OPTION_DATA_MAX).map(DataDropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc_is_read_as_it_says() {
        // RFC 4340 section 11.7: "a Data Dropped option containing the decimal values 0,160,3,162".
        let runs: Vec<_> = DataDropped::new(&[0, 160, 3, 162]).runs().collect();
        let run = |code, len| DropRun { code, len };
        let full = Some(DropCode::RECEIVE_BUFFER);
        assert_eq!(runs, [run(None, 1), run(full, 1), run(None, 4), run(full, 3)]);
        let mut written = DropRuns::default();
        runs.iter().for_each(|run| written.push(run.code, run.len.into()));
        assert_eq!(written.options().next(), Some(DataDropped::new(&[0, 160, 3, 162])));
    }

    #[test]
    fn long_runs_take_several_blocks() {
        let mut runs = DropRuns::default();
        runs.push(None, 129);
        runs.push(Some(DropCode::CORRUPT), 17);
        assert_eq!(runs.options().next(), Some(DataDropped::new(&[127, 0, 0xbf, 0xb0])));
    }

    #[test]
    fn every_byte_is_a_block_and_back() {
        for byte in 0..=u8::MAX {
            assert_eq!(DropRun::decode(byte).encode(), byte);
        }
    }
}
