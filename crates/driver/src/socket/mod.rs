//! UDP sockets: binding them, with errors in words; sending and receiving in batches.

mod bind;
mod local;
mod queue;
mod reader;
mod receive;

pub(crate) use bind::BoundSocket;
pub use bind::{BindConfig, BindError, SocketInfo};
pub(crate) use local::LocalSocket;
pub use queue::SEND_QUEUE_BYTES_MAX;
pub use reader::DatagramReader;
pub(crate) use receive::ReceiveBuffers;

use std::net::SocketAddr;

use crate::Recording;

/// How many sockets a driver holds at most: more than the interfaces of any phone or router.
pub const SOCKETS_MAX: usize = 64;

/// The sockets that a driver starts with.
#[derive(Debug, Default)]
pub struct SocketSet {
    pub(crate) sockets: Vec<BoundSocket>,
    pub(crate) recording: Recording,
}

impl SocketSet {
    /// No socket yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds one more socket and returns its address, with the port that the system chose if the
    /// configured one was 0.
    ///
    /// # Errors
    /// The address cannot be bound; the set is as before.
    pub fn bind(&mut self, config: impl Into<BindConfig>) -> Result<SocketAddr, BindError> {
        let socket = BoundSocket::bind(&config.into())?;
        let bound = socket.info().bound;
        admit(self.sockets.iter().map(|other| other.info().bound), bound)?;
        self.sockets.push(socket);
        Ok(bound)
    }

    /// Has the run recorded, also on sockets that are bound while it lasts.
    pub fn record(&mut self, recording: Recording) {
        self.recording = recording;
    }

    /// What was bound, in order.
    pub fn iter(&self) -> impl Iterator<Item = &SocketInfo> {
        self.sockets.iter().map(BoundSocket::info)
    }
}

/// Whether a socket bound to `bound` may join those that are there.
pub(crate) fn admit(
    present: impl ExactSizeIterator<Item = SocketAddr>,
    bound: SocketAddr,
) -> Result<(), BindError> {
    if present.len() >= SOCKETS_MAX {
        return Err(BindError::TooMany { limit: SOCKETS_MAX });
    }
    for other in present {
        if other == bound {
            return Err(BindError::AlreadyBound { addr: bound });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_admitted_once_even_if_the_kernel_would_have_it_twice() {
        // Two modems may both hand out 192.168.8.100; the kernel binds it on each of them.
        let addr: SocketAddr = "192.168.8.100:9899".parse().unwrap();
        assert_eq!(admit([addr].into_iter(), addr), Err(BindError::AlreadyBound { addr }));
        let other = "192.168.8.100:9900".parse().unwrap();
        assert_eq!(admit([addr].into_iter(), other), Ok(()));
    }
}
