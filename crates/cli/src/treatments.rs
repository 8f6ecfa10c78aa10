//! `anabranch treatments`: how each class of media is sent.

use anabranch_session::treatment::{MediaClass, Preset};
use clap::Args;

use crate::failure::Failure;
use crate::output;

/// Prints how each class of media is sent: the treatment tables.
#[derive(Debug, Args)]
pub(crate) struct Treatments {
    /// Only this one: reliable, layered or live.
    #[arg(long)]
    preset: Option<Preset>,
}

impl Treatments {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let presets = self.preset.map_or_else(|| Preset::ALL.to_vec(), |preset| vec![preset]);
        let mut parts: Vec<_> = presets.into_iter().map(describe).collect();
        parts.push(classes());
        Ok(output::print(&parts.join("\n"))?)
    }
}

/// What the preset is for, and its table.
fn describe(preset: Preset) -> String {
    let is_default = if preset == Preset::default() { " (the default)" } else { "" };
    format!("{preset}{is_default}: {}\n\n{}", preset.purpose(), preset.table())
}

/// What each class holds.
fn classes() -> String {
    let line = |class: MediaClass| format!("{class:<12} {}\n", class.meaning());
    MediaClass::ALL.into_iter().map(line).collect()
}
