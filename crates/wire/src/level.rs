//! [`Level`]: how much the data of a chunk matters to who reads it.

/// One of four levels, told by the first two of the flags that RFC 9260 reserves in DATA chunks and
/// RFC 8260 in I-DATA chunks.
///
/// The bits are those of Huseynli 2023, table 2: 00 is a chunk that is sent again, and 01, 10 and
/// 11 are for what the paper names I, P and B frames. They are an extension of our own: between
/// ends that did not both announce it, by
/// [`LevelMarksSupported`](crate::Parameter::LevelMarksSupported), they are zero and mean nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Read first. What is sent again goes out as this.
    Urgent,
    /// What others build on, as pictures do on key frames.
    High,
    /// Neither of the others.
    #[default]
    Normal,
    /// What can be missed most easily.
    Low,
}

impl Level {
    /// All of them, what matters most first.
    pub const ALL: [Self; 4] = [Self::Urgent, Self::High, Self::Normal, Self::Low];

    const SHIFT: u32 = 6;

    /// Its place in [`ALL`](Self::ALL), which is its number in the paper.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    pub(crate) const fn from_flags(flags: u8) -> Self {
        match flags >> Self::SHIFT {
            0 => Self::Urgent,
            1 => Self::High,
            2 => Self::Normal,
            _ => Self::Low,
        }
    }

    pub(crate) const fn to_flags(self) -> u8 {
        (self as u8) << Self::SHIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_points_are_those_of_the_papers_second_table() {
        let flags = Level::ALL.map(Level::to_flags);
        assert_eq!(flags, [0b0000_0000, 0b0100_0000, 0b1000_0000, 0b1100_0000]);
        assert_eq!(flags.map(|flags| Level::from_flags(flags | 0b0011_1111)), Level::ALL);
        assert_eq!(Level::ALL.map(Level::index), [0, 1, 2, 3]);
    }
}
