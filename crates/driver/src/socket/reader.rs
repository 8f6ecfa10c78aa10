//! [`DatagramReader`]: what arrives at a UDP socket, many datagrams in a call.

use std::io;
use std::net::UdpSocket;

use quinn_udp::UdpSocketState;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::ReceiveBuffers;
use crate::readiness::register;

/// Reads what arrives at a UDP socket, many datagrams in a call.
#[derive(Debug)]
pub struct DatagramReader {
    io: AsyncFd<UdpSocket>,
    state: UdpSocketState,
    buffers: ReceiveBuffers,
}

impl DatagramReader {
    /// Takes a socket that is bound. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The system's.
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new((&socket).into())?;
        let io = register(socket, Interest::READABLE)?;
        Ok(Self { io, state, buffers: ReceiveBuffers::new() })
    }

    /// Waits for datagrams, and hands over those that are there, in order of arrival. Of more than
    /// `enough` the rest may be left for the next time.
    ///
    /// # Errors
    /// The socket's.
    pub async fn read(&mut self, enough: usize, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let mut taken = 0;
        loop {
            let mut readable = self.io.readable().await?;
            match readable.try_io(|io| self.buffers.fill(io.get_ref().into(), &self.state)) {
                Ok(filled) => filled?,
                Err(_nothing_is_there) if taken > 0 => return Ok(()),
                Err(_nothing_is_there) => continue,
            }
            for datagram in self.buffers.payloads() {
                take(datagram);
                taken += 1;
            }
            if self.buffers.took_all() {
                // Saves the call that would find nothing. What came since wakes the task.
                readable.clear_ready();
                return Ok(());
            }
            if taken >= enough {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_that_waits_is_read_in_order_and_then_what_comes() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let mut reader = DatagramReader::new(socket).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for number in 0..100_u8 {
            sender.send_to(&[number; 7], address).unwrap();
        }
        let mut numbers = Vec::new();
        while numbers.len() < 100 {
            let before = numbers.len();
            reader.read(40, |datagram| numbers.push(datagram[0])).await.unwrap();
            assert!(numbers.len() > before, "it returns with something");
        }
        assert!(numbers.iter().copied().eq(0..100));
        let late = tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            sender.send_to(&[], address).unwrap();
        });
        let mut lens = Vec::new();
        reader.read(40, |datagram| lens.push(datagram.len())).await.unwrap();
        assert_eq!(lens, [0]);
        late.await.unwrap();
    }
}
