//! [`Line`]: what leads to a television server, again and again.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_driver::{Clock, Driver, Handle, Recording};
use anabranch_sansio::{FourTuple, Time};
use anabranch_session::Refusal;
use anabranch_television::{NativeViewer, Viewer};
use anabranch_transport::CloseReason;

use crate::net::{NetError, unpredictable_rng};
use crate::service::{Multihomed, Secured, ServiceError, Severity, Uplinks};
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

/// Whom to call, and how.
#[derive(Debug)]
pub(crate) struct Whom<'a> {
    /// Where the server is.
    pub(crate) url: &'a SessionUrl,
    /// Whether paths come and go with the interfaces that reach it.
    pub(crate) over_all_interfaces: bool,
    /// Where every packet is recorded.
    pub(crate) recording: Recording,
}

/// Sockets, the way to a server, and the viewer that calls it.
#[derive(Debug)]
pub(crate) struct Line {
    handle: Handle<NativeViewer>,
    uplinks: Uplinks,
    hello: Hello,
    secured: Secured,
}

impl Line {
    /// Resolves names and binds sockets; nothing is sent yet.
    ///
    /// # Errors
    /// Says which name or address is wrong.
    pub(crate) async fn open(
        whom: Whom<'_>,
        hello: Hello,
        clock: Clock,
    ) -> Result<Self, ServiceError> {
        let Whom { url, over_all_interfaces, recording } = whom;
        let (mut sockets, uplinks) = Uplinks::open(url, over_all_interfaces).await?;
        sockets.record(recording);
        let secured = Secured::of(url)?;
        let machine =
            NativeViewer::new(hello.session(), secured.encryption(), unpredictable_rng()?);
        let handle = Driver::spawn_with_clock(machine, sockets, clock)?;
        Ok(Self { handle, uplinks, hello, secured })
    }

    /// Calls the server, with nothing left of a session before; answers with where it is.
    ///
    /// # Errors
    /// No path leads there, or the transport refuses.
    pub(crate) fn call(&self) -> Result<Option<SocketAddr>, ServiceError> {
        let paths = self.uplinks.paths()?;
        let session = self.hello.session();
        let called = self.handle.with(|viewer, now| {
            viewer.renew(session);
            viewer.connect(now, &paths)
        });
        called.map_err(|error| ServiceError::Call(error.into()))?;
        Ok(paths.first().map(|primary| primary.remote))
    }

    /// Waits until [`follow`](Self::follow) may have something to do. Dropping the future loses
    /// nothing.
    ///
    /// # Errors
    /// The system does not tell.
    pub(crate) async fn changed(&mut self) -> Result<(), NetError> {
        self.uplinks.changed().await
    }

    /// Opens and closes paths as interfaces came and went; returns what to say of it.
    ///
    /// # Errors
    /// The system does not tell which interfaces there are.
    pub(crate) async fn follow(&mut self) -> Result<Vec<(Severity, String)>, NetError> {
        self.uplinks.follow(&self.handle).await
    }

    /// Asks the server for something.
    pub(crate) fn act(&self, act: impl FnOnce(&mut Viewer, Time)) {
        self.handle.with(|viewer, now| viewer.act(now, |viewer| act(viewer, now)));
    }

    /// What the user is to know of how it is secured before the first call.
    pub(crate) fn opening(&self) -> (Severity, String) {
        self.secured.opening(None)
    }

    /// The server has said welcome. Returns what the user is to know of who it is.
    pub(crate) fn on_welcome(&mut self) -> Option<(Severity, String)> {
        let peer_key = self.handle.with(|viewer, _| viewer.peer_key());
        self.secured.on_connected(peer_key.as_deref())
    }

    /// Why another call is in vain, if the last one ended for want of the right key.
    pub(crate) fn refusal(&self, reason: &CloseReason) -> Option<ServiceError> {
        Refusal::of_close_reason(reason).map(|refusal| self.secured.error_of(refusal))
    }

    /// The latency budget that is asked for.
    pub(crate) const fn budget(&self) -> Duration {
        self.hello.budget
    }

    pub(crate) const fn handle(&self) -> &Handle<NativeViewer> {
        &self.handle
    }
}

impl Multihomed for NativeViewer {
    fn open_path(&mut self, now: Time, path: FourTuple) {
        Self::open_path(self, now, path);
    }

    fn close_paths_from(&mut self, now: Time, local: SocketAddr) {
        Self::close_paths_from(self, now, local);
    }
}
