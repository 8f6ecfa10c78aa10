//! [`Line`]: what leads to a television server, again and again.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_driver::{Clock, Driver, Handle};
use anabranch_sansio::Time;
use anabranch_sctp::{AssociationConfig, EndpointConfig};
use anabranch_television::{NativeViewer, Viewer};

use crate::net::{Network, Plan, unpredictable_rng};
use crate::service::ServiceError;
use crate::url::SessionUrl;

/// What is said at the beginning of each session.
#[derive(Debug)]
pub(crate) struct Hello {
    /// Who says it.
    pub(crate) program: String,
    /// What entitles to channels that are not open to all.
    pub(crate) token: Option<String>,
    /// The latency budget to ask for.
    pub(crate) budget: Duration,
}

impl Hello {
    fn session(&self) -> Viewer {
        Viewer::new(self.program.clone(), self.token.clone(), self.budget)
    }
}

/// Sockets, the way to a server, and the viewer that calls it.
#[derive(Debug)]
pub(crate) struct Line {
    handle: Handle<NativeViewer>,
    plan: Plan,
    hello: Hello,
}

impl Line {
    /// Resolves names and binds sockets; nothing is sent yet.
    ///
    /// # Errors
    /// Says which name or address is wrong.
    pub(crate) async fn open(
        url: &SessionUrl,
        hello: Hello,
        clock: Clock,
    ) -> Result<Self, ServiceError> {
        let (sockets, plan) = Network::open(url).await?.into_parts();
        let association = AssociationConfig::media();
        let base = EndpointConfig { association, ..EndpointConfig::default() };
        let machine = NativeViewer::new(hello.session(), base, unpredictable_rng()?);
        let handle = Driver::spawn_with_clock(machine, sockets, clock)?;
        Ok(Self { handle, plan, hello })
    }

    /// Calls the server, with nothing left of a session before; answers with where it is.
    ///
    /// # Errors
    /// No path leads there, or the transport refuses.
    pub(crate) fn call(&self) -> Result<Option<SocketAddr>, ServiceError> {
        let paths = self.plan.paths()?;
        let session = self.hello.session();
        let called = self.handle.with(|viewer, now| {
            viewer.renew(session);
            viewer.connect(now, &paths)
        });
        called.map_err(|error| ServiceError::Call(error.into()))?;
        Ok(paths.first().map(|primary| primary.remote))
    }

    /// Asks the server for something.
    pub(crate) fn act(&self, act: impl FnOnce(&mut Viewer, Time)) {
        self.handle.with(|viewer, now| viewer.act(now, |viewer| act(viewer, now)));
    }

    /// The latency budget that is asked for.
    pub(crate) const fn budget(&self) -> Duration {
        self.hello.budget
    }

    pub(crate) const fn handle(&self) -> &Handle<NativeViewer> {
        &self.handle
    }
}
