//! The clip that the demo plays, part of the program.

use std::sync::LazyLock;

use anabranch_media::clip::Clip;
use anabranch_media::psnr::PsnrTable;
use bytes::Bytes;

use crate::page::protocol::Named;

const CLIP: &[u8] = include_bytes!("../../assets/big-buck-bunny.anaclip");
const SCORES: &[u8] = include_bytes!("../../assets/big-buck-bunny.psnr");

/// The clip, which tests of the media crate hold against its format.
pub(crate) static DEMO_CLIP: LazyLock<Clip> = LazyLock::new(|| {
    Clip::decode(&Bytes::from_static(CLIP)).expect("the committed clip obeys its format")
});

/// What each of its pictures scores in place of each other.
pub(super) static DEMO_SCORES: LazyLock<PsnrTable> =
    LazyLock::new(|| PsnrTable::decode(SCORES).expect("the committed table obeys its format"));

/// What the statistics tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClipLayer {
    Base,
    Enhancement,
    Sound,
}

impl ClipLayer {
    pub(super) const ALL: [Self; 3] = [Self::Base, Self::Enhancement, Self::Sound];

    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Enhancement => "enhancement",
            Self::Sound => "audio",
        }
    }

    /// As part of a sentence.
    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::Base => "base picture",
            Self::Enhancement => "enhancement",
            Self::Sound => "sound",
        }
    }

    pub(super) fn named(self) -> Named {
        let name = match self {
            Self::Base => "Base picture",
            Self::Enhancement => "Enhancement",
            Self::Sound => "Sound",
        };
        Named { id: self.id().to_owned(), name: name.to_owned() }
    }
}
