//! [`Stop`]: how a service is told to end in order.

use tokio::sync::watch;

/// Tells services to end in order.
#[derive(Debug)]
pub struct StopHandle(watch::Sender<bool>);

/// Learns that the service is to end in order. Clones learn the same.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<bool>);

impl StopHandle {
    /// A pair: who stops, and who is stopped.
    #[must_use]
    pub fn new() -> (Self, Stop) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Stop(receiver))
    }

    /// Asks for the end.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Whether the end was asked for.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the end is asked for; for ever if nobody is left to ask.
    pub async fn asked(&mut self) {
        if self.0.wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
