//! The keys of television.

use std::sync::Arc;
use std::time::Duration;

use anabranch_netsim::written::{Fault, Section};
use anabranch_sctp::Encryption;

use super::encryption::{self, ENCRYPTION};
use super::media::{latency, video};
use crate::scenario::files::Named;
use crate::scenario::key::Key;
use crate::scenario::television::Programme;

/// What a server gives a viewer at least.
const LATENCY_MIN: Duration = Duration::from_millis(50);

pub(in crate::scenario) const TELEVISION_KEYS: &[Key] = &[ENCRYPTION];

/// What both ends of television are told.
#[derive(Debug, Clone)]
pub(in crate::scenario) struct TelevisionOptions {
    pub(in crate::scenario) programme: Arc<Programme>,
    pub(in crate::scenario) latency: Duration,
    pub(in crate::scenario) encryption: Option<Encryption>,
}

impl TelevisionOptions {
    /// What the keys say.
    pub(in crate::scenario) fn read(
        section: &mut Section,
        files: &Named<'_>,
    ) -> Result<Self, Fault> {
        let video = video(section, files)?;
        let programme =
            Programme::of(&video).map_err(|reason| section.fault(format!("video: {reason}")))?;
        let latency = latency(section)?;
        if latency < LATENCY_MIN {
            return Err(section.fault(format!(
                "latency: a server gives {LATENCY_MIN:?} at least: give as much or more"
            )));
        }
        let encryption = encryption::read(section)?;
        Ok(Self { programme: Arc::new(programme), latency, encryption })
    }
}
