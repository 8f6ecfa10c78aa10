//! [`Items`]: a list of fixed-size fields that is never copied.

use std::fmt;
use std::slice;

/// A list of fixed-size items, either still in the bytes of a packet or in a slice of the caller.
///
/// Decoding borrows the bytes and reads an item when it is asked for; encoding takes the caller's
/// slice. Neither allocates.
#[derive(Clone, Copy)]
pub struct Items<'a, T: Item>(Source<'a, T>);

#[derive(Clone, Copy)]
enum Source<'a, T: Item> {
    Wire(&'a [T::Wire]),
    Slice(&'a [T]),
}

impl<'a, T: Item> Items<'a, T> {
    /// The items of `slice`, to be encoded.
    #[must_use]
    pub const fn from_slice(slice: &'a [T]) -> Self {
        Self(Source::Slice(slice))
    }

    pub(crate) const fn from_wire(wire: &'a [T::Wire]) -> Self {
        Self(Source::Wire(wire))
    }

    /// The items in order.
    #[must_use]
    pub fn iter(&self) -> ItemsIter<'a, T> {
        match self.0 {
            Source::Wire(wire) => ItemsIter(SourceIter::Wire(wire.iter())),
            Source::Slice(slice) => ItemsIter(SourceIter::Slice(slice.iter())),
        }
    }

    /// How many items there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self.0 {
            Source::Wire(wire) => wire.len(),
            Source::Slice(slice) => slice.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes the items take in a packet.
    pub(crate) const fn encoded_len(&self) -> usize {
        self.len() * size_of::<T::Wire>()
    }

    pub(crate) fn encode(&self, buf: &mut Vec<u8>) {
        for item in self.iter() {
            buf.extend_from_slice(item.to_wire().as_ref());
        }
    }
}

impl<T: Item> Default for Items<'_, T> {
    fn default() -> Self {
        Self::from_slice(&[])
    }
}

impl<'a, T: Item> IntoIterator for Items<'a, T> {
    type Item = T;
    type IntoIter = ItemsIter<'a, T>;

    fn into_iter(self) -> ItemsIter<'a, T> {
        self.iter()
    }
}

impl<'a, T: Item> IntoIterator for &Items<'a, T> {
    type Item = T;
    type IntoIter = ItemsIter<'a, T>;

    fn into_iter(self) -> ItemsIter<'a, T> {
        self.iter()
    }
}

impl<T: Item> PartialEq for Items<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Item> Eq for Items<'_, T> {}

impl<T: Item> fmt::Debug for Items<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Iterates over [`Items`].
#[derive(Debug, Clone)]
pub struct ItemsIter<'a, T: Item>(SourceIter<'a, T>);

#[derive(Debug, Clone)]
enum SourceIter<'a, T: Item> {
    Wire(slice::Iter<'a, T::Wire>),
    Slice(slice::Iter<'a, T>),
}

impl<T: Item> Iterator for ItemsIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match &mut self.0 {
            SourceIter::Wire(wire) => wire.next().map(|bytes| T::from_wire(*bytes)),
            SourceIter::Slice(slice) => slice.next().copied(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            SourceIter::Wire(wire) => wire.size_hint(),
            SourceIter::Slice(slice) => slice.size_hint(),
        }
    }
}

impl<T: Item> ExactSizeIterator for ItemsIter<'_, T> {}

/// What a list in a packet consists of. Sealed: the RFCs say what such lists hold.
pub trait Item: sealed::Item + Copy + Eq + fmt::Debug {}

impl<T: sealed::Item + Copy + Eq + fmt::Debug> Item for T {}

pub(crate) mod sealed {
    /// How an item stands in a packet.
    pub trait Item {
        /// The item's bytes: an array, so that the length is known to be right.
        type Wire: Copy + AsRef<[u8]> + std::fmt::Debug + 'static;

        fn from_wire(wire: Self::Wire) -> Self;
        fn to_wire(self) -> Self::Wire;
    }
}

impl sealed::Item for crate::Tsn {
    type Wire = [u8; 4];

    fn from_wire(wire: [u8; 4]) -> Self {
        Self(u32::from_be_bytes(wire))
    }

    fn to_wire(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }
}

impl sealed::Item for crate::StreamId {
    type Wire = [u8; 2];

    fn from_wire(wire: [u8; 2]) -> Self {
        Self(u16::from_be_bytes(wire))
    }

    fn to_wire(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tsn;

    #[test]
    fn a_list_equals_itself_from_bytes_and_from_a_slice() {
        let items = [Tsn(1), Tsn(0xffff_fffe)];
        let from_slice = Items::from_slice(&items);
        let mut bytes = Vec::new();
        from_slice.encode(&mut bytes);
        assert_eq!(bytes, [0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe]);

        let from_wire = Items::<Tsn>::from_wire(bytes.as_chunks().0);
        assert_eq!(from_wire, from_slice);
        assert_eq!((from_wire.len(), from_wire.encoded_len()), (2, 8));
        assert_eq!(from_wire.iter().len(), 2);
        assert_ne!(from_wire, Items::default());
        assert!(Items::<Tsn>::default().is_empty());
    }
}
