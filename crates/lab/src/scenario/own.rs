//! [`Own`]: the parts of a flow that whoever calls the library brings along.

use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use anabranch_sctp::{AssociationConfig, ControllerFactory, PathSchedulerFactory};
use thiserror::Error;

use super::Scenario;
use super::flow::{Flow, Kind, MessageCarrier};
use super::sink::STAMP_LEN;

/// Messages that come as they like.
pub trait MessageSource: Debug + Send {
    /// The next message, which is never ready before the one ahead of it; `None` after the last.
    fn next_message(&mut self) -> Option<SourceMessage>;
}

/// A message of a [`MessageSource`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceMessage {
    /// When it is ready, from the start of the flow on.
    pub ready: Duration,
    /// Its bytes.
    pub size: usize,
}

/// Makes the sources of a flow, one for each run.
pub trait SourceFactory: Debug + Send + Sync {
    /// A source for the run with this seed. What is shorter or longer than `sizes`, in bytes, is
    /// sent as if it were not.
    fn build(&self, seed: u64, sizes: RangeInclusive<usize>) -> Box<dyn MessageSource>;
}

/// What a flow has of its own, in place of what the file says.
#[derive(Debug, Clone, Default)]
pub(super) struct Own {
    controller: Option<Arc<dyn ControllerFactory>>,
    path_scheduler: Option<Arc<dyn PathSchedulerFactory>>,
    source: Option<Arc<dyn SourceFactory>>,
}

/// A flow that cannot have a part of its own.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OwnError {
    /// There is no such flow.
    #[error("there is no flow {name}; there is {}", known.join(", "))]
    NoFlow {
        /// What was given.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// Flows of its kind have no such part.
    #[error("{name} is of kind {kind}, which takes no {part} of one's own: give it to {takers}")]
    Unfit {
        /// The flow.
        name: String,
        /// Its kind.
        kind: &'static str,
        /// What was given.
        part: &'static str,
        /// The kinds that take it.
        takers: &'static str,
    },
}

impl Scenario {
    /// Has the sending end of a flow over SCTP, of a media session or of television use controllers
    /// of one's own, one for each path.
    ///
    /// # Errors
    /// There is no such flow, or it is of another kind.
    pub fn set_controller(
        &mut self,
        flow: &str,
        factory: Arc<dyn ControllerFactory>,
    ) -> Result<(), OwnError> {
        let flow = self.associated(flow, "congestion controller")?;
        flow.own.controller = Some(factory);
        Ok(())
    }

    /// Has the sending end of a flow over SCTP, of a media session or of television use a path
    /// scheduler of one's own.
    ///
    /// # Errors
    /// There is no such flow, or it is of another kind.
    pub fn set_path_scheduler(
        &mut self,
        flow: &str,
        factory: Arc<dyn PathSchedulerFactory>,
    ) -> Result<(), OwnError> {
        let flow = self.associated(flow, "path scheduler")?;
        flow.own.path_scheduler = Some(factory);
        Ok(())
    }

    /// Has a flow over SCTP, UDP or DCCP send messages of a source of one's own.
    ///
    /// # Errors
    /// There is no such flow, or it is of another kind: streams of bytes have messages of one size.
    pub fn set_source(
        &mut self,
        flow: &str,
        factory: Arc<dyn SourceFactory>,
    ) -> Result<(), OwnError> {
        let flow = self.flow_mut(flow)?;
        let Kind::Messages(messages) = &flow.kind else {
            return Err(flow.unfit("source", "sctp, udp or dccp"));
        };
        match &messages.carrier {
            MessageCarrier::Sctp(_) | MessageCarrier::Udp | MessageCarrier::Dccp(_) => {
                flow.own.source = Some(factory);
                Ok(())
            }
            MessageCarrier::Tcp(_) | MessageCarrier::Quic(_) => {
                Err(flow.unfit("source", "sctp, udp or dccp"))
            }
        }
    }

    fn associated(&mut self, name: &str, part: &'static str) -> Result<&mut Flow, OwnError> {
        let flow = self.flow_mut(name)?;
        let has_association = match &flow.kind {
            Kind::Messages(messages) => matches!(messages.carrier, MessageCarrier::Sctp(_)),
            Kind::Media(options) => !options.is_over_dccp(),
            Kind::Television(_) => true,
        };
        if has_association {
            return Ok(flow);
        }
        Err(flow.unfit(part, "sctp, media over it or television"))
    }

    fn flow_mut(&mut self, name: &str) -> Result<&mut Flow, OwnError> {
        let place = self.flows.iter().position(|flow| flow.name == name);
        let known = || self.flows.iter().map(|flow| flow.name.clone()).collect();
        let no_flow = || OwnError::NoFlow { name: name.to_owned(), known: known() };
        let place = place.ok_or_else(no_flow)?;
        Ok(&mut self.flows[place])
    }
}

impl Flow {
    fn unfit(&self, part: &'static str, takers: &'static str) -> OwnError {
        OwnError::Unfit { name: self.name.clone(), kind: self.kind.name(), part, takers }
    }
}

impl Own {
    /// Has an association use what there is for it.
    pub(super) fn configure(&self, config: &mut AssociationConfig) {
        if self.controller.is_some() {
            config.window.controller_factory.clone_from(&self.controller);
        }
        if self.path_scheduler.is_some() {
            config.paths.path_scheduler_factory.clone_from(&self.path_scheduler);
        }
    }

    /// The source of a run, which sends messages of at most so many bytes.
    pub(super) fn source(&self, seed: u64, most: usize) -> Option<Box<dyn MessageSource>> {
        Some(self.source.as_ref()?.build(seed, STAMP_LEN..=most))
    }
}
