//! [`SendQueue`]: what waits until the kernel's send buffer has room again.

use std::collections::VecDeque;

use super::local::Burst;

/// How many bytes wait in user space for one socket at most; what comes on top is lost. It bridges
/// the moment until the kernel reports room; a longer queue would only add delay.
pub const SEND_QUEUE_BYTES_MAX: usize = 256 << 10;

/// A queue of one socket's own, so that an interface that is stuck does not hold up the others.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    waiting: VecDeque<(Burst, Vec<u8>)>,
    /// Buffers to use again.
    spare: Vec<Vec<u8>>,
    bytes: usize,
    datagrams: usize,
}

impl SendQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn datagrams(&self) -> usize {
        self.datagrams
    }

    /// False if it is full.
    pub(crate) fn push(&mut self, burst: Burst, contents: &[u8]) -> bool {
        if self.bytes + contents.len() > SEND_QUEUE_BYTES_MAX {
            return false;
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.extend_from_slice(contents);
        self.bytes += contents.len();
        self.datagrams += burst.datagrams(contents);
        self.waiting.push_back((burst, buffer));
        true
    }

    pub(crate) fn front(&self) -> Option<(Burst, &[u8])> {
        self.waiting.front().map(|(burst, buffer)| (*burst, buffer.as_slice()))
    }

    pub(crate) fn pop(&mut self) -> Option<(Burst, Vec<u8>)> {
        let (burst, contents) = self.waiting.pop_front()?;
        self.bytes -= contents.len();
        self.datagrams -= burst.datagrams(&contents);
        Some((burst, contents))
    }

    /// Takes a buffer back for the next push.
    pub(crate) fn recycle(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        self.spare.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::FourTuple;

    use super::*;

    fn burst() -> Burst {
        let addr = ([127, 0, 0, 1], 9).into();
        Burst {
            path: FourTuple::new(addr, addr),
            source: None,
            ecn: None,
            segment: 1_000,
            may_fragment: false,
        }
    }

    #[test]
    fn the_queue_is_first_in_first_out_and_bounded_in_bytes() {
        let mut queue = SendQueue::default();
        for nth in 0..SEND_QUEUE_BYTES_MAX / 4_096 {
            assert!(queue.push(burst(), &[nth as u8; 4_096]));
        }
        assert!(!queue.push(burst(), &[0]), "full to the last byte");
        assert_eq!(queue.datagrams(), SEND_QUEUE_BYTES_MAX / 4_096 * 5, "5 segments each");
        let (_, first) = queue.pop().unwrap();
        assert_eq!(first, [0; 4_096]);
        queue.recycle(first);
        assert!(queue.push(burst(), &[9; 4_096]), "room again");
        assert_eq!(queue.front().unwrap().1, [1; 4_096]);
    }
}
