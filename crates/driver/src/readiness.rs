//! [`register`]: has a descriptor wake its task.

use std::io;
use std::os::fd::AsRawFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Must be called within a tokio runtime.
#[expect(
    deprecated,
    reason = "deprecated for types whose descriptor may change, which sockets and an OwnedFd \
              cannot; its successor is unsafe, and this workspace has no unsafe code"
)]
pub(crate) fn register<T: AsRawFd>(fd: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(fd, interest)
}
