//! [`AckVector`]: RFC 4340 section 11.4.

/// How many runs one option holds.
pub const RUNS_PER_OPTION_MAX: usize = super::OPTION_DATA_MAX;

/// What became of packets, from the one that is acknowledged towards older ones.
///
/// Each byte is a run:
///
/// ```text
///  0 1 2 3 4 5 6 7
/// +-+-+-+-+-+-+-+-+
/// |Sta| Run Length|
/// +-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckVector<'a>(&'a [u8]);

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum AckState {
    /// It arrived.
    Received = 0,
    /// It arrived, marked by a router that was congested.
    EcnMarked = 1,
    /// A value that nobody has given a meaning.
    Reserved = 2,
    /// It has not arrived.
    NotYetReceived = 3,
}

/// Packets in a row with one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckRun {
    /// Their state.
    pub state: AckState,
    /// How many they are: 1 to 64.
    pub len: u8,
}

impl AckRun {
    /// The longest run of one byte.
    pub const LEN_MAX: u8 = 64;

    const fn decode(byte: u8) -> Self {
        let state = match byte >> 6 {
            0 => AckState::Received,
            1 => AckState::EcnMarked,
            2 => AckState::Reserved,
            _ => AckState::NotYetReceived,
        };
        // RFC 4340 section 11.4: "Run Length zero says the corresponding State applies to one
        // packet only; Run Length 63 says it applies to 64 consecutive packets."
        Self { state, len: (byte & 0x3f) + 1 }
    }

    const fn encode(self) -> u8 {
        (self.state as u8) << 6 | (self.len.saturating_sub(1) & 0x3f)
    }
}

impl<'a> AckVector<'a> {
    /// The vector with these bytes, each a run. See [`AckRuns`].
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// The runs, the newest first.
    pub fn runs(&self) -> impl Iterator<Item = AckRun> + use<'a> {
        self.0.iter().copied().map(AckRun::decode)
    }
}

/// The bytes of an Ack Vector that is being written, or of several if one does not hold them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AckRuns(Vec<u8>);

impl AckRuns {
    /// Appends `len` packets that are older than all before.
    pub fn push(&mut self, state: AckState, mut len: u64) {
        while len > 0 {
            let part = len.min(AckRun::LEN_MAX.into());
            self.0.push(AckRun { state, len: part as u8 }.encode());
            len -= part;
        }
    }

    /// The vectors, one for each option, in their order.
    pub fn vectors(&self) -> impl Iterator<Item = AckVector<'_>> {
        // RFC 4340 section 11.4: "Should more packets need to be acknowledged than can fit in 253
        // bytes of Ack Vector, then multiple Ack Vector options can be sent; the second Ack Vector
        // begins where the first left off, and so forth."
        self.0.chunks(RUNS_PER_OPTION_MAX).map(AckVector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc_is_read_as_it_says() {
        // RFC 4340 section 11.4: "An Ack Vector containing the decimal values 0,192,3,64,5".
        let runs: Vec<_> = AckVector::new(&[0, 192, 3, 64, 5]).runs().collect();
        let run = |state, len| AckRun { state, len };
        assert_eq!(
            runs,
            [
                run(AckState::Received, 1),
                run(AckState::NotYetReceived, 1),
                run(AckState::Received, 4),
                run(AckState::EcnMarked, 1),
                run(AckState::Received, 6),
            ]
        );
        let mut written = AckRuns::default();
        runs.iter().for_each(|run| written.push(run.state, run.len.into()));
        assert_eq!(written.vectors().next(), Some(AckVector::new(&[0, 192, 3, 64, 5])));
    }

    #[test]
    fn long_runs_take_several_bytes_and_many_several_options() {
        let mut runs = AckRuns::default();
        runs.push(AckState::Received, 130);
        assert_eq!(runs.vectors().next(), Some(AckVector::new(&[63, 63, 1])));
        // RFC 4340 section 11.4: "A single Ack Vector option can acknowledge up to 16192 data
        // packets."
        let mut full = AckRuns::default();
        full.push(AckState::Received, 16_192);
        assert_eq!(full.vectors().count(), 1);
        full.push(AckState::NotYetReceived, 1);
        let lens: Vec<_> = full.vectors().map(|vector| vector.as_bytes().len()).collect();
        assert_eq!(lens, [253, 1]);
    }

    #[test]
    fn every_byte_is_a_run_and_back() {
        for byte in 0..=u8::MAX {
            assert_eq!(AckRun::decode(byte).encode(), byte);
        }
    }
}
