//! What can be changed while an association lives.

use std::time::Duration;

use anabranch_sansio::Time;

use super::Association;
use crate::config::{AssociationConfig, PathConfig, TimerConfig};
use crate::error::ConfigError;
use crate::path_name::PathId;

impl Association {
    /// How the association behaves now.
    #[must_use]
    pub const fn config(&self) -> &AssociationConfig {
        &self.config
    }

    /// Changes the timers: the bounds of the RTO, the SACK delay, the heartbeat interval. Timers
    /// that run keep their time; the next ones have the new one.
    ///
    /// # Errors
    ///
    /// Says which rule of [`TimerConfig::validate`] they break. All stays as it was then.
    pub fn set_timers(&mut self, timers: TimerConfig) -> Result<(), ConfigError> {
        timers.validate()?;
        self.config.timers = timers;
        for path in self.sender.paths.iter_mut() {
            path.rtt.set_bounds(&self.config);
        }
        Ok(())
    }

    /// Changes the IP bytes that a packet may have on every path: the smallest path MTU there is.
    /// Where [larger ones are searched for](PathConfig::path_mtu_search_max), the search begins
    /// anew from there.
    ///
    /// What has a TSN already is not cut anew. A chunk that is too long now goes into a packet of
    /// its own, for IP to fragment. RFC 9260 section 6.9: "Once a user message is fragmented, it
    /// cannot be re-fragmented. Instead, if the PMTU has been reduced, then IP fragmentation MUST
    /// be used."
    ///
    /// # Errors
    ///
    /// Says which rule of [`PathConfig::validate`](crate::PathConfig::validate) it breaks. All
    /// stays as it was then.
    pub fn set_path_mtu(&mut self, now: Time, path_mtu: usize) -> Result<(), ConfigError> {
        let paths = PathConfig { path_mtu, ..self.config.paths.clone() };
        paths.validate()?;
        self.config.paths = paths;
        self.sender.set_pmdcs(self.pmdcs());
        self.restart_mtu_searches(now);
        Ok(())
    }

    /// Changes 'Association.Max.Retrans' and 'Path.Max.Retrans'. Errors that were counted before
    /// are held against them when the next one comes.
    pub const fn set_retransmission_limits(&mut self, association_max: u32, path_max: u32) {
        self.config.recovery.association_max_retrans = association_max;
        self.config.paths.path_max_retrans = path_max;
    }

    /// Changes 'HB.interval' of one path (RFC 9260 section 8.3). Returns false if there is no such
    /// path.
    pub fn set_heartbeat_interval(&mut self, now: Time, path: PathId, interval: Duration) -> bool {
        let Some(path) = self.sender.paths.named(path).map(|path| path.slot) else { return false };
        self.sender.paths.at_mut(path).heartbeat_interval = Some(interval);
        let is_idle = !self.sender.paths.at(path).heartbeat.awaits_answer;
        if is_idle && self.sends_heartbeats() && self.may_probe(path) {
            let period = self.idle_period(path);
            self.sender.paths.at_mut(path).heartbeat.timer = Some(now + period);
        }
        true
    }
}
