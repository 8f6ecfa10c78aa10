//! [`ClipHeader`]: what a player must know before the first unit.

/// What a clip holds and who made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClipHeader {
    /// What is played.
    pub title: String,
    /// The picture.
    pub video: VideoFormat,
    /// The sound.
    pub audio: AudioFormat,
    /// Whom to name when the clip is shown.
    pub attribution: Attribution,
    /// How long one round takes: the first unit of the next round follows that much later.
    pub loop_duration_us: u64,
}

/// The format of the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VideoFormat {
    /// As `WebCodecs` spells it: `vp09.00.40.08`.
    pub codec: String,
    /// Width in pixels, the same in all layers.
    pub width: u16,
    /// Height in pixels, the same in all layers.
    pub height: u16,
    /// Numerator of the pictures per second.
    pub frame_rate_numerator: u16,
    /// Denominator of the pictures per second.
    pub frame_rate_denominator: u16,
    /// Layers of each picture, the base included.
    pub layers: u8,
}

impl VideoFormat {
    /// Pictures per second.
    #[must_use]
    pub fn fps(&self) -> f64 {
        f64::from(self.frame_rate_numerator) / f64::from(self.frame_rate_denominator)
    }
}

/// The format of the sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AudioFormat {
    /// As `WebCodecs` spells it: `opus`.
    pub codec: String,
    /// Samples per second.
    pub sample_rate: u32,
    /// Channels.
    pub channels: u8,
}

/// Whom to name when the clip is shown, and under which licence it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribution {
    /// The line to show.
    pub text: String,
    /// Where the work is found.
    pub url: String,
    /// The licence's name.
    pub license: String,
    /// Where the licence's text is found.
    pub license_url: String,
}
