//! [`SendBuffer`]: what the application wrote and the peer has not acknowledged.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;

/// What was written and not acknowledged, found by its position.
#[derive(Debug)]
pub(super) struct SendBuffer {
    /// What was written at once, with the position of its first byte. None is empty.
    chunks: VecDeque<(u64, Bytes)>,
    /// The position that the next byte gets.
    end: u64,
    /// The first position that is not acknowledged.
    start: u64,
}

impl SendBuffer {
    /// Empty, from this position on.
    pub(super) const fn new(start: u64) -> Self {
        Self { chunks: VecDeque::new(), end: start, start }
    }

    /// The position behind the last byte.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// How many bytes there are.
    pub(super) const fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    pub(super) fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            let len = bytes.len() as u64;
            self.chunks.push_back((self.end, bytes));
            self.end += len;
        }
    }

    /// Forgets all before this position.
    pub(super) fn release(&mut self, position: u64) {
        self.start = position.clamp(self.start, self.end);
        while let Some((at, chunk)) = self.chunks.front()
            && at + chunk.len() as u64 <= self.start
        {
            self.chunks.pop_front();
        }
    }

    /// Appends what stands at these positions to `out`.
    pub(super) fn copy(&self, range: Range<u64>, out: &mut Vec<u8>) {
        let first =
            self.chunks.partition_point(|(at, chunk)| at + chunk.len() as u64 <= range.start);
        for (at, chunk) in self.chunks.range(first..) {
            if *at >= range.end {
                return;
            }
            let from = range.start.saturating_sub(*at) as usize;
            let to = (range.end - at).min(chunk.len() as u64) as usize;
            out.extend(chunk.get(from..to).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cross_what_was_written_at_once() {
        let mut buffer = SendBuffer::new(1);
        ["abc", "", "defg", "h"].into_iter().for_each(|text| buffer.push(Bytes::from(text)));
        let read = |buffer: &SendBuffer, range| {
            let mut out = Vec::new();
            buffer.copy(range, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(read(&buffer, 1..9), "abcdefgh");
        assert_eq!(read(&buffer, 3..5), "cd");
        buffer.release(5);
        assert_eq!((buffer.len(), buffer.end(), read(&buffer, 5..9).as_str()), (4, 9, "efgh"));
        buffer.release(9);
        assert_eq!((buffer.len(), buffer.chunks.len()), (0, 0));
    }
}
