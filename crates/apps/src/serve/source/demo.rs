//! [`DemoChannel`]: what there is to see without any file.

/// A channel that comes with anabranch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DemoChannel {
    /// The clip of the demo, in two layers.
    Clip,
    /// A test picture with a clock.
    Clock,
    /// Colour bars.
    Bars,
}

impl DemoChannel {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Clip, Self::Clock, Self::Bars];

    /// As it is written behind `demo:`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clip => "clip",
            Self::Clock => "clock",
            Self::Bars => "bars",
        }
    }

    /// The channel of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|demo| demo.name() == name)
    }

    pub(super) const fn transport_stream(self) -> Option<&'static [u8]> {
        match self {
            Self::Clip => None,
            Self::Clock => Some(include_bytes!("../../../assets/clock.ts")),
            Self::Bars => Some(include_bytes!("../../../assets/bars.ts")),
        }
    }
}
