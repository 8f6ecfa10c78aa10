//! [`ReceiveQueue`]: data that wait for the application.

use std::collections::VecDeque;

use bytes::Bytes;

/// Data that wait for the application, in the order of their arrival.
#[derive(Debug)]
pub(crate) struct ReceiveQueue {
    data: VecDeque<Bytes>,
    bytes: usize,
    limit: usize,
    /// Whether the application takes data at all.
    is_open: bool,
}

impl ReceiveQueue {
    /// A queue for so many bytes of data, or a single datagram that is longer.
    pub(crate) const fn new(limit: usize) -> Self {
        Self { data: VecDeque::new(), bytes: 0, limit, is_open: true }
    }

    /// Takes no more data.
    pub(crate) const fn close(&mut self) {
        self.is_open = false;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// False if there is no room.
    pub(crate) fn push(&mut self, data: &[u8]) -> bool {
        // An empty datagram takes room as well.
        let len = data.len() + size_of::<Bytes>();
        if !self.data.is_empty() && self.bytes + len > self.limit {
            return false;
        }
        self.bytes += len;
        self.data.push_back(Bytes::copy_from_slice(data));
        true
    }

    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        let data = self.data.pop_front()?;
        self.bytes -= data.len() + size_of::<Bytes>();
        Some(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_the_limit_is_refused_until_there_is_room() {
        let mut queue = ReceiveQueue::new(300);
        assert!(queue.push(&[1; 200]));
        assert!(!queue.push(&[2; 100]));
        assert!(queue.push(b"") && queue.push(b""));
        assert!(!queue.push(b""), "an empty datagram is not for nothing");
        assert_eq!(queue.pop().as_deref(), Some(&[1; 200][..]));
        assert!(queue.push(&[2; 100]));
        assert_eq!([queue.pop(), queue.pop()].map(|data| data.unwrap().len()), [0, 0]);
        assert_eq!(queue.pop().as_deref(), Some(&[2; 100][..]));
        assert_eq!(queue.pop(), None);
        assert!(queue.push(&[3; 1_000]), "one is always taken");
    }
}
